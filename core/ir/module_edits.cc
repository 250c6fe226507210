#include "core/ir/module_edits.h"

#include <unordered_map>

namespace VXLA_NAMESPACE {

std::vector<Instruction*> InstructionList(const Computation& computation) {
  std::vector<Instruction*> list;
  for (const auto& instruction : computation.instructions()) list.push_back(instruction.get());
  return list;
}

void MoveControlEdges(Instruction* from, Instruction* to) {
  const std::vector<Instruction*> after(from->control_successors().begin(), from->control_successors().end());
  for (Instruction* successor : after) {
    successor->RemoveControlPredecessor(from);
    if (successor != to) successor->AddControlPredecessor(to);
  }
  const std::vector<Instruction*> before(from->control_predecessors().begin(), from->control_predecessors().end());
  for (Instruction* predecessor : before) {
    from->RemoveControlPredecessor(predecessor);
    if (predecessor != to) to->AddControlPredecessor(predecessor);
  }
}

void KeepOrder(Module& module, DeepProperty::Has has) {
  DeepProperty property(has);
  for (const auto& computation : module.computations()) {
    Instruction* last = nullptr;
    for (const auto& instruction : computation->instructions()) {
      if (!property.Of(*instruction)) continue;
      if (last != nullptr) instruction->AddControlPredecessor(last);
      last = instruction.get();
    }
  }
}

bool RemoveDeadCode(Module& module) {
  const size_t before = module.computations().size();
  module.RemoveUnusedComputations();
  bool changed = false;
  SideEffects effects;  // what is removed has none, so the answers stay true
  for (const auto& computation : module.computations()) changed |= computation->RemoveDead(effects) > 0;
  if (changed) module.RemoveUnusedComputations();  // what only dead instructions called
  return changed || module.computations().size() != before;
}

Computation* AddProgram(Module& module, const Module& program) {
  std::unordered_map<const Computation*, Computation*> copies;
  for (const auto& original : program.computations()) {
    Computation* const copy = copies[original.get()] = module.AddComputation(original->name());
    copy->set_execution_thread(original->execution_thread());
    copy->set_root(CloneInto(*original, *copy, {}, [&](Computation* called) { return copies.at(called); }));
  }
  return copies[program.entry()];
}

}  // namespace VXLA_NAMESPACE
