#include <algorithm>
#include <bit>
#include <optional>

#include "core/limits.h"
#include "core/ops/op_support.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

Shape Operand0(const Instruction& instruction) { return instruction.operand(0)->shape().WithoutLayout(); }

// Neighbouring dimensions of a reshape whose products are equal become each other; where one of them is dynamic, one of
// the result's must be. Of a single element nothing can be left out but all of it, which the run sees.
Status ExpectRoomForLiveSizes(const Instruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (!from.IsDynamic()) return OkStatus();
  for (const DimensionGroup& group : DimensionGroups(from, to)) {
    int dynamic = -1;
    for (int d = group.from_begin; d < group.from_end; ++d) {
      if (from.is_dynamic_dimension(d) && from.dimension(d) > 1) dynamic = d;
    }
    bool room = dynamic < 0;
    for (int d = group.to_begin; d < group.to_end; ++d) room = room || to.is_dynamic_dimension(d);
    if (!room) {  // reshape_c3
      return OpError(instruction, "dimension {} of {} is dynamic, and nothing is in {} that it becomes", dynamic,
                     from.ToString(), to.ToString());
    }
  }
  return OkStatus();
}

// The value of a scalar operand that is a constant.
std::optional<int64_t> ConstantOperand(const Instruction& instruction, int k) {
  const Instruction& operand = *instruction.operand(k);
  if (operand.opcode() != Opcode::kConstant) return std::nullopt;
  const auto& literal = operand.attributes<ConstantAttributes>().literal;
  if (literal == nullptr || !literal->shape().IsScalar() || !IsInteger(literal->shape().element_type()))
    return std::nullopt;
  return literal->GetInt(0);
}

// Sizes are s32.
Status ExpectS32Bound(const Instruction& instruction, int64_t dimension) {
  const Shape& shape = instruction.operand(0)->shape();
  if (shape.dimension(dimension) <= INT32_MAX) return OkStatus();
  // dimension_size_c1
  return OpError(instruction, "dimension {} of {} exceeds the limit of 2^31-1", dimension, shape.ToString());
}

// Bits of all elements, in 128 bits: the element count alone is known to fit.
__int128 TotalBits(const Shape& shape) {
  return static_cast<__int128>(shape.ElementCount()) * BitWidth(shape.element_type());
}

}  // namespace

Result<Shape> InferCopy(const Instruction& instruction) { return Operand0(instruction); }

Result<Shape> InferShuffle(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  return Operand0(instruction);
}

// The dimensions agree, but the last one takes or gives the ratio of the widths: f32[10] <-> f16[10,2].
Result<Shape> InferBitcastConvert(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& from = instruction.operand(0)->shape();
  const ElementType to = instruction.shape().element_type();
  if (IsComplex(from.element_type()) != IsComplex(to)) {  // bitcast_convert_c2
    return OpError(instruction, "from {} to {}: both or neither must be complex", ElementTypeName(from.element_type()),
                   ElementTypeName(to));
  }
  const int from_bits = BitWidth(from.element_type());
  const int to_bits = BitWidth(to);
  const int factor = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
  const bool fits = std::has_single_bit(static_cast<unsigned>(factor)) &&
                    factor * std::min(from_bits, to_bits) == std::max(from_bits, to_bits);
  if (!fits) {  // bitcast_convert_c1: of the f6 types
    return OpError(instruction, "from {} to {}: widths of {} and {} bits", ElementTypeName(from.element_type()),
                   ElementTypeName(to), from_bits, to_bits);
  }
  const bool widens = to_bits > from_bits;
  Shape result(to);
  for (int i = 0; i < from.rank() - (widens ? 1 : 0); ++i) result.AddDimension(from, i);
  if (widens) {  // bitcast_convert_c1
    const int ratio = to_bits / from_bits;
    if (from.rank() == 0 || from.dimension(from.rank() - 1) != ratio) {
      return OpError(instruction, "the last dimension of {} must be {} to become {}", from.ToString(), ratio,
                     ElementTypeName(to));
    }
  } else if (to_bits < from_bits) {
    result.AddDimension(from_bits / to_bits);
  }
  return result;
}

Result<Shape> InferReshape(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (from.element_type() != to.element_type()) {  // reshape_c2
    return OpError(instruction, "the element types of {} and {} differ", from.ToString(), to.ToString());
  }
  if (from.ElementCount() != to.ElementCount()) {  // reshape_c1
    return OpError(instruction, "{} has {} elements, {} has {}", from.ToString(), from.ElementCount(), to.ToString(),
                   to.ElementCount());
  }
  VXLA_RETURN_IF_ERROR(ExpectRoomForLiveSizes(instruction));
  return to;
}

