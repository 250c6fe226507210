
#include "core/numerics/dot_algorithm.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckDimensionPairs(const Instruction& instruction, const char* what, const IntList& lhs_dims,
                           const IntList& rhs_dims) {
  const Shape& lhs = instruction.operand(0)->shape();
  const Shape& rhs = instruction.operand(1)->shape();
  if (lhs_dims.size() != rhs_dims.size()) {  // dot_c3, dot_c4
    return OpError(instruction, "{} {} dimensions of lhs, {} of rhs", lhs_dims.size(), what, rhs_dims.size());
  }
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    if (lhs.dimension(lhs_dims[i]) != rhs.dimension(rhs_dims[i])) {  // dot_c9, dot_c10
      return OpError(instruction, "{} dimension {} of {} and {} of {} differ in size", what, lhs_dims[i],
                     lhs.ToString(), rhs_dims[i], rhs.ToString());
    }
  }
  return OkStatus();
}

// dot_c5, dot_c6, dot_c7, dot_c8: in range, and no dimension named twice on one side.
Status CheckDotDimensions(const Instruction& instruction) {
  const auto& a = instruction.attributes<DotAttributes>();
  auto unique = [&](const char* what, const IntList& batch, const IntList& contracting, int operand) {
    IntList all = batch;
    all.insert(all.end(), contracting.begin(), contracting.end());
    return ExpectUniqueDimensions(instruction, what, all, instruction.operand(operand)->shape());
  };
  VXLA_RETURN_IF_ERROR(ExpectPrecision(instruction, a.operand_precision));
  VXLA_RETURN_IF_ERROR(unique("lhs_batch_dims and lhs_contracting_dims", a.lhs_batch_dims, a.lhs_contracting_dims, 0));
  VXLA_RETURN_IF_ERROR(unique("rhs_batch_dims and rhs_contracting_dims", a.rhs_batch_dims, a.rhs_contracting_dims, 1));
  VXLA_RETURN_IF_ERROR(CheckDimensionPairs(instruction, "batch", a.lhs_batch_dims, a.rhs_batch_dims));
  return CheckDimensionPairs(instruction, "contracting", a.lhs_contracting_dims, a.rhs_contracting_dims);
}

bool IsF8(ElementType type) { return IsFloating(type) && BitWidth(type) == 8; }

Status CheckAlgorithm(const Instruction& instruction) {
  const std::string& name = instruction.attributes<DotAttributes>().algorithm;
  if (name.empty() || name == "dot_unset") return OkStatus();
  const DotAlgorithm* const algorithm = FindDotAlgorithm(name);
  if (algorithm == nullptr) {  // dot_algorithm_c1
    std::string names;
    for (const DotAlgorithm& known : DotAlgorithms()) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return OpError(instruction, "algorithm {} is none of {}", name, names);
  }
  for (int i = 0; i < 2; ++i) {
    const ElementType type = instruction.operand(i)->shape().element_type();
    if (algorithm->takes_f8() ? !IsF8(type) : !IsFloating(type) && !IsInteger(type)) {  // dot_algorithm_c2
      return OpError(instruction, "algorithm {} takes no operand of {}, only {}", name, ElementTypeName(type),
                     algorithm->takes_f8() ? "f8 types" : "integers and floating types");
    }
  }
  return OkStatus();
}

// The dimensions that are neither in `a` nor in `b` nor in `c`.
void AppendFree(const Shape& shape, const IntList& a, const IntList& b, const IntList& c, Shape& result) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (!Contains(a, i) && !Contains(b, i) && !Contains(c, i)) result.AddDimension(shape, i);
  }
}

// either: batch dimensions are dynamic where rhs is, too.
Shape DotShape(const Instruction& instruction, ElementType type, bool either) {
  const auto& a = instruction.attributes<DotAttributes>();
  const Shape& lhs = instruction.operand(0)->shape();
  const Shape& rhs = instruction.operand(1)->shape();
  Shape result(type);
  for (size_t i = 0; i < a.lhs_batch_dims.size(); ++i) {
    result.AddDimension(lhs, a.lhs_batch_dims[i]);
    if (either && rhs.is_dynamic_dimension(a.rhs_batch_dims[i])) result.set_dynamic_dimension(i, true);
  }
  AppendFree(lhs, a.lhs_batch_dims, a.lhs_contracting_dims, {}, result);
  AppendFree(rhs, a.rhs_batch_dims, a.rhs_contracting_dims, a.rhs_group_dims, result);
  return result;
}

}  // namespace

