// Gates and copies: what a plan needs so that the device decides about loops and branches (scheduler/plan/predication.h).
#pragma once

#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

bool CanLowerGates(const LowerContext& context);
Result<Step> LowerGates(const LowerContext& context, const GateRequest& request);
// Whole groups of 16 bytes.
Result<Step> LowerCopyLoop(const LowerContext& context, std::string name, const BufferSlice& source,
                           const BufferSlice& target);

}  // namespace VXLA_NAMESPACE::vulkan