// Operands: the array and one scalar integer per dimension of the result.
Result<Shape> InferDynamicReshape(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  const Shape& to = instruction.shape();
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& from = instruction.operand(0)->shape();
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "the list of sizes", instruction.operand_count() - 1, to));
  for (int i = 1; i < instruction.operand_count(); ++i) {
    const Shape& size = instruction.operand(i)->shape();
    if (!size.IsScalar() || !IsInteger(size.element_type())) {  // dynamic_reshape_c2
      return OpError(instruction, "operand {} is {}, not a scalar integer", i, size.ToString());
    }
  }
  // dynamic_reshape_c3
  if (from.element_type() != to.element_type() || from.ElementCount() != to.ElementCount()) {
    return OpError(instruction, "{} cannot become {}", from.ToString(), to.ToString());
  }
  for (int d = 0; d < to.rank(); ++d) {
    const std::optional<int64_t> size = ConstantOperand(instruction, d + 1);
    const bool fits =
        !size || *size == to.dimension(d) || (to.is_dynamic_dimension(d) && *size >= 0 && *size < to.dimension(d));
    if (!fits)
      return OpError(instruction, "size {} does not fit dimension {} of {}", *size, d,
                     to.ToString());  // dynamic_reshape_c4
  }
  return to;
}

// A bitcast reinterprets bytes as laid out: the total size in bits stays.
Result<Shape> InferBitcast(const Instruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (from.IsTuple() || to.IsTuple()) {
    VXLA_RETURN_IF_ERROR(ExpectStated(instruction, from));
    return to;
  }
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  if (TotalBits(from) != TotalBits(to)) {  // bitcast_c1
    return OpError(instruction, "{} and {} differ in size", from.ToString(), to.ToString());
  }
  return SameDimensions(from, to) ? WithFlagsOf(to, from) : to;
}

// `dimensions` says which result dimension each operand dimension becomes.
Result<Shape> InferBroadcast(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  const IntList& dimensions = instruction.dimensions();
  if (from.element_type() != to.element_type()) {  // broadcast_in_dim_c1
    return OpError(instruction, "the element types of {} and {} differ", from.ToString(), to.ToString());
  }
  VXLA_RETURN_IF_ERROR(
      ExpectOnePerDimension(instruction, "dimensions", dimensions.size(), from));           // broadcast_in_dim_c2
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "dimensions", dimensions, to));  // broadcast_in_dim_c3, _c4
  Shape result = to;
  for (int i = 0; i < from.rank(); ++i) {  // broadcast_in_dim_c5, without its size-1 expansion, which HLO lacks
    if (from.dimension(i) != to.dimension(dimensions[i])) {
      return OpError(instruction, "dimension {} of {} has not the size of dimension {} of {}", i, from.ToString(),
                     dimensions[i], to.ToString());
    }
    if (from.is_dynamic_dimension(i)) result.set_dynamic_dimension(dimensions[i], true);
  }
  return result;
}

Result<Shape> InferConcatenate(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));  // concatenate_c3
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, instruction.dimensions()));  // concatenate_c4
  Shape result = Operand0(instruction);
  const int64_t along = instruction.dimensions()[0];
  __int128 size = 0;
  for (int k = 0; k < instruction.operand_count(); ++k) {
    const Shape& shape = instruction.operand(k)->shape();
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, k, 0));  // concatenate_c1
    bool agrees = shape.rank() == result.rank();
    for (int i = 0; agrees && i < shape.rank(); ++i) agrees = i == along || shape.dimension(i) == result.dimension(i);
    if (!agrees) {  // concatenate_c2
      return OpError(instruction, "operand {} {} and operand 0 {} differ outside of dimension {}", k, shape.ToString(),
                     instruction.operand(0)->shape().ToString(), along);
    }
    size += shape.dimension(along);
    AddFlags(result, shape);
  }
  // concatenate_c5
  if (size > kMaxArrayBytes) return OpError(instruction, "the size of dimension {} exceeds the limit of 2^44", along);
  result.set_dimension(along, static_cast<int64_t>(size));
  return result;
}

Result<Shape> InferIota(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& shape = instruction.shape();
  // iota_c2
  if (shape.element_type() == ElementType::kPred) return OpError(instruction, "pred has no consecutive values");
  // iota_c3
  if (shape.rank() == 0) return OpError(instruction, "{} has no dimension to count along", shape.ToString());
  VXLA_RETURN_IF_ERROR(ExpectDimension(instruction, "iota_dimension",  // iota_c1
                                       instruction.attributes<IotaAttributes>().iota_dimension, shape));
  return shape;
}

// Interior padding first, then the edges; a negative edge removes elements.
Result<Shape> InferPad(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 0, 1));  // pad_c1
  const auto& padding = instruction.attributes<PadAttributes>().padding;
  Shape result = Operand0(instruction);
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "padding", padding.size(), result));  // pad_c2
  for (int i = 0; i < result.rank(); ++i) {
    if (padding[i].interior < 0) {  // pad_c3
      return OpError(instruction, "interior padding {} of dimension {} is negative", padding[i].interior, i);
    }
    for (const int64_t number : {padding[i].low, padding[i].high, padding[i].interior}) {
      if (number >= -kMaxWindowNumber && number <= kMaxWindowNumber) continue;
      return OpError(instruction, "padding {} of dimension {} exceeds the limit of 2^44", number, i);  // pad_c5
    }
    const int64_t size = result.dimension(i);
    const __int128 inner = size == 0 ? 0 : size + static_cast<__int128>(size - 1) * padding[i].interior;
    const __int128 padded = inner + padding[i].low + padding[i].high;  // pad_c4
    if (padded < 0 || padded > INT64_MAX) {
      return OpError(instruction, "padding {}_{}_{} gives dimension {} of {} a size outside of 0 to 2^63-1",
                     padding[i].low, padding[i].high, padding[i].interior, i,
                     instruction.operand(0)->shape().ToString());
    }
    result.set_dimension(i, static_cast<int64_t>(padded));
  }
  return result;
}

