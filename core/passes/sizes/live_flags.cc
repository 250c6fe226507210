#include <algorithm>

#include "core/ops/op_support.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

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
  for (const DimensionGroup& group : DimensionGroups(from, to)) {
    bool live = false;
    for (int d = group.from_begin; d < group.from_end; ++d) live |= from.is_dynamic_dimension(d);
    int large = -1;
    for (int d = group.to_begin; live && d < group.to_end; ++d) {
      if (to.dimension(d) <= 1) continue;
      if (large >= 0) return;  // which of them the text does not say
      large = d;
    }
    if (live && large < 0 && group.to_begin < group.to_end) large = group.to_begin;
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
  if (inferred.ok()) instruction.mutable_shape() = WithFlagsOf(instruction.shape(), *inferred);
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
