#include "core/ops/op_support.h"

#include <algorithm>

#include "core/limits.h"

namespace VXLA_NAMESPACE {

Status ExpectArray(const Instruction& instruction, int operand) {
  const Shape& shape = instruction.operand(operand)->shape();
  if (shape.IsArray()) return OkStatus();
  // array_c1
  return OpError(instruction, "operand {} is {}, not an array", operand, shape.ToString());
}

Status ExpectAllArrays(const Instruction& instruction) {
  for (int i = 0; i < instruction.operand_count(); ++i) VXLA_RETURN_IF_ERROR(ExpectArray(instruction, i));
  return OkStatus();
}

Status ExpectToken(const Instruction& instruction, int operand) {
  const Shape& shape = instruction.operand(operand)->shape();
  if (shape.IsToken()) return OkStatus();
  // token_c1
  return OpError(instruction, "operand {} is {}, not a token", operand, shape.ToString());
}

Status ExpectScalar(const Instruction& instruction, int operand) {
  const Shape& shape = instruction.operand(operand)->shape();
  if (shape.IsScalar()) return OkStatus();
  // scalar_c1
  return OpError(instruction, "operand {} is {}, not a scalar", operand, shape.ToString());
}

Status ExpectOperandIs(const Instruction& instruction, Opcode opcode) {
  const Opcode given = instruction.operand(0)->opcode();
  if (given == opcode) return OkStatus();
  // done_c1
  return OpError(instruction, "operand 0 is {}, {} needed", OpcodeText(given), OpcodeText(opcode));
}

Status ExpectOperandsAtLeast(const Instruction& instruction, int count) {
  if (instruction.operand_count() >= count) return OkStatus();
  // arity_c2
  return OpError(instruction, "{} operands, at least {} needed", instruction.operand_count(), count);
}

Status ExpectCalled(const Instruction& instruction, int count) {
  const int given = static_cast<int>(instruction.called().size());
  if (given == count) return OkStatus();
  // called_c1
  return OpError(instruction, "{} called computations, {} needed", given, count);
}

Status ExpectStatedArray(const Instruction& instruction) {
  if (instruction.shape().IsArray()) return OkStatus();
  // stated_c1
  return OpError(instruction, "the stated shape {} is not an array", instruction.shape().ToString());
}

Status ExpectSameType(const Instruction& instruction, int operand, int other) {
  const ElementType a = instruction.operand(operand)->shape().element_type();
  const ElementType b = instruction.operand(other)->shape().element_type();
  if (a == b) return OkStatus();
  // same_type_c1
  return OpError(instruction, "operand {} is of {}, operand {} of {}", operand, ElementTypeName(a), other,
                 ElementTypeName(b));
}

Status ExpectSameDimensions(const Instruction& instruction, int operand, int other) {
  const Shape& a = instruction.operand(operand)->shape();
  const Shape& b = instruction.operand(other)->shape();
  if (SameDimensions(a, b)) return OkStatus();
  // same_dimensions_c1
  return OpError(instruction, "operand {} {} and operand {} {} differ in their dimensions", operand, a.ToString(),
                 other, b.ToString());
}

Status ExpectSameShape(const Instruction& instruction, int operand, int other) {
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, operand, other));
  return ExpectSameDimensions(instruction, operand, other);
}

Status ExpectDimension(const Instruction& instruction, std::string_view what, int64_t dimension, const Shape& shape) {
  if (dimension >= 0 && dimension < shape.rank()) return OkStatus();
  // dimension_c1
  return OpError(instruction, "{} {} is not a dimension of {}", what, dimension, shape.ToString());
}

Status ExpectUniqueDimensions(const Instruction& instruction, std::string_view what,
                              std::span<const int64_t> dimensions, const Shape& shape) {
  std::vector<bool> seen(shape.rank(), false);
  for (int64_t dimension : dimensions) {
    VXLA_RETURN_IF_ERROR(ExpectDimension(instruction, what, dimension, shape));
    if (seen[dimension]) {  // dimension_c2
      return OpError(instruction, "{} {{{}}} names {} twice", what, JoinInts(dimensions), dimension);
    }
    seen[dimension] = true;
  }
  return OkStatus();
}

Status ExpectOneDimension(const Instruction& instruction, const IntList& dimensions, int operands) {
  // one_dimension_c1
  if (dimensions.size() != 1) return OpError(instruction, "{} dimensions, 1 needed", dimensions.size());
  for (int k = 0; k < operands; ++k)
    VXLA_RETURN_IF_ERROR(ExpectDimension(instruction, "dimension", dimensions[0], instruction.operand(k)->shape()));
  return OkStatus();
}

Status ExpectOnePerDimension(const Instruction& instruction, std::string_view what, size_t count, const Shape& shape) {
  if (count == static_cast<size_t>(shape.rank())) return OkStatus();
  // dimension_c3
  return OpError(instruction, "{} has {} entries for the {} dimensions of {}", what, count, shape.rank(),
                 shape.ToString());
}

