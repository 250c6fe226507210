#include <algorithm>

#include "core/host/ranges.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

// Major-to-minor logical dimension numbers.
IntList PhysicalOrder(const Shape& shape) {
  IntList order = shape.MinorToMajor();
  std::ranges::reverse(order);
  return order;
}

IntList Permuted(std::span<const int64_t> dimensions, const IntList& order) {
  return Transformed(order, [&](int64_t d) { return dimensions[d]; });
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

// Of the width of a type that is not complex; pred, 0 or 1, is as an integer of one bit is.
ElementType WordOf(ElementType type) { return type == ElementType::kPred ? type : UnsignedOfWidth(BitWidth(type)); }

// Elements narrower than a byte have one of their own on a device, so what splits into them or joins them is computed:
// the first has the lowest bits.
Instruction* ExpandSubByteBitcastConvert(Module& module, Computation& computation, Instruction* bitcast) {
  const Shape& to = bitcast->shape();
  const ElementType from_type = bitcast->operand(0)->shape().element_type(), to_type = to.element_type();
  const int from_bits = BitWidth(from_type), to_bits = BitWidth(to_type), narrow_bits = std::min(from_bits, to_bits);
  if (from_bits == to_bits || narrow_bits >= 8) return nullptr;

  Expansion make(computation, bitcast);
  const auto as = [&](Instruction* value, ElementType type) {
    if (value->shape().element_type() == type) return value;
    return make.Add(Opcode::kBitcastConvert, Shape(type, SizesOf(value->shape())), {value});
  };
  Instruction* const words = as(bitcast->operand(0), WordOf(from_type));
  const ElementType wide = WordOf(from_bits > to_bits ? from_type : to_type);
  IntList sizes = SizesOf(from_bits > to_bits ? to : bitcast->operand(0)->shape());
  const int64_t last = static_cast<int64_t>(sizes.size()) - 1;
  Instruction* const width = make.Spread(make.Number(wide, narrow_bits), sizes);
  Instruction* const shift = make.Times(make.Iota(wide, sizes, last), width);
  if (from_bits > to_bits) {
    Instruction* const each = make.Broadcast(words, sizes, UpTo(words->shape().rank()));
    Instruction* bits = make.Binary(Opcode::kShiftRightLogical, each, shift);
    if (narrow_bits == 1)  // a predicate is what is not 0
      bits = make.And(bits, make.Spread(make.Number(wide, 1), sizes));
    return as(make.Converted(bits, WordOf(to_type)), to_type);
  }
  Instruction* const moved = make.Binary(Opcode::kShiftLeft, make.Converted(words, wide), shift);
  Instruction* const joined = make.Add(Opcode::kReduce, Shape(wide, SizesOf(to)), {moved, make.Zeros(Shape(wide))},
                                       DimensionsAttributes{{last}}, {AddCombiner(module, Opcode::kOr, wide)});
  return as(joined, to_type);
}

}  // namespace

bool ExpandBitcasts(Module& module) {
  const std::vector<Computation*> all = AllComputations(module);
  const bool bitcasts = ExpandEach(all, [](Computation& computation, Instruction* instruction) {
    return instruction->opcode() == Opcode::kBitcast ? ExpandBitcast(computation, instruction) : nullptr;
  });
  const bool converts = ExpandEach(all, [&](Computation& computation, Instruction* instruction) {
    const bool is = instruction->opcode() == Opcode::kBitcastConvert;
    return is ? ExpandSubByteBitcastConvert(module, computation, instruction) : nullptr;
  });
  return bitcasts || converts;
}

}  // namespace VXLA_NAMESPACE
