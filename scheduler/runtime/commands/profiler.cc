#include "scheduler/runtime/commands/profiler.h"

#include <cmath>

#include "core/check.h"

namespace VXLA_NAMESPACE {

int TimestampCount(const GpuCommands& segment) {
  return 1 + static_cast<int>(std::ranges::distance(Only<Dispatch>(segment.commands)));
}

std::vector<StepTime> StepTimesOf(const Plan& plan) {
  std::vector<StepTime> times(plan.steps.size());
  for (size_t i = 0; i < times.size(); ++i) {
    times[i].name = plan.steps[i].name;
    times[i].kernel = plan.steps[i].kernel.algorithm;
  }
  return times;
}

void AddStepTimes(const Plan& plan, const GpuCommands& segment, const SegmentTimes& times, RunStatistics& statistics) {
  const std::span<const double> stamps = times.timestamps_ns;
  VXLA_CHECK(static_cast<int>(stamps.size()) == TimestampCount(segment), "timestamps of a segment");
  VXLA_CHECK(times.shares.size() + 1 == stamps.size(), "shares of a segment's dispatches");
  const auto at = [&](size_t k) { return times.end_ms - (stamps.back() - stamps[k]) * 1e-6; };
  size_t next = 1;
  for (const Dispatch& dispatch : Only<Dispatch>(segment.commands)) {
    const Step& step = plan.steps[dispatch.step];
    StepTime& time = statistics.steps.at(dispatch.step);
    if (dispatch.part == 0) ++time.runs;
    time.ms += (stamps[next] - stamps[next - 1]) * 1e-6;
    statistics.spans.push_back({static_cast<int64_t>(dispatch.step), {}, at(next - 1), at(next)});
    const double share = times.shares[next - 1] / dispatch.parts;
    time.flop += std::llround(share * static_cast<double>(step.flop));
    time.bytes += std::llround(share * static_cast<double>(step.MovedBytes()));
    ++next;
  }
}

}  // namespace VXLA_NAMESPACE
