// Kernels in other shading languages, through SPIRV-Cross: for engines without Vulkan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

enum class ShadingLanguage : uint8_t {
  kHlsl,  // shader model 6.0, with 16-bit types 6.2; binding n is register(un), the counts of workgroups, where they
          // are read, b0
  kMsl,   // Metal 2.2; binding n is [[buffer(n)]]
};

// A module whose buffers are descriptors. Its specialisation constants take the values of `constants`, by id.
// kUnsupported: the language cannot say it, with SPIRV-Cross's words.
Result<std::string> CrossCompile(const std::vector<uint32_t>& words, const std::vector<uint32_t>& constants,
                                 const std::string& name, ShadingLanguage language);

}  // namespace VXLA_NAMESPACE::vulkan
