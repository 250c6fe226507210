// VXLA_TEST_VALIDATE=core,sync,gpu, or a part of it, turns the validation layers on for every device that a suite
// opens.
#pragma once

#include <cstdlib>
#include <string_view>

#include "backend/vulkan/device/open.h"

namespace VXLA_NAMESPACE::testing {

inline bool ValidationAskedFor(std::string_view layer) {
  const char* wanted = std::getenv("VXLA_TEST_VALIDATE");
  return wanted != nullptr && std::string_view(wanted).find(layer) != std::string_view::npos;
}

inline void ValidateAsAsked(vulkan::OpenOptions& options) {
  options.validate_core |= ValidationAskedFor("core");
  options.validate_sync |= ValidationAskedFor("sync");
  options.validate_gpu |= ValidationAskedFor("gpu");
}

}  // namespace VXLA_NAMESPACE::testing
