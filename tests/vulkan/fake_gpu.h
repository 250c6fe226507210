// What a made-up GPU's driver says, for tests of plans.
#pragma once

#include <cstring>
#include <vector>

#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {

inline constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
inline constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
inline constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

struct FakeHeap {
  uint64_t bytes;
  VkMemoryHeapFlags flags;
};
struct FakeMemoryType {
  VkMemoryPropertyFlags flags;
  uint32_t heap;
};

inline void SetMemory(PhysicalSupport& support, const std::vector<FakeHeap>& heaps,
                      const std::vector<FakeMemoryType>& types) {
  support.memory = {};
  support.memory.memoryHeapCount = static_cast<uint32_t>(heaps.size());
  support.memory.memoryTypeCount = static_cast<uint32_t>(types.size());
  for (size_t i = 0; i < heaps.size(); ++i) support.memory.memoryHeaps[i] = {heaps[i].bytes, heaps[i].flags};
  for (size_t i = 0; i < types.size(); ++i) support.memory.memoryTypes[i] = {types[i].flags, types[i].heap};
}

// A discrete GPU with a small window of host-visible device memory.
inline PhysicalSupport FakeGpu() {
  PhysicalSupport support;
  std::strcpy(support.properties.deviceName, "Fake GPU 9000");
  support.properties.apiVersion = VK_API_VERSION_1_3;
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  VkPhysicalDeviceLimits& limits = support.properties.limits;
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.maxPerStageDescriptorStorageBuffers = 32;
  limits.maxDescriptorSetStorageBuffers = 24;
  limits.maxPerStageResources = 100;
  limits.maxStorageBufferRange = 1u << 27;
  limits.minStorageBufferOffsetAlignment = 64;
  limits.timestampPeriod = 2.0f;
  support.sizes.maxMemoryAllocationSize = 4 * kGiB;
  support.subgroups.subgroupSize = 32;
  support.subgroups.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  support.subgroups.supportedOperations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  support.min_subgroup_size = support.max_subgroup_size = 32;
  support.features.subgroup_size_control.subgroupSizeControl = VK_TRUE;
  support.features.subgroup_size_control.computeFullSubgroups = VK_TRUE;
  support.features.base.features.shaderInt64 = VK_TRUE;
  support.features.base.features.robustBufferAccess = VK_TRUE;
  support.features.vulkan12.timelineSemaphore = VK_TRUE;
  support.features.vulkan12.bufferDeviceAddress = VK_TRUE;
  support.features.synchronization2.synchronization2 = VK_TRUE;
  support.features.maintenance4.maintenance4 = VK_TRUE;
  support.queue_families.resize(1);
  support.queue_families[0].queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  support.queue_families[0].queueCount = 1;
  support.queue_families[0].timestampValidBits = 48;
  SetMemory(support,
            {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}, {kGiB / 4, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
            {{kLocal, 0}, {kHost, 1}, {kHost | kCached, 1}, {kLocal | kHost, 2}});
  return support;
}

}  // namespace VXLA_NAMESPACE::vulkan
