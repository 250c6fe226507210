// In which order a plan adds up, for evaluators that follow it.
#pragma once

#include <string>
#include <unordered_map>

#include "core/numerics/accumulation_order.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Of each reduce, reduce-window and dot that the plan's kernels compute, by path (PathOf).
inline std::unordered_map<std::string, AccumulationOrder> OrdersOf(const Plan& plan) {
  std::unordered_map<std::string, AccumulationOrder> orders;
  for (const Step& step : plan.steps) {
    for (const StepAccumulation& accumulation : step.accumulations) {
      for (const std::string& name : accumulation.of) orders[name].push_back(accumulation.level);
    }
  }
  return orders;
}

}  // namespace VXLA_NAMESPACE
