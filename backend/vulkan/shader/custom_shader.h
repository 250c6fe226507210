// Custom shaders: the user's kernels as keys, texts and modules (docs/guides/custom_calls.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// Whether the key is a user's kernel.
inline bool IsCustomShader(const KernelKey& key) { return !key.user_file.empty(); }
// The words of a module that lies in a string; empty where it holds no whole words.
std::vector<uint32_t> ModuleWords(std::string_view bytes);
std::string ModuleBytes(const std::vector<uint32_t>& words);

// kUnsupported where the module asks for what is not enabled on the device.
Status CheckCapabilities(const std::vector<uint32_t>& words, const std::string& name, const DeviceFacts& facts);
// kInvalidArgument where a module that was compiled before is not what its pipeline's layout is made for: a compute
// shader named main, with descriptors of set 0 alone, the argument block's and the buffers', or under addresses with
// none; push constants under addresses and where it is dispatched in parts.
Status CheckLayout(const std::vector<uint32_t>& words, const std::string& name, const KernelKey& key, BindingMode mode);

}  // namespace VXLA_NAMESPACE::vulkan
