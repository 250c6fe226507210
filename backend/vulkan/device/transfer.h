// Transfer: bytes between the host and device memory that it cannot see, through a reusable staging buffer.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "backend/vulkan/device/command_buffer.h"
#include "backend/vulkan/device/memory_allocator.h"
#include "backend/vulkan/device/queue.h"

namespace VXLA_NAMESPACE::vulkan {

// Thread-safe. Each call returns when its bytes have arrived, and waits for nothing else.
class Transfer {
 public:
  Transfer(std::shared_ptr<DeviceContext> context, std::shared_ptr<MemoryAllocator> allocator, Queue& queue)
      : context_(std::move(context)), allocator_(std::move(allocator)), queue_(queue) {}

  Status Upload(std::span<const std::byte> source, VulkanBuffer& target, int64_t offset_bytes);
  Status Download(VulkanBuffer& source, int64_t offset_bytes, std::span<std::byte> target);
  // Fills the whole buffer.
  Status Fill(VulkanBuffer& target, uint32_t word);

 private:
  // Two of each, so that the host copies one while the device copies the other.
  struct Slot {
    std::shared_ptr<VulkanBuffer> staging;
    std::unique_ptr<VulkanCommandBuffer> commands;
    uint64_t value = 0;                        // 0: idle
    int64_t offset_bytes = 0, size_bytes = 0;  // of the chunk under way
  };
  using Slots = std::array<Slot, 2>;

  Status Prepare(Slots& slots, MemoryKind kind);
  Status Start(Slot& slot, BufferRange source, BufferRange target);
  Status Finish(Slot& slot);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<MemoryAllocator> allocator_;
  Queue& queue_;
  std::mutex upload_mutex_, download_mutex_;
  Slots uploads_, downloads_;
};

}  // namespace VXLA_NAMESPACE::vulkan