Status ExpectSignature(const Instruction& instruction, const Computation& computation,
                       std::span<const Shape> parameters, const Shape* result) {
  const auto& given = computation.parameters();
  if (given.size() != parameters.size()) {  // signature_c1
    return OpError(instruction, "computation {} has {} parameters, {} needed", computation.name(), given.size(),
                   parameters.size());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) {  // signature_c2
      return OpError(instruction, "computation {} has no parameter {}", computation.name(), i);
    }
    if (!Compatible(given[i]->shape(), parameters[i])) {  // signature_c3
      return OpError(instruction, "parameter {} of computation {} is {}, {} needed", i, computation.name(),
                     given[i]->shape().ToString(), parameters[i].ToString());
    }
    if (!KeepsFlags(parameters[i], given[i]->shape())) {  // signature_c6
      return OpError(instruction, "parameter {} of computation {} is {}, {} needed", i, computation.name(),
                     given[i]->shape().ToString(), WithFlagsOf(given[i]->shape(), parameters[i]).ToString());
    }
  }
  // signature_c4
  if (computation.root() == nullptr) return OpError(instruction, "computation {} has no root", computation.name());
  if (result != nullptr && !Compatible(computation.root()->shape(), *result)) {  // signature_c5
    return OpError(instruction, "computation {} returns {}, {} needed", computation.name(),
                   computation.root()->shape().ToString(), result->ToString());
  }
  return OkStatus();
}

Status ExpectStated(const Instruction& instruction, const Shape& expected) {
  if (Compatible(instruction.shape(), expected)) return OkStatus();
  // stated_c2
  return OpError(instruction, "the stated shape {} should be {}", instruction.shape().ToString(), expected.ToString());
}

Shape ScalarOf(const Shape& shape) { return Shape(shape.element_type()); }

Shape WithElementType(const Shape& shape, ElementType type) {
  Shape result = shape.WithoutLayout();
  result.set_element_type(type);
  return result;
}

void AddFlags(Shape& shape, const Shape& other, int begin, int end) {
  for (int i = begin; i < (end < 0 ? shape.rank() : end); ++i) {
    if (other.is_dynamic_dimension(i)) shape.set_dynamic_dimension(i, true);
  }
}

Shape WithFlagsOf(Shape shape, const Shape& other) {
  if (!SameDimensions(shape, other) || shape.tuple_elements().size() != other.tuple_elements().size()) return shape;
  AddFlags(shape, other);
  for (size_t k = 0; k < shape.tuple_elements().size(); ++k) {
    Shape& element = shape.mutable_tuple_elements()[k];
    element = WithFlagsOf(std::move(element), other.tuple_elements()[k]);
  }
  return shape;
}

Shape WithFlagsOfOperands(const Instruction& instruction, int count) {
  Shape shape = instruction.operand(0)->shape().WithoutLayout();
  for (int k = 1; k < count; ++k) {
    const Shape& other = instruction.operand(k)->shape();
    if (SameDimensions(shape, other)) shape = WithFlagsOf(std::move(shape), other);
  }
  return shape;
}

Shape StatedOr(const Instruction& instruction, Shape least, Shape all) {
  return Compatible(instruction.shape(), least) ? std::move(least) : std::move(all);
}

bool KeepsFlags(const Shape& given, const Shape& stated) {
  for (int i = 0; i < given.rank(); ++i) {
    if (given.is_dynamic_dimension(i) && !stated.is_dynamic_dimension(i)) return false;
  }
  return std::ranges::equal(given.tuple_elements(), stated.tuple_elements(), KeepsFlags);
}

Shape Collate(std::vector<Shape> shapes) {
  if (shapes.size() == 1) return std::move(shapes[0]);
  return Shape::Tuple(std::move(shapes));
}

std::vector<Shape> OperandShapes(const Instruction& instruction, int from, int count) {
  const int end = count < 0 ? instruction.operand_count() : from + count;
  std::vector<Shape> shapes;
  for (int i = from; i < end; ++i) shapes.push_back(instruction.operand(i)->shape().WithoutLayout());
  return shapes;
}

Status ExpectPrecision(const Instruction& instruction, const std::vector<PrecisionLevel>& levels) {
  if (levels.empty() || levels.size() == 2) return OkStatus();
  // precision_c1
  return OpError(instruction, "{} entries of operand_precision, one for each of 2 operands needed", levels.size());
}

const Shape* PartOf(const Shape& shape, const IntList& index) {
  const Shape* part = &shape;
  for (int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(part->tuple_elements().size())) return nullptr;
    part = &part->tuple_elements()[i];
  }
  return part;
}

