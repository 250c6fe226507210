// Optimize: from a verified module to one that lowering understands: flat, simplified, fused.
#pragma once

#include <memory>

#include "core/module.h"
#include "core/target_info.h"

namespace vxla {

// A new module with the same entry signature and meaning. Afterwards the entry holds no call, map, bitcast, copy or
// opt-barrier, no dead and no equal instructions, and every op that has a shader sits in a fusion (core/passes/fusion.h).
Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target);

}  // namespace vxla
