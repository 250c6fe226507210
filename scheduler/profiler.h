// Profiler: what each step of a run took, from the device's timestamps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduler/plan.h"

namespace VXLA_NAMESPACE {

// Timestamps that a profiled segment needs: one before its first dispatch and one after each.
int TimestampCount(const GpuCommands& segment);
// One for each step of the plan, nothing having run.
std::vector<StepTime> StepTimesOf(const Plan& plan);
// Adds one run of a segment's dispatches, given its timestamps in nanoseconds.
void AddStepTimes(const Plan& plan, const GpuCommands& segment, std::span<const double> timestamps_ns,
                  std::vector<StepTime>& times);

}  // namespace VXLA_NAMESPACE
