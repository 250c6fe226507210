// A bundle's kernels as files, for engines without Vulkan.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// Writes kernel_0, kernel_1 ... in `language` (hlsl, msl, spirv), constants.bin and program.json, which says what is
// bound where and in which order the kernels run (docs/guides/bundle.md), into a folder that is made. Of the variants
// the first one under descriptors, generic ones before others. kUnsupported: SPIRV-Cross cannot say a kernel.
Status ConvertKernels(std::span<const std::byte> file, const std::string& folder, const std::string& language);

}  // namespace VXLA_NAMESPACE
