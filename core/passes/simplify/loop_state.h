// What computations that loops and conditionals run read besides their one parameter.
#pragma once

#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A pass that takes a value out of a condition, body or branch leaves a parameter 1 + k in its place, of which there
// are none in a module. These make the instruction anew so that `values[k]` comes there as one more element of the
// state or argument, which a body hands on as it is; nothing calls the old computations any more.
void CarryThroughLoop(Computation& computation, Instruction* loop, const std::vector<Instruction*>& values);
void CarryIntoBranch(Instruction* conditional, int branch, const std::vector<Instruction*>& values);

}  // namespace VXLA_NAMESPACE
