#include "backend/vulkan/device/handles/kernel.h"

#include <chrono>

#include "backend/vulkan/spirv/shared_memory.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {

KernelLayouts::~KernelLayouts() {
  for (auto& [count, layout] : layouts_) {
    context_->Destroy(context_->vk().DestroyPipelineLayout, layout.pipeline);
    context_->Destroy(context_->vk().DestroyDescriptorSetLayout, layout.set);
  }
}

Result<KernelLayout> KernelLayouts::Get(BindingMode mode, uint32_t buffer_count, uint32_t written_array) {
  const std::pair<int64_t, uint32_t> slot = {mode == BindingMode::kAddresses ? -1 : static_cast<int64_t>(buffer_count),
                                             written_array};
  std::lock_guard lock(mutex_);
  if (const auto it = layouts_.find(slot); it != layouts_.end()) return it->second;
  VXLA_ASSIGN_OR_RETURN(const KernelLayout layout, Make(mode, buffer_count, written_array));
  layouts_[slot] = layout;
  return layout;
}

Result<KernelLayout> KernelLayouts::Make(BindingMode mode, uint32_t buffer_count, uint32_t written_array) {
  const DeviceTable& vk = context_->vk();
  KernelLayout layout;
  auto info = MakeVk<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  const uint32_t address_bytes = mode == BindingMode::kAddresses ? kAddressBytes : 0;
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, address_bytes + kFirstGroupBytes};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  if (mode == BindingMode::kDescriptors) {
    const uint32_t count = buffer_count + 1;  // the argument block is binding 0
    if (count > context_->facts().max_storage_buffers) {
      return Unsupported(
          "a kernel of {} buffers and its argument block exceeds the limit of {}: {} storage buffers "
          "(--bindings=addresses has none)",
          buffer_count, context_->facts().name, context_->facts().max_storage_buffers);
    }
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t i = 0, array = 1; i < count; i += array) {
      if (i > 0 && written_array > 0) array = i == 1 ? written_array : count - i;
      bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, array, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    auto set = MakeVk<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    layout.pushed = count <= context_->plan().most_pushed_descriptors;
    if (layout.pushed) set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    set.bindingCount = static_cast<uint32_t>(bindings.size());
    set.pBindings = bindings.data();
    VXLA_RETURN_IF_ERROR(context_->Make(vk.CreateDescriptorSetLayout, set, &layout.set, "vkCreateDescriptorSetLayout"));
    info.setLayoutCount = 1;
    info.pSetLayouts = &layout.set;
  }
  Status status = context_->Make(vk.CreatePipelineLayout, info, &layout.pipeline, "vkCreatePipelineLayout");
  if (!status.ok()) {
    context_->Destroy(vk.DestroyDescriptorSetLayout, layout.set);
    return status;
  }
  return layout;
}

VulkanKernel::~VulkanKernel() { context->Destroy(context->vk().DestroyPipeline, pipeline); }

namespace {

// What needs no certain size may still run best in the smallest: a wish, which a workgroup of too many does without.
// They need not be full, unless the kernel uses subgroups.
SubgroupRequest SmallSubgroups(const KernelKey& key, const DevicePlan& plan) {
  const uint32_t size = plan.smallest_subgroup_size;
  if (!key.small_subgroups || size == 0 || key.constants.size() < 3) return {};
  const uint64_t invocations = uint64_t{key.constants[0]} * key.constants[1] * key.constants[2];
  return invocations > uint64_t{size} * plan.max_workgroup_subgroups ? SubgroupRequest() : SubgroupRequest{false, size};
}

}  // namespace

Result<SubgroupRequest> RequestSubgroups(const std::vector<uint32_t>& spirv, const KernelKey& key,
                                         const DevicePlan& plan) {
  if (!spirv::Declares(spirv, spirv::CapabilityGroupNonUniform)) return SmallSubgroups(key, plan);
  const uint32_t smallest = key.small_subgroups ? plan.smallest_subgroup_size : 0;
  const uint32_t size = smallest != 0 ? smallest : plan.facts.subgroup_size;
  if (!plan.facts.subgroup_shuffle) {
    return Internal("kernel {}: it uses subgroups, {} has none that are full and of one size", key.algorithm,
                    plan.facts.name);
  }
  if (key.constants.size() < 3 || key.constants[0] % size != 0) {
    return Internal("kernel {}: it uses subgroups in workgroups of {} invocations along x, no multiple of {}'s {}",
                    key.algorithm, key.constants.empty() ? 1 : key.constants[0], plan.facts.name, size);
  }
  const uint64_t subgroups = uint64_t{key.constants[0]} * key.constants[1] * key.constants[2] / size;
  const uint32_t required = smallest != 0 ? smallest : plan.required_subgroup_size;
  if (required != 0 && subgroups > plan.max_workgroup_subgroups) {
    return Internal("kernel {}: a workgroup of {} subgroups, {} allows {}", key.algorithm, subgroups, plan.facts.name,
                    plan.max_workgroup_subgroups);
  }
  return SubgroupRequest{true, required};
}

