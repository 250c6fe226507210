// Float arithmetic that stays as written, in SPIR-V.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// The module with NoContraction on every float addition, subtraction, multiplication, division and fused multiply-add,
// so that no driver makes a * b + c one rounding, fma(a, b, c) two, or of two sums another one. GLSL's `precise` says
// so only of what reaches a precise variable inside a function: not of the arguments of a call. `words` is a valid
// module.
std::vector<uint32_t> WithoutContraction(std::vector<uint32_t> words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
