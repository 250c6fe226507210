#include "backend/vulkan/device/commands/command_buffer.h"

#include <algorithm>

#include "backend/vulkan/device/commands/synchronization.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Status CheckGroups(const VulkanKernel& kernel, const GroupRange& range, const DeviceFacts& facts) {
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t limit = facts.max_group_count[axis];
    if (range.groups[axis] > limit) {
      return Internal("dispatch of {}: {} groups along {} exceed the limit of {}", kernel.name, range.groups[axis],
                      "xyz"[axis], limit);
    }
  }
  if (range.first != 0 && !kernel.in_parts) {
    return Internal("dispatch of {}: it begins at group {}, and its pipeline was not made for that", kernel.name,
                    range.first);
  }
  return OkStatus();
}

Status CheckCopy(const BufferRange& source, const BufferRange& target) {
  if (source.size_bytes != target.size_bytes)
    return Internal("copy of {} bytes to {} bytes", source.size_bytes, target.size_bytes);
  if (source.size_bytes == 0) return OkStatus();
  VXLA_RETURN_IF_ERROR(CheckRange("copy source", source));
  VXLA_RETURN_IF_ERROR(CheckRange("copy target", target));
  const VkDeviceSize from = OffsetOf(source), to = OffsetOf(target),
                     size = static_cast<VkDeviceSize>(source.size_bytes);
  const bool overlap = BufferOf(source).handle() == BufferOf(target).handle() && from < to + size && to < from + size;
  return overlap ? Internal("copy of {} bytes onto overlapping memory", source.size_bytes) : OkStatus();
}

Status CheckFill(const BufferRange& target) {
  VXLA_RETURN_IF_ERROR(CheckRange("fill", target));
  const bool at_end = target.offset_bytes + target.size_bytes == target.buffer->size_bytes();
  if (target.offset_bytes % 4 == 0 && (target.size_bytes % 4 == 0 || at_end)) return OkStatus();
  return Internal("fill of bytes {} to {}: fills work in words of 4 bytes", target.offset_bytes,
                  target.offset_bytes + target.size_bytes);
}

Result<uint64_t> TicksOf(DeviceContext& context, VkQueryPool queries, size_t index) {
  uint64_t ticks = 0;
  const VkResult result =
      context.vk().GetQueryPoolResults(context.handle(), queries, static_cast<uint32_t>(index), 1, sizeof(ticks),
                                       &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT);
  if (result == VK_NOT_READY) {
    return Internal("timestamp {} was read before its submission completed: vkGetQueryPoolResults: {}", index,
                    ResultName(result));
  }
  VXLA_RETURN_IF_ERROR(context.Check(result, "vkGetQueryPoolResults"));
  return ticks;
}

}  // namespace

Result<std::unique_ptr<VulkanCommandBuffer>> VulkanCommandBuffer::Create(std::shared_ptr<DeviceContext> context,
                                                                         int timestamp_count, int queue) {
  VXLA_RETURN_IF_ERROR(context->Alive());
  std::unique_ptr<VulkanCommandBuffer> made(new VulkanCommandBuffer(std::move(context)));
  DeviceContext& device = *made->context_;
  const DeviceTable& vk = device.vk();
  auto pool = MakeVk<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = device.facts().queues[static_cast<size_t>(queue)].family;
  VXLA_RETURN_IF_ERROR(device.Make(vk.CreateCommandPool, pool, &made->pool_, "vkCreateCommandPool"));
  auto info = MakeVk<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = made->pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VXLA_RETURN_IF_ERROR(
      device.Check(vk.AllocateCommandBuffers(device.handle(), &info, &made->commands_), "vkAllocateCommandBuffers"));
  made->queue_ = queue;
  made->timestamp_written_.resize(static_cast<size_t>(std::max(0, timestamp_count)));
  if (timestamp_count > 0 && device.plan().timestamp_bits > 0) {
    auto queries = MakeVk<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    queries.queryCount = static_cast<uint32_t>(timestamp_count);
    VXLA_RETURN_IF_ERROR(device.Make(vk.CreateQueryPool, queries, &made->queries_, "vkCreateQueryPool"));
  }
  return made;
}

