#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

// The comparator takes two values of each operand, interleaved.
Result<Shape> InferSort(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));  // sort_c1
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(
      ExpectOneDimension(instruction, instruction.attributes<SortAttributes>().dimensions));  // sort_c4
  std::vector<Shape> parameters;
  for (int k = 0; k < instruction.operand_count(); ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));  // sort_c3
    parameters.insert(parameters.end(), 2, ScalarOf(instruction.operand(k)->shape()));
  }
  const Shape pred(ElementType::kPred);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), parameters, &pred));  // sort_c5
  return Collate(OperandShapes(instruction));
}

// The k largest (or smallest) along the last dimension, and their s32 positions.
Result<Shape> InferTopK(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  const Shape& shape = instruction.operand(0)->shape();
  const int64_t k = instruction.attributes<TopKAttributes>().k;
  // topk_c2
  if (shape.rank() < 1) return OpError(instruction, "operand 0 is {}, a scalar", shape.ToString());
  const int last = shape.rank() - 1;
  if (k < 0 || k > shape.dimension(last)) {  // topk_c1
    return OpError(instruction, "k {} is not in 0 to {}, dimension {} of {}", k, shape.dimension(last), last,
                   shape.ToString());
  }
  if (IsComplex(shape.element_type())) {  // topk_c3
    return OpError(instruction, "operand 0 is of {}, a type with an order needed",
                   ElementTypeName(shape.element_type()));
  }
  Shape values = shape.WithoutLayout();
  values.set_dimension(last, k);
  values.set_dynamic_dimension(last, false);  // k of those that live
  return Shape::Tuple({values, WithElementType(values, ElementType::kS32)});
}

}  // namespace VXLA_NAMESPACE
