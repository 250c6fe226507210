// Branches without side effects as selections, in SPIR-V.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module in which an if or ?: whose sides only compute (no access to buffers or shared memory, no call of a function
// that has one, no loop of their own) computes both sides and selects. Results are the same: the other side's values go
// nowhere. For compilers that walk every path through the branches of a kernel, so that their time doubles with each of
// them: SwiftShader took 2 minutes and 20 GB for an emulated f64 exponential, whose ?: of GLSL are branches. Below
// SPIR-V 1.4, where one condition selects scalars alone, vectors are selected by a vector of it, and structures, arrays
// and matrices member by member. Sides of more instructions stay branches, as those that are rarely taken cost
// processors with real branches more than the selection saves.
std::vector<uint32_t> FlattenBranches(const std::vector<uint32_t>& words,
                                      size_t most_in_side = std::numeric_limits<size_t>::max());

}  // namespace VXLA_NAMESPACE::vulkan::spirv