std::unique_ptr<VulkanCommandBuffer> VulkanCommandBuffer::ForHost(std::shared_ptr<DeviceContext> context) {
  std::unique_ptr<VulkanCommandBuffer> made(new VulkanCommandBuffer(std::move(context)));
  made->descriptors_.KeepSets();
  return made;
}

void VulkanCommandBuffer::Attach(VkCommandBuffer commands, bool write_sets, bool goes_on) {
  commands_ = commands;
  descriptors_.Rewind(write_sets, goes_on);
  ForgetRecorded();
  state_ = State::kRecording;
}

Status VulkanCommandBuffer::Detach() {
  state_ = State::kFresh;
  commands_ = VK_NULL_HANDLE;
  return error_;
}

VulkanCommandBuffer::~VulkanCommandBuffer() {
  const DeviceTable& vk = context_->vk();
  context_->Destroy(vk.DestroyQueryPool, queries_);
  context_->Destroy(vk.DestroyCommandPool, pool_);
}

Status VulkanCommandBuffer::Begin(bool resubmitted) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  const DeviceTable& vk = context_->vk();
  VXLA_RETURN_IF_ERROR(context_->Check(vk.ResetCommandPool(context_->handle(), pool_, 0), "vkResetCommandPool"));
  VXLA_RETURN_IF_ERROR(descriptors_.Reset());
  ForgetRecorded();
  auto info = MakeVk<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  if (resubmitted) info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  VXLA_RETURN_IF_ERROR(context_->Check(vk.BeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer"));
  state_ = State::kRecording;
  std::fill(timestamp_written_.begin(), timestamp_written_.end(), false);
  if (queries_ != VK_NULL_HANDLE) {
    vk.CmdResetQueryPool(commands_, queries_, 0, static_cast<uint32_t>(timestamp_written_.size()));
  }
  return OkStatus();
}

Status VulkanCommandBuffer::Recording(const char* what) const {
  if (state_ == State::kRecording) return OkStatus();
  return Internal("{}: the command buffer is not being recorded", what);
}

Status VulkanCommandBuffer::Dispatch(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                                     const GroupRange& range) {
  VXLA_RETURN_IF_ERROR(Recording("dispatch"));
  const auto& pipeline = static_cast<const VulkanKernel&>(kernel);
  VXLA_RETURN_IF_ERROR(CheckGroups(pipeline, range, context_->facts()));
  VXLA_RETURN_IF_ERROR(CheckRange("argument block", arguments));
  const auto& groups = range.groups;
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return OkStatus();
  VXLA_RETURN_IF_ERROR(Bind(pipeline, arguments, buffers));
  const DeviceTable& vk = context_->vk();
  if (pipeline.in_parts) {
    const uint32_t offset = pipeline.mode == BindingMode::kAddresses ? kAddressBytes : 0;
    vk.CmdPushConstants(commands_, pipeline.layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, offset, kFirstGroupBytes,
                        &range.first);
  }
  vk.CmdDispatch(commands_, groups[0], groups[1], groups[2]);
  return OkStatus();
}

Status VulkanCommandBuffer::DispatchIndirect(const Kernel& kernel, BufferRange arguments,
                                             std::span<const BufferRange> buffers, BufferRange groups_at) {
  VXLA_RETURN_IF_ERROR(Recording("indirect dispatch"));
  VXLA_RETURN_IF_ERROR(CheckRange("argument block", arguments));
  VXLA_RETURN_IF_ERROR(CheckRange("counts of workgroups", groups_at));
  if (groups_at.size_bytes != sizeof(VkDispatchIndirectCommand) || OffsetOf(groups_at) % 4 != 0) {
    return Internal("indirect dispatch: counts of {} bytes at byte {}", groups_at.size_bytes, OffsetOf(groups_at));
  }
  VXLA_RETURN_IF_ERROR(Bind(static_cast<const VulkanKernel&>(kernel), arguments, buffers));
  context_->vk().CmdDispatchIndirect(commands_, BufferOf(groups_at).handle(), OffsetOf(groups_at));
  return OkStatus();
}

Status VulkanCommandBuffer::Bind(const VulkanKernel& kernel, const BufferRange& arguments,
                                 std::span<const BufferRange> buffers) {
  const DeviceTable& vk = context_->vk();
  computed_ = true;
  if (std::exchange(bound_, kernel.pipeline) != kernel.pipeline)
    vk.CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  if (kernel.mode != BindingMode::kAddresses) return descriptors_.Bind(commands_, kernel, arguments, buffers);
  const uint64_t address = arguments.buffer->device_address() + static_cast<uint64_t>(arguments.offset_bytes);
  if (address % 16 != 0) return Internal("dispatch of {}: the argument block is not 16-byte aligned", kernel.name);
  vk.CmdPushConstants(commands_, kernel.layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, kAddressBytes, &address);
  return OkStatus();
}

VkMemoryBarrier2 VulkanCommandBuffer::MemoryBarrier() const {
  auto barrier = MakeVk<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
  if (context_->facts().queues[static_cast<size_t>(queue_)].computes) {
    barrier.srcStageMask |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    barrier.srcAccessMask |= VK_ACCESS_2_SHADER_WRITE_BIT;
    barrier.dstAccessMask |= VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT;
  }
  barrier.dstStageMask = barrier.srcStageMask;
  return barrier;
}

VkMemoryBarrier2 VulkanCommandBuffer::BarrierBehind() const {
  VkMemoryBarrier2 barrier = MemoryBarrier();
  if (computed_ && !copied_) {
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT;
  } else if (copied_ && !computed_) {
    barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
  }
  return barrier;
}

void VulkanCommandBuffer::ChangeOwner(const BufferRange& range, bool release, uint32_t other,
                                      const VkMemoryBarrier2& between) {
  if (Status status = Recording("change of owner"); !status.ok()) return Fail(std::move(status));
  // What several families share has no owner among them.
  const auto& families = context_->plan().queue_families;
  const uint32_t own = families.size() == 1 ? families[0] : VK_QUEUE_FAMILY_IGNORED;
  auto barrier = MakeVk<VkBufferMemoryBarrier2>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2);
  barrier.srcStageMask = between.srcStageMask;
  barrier.dstStageMask = between.dstStageMask;
  (release ? barrier.srcAccessMask : barrier.dstAccessMask) = release ? between.srcAccessMask : between.dstAccessMask;
  barrier.srcQueueFamilyIndex = release ? own : other;
  barrier.dstQueueFamilyIndex = release ? other : own;
  barrier.buffer = BufferOf(range).handle();
  barrier.offset = OffsetOf(range);
  barrier.size = static_cast<VkDeviceSize>(range.size_bytes);
  PipelineBarrier(*context_, commands_, barrier);
}

