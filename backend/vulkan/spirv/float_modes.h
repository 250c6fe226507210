// Float modes of a SPIR-V module: denormals, signed zeros, rounding (SPV_KHR_float_controls).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

// The module without the float modes that are not the device's. `words` is a valid module.
std::vector<uint32_t> WithFloatModesOf(const DeviceFacts& facts, const std::vector<uint32_t>& words);

// The module with every float mode that its text asks for (spirv_execution_mode): glslang keeps only the last of the
// widths that a mode is asked for.
std::vector<uint32_t> WithFloatModesOf(std::string_view text, std::vector<uint32_t> words);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
