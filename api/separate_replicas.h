// Programs whose devices run by themselves (scheduler/runtime/programs/apart.h), with the reference for what their host
// does.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"
#include "scheduler/runtime/programs/apart.h"

namespace VXLA_NAMESPACE {

// places: the devices of the places; null: the reference. The assignment's numbers are of the places. `evaluate`:
// custom calls, feeds, seed, and how long a device waits for others.
Result<std::unique_ptr<DevicesApart>> CompileApart(const Module& module, const DeviceAssignment& assignment,
                                                   const std::vector<std::shared_ptr<Device>>& places,
                                                   const EvaluateOptions& evaluate, const CompileOptions& options);
// Place N is process N of a job: this one compiles and runs its own place, on `device`. The group outlives the program.
Result<std::unique_ptr<DevicesApart>> CompileApartInJob(const Module& module, const DeviceAssignment& assignment,
                                                        const std::shared_ptr<Device>& device, ProcessGroup& group,
                                                        const JobWaits& waits, const EvaluateOptions& evaluate,
                                                        const CompileOptions& options);

}  // namespace VXLA_NAMESPACE