void VulkanCommandBuffer::Barrier(bool indirect) {
  if (Status status = Recording("barrier"); !status.ok()) return Fail(std::move(status));
  VkMemoryBarrier2 barrier = BarrierBehind();
  computed_ = copied_ = false;
  if (indirect) {
    barrier.srcStageMask |= VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
    barrier.dstStageMask |= VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT;
    barrier.dstAccessMask |= VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT;
  }
  PipelineBarrier(*context_, commands_, barrier);
}

void VulkanCommandBuffer::Copy(BufferRange source, BufferRange target) {
  if (Status status = Recording("copy"); !status.ok()) return Fail(std::move(status));
  if (Status status = CheckCopy(source, target); !status.ok()) return Fail(std::move(status));
  if (source.size_bytes == 0) return;
  const VkBufferCopy region = {OffsetOf(source), OffsetOf(target), static_cast<VkDeviceSize>(source.size_bytes)};
  copied_ = true;
  context_->vk().CmdCopyBuffer(commands_, BufferOf(source).handle(), BufferOf(target).handle(), 1, &region);
}

void VulkanCommandBuffer::Fill(BufferRange target, uint32_t word) {
  if (Status status = Recording("fill"); !status.ok()) return Fail(std::move(status));
  if (target.size_bytes == 0) return;
  if (Status status = CheckFill(target); !status.ok()) return Fail(std::move(status));
  // At the buffer's end the last word may reach into the allocator's padding.
  const VkDeviceSize size = static_cast<VkDeviceSize>((target.size_bytes + 3) / 4 * 4);
  copied_ = true;
  context_->vk().CmdFillBuffer(commands_, BufferOf(target).handle(), OffsetOf(target), size, word);
}

