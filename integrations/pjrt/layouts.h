// Layouts as the plugin's programs tell them.
#pragma once

#include <memory>

#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {

// An order of an array's dimensions, from the fastest on. Memory is row-major whatever it says: an array keeps the
// order that it was given, so that programs and arrays go together as JAX has them, and its elements are read by index.
std::unique_ptr<PJRT_Layouts_MemoryLayout> MakeLayout(const std::vector<int64_t>& minor_to_major);
// What a program says of an argument or a result of so many dimensions: "{0,1}", or nothing ("", "default", "auto":
// Compile chooses), which is row-major. kInvalidArgument: no order; kUnsupported: tiles.
Result<std::vector<int64_t>> OrderOf(std::string_view text, int rank);

}  // namespace VXLA_NAMESPACE::pjrt
