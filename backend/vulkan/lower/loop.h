// Loops over elements (elementwise/fused_loop.comp), for kernels of several families.
#pragma once

#include <span>
#include <string>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

// Computes values of the body, of equally many elements, into places.
Step LowerLoop(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
               std::span<const Instruction* const> results, std::span<const BufferSlice> places);

// The step of a kernel that has its element(i), for i below P(0) = count / tuning.width.
Step FinishLoop(const LowerContext& context, KernelBuilder& kernel, const LoopTuning& tuning, int64_t count,
                std::string name);

}  // namespace VXLA_NAMESPACE::vulkan
