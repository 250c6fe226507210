#include "core/passes/expanders.h"

#include <algorithm>

#include "core/passes/control_flow.h"

namespace VXLA_NAMESPACE {
namespace {

// Major-to-minor logical dimension numbers.
IntList PhysicalOrder(const Shape& shape) {
  IntList order = shape.MinorToMajor();
  std::ranges::reverse(order);
  return order;
}

IntList Permuted(std::span<const int64_t> dimensions, const IntList& order) {
  IntList result;
  for (int64_t d : order) result.push_back(dimensions[d]);
  return result;
}

void ExpandBitcast(Computation& entry, Instruction* bitcast) {
  auto add = [&](Opcode opcode, Shape shape, Instruction* operand, Attributes attributes = NoAttributes{}) {
    auto instruction = std::make_unique<Instruction>(opcode, std::move(shape), std::vector<Instruction*>{operand},
                                                     std::move(attributes));
    instruction->set_name(bitcast->name());
    instruction->set_location(bitcast->location());
    return entry.InsertBefore(bitcast, std::move(instruction));
  };
  Instruction* value = bitcast->operand(0);
  const Shape& from = value->shape();
  const Shape& to = bitcast->shape();

  const IntList from_order = PhysicalOrder(from);
  if (!std::ranges::is_sorted(from_order)) {
    value = add(Opcode::kTranspose, Shape(from.element_type(), Permuted(from.dimensions(), from_order)), value,
                DimensionsAttributes{from_order});
  }
  const IntList to_order = PhysicalOrder(to);
  const IntList to_physical = Permuted(to.dimensions(), to_order);
  if (from.element_type() != to.element_type()) {
    // In physical order the bytes stay where they are; bitcast-convert splits or joins the last dimension, so a flat
    // one is given.
    const int from_bits = BitWidth(from.element_type());
    const int to_bits = BitWidth(to.element_type());
    const int64_t wide_count = from_bits < to_bits ? to.ElementCount() : from.ElementCount();
    IntList from_flat{wide_count}, to_flat{wide_count};
    if (from_bits < to_bits) from_flat.push_back(to_bits / from_bits);
    if (from_bits > to_bits) to_flat.push_back(from_bits / to_bits);
    value = add(Opcode::kReshape, Shape(from.element_type(), from_flat), value);
    value = add(Opcode::kBitcastConvert, Shape(to.element_type(), to_flat), value);
  }
  value = add(Opcode::kReshape, Shape(to.element_type(), to_physical), value);
  if (!std::ranges::is_sorted(to_order)) {
    IntList inverse(to_order.size());
    for (size_t i = 0; i < to_order.size(); ++i) inverse[to_order[i]] = static_cast<int64_t>(i);
    value = add(Opcode::kTranspose, Shape(to.element_type(), IntList(to.dimensions().begin(), to.dimensions().end())),
                value, DimensionsAttributes{inverse});
  }
  value->mutable_shape().set_layout(to.layout());
  entry.ReplaceAllUses(bitcast, value);
}

}  // namespace

bool ExpandBitcasts(Module& module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {
    std::vector<Instruction*> bitcasts;
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kBitcast) bitcasts.push_back(instruction.get());
    }
    for (Instruction* bitcast : bitcasts) ExpandBitcast(*computation, bitcast);
    computation->RemoveDead();
    changed |= !bitcasts.empty();
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
