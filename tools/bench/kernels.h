// Hand-written kernels that `vxla bench` measures our generated ones against: a sweep per case, to find the best that
// this driver can do.
#pragma once

#include <string>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"

namespace VXLA_NAMESPACE::vulkan {

struct BenchKernel {
  std::string name;  // "workgroup 512, 16 elements each"
  std::vector<Step>
      steps;  // run in order, a barrier after each; bindings refer to buffers 0, 1 ... of as many bytes as bound
};

// The case whose kernel does nothing but f32 multiplications and additions.
inline constexpr char kArithmeticPeak[] = "arithmetic_peak";

// The sweep of a case of tools/bench/cases.h ("add", "sum", "dot_512", "dot_1024", "exp_vs_builtin" and the like:
// the driver's own function); empty for a case that has none.
// Pure.
std::vector<BenchKernel> BenchKernels(const std::string& case_name, const DeviceFacts& facts);

// Copies of f32, of at least as many bytes, from buffer 0 to buffer 1.
std::vector<BenchKernel> CopySweep(const DeviceFacts& facts, int64_t bytes);
// The same by one kernel whose invocations take 16 bytes each, side by side.
BenchKernel CopyKernel(const DeviceFacts& facts, int64_t bytes);

}  // namespace VXLA_NAMESPACE::vulkan
