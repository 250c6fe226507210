// Optimize: from a verified module to one that lowering understands: flat, simplified, fused.
#pragma once

#include <memory>

#include "core/module.h"
#include "core/target_info.h"

namespace vxla {

// A new module with the same entry signature and meaning. Afterwards the entry and the computations that whiles and
// conditionals run hold no call, map, bitcast, copy or opt-barrier, no dead and no equal instructions, and every op
// that has a shader sits in a fusion (core/passes/fusion.h). Each condition, body and branch is called from one place;
// known trip counts are noted (core/passes/control_flow.h).
Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target);

}  // namespace vxla
