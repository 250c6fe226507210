// VulkanCommandBuffer: a command pool with one command buffer, its descriptors and its timestamp queries.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/device/commands/descriptor_sets.h"
#include "backend/vulkan/device/handles/device_context.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/device/memory/memory_allocator.h"

namespace VXLA_NAMESPACE::vulkan {

class VulkanCommandBuffer final : public CommandBuffer {
 public:
  static Result<std::unique_ptr<VulkanCommandBuffer>> Create(std::shared_ptr<DeviceContext> context,
                                                             int timestamp_count, int queue = 0);
  // Records into a host's command buffers, each between Attach and Detach, always the same dispatches; Begin, End and
  // timestamps are the host's. Descriptor sets are our own: made the first time, written again where Attach says so.
  static std::unique_ptr<VulkanCommandBuffer> ForHost(std::shared_ptr<DeviceContext> context);
  // `goes_on`: from the dispatch behind the last Detach.
  void Attach(VkCommandBuffer commands, bool write_sets, bool goes_on);
  Status Detach();
  ~VulkanCommandBuffer() override;
  VulkanCommandBuffer(const VulkanCommandBuffer&) = delete;
  VulkanCommandBuffer& operator=(const VulkanCommandBuffer&) = delete;

  Status Begin(bool resubmitted = false) override;
  Status Dispatch(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                  const GroupRange& range) override;
  Status DispatchIndirect(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                          BufferRange groups_at) override;
  void Barrier(bool indirect = false) override;
  void Copy(BufferRange source, BufferRange target) override;
  void Fill(BufferRange target, uint32_t word) override;
  void Release(BufferRange range) override { ChangeOwner(range, true, VK_QUEUE_FAMILY_EXTERNAL, MemoryBarrier()); }
  void Acquire(BufferRange range) override { ChangeOwner(range, false, VK_QUEUE_FAMILY_EXTERNAL, MemoryBarrier()); }
  void WriteTimestamp(int index) override;
  void BeginLabel(const char* name) override;
  void EndLabel() override;
  Status End() override;
  Result<std::vector<double>> Timestamps() override;

  // Releases the range to another queue family, or acquires it of one: that half of a barrier.
  void ChangeOwner(const BufferRange& range, bool release, uint32_t other, const VkMemoryBarrier2& between);
  int queue() const { return queue_; }
  VkCommandBuffer handle() const { return commands_; }
  // Not OK unless End() succeeded.
  Status Submittable() const;

 private:
  enum class State { kFresh, kRecording, kEnded };

  explicit VulkanCommandBuffer(std::shared_ptr<DeviceContext> context)
      : context_(std::move(context)), descriptors_(*context_) {}
  Status Recording(const char* what) const;
  void ForgetRecorded() { bound_ = VK_NULL_HANDLE, computed_ = copied_ = true, error_ = OkStatus(); }
  // Between anything there may be: a queue for copies has no stage that computes.
  VkMemoryBarrier2 MemoryBarrier() const;
  // Behind what was recorded since the last barrier alone: waiting for copies that are not there costs AMD's driver a
  // flush of what draws, too.
  VkMemoryBarrier2 BarrierBehind() const;
  // Pipeline and arguments of a dispatch.
  Status Bind(const VulkanKernel& kernel, const BufferRange& arguments, std::span<const BufferRange> buffers);
  void Fail(Status status);

  std::shared_ptr<DeviceContext> context_;
  int queue_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::vector<bool> timestamp_written_;
  DescriptorSets descriptors_;
  VkPipeline bound_ = VK_NULL_HANDLE;
  // Recorded since the last barrier; before the first one, what is not known here may have been.
  bool computed_ = true, copied_ = true;
  State state_ = State::kFresh;
  Status error_;  // the first failure of a call that returns nothing; End reports it
};

}  // namespace VXLA_NAMESPACE::vulkan
