#include "backend/vulkan/device/queue.h"

#include "backend/vulkan/device/executables.h"

namespace VXLA_NAMESPACE::vulkan {

Result<std::unique_ptr<Queue>> Queue::Create(std::shared_ptr<DeviceContext> context) {
  std::unique_ptr<Queue> queue(new Queue(std::move(context)));
  DeviceContext& device = *queue->context_;
  if (device.facts().compile_only) return queue;
  device.vk().GetDeviceQueue(device.handle(), device.plan().queue_family, 0, &queue->queue_);
  auto type = MakeVk<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = MakeVk<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  VXLA_RETURN_IF_ERROR(device.Check(device.vk().CreateSemaphore(device.handle(), &info, nullptr, &queue->timeline_),
                                    "vkCreateSemaphore"));
  device.Name(VK_OBJECT_TYPE_SEMAPHORE, queue->timeline_, "vxla timeline");
  return queue;
}

Queue::~Queue() {
  if (timeline_ == VK_NULL_HANDLE) return;
  context_->vk().DeviceWaitIdle(context_->handle());
  context_->vk().DestroySemaphore(context_->handle(), timeline_, nullptr);
}

Result<uint64_t> Queue::Submit(VkCommandBuffer commands, uint64_t wait_value) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  VXLA_RETURN_IF_ERROR(CheckRuns(context_->facts()));
  auto command = MakeVk<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
  command.commandBuffer = commands;
  auto wait = MakeVk<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
  wait.semaphore = timeline_;
  wait.value = wait_value;
  wait.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSemaphoreSubmitInfo signal = wait;
  auto info = MakeVk<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
  info.commandBufferInfoCount = 1;
  info.pCommandBufferInfos = &command;
  info.waitSemaphoreInfoCount = wait_value == 0 ? 0 : 1;
  info.pWaitSemaphoreInfos = &wait;
  info.signalSemaphoreInfoCount = 1;
  info.pSignalSemaphoreInfos = &signal;
  std::lock_guard lock(mutex_);
  if (wait_value > last_value_) {
    return Internal("submission waits for {}, but only {} was submitted: it would never start", wait_value,
                    last_value_);
  }
  signal.value = last_value_ + 1;
  VXLA_RETURN_IF_ERROR(
      context_->Check(context_->vk().QueueSubmit2(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit2"));
  return ++last_value_;
}

void Queue::NoteDone(uint64_t value) {
  uint64_t seen = done_value_.load(std::memory_order_relaxed);
  while (seen < value && !done_value_.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
}

Status Queue::WaitIdle() {
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
