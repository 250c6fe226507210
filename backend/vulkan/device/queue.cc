#include "backend/vulkan/device/queue.h"

#include "backend/vulkan/device/executables.h"

namespace VXLA_NAMESPACE::vulkan {

Result<std::unique_ptr<Queue>> Queue::Create(std::shared_ptr<DeviceContext> context) {
  std::unique_ptr<Queue> queue(new Queue(std::move(context)));
  DeviceContext& device = *queue->context_;
  if (device.facts().compile_only) return queue;
  if (device.host()) {
    queue->queue_ = device.host()->queue;
  } else {
    device.vk().GetDeviceQueue(device.handle(), device.plan().queue_family, 0, &queue->queue_);
  }
  auto type = MakeVk<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = MakeVk<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  VXLA_RETURN_IF_ERROR(
      device.Check(device.vk().CreateSemaphore(device.handle(), &info, device.allocation(), &queue->timeline_),
                   "vkCreateSemaphore"));
  device.Name(VK_OBJECT_TYPE_SEMAPHORE, queue->timeline_, "vxla timeline");
  return queue;
}

Queue::~Queue() {
  if (timeline_ == VK_NULL_HANDLE) return;
  context_->WaitIdle();
  context_->vk().DestroySemaphore(context_->handle(), timeline_, context_->allocation());
}

Result<uint64_t> Queue::Link(uint64_t wait_value, const HostSemaphore* wait, const HostSemaphore* signal) {
  return Submit(VK_NULL_HANDLE, wait_value, wait, signal);
}

Result<uint64_t> Queue::Submit(VkCommandBuffer commands, uint64_t wait_value, const HostSemaphore* wait,
                               const HostSemaphore* signal) {
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
  VkSemaphoreSubmitInfo waits[2], signals[2];
  auto info = MakeVk<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
  info.commandBufferInfoCount = commands == VK_NULL_HANDLE ? 0 : 1;
  info.pCommandBufferInfos = &command;
  info.pWaitSemaphoreInfos = waits;
  info.pSignalSemaphoreInfos = signals;
  if (wait_value != 0) waits[info.waitSemaphoreInfoCount++] = point({timeline_, wait_value});
  if (wait != nullptr) waits[info.waitSemaphoreInfoCount++] = point(*wait);
  std::lock_guard lock(mutex_);
  if (wait_value > last_value_) {
    return Internal("submission waits for {}, but only {} was submitted: it would never start", wait_value,
                    last_value_);
  }
  signals[info.signalSemaphoreInfoCount++] = point({timeline_, last_value_ + 1});
  if (signal != nullptr) signals[info.signalSemaphoreInfoCount++] = point(*signal);
  VXLA_RETURN_IF_ERROR(context_->Check(SubmitLocked(info), "vkQueueSubmit2"));
  return ++last_value_;
}

VkResult Queue::SubmitLocked(const VkSubmitInfo2& info) {
  const std::optional<HostDevice>& host = context_->host();
  const bool locks = host && host->lock_queue != nullptr;
  if (locks) host->lock_queue(host->user);
  const VkResult result = context_->vk().QueueSubmit2(queue_, 1, &info, VK_NULL_HANDLE);
  if (locks) host->unlock_queue(host->user);
  return result;
}

bool Queue::IsIdle() {
  uint64_t last = 0;
  {
    std::lock_guard lock(mutex_);
    last = last_value_;
  }
  return last == 0 || IsDone(last) || !context_->Alive().ok();
}

void Queue::NoteDone(uint64_t value) {
  uint64_t seen = done_value_.load(std::memory_order_relaxed);
  while (seen < value && !done_value_.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
}

Status Queue::WaitIdle() {
  if (context_->host()) return OkStatus();
  std::lock_guard lock(mutex_);
  VXLA_RETURN_IF_ERROR(context_->Check(context_->vk().DeviceWaitIdle(context_->handle()), "vkDeviceWaitIdle"));
  NoteDone(last_value_);
  return OkStatus();
}

Status Queue::Wait(uint64_t value) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  if (done_value_.load(std::memory_order_acquire) >= value) return OkStatus();
  {
    std::lock_guard lock(mutex_);
    if (value > last_value_) return Internal("wait for {}, but only {} was submitted", value, last_value_);
  }
  if (context_->instance().validates_gpu()) return WaitIdle();
  auto info = MakeVk<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  Status status =
      context_->Check(context_->vk().WaitSemaphores(context_->handle(), &info, UINT64_MAX), "vkWaitSemaphores");
  if (status.ok()) {
    NoteDone(value);
  } else if (context_->Alive().ok()) {
    (void)WaitIdle();  // the caller gives up, and frees what the device may still work on
  }
  return status;
}

bool Queue::IsDone(uint64_t value) {
  if (done_value_.load(std::memory_order_acquire) >= value) return true;
  if (context_->instance().validates_gpu()) return WaitIdle().ok() && done_value_.load() >= value;
  uint64_t now = 0;
  if (!context_
           ->Check(context_->vk().GetSemaphoreCounterValue(context_->handle(), timeline_, &now),
                   "vkGetSemaphoreCounterValue")
           .ok()) {
    return false;
  }
  NoteDone(now);
  return now >= value;
}

}  // namespace VXLA_NAMESPACE::vulkan
