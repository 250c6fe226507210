#include "backend/vulkan/device/probes/probe.h"

#include <cstring>

#include "backend/vulkan/device/commands/command_buffer.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Result<std::shared_ptr<VulkanKernel>> BuildProbe(const ProbeTools& tools, const Probe& probe) {
  KernelKey key;
  key.algorithm = probe.name;
  key.buffer_count = probe.is_kernel ? 2 : 1;
  if (probe.lanes != 0) {
    key.constants = {probe.lanes, 1, 1};
    key.small_subgroups = true;
  }
  PipelineRequest request;
  request.mode = BindingMode::kDescriptors;  // every device has them
  request.key = &key;
  request.spirv = &probe.spirv;
  return MakeKernel(tools.context, tools.layouts, request);
}

}  // namespace

Status RunProbe(const ProbeTools& tools, ProbeKind kind, uint32_t groups, std::span<const std::byte> data,
                std::span<std::byte> answer) {
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> spirv, tools.modules.get(kind, tools.context->facts()));
  const char* name = kind == ProbeKind::kQuirks ? "probe/quirks" : "probe/division";
  return RunProbe(tools, {name, std::move(spirv), groups}, data, answer);
}

Status RunProbe(const ProbeTools& tools, const Probe& probe, std::span<const std::byte> data,
                std::span<std::byte> answer) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<VulkanKernel> kernel, BuildProbe(tools, probe));
  const int64_t data_bytes = static_cast<int64_t>(data.size()), answer_bytes = static_cast<int64_t>(answer.size());
  VXLA_ASSIGN_OR_RETURN(const auto input, tools.allocator->Allocate(data_bytes, MemoryKind::kUpload));
  VXLA_ASSIGN_OR_RETURN(const auto words, tools.allocator->Allocate(answer_bytes, MemoryKind::kReadback));
  std::memcpy(input->mapped(), data.data(), data.size());
  std::memset(words->mapped(), 0, answer.size());
  VXLA_ASSIGN_OR_RETURN(const auto commands, VulkanCommandBuffer::Create(tools.context, 0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  const BufferRange in = {input.get(), 0, data_bytes}, ranges[] = {in, {words.get(), 0, answer_bytes}};
  const std::span<const BufferRange> tensors = probe.is_kernel ? std::span(ranges) : std::span(ranges).subspan(1);
  VXLA_RETURN_IF_ERROR(commands->Dispatch(*kernel, in, tensors, {probe.groups, 1, 1}));
  VXLA_RETURN_IF_ERROR(commands->End());
  VXLA_ASSIGN_OR_RETURN(const TimePoint done, tools.queues.Submit(0, commands->handle(), {}));
  VXLA_RETURN_IF_ERROR(tools.queues.Wait(done));
  std::memcpy(answer.data(), words->mapped(), answer.size());
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
