// Which values have the same bits on every device.
#pragma once

#include <unordered_set>

#include "core/passes/fuse/fusion_description.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. What those results of a fusion are made of, themselves included, that every device has the same bits of. Others
// hold a product or a sum of floats, whose order is a device's own (docs/reference/numerics.md): what reaches results
// through these alone may be computed by the functions that suit the device.
std::unordered_set<const Instruction*> ValuesOfCommonBits(const FusionDescription& body);

}  // namespace VXLA_NAMESPACE::vulkan
