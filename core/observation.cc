#include "core/observation.h"

namespace VXLA_NAMESPACE {

void OrderObservations(Module& module) {
  DeepProperty observes([](const Instruction& i) { return i.call_kind() == CallKind::kObservation; });
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
