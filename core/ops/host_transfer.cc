#include "core/ops/op_support.h"

namespace vxla {
namespace {

// (data, u32[], token[])
Shape TransferContext(const Shape& data) { return Shape::Tuple({data, Shape(ElementType::kU32), Shape::Token()}); }

Status ExpectOperandIs(const Instruction& instruction, Opcode opcode) {
  if (instruction.operand(0)->opcode() == opcode) return OkStatus();
  return OpError(instruction, "operand 0 is {}, {} needed", OpcodeText(instruction.operand(0)->opcode()),
                 OpcodeText(opcode));
}

}  // namespace

// What a custom call returns is its own affair; called computations are checked where they are defined.
Result<Shape> InferCustomCall(const Instruction& instruction) {
  const auto& a = instruction.attributes<CustomCallAttributes>();
  if (a.operand_layout_constraints &&
      a.operand_layout_constraints->size() != static_cast<size_t>(instruction.operand_count())) {  // custom_call_c1
    return OpError(instruction, "{} operand_layout_constraints for {} operands", a.operand_layout_constraints->size(),
                   instruction.operand_count());
  }
  for (const Aliasing& alias : a.output_to_operand_aliasing) {
    if (alias.operand < 0 || alias.operand >= instruction.operand_count()) {
      return OpError(instruction, "output_to_operand_aliasing names operand {} of {}", alias.operand,
                     instruction.operand_count());
    }
  }
  return instruction.shape();
}

// infeed(token) -> (data, token)
Result<Shape> InferInfeed(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 0));
  const auto& elements = instruction.shape().tuple_elements();
  if (elements.size() != 2 || !elements[1].IsToken()) {  // infeed_c1
    return OpError(instruction, "the stated shape {} is not (data, token[])", instruction.shape().ToString());
  }
  for (const Shape& element : elements[0].tuple_elements()) {
    if (element.IsTuple()) return OpError(instruction, "{} holds a nested tuple", elements[0].ToString());
  }
  return instruction.shape();
}

// outfeed(data, token)
Result<Shape> InferOutfeed(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 1));
  const auto& shape = instruction.attributes<OutfeedAttributes>().outfeed_shape;
  if (shape && !Compatible(*shape, instruction.operand(0)->shape())) {
    return OpError(instruction, "outfeed_shape {} for {}", shape->ToString(),
                   instruction.operand(0)->shape().ToString());
  }
  return Shape::Token();
}

// send(data, token) -> (data, u32[], token)
Result<Shape> InferSend(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 1));
  return TransferContext(instruction.operand(0)->shape());
}

Result<Shape> InferSendDone(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandIs(instruction, Opcode::kSend));
  return Shape::Token();
}

// recv(token) -> (data, u32[], token)
Result<Shape> InferRecv(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 0));
  const auto& elements = instruction.shape().tuple_elements();
  if (elements.size() != 3 || !Compatible(instruction.shape(), TransferContext(elements[0]))) {  // recv_c2
    return OpError(instruction, "the stated shape {} is not (data, u32[], token[])", instruction.shape().ToString());
  }
  return instruction.shape();
}

Result<Shape> InferRecvDone(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandIs(instruction, Opcode::kRecv));
  const auto& context = instruction.operand(0)->shape().tuple_elements();
  if (context.empty())
    return OpError(instruction, "operand 0 {} holds no data", instruction.operand(0)->shape().ToString());
  return Shape::Tuple({context[0], Shape::Token()});
}

}  // namespace vxla
