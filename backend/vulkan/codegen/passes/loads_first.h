// Loads are issued before what is calculated meanwhile.
#pragma once

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. Where locals are declared one after the other, loads and what leads to their places come before what is
// calculated meanwhile. So a load does not begin only when the functions before it have ended, which compilers that
// keep the order of the text make it do. Of loads that come forward, 32 words are on their way at once: each has a
// register from there on. The same values: declarations alone change places.
Code LoadsFirst(Code code);

}  // namespace VXLA_NAMESPACE::vulkan
