#include "core/data/element_type.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

struct Facts {
  std::string_view name;
  uint8_t bits;
  uint8_t storage_bytes;
  Carrier carrier;
};

constexpr Facts kFacts[kElementTypeCount] = {
    {"pred", 1, 1, Carrier::kUint64},        {"s1", 1, 1, Carrier::kInt64},
    {"s2", 2, 1, Carrier::kInt64},           {"s4", 4, 1, Carrier::kInt64},
    {"s8", 8, 1, Carrier::kInt64},           {"s16", 16, 2, Carrier::kInt64},
    {"s32", 32, 4, Carrier::kInt64},         {"s64", 64, 8, Carrier::kInt64},
    {"u1", 1, 1, Carrier::kUint64},          {"u2", 2, 1, Carrier::kUint64},
    {"u4", 4, 1, Carrier::kUint64},          {"u8", 8, 1, Carrier::kUint64},
    {"u16", 16, 2, Carrier::kUint64},        {"u32", 32, 4, Carrier::kUint64},
    {"u64", 64, 8, Carrier::kUint64},        {"f4e2m1fn", 4, 1, Carrier::kDouble},
    {"f6e2m3fn", 6, 1, Carrier::kDouble},    {"f6e3m2fn", 6, 1, Carrier::kDouble},
    {"f8e3m4", 8, 1, Carrier::kDouble},      {"f8e4m3", 8, 1, Carrier::kDouble},
    {"f8e4m3fn", 8, 1, Carrier::kDouble},    {"f8e4m3b11fnuz", 8, 1, Carrier::kDouble},
    {"f8e4m3fnuz", 8, 1, Carrier::kDouble},  {"f8e5m2", 8, 1, Carrier::kDouble},
    {"f8e5m2fnuz", 8, 1, Carrier::kDouble},  {"f8e8m0fnu", 8, 1, Carrier::kDouble},
    {"f16", 16, 2, Carrier::kDouble},        {"bf16", 16, 2, Carrier::kDouble},
    {"f32", 32, 4, Carrier::kDouble},        {"f64", 64, 8, Carrier::kDouble},
    {"c64", 64, 8, Carrier::kComplexDouble}, {"c128", 128, 16, Carrier::kComplexDouble},
    {"token", 0, 0, Carrier::kNone},         {"opaque", 0, 0, Carrier::kNone},
    {"tuple", 0, 0, Carrier::kNone},
};

const Facts& FactsOf(ElementType type) { return kFacts[static_cast<int>(type)]; }

}  // namespace

std::string_view ElementTypeName(ElementType type) { return FactsOf(type).name; }

std::optional<ElementType> ParseElementType(std::string_view name) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    if (kFacts[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

int BitWidth(ElementType type) { return FactsOf(type).bits; }
int StorageBytes(ElementType type) { return FactsOf(type).storage_bytes; }

bool IsSigned(ElementType type) { return type >= ElementType::kS1 && type <= ElementType::kS64; }
bool IsUnsigned(ElementType type) { return type >= ElementType::kU1 && type <= ElementType::kU64; }
bool IsInteger(ElementType type) { return IsSigned(type) || IsUnsigned(type); }
bool IsFloating(ElementType type) { return FactsOf(type).carrier == Carrier::kDouble; }
bool IsComplex(ElementType type) { return FactsOf(type).carrier == Carrier::kComplexDouble; }
bool IsArrayElement(ElementType type) { return FactsOf(type).carrier != Carrier::kNone; }
bool IsNarrowInteger(ElementType type) { return IsInteger(type) && BitWidth(type) < 32; }
bool IsNarrowFloat(ElementType type) { return IsFloating(type) && BitWidth(type) < 32; }

bool HasIntegerOfItsWidth(ElementType type) { return BitWidth(type) != 6; }
ElementType RealPart(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

Carrier CarrierOf(ElementType type) { return FactsOf(type).carrier; }

int64_t MinSigned(ElementType type) { return -MaxSigned(type) - 1; }
int64_t MaxSigned(ElementType type) { return static_cast<int64_t>((uint64_t{1} << (BitWidth(type) - 1)) - 1); }
uint64_t MaxUnsigned(ElementType type) {
  return BitWidth(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(type)) - 1;
}
int64_t LargestInteger(ElementType type) {
  if (IsSigned(type)) return MaxSigned(type);
  return static_cast<int64_t>(std::min<uint64_t>(MaxUnsigned(type), INT64_MAX));
}

}  // namespace VXLA_NAMESPACE
