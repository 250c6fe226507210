#include "backend/vulkan/device/commands/synchronization.h"

#include <type_traits>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Flags of Vulkan 1.0 have the same values in synchronization2, whose new ones lie above the 32nd bit.
constexpr uint64_t kOld = 0xffffffffu;

VkMemoryBarrier Older(const VkMemoryBarrier2& barrier) {
  return {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, OlderAccesses(barrier.srcAccessMask),
          OlderAccesses(barrier.dstAccessMask)};
}
VkBufferMemoryBarrier Older(const VkBufferMemoryBarrier2& barrier) {
  return {VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
          nullptr,
          OlderAccesses(barrier.srcAccessMask),
          OlderAccesses(barrier.dstAccessMask),
          barrier.srcQueueFamilyIndex,
          barrier.dstQueueFamilyIndex,
          barrier.buffer,
          barrier.offset,
          barrier.size};
}
VkImageMemoryBarrier Older(const VkImageMemoryBarrier2& barrier) {
  return {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
          nullptr,
          OlderAccesses(barrier.srcAccessMask),
          OlderAccesses(barrier.dstAccessMask),
          barrier.oldLayout,
          barrier.newLayout,
          barrier.srcQueueFamilyIndex,
          barrier.dstQueueFamilyIndex,
          barrier.image,
          barrier.subresourceRange};
}

// The barrier, if it is of that kind.
template <typename Wanted, typename Barrier>
const Wanted* OrNull(const Barrier* barrier) {
  if constexpr (std::is_same_v<Wanted, Barrier>) return barrier;
  return nullptr;
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

template <typename Barrier>
void PipelineBarrier(const DeviceContext& context, VkCommandBuffer commands, const Barrier& barrier) {
  constexpr uint32_t memory = std::is_same_v<Barrier, VkMemoryBarrier2>,
                     buffer = std::is_same_v<Barrier, VkBufferMemoryBarrier2>, image = 1 - memory - buffer;
  if (context.plan().synchronization2) {
    const VkDependencyInfo dependency = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         nullptr,
                                         0,
                                         memory,
                                         OrNull<VkMemoryBarrier2>(&barrier),
                                         buffer,
                                         OrNull<VkBufferMemoryBarrier2>(&barrier),
                                         image,
                                         OrNull<VkImageMemoryBarrier2>(&barrier)};
    return context.vk().CmdPipelineBarrier2(commands, &dependency);
  }
  const auto older = Older(barrier);
  context.vk().CmdPipelineBarrier(commands, OlderStages(barrier.srcStageMask, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT),
                                  OlderStages(barrier.dstStageMask, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT), 0, memory,
                                  OrNull<VkMemoryBarrier>(&older), buffer, OrNull<VkBufferMemoryBarrier>(&older), image,
                                  OrNull<VkImageMemoryBarrier>(&older));
}
template void PipelineBarrier(const DeviceContext&, VkCommandBuffer, const VkMemoryBarrier2&);
template void PipelineBarrier(const DeviceContext&, VkCommandBuffer, const VkBufferMemoryBarrier2&);
template void PipelineBarrier(const DeviceContext&, VkCommandBuffer, const VkImageMemoryBarrier2&);

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
