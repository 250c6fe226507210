#include "backend/vulkan/device/commands/queue.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backend/vulkan/device/commands/synchronization.h"

namespace VXLA_NAMESPACE::vulkan {

Result<std::unique_ptr<Queues>> Queues::Create(std::shared_ptr<DeviceContext> context) {
  std::unique_ptr<Queues> queues(new Queues(std::move(context)));
  const DeviceFacts& facts = queues->context_->facts();
  if (facts.compile_only) return queues;
  for (const QueueFacts& queue : facts.queues) VXLA_RETURN_IF_ERROR(queues->Open(queues->lines_.emplace_back(), queue));
  return queues;
}

Status Queues::Open(Line& line, const QueueFacts& facts) {
  DeviceContext& device = *context_;
  if (device.host()) {
    line.host = &device.host()->queues[facts.index];
    line.queue = line.host->queue;
  } else {
    device.vk().GetDeviceQueue(device.handle(), facts.family, facts.index, &line.queue);
  }
  for (const Line& other : lines_) {
    if (&other != &line && other.queue == line.queue) line.submits = other.submits;
  }
  if (line.submits == nullptr) line.submits = &submits_.emplace_back();
  auto type = MakeVk<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = MakeVk<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  VXLA_RETURN_IF_ERROR(device.Make(device.vk().CreateSemaphore, info, &line.timeline, "vkCreateSemaphore"));
  device.Name(VK_OBJECT_TYPE_SEMAPHORE, line.timeline, fmt::format("vxla timeline {}", count() - 1));
  return OkStatus();
}

Queues::~Queues() {
  if (!lines_.empty()) context_->WaitIdle();
  for (const Line& line : lines_) context_->Destroy(context_->vk().DestroySemaphore, line.timeline);
}

Result<TimePoint> Queues::Submit(int queue, VkCommandBuffer commands, const Moment& after,
                                 std::span<const HostSemaphore> outer_waits,
                                 std::span<const HostSemaphore> outer_signals) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  VXLA_RETURN_IF_ERROR(CheckRuns(context_->facts()));
  const auto point = [](const HostSemaphore& at) {
    auto info = MakeVk<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    info.semaphore = at.semaphore;
    info.value = at.value;
    info.stageMask = at.stages;
    return info;
  };
  auto command = MakeVk<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
  command.commandBuffer = commands;
  std::vector<VkSemaphoreSubmitInfo> waits, signals;
  auto info = MakeVk<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
  info.commandBufferInfoCount = commands == VK_NULL_HANDLE ? 0 : 1;
  info.pCommandBufferInfos = &command;
  for (int i = 0; i < kMostQueues; ++i) {
    const uint64_t value = after.at(i);
    if (value == 0) continue;
    // What waits for something that comes later may block a device whose queues are one.
    if (const uint64_t last = i < count() ? at(i).Last() : 0; value > last) {
      return Internal("submission waits for {} of queue {}, but only {} was submitted: it would never start", value, i,
                      last);
    }
    waits.push_back(point({at(i).timeline, value}));
  }
  for (const HostSemaphore& wait : outer_waits) waits.push_back(point(wait));
  Line& line = at(queue);
  std::lock_guard lock(line.mutex);
  for (const HostSemaphore& signal : outer_signals) signals.push_back(point(signal));
  // The last one: a driver may signal one after another (SwiftShader), and who sees the timeline may free the others.
  signals.push_back(point({line.timeline, line.last_value + 1}));
  info.waitSemaphoreInfoCount = static_cast<uint32_t>(waits.size());
  info.pWaitSemaphoreInfos = waits.data();
  info.signalSemaphoreInfoCount = static_cast<uint32_t>(signals.size());
  info.pSignalSemaphoreInfos = signals.data();
  VXLA_RETURN_IF_ERROR(SubmitLocked(line, info));
  return TimePoint{queue, ++line.last_value};
}

Status Queues::SubmitLocked(const Line& line, const VkSubmitInfo2& info) {
  const bool locks = line.host != nullptr && line.host->lock != nullptr;
  const std::lock_guard lock(*line.submits);
  if (locks) line.host->lock(line.host->user);
  Status submitted = SubmitTo(*context_, line.queue, info);
  if (locks) line.host->unlock(line.host->user);
  return submitted;
}

uint64_t Queues::Line::Last() {
  const std::lock_guard lock(mutex);
  return last_value;
}

bool Queues::IsIdle() {
  for (Line& line : lines_) {
    const uint64_t last = line.Last();
    if (last != 0 && !IsDone(line, last) && context_->Alive().ok()) return false;
  }
  return true;
}

void Queues::Line::NoteDone(uint64_t value) {
  uint64_t seen = done_value.load(std::memory_order_relaxed);
  while (seen < value && !done_value.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
}

Status Queues::WaitIdle() {
  if (context_->host()) return OkStatus();
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Line& line : lines_) locks.emplace_back(line.mutex);
  VXLA_RETURN_IF_ERROR(context_->Check(context_->vk().DeviceWaitIdle(context_->handle()), "vkDeviceWaitIdle"));
  for (Line& line : lines_) line.NoteDone(line.last_value);
  return OkStatus();
}

Result<bool> Queues::WaitWithin(const Moment& moment, uint64_t timeout_ns) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  std::array<VkSemaphore, kMostQueues> timelines;
  std::array<uint64_t, kMostQueues> values;
  auto info = MakeVk<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.pSemaphores = timelines.data();
  info.pValues = values.data();
  for (int i = 0; i < kMostQueues; ++i) {
    const uint64_t value = moment.at(i);
    if (value == 0) continue;
    if (i < count() && at(i).done_value.load(std::memory_order_acquire) >= value) continue;
    if (const uint64_t last = i < count() ? at(i).Last() : 0; value > last)
      return Internal("wait for {} of queue {}, but only {} was submitted", value, i, last);
    timelines[info.semaphoreCount] = at(i).timeline;
    values[info.semaphoreCount++] = value;
  }
  if (info.semaphoreCount == 0) return true;
  if (context_->instance().validates_gpu()) {
    VXLA_RETURN_IF_ERROR(WaitIdle());
    return true;
  }
  const VkResult result = context_->vk().WaitSemaphores(context_->handle(), &info, timeout_ns);
  if (result == VK_TIMEOUT) return false;
  Status status = context_->Check(result, "vkWaitSemaphores");
  if (!status.ok()) {
    if (context_->Alive().ok()) (void)WaitIdle();  // the caller gives up, and frees what the device may still work on
    return status;
  }
  for (int i = 0; i < count(); ++i) at(i).NoteDone(moment.at(i));
  return true;
}

Result<bool> Queues::WaitUntil(const Moment& moment, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now()).count();
  return WaitWithin(moment, static_cast<uint64_t>(std::max<int64_t>(left, 0)));
}

bool Queues::IsDone(Line& line, uint64_t value) {
  if (line.done_value.load(std::memory_order_acquire) >= value) return true;
  if (context_->instance().validates_gpu()) return WaitIdle().ok() && line.done_value.load() >= value;
  uint64_t now = 0;
  if (!context_
           ->Check(context_->vk().GetSemaphoreCounterValue(context_->handle(), line.timeline, &now),
                   "vkGetSemaphoreCounterValue")
           .ok()) {
    return false;
  }
  line.NoteDone(now);
  return now >= value;
}

bool Queues::IsDone(const Moment& moment) {
  for (int i = 0; i < count(); ++i) {
    if (!IsDone(at(i), moment.at(i))) return false;
  }
  return true;
}

}  // namespace VXLA_NAMESPACE::vulkan
