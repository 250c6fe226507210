#include "backend/vulkan/device/probe.h"

#include <cstring>

#include "backend/vulkan/device/command_buffer.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/spirv/matrix_types.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Result<std::shared_ptr<VulkanKernel>> BuildProbe(const ProbeTools& tools, const Probe& probe) {
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> spirv,
                        CompileGlsl(probe.text, probe.name, {tools.context->facts().spirv_1_6}));
  spirv = WithMatrixComponents(spirv);
  KernelKey key;
  key.algorithm = probe.name;
  key.buffer_count = 1;
  if (probe.lanes != 0) {
    key.constants = {probe.lanes, 1, 1};
    key.small_subgroups = true;
  }
  PipelineRequest request;
  request.mode = BindingMode::kDescriptors;  // every device has them
  request.key = &key;
  request.spirv = &spirv;
  return MakeKernel(tools.context, tools.layouts, request);
}

}  // namespace

std::string ProbePrelude(const DeviceFacts& facts) {
  std::string text = "#version 460\n#extension GL_EXT_spirv_intrinsics : require\n";
  if (facts.float16) {
    text += "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n#define HAS_FLOAT16\n";
  }
  if (facts.float64) text += "#define HAS_FLOAT64\n";
  return text + FloatModes(facts, {facts.float16, facts.float64});
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
  const BufferRange out = {words.get(), 0, answer_bytes};
  VXLA_RETURN_IF_ERROR(
      commands->Dispatch(*kernel, {input.get(), 0, data_bytes}, std::span(&out, 1), {probe.groups, 1, 1}));
  VXLA_RETURN_IF_ERROR(commands->End());
  VXLA_ASSIGN_OR_RETURN(const TimePoint done, tools.queues.Submit(0, commands->handle(), {}));
  VXLA_RETURN_IF_ERROR(tools.queues.Wait(done));
  std::memcpy(answer.data(), words->mapped(), answer.size());
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
