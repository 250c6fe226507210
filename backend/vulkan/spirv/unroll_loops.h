// Loops written out, in SPIR-V.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module in which the loops marked as ones to unroll, that run for up to 32 values of a counter known here, are the
// copies of their bodies, and where integers that follow from the counter are constants. A marked loop is left where
// anything but its condition ends it, a branch goes on with its next turn, or another loop in it is not marked: that is
// left by drivers too, and the text of a product's results would stand there once for each of its matrices. Drivers
// unroll such loops themselves, one level of loops in loops at a time, and optimise the whole kernel after each: of the
// gradient of an attention RADV 25.0.7 made 20 rounds for 12 and took 70 ms for 51.
//
// A loop that stays, and certainly has a first turn, tests after each turn and no longer before the first one. Mesa
// does that too, in each such round to the first one of several in a row (digits_train's loop 51 ms, 35 so). `words` is
// a valid module of SPIR-V 1.4 or later without calls (InlineFunctions).
std::vector<uint32_t> UnrollLoops(const std::vector<uint32_t>& words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
