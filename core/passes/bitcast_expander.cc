#include <algorithm>

#include "core/passes/expanders.h"
#include "core/passes/expansion.h"

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

Instruction* ExpandBitcast(Computation& computation, Instruction* bitcast) {
  Expansion expansion(computation, bitcast);
  Instruction* value = bitcast->operand(0);
  const Shape& from = value->shape();
  const Shape& to = bitcast->shape();
  // As reducers and comparators have it.
  if (from.IsScalar() && to.IsScalar()) return expansion.Add(Opcode::kBitcastConvert, to, {value});

  const IntList from_order = PhysicalOrder(from);
  value = expansion.Transposed(value, from_order);
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
    value = expansion.Reshaped(value, from_flat);
    value = expansion.Add(Opcode::kBitcastConvert, Shape(to.element_type(), to_flat), {value});
  }
  // A value of its own even where nothing moves: it gets the result's layout.
  value = expansion.Add(Opcode::kReshape, Shape(to.element_type(), to_physical), {value});
  IntList inverse(to_order.size());
  for (size_t i = 0; i < to_order.size(); ++i) inverse[to_order[i]] = static_cast<int64_t>(i);
  value = expansion.Transposed(value, inverse);
  value->mutable_shape().set_layout(to.layout());
  return value;
}

}  // namespace

bool ExpandBitcasts(Module& module) {
  std::vector<Computation*> all;
  for (const auto& computation : module.computations()) all.push_back(computation.get());
  return ExpandEach(all, [](Computation& computation, Instruction* instruction) {
    return instruction->opcode() == Opcode::kBitcast ? ExpandBitcast(computation, instruction) : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
