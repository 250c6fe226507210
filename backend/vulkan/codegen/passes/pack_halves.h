// f16 arithmetic of GPUs that have it.
#pragma once

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. Sums, differences and products of f16 that are stored in pairs are computed in pairs: an f16vec2 for two calls
// in f32 and their rounding. An f32 holds the exact product of two f16, and its 24 bits are enough (2 * 11 + 2) that
// rounding a sum twice is rounding it once, so the bits are the same; only NaNs are the device's, and one test for all
// that a store stores puts those right. For devices whose f16 arithmetic rounds to nearest even and keeps denormals
// (DeviceFacts::native_f16).
Code PackHalves(Code code);

}  // namespace VXLA_NAMESPACE::vulkan
