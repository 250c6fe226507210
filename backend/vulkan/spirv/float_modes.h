// Float modes of a SPIR-V module: denormals, signed zeros, rounding (SPV_KHR_float_controls).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

// Before SPIR-V 1.4 they are an extension's, which the module names.
constexpr std::string_view kFloatControls = "SPV_KHR_float_controls";

// A mode, its capability, and the widths of floats that the device has it for.
struct FloatMode {
  uint32_t mode, capability;
  bool has_32, has_16, has_64;
  bool Has(uint32_t width) const { return width == 16 ? has_16 : width == 32 ? has_32 : has_64; }
  bool any() const { return has_16 || has_32 || has_64; }
};
std::array<FloatMode, 3> FloatModesOf(const DeviceFacts& facts);

// The module without the float modes that are not the device's. `words` is a valid module.
std::vector<uint32_t> WithFloatModesOf(const DeviceFacts& facts, const std::vector<uint32_t>& words);

// The module with every float mode that its text asks for (spirv_execution_mode): glslang keeps only the last of the
// widths that a mode is asked for.
std::vector<uint32_t> WithFloatModesOf(std::string_view text, std::vector<uint32_t> words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
