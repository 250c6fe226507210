// Opens the Vulkan loader at run time; the one file that knows the platform's dynamic linker.
#pragma once

#include <string>

#include "backend/vulkan/device/api/functions.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// `path`: a loader library to open instead of the platform's (tests); empty for the platform's. The library stays open
// for the life of the process: drivers keep threads and exit handlers that outlive their instance.
Result<GlobalTable> OpenLoader(const std::string& path);

}  // namespace VXLA_NAMESPACE::vulkan
