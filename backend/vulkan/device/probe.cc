#include "backend/vulkan/device/probe.h"

#include <cstring>

#include "backend/vulkan/device/command_buffer.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Result<std::shared_ptr<VulkanKernel>> BuildProbe(const ProbeTools& tools, ProbeKind kind) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> spirv, tools.modules.get(kind, tools.context->facts()));
  KernelKey key;
  key.algorithm = kind == ProbeKind::kQuirks ? "probe/quirks" : "probe/division";
  key.buffer_count = 1;
  PipelineRequest request;
  request.mode = BindingMode::kDescriptors;  // every device has them
  request.key = &key;
  request.spirv = &spirv;
  return MakeKernel(tools.context, tools.layouts, request);
}

}  // namespace

Status RunProbe(const ProbeTools& tools, ProbeKind kind, uint32_t groups, std::span<const std::byte> data,
                std::span<std::byte> answer) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<VulkanKernel> kernel, BuildProbe(tools, kind));
  const int64_t data_bytes = static_cast<int64_t>(data.size()), answer_bytes = static_cast<int64_t>(answer.size());
  VXLA_ASSIGN_OR_RETURN(const auto input, tools.allocator->Allocate(data_bytes, MemoryKind::kUpload));
  VXLA_ASSIGN_OR_RETURN(const auto words, tools.allocator->Allocate(answer_bytes, MemoryKind::kReadback));
  std::memcpy(input->mapped(), data.data(), data.size());
  std::memset(words->mapped(), 0, answer.size());
  VXLA_ASSIGN_OR_RETURN(const auto commands, VulkanCommandBuffer::Create(tools.context, 0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  const BufferRange out = {words.get(), 0, answer_bytes};
  VXLA_RETURN_IF_ERROR(commands->Dispatch(*kernel, {input.get(), 0, data_bytes}, std::span(&out, 1), {groups, 1, 1}));
  VXLA_RETURN_IF_ERROR(commands->End());
  VXLA_ASSIGN_OR_RETURN(const uint64_t value, tools.queue.Submit(commands->handle(), 0));
  VXLA_RETURN_IF_ERROR(tools.queue.Wait(value));
  std::memcpy(answer.data(), words->mapped(), answer.size());
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
