#include "backend/vulkan/lower/tuning.h"

#include <algorithm>

namespace vxla::vulkan {
namespace {

LoopTuning TuneSoftwareLoop(int64_t element_count) {
  // An invocation costs far more than a loop step, so each takes many elements; small tensors stay in one small group.
  if (element_count <= 64) return {64, 1};
  if (element_count <= 4096) return {256, 4};
  return {1024, 16};
}

LoopTuning TuneGpuLoop(int64_t element_count) {
  // Enough invocations to hide memory latency come first; then a few elements each spare index arithmetic.
  return {256, element_count >= int64_t{1} << 20 ? 4u : 1u};
}

}  // namespace

LoopTuning TuneLoop(const DeviceFacts& facts, int64_t element_count) {
  LoopTuning tuning = facts.is_software() ? TuneSoftwareLoop(element_count) : TuneGpuLoop(element_count);
  const uint32_t limit = std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
  while (tuning.workgroup_size > limit) tuning.workgroup_size /= 2;
  return tuning;
}

std::array<uint32_t, 3> GroupGrid(const DeviceFacts& facts, int64_t count) {
  const int64_t most = facts.max_group_count[0];
  const int64_t rows = (count + most - 1) / most;
  return {static_cast<uint32_t>((count + rows - 1) / std::max<int64_t>(rows, 1)), static_cast<uint32_t>(rows), 1};
}

}  // namespace vxla::vulkan
