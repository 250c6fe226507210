// Barriers, timestamps and submissions, which the code states in the terms of synchronization2: on devices without it
// they become those of Vulkan 1.0, which order no less.
#pragma once

#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// One of memory, of a buffer or of an image: a VkMemoryBarrier2, VkBufferMemoryBarrier2 or VkImageMemoryBarrier2.
template <typename Barrier>
void PipelineBarrier(const DeviceContext& context, VkCommandBuffer commands, const Barrier& barrier);
// Behind all that was recorded.
void WriteTimestamp(const DeviceContext& context, VkCommandBuffer commands, VkQueryPool pool, uint32_t query);
// The queue's lock is the caller's; a lost device is remembered.
Status SubmitTo(DeviceContext& context, VkQueue queue, const VkSubmitInfo2& submission);

// Pure: what Vulkan 1.0 calls these stages and accesses, or something wider; `none` where there are no stages.
VkPipelineStageFlags OlderStages(VkPipelineStageFlags2 stages, VkPipelineStageFlags none);
VkAccessFlags OlderAccesses(VkAccessFlags2 accesses);

}  // namespace VXLA_NAMESPACE::vulkan
