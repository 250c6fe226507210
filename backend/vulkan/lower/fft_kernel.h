// The kernels of a Fourier transform's passes.
#pragma once

#include <string>

#include "backend/vulkan/lower/fft_plan.h"

namespace VXLA_NAMESPACE::vulkan {

// What a pass reads and writes. `held`: the value in the place of what is read, where that is one element in a
// register.
struct FftSlices {
  BufferSlice from, into, tables;
  std::string held = {};
};

// One pass as a kernel of its own.
Step WriteFftPass(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                  const FftSlices& slices);

// Statements that make unit `u` of a pass without stages, for a kernel that has others.
std::string FftUnitText(KernelBuilder& kernel, const FftPlan& plan, const FftJob& job, const FftSlices& slices);

}  // namespace VXLA_NAMESPACE::vulkan
