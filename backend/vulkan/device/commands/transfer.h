// Transfer: bytes between the host and device memory that it cannot see, through a reusable staging buffer, on the
// transfer queue where the device has one.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "backend/vulkan/device/commands/command_buffer.h"
#include "backend/vulkan/device/commands/queue.h"
#include "backend/vulkan/device/memory/memory_allocator.h"

namespace VXLA_NAMESPACE::vulkan {

// Thread-safe. Each call returns when its bytes have arrived.
class Transfer {
 public:
  Transfer(std::shared_ptr<DeviceContext> context, std::shared_ptr<MemoryAllocator> allocator, Queues& queues)
      : context_(std::move(context)),
        allocator_(std::move(allocator)),
        queues_(queues),
        queue_(context_->facts().transfer_queue()) {}

  Status Upload(std::span<const std::byte> source, VulkanBuffer& target, int64_t offset_bytes);
  // Once `after` has passed.
  Status Download(VulkanBuffer& source, int64_t offset_bytes, std::span<std::byte> target, const Moment& after);
  // Fills the whole buffer.
  Status Fill(VulkanBuffer& target, uint32_t word);
  // What other queues wait for to see all that was written so far; it has passed.
  Moment written() const { return queue_ == 0 ? Moment() : TimePoint{queue_, written_.load()}; }

 private:
  // Two of each, so that the host copies one while the device copies the other.
  struct Slot {
    std::shared_ptr<VulkanBuffer> staging;
    std::unique_ptr<VulkanCommandBuffer> commands;
    TimePoint finished;                        // value 0: idle
    int64_t offset_bytes = 0, size_bytes = 0;  // of the chunk under way
  };
  using Slots = std::array<Slot, 2>;

  Status Prepare(Slots& slots, MemoryKind kind);
  // Gives the queue what is recorded.
  Status Start(Slot& slot, const Moment& after, const std::function<void(VulkanCommandBuffer&)>& record);
  Status Finish(Slot& slot);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<MemoryAllocator> allocator_;
  Queues& queues_;
  const int queue_;
  std::atomic<uint64_t> written_ = 0;
  std::mutex upload_mutex_, download_mutex_;
  Slots uploads_, downloads_;
};

}  // namespace VXLA_NAMESPACE::vulkan
