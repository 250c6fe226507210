// Compile: from an optimised module to the plan that runs it. Pure: no device is touched.
#pragma once

#include "backend/device_facts.h"
#include "backend/lowering.h"
#include "core/ir/module.h"
#include "core/ir/target_info.h"
#include "core/status.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

struct PlanOptions {
  BindingMode bindings = BindingMode::kAddresses;
  bool require_gpu = false;  // DeviceFailure names the first instruction that would run on the host
  uint64_t seed = 0;         // of rng and rng-get-and-update-state
  bool loop_kernels = true;  // whiles that the device can run whole are one step
  bool predicates = true;    // loops and branches are decided on the device where it can
};

// `module` is what Optimize gave, though any verified module with the entry's calls in reach of lowering will do.
// Fusions that lowering fails on by an error of its own are taken apart in it (plan.faults).
Result<Plan> MakePlan(Module& module, const Lowering& lowering, const DeviceFacts& facts, const PlanOptions& options);

// What the passes need to know of a device.
TargetInfo TargetOf(const DeviceFacts& facts, BindingMode bindings, bool fusion);

}  // namespace VXLA_NAMESPACE