Status ExpectAliases(const Instruction& instruction, const std::vector<Aliasing>& aliases, const Shape& result) {
  for (const Aliasing& alias : aliases) {
    if (alias.operand < 0 || alias.operand >= instruction.operand_count()) {  // alias_c1
      return OpError(instruction, "output_to_operand_aliasing names operand {} of {}", alias.operand,
                     instruction.operand_count());
    }
    const Shape& operand = instruction.operand(alias.operand)->shape();
    const Shape* from = PartOf(operand, alias.operand_index);
    const Shape* to = PartOf(result, alias.output_index);
    if (from == nullptr || to == nullptr) {  // alias_c2
      return OpError(instruction, "output_to_operand_aliasing: {} has no part {{{}}}",
                     to == nullptr ? result.ToString() : operand.ToString(),
                     JoinInts(to == nullptr ? alias.output_index : alias.operand_index));
    }
    if (!Compatible(*from, *to)) {  // alias_c3
      return OpError(instruction, "output_to_operand_aliasing: result {{{}}} is {}, operand {} {{{}}} is {}",
                     JoinInts(alias.output_index), to->ToString(), alias.operand, JoinInts(alias.operand_index),
                     from->ToString());
    }
  }
  return OkStatus();
}

Result<ElementType> ProductElementType(const Instruction& instruction) {
  const ElementType lhs = instruction.operand(0)->shape().element_type();
  const ElementType rhs = instruction.operand(1)->shape().element_type();
  auto kind = [](ElementType t) { return IsInteger(t) ? 0 : IsFloating(t) ? 1 : IsComplex(t) ? 2 : 3; };
  if (kind(lhs) != kind(rhs)) {  // dot_c1
    return OpError(instruction, "{} and {} are not of one kind", ElementTypeName(lhs), ElementTypeName(rhs));
  }
  if (!instruction.shape().IsArray()) return BitWidth(rhs) > BitWidth(lhs) ? rhs : lhs;
  const ElementType result = instruction.shape().element_type();
  const bool integers_to_float = kind(lhs) == 0 && kind(result) == 1;
  if (kind(result) != kind(lhs) && !integers_to_float) {  // dot_c2
    return OpError(instruction, "a result of {} from operands of {}", ElementTypeName(result), ElementTypeName(lhs));
  }
  return result;
}

__int128 DilatedSize(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : static_cast<__int128>(size - 1) * dilation + 1;
}

Result<int64_t> WindowPositions(const Instruction& instruction, int dimension, int64_t size,
                                const WindowDimension& window) {
  // StableHLO reduce_window C5, C7, C9, C11 and convolution C2, C6, C8.
  if (window.size < 1) {  // window_c1
    return OpError(instruction, "window size {} of dimension {} is below 1", window.size, dimension);
  }
  if (window.stride < 1) {  // window_c2
    return OpError(instruction, "window stride {} of dimension {} is below 1", window.stride, dimension);
  }
  if (window.lhs_dilate < 1) {  // window_c3
    return OpError(instruction, "base dilation {} of dimension {} is below 1", window.lhs_dilate, dimension);
  }
  if (window.rhs_dilate < 1) {  // window_c4
    return OpError(instruction, "window dilation {} of dimension {} is below 1", window.rhs_dilate, dimension);
  }
  for (const int64_t number :
       {window.size, window.stride, window.lhs_dilate, window.rhs_dilate, window.pad_low, window.pad_high}) {
    if (number >= -kMaxWindowNumber && number <= kMaxWindowNumber) continue;
    return OpError(instruction, "{} in the window's dimension {} exceeds the limit of 2^44", number,
                   dimension);  // window_c6
  }
  const __int128 padded = DilatedSize(size, window.lhs_dilate) + window.pad_low + window.pad_high;
  const __int128 reach = DilatedSize(window.size, window.rhs_dilate);
  if (padded > kMaxPaddedSize || reach > kMaxPaddedSize) {  // window_c5
    return OpError(instruction, "the padded or dilated size of dimension {} exceeds the limit of 2^61", dimension);
  }
  if (padded <= 0 || reach > padded) return int64_t{0};
  return static_cast<int64_t>((padded - reach) / window.stride + 1);
}

Result<int> ExpectArraysAndInits(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 2));  // reduce_window_c1
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  if (instruction.operand_count() % 2 != 0) {  // reduce_c3, reduce_window_c1
    return OpError(instruction, "{} operands are not N arrays and N initial values", instruction.operand_count());
  }
  return instruction.operand_count() / 2;
}

Result<Shape> InferReduced(const Instruction& instruction, const Shape& reduced, const Shape& least) {
  const int n = instruction.operand_count() / 2;
  const auto of_type = [](const Shape& shape, ElementType type) {
    Shape other = shape;
    other.set_element_type(type);
    return other;
  };
  std::vector<Shape> scalars, results, leasts;
  for (int k = 0; k < n; ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));  // reduce_c1, reduce_window_c2
    VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, n + k));
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, n + k, k));  // reduce_c2, reduce_window_c3
    scalars.push_back(ScalarOf(instruction.operand(k)->shape()));
    results.push_back(of_type(reduced, scalars.back().element_type()));
    leasts.push_back(of_type(least, scalars.back().element_type()));
  }
  const Shape result = Collate(scalars);
  scalars.insert(scalars.end(), scalars.begin(), scalars.begin() + n);
  // reduce_c6, reduce_window_c13
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), scalars, &result));
  return StatedOr(instruction, Collate(std::move(leasts)), Collate(std::move(results)));
}

}  // namespace VXLA_NAMESPACE
