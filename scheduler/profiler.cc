#include "scheduler/profiler.h"

#include "core/check.h"

namespace VXLA_NAMESPACE {

int TimestampCount(const GpuCommands& segment) {
  int count = 1;
  for (const GpuCommand& command : segment.commands) count += std::holds_alternative<Dispatch>(command);
  return count;
}

std::vector<StepTime> StepTimesOf(const Plan& plan) {
  std::vector<StepTime> times(plan.steps.size());
  for (size_t i = 0; i < times.size(); ++i) {
    times[i].name = plan.steps[i].name;
    times[i].kernel = plan.steps[i].kernel.algorithm;
  }
  return times;
}

void AddStepTimes(const Plan& plan, const GpuCommands& segment, std::span<const double> timestamps_ns, double end_ms,
                  RunStatistics& statistics) {
  VXLA_CHECK(static_cast<int>(timestamps_ns.size()) == TimestampCount(segment), "timestamps of a segment");
  const auto at = [&](size_t k) { return end_ms - (timestamps_ns.back() - timestamps_ns[k]) * 1e-6; };
  size_t next = 1;
  for (const GpuCommand& command : segment.commands) {
    const auto* dispatch = std::get_if<Dispatch>(&command);
    if (dispatch == nullptr) continue;
    const Step& step = plan.steps[dispatch->step];
    StepTime& time = statistics.steps.at(dispatch->step);
    ++time.runs;
    time.ms += (timestamps_ns[next] - timestamps_ns[next - 1]) * 1e-6;
    statistics.spans.push_back({static_cast<int64_t>(dispatch->step), {}, at(next - 1), at(next)});
    time.flop += step.flop;
    time.bytes += step.MovedBytes();
    ++next;
  }
}

}  // namespace VXLA_NAMESPACE
