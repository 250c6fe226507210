#include "backend/vulkan/device/host_image.h"

#include "backend/vulkan/device/commands/synchronization.h"
#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

void Transition(const DeviceContext& context, VkCommandBuffer commands, const HostImage& image, const ImageState& from,
                const ImageState& to) {
  auto barrier = MakeVk<VkImageMemoryBarrier2>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2);
  barrier.srcStageMask = from.stages;
  barrier.srcAccessMask = from.accesses;
  barrier.dstStageMask = to.stages;
  barrier.dstAccessMask = to.accesses;
  barrier.oldLayout = from.layout;
  barrier.newLayout = to.layout;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image.image;
  barrier.subresourceRange = {image.aspects.all, image.mip_level, 1, image.volume ? 0 : image.first_layer,
                              image.volume ? 1 : image.layers};
  PipelineBarrier(context, commands, barrier);
}

VkBufferImageCopy Region(const HostImage& image, const VulkanBuffer& buffer) {
  VkBufferImageCopy region = {};
  region.bufferOffset = static_cast<VkDeviceSize>(buffer.offset_bytes());
  region.imageSubresource = {image.aspects.copied, image.mip_level, image.volume ? 0 : image.first_layer,
                             image.volume ? 1 : image.layers};
  region.imageOffset.z = image.volume ? static_cast<int32_t>(image.first_layer) : 0;
  region.imageExtent = {image.width, image.height, image.volume ? image.layers : 1};
  return region;
}

constexpr ImageState kRead = {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                              VK_ACCESS_2_TRANSFER_READ_BIT};
constexpr ImageState kWritten = {VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_PIPELINE_STAGE_2_COPY_BIT,
                                 VK_ACCESS_2_TRANSFER_WRITE_BIT};

}  // namespace

void CopyImageToBuffer(Device& device, VkCommandBuffer commands, const HostImage& source, const Buffer& target) {
  const DeviceContext& context = static_cast<VulkanDevice&>(device).context();
  const auto& buffer = static_cast<const VulkanBuffer&>(target);
  const VkBufferImageCopy region = Region(source, buffer);
  Transition(context, commands, source, source.before, kRead);
  context.vk().CmdCopyImageToBuffer(commands, source.image, kRead.layout, buffer.handle(), 1, &region);
  Transition(context, commands, source, kRead, source.after);
}

void CopyBufferToImage(Device& device, VkCommandBuffer commands, const Buffer& source, const HostImage& target) {
  const DeviceContext& context = static_cast<VulkanDevice&>(device).context();
  const auto& buffer = static_cast<const VulkanBuffer&>(source);
  const VkBufferImageCopy region = Region(target, buffer);
  Transition(context, commands, target, target.before, kWritten);
  context.vk().CmdCopyBufferToImage(commands, buffer.handle(), target.image, kWritten.layout, 1, &region);
  Transition(context, commands, target, kWritten, target.after);
}

}  // namespace VXLA_NAMESPACE::vulkan