void VulkanCommandBuffer::WriteTimestamp(int index) {
  if (Status status = Recording("timestamp"); !status.ok()) return Fail(std::move(status));
  if (index < 0 || index >= static_cast<int>(timestamp_written_.size()) || timestamp_written_[index]) {
    return Fail(Internal("timestamp {} of {}: out of range or written twice", index, timestamp_written_.size()));
  }
  timestamp_written_[index] = true;
  if (queries_ == VK_NULL_HANDLE) return;
  vulkan::WriteTimestamp(*context_, commands_, queries_, static_cast<uint32_t>(index));
}

void VulkanCommandBuffer::BeginLabel(const char* name) {
  if (context_->vk().CmdBeginDebugUtilsLabelEXT == nullptr || state_ != State::kRecording) return;
  auto label = MakeVk<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
  label.pLabelName = name;
  context_->vk().CmdBeginDebugUtilsLabelEXT(commands_, &label);
}

void VulkanCommandBuffer::EndLabel() {
  if (context_->vk().CmdEndDebugUtilsLabelEXT == nullptr || state_ != State::kRecording) return;
  context_->vk().CmdEndDebugUtilsLabelEXT(commands_);
}

Status VulkanCommandBuffer::End() {
  VXLA_RETURN_IF_ERROR(Recording("end"));
  // Waiting for a semaphore does not by itself show device writes to the host.
  VkMemoryBarrier2 barrier = MemoryBarrier();
  barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
  barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT;
  PipelineBarrier(*context_, commands_, barrier);
  state_ = State::kFresh;
  VXLA_RETURN_IF_ERROR(context_->Check(context_->vk().EndCommandBuffer(commands_), "vkEndCommandBuffer"));
  VXLA_RETURN_IF_ERROR(error_);
  state_ = State::kEnded;
  return OkStatus();
}

Status VulkanCommandBuffer::Submittable() const {
  if (state_ == State::kEnded) return OkStatus();
  return Internal("submission of a command buffer whose recording did not end well");
}

Result<std::vector<double>> VulkanCommandBuffer::Timestamps() {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  std::vector<double> times(timestamp_written_.size(), 0.0);
  if (queries_ == VK_NULL_HANDLE) return times;
  const uint32_t bits = context_->plan().timestamp_bits;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  // Counted from the first one: absolute ticks can be too large for a double, and narrow counters wrap around.
  bool have_base = false;
  uint64_t base = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    if (!timestamp_written_[i]) continue;
    VXLA_ASSIGN_OR_RETURN(const uint64_t ticks, TicksOf(*context_, queries_, i));
    if (!have_base) base = ticks, have_base = true;
    times[i] = static_cast<double>((ticks - base) & mask) * context_->facts().timestamp_period_ns;
  }
  return times;
}

void VulkanCommandBuffer::Fail(Status status) {
  if (error_.ok()) error_ = std::move(status);
}

}  // namespace VXLA_NAMESPACE::vulkan
