#include <algorithm>
#include <vector>

#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {

bool DropOrderOfCopies(Module& module) {
  bool changed = false;
  for (const auto& computation : module.computations()) {
    const bool only_copies = std::ranges::all_of(computation->instructions(), [](const auto& i) {
      return i->opcode() == Opcode::kCopy || !i->HasControlEdges();
    });
    if (!only_copies) continue;
    for (const auto& instruction : computation->instructions()) {
      const auto edges = instruction->control_predecessors();
      const std::vector<Instruction*> before(edges.begin(), edges.end());
      for (Instruction* predecessor : before) instruction->RemoveControlPredecessor(predecessor);
      changed |= !before.empty();
    }
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
