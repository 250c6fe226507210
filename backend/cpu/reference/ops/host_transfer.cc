// Infeed, outfeed, send, recv and custom calls.

#include <algorithm>
#include <cstring>

#include "backend/cpu/reference/library/library_calls.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

Value ZerosOf(const Shape& shape) { return Value(Literal(shape)); }

// (data, u32[], token[])
Value TransferContext(const Instruction& instruction, Value data) {
  const auto& shapes = instruction.shape().tuple_elements();
  return Value::Tuple({std::move(data), ZerosOf(shapes[1]), ZerosOf(shapes[2])});
}

}  // namespace

EvalResult EvalInfeed(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_ASSIGN_OR_RETURN(Literal data, state->link.Infeed(instruction, state->device));
  return Value::Tuple({Value(std::move(data)), std::move(operands[0])});
}

EvalResult EvalOutfeed(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_RETURN_IF_ERROR(state->link.Outfeed(instruction, state->device, std::move(operands[0]).ToLiteral()));
  return std::move(operands[1]);
}

EvalResult EvalSend(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_RETURN_IF_ERROR(state->link.Send(instruction, state->device, Value(operands[0]).ToLiteral()));
  return TransferContext(instruction, std::move(operands[0]));
}

EvalResult EvalSendDone(EvalContext&, const Instruction&, std::span<Value> operands) {
  return std::move(operands[0].elements()[2]);
}

EvalResult EvalRecv(EvalContext&, const Instruction& instruction, std::span<Value>) {
  return TransferContext(instruction, ZerosOf(instruction.shape().tuple_elements()[0]));
}

EvalResult EvalRecvDone(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  VXLA_ASSIGN_OR_RETURN(const DeviceState* state, context.DeviceFor(instruction));
  VXLA_ASSIGN_OR_RETURN(Literal data, state->link.Receive(instruction, state->device));
  return Value::Tuple({Value(std::move(data)), std::move(operands[0].elements()[2])});
}

