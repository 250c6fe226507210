// What stands for an allocation or a semaphore outside of its VkDevice: POSIX's file descriptors, Windows' HANDLEs.
// external_handle.cc is the one file that knows which of them this system has.
#pragma once

#include <string>

#include "backend/vulkan/device/api/external_types.h"
#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

struct ExternalHandle {
  VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  int descriptor = -1;     // of POSIX's types
  void* handle = nullptr;  // of Windows'
  std::string ToString() const;
};

// kInvalidArgument: not one of this system's types of handles. kUnsupported: its extension is not enabled.
Status CheckHandleType(const DeviceContext& context, VkExternalMemoryHandleTypeFlagBits type);
// Whether what stands behind such handles is the driver's secret, so that only who exported it knows its memory type.
bool IsOpaque(VkExternalMemoryHandleTypeFlagBits type);

// vkAllocateMemory of what a handle stands for. A file descriptor is the driver's from then on, a HANDLE stays the
// caller's. kInvalidArgument: the driver takes it for nothing of the type.
Status AllocateImported(DeviceContext& context, const ExternalHandle& handle, VkMemoryAllocateInfo info,
                        VkDeviceMemory* memory);
// Bits of the memory types that it may be, unless it is opaque. kInvalidArgument: as above.
Result<uint32_t> MemoryTypesOf(DeviceContext& context, const ExternalHandle& handle);
// A new handle of an allocation that was made to have some of the type. The caller closes it or hands it on.
Result<ExternalHandle> HandleOf(DeviceContext& context, VkDeviceMemory memory, VkExternalMemoryHandleTypeFlagBits type);

// The payload of a semaphore of another device of the same driver, whose create info named the type, becomes this one's
// for good.
Status ShareSemaphore(DeviceContext& from, VkSemaphore semaphore, DeviceContext& to, VkSemaphore target);

}  // namespace VXLA_NAMESPACE::vulkan
