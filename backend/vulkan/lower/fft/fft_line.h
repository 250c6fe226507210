// The kernel of a Fourier transform whose lines a subgroup each holds: shaders/fft/subgroup_line.comp.
#pragma once

#include <string>

#include "backend/vulkan/lower/fft/fft_plan.h"

namespace VXLA_NAMESPACE::vulkan {

Step WriteFftLines(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                   const BufferSlice& from, const BufferSlice& into, const BufferSlice& tables);

}  // namespace VXLA_NAMESPACE::vulkan
