#include "backend/vulkan/shader/reflection.h"

#include <spirv_cross/spirv_cross_c.h>

#include <algorithm>
#include <memory>

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct DestroyContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};
using Context = std::unique_ptr<spvc_context_s, DestroyContext>;

Status Failed(spvc_context context, const std::string& name) {
  const char* why = spvc_context_get_last_error_string(context);
  return Internal("kernel {}: SPIRV-Cross cannot read the module: {}", name, why == nullptr ? "?" : why);
}

#define VXLA_SPVC(CALL) \
  if ((CALL) != SPVC_SUCCESS) return Failed(context, name)

Status ReadPushConstants(spvc_context context, spvc_compiler compiler, spvc_resources resources,
                         const std::string& name, ModuleInterface& module) {
  const spvc_reflected_resource* list = nullptr;
  size_t count = 0;
  VXLA_SPVC(spvc_resources_get_resource_list_for_type(resources, SPVC_RESOURCE_TYPE_PUSH_CONSTANT, &list, &count));
  module.push_constant_blocks = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    size_t size = 0;
    spvc_type type = spvc_compiler_get_type_handle(compiler, list[i].base_type_id);
    VXLA_SPVC(spvc_compiler_get_declared_struct_size(compiler, type, &size));
    module.push_constant_bytes += size;
    if (spvc_type_get_num_member_types(type) == 0) continue;
    // A pushed buffer reference: a pointer, whose base type is the struct that it points to.
    spvc_type member = spvc_compiler_get_type_handle(compiler, spvc_type_get_member_type(type, 0));
    if (spvc_type_get_storage_class(member) != SpvStorageClassPhysicalStorageBuffer) continue;
    spvc_type block = spvc_compiler_get_type_handle(compiler, spvc_type_get_base_type_id(member));
    VXLA_SPVC(spvc_compiler_get_declared_struct_size(compiler, block, &size));
    module.argument_block_bytes = size;
  }
  return OkStatus();
}

Status ReadBuffers(spvc_context context, spvc_compiler compiler, spvc_resources resources, const std::string& name,
                   ModuleInterface& module) {
  const spvc_reflected_resource* list = nullptr;
  size_t count = 0;
  VXLA_SPVC(spvc_resources_get_resource_list_for_type(resources, SPVC_RESOURCE_TYPE_STORAGE_BUFFER, &list, &count));
  for (size_t i = 0; i < count; ++i) {
    ModuleInterface::StorageBuffer buffer;
    buffer.set = spvc_compiler_get_decoration(compiler, list[i].id, SpvDecorationDescriptorSet);
    buffer.binding = spvc_compiler_get_decoration(compiler, list[i].id, SpvDecorationBinding);
    buffer.name = list[i].name;
    if (buffer.set == 0 && buffer.binding == 0) {
      size_t size = 0;
      spvc_type block = spvc_compiler_get_type_handle(compiler, list[i].base_type_id);
      VXLA_SPVC(spvc_compiler_get_declared_struct_size(compiler, block, &size));
      module.argument_block_bytes = size;
    }
    module.storage_buffers.push_back(buffer);
  }
  for (spvc_resource_type type :
       {SPVC_RESOURCE_TYPE_UNIFORM_BUFFER, SPVC_RESOURCE_TYPE_STORAGE_IMAGE, SPVC_RESOURCE_TYPE_SAMPLED_IMAGE,
        SPVC_RESOURCE_TYPE_SEPARATE_IMAGE, SPVC_RESOURCE_TYPE_SEPARATE_SAMPLERS, SPVC_RESOURCE_TYPE_ATOMIC_COUNTER,
        SPVC_RESOURCE_TYPE_ACCELERATION_STRUCTURE}) {
    VXLA_SPVC(spvc_resources_get_resource_list_for_type(resources, type, &list, &count));
    for (size_t i = 0; i < count; ++i) module.other_resources.emplace_back(list[i].name);
  }
  return OkStatus();
}

Status ReadConstants(spvc_context context, spvc_compiler compiler, const std::string& name, ModuleInterface& module) {
  const spvc_specialization_constant* list = nullptr;
  size_t count = 0;
  VXLA_SPVC(spvc_compiler_get_specialization_constants(compiler, &list, &count));
  for (size_t i = 0; i < count; ++i) module.specialization_ids.push_back(list[i].constant_id);
  // glslang declares the workgroup size twice: as LocalSizeId and as gl_WorkGroupSize.
  auto& ids = module.specialization_ids;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  spvc_specialization_constant axes[3] = {};
  spvc_compiler_get_work_group_size_specialization_constants(compiler, &axes[0], &axes[1], &axes[2]);
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (axes[axis].id != 0) {
      module.workgroup_ids[axis] = axes[axis].constant_id;
    } else {
      module.workgroup_size[axis] =
          spvc_compiler_get_execution_mode_argument_by_index(compiler, SpvExecutionModeLocalSize, axis);
    }
  }
  return OkStatus();
}

#undef VXLA_SPVC

std::string JoinIds(const std::vector<uint32_t>& ids) {
  std::string text;
  for (uint32_t id : ids) text += fmt::format("{}{}", text.empty() ? "" : ",", id);
  return text.empty() ? "none" : text;
}

