#include "backend/vulkan/device/commands/command_buffer.h"

#include <algorithm>

#include "backend/vulkan/device/commands/synchronization.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kSetsPerPool = 256, kDescriptorsPerPool = 1536;

const VulkanBuffer& Cast(const BufferRange& range) { return static_cast<const VulkanBuffer&>(*range.buffer); }
VkDeviceSize Offset(const BufferRange& range) {
  return static_cast<VkDeviceSize>(Cast(range).offset_bytes() + range.offset_bytes);
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
  made->for_host_ = true;
  return made;
}

void VulkanCommandBuffer::Attach(VkCommandBuffer commands, bool write_sets, bool goes_on) {
  commands_ = commands;
  write_sets_ = write_sets;
  if (!goes_on) next_set_ = 0;
  bound_ = VK_NULL_HANDLE;
  computed_ = copied_ = true;
  error_ = OkStatus();
  state_ = State::kRecording;
}

Status VulkanCommandBuffer::Detach() {
  state_ = State::kFresh;
  commands_ = VK_NULL_HANDLE;
  return error_;
}

VulkanCommandBuffer::~VulkanCommandBuffer() {
  const DeviceTable& vk = context_->vk();
  for (DescriptorPool& pool : descriptor_pools_) context_->Destroy(vk.DestroyDescriptorPool, pool.pool);
  context_->Destroy(vk.DestroyQueryPool, queries_);
  context_->Destroy(vk.DestroyCommandPool, pool_);
}

Status VulkanCommandBuffer::Begin(bool resubmitted) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  const DeviceTable& vk = context_->vk();
  VXLA_RETURN_IF_ERROR(context_->Check(vk.ResetCommandPool(context_->handle(), pool_, 0), "vkResetCommandPool"));
  for (DescriptorPool& pool : descriptor_pools_) {
    VXLA_RETURN_IF_ERROR(
        context_->Check(vk.ResetDescriptorPool(context_->handle(), pool.pool, 0), "vkResetDescriptorPool"));
    pool.sets_left = pool.sets;
    pool.descriptors_left = pool.descriptors;
  }
  current_pool_ = 0;
  bound_ = VK_NULL_HANDLE;
  computed_ = copied_ = true;
  error_ = OkStatus();
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

Status CheckRange(const char* what, const BufferRange& range) {
  if (range.buffer == nullptr) return Internal("{}: no buffer", what);
  const int64_t size = range.buffer->size_bytes();
  // Written so that no sum can overflow.
  if (range.offset_bytes < 0 || range.size_bytes < 0 || range.offset_bytes > size ||
      range.size_bytes > size - range.offset_bytes) {
    return Internal("{}: bytes {} to {} lie outside a buffer of {} bytes", what, range.offset_bytes,
                    range.offset_bytes + range.size_bytes, size);
  }
  return OkStatus();
}

