// Observations: what a program shows its host in the middle of a run, and goes on with its answer. Check operations
// become these, so they may stand in loops, branches, called functions and the programs of several devices.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// CallKind::kObservation: custom-call(which: s32[], device: s32[], values...) -> pred[], by the host's function of its
// target's name.

// What a device shows it shows in the order of the program.
void OrderObservations(Module& module);

}  // namespace VXLA_NAMESPACE
