#include "backend/vulkan/lower/bench_kernels.h"

namespace vxla::vulkan {

std::vector<BenchKernel> BenchKernels(const std::string&, const DeviceFacts&) { return {}; }

}  // namespace vxla::vulkan
