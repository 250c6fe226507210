#include "core/ir/observation.h"

#include "core/ir/module_edits.h"

namespace VXLA_NAMESPACE {

void OrderObservations(Module& module) {
  KeepOrder(module, [](const Instruction& i) { return i.call_kind() == CallKind::kObservation; });
}

}  // namespace VXLA_NAMESPACE