Status CheckBuffers(const ModuleInterface& module, const KernelKey& key) {
  std::vector<bool> seen(key.buffer_count + 1, false);
  for (const ModuleInterface::StorageBuffer& buffer : module.storage_buffers) {
    if (buffer.set != 0 || buffer.binding > key.buffer_count) {
      return Internal("kernel {}: its storage buffer {} is set {} binding {}, the host binds set 0 bindings 0 to {}",
                      key.algorithm, buffer.name, buffer.set, buffer.binding, key.buffer_count);
    }
    seen[buffer.binding] = true;
  }
  const auto is_array = [&](uint32_t binding) { return binding == 1 || binding == key.written_array + 1; };
  for (uint32_t binding = 0; binding < seen.size(); ++binding) {
    if (key.written_array > 0 && binding > 0 && !is_array(binding)) continue;
    // The argument block may be missing from a kernel without parameters: it holds only addresses then.
    if (seen[binding] || (binding == 0 && key.param_count == 0)) continue;
    return Internal("kernel {}: it declares no storage buffer at binding {}, the host binds {} buffers", key.algorithm,
                    binding, seen.size());
  }
  return OkStatus();
}

// The block is the host's struct of backend/step.h: an address per tensor, then the parameters.
Status CheckArgumentBlock(const ModuleInterface& module, const KernelKey& key) {
  const uint64_t expected = uint64_t{8} * key.buffer_count + uint64_t{4} * key.param_count;
  if (expected == 0 || module.argument_block_bytes == 0 || module.argument_block_bytes == expected) return OkStatus();
  return Internal("kernel {}: the module's argument block has {} bytes, the host's {} ({} addresses and {} parameters)",
                  key.algorithm, module.argument_block_bytes, expected, key.buffer_count, key.param_count);
}

Status CheckConstants(const ModuleInterface& module, const KernelKey& key) {
  for (int axis = 0; axis < 3; ++axis) {
    if (module.workgroup_ids[axis] != axis && !key.constants.empty()) {
      return Internal(
          "kernel {}: the workgroup size along {} is specialisation constant {} in the module, {} on the host",
          key.algorithm, "xyz"[axis], module.workgroup_ids[axis], axis);
    }
  }
  for (uint32_t id : module.specialization_ids) {
    if (id < key.constants.size()) continue;
    return Internal("kernel {}: the module has specialisation constants {}, the host gives {} values", key.algorithm,
                    JoinIds(module.specialization_ids), key.constants.size());
  }
  const auto& ids = module.specialization_ids;
  for (uint32_t id = 0; id < key.constants.size(); ++id) {
    if (std::binary_search(ids.begin(), ids.end(), id)) continue;
    return Internal("kernel {}: the host gives a value for specialisation constant {}, the module has {}",
                    key.algorithm, id, JoinIds(ids));
  }
  return OkStatus();
}

}  // namespace

Result<ModuleInterface> ReflectModule(const std::vector<uint32_t>& spirv, const std::string& name) {
  spvc_context raw = nullptr;
  if (spvc_context_create(&raw) != SPVC_SUCCESS) return ResourceExhausted("kernel {}: no memory for reflection", name);
  const Context owner(raw);
  spvc_context context = raw;
  spvc_parsed_ir ir = nullptr;
  spvc_compiler compiler = nullptr;
  spvc_resources resources = nullptr;
  if (spvc_context_parse_spirv(context, spirv.data(), spirv.size(), &ir) != SPVC_SUCCESS ||
      spvc_context_create_compiler(context, SPVC_BACKEND_NONE, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler) !=
          SPVC_SUCCESS ||
      spvc_compiler_create_shader_resources(compiler, &resources) != SPVC_SUCCESS) {
    return Failed(context, name);
  }
  ModuleInterface module;
  VXLA_RETURN_IF_ERROR(ReadPushConstants(context, compiler, resources, name, module));
  VXLA_RETURN_IF_ERROR(ReadBuffers(context, compiler, resources, name, module));
  VXLA_RETURN_IF_ERROR(ReadConstants(context, compiler, name, module));
  return module;
}

Status CheckInterface(const ModuleInterface& module, const KernelKey& key, BindingMode mode) {
  if (!module.other_resources.empty()) {
    return Internal("kernel {}: the module uses {}, which the host never binds", key.algorithm,
                    module.other_resources.front());
  }
  const uint64_t pushed = (mode == BindingMode::kAddresses ? 8 : 0) + (key.in_parts ? 4 : 0);
  if (module.push_constant_bytes != pushed || module.push_constant_blocks != (pushed > 0 ? 1 : 0)) {
    return Internal("kernel {}: the module has {} push constant blocks of {} bytes, the host pushes {}", key.algorithm,
                    module.push_constant_blocks, module.push_constant_bytes, pushed);
  }
  if (mode == BindingMode::kAddresses) {
    if (!module.storage_buffers.empty()) {
      return Internal("kernel {}: the module has {} storage buffer bindings ({}), the host binds none under addresses",
                      key.algorithm, module.storage_buffers.size(), module.storage_buffers.front().name);
    }
  } else {
    VXLA_RETURN_IF_ERROR(CheckBuffers(module, key));
  }
  VXLA_RETURN_IF_ERROR(CheckArgumentBlock(module, key));
  return CheckConstants(module, key);
}

}  // namespace VXLA_NAMESPACE::vulkan
