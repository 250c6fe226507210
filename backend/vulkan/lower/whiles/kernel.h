// Loops that one workgroup runs, or several that do not know of each other: a while, its condition and its body as one
// kernel (control_flow/loop.comp).
#pragma once

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// Unsupported with the reason where the loop does not suit a workgroup, or would be slower in one.
Result<LoopLowering> LowerLoopKernel(const LowerContext& context, const Instruction& loop, BufferMap& buffers,
                                     const std::function<Status(const Instruction&)>& can_lower);

}  // namespace VXLA_NAMESPACE::vulkan
