#include "backend/vulkan/device/probes/probe.h"

#include <cstring>

#include "backend/vulkan/device/commands/command_buffer.h"
#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr const char* kNames[] = {"quirks", "division", "matrices"};

Result<std::shared_ptr<VulkanKernel>> BuildProbe(const ProbeTools& tools, const ProbeSubject& of, const ProbeRun& run) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> spirv, tools.modules.get(of, tools.context->facts()));
  KernelKey key;
  key.algorithm = fmt::format("probe/{}", kNames[of.kind]);
  key.buffer_count = run.is_kernel ? 2 : 1;
  if (run.lanes != 0) {
    key.constants = {run.lanes, 1, 1};
    key.small_subgroups = true;
  }
  PipelineRequest request;
  request.mode = BindingMode::kDescriptors;  // every device has them
  request.key = &key;
  request.spirv = &spirv;
  return MakeKernel(tools.context, tools.layouts, request);
}

}  // namespace

std::string ProbeKey(const ProbeTools& tools, const ProbeSubject& of, int version) {
  const DeviceFacts& facts = tools.context->facts();
  return fmt::format("{}|{}|{}|{}", kNames[of.kind], version, DeviceIdentity(facts), tools.modules.identity(of, facts));
}

Status RunProbe(const ProbeTools& tools, const ProbeSubject& of, const ProbeRun& run, std::span<const uint32_t> data,
                std::span<uint32_t> answer) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<VulkanKernel> kernel, BuildProbe(tools, of, run));
  const auto data_bytes = static_cast<int64_t>(data.size_bytes()),
             answer_bytes = static_cast<int64_t>(answer.size_bytes());
  VXLA_ASSIGN_OR_RETURN(const auto input, tools.allocator->Allocate(data_bytes, MemoryKind::kUpload));
  VXLA_ASSIGN_OR_RETURN(const auto words, tools.allocator->Allocate(answer_bytes, MemoryKind::kReadback));
  std::memcpy(input->mapped(), data.data(), data.size_bytes());
  std::memset(words->mapped(), 0, answer.size_bytes());
  VXLA_ASSIGN_OR_RETURN(const auto commands, VulkanCommandBuffer::Create(tools.context, 0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  const BufferRange in = {input.get(), 0, data_bytes}, ranges[] = {in, {words.get(), 0, answer_bytes}};
  const std::span<const BufferRange> tensors = run.is_kernel ? std::span(ranges) : std::span(ranges).subspan(1);
  VXLA_RETURN_IF_ERROR(commands->Dispatch(*kernel, in, tensors, {run.groups, 1, 1}));
  VXLA_RETURN_IF_ERROR(commands->End());
  VXLA_ASSIGN_OR_RETURN(const TimePoint done, tools.queues.Submit(0, commands->handle(), {}));
  VXLA_RETURN_IF_ERROR(tools.queues.Wait(done));
  std::memcpy(answer.data(), words->mapped(), answer.size_bytes());
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