Result<std::shared_ptr<VulkanKernel>> MakeKernel(std::shared_ptr<DeviceContext> context,
                                                 std::shared_ptr<KernelLayouts> layouts,
                                                 const PipelineRequest& request) {
  VXLA_RETURN_IF_ERROR(context->Alive());
  const KernelKey& key = *request.key;
  auto kernel = std::make_shared<VulkanKernel>(context, layouts);
  kernel->mode = request.mode;
  kernel->buffer_count = key.buffer_count;
  kernel->written_array = key.written_array;
  kernel->name = key.algorithm;
  kernel->in_parts = key.in_parts;
  VXLA_ASSIGN_OR_RETURN(kernel->layout, layouts->Get(request.mode, key.buffer_count, key.written_array));

  VXLA_ASSIGN_OR_RETURN(const SubgroupRequest subgroups, RequestSubgroups(*request.spirv, key, context->plan()));

  const DeviceTable& vk = context->vk();
  auto module_info = MakeVk<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = request.spirv->size() * sizeof(uint32_t);
  module_info.pCode = request.spirv->data();
  VkShaderModule module = VK_NULL_HANDLE;
  VXLA_RETURN_IF_ERROR(context->Make(vk.CreateShaderModule, module_info, &module,
                                     fmt::format("vkCreateShaderModule of {}", key.algorithm)));
  std::vector<VkSpecializationMapEntry> entries(key.constants.size());
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * 4, 4};
  VkSpecializationInfo constants = {static_cast<uint32_t>(entries.size()), entries.data(),
                                    entries.size() * sizeof(uint32_t), key.constants.data()};
  auto required_size = MakeVk<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
  required_size.requiredSubgroupSize = subgroups.size;
  auto info = MakeVk<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.flags = subgroups.full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0;
  info.stage.pNext = subgroups.size == 0 ? nullptr : &required_size;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = entries.empty() ? nullptr : &constants;
  info.layout = kernel->layout.pipeline;
  if (context->plan().capture_executables) {
    info.flags |=
        VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  }
  const auto start = std::chrono::steady_clock::now();
  const VkResult result =
      vk.CreateComputePipelines(context->handle(), request.cache, 1, &info, context->allocation(), &kernel->pipeline);
  kernel->driver_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  context->Destroy(vk.DestroyShaderModule, module);
  VXLA_RETURN_IF_ERROR(context->Check(result, fmt::format("vkCreateComputePipelines of {}", key.algorithm)));
  context->Name(VK_OBJECT_TYPE_PIPELINE, kernel->pipeline, "vxla " + key.algorithm);
  return kernel;
}

Status CheckWorkgroup(const KernelKey& key, const DeviceFacts& facts) {
  if (key.constants.size() < 3) return OkStatus();
  uint64_t product = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t size = key.constants[axis];
    if (size == 0 || size > facts.max_workgroup_size[axis]) {
      return Internal("kernel {}: workgroup size {} along {}, {} allows 1 to {}", key.algorithm, size, "xyz"[axis],
                      facts.name, facts.max_workgroup_size[axis]);
    }
    product *= size;
  }
  if (product <= facts.max_workgroup_invocations) return OkStatus();
  return Internal("kernel {}: a workgroup of {} invocations, {} allows {}", key.algorithm, product, facts.name,
                  facts.max_workgroup_invocations);
}

Status CheckShared(const std::vector<uint32_t>& spirv, const KernelKey& key, const DeviceFacts& facts) {
  const std::optional<uint64_t> bytes = spirv::SharedBytes(spirv, key.constants);
  if (!bytes || *bytes <= facts.max_shared_bytes) return OkStatus();
  return Internal("kernel {}: a workgroup of {} bytes of shared memory, {} allows {}", key.algorithm, *bytes,
                  facts.name, facts.max_shared_bytes);
}

}  // namespace VXLA_NAMESPACE::vulkan
