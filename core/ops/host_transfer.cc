#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// (data, u32[], token[])
Shape TransferContext(const Shape& data) { return Shape::Tuple({data, Shape(ElementType::kU32), Shape::Token()}); }

// A done may leave out its start's channel, but not state another.
Status ExpectSameChannel(const Instruction& done) {
  const auto& a = done.attributes<SendRecvAttributes>();
  const auto& b = done.operand(0)->attributes<SendRecvAttributes>();
  if (a.channel_id && b.channel_id && *a.channel_id != *b.channel_id) {  // channel_c1
    return OpError(done, "channel_id {} for the {} of channel_id {}", *a.channel_id,
                   OpcodeText(done.operand(0)->opcode()), *b.channel_id);
  }
  return OkStatus();
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
  VXLA_RETURN_IF_ERROR(ExpectAliases(instruction, a.output_to_operand_aliasing, instruction.shape()));
  return instruction.shape();
}

// infeed(token) -> (data, token)
Result<Shape> InferInfeed(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 0));
  const auto& elements = instruction.shape().tuple_elements();
  if (elements.size() != 2 || !elements[1].IsToken()) {  // infeed_c1
    return OpError(instruction, "the stated shape {} is not (data, token[])", instruction.shape().ToString());
  }
  for (const Shape& element : elements[0].tuple_elements()) {  // infeed_c2
    if (element.IsTuple()) return OpError(instruction, "{} holds a nested tuple", elements[0].ToString());
  }
  for (const Shape* leaf : FlattenTuple(elements[0])) {  // infeed_c3
    if (!leaf->IsArray())
      return OpError(instruction, "{} holds no array but {}", elements[0].ToString(), leaf->ToString());
  }
  return instruction.shape();
}

// outfeed(data, token)
Result<Shape> InferOutfeed(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectToken(instruction, 1));
  const auto& shape = instruction.attributes<OutfeedAttributes>().outfeed_shape;
  if (shape && !Compatible(*shape, instruction.operand(0)->shape())) {  // outfeed_c1
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
  VXLA_RETURN_IF_ERROR(ExpectSameChannel(instruction));
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
  VXLA_RETURN_IF_ERROR(ExpectSameChannel(instruction));
  const auto& context = instruction.operand(0)->shape().tuple_elements();
  if (context.empty())  // recv_done_c1
    return OpError(instruction, "operand 0 {} holds no data", instruction.operand(0)->shape().ToString());
  return Shape::Tuple({context[0], Shape::Token()});
}

}  // namespace VXLA_NAMESPACE
