// PlanCost: what a run takes of memory and work, as far as its plan says it.
#pragma once

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

struct PlanCost {
  int64_t flop = 0, bytes = 0;  // computed; read and written, at most
  // Memory: of arguments and results, of what a result shares with the argument that is donated to it, of the plan's
  // own.
  int64_t argument_bytes = 0, result_bytes = 0, alias_bytes = 0, scratch_bytes = 0, constant_bytes = 0;
  int64_t kernels = 0;
};

// Each step once, as if loops ran for one iteration and all branches were taken.
PlanCost CostOf(const Plan& plan);

}  // namespace VXLA_NAMESPACE
