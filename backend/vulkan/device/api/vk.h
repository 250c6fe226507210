// The one place that includes vulkan.h: types and constants only, functions come from the tables of functions.h.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#define VK_ENABLE_BETA_EXTENSIONS  // VK_KHR_portability_subset
#include <vulkan/vulkan.h>

namespace VXLA_NAMESPACE::vulkan {

// A zeroed struct that says what it is.
template <typename T>
T MakeVk(VkStructureType type) {
  T made = {};
  made.sType = type;
  return made;
}

}  // namespace VXLA_NAMESPACE::vulkan