Status VulkanCommandBuffer::CheckGroups(const VulkanKernel& kernel, const GroupRange& range) const {
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t limit = context_->facts().max_group_count[axis];
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

Status VulkanCommandBuffer::Dispatch(const Kernel& kernel, BufferRange arguments, std::span<const BufferRange> buffers,
                                     const GroupRange& range) {
  VXLA_RETURN_IF_ERROR(Recording("dispatch"));
  const auto& pipeline = static_cast<const VulkanKernel&>(kernel);
  VXLA_RETURN_IF_ERROR(CheckGroups(pipeline, range));
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
  if (groups_at.size_bytes != sizeof(VkDispatchIndirectCommand) || Offset(groups_at) % 4 != 0) {
    return Internal("indirect dispatch: counts of {} bytes at byte {}", groups_at.size_bytes, Offset(groups_at));
  }
  VXLA_RETURN_IF_ERROR(Bind(static_cast<const VulkanKernel&>(kernel), arguments, buffers));
  context_->vk().CmdDispatchIndirect(commands_, Cast(groups_at).handle(), Offset(groups_at));
  return OkStatus();
}

Status VulkanCommandBuffer::Bind(const VulkanKernel& kernel, const BufferRange& arguments,
                                 std::span<const BufferRange> buffers) {
  computed_ = true;
  if (bound_ != kernel.pipeline) {
    context_->vk().CmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
    bound_ = kernel.pipeline;
  }
  return kernel.mode == BindingMode::kAddresses ? PushAddress(kernel, arguments)
                                                : BindDescriptors(kernel, arguments, buffers);
}

Status VulkanCommandBuffer::PushAddress(const VulkanKernel& kernel, const BufferRange& arguments) {
  const uint64_t address = arguments.buffer->device_address() + static_cast<uint64_t>(arguments.offset_bytes);
  if (address % 16 != 0) return Internal("dispatch of {}: the argument block is not 16-byte aligned", kernel.name);
  context_->vk().CmdPushConstants(commands_, kernel.layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0, kAddressBytes,
                                  &address);
  return OkStatus();
}

Status VulkanCommandBuffer::BindDescriptors(const VulkanKernel& kernel, const BufferRange& arguments,
                                            std::span<const BufferRange> buffers) {
  if (kernel.layout.pushed) {
    VXLA_RETURN_IF_ERROR(FillWrites(kernel, arguments, buffers, VK_NULL_HANDLE));
    context_->vk().CmdPushDescriptorSetKHR(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout.pipeline, 0,
                                           static_cast<uint32_t>(writes_.size()), writes_.data());
    return OkStatus();
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  const bool known = for_host_ && next_set_ < sets_.size();
  if (known) {
    set = sets_[next_set_++];
  } else {
    VXLA_ASSIGN_OR_RETURN(set, NewSet(kernel));
  }
  if (for_host_ && !known) sets_.push_back(set), ++next_set_;
  if (!known || write_sets_) {
    VXLA_RETURN_IF_ERROR(FillWrites(kernel, arguments, buffers, set));
    context_->vk().UpdateDescriptorSets(context_->handle(), static_cast<uint32_t>(writes_.size()), writes_.data(), 0,
                                        nullptr);
  }
  context_->vk().CmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout.pipeline, 0, 1, &set, 0,
                                       nullptr);
  return OkStatus();
}

Status VulkanCommandBuffer::FillWrites(const VulkanKernel& kernel, const BufferRange& arguments,
                                       std::span<const BufferRange> buffers, VkDescriptorSet set) {
  const DeviceFacts& facts = context_->facts();
  if (buffers.size() != kernel.buffer_count) {
    return Internal("dispatch of {}: {} buffers given, its key says {}", kernel.name, buffers.size(),
                    kernel.buffer_count);
  }
  infos_.resize(buffers.size() + 1);
  writes_.resize(infos_.size());
  for (size_t i = 0; i < infos_.size(); ++i) {
    // An empty tensor has no bytes to bind; the kernel never touches it, so any valid range will do.
    const BufferRange& wanted = i == 0 ? arguments : buffers[i - 1];
    const bool empty = i > 0 && wanted.size_bytes == 0;
    if (!empty) VXLA_RETURN_IF_ERROR(CheckRange("dispatch", wanted));
    const BufferRange& range = empty ? arguments : wanted;
    if (Offset(range) % facts.storage_offset_alignment != 0) {
      return Internal("dispatch of {}: binding {} at byte {} of a buffer, the alignment is {}", kernel.name, i,
                      range.offset_bytes, facts.storage_offset_alignment);
    }
    // Kernels may read narrow types in whole words; the allocator's unit makes the last word exist.
    const int64_t size = std::max<int64_t>(4, (range.size_bytes + 3) / 4 * 4);
    if (static_cast<uint64_t>(size) > facts.max_storage_range_bytes) {
      return Unsupported(
          "a tensor of {} bytes exceeds the limit of {}: {} bytes for one storage buffer binding "
          "(--bindings=addresses has none)",
          range.size_bytes, facts.name, facts.max_storage_range_bytes);
    }
    infos_[i] = {Cast(range).handle(), Offset(range), static_cast<VkDeviceSize>(size)};
    writes_[i] = MakeVk<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    writes_[i].dstSet = set;
    const size_t array = kernel.written_array == 0 || i == 0 ? i
                         : i <= kernel.written_array         ? 1
                                                             : kernel.written_array + 1;
    writes_[i].dstBinding = static_cast<uint32_t>(array);
    writes_[i].dstArrayElement = static_cast<uint32_t>(i - array);
    writes_[i].descriptorCount = 1;
    writes_[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes_[i].pBufferInfo = &infos_[i];
  }
  return OkStatus();
}

Result<VkDescriptorSet> VulkanCommandBuffer::NewSet(const VulkanKernel& kernel) {
  const uint32_t descriptors = kernel.buffer_count + 1;
  // Two rounds at most per pool: a pool that the driver says is full is left behind.
  for (;;) {
    while (current_pool_ < descriptor_pools_.size() &&
           (descriptor_pools_[current_pool_].sets_left == 0 ||
            descriptor_pools_[current_pool_].descriptors_left < descriptors)) {
      ++current_pool_;
    }
    const bool fresh = current_pool_ == descriptor_pools_.size();
    if (fresh) VXLA_RETURN_IF_ERROR(AddDescriptorPool(std::max(descriptors, kDescriptorsPerPool)));
    DescriptorPool& pool = descriptor_pools_[current_pool_];
    auto info = MakeVk<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pool.pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel.layout.set;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = context_->vk().AllocateDescriptorSets(context_->handle(), &info, &set);
    if (result == VK_SUCCESS) {
      --pool.sets_left;
      pool.descriptors_left -= descriptors;
      return set;
    }
    const bool full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (!full || fresh) return context_->Check(result, "vkAllocateDescriptorSets");
    pool.sets_left = 0;
  }
}

Status VulkanCommandBuffer::AddDescriptorPool(uint32_t descriptors) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors};
  auto info = MakeVk<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = kSetsPerPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  DescriptorPool pool;
  VXLA_RETURN_IF_ERROR(context_->Make(context_->vk().CreateDescriptorPool, info, &pool.pool, "vkCreateDescriptorPool"));
  pool.sets = pool.sets_left = kSetsPerPool;
  pool.descriptors = pool.descriptors_left = descriptors;
  descriptor_pools_.push_back(pool);
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
  barrier.buffer = Cast(range).handle();
  barrier.offset = Offset(range);
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
  if (source.size_bytes != target.size_bytes) {
    return Fail(Internal("copy of {} bytes to {} bytes", source.size_bytes, target.size_bytes));
  }
  if (source.size_bytes == 0) return;
  if (Status status = CheckRange("copy source", source); !status.ok()) return Fail(std::move(status));
  if (Status status = CheckRange("copy target", target); !status.ok()) return Fail(std::move(status));
  const VkBufferCopy region = {Offset(source), Offset(target), static_cast<VkDeviceSize>(source.size_bytes)};
  const bool overlap = Cast(source).handle() == Cast(target).handle() &&
                       region.srcOffset < region.dstOffset + region.size &&
                       region.dstOffset < region.srcOffset + region.size;
  if (overlap) return Fail(Internal("copy of {} bytes onto overlapping memory", source.size_bytes));
  copied_ = true;
  context_->vk().CmdCopyBuffer(commands_, Cast(source).handle(), Cast(target).handle(), 1, &region);
}

