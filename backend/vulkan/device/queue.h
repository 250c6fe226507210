// Queue: submissions of one device in order, and the timeline that tells how far they are.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "backend/vulkan/device/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// Thread-safe.
class Queue {
 public:
  static Result<std::unique_ptr<Queue>> Create(std::shared_ptr<DeviceContext> context);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Starts after the timeline reaches `wait_value`; returns the value that it reaches at the end.
  Result<uint64_t> Submit(VkCommandBuffer commands, uint64_t wait_value);
  Status Wait(uint64_t value);
  bool IsDone(uint64_t value);

 private:
  explicit Queue(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  // GPU-assisted validation 1.3.239 loses sight of timelines: each look at one takes it ten seconds and ends in an
  // error of its own. Idling the device is what it understands.
  Status WaitIdle();
  void NoteDone(uint64_t value);

  std::shared_ptr<DeviceContext> context_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  uint64_t last_value_ = 0;
  std::atomic<uint64_t> done_value_ = 0;  // the highest value that was seen, to answer without a driver call
};

}  // namespace VXLA_NAMESPACE::vulkan
