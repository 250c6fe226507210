#include "scheduler/runtime/stats.h"

#include <numeric>

namespace VXLA_NAMESPACE {

PlanCost CostOf(const Plan& plan) {
  PlanCost cost;
  for (const Step& step : plan.steps) {
    cost.flop += step.flop;
    cost.bytes += step.MovedBytes();
  }
  for (const PlanParameter& parameter : plan.parameters) {
    cost.argument_bytes += parameter.shape.SizeBytes();
    if (parameter.donated_to >= 0) cost.alias_bytes += parameter.shape.SizeBytes();
  }
  for (const PlanResult& result : plan.results) cost.result_bytes += result.shape.SizeBytes();
  const auto sum = [](const auto& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); };
  cost.scratch_bytes = sum(plan.scratch_block_bytes);
  cost.constant_bytes = sum(plan.constant_block_bytes);
  cost.kernels = static_cast<int64_t>(plan.kernels.size());
  return cost;
}

}  // namespace VXLA_NAMESPACE
