// Layouts as the plugin's programs tell them.
#pragma once

#include <memory>

#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {

// Row-major, the only one there is.
std::unique_ptr<PJRT_Layouts_MemoryLayout> MakeLayout(size_t rank);

}  // namespace VXLA_NAMESPACE::pjrt
