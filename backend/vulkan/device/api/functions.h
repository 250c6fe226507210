// Tables of Vulkan functions: global, per instance, per device. Nothing is linked, so a machine without Vulkan still
// runs.
#pragma once

#include "backend/vulkan/device/api/vk.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// clang-format off
#define VXLA_GLOBAL_FUNCTIONS(F) \
  F(EnumerateInstanceVersion) F(EnumerateInstanceExtensionProperties) F(EnumerateInstanceLayerProperties) \
  F(CreateInstance)

#define VXLA_INSTANCE_FUNCTIONS(F) \
  F(DestroyInstance) F(EnumeratePhysicalDevices) F(GetPhysicalDeviceProperties) F(GetPhysicalDeviceProperties2) \
  F(GetPhysicalDeviceFeatures2) F(GetPhysicalDeviceMemoryProperties) F(GetPhysicalDeviceMemoryProperties2) \
  F(GetPhysicalDeviceQueueFamilyProperties) F(EnumerateDeviceExtensionProperties) F(CreateDevice) F(GetDeviceProcAddr) \
  F(GetPhysicalDeviceExternalBufferProperties) F(GetPhysicalDeviceExternalSemaphoreProperties)

// Present only with VK_EXT_debug_utils; null otherwise.
#define VXLA_DEBUG_INSTANCE_FUNCTIONS(F) F(CreateDebugUtilsMessengerEXT) F(DestroyDebugUtilsMessengerEXT)

#define VXLA_DEVICE_FUNCTIONS(F) \
  F(DestroyDevice) F(GetDeviceQueue) F(DeviceWaitIdle) F(AllocateMemory) F(FreeMemory) F(MapMemory) \
  F(CreateBuffer) F(DestroyBuffer) F(GetBufferMemoryRequirements) F(BindBufferMemory) F(CreateShaderModule) \
  F(DestroyShaderModule) F(CreatePipelineLayout) F(DestroyPipelineLayout) F(CreateDescriptorSetLayout) \
  F(DestroyDescriptorSetLayout) F(CreateComputePipelines) F(DestroyPipeline) F(CreatePipelineCache) \
  F(DestroyPipelineCache) F(GetPipelineCacheData) F(CreateCommandPool) F(DestroyCommandPool) F(ResetCommandPool) \
  F(AllocateCommandBuffers) F(BeginCommandBuffer) F(EndCommandBuffer) F(CmdBindPipeline) F(CmdPushConstants) \
  F(CmdBindDescriptorSets) F(CmdDispatch) F(CmdDispatchIndirect) F(CmdCopyBuffer) F(CmdFillBuffer) \
  F(CmdCopyImageToBuffer) F(CmdCopyBufferToImage) \
  F(CmdResetQueryPool) F(CmdPipelineBarrier) F(CmdWriteTimestamp) F(QueueSubmit) \
  F(CreateQueryPool) F(DestroyQueryPool) F(GetQueryPoolResults) F(CreateDescriptorPool) F(DestroyDescriptorPool) \
  F(ResetDescriptorPool) F(AllocateDescriptorSets) F(UpdateDescriptorSets) F(CreateSemaphore) F(DestroySemaphore)

// Core in 1.2; `SUFFIX` is the extension's name for the same function on older devices.
#define VXLA_PROMOTED_DEVICE_FUNCTIONS(F) F(WaitSemaphores, KHR) F(GetSemaphoreCounterValue, KHR)

// Called only where bufferDeviceAddress and synchronization2 are enabled; null otherwise, or of no use.
#define VXLA_FEATURE_DEVICE_FUNCTIONS(F) \
  F(GetBufferDeviceAddress, KHR) F(CmdPipelineBarrier2, KHR) F(CmdWriteTimestamp2, KHR) F(QueueSubmit2, KHR)

// Present only with VK_EXT_debug_utils, VK_KHR_pipeline_executable_properties, VK_KHR_push_descriptor and
// VK_EXT_external_memory_host, and those of events, which debugging alone wants; null otherwise.
#define VXLA_OPTIONAL_DEVICE_FUNCTIONS(F) \
  F(SetDebugUtilsObjectNameEXT) F(CmdBeginDebugUtilsLabelEXT) F(CmdEndDebugUtilsLabelEXT) \
  F(GetPipelineExecutablePropertiesKHR) F(GetPipelineExecutableStatisticsKHR) \
  F(GetPipelineExecutableInternalRepresentationsKHR) F(CmdPushDescriptorSetKHR) \
  F(GetMemoryHostPointerPropertiesEXT) \
  F(CreateEvent) F(DestroyEvent) F(GetEventStatus) F(ResetEvent) F(CmdSetEvent)
// clang-format on

#define VXLA_MEMBER(NAME) PFN_vk##NAME NAME = nullptr;
#define VXLA_PROMOTED_MEMBER(NAME, SUFFIX) PFN_vk##NAME NAME = nullptr;

struct GlobalTable {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  VXLA_GLOBAL_FUNCTIONS(VXLA_MEMBER)
};

struct InstanceTable {
  VkInstance instance = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  VXLA_INSTANCE_FUNCTIONS(VXLA_MEMBER)
  VXLA_DEBUG_INSTANCE_FUNCTIONS(VXLA_MEMBER)
};

struct DeviceTable {
  VXLA_DEVICE_FUNCTIONS(VXLA_MEMBER)
  VXLA_PROMOTED_DEVICE_FUNCTIONS(VXLA_PROMOTED_MEMBER)
  VXLA_FEATURE_DEVICE_FUNCTIONS(VXLA_PROMOTED_MEMBER)
  VXLA_OPTIONAL_DEVICE_FUNCTIONS(VXLA_MEMBER)
};

#undef VXLA_MEMBER
#undef VXLA_PROMOTED_MEMBER

Result<GlobalTable> LoadGlobalTable(PFN_vkGetInstanceProcAddr get);
Result<InstanceTable> LoadInstanceTable(PFN_vkGetInstanceProcAddr get, VkInstance instance);
Result<DeviceTable> LoadDeviceTable(PFN_vkGetDeviceProcAddr get, VkDevice device);

}  // namespace VXLA_NAMESPACE::vulkan
