#include "core/passes/sizes/live_flags.h"

#include <algorithm>

#include "core/ops/ops.h"

namespace VXLA_NAMESPACE {
namespace {

// Those of `from` too, where the two are alike but for them.
void AddFlags(Shape& to, const Shape& from) {
  if (to.IsTuple() && from.IsTuple() && to.tuple_elements().size() == from.tuple_elements().size()) {
    for (size_t k = 0; k < to.tuple_elements().size(); ++k)
      AddFlags(to.mutable_tuple_elements()[k], from.tuple_elements()[k]);
  }
  if (!to.IsArray() || !from.IsArray() || !std::ranges::equal(to.dimensions(), from.dimensions())) return;
  for (int d = 0; d < to.rank(); ++d) {
    if (from.is_dynamic_dimension(d)) to.set_dynamic_dimension(d, true);
  }
}

void AddFlagsOfSetSize(Instruction& instruction) {
  Shape& shape = instruction.mutable_shape();
  if (instruction.operand_count() != 2 || instruction.dimensions().size() != 1) return;
  const int64_t dimension = instruction.dimensions()[0];
  const Instruction& size = *instruction.operand(1);
  if (!shape.IsArray() || dimension < 0 || dimension >= shape.rank()) return;
  if (!(size.shape() == Shape(ElementType::kS32)) || size.known_literal() == nullptr) return;
  const int d = static_cast<int>(dimension);
  if (size.literal().GetInt(0) != shape.dimension(d)) shape.set_dynamic_dimension(d, true);
}

// Dimensions that merge or split stand in groups of the same number of elements. A group that has live sizes gives them
// to the only dimension that is larger than 1.
void AddFlagsOfReshape(Instruction& instruction) {
  if (instruction.operand_count() != 1 || !instruction.shape().IsArray()) return;
  const Shape& from = instruction.operand(0)->shape();
  Shape& to = instruction.mutable_shape();
  if (!from.IsArray() || from.ElementCount() != to.ElementCount() || to.IsDynamic()) return;
  int f = 0, t = 0;
  while (f < from.rank() || t < to.rank()) {
    const int first = t, first_from = f;
    int64_t before = 1, after = 1;
    bool live = false;
    do {
      if (f < from.rank() && (before <= after || t == to.rank())) {
        before *= from.dimension(f);
        live = live || from.is_dynamic_dimension(f++);
      } else {
        after *= to.dimension(t++);
      }
    } while ((before != after || t == first || f == first_from) && (f < from.rank() || t < to.rank()));
    // Sizes of 1 at the end belong to the last group.
    for (; f < from.rank() && from.dimension(f) == 1; ++f) live = live || from.is_dynamic_dimension(f);
    while (t < to.rank() && to.dimension(t) == 1) ++t;
    if (!live) continue;
    int large = -1;
    for (int d = first; d < t; ++d) {
      if (to.dimension(d) <= 1) continue;
      if (large >= 0) return;  // which of them the text does not say
      large = d;
    }
    if (large < 0 && first < t) large = first;
    if (large >= 0) to.set_dynamic_dimension(large, true);
  }
}

void AddFlagsOf(Instruction& instruction) {
  if (instruction.opcode() == Opcode::kSetDimensionSize) AddFlagsOfSetSize(instruction);
  const bool calls = std::ranges::any_of(instruction.called(), [](const Computation* called) {
    return called->root() != nullptr && called->root()->shape().IsDynamic();
  });
  const auto is_live = [](const Instruction* operand) { return operand->shape().IsDynamic(); };
  if (!calls && std::ranges::none_of(instruction.operands(), is_live)) return;
  if (instruction.opcode() == Opcode::kReshape) return AddFlagsOfReshape(instruction);
  const Result<Shape> inferred = InferShape(instruction);
  if (inferred.ok()) AddFlags(instruction.mutable_shape(), *inferred);
}

}  // namespace

bool AddLiveFlags(Module& module) {
  bool changed = false;
  for (const auto& i : EachInstruction(module)) {
    const Shape before = i->shape();
    AddFlagsOf(*i);
    changed |= !(i->shape() == before);
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
