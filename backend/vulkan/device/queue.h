// Queue: submissions of one device in order, and the timeline that tells how far they are.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "backend/vulkan/device/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// A point of a semaphore of the host's; `value` is for timelines.
struct HostSemaphore {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
  VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
};

// Thread-safe.
class Queue {
 public:
  static Result<std::unique_ptr<Queue>> Create(std::shared_ptr<DeviceContext> context);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Starts after the timeline reaches `wait_value` and the host's semaphore `wait`; returns the value that it reaches at
  // the end, when `signal` is signalled. Either may be null.
  Result<uint64_t> Submit(VkCommandBuffer commands, uint64_t wait_value, const HostSemaphore* wait = nullptr,
                          const HostSemaphore* signal = nullptr);
  // The same of nothing: order alone.
  Result<uint64_t> Link(uint64_t wait_value, const HostSemaphore* wait, const HostSemaphore* signal);
  Status Wait(uint64_t value);
  bool IsDone(uint64_t value);
  bool IsIdle();

 private:
  explicit Queue(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  // GPU-assisted validation 1.3.239 loses sight of timelines: each look at one takes it ten seconds and ends in an
  // error of its own. Idling the device is what it understands.
  Status WaitIdle();
  void NoteDone(uint64_t value);
  VkResult SubmitLocked(const VkSubmitInfo2& info);

  std::shared_ptr<DeviceContext> context_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  uint64_t last_value_ = 0;
  std::atomic<uint64_t> done_value_ = 0;  // the highest value that was seen, to answer without a driver call
};

}  // namespace VXLA_NAMESPACE::vulkan
