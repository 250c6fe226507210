#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// [..., n, n] of a floating or complex type.
Status ExpectSquareMatrices(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const Shape& shape = instruction.operand(0)->shape();
  if (!IsFloating(shape.element_type()) && !IsComplex(shape.element_type())) {
    // square_c1
    return OpError(instruction, "operand 0 is of {}, a floating or complex type needed",
                   ElementTypeName(shape.element_type()));
  }
  const int rank = shape.rank();
  if (rank < 2 || shape.dimension(rank - 1) != shape.dimension(rank - 2)) {  // square_c2
    return OpError(instruction, "operand 0 {} does not hold square matrices", shape.ToString());
  }
  return OkStatus();
}

}  // namespace

Result<Shape> InferCholesky(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectSquareMatrices(instruction));  // cholesky_c2, cholesky_c3
  const Shape& shape = instruction.operand(0)->shape();
  Shape result = shape.WithoutLayout();
  const int rank = result.rank();
  const bool dynamic = result.is_dynamic_dimension(rank - 1) || result.is_dynamic_dimension(rank - 2);
  for (int i : {rank - 1, rank - 2}) result.set_dynamic_dimension(i, dynamic);
  return StatedOr(instruction, shape.WithoutLayout(), std::move(result));
}

Result<Shape> InferTriangularSolve(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectSquareMatrices(instruction));
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 1, 0));  // triangular_solve_c1
  const Shape& a = instruction.operand(0)->shape();
  const Shape& b = instruction.operand(1)->shape();
  bool agree = a.rank() == b.rank();  // triangular_solve_c2
  for (int i = 0; agree && i < a.rank() - 2; ++i) agree = a.dimension(i) == b.dimension(i);
  const bool left = instruction.attributes<TriangularSolveAttributes>().left_side;
  if (agree) agree = b.dimension(b.rank() - (left ? 2 : 1)) == a.dimension(a.rank() - 1);  // triangular_solve_c3
  if (!agree) {
    return OpError(instruction, "operand 1 {} does not fit the matrices {} on the {} side", b.ToString(), a.ToString(),
                   left ? "left" : "right");
  }
  Shape result = b.WithoutLayout();
  const int rank = result.rank();
  AddFlags(result, a, 0, rank - 2);
  if (a.is_dynamic_dimension(rank - 1) || a.is_dynamic_dimension(rank - 2)) {
    result.set_dynamic_dimension(rank - (left ? 2 : 1), true);
  }
  return StatedOr(instruction, b.WithoutLayout(), std::move(result));
}

}  // namespace VXLA_NAMESPACE
