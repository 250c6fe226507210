// Loops and early ends in the form that is least work for a driver's reader of SPIR-V.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module that does the same, without what costs Mesa (22.3) most of what SPIRV-Tools leaves:
//  - A loop's continue block with anything in it goes in front of the body, behind a flag, and every value that it
//  reads of
//    the body, or hands to the loop's next turn, is repaired with phis. So continue blocks become empty, and what a
//    loop hands on lies in variables, which are what phis are read as anyway.
//  - A way to leave the kernel early, written as a switch of one case, puts what follows behind a flag. It becomes the
//    return that it was.
//  - Conditions under which a loop ends, or nothing follows, are turned, and optimised once more: the opposite is
//  asked.
//  - A buffer's member is found anew for each access: once for all of them.
struct LoopForm {
  // Drivers are told to leave the loops that nothing is said of. Mesa optimises the whole kernel once more for each of
  // several in a row, and for each level of some in each other, that it writes out.
  bool keeps_loops = false;
  // For any device. Where drivers are told to leave a loop, they do not learn which integer its counter begins with:
  // Mesa hands everything that it computes of such a counter on from turn to turn instead, one operation in each round
  // over the whole kernel (a loop of a program in 7 rounds for 10). And what is marked as a loop to write out, and was
  // too long for that, is the driver's to judge: Mesa obeys (a mean of 49 in 3.6 ms for 1.8).
  bool any_device = false;
};
// `words` is a valid module.
std::vector<uint32_t> PlainLoops(const std::vector<uint32_t>& words, LoopForm form = {});

}  // namespace VXLA_NAMESPACE::vulkan::spirv
