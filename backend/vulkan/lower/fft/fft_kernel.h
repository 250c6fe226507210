// The kernels of a Fourier transform's passes.
#pragma once

#include <string>

#include "backend/vulkan/lower/fft/fft_plan.h"

namespace VXLA_NAMESPACE::vulkan {

// What a pass reads and writes. `held`: the value in the place of what is read, where that is one element in a
// register. `lines`: so many of the job's are of one array; between arrays lie so many other elements. 0: of all.
struct FftSlices {
  BufferSlice from, into, tables;
  std::string held = {};
  int64_t lines = 0, between_in = 0, between_out = 0;
};

// One pass as a kernel of its own.
Step WriteFftPass(const LowerContext& context, const FftPlan& plan, const FftJob& job, const std::string& name,
                  const FftSlices& slices);

// Statements that make unit `u` of a pass without stages, for a kernel that has others.
Code FftUnitText(KernelBuilder& kernel, const FftPlan& plan, const FftJob& job, const FftSlices& slices);

}  // namespace VXLA_NAMESPACE::vulkan
