#include "backend/vulkan/device/commands/synchronization.h"

#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Flags of Vulkan 1.0 have the same values in synchronization2, whose new ones lie above the 32nd bit.
constexpr uint64_t kOld = 0xffffffffu;

void OlderBarrier(const DeviceTable& vk, VkCommandBuffer commands, const VkDependencyInfo& dependency) {
  // One call has one pair of masks of stages: that of all its barriers together.
  VkPipelineStageFlags2 from = 0, to = 0;
  std::vector<VkMemoryBarrier> memory;
  for (uint32_t i = 0; i < dependency.memoryBarrierCount; ++i) {
    const VkMemoryBarrier2& barrier = dependency.pMemoryBarriers[i];
    from |= barrier.srcStageMask, to |= barrier.dstStageMask;
    auto& older = memory.emplace_back(MakeVk<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER));
    older.srcAccessMask = OlderAccesses(barrier.srcAccessMask);
    older.dstAccessMask = OlderAccesses(barrier.dstAccessMask);
  }
  std::vector<VkBufferMemoryBarrier> buffers;
  for (uint32_t i = 0; i < dependency.bufferMemoryBarrierCount; ++i) {
    const VkBufferMemoryBarrier2& barrier = dependency.pBufferMemoryBarriers[i];
    from |= barrier.srcStageMask, to |= barrier.dstStageMask;
    buffers.push_back({VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER, nullptr, OlderAccesses(barrier.srcAccessMask),
                       OlderAccesses(barrier.dstAccessMask), barrier.srcQueueFamilyIndex, barrier.dstQueueFamilyIndex,
                       barrier.buffer, barrier.offset, barrier.size});
  }
  std::vector<VkImageMemoryBarrier> images;
  for (uint32_t i = 0; i < dependency.imageMemoryBarrierCount; ++i) {
    const VkImageMemoryBarrier2& barrier = dependency.pImageMemoryBarriers[i];
    from |= barrier.srcStageMask, to |= barrier.dstStageMask;
    images.push_back({VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, nullptr, OlderAccesses(barrier.srcAccessMask),
                      OlderAccesses(barrier.dstAccessMask), barrier.oldLayout, barrier.newLayout,
                      barrier.srcQueueFamilyIndex, barrier.dstQueueFamilyIndex, barrier.image,
                      barrier.subresourceRange});
  }
  vk.CmdPipelineBarrier(commands, OlderStages(from, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT),
                        OlderStages(to, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT), dependency.dependencyFlags,
                        static_cast<uint32_t>(memory.size()), memory.data(), static_cast<uint32_t>(buffers.size()),
                        buffers.data(), static_cast<uint32_t>(images.size()), images.data());
}

VkResult OlderSubmit(const DeviceTable& vk, VkQueue queue, const VkSubmitInfo2& submission) {
  std::vector<VkSemaphore> waits, signals;
  std::vector<uint64_t> wait_values, signal_values;
  std::vector<VkPipelineStageFlags> stages;
  for (uint32_t i = 0; i < submission.waitSemaphoreInfoCount; ++i) {
    const VkSemaphoreSubmitInfo& wait = submission.pWaitSemaphoreInfos[i];
    waits.push_back(wait.semaphore);
    wait_values.push_back(wait.value);
    stages.push_back(OlderStages(wait.stageMask, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT));
  }
  for (uint32_t i = 0; i < submission.signalSemaphoreInfoCount; ++i) {
    signals.push_back(submission.pSignalSemaphoreInfos[i].semaphore);
    signal_values.push_back(submission.pSignalSemaphoreInfos[i].value);
  }
  std::vector<VkCommandBuffer> commands;
  for (uint32_t i = 0; i < submission.commandBufferInfoCount; ++i)
    commands.push_back(submission.pCommandBufferInfos[i].commandBuffer);
  auto values = MakeVk<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  values.waitSemaphoreValueCount = static_cast<uint32_t>(wait_values.size());
  values.pWaitSemaphoreValues = wait_values.data();
  values.signalSemaphoreValueCount = static_cast<uint32_t>(signal_values.size());
  values.pSignalSemaphoreValues = signal_values.data();
  auto info = MakeVk<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.pNext = &values;
  info.waitSemaphoreCount = static_cast<uint32_t>(waits.size());
  info.pWaitSemaphores = waits.data();
  info.pWaitDstStageMask = stages.data();
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  info.signalSemaphoreCount = static_cast<uint32_t>(signals.size());
  info.pSignalSemaphores = signals.data();
  return vk.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
}

}  // namespace

VkPipelineStageFlags OlderStages(VkPipelineStageFlags2 stages, VkPipelineStageFlags none) {
  constexpr VkPipelineStageFlags2 kTransfers = VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_RESOLVE_BIT |
                                               VK_PIPELINE_STAGE_2_BLIT_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;
  constexpr VkPipelineStageFlags2 kVertexInput =
      VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT;
  auto older = static_cast<VkPipelineStageFlags>(stages & kOld);
  if (stages & kTransfers) older |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  if (stages & kVertexInput) older |= VK_PIPELINE_STAGE_VERTEX_INPUT_BIT;
  if (stages & VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT) older |= VK_PIPELINE_STAGE_ALL_GRAPHICS_BIT;
  constexpr VkPipelineStageFlags2 kKnown =
      kOld | kTransfers | kVertexInput | VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT;
  if (stages & ~kKnown) older |= VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  return older != 0 ? older : none;
}

VkAccessFlags OlderAccesses(VkAccessFlags2 accesses) {
  constexpr VkAccessFlags2 kReads = VK_ACCESS_2_SHADER_SAMPLED_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
  auto older = static_cast<VkAccessFlags>(accesses & kOld);
  if (accesses & kReads) older |= VK_ACCESS_SHADER_READ_BIT;
  if (accesses & VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT) older |= VK_ACCESS_SHADER_WRITE_BIT;
  if (accesses & ~(kOld | kReads | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT))
    older |= VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  return older;
}

void PipelineBarrier(const DeviceContext& context, VkCommandBuffer commands, const VkDependencyInfo& dependency) {
  if (context.plan().synchronization2) return context.vk().CmdPipelineBarrier2(commands, &dependency);
  OlderBarrier(context.vk(), commands, dependency);
}

void WriteTimestamp(const DeviceContext& context, VkCommandBuffer commands, VkQueryPool pool, uint32_t query) {
  if (context.plan().synchronization2)
    return context.vk().CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool, query);
  context.vk().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query);
}

Status SubmitTo(DeviceContext& context, VkQueue queue, const VkSubmitInfo2& submission) {
  if (context.plan().synchronization2)
    return context.Check(context.vk().QueueSubmit2(queue, 1, &submission, VK_NULL_HANDLE), "vkQueueSubmit2");
  return context.Check(OlderSubmit(context.vk(), queue, submission), "vkQueueSubmit");
}

}  // namespace VXLA_NAMESPACE::vulkan
