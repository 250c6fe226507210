// Memory that other devices, other APIs and other processes share with this one, by a handle of the operating system.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/vulkan/device/handles/external_handle.h"

namespace VXLA_NAMESPACE::vulkan {

// An allocation, and a part of it.
struct ExternalMemory {
  ExternalHandle handle;
  uint64_t size_bytes = 0;    // of the allocation
  uint64_t offset_bytes = 0;  // of the part
  uint32_t memory_type = 0;   // of the allocation, for opaque handles
};

// A buffer with an allocation of its own, which can be exported. kUnsupported: the extension is not enabled, or the
// device does not export such memory.
Result<std::shared_ptr<Buffer>> AllocateExportable(Device& device, VkExternalMemoryHandleTypeFlagBits type,
                                                   uint64_t size_bytes);
// A part of someone's allocation as a buffer. A file descriptor is the driver's if this succeeds. kInvalidArgument: the
// handle is none of such memory, or the part lies outside.
Result<std::shared_ptr<Buffer>> ImportMemory(Device& device, const ExternalMemory& memory, uint64_t size_bytes);
// A new handle, the caller's, of a buffer that AllocateExportable made. kInvalidArgument: another buffer.
Result<ExternalMemory> ExportMemory(const Buffer& buffer);

// The host's memory as a buffer. kUnsupported: VK_EXT_external_memory_host is not enabled, or no buffer can lie there.
Result<std::shared_ptr<Buffer>> ImportHostPointer(Device& device, std::byte* memory, uint64_t size_bytes);

}  // namespace VXLA_NAMESPACE::vulkan
