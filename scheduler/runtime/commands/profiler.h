// Profiler: what each step of a run took, from the device's timestamps.
#pragma once

#include <span>
#include <vector>

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Timestamps that a profiled segment needs: one before its first dispatch and one after each.
int TimestampCount(const GpuCommands& segment);
// One for each step of the plan, nothing having run.
std::vector<StepTime> StepTimesOf(const Plan& plan);
// One run of a segment.
struct SegmentTimes {
  std::span<const double> timestamps_ns;
  double end_ms = 0;               // the last of them on the host's clock
  std::span<const double> shares;  // how much of its workgroups each dispatch ran: less than 1 where the device counts
};
// Adds it to the statistics.
void AddStepTimes(const Plan& plan, const GpuCommands& segment, const SegmentTimes& times, RunStatistics& statistics);

}  // namespace VXLA_NAMESPACE
