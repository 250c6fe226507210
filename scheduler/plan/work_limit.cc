#include "scheduler/plan/work_limit.h"

#include <algorithm>
#include <cmath>

namespace VXLA_NAMESPACE {
namespace {

// Each part is a submission of its own; more of them would cost more than they prevent.
constexpr int kMostParts = 4096;
// A flop of a step may be a function call, and steps that count none still compute: so many operations per byte.
constexpr double kOperationsPerFlop = 4, kOperationsPerByte = 4;
// Measured on 64-bit types in words (docs/benchmarks/index.md: emulated_f64_add).
constexpr double kEmulation = 50;

// Kernels lay their workgroups along two axes at most.
size_t OutermostAxis(const Step& step) { return step.groups[1] == 1 ? 0 : 1; }

}  // namespace

double EstimateSeconds(const Step& step, const DeviceFacts& facts) {
  const auto bytes = static_cast<double>(step.MovedBytes());
  double operations = static_cast<double>(step.flop) * kOperationsPerFlop + bytes * kOperationsPerByte;
  if (step.traits.emulates) operations *= kEmulation;
  return operations / facts.flop_per_second + bytes / facts.bytes_per_second;
}

double EstimateCopySeconds(int64_t size_bytes, const DeviceFacts& facts) {
  return 2 * static_cast<double>(size_bytes) / facts.bytes_per_second;
}

int PartsWithinBudget(const Step& step, const DeviceFacts& facts) {
  if (facts.work_budget_seconds <= 0 || step.traits.indivisible) return 1;
  const double parts = std::ceil(EstimateSeconds(step, facts) / facts.work_budget_seconds);
  const double most = std::min<double>(step.groups[OutermostAxis(step)], kMostParts);
  return static_cast<int>(std::clamp(parts, 1.0, most));
}

GroupRange PartOf(const Step& step, int part, int parts) {
  GroupRange range{step.groups};
  const size_t axis = OutermostAxis(step);
  const auto bound = [&](int n) { return static_cast<uint32_t>(uint64_t{step.groups[axis]} * n / parts); };
  range.groups[axis] = bound(part + 1) - bound(part);
  range.first = bound(part) * (axis == 0 ? 1 : step.groups[0]);
  return range;
}

}  // namespace VXLA_NAMESPACE
