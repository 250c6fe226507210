#include "backend/vulkan/device/ownership.h"

#include <algorithm>

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

Result<TimePoint> TransferOwnership(Device& device, Buffer& buffer, Ownership half, uint32_t other, const Moment& after,
                                    const HostSemaphore* semaphore) {
  auto& vulkan = static_cast<VulkanDevice&>(device);
  DeviceContext& context = vulkan.context();
  VXLA_RETURN_IF_ERROR(CheckFamily(context, other));
  const bool release = half == Ownership::kRelease;
  // All stages, so that it lies between what was waited for and what is signalled, whichever stages those name.
  auto between = MakeVk<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
  between.srcStageMask = between.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  between.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
  between.dstAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT | VK_ACCESS_2_MEMORY_READ_BIT;
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<VulkanCommandBuffer> commands,
                        VulkanCommandBuffer::Create(vulkan.shared_context(), 0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  commands->ChangeOwner({&buffer, 0, buffer.size_bytes()}, release, other, between);
  VXLA_RETURN_IF_ERROR(commands->End());
  return vulkan.SubmitOnce(std::move(commands), after, release ? nullptr : semaphore, release ? semaphore : nullptr);
}

}  // namespace VXLA_NAMESPACE::vulkan
