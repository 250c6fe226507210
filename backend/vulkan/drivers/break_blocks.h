// Long blocks broken into short ones, in SPIR-V.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module whose blocks have not many more than `most` instructions: every second stretch of so many in an entry point
// becomes the body of a loop that runs once. SwiftShader's compiler (Subzero) looks for equal instructions in each
// block with a hash that is the exclusive or of their operands' numbers, nearly the same for all, so a block costs the
// square of its length: 15 of the 20 s of an emulated c128 tanh. Nothing but a loop ends a block there. The condition
// that ends these loops is a test of the workgroup's number, which the compiler cannot decide. Blocks that begin or
// continue a loop of their own stay as they are. `words` is a valid module of SPIR-V 1.4 or later.
std::vector<uint32_t> BreakLongBlocks(const std::vector<uint32_t>& words, size_t most);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
