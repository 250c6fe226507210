// Arithmetic in the form that drivers' compilers end at.
#pragma once

#include <cstdint>
#include <vector>

namespace VXLA_NAMESPACE::vulkan::spirv {

// A module that computes the same, without what Mesa (22.3) rewrites in its second round over a kernel and later, after
// constants have moved in the first one. It optimises the whole kernel once more for each round in which anything
// changed, which is a twelfth of the time of a pipeline. SPIRV-Tools leaves all of these:
//  - A choice of truth values of which one is the condition is an `and` or `or`; `false || x` is x.
//  - The larger of a value and a constant, against another constant, is the value against it: divisions by constants.
//  - Constants of integer sums stand last, outside of products with constants and shifts by them, and once.
//  - What is taken away is added: constants, and choices between two, negated.
// `words` is a valid module.
std::vector<uint32_t> FoldLate(const std::vector<uint32_t>& words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
