// Fewer exchanges that bring the same.
#pragma once

#include <unordered_set>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Sums over the same devices that are added to one another become one: devices add what they have first. `sums`:
// all-reduces and reduce-scatters of the module that add; others stay apart.
void JoinSums(Module& module, std::unordered_set<const Instruction*> sums);

}  // namespace VXLA_NAMESPACE
