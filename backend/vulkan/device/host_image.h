// A host's image, copied from and to buffers in the host's command buffers, with its transitions of layout.
#pragma once

#include "backend/device.h"
#include "backend/vulkan/device/api/vk.h"

namespace VXLA_NAMESPACE::vulkan {

// Where an image stands before or after commands: its layout, and the stages and accesses that use it there.
struct ImageState {
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
  VkPipelineStageFlags2 stages = 0;
  VkAccessFlags2 accesses = 0;
};

// What is copied, and what layouts are of: stencil goes with depth.
struct ImageAspects {
  VkImageAspectFlags copied = VK_IMAGE_ASPECT_COLOR_BIT, all = VK_IMAGE_ASPECT_COLOR_BIT;
};

// One mip level, `layers` of them; of a 3D image slices.
struct HostImage {
  VkImage image = VK_NULL_HANDLE;
  uint32_t width = 0, height = 0, mip_level = 0, first_layer = 0, layers = 1;
  bool volume = false;
  ImageAspects aspects;
  ImageState before, after;
};

// Dense rows and layers. Only the image is ordered with what comes before and after: barriers for the buffer are the
// caller's.
void CopyImageToBuffer(Device& device, VkCommandBuffer commands, const HostImage& source, const Buffer& target);
void CopyBufferToImage(Device& device, VkCommandBuffer commands, const Buffer& source, const HostImage& target);

}  // namespace VXLA_NAMESPACE::vulkan
