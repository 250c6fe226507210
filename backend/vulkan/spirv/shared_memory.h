// How much shared memory a workgroup of a module takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

// Bytes of its Workgroup variables, laid out as a storage buffer's members in their order, which is how Vulkan counts
// them (maxComputeSharedMemorySize), with these specialisation constants by number. None: a size is calculated in a way
// that is not known here.
std::optional<uint64_t> SharedBytes(const Words& words, std::span<const uint32_t> constants);

}  // namespace VXLA_NAMESPACE::vulkan::spirv
