#include "core/passes/base/dce.h"

namespace VXLA_NAMESPACE {

bool RemoveDeadCode(Module& module) {
  const size_t before = module.computations().size();
  module.RemoveUnusedComputations();
  bool changed = false;
  SideEffects effects;  // what is removed has none, so the answers stay true
  for (const auto& computation : module.computations()) changed |= computation->RemoveDead(effects) > 0;
  if (changed) module.RemoveUnusedComputations();  // what only dead instructions called
  return changed || module.computations().size() != before;
}

}  // namespace VXLA_NAMESPACE
