#include "backend/vulkan/device/ownership.h"

#include <algorithm>

#include "backend/vulkan/device/commands/synchronization.h"
#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Status CheckFamily(const DeviceContext& context, uint32_t family) {
  if (family == VK_QUEUE_FAMILY_EXTERNAL) return OkStatus();
  if (std::ranges::count(context.plan().queue_families, family) != 0)
    return InvalidArgument("queue family {}: it is one that vxla's queues have", family);
  uint32_t count = 0;
  context.instance().vk().GetPhysicalDeviceQueueFamilyProperties(context.physical(), &count, nullptr);
  if (family >= count) {
    return InvalidArgument("queue family {}: {} has {}, and VK_QUEUE_FAMILY_EXTERNAL is the only other one", family,
                           context.facts().name, count);
  }
  if (context.plan().queue_families.size() == 1) return OkStatus();
  return Unsupported(
      "queue family {}: vxla's queues are of several families, which share their buffers: a buffer for another one, "
      "too, "
      "is made with VK_SHARING_MODE_CONCURRENT",
      family);
}

}  // namespace

Result<TimePoint> TransferOwnership(Device& device, const Buffer& buffer, Ownership half, uint32_t other,
                                    const Moment& after, const HostSemaphore* semaphore) {
  auto& vulkan = static_cast<VulkanDevice&>(device);
  DeviceContext& context = vulkan.context();
  VXLA_RETURN_IF_ERROR(CheckFamily(context, other));
  const bool release = half == Ownership::kRelease;
  const auto& range = static_cast<const VulkanBuffer&>(buffer);
  auto barrier = MakeVk<VkBufferMemoryBarrier2>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2);
  // All stages, so that it lies between what was waited for and what is signalled, whichever stages those name.
  barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  (release ? barrier.srcAccessMask : barrier.dstAccessMask) =
      VK_ACCESS_2_MEMORY_WRITE_BIT | (release ? 0 : VK_ACCESS_2_MEMORY_READ_BIT);
  // What several families share has no owner among them.
  const auto& families = context.plan().queue_families;
  const uint32_t own = families.size() == 1 ? families[0] : VK_QUEUE_FAMILY_IGNORED;
  barrier.srcQueueFamilyIndex = release ? own : other;
  barrier.dstQueueFamilyIndex = release ? other : own;
  barrier.buffer = range.handle();
  barrier.offset = static_cast<VkDeviceSize>(range.offset_bytes());
  barrier.size = static_cast<VkDeviceSize>(range.size_bytes());
  auto dependency = MakeVk<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
  dependency.bufferMemoryBarrierCount = 1;
  dependency.pBufferMemoryBarriers = &barrier;
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<VulkanCommandBuffer> commands,
                        VulkanCommandBuffer::Create(vulkan.shared_context(), 0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  PipelineBarrier(context, commands->handle(), dependency);
  VXLA_RETURN_IF_ERROR(commands->End());
  return vulkan.SubmitOnce(std::move(commands), after, release ? nullptr : semaphore, release ? semaphore : nullptr);
}

}  // namespace VXLA_NAMESPACE::vulkan
