#include <algorithm>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

Result<Shape> RootShape(const Instruction& instruction, const Computation& computation) {
  // signature_c4
  if (computation.root() == nullptr) return OpError(instruction, "computation {} has no root", computation.name());
  return computation.root()->shape().WithoutLayout();
}

// call_c1: one parameter for each operand, of its shape; the result is the root's.
Result<Shape> InferApplication(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), OperandShapes(instruction)));
  return RootShape(instruction, *instruction.called(0));
}

}  // namespace

Result<Shape> InferParameter(const Instruction& instruction) {
  if (instruction.parameter_number() < 0) {  // parameter_c1
    return OpError(instruction, "number {} is negative", instruction.parameter_number());
  }
  return instruction.shape();
}

Result<Shape> InferConstant(const Instruction& instruction) {
  const auto& literal = instruction.attributes<ConstantAttributes>().literal;
  if (literal != nullptr && !Compatible(literal->shape(), instruction.shape())) {  // constant_c1
    return OpError(instruction, "a literal of {} for {}", literal->shape().ToString(), instruction.shape().ToString());
  }
  return instruction.shape();
}

Result<Shape> InferTuple(const Instruction& instruction) {
  int64_t nodes = 1;
  int depth = 1;
  for (const Instruction* operand : instruction.operands()) {  // before any of them is copied
    depth = std::max(depth, TupleDepth(operand->shape(), nodes) + 1);
    if (nodes > kMaxTupleNodes || depth > kMaxTupleDepth) {  // tuple_c1
      return OpError(instruction, "more than {} elements or {} levels", kMaxTupleNodes, kMaxTupleDepth);
    }
  }
  return Shape::Tuple(Transformed(instruction.operands(), &Instruction::shape));
}

Result<Shape> InferGetTupleElement(const Instruction& instruction) {
  const Shape& tuple = instruction.operand(0)->shape();
  const int64_t index = instruction.attributes<GetTupleElementAttributes>().index;
  // get_tuple_element_c2
  if (!tuple.IsTuple()) return OpError(instruction, "operand 0 is {}, not a tuple", tuple.ToString());
  const int64_t count = static_cast<int64_t>(tuple.tuple_elements().size());
  if (index < 0 || index >= count) {  // get_tuple_element_c1
    return OpError(instruction, "index {} is not in 0 to {} of {}", index, count - 1, tuple.ToString());
  }
  return tuple.tuple_elements()[index];
}

Result<Shape> InferOptimizationBarrier(const Instruction& instruction) { return instruction.operand(0)->shape(); }

Result<Shape> InferDomain(const Instruction& instruction) { return instruction.operand(0)->shape(); }

Result<Shape> InferCall(const Instruction& instruction) { return InferApplication(instruction); }

// The fused computation gives the shape; a fusion without operands and with them alike.
Result<Shape> InferFusion(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(Shape result, InferApplication(instruction));
  VXLA_RETURN_IF_ERROR(
      ExpectAliases(instruction, instruction.attributes<FusionAttributes>().output_to_operand_aliasing, result));
  return result;
}

// A computation over scalars, applied at each index.
Result<Shape> InferMap(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  std::vector<Shape> scalars;
  for (int k = 0; k < instruction.operand_count(); ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));  // map_c1
    scalars.push_back(ScalarOf(instruction.operand(k)->shape()));
  }
  const Shape shape = WithFlagsOfOperands(instruction, instruction.operand_count());
  const IntList& dimensions = instruction.dimensions();
  for (size_t i = 0; i < dimensions.size(); ++i) {  // map_c3: all of them, in order
    if (dimensions[i] != static_cast<int64_t>(i)) {
      return OpError(instruction, "dimensions {{{}}} are not all those of {}", JoinInts(dimensions), shape.ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "dimensions", dimensions.size(), shape));
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), scalars));  // map_c4
  VXLA_ASSIGN_OR_RETURN(const Shape result, RootShape(instruction, *instruction.called(0)));
  if (!result.IsScalar()) {  // map_c2
    return OpError(instruction, "computation {} returns {}, a scalar needed", instruction.called(0)->name(),
                   result.ToString());
  }
  const std::vector<int64_t> sizes(shape.dimensions().begin(), shape.dimensions().end());
  return StatedOr(instruction, Shape(result.element_type(), sizes), WithElementType(shape, result.element_type()));
}

