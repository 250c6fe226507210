#include "core/observation.h"

namespace VXLA_NAMESPACE {

bool IsObservation(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attributes<CustomCallAttributes>().custom_call_target == kObservation;
}

void OrderObservations(Module& module) {
  DeepProperty observes(IsObservation);
  for (const auto& computation : module.computations()) {
    Instruction* last = nullptr;
    for (const auto& instruction : computation->instructions()) {
      if (!observes.Of(*instruction)) continue;
      if (last != nullptr) instruction->AddControlPredecessor(last);
      last = instruction.get();
    }
  }
}

}  // namespace VXLA_NAMESPACE