Result<Shape> InferReverse(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "dimensions", instruction.dimensions(),  // reverse_c2, _c3
                                              instruction.operand(0)->shape()));
  return Operand0(instruction);
}

Result<Shape> InferSlice(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const auto& slice = instruction.attributes<SliceAttributes>().slice;
  Shape result = Operand0(instruction);
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "slice", slice.size(), result));  // slice_c2
  for (int i = 0; i < result.rank(); ++i) {
    const auto& [start, limit, stride] = slice[i];
    const std::string text = instruction.operand(0)->shape().ToString();
    if (start < 0)
      return OpError(instruction, "start {} of dimension {} of {} is negative", start, i, text);  // slice_c3
    if (limit > result.dimension(i)) {                                                            // slice_c3
      return OpError(instruction, "limit {} exceeds dimension {} of {}", limit, i, text);
    }
    if (start > limit) {  // slice_c3
      return OpError(instruction, "start {} exceeds limit {} in dimension {} of {}", start, limit, i, text);
    }
    if (stride < 1)
      return OpError(instruction, "stride {} of dimension {} of {} is below 1", stride, i, text);  // slice_c4
    const int64_t length = limit - start;
    result.set_dimension(i, length / stride + (length % stride != 0 ? 1 : 0));  // slice_c5
    // One element is picked wherever it lies; more of them are those that live.
    if (result.dimension(i) == 1) result.set_dynamic_dimension(i, false);
  }
  return result;
}

// Dimension i of the result is dimension permutation[i] of the operand.
Result<Shape> InferTranspose(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const Shape& from = instruction.operand(0)->shape();
  const IntList& permutation = instruction.dimensions();
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "dimensions", permutation.size(), from));
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "dimensions", permutation, from));  // transpose_c2
  Shape result(from.element_type());
  for (int64_t i : permutation) result.AddDimension(from, i);
  return result;
}

// (destination, source, context)
Result<Shape> InferCopyStart(const Instruction& instruction) {
  const Shape& stated = instruction.shape();
  const Shape& from = instruction.operand(0)->shape();
  if (!stated.IsTuple() || stated.tuple_elements().size() != 3 || !Compatible(stated.tuple_elements()[0], from) ||
      !Compatible(stated.tuple_elements()[1], from)) {  // copy_start_c1
    return OpError(instruction, "the stated shape {} is not ({}, {}, u32[])", stated.ToString(), from.ToString(),
                   from.ToString());
  }
  return WithFlagsOf(stated, Shape::Tuple({from, from, stated.tuple_elements()[2]}));
}

Result<Shape> InferCopyDone(const Instruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  if (instruction.operand(0)->opcode() != Opcode::kCopyStart || from.tuple_elements().empty()) {  // copy_done_c1
    return OpError(instruction, "operand 0 is not a copy-start");
  }
  return from.tuple_elements()[0];
}

Result<Shape> InferGetDimensionSize(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, instruction.dimensions()));  // get_dimension_size_c1
  VXLA_RETURN_IF_ERROR(ExpectS32Bound(instruction, instruction.dimensions()[0]));
  return Shape(ElementType::kS32);
}

// Stated static, the dimension is made so: its size must be the bound.
Result<Shape> InferSetDimensionSize(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectOneDimension(instruction, instruction.dimensions()));
  const int64_t dimension = instruction.dimensions()[0];
  Shape result = Operand0(instruction);
  const Shape& size = instruction.operand(1)->shape();
  if (!(size == Shape(ElementType::kS32)))  // set_dimension_size_c1
    return OpError(instruction, "operand 1 is {}, s32[] needed", size.ToString());
  VXLA_RETURN_IF_ERROR(ExpectS32Bound(instruction, dimension));
  const int d = static_cast<int>(dimension);
  const Shape& stated = instruction.shape();
  const bool to_static = stated.IsArray() && SameDimensions(stated, result) && !stated.is_dynamic_dimension(d);
  const std::optional<int64_t> constant = ConstantOperand(instruction, 1);
  if (constant && (*constant < 0 || *constant > result.dimension(d))) {  // set_dimension_size_c2
    return OpError(instruction, "size {} is not in 0 to {}, the bound of dimension {} of {}", *constant,
                   result.dimension(d), d, instruction.operand(0)->shape().ToString());
  }
  if (constant && to_static && *constant != result.dimension(d)) {  // set_dimension_size_c3
    return OpError(instruction, "size {} for dimension {} of {}, which is static", *constant, d, stated.ToString());
  }
  result.set_dynamic_dimension(d, !to_static);
  return result;
}

}  // namespace VXLA_NAMESPACE
