// Exchanges between devices that every branch of a conditional comes to: devices may take different branches and meet
// all the same.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Whether all branches have the same exchanges in the same order: of one kind, with equal attributes, operand shapes
// and reducers, none in a loop, branch or call of its own, and no send or recv.
bool CanHoistMeetings(const Instruction& conditional);

// The exchanges in such a conditional's place, once each, between conditionals of what the branches do before, between
// and after them. Values that live on pass from each conditional to the next, zeros in the place of the other
// branches'.
void HoistMeetings(Module& module, Instruction& conditional);

}  // namespace VXLA_NAMESPACE