void VulkanCommandBuffer::Fill(BufferRange target, uint32_t word) {
  if (Status status = Recording("fill"); !status.ok()) return Fail(std::move(status));
  if (target.size_bytes == 0) return;
  if (Status status = CheckRange("fill", target); !status.ok()) return Fail(std::move(status));
  const bool at_end = target.offset_bytes + target.size_bytes == target.buffer->size_bytes();
  if (target.offset_bytes % 4 != 0 || (target.size_bytes % 4 != 0 && !at_end)) {
    return Fail(Internal("fill of bytes {} to {}: fills work in words of 4 bytes", target.offset_bytes,
                         target.offset_bytes + target.size_bytes));
  }
  // At the buffer's end the last word may reach into the allocator's padding.
  const VkDeviceSize size = static_cast<VkDeviceSize>((target.size_bytes + 3) / 4 * 4);
  copied_ = true;
  context_->vk().CmdFillBuffer(commands_, Cast(target).handle(), Offset(target), size, word);
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
    uint64_t ticks = 0;
    const VkResult result =
        context_->vk().GetQueryPoolResults(context_->handle(), queries_, static_cast<uint32_t>(i), 1, sizeof(ticks),
                                           &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT);
    if (result == VK_NOT_READY) {
      return Internal("timestamp {} was read before its submission completed: vkGetQueryPoolResults: {}", i,
                      ResultName(result));
    }
    VXLA_RETURN_IF_ERROR(context_->Check(result, "vkGetQueryPoolResults"));
    if (!have_base) base = ticks, have_base = true;
    times[i] = static_cast<double>((ticks - base) & mask) * context_->facts().timestamp_period_ns;
  }
  return times;
}

void VulkanCommandBuffer::Fail(Status status) {
  if (error_.ok()) error_ = std::move(status);
}

}  // namespace VXLA_NAMESPACE::vulkan
