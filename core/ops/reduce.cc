#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

Result<Shape> InferReduce(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const int n, ExpectArraysAndInits(instruction));
  const Shape& own = instruction.operand(0)->shape();
  const Shape first = WithFlagsOfOperands(instruction, n);
  const IntList& dimensions = instruction.dimensions();
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "dimensions", dimensions, first));  // reduce_c4, reduce_c5
  std::vector<int64_t> sizes;
  std::vector<bool> dynamic, own_dynamic;
  for (int i = 0; i < first.rank(); ++i) {
    if (Contains(dimensions, i)) continue;
    AppendDimension(first, i, sizes, dynamic);  // reduce_c7
    own_dynamic.push_back(own.is_dynamic_dimension(i));
  }
  return InferReduced(instruction, MakeShape(own.element_type(), sizes, dynamic),
                      MakeShape(own.element_type(), sizes, own_dynamic));
}

}  // namespace VXLA_NAMESPACE
