// Dead code elimination.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Removes instructions that no root and no side effect needs, then computations that the entry does not reach.
// Parameters stay. Returns whether anything went.
bool RemoveDeadCode(Module& module);

}  // namespace VXLA_NAMESPACE
