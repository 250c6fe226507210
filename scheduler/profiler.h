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
// Adds one run of a segment's dispatches to the statistics, given its timestamps in nanoseconds and when the last of
// them was on the host's clock.
void AddStepTimes(const Plan& plan, const GpuCommands& segment, std::span<const double> timestamps_ns, double end_ms,
                  RunStatistics& statistics);

}  // namespace VXLA_NAMESPACE
