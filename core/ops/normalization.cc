#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// Operands 1 to `last` are vectors of the feature dimension's size and the operand's type.
Result<Shape> CheckFeatures(const Instruction& instruction, int last) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  const Shape& shape = instruction.operand(0)->shape();
  if (!IsFloating(shape.element_type())) {  // batch_norm_c3
    return OpError(instruction, "operand 0 is of {}, a floating type needed", ElementTypeName(shape.element_type()));
  }
  const int64_t feature = instruction.attributes<BatchNormAttributes>().feature_index;
  VXLA_RETURN_IF_ERROR(ExpectDimension(instruction, "feature_index", feature, shape));  // batch_norm_c1
  Shape vector(shape.element_type(), {shape.dimension(feature)});
  vector.set_dynamic_dimension(0, shape.is_dynamic_dimension(feature));
  for (int i = 1; i <= last; ++i) {  // batch_norm_c2 and following
    if (!Compatible(instruction.operand(i)->shape(), vector)) {
      return OpError(instruction, "operand {} is {}, {} needed", i, instruction.operand(i)->shape().ToString(),
                     vector.ToString());
    }
  }
  return vector;
}

// Operand 0 where any operand is dynamic, in the features or elsewhere.
Shape Normalized(const Instruction& instruction) {
  Shape shape = WithFlagsOfOperands(instruction, instruction.operand_count());
  const auto feature = static_cast<int>(instruction.attributes<BatchNormAttributes>().feature_index);
  for (const Instruction* operand : instruction.operands()) {
    const bool features = operand->shape().rank() == 1 && operand->shape().is_dynamic_dimension(0);
    if (features && shape.rank() > 1) shape.set_dynamic_dimension(feature, true);
  }
  return shape;
}

Shape OperandShape(const Instruction& instruction) { return instruction.operand(0)->shape().WithoutLayout(); }

// (result, vector, vector)
Shape WithStatistics(const Instruction& instruction, const Shape& vector) {
  const Shape all = Normalized(instruction);
  const auto feature = static_cast<int>(instruction.attributes<BatchNormAttributes>().feature_index);
  Shape features = vector;
  features.set_dynamic_dimension(0, all.is_dynamic_dimension(feature));
  return StatedOr(instruction, Shape::Tuple({OperandShape(instruction), vector, vector}),
                  Shape::Tuple({all, features, features}));
}

}  // namespace

// (operand, scale, offset) -> (output, mean, variance)
Result<Shape> InferBatchNormTraining(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const Shape vector, CheckFeatures(instruction, 2));
  return WithStatistics(instruction, vector);
}

// (operand, scale, offset, mean, variance) -> output
Result<Shape> InferBatchNormInference(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckFeatures(instruction, 4).status());
  return StatedOr(instruction, OperandShape(instruction), Normalized(instruction));
}

// (operand, scale, mean, variance, grad_output) -> (grad_operand, grad_scale, grad_offset)
Result<Shape> InferBatchNormGrad(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const Shape vector, CheckFeatures(instruction, 3));
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 4, 0));  // batch_norm_grad_c3
  return WithStatistics(instruction, vector);
}

}  // namespace VXLA_NAMESPACE
