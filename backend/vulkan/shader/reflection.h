// Reflection: checks a module's interface against what the host will bind, through SPIRV-Cross.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// What a module asks of its host; plain data.
struct ModuleInterface {
  struct StorageBuffer {
    uint32_t set = 0, binding = 0;
    std::string name;
  };
  uint32_t push_constant_blocks = 0;
  uint64_t push_constant_bytes = 0;
  uint64_t argument_block_bytes = 0;  // of the struct behind the pushed address, or of binding 0; 0: there is none
  std::vector<StorageBuffer> storage_buffers;
  std::vector<std::string> other_resources;          // uniform buffers, images, samplers: nothing that we bind
  std::vector<uint32_t> specialization_ids;          // ascending
  std::array<int64_t, 3> workgroup_ids{-1, -1, -1};  // the specialisation constant of each axis; -1: a literal
  std::array<uint32_t, 3> workgroup_size{1, 1, 1};   // where it is a literal
};

Result<ModuleInterface> ReflectModule(const std::vector<uint32_t>& spirv, const std::string& name);

// Pure. kInternal with both sides if the host's struct and the module differ.
Status CheckInterface(const ModuleInterface& module, const KernelKey& key, BindingMode mode);

}  // namespace VXLA_NAMESPACE::vulkan
