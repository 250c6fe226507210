// The states that random numbers come from, which each run begins anew.
#pragma once

#include "core/instruction.h"

namespace VXLA_NAMESPACE {

// In the backend_config of an rng-get-and-update-state that counts the draws of rng: its low word is the number of the
// draw, its high word the seed.
inline constexpr char kDrawsState[] = "\"vxla.draws_of_rng\"";

inline bool IsDrawsState(const Instruction& state) { return state.common().backend_config.text == kDrawsState; }

}  // namespace VXLA_NAMESPACE
