// The kernels of a Fourier transform's passes.
#pragma once

#include <string>

#include "backend/vulkan/lower/fft_plan.h"

namespace VXLA_NAMESPACE::vulkan {

// One pass from one array to another.
Step WriteFftPass(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                  const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables);

}  // namespace VXLA_NAMESPACE::vulkan