// Result: batch dimensions, free dimensions of lhs, free dimensions of rhs.
Result<Shape> InferDot(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_ASSIGN_OR_RETURN(const ElementType type, ProductElementType(instruction));
  VXLA_RETURN_IF_ERROR(CheckDotDimensions(instruction));
  VXLA_RETURN_IF_ERROR(CheckAlgorithm(instruction));
  return StatedOr(instruction, DotShape(instruction, type, false), DotShape(instruction, type, true));
}

// ragged-dot(lhs, rhs, group_sizes): the ragged dimension of lhs is free, contracting or batch; a contracting one adds
// the groups as the first dimension of the result.
Result<Shape> InferRaggedDot(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_ASSIGN_OR_RETURN(const ElementType type, ProductElementType(instruction));
  VXLA_RETURN_IF_ERROR(CheckDotDimensions(instruction));
  const auto& a = instruction.attributes<DotAttributes>();
  if (!a.algorithm.empty())  // ragged_dot_c5
    return OpError(instruction, "algorithm {} is a plain dot's", a.algorithm);
  const Shape& groups = instruction.operand(2)->shape();
  if (!IsInteger(groups.element_type()) || groups.rank() < 1) {  // ragged_dot_c3
    return OpError(instruction, "group sizes {} are not an array of integers", groups.ToString());
  }
  if (a.lhs_ragged_dims.size() != 1) {  // ragged_dot_c1
    return OpError(instruction, "{} ragged dimensions, 1 needed", a.lhs_ragged_dims.size());
  }
  VXLA_RETURN_IF_ERROR(
      ExpectUniqueDimensions(instruction, "lhs_ragged_dims", a.lhs_ragged_dims, instruction.operand(0)->shape()));
  const Shape& rhs = instruction.operand(1)->shape();
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "rhs_group_dims", a.rhs_group_dims, rhs));
  const bool contracting = Contains(a.lhs_contracting_dims, a.lhs_ragged_dims[0]);
  const bool batch = Contains(a.lhs_batch_dims, a.lhs_ragged_dims[0]);
  const size_t wanted = contracting || batch ? 0 : 1;
  if (a.rhs_group_dims.size() != wanted) {  // ragged_dot_c2
    return OpError(instruction, "{} group dimensions of rhs, {} needed", a.rhs_group_dims.size(), wanted);
  }
  const int64_t group_count = groups.dimension(groups.rank() - 1);
  if (wanted == 1 && rhs.dimension(a.rhs_group_dims[0]) != group_count) {  // ragged_dot_c4
    return OpError(instruction, "dimension {} of {} is not the number of groups {}", a.rhs_group_dims[0],
                   rhs.ToString(), group_count);
  }
  const Shape shape = StatedOr(instruction, DotShape(instruction, type, false), DotShape(instruction, type, true));
  if (!contracting) return shape;
  Shape by_group(type);
  by_group.AddDimension(groups, groups.rank() - 1);
  for (int i = 0; i < shape.rank(); ++i) by_group.AddDimension(shape, i);
  return by_group;
}

// scaled-dot(lhs, rhs, scales of lhs, scales of rhs): the order of XLA's instruction; its builder's differs.
Result<Shape> InferScaledDot(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  for (int i = 0; i < 4; ++i) {
    const ElementType type = instruction.operand(i)->shape().element_type();
    if (!IsFloating(type))  // scaled_dot_c1
      return OpError(instruction, "operand {} is of {}, a floating type needed", i, ElementTypeName(type));
  }
  for (int k = 0; k < 2; ++k) {
    const Shape& array = instruction.operand(k)->shape();
    const Shape& scales = instruction.operand(2 + k)->shape();
    bool fits = array.rank() == scales.rank();
    for (int i = 0; fits && i < array.rank(); ++i) {
      const int64_t blocks = scales.dimension(i);
      fits = blocks > 0 ? array.dimension(i) % blocks == 0 : array.dimension(i) == 0;
    }
    if (!fits) {  // scaled_dot_c2
      return OpError(instruction, "scales {} do not cut {} into blocks", scales.ToString(), array.ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(CheckDotDimensions(instruction));
  const ElementType type = instruction.shape().element_type();
  return StatedOr(instruction, DotShape(instruction, type, false), DotShape(instruction, type, true));
}

}  // namespace VXLA_NAMESPACE
