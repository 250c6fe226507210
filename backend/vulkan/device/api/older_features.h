// How devices of Vulkan 1.1 say what VkPhysicalDeviceVulkan11Features and VkPhysicalDeviceVulkan12Features hold on
// newer ones: a struct and an extension for each. Pure.
#pragma once

#include <utility>

#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

struct OlderFeatures {
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeatures storage8;
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8;
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_semaphore;
  VkPhysicalDeviceBufferDeviceAddressFeatures buffer_device_address;
  VkPhysicalDeviceScalarBlockLayoutFeatures scalar_block_layout;
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures subgroup_extended_types;
  VkPhysicalDeviceShaderAtomicInt64Features atomic_int64;
};

// Calls visit(struct, its type, its extension, each of its members beside the newer struct's) for all; no extension: it
// is Vulkan 1.1's. `older` is an OlderFeatures or what has its members.
template <typename Older, typename Visit>
void VisitOlder(Older& older, VkPhysicalDeviceVulkan11Features& vulkan11, VkPhysicalDeviceVulkan12Features& vulkan12,
                Visit visit) {
  const auto pair = [](VkBool32& of_older, VkBool32& of_newer) {
    return std::pair<VkBool32&, VkBool32&>(of_older, of_newer);
  };
  visit(older.storage16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, nullptr,
        pair(older.storage16.storageBuffer16BitAccess, vulkan11.storageBuffer16BitAccess));
  visit(older.storage8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
        pair(older.storage8.storageBuffer8BitAccess, vulkan12.storageBuffer8BitAccess));
  visit(older.float16_int8, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, pair(older.float16_int8.shaderFloat16, vulkan12.shaderFloat16),
        pair(older.float16_int8.shaderInt8, vulkan12.shaderInt8));
  visit(older.timeline_semaphore, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
        pair(older.timeline_semaphore.timelineSemaphore, vulkan12.timelineSemaphore));
  visit(older.buffer_device_address, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME,
        pair(older.buffer_device_address.bufferDeviceAddress, vulkan12.bufferDeviceAddress));
  visit(older.scalar_block_layout, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES,
        VK_EXT_SCALAR_BLOCK_LAYOUT_EXTENSION_NAME,
        pair(older.scalar_block_layout.scalarBlockLayout, vulkan12.scalarBlockLayout));
  visit(older.subgroup_extended_types, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
        VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME,
        pair(older.subgroup_extended_types.shaderSubgroupExtendedTypes, vulkan12.shaderSubgroupExtendedTypes));
  visit(older.atomic_int64, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
        VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME,
        pair(older.atomic_int64.shaderBufferInt64Atomics, vulkan12.shaderBufferInt64Atomics));
}

}  // namespace VXLA_NAMESPACE::vulkan
