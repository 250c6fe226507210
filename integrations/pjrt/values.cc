#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

struct Pair {
  PJRT_Buffer_Type type;
  ElementType element;
};
constexpr Pair kTypes[] = {
    {PJRT_Buffer_Type_PRED, ElementType::kPred},
    {PJRT_Buffer_Type_S1, ElementType::kS1},
    {PJRT_Buffer_Type_S2, ElementType::kS2},
    {PJRT_Buffer_Type_S4, ElementType::kS4},
    {PJRT_Buffer_Type_S8, ElementType::kS8},
    {PJRT_Buffer_Type_S16, ElementType::kS16},
    {PJRT_Buffer_Type_S32, ElementType::kS32},
    {PJRT_Buffer_Type_S64, ElementType::kS64},
    {PJRT_Buffer_Type_U1, ElementType::kU1},
    {PJRT_Buffer_Type_U2, ElementType::kU2},
    {PJRT_Buffer_Type_U4, ElementType::kU4},
    {PJRT_Buffer_Type_U8, ElementType::kU8},
    {PJRT_Buffer_Type_U16, ElementType::kU16},
    {PJRT_Buffer_Type_U32, ElementType::kU32},
    {PJRT_Buffer_Type_U64, ElementType::kU64},
    {PJRT_Buffer_Type_F4E2M1FN, ElementType::kF4E2M1FN},
    {PJRT_Buffer_Type_F6E2M3FN, ElementType::kF6E2M3FN},
    {PJRT_Buffer_Type_F6E3M2FN, ElementType::kF6E3M2FN},
    {PJRT_Buffer_Type_F8E3M4, ElementType::kF8E3M4},
    {PJRT_Buffer_Type_F8E4M3, ElementType::kF8E4M3},
    {PJRT_Buffer_Type_F8E4M3FN, ElementType::kF8E4M3FN},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, ElementType::kF8E4M3B11FNUZ},
    {PJRT_Buffer_Type_F8E4M3FNUZ, ElementType::kF8E4M3FNUZ},
    {PJRT_Buffer_Type_F8E5M2, ElementType::kF8E5M2},
    {PJRT_Buffer_Type_F8E5M2FNUZ, ElementType::kF8E5M2FNUZ},
    {PJRT_Buffer_Type_F8E8M0FNU, ElementType::kF8E8M0FNU},
    {PJRT_Buffer_Type_F16, ElementType::kF16},
    {PJRT_Buffer_Type_BF16, ElementType::kBF16},
    {PJRT_Buffer_Type_F32, ElementType::kF32},
    {PJRT_Buffer_Type_F64, ElementType::kF64},
    {PJRT_Buffer_Type_C64, ElementType::kC64},
    {PJRT_Buffer_Type_C128, ElementType::kC128},
    {PJRT_Buffer_Type_TOKEN, ElementType::kToken},
};

}  // namespace

PJRT_Buffer_Type TypeOf(ElementType type) {
  for (const Pair& pair : kTypes) {
    if (pair.element == type) return pair.type;
  }
  return PJRT_Buffer_Type_INVALID;
}

Result<Shape> ShapeOf(PJRT_Buffer_Type type, const int64_t* dims, size_t rank) {
  for (const Pair& pair : kTypes) {
    if (pair.type != type) continue;
    Shape shape(pair.element, std::vector<int64_t>(dims, dims + rank));
    VXLA_RETURN_IF_ERROR(CheckShape(shape));
    return shape;
  }
  return Unsupported("element type {} of PJRT", static_cast<int>(type));
}

std::vector<int64_t> RowMajor(int rank) {
  std::vector<int64_t> order;
  for (int i = rank - 1; i >= 0; --i) order.push_back(i);
  return order;
}

Status CheckOrder(const std::vector<int64_t>& minor_to_major, int rank) {
  if (std::ranges::is_permutation(minor_to_major, RowMajor(rank))) return OkStatus();
  return InvalidArgument("the layout {{{}}} is no order of {} dimensions", fmt::join(minor_to_major, ","), rank);
}

Result<std::vector<int64_t>> OrderOf(const PJRT_Buffer_MemoryLayout* layout, int rank) {
  if (layout == nullptr) return RowMajor(rank);
  const auto known = Known(layout);
  if (known.type == PJRT_Buffer_MemoryLayout_Type_Strides) return Unsupported("a layout of device memory by strides");
  if (known.tiled.num_tiles != 0) return Unsupported("a layout of device memory in tiles");
  std::vector<int64_t> order(known.tiled.minor_to_major, known.tiled.minor_to_major + known.tiled.minor_to_major_size);
  VXLA_RETURN_IF_ERROR(CheckOrder(order, rank));
  return order;
}

Result<std::vector<int64_t>> StridesOf(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  if (layout == nullptr) return std::vector<int64_t>();
  const auto known = Known(layout);
  const size_t rank = static_cast<size_t>(shape.rank());
  if (known.type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (known.strides.num_byte_strides != rank)
      return InvalidArgument("{} strides for {}", known.strides.num_byte_strides, shape.ToString());
    return std::vector<int64_t>(known.strides.byte_strides, known.strides.byte_strides + rank);
  }
  if (known.tiled.num_tiles != 0) return Unsupported("a tiled layout of the host's memory");
  // What jaxlib writes of a literal whose layout nobody stated.
  if (known.tiled.minor_to_major_size == 0) return std::vector<int64_t>();
  if (known.tiled.minor_to_major_size != rank)
    return InvalidArgument("a layout of {} dimensions for {}", known.tiled.minor_to_major_size, shape.ToString());
  std::vector<int64_t> strides(rank, -1);
  int64_t stride = StorageBytes(shape.element_type());
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dimension = known.tiled.minor_to_major[i];
    if (dimension < 0 || dimension >= shape.rank() || strides[static_cast<size_t>(dimension)] >= 0)
      return InvalidArgument("a layout that is no order of the dimensions of {}", shape.ToString());
    strides[static_cast<size_t>(dimension)] = stride;
    stride *= shape.dimension(static_cast<int>(dimension));
  }
  return strides;
}

namespace {

PJRT_NamedValue Nameless(std::string_view name, PJRT_NamedValue_Type type) {
  PJRT_NamedValue value{};
  value.struct_size = sizeof(PJRT_NamedValue);
  value.name = name.data();
  value.name_size = name.size();
  value.type = type;
  value.value_size = 1;
  return value;
}

}  // namespace

PJRT_NamedValue Named(std::string_view name, std::string_view text) {
  PJRT_NamedValue value = Nameless(name, PJRT_NamedValue_kString);
  value.string_value = text.data();
  value.value_size = text.size();
  return value;
}

PJRT_NamedValue Named(std::string_view name, int64_t number) {
  PJRT_NamedValue value = Nameless(name, PJRT_NamedValue_kInt64);
  value.int64_value = number;
  return value;
}

PJRT_NamedValue Named(std::string_view name, float number) {
  PJRT_NamedValue value = Nameless(name, PJRT_NamedValue_kFloat);
  value.float_value = number;
  return value;
}

}  // namespace VXLA_NAMESPACE::pjrt
