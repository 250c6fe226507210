// What SPIR-V's validator says against a module.
#pragma once

#include <cstdint>
#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {

// In the environment of its version. Empty: it is valid.
inline std::string ComplaintsOf(const std::vector<uint32_t>& words) {
  const bool older = words.size() > spirv::kVersionWord && words[spirv::kVersionWord] < spirv::kVersion14;
  spvtools::SpirvTools tools(older ? SPV_ENV_VULKAN_1_1 : SPV_ENV_VULKAN_1_3);
  std::string complaints;
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&, const char* text) {
    complaints += text + std::string("; ");
  });
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  if (tools.Validate(words.data(), words.size(), options)) return "";
  return complaints.empty() ? "it is not valid" : complaints;
}

}  // namespace VXLA_NAMESPACE::vulkan
