#include "backend/vulkan/device/api/vk_status.h"

namespace VXLA_NAMESPACE::vulkan {

const char* ResultName(VkResult result) {
  switch (result) {
#define VXLA_NAME(NAME) \
  case NAME:            \
    return #NAME
    VXLA_NAME(VK_SUCCESS);
    VXLA_NAME(VK_NOT_READY);
    VXLA_NAME(VK_TIMEOUT);
    VXLA_NAME(VK_INCOMPLETE);
    VXLA_NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
    VXLA_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    VXLA_NAME(VK_ERROR_INITIALIZATION_FAILED);
    VXLA_NAME(VK_ERROR_DEVICE_LOST);
    VXLA_NAME(VK_ERROR_MEMORY_MAP_FAILED);
    VXLA_NAME(VK_ERROR_LAYER_NOT_PRESENT);
    VXLA_NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
    VXLA_NAME(VK_ERROR_FEATURE_NOT_PRESENT);
    VXLA_NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
    VXLA_NAME(VK_ERROR_TOO_MANY_OBJECTS);
    VXLA_NAME(VK_ERROR_FRAGMENTED_POOL);
    VXLA_NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
    VXLA_NAME(VK_ERROR_FRAGMENTATION);
    VXLA_NAME(VK_ERROR_UNKNOWN);
#undef VXLA_NAME
    default:
      return "an unnamed VkResult";
  }
}

Status VkStatus(VkResult result, std::string_view what) {
  switch (result) {
    case VK_SUCCESS:
      return OkStatus();
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTATION:
      return ResourceExhausted("{}: {}", what, ResultName(result));
    default:
      return DeviceFailure("{}: {} ({})", what, ResultName(result), static_cast<int>(result));
  }
}

}  // namespace VXLA_NAMESPACE::vulkan
