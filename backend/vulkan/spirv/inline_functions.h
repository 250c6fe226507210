// Calls replaced by what the functions do, in SPIR-V.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module in which a call of a function of one block is that block. In time linear in the result's length, as callees
// come first; spirv-opt's own pass reads a block again for each call in it, which took half of the 36 s of an emulated
// c128 tanh. The functions stay, and so do calls of those that branch. `words` is a valid module of SPIR-V 1.4 or
// later.
std::vector<uint32_t> InlineStraightFunctions(const std::vector<uint32_t>& words);

// The same of functions that branch and return at their end only, but where a loop begins or goes on. Mesa's compilers
// inline everything themselves, and take half of their time for that: a loop of a transformer's decoding 137 ms on RADV
// 25.0.7, 80 of what this returns, in 4.
std::vector<uint32_t> InlineFunctions(const std::vector<uint32_t>& words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