namespace {

// ---- custom calls

std::vector<int64_t> MajorToMinor(const Shape& shape) {
  std::vector<int64_t> order = shape.MinorToMajor();
  std::ranges::reverse(order);
  return order;
}

// The elements of an array in the order of `layout`'s memory, as a row-major array.
Literal InLayout(Literal literal, const Shape& layout, int threads) {
  const std::vector<int64_t> order = MajorToMinor(layout);
  if (!literal.shape().IsArray() || std::ranges::is_sorted(order)) return literal;
  return TransposeLiteral(literal, order, threads);
}

// The literal to pass for a result of this shape, and back.
Shape PhysicalShape(const Shape& shape) {
  if (!shape.IsArray()) return shape;
  std::vector<int64_t> sizes;
  for (int64_t d : MajorToMinor(shape)) sizes.push_back(shape.dimension(static_cast<int>(d)));
  return Shape(shape.element_type(), sizes);
}

Literal FromLayout(Literal physical, const Shape& shape, int threads) {
  const std::vector<int64_t> order = MajorToMinor(shape);
  if (!shape.IsArray() || std::ranges::is_sorted(order)) return std::move(physical).Reshaped(shape);
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return TransposeLiteral(physical, inverse, threads).Reshaped(shape);
}

// A dynamic array as XLA's custom calls know it: room for the bound, the live elements without gaps, then the live
// sizes as s32, one for each dimension. As bytes, because no element type need divide that.
Literal ToDynamicBuffer(const Literal& value) {
  const Literal live = CutToLiveSizes(value);
  const int64_t bound = value.shape().SizeBytes(), rank = value.shape().rank();
  Literal buffer(Shape(ElementType::kU8, {bound + 4 * rank}));
  if (!live.bytes().empty()) std::memcpy(buffer.mutable_bytes().data(), live.bytes().data(), live.bytes().size());
  for (int64_t d = 0; d < rank; ++d) {
    const auto size = static_cast<int32_t>(value.dynamic_size(static_cast<int>(d)));
    std::memcpy(buffer.mutable_bytes().data() + bound + 4 * d, &size, 4);
  }
  return buffer;
}

Result<Literal> FromDynamicBuffer(const Instruction& instruction, const Literal& buffer, const Shape& stated) {
  const int64_t bound = stated.SizeBytes();
  std::vector<int64_t> sizes;
  for (int d = 0; d < stated.rank(); ++d) {
    int32_t size = 0;
    std::memcpy(&size, buffer.bytes().data() + bound + 4 * d, 4);
    const bool fits =
        size == stated.dimension(d) || (stated.is_dynamic_dimension(d) && size >= 0 && size < stated.dimension(d));
    if (!fits) {
      return InvalidArgument("custom-call {}: {} gave dimension {} of {} the live size {}", instruction.name(),
                             instruction.attributes<CustomCallAttributes>().custom_call_target, d, stated.ToString(),
                             size);
    }
    sizes.push_back(size);
  }
  Literal live = Literal::Uninitialized(Shape(stated.element_type(), std::move(sizes)));
  if (!live.bytes().empty()) std::memcpy(live.mutable_bytes().data(), buffer.bytes().data(), live.bytes().size());
  return PadToBounds(live, stated);
}

Literal* ElementAt(Literal& value, const IntList& index) {
  Literal* at = &value;
  for (const int64_t i : index) {
    if (!at->shape().IsTuple() || i < 0 || i >= static_cast<int64_t>(at->tuple_elements().size())) return nullptr;
    at = &at->mutable_tuple_elements()[static_cast<size_t>(i)];
  }
  return at;
}

// A result that lies where an operand lies holds the operand when the call begins.
void TakeAliased(const std::vector<Aliasing>& aliasing, std::vector<Literal>& inputs, Literal& result) {
  for (const Aliasing& alias : aliasing) {
    Literal* const target = ElementAt(result, alias.output_index);
    Literal* const source = alias.operand >= 0 && alias.operand < static_cast<int64_t>(inputs.size())
                                ? ElementAt(inputs[static_cast<size_t>(alias.operand)], alias.operand_index)
                                : nullptr;
    if (target == nullptr || source == nullptr || target->bytes().size() != source->bytes().size()) continue;
    if (!source->bytes().empty())
      std::memcpy(target->mutable_bytes().data(), source->bytes().data(), source->bytes().size());
  }
}

// What the call sees of a value: the same but for dynamic arrays, which are buffers.
Literal ForCall(Literal value) {
  if (value.shape().IsTuple()) {
    for (Literal& element : value.mutable_tuple_elements()) element = ForCall(std::move(element));
    return value;
  }
  return value.is_dynamic() ? ToDynamicBuffer(value) : value;
}

Result<Literal> FromCall(const Instruction& instruction, Literal given, const Shape& stated) {
  if (!stated.IsDynamic()) return given;
  if (!stated.IsTuple()) return FromDynamicBuffer(instruction, given, stated);
  std::vector<Literal> elements;
  for (size_t i = 0; i < given.tuple_elements().size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(Literal element, FromCall(instruction, std::move(given.mutable_tuple_elements()[i]),
                                                    stated.tuple_elements()[i]));
    elements.push_back(std::move(element));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace

// Without operand_layout_constraints everything is row-major; with them operands and results are laid out as stated.
EvalResult EvalCustomCall(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  if (instruction.call_kind() == CallKind::kSizeCheck) {
    const int64_t number = operands[0].literal().GetInt(0);
    if (number == 0) return std::move(operands[0]).Take();
    return InvalidArgument(
        "{}", LiveSizeMessage(instruction, number, operands[1].literal().GetInt(0), operands[2].literal().GetInt(0)));
  }
  const auto& a = instruction.attributes<CustomCallAttributes>();
  const CustomCallRegistry* registry = context.options().custom_calls;
  const auto* function = registry == nullptr ? nullptr : registry->Find(a.custom_call_target);
  if (function == nullptr && IsLibraryCall(a.custom_call_target))
    return EvalLibraryCall(context, instruction, operands);
  if (function == nullptr) return UnknownTarget(instruction, registry);
  const int threads = context.options().threads;
  const bool laid_out = a.operand_layout_constraints.has_value();
  std::vector<Literal> inputs;
  for (size_t k = 0; k < operands.size(); ++k) {
    inputs.push_back(std::move(operands[k]).ToLiteral());
    if (inputs[k].is_dynamic() || inputs[k].shape().IsDynamic()) {
      inputs[k] = ForCall(std::move(inputs[k]));
    } else if (laid_out) {
      inputs[k] = InLayout(std::move(inputs[k]), (*a.operand_layout_constraints)[k], threads);
    }
  }
  const bool transposes = laid_out && instruction.shape().IsArray() && !instruction.shape().IsDynamic();
  Literal result = ForCall(Literal(transposes ? PhysicalShape(instruction.shape()) : instruction.shape()));
  TakeAliased(a.output_to_operand_aliasing, inputs, result);
  VXLA_RETURN_IF_ERROR(CallFunction(instruction, *function, inputs, result));
  if (transposes) return FromLayout(std::move(result), instruction.shape(), threads);
  VXLA_ASSIGN_OR_RETURN(result, FromCall(instruction, std::move(result), instruction.shape()));
  return result;
}

}  // namespace VXLA_NAMESPACE
