#include "backend/vulkan/device/commands/descriptor_sets.h"

#include <algorithm>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kSetsPerPool = 256, kDescriptorsPerPool = 1536;

}  // namespace

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

DescriptorSets::~DescriptorSets() {
  for (const Pool& pool : pools_) context_.Destroy(context_.vk().DestroyDescriptorPool, pool.pool);
}

Status DescriptorSets::Reset() {
  for (Pool& pool : pools_) {
    VXLA_RETURN_IF_ERROR(
        context_.Check(context_.vk().ResetDescriptorPool(context_.handle(), pool.pool, 0), "vkResetDescriptorPool"));
    pool.sets_left = pool.sets;
    pool.descriptors_left = pool.descriptors;
  }
  current_pool_ = 0;
  return OkStatus();
}

void DescriptorSets::Rewind(bool write, bool goes_on) {
  write_sets_ = write;
  if (!goes_on) next_set_ = 0;
}

Status DescriptorSets::Bind(VkCommandBuffer commands, const VulkanKernel& kernel, const BufferRange& arguments,
                            std::span<const BufferRange> buffers) {
  if (kernel.layout.pushed) {
    VXLA_RETURN_IF_ERROR(FillWrites(kernel, arguments, buffers, VK_NULL_HANDLE));
    context_.vk().CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout.pipeline, 0,
                                          static_cast<uint32_t>(writes_.size()), writes_.data());
    return OkStatus();
  }
  VkDescriptorSet set = VK_NULL_HANDLE;
  const bool known = keeps_sets_ && next_set_ < sets_.size();
  if (known) {
    set = sets_[next_set_++];
  } else {
    VXLA_ASSIGN_OR_RETURN(set, NewSet(kernel));
  }
  if (keeps_sets_ && !known) sets_.push_back(set), ++next_set_;
  if (!known || write_sets_) {
    VXLA_RETURN_IF_ERROR(FillWrites(kernel, arguments, buffers, set));
    context_.vk().UpdateDescriptorSets(context_.handle(), static_cast<uint32_t>(writes_.size()), writes_.data(), 0,
                                       nullptr);
  }
  context_.vk().CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout.pipeline, 0, 1, &set, 0,
                                      nullptr);
  return OkStatus();
}

Status DescriptorSets::FillWrites(const VulkanKernel& kernel, const BufferRange& arguments,
                                  std::span<const BufferRange> buffers, VkDescriptorSet set) {
  const DeviceFacts& facts = context_.facts();
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
    if (OffsetOf(range) % facts.storage_offset_alignment != 0) {
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
    infos_[i] = {BufferOf(range).handle(), OffsetOf(range), static_cast<VkDeviceSize>(size)};
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

Result<VkDescriptorSet> DescriptorSets::NewSet(const VulkanKernel& kernel) {
  const uint32_t descriptors = kernel.buffer_count + 1;
  // Two rounds at most per pool: a pool that the driver says is full is left behind.
  for (;;) {
    while (current_pool_ < pools_.size() &&
           (pools_[current_pool_].sets_left == 0 || pools_[current_pool_].descriptors_left < descriptors)) {
      ++current_pool_;
    }
    const bool fresh = current_pool_ == pools_.size();
    if (fresh) VXLA_RETURN_IF_ERROR(AddPool(std::max(descriptors, kDescriptorsPerPool)));
    Pool& pool = pools_[current_pool_];
    auto info = MakeVk<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pool.pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel.layout.set;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = context_.vk().AllocateDescriptorSets(context_.handle(), &info, &set);
    if (result == VK_SUCCESS) {
      --pool.sets_left;
      pool.descriptors_left -= descriptors;
      return set;
    }
    const bool full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (!full || fresh) return context_.Check(result, "vkAllocateDescriptorSets");
    pool.sets_left = 0;
  }
}

Status DescriptorSets::AddPool(uint32_t descriptors) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptors};
  auto info = MakeVk<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  info.maxSets = kSetsPerPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  Pool pool;
  VXLA_RETURN_IF_ERROR(context_.Make(context_.vk().CreateDescriptorPool, info, &pool.pool, "vkCreateDescriptorPool"));
  pool.sets = pool.sets_left = kSetsPerPool;
  pool.descriptors = pool.descriptors_left = descriptors;
  pools_.push_back(pool);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