// while(init), condition: T -> pred[], body: T -> T
Result<Shape> InferWhile(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 2));
  const std::vector<Shape> init = OperandShapes(instruction);
  const Shape pred(ElementType::kPred);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), init, &pred));     // while_c1
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(1), init, &init[0]));  // while_c2
  // What the body gives goes back into both.
  const std::vector<Shape> state{WithFlagsOf(init[0], instruction.called(1)->root()->shape())};
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), state));
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(1), state));
  return state[0];
}

// conditional(pred or s32 index, one argument for each branch)
Result<Shape> InferConditional(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  const int branches = static_cast<int>(instruction.called().size());
  if (branches < 1) return OpError(instruction, "no branches");  // case_c1
  const Shape& index = instruction.operand(0)->shape();
  const bool pred = index == Shape(ElementType::kPred);
  if (!pred && !(index == Shape(ElementType::kS32))) {  // case_c4
    return OpError(instruction, "operand 0 is {}, pred[] or s32[] needed", index.ToString());
  }
  // case_c5
  if (pred && branches != 2) return OpError(instruction, "{} branches for a pred, 2 needed", branches);
  if (instruction.operand_count() != branches + 1) {  // case_c6
    return OpError(instruction, "{} branches for {} arguments", branches, instruction.operand_count() - 1);
  }
  VXLA_ASSIGN_OR_RETURN(Shape result, RootShape(instruction, *instruction.called(0)));
  for (int i = 0; i < branches; ++i) {  // case_c2, case_c3
    VXLA_RETURN_IF_ERROR(
        ExpectSignature(instruction, *instruction.called(i), OperandShapes(instruction, i + 1, 1), &result));
    result = WithFlagsOf(std::move(result), instruction.called(i)->root()->shape());
  }
  return result;
}

Result<Shape> InferAddDependency(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 1));
  return instruction.operand(0)->shape();
}

// XLA's waits for values of any shape.
Result<Shape> InferAfterAll(const Instruction&) { return Shape::Token(); }

// ((operands), result, contexts...)
Result<Shape> InferAsyncStart(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), OperandShapes(instruction)));
  VXLA_ASSIGN_OR_RETURN(const Shape result, RootShape(instruction, *instruction.called(0)));
  const Shape operands = Shape::Tuple(OperandShapes(instruction));
  const Shape& stated = instruction.shape();
  if (stated.tuple_elements().size() < 2 || !Compatible(stated.tuple_elements()[0], operands) ||
      !Compatible(stated.tuple_elements()[1], result)) {  // async_start_c1
    return OpError(instruction, "the stated shape {} does not begin with {}, {}", stated.ToString(),
                   operands.ToString(), result.ToString());
  }
  Shape shape = stated;
  shape.mutable_tuple_elements()[0] = WithFlagsOf(stated.tuple_elements()[0], operands);
  shape.mutable_tuple_elements()[1] = WithFlagsOf(stated.tuple_elements()[1], result);
  return shape;
}

namespace {

Status ExpectAsyncContext(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  const Opcode opcode = instruction.operand(0)->opcode();
  if (opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate) {
    if (instruction.operand(0)->shape().tuple_elements().size() >= 2) return OkStatus();
  }
  // async_done_c1
  return OpError(instruction, "operand 0 is not an async-start or async-update");
}

}  // namespace

Result<Shape> InferAsyncUpdate(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAsyncContext(instruction));
  return instruction.operand(0)->shape();
}

Result<Shape> InferAsyncDone(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAsyncContext(instruction));
  return instruction.operand(0)->shape().tuple_elements()[1];
}

}  // namespace VXLA_NAMESPACE
