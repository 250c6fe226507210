// The passes over a kernel's code, in their order.
#pragma once

#include "backend/device_facts.h"
#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. The same values, in text that the device is faster with.
Code RunPasses(Code code, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
