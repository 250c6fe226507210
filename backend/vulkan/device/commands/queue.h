// Queues: submissions of one device, each queue's in order, and the timelines that tell how far they are.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// A point of a semaphore of the host's or of another device; `value` is for timelines.
struct HostSemaphore {
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
  VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
};

inline std::span<const HostSemaphore> AtMostOne(const HostSemaphore* semaphore) {
  return {semaphore, semaphore == nullptr ? size_t{0} : size_t{1}};
}

// Thread-safe. Those of DeviceFacts::queues.
class Queues {
 public:
  static Result<std::unique_ptr<Queues>> Create(std::shared_ptr<DeviceContext> context);
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Goes to queue number `queue`, starts once `after` has passed and the semaphores `waits` are signalled, which are
  // not of these queues, and returns what the queue reaches at the end, when `signals` are signalled. Null commands:
  // order alone.
  Result<TimePoint> Submit(int queue, VkCommandBuffer commands, const Moment& after,
                           std::span<const HostSemaphore> waits = {}, std::span<const HostSemaphore> signals = {});
  Status Wait(const Moment& moment) { return WaitWithin(moment, UINT64_MAX).status(); }
  Result<bool> WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline);
  bool IsDone(const Moment& moment);
  bool IsIdle();

 private:
  struct Line {
    VkQueue queue = VK_NULL_HANDLE;
    std::mutex* submits = nullptr;    // of `queue`, which several may share
    const HostQueue* host = nullptr;  // null: a queue of our own
    VkSemaphore timeline = VK_NULL_HANDLE;
    std::mutex mutex;
    uint64_t last_value = 0;
    std::atomic<uint64_t> done_value = 0;  // the highest value that was seen, to answer without a driver call

    uint64_t Last();
    void NoteDone(uint64_t value);
  };

  explicit Queues(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  Status Open(Line& line, const QueueFacts& facts);
  // GPU-assisted validation 1.3.239 loses sight of timelines: each look at one takes it ten seconds and ends in an
  // error of its own. Idling the device is what it understands.
  Status WaitIdle();
  Result<bool> WaitWithin(const Moment& moment, uint64_t timeout_ns);
  VkResult SubmitLocked(const Line& line, const VkSubmitInfo2& info);
  bool IsDone(Line& line, uint64_t value);
  int count() const { return static_cast<int>(lines_.size()); }
  Line& at(int queue) { return lines_[static_cast<size_t>(queue)]; }

  std::shared_ptr<DeviceContext> context_;
  std::deque<Line> lines_;
  std::deque<std::mutex> submits_;
};

}  // namespace VXLA_NAMESPACE::vulkan
