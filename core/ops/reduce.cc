#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

// N arrays, then N initial values; the computation takes N accumulators, then N values.
Result<Shape> InferReduce(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 2));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  if (instruction.operand_count() % 2 != 0) {  // reduce_c3
    return OpError(instruction, "{} operands are not N arrays and N initial values", instruction.operand_count());
  }
  const int n = instruction.operand_count() / 2;
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
  std::vector<Shape> scalars, results, least;
  for (int k = 0; k < n; ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));  // reduce_c1
    VXLA_RETURN_IF_ERROR(ExpectScalar(instruction, n + k));
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, n + k, k));  // reduce_c2
    scalars.push_back(ScalarOf(instruction.operand(k)->shape()));
    results.push_back(MakeShape(scalars.back().element_type(), sizes, dynamic));
    least.push_back(MakeShape(scalars.back().element_type(), sizes, own_dynamic));
  }
  const Shape result = Collate(scalars);
  scalars.insert(scalars.end(), scalars.begin(), scalars.begin() + n);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), scalars, &result));  // reduce_c6
  return StatedOr(instruction, Collate(std::move(least)), Collate(std::move(results)));
}

}  // namespace VXLA_NAMESPACE
