// The descriptors of a command buffer's dispatches: pushed, or in sets of pools that grow.
#pragma once

#include <vector>

#include "backend/device.h"
#include "backend/vulkan/device/handles/device_context.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/device/memory/memory_allocator.h"

namespace VXLA_NAMESPACE::vulkan {

// Whether the bytes lie in their buffer.
Status CheckRange(const char* what, const BufferRange& range);

inline const VulkanBuffer& BufferOf(const BufferRange& range) {
  return static_cast<const VulkanBuffer&>(*range.buffer);
}
// In the handle of its buffer.
inline VkDeviceSize OffsetOf(const BufferRange& range) {
  return static_cast<VkDeviceSize>(BufferOf(range).offset_bytes() + range.offset_bytes);
}

class DescriptorSets {
 public:
  explicit DescriptorSets(DeviceContext& context) : context_(context) {}
  ~DescriptorSets();
  DescriptorSets(const DescriptorSets&) = delete;
  DescriptorSets& operator=(const DescriptorSets&) = delete;

  // All sets are free again.
  Status Reset();
  // From now on the n-th dispatch has the same set whenever it is recorded: for dispatches that stay the same.
  void KeepSets() { keeps_sets_ = true; }
  // The next dispatch is the first one, unless it `goes_on` behind the last. `write`: kept sets are written again.
  void Rewind(bool write, bool goes_on);
  // Of the next dispatch: its argument block and its tensors.
  Status Bind(VkCommandBuffer commands, const VulkanKernel& kernel, const BufferRange& arguments,
              std::span<const BufferRange> buffers);

 private:
  struct Pool {
    VkDescriptorPool pool = VK_NULL_HANDLE;
    uint32_t sets_left = 0, descriptors_left = 0;
    uint32_t sets = 0, descriptors = 0;
  };
  // writes_, for a set or to be pushed.
  Status FillWrites(const VulkanKernel& kernel, const BufferRange& arguments, std::span<const BufferRange> buffers,
                    VkDescriptorSet set);
  Result<VkDescriptorSet> NewSet(const VulkanKernel& kernel);
  Status AddPool(uint32_t descriptors);

  DeviceContext& context_;
  std::vector<Pool> pools_;
  size_t current_pool_ = 0;
  std::vector<VkDescriptorBufferInfo> infos_;  // here, so that recording again allocates nothing
  std::vector<VkWriteDescriptorSet> writes_;
  bool keeps_sets_ = false, write_sets_ = true;
  std::vector<VkDescriptorSet> sets_;  // that are kept, by dispatch
  size_t next_set_ = 0;
};

}  // namespace VXLA_NAMESPACE::vulkan
