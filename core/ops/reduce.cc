#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

Result<Shape> InferReduce(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const int n, ExpectArraysAndInits(instruction));
  const Shape& own = instruction.operand(0)->shape();
  const Shape first = WithFlagsOfOperands(instruction, n);
  const IntList& dimensions = instruction.dimensions();
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "dimensions", dimensions, first));  // reduce_c4, reduce_c5
  Shape reduced(own.element_type()), least = reduced;
  for (int i = 0; i < first.rank(); ++i) {
    if (Contains(dimensions, i)) continue;
    reduced.AddDimension(first, i);  // reduce_c7
    least.AddDimension(own, i);
  }
  return InferReduced(instruction, reduced, least);
}

}  // namespace VXLA_NAMESPACE
