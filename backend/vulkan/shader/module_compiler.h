// ModuleCompiler: from a kernel's text to the SPIR-V that a driver gets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "backend/vulkan/shader/shader_library.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// What a module is compiled for.
struct ModuleTarget {
  ModuleTarget(const DeviceFacts& facts, BindingMode bindings);
  bool spirv_1_6, flat, short_blocks;
  // Short sides of branches are computed and selected from, as not every GPU's compiler does itself. Bundles for any
  // device get that as they are written.
  bool selects;
  bool any_device;
  ShaderVariant variant;
  BindingMode mode;
  std::string ToString() const;  // as part of cache keys
};

// Empty in a library without the compiler: kernels are SPIR-V modules there.
struct ModuleCompiler {
  std::string identity;  // the compiler and its options, as part of cache keys
  // Thread-safe. A module that does not fit its key is an error.
  std::function<Result<std::vector<uint32_t>>(const KernelKey&, const std::string& text, const ModuleTarget&)> compile;
  // The module as it is written to files: Optimized (shader_compiler.h), or as it is.
  std::function<std::vector<uint32_t>(std::vector<uint32_t>, const KernelKey&, const ModuleTarget&)> optimize = nullptr;
};

// shaderc and the passes over its SPIR-V.
ModuleCompiler ShadercCompiler();

}  // namespace VXLA_NAMESPACE::vulkan
