#include "backend/vulkan/device/api/functions.h"

namespace VXLA_NAMESPACE::vulkan {

Result<GlobalTable> LoadGlobalTable(PFN_vkGetInstanceProcAddr get) {
  GlobalTable table;
  table.GetInstanceProcAddr = get;
#define VXLA_LOAD(NAME)                                                         \
  table.NAME = reinterpret_cast<PFN_vk##NAME>(get(VK_NULL_HANDLE, "vk" #NAME)); \
  if (table.NAME == nullptr) return DeviceFailure("the Vulkan loader lacks vk" #NAME " (Vulkan 1.1 is needed)");
  VXLA_GLOBAL_FUNCTIONS(VXLA_LOAD)
#undef VXLA_LOAD
  return table;
}

Result<InstanceTable> LoadInstanceTable(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
  InstanceTable table;
  table.instance = instance;
  table.GetInstanceProcAddr = get;
#define VXLA_LOAD_OPTIONAL(NAME) table.NAME = reinterpret_cast<PFN_vk##NAME>(get(instance, "vk" #NAME));
#define VXLA_LOAD(NAME)    \
  VXLA_LOAD_OPTIONAL(NAME) \
  if (table.NAME == nullptr) return DeviceFailure("the Vulkan instance lacks vk" #NAME);
  VXLA_INSTANCE_FUNCTIONS(VXLA_LOAD)
  VXLA_DEBUG_INSTANCE_FUNCTIONS(VXLA_LOAD_OPTIONAL)
#undef VXLA_LOAD
#undef VXLA_LOAD_OPTIONAL
  return table;
}

Result<DeviceTable> LoadDeviceTable(PFN_vkGetDeviceProcAddr get, VkDevice device) {
  DeviceTable table;
#define VXLA_LOAD_OPTIONAL(NAME) table.NAME = reinterpret_cast<PFN_vk##NAME>(get(device, "vk" #NAME));
#define VXLA_LOAD(NAME)    \
  VXLA_LOAD_OPTIONAL(NAME) \
  if (table.NAME == nullptr) return DeviceFailure("the Vulkan device lacks vk" #NAME);
  // Device commands of an extension that was not enabled come back null; the core name is tried first.
#define VXLA_LOAD_OF_FEATURE(NAME, SUFFIX) \
  VXLA_LOAD_OPTIONAL(NAME)                 \
  if (table.NAME == nullptr) table.NAME = reinterpret_cast<PFN_vk##NAME>(get(device, "vk" #NAME #SUFFIX));
#define VXLA_LOAD_PROMOTED(NAME, SUFFIX) \
  VXLA_LOAD_OF_FEATURE(NAME, SUFFIX)     \
  if (table.NAME == nullptr) return DeviceFailure("the Vulkan device lacks vk" #NAME);
  VXLA_DEVICE_FUNCTIONS(VXLA_LOAD)
  VXLA_PROMOTED_DEVICE_FUNCTIONS(VXLA_LOAD_PROMOTED)
  VXLA_FEATURE_DEVICE_FUNCTIONS(VXLA_LOAD_OF_FEATURE)
  VXLA_OPTIONAL_DEVICE_FUNCTIONS(VXLA_LOAD_OPTIONAL)
#undef VXLA_LOAD
#undef VXLA_LOAD_OPTIONAL
#undef VXLA_LOAD_OF_FEATURE
#undef VXLA_LOAD_PROMOTED
  return table;
}

}  // namespace VXLA_NAMESPACE::vulkan
