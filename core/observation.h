// Observations: what a program shows its host in the middle of a run, and goes on with its answer. Check operations
// become these, so they may stand in loops, branches, called functions and the programs of several devices.
#pragma once

#include <string_view>

#include "core/module.h"

namespace VXLA_NAMESPACE {

// custom-call(which: s32[], device: s32[], values...) -> pred[], by a function of this name in the host's registry.
inline constexpr std::string_view kObservation = "vxla.observation";
bool IsObservation(const Instruction& instruction);

// What a device shows it shows in the order of the program.
void OrderObservations(Module& module);

}  // namespace VXLA_NAMESPACE
