// The types of handles by which memory and semaphores leave their VkDevice on this system, and the extensions of them.
#pragma once

#include <span>

#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

// The extensions that handles of memory need: the first one all of them, the others some.
std::span<const char* const> ExternalExtensions();
// The type of those whose memory only another device of the same driver opens.
VkExternalMemoryHandleTypeFlagBits OpaqueHandleType();

// Semaphores by such handles, of the driver's own type: the extension, and the type.
const char* SemaphoreExtension();
VkExternalSemaphoreHandleTypeFlagBits SemaphoreHandleType();

}  // namespace VXLA_NAMESPACE::vulkan
