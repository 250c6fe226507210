#include "scheduler/profiler.h"

#include "core/check.h"

namespace vxla {

int TimestampCount(const GpuCommands& segment) {
  int count = 1;
  for (const GpuCommand& command : segment.commands) count += std::holds_alternative<Dispatch>(command);
  return count;
}

void AppendStepTimes(const Plan& plan, const GpuCommands& segment, std::span<const double> timestamps_ns,
                     std::vector<StepTime>& times) {
  VXLA_CHECK(static_cast<int>(timestamps_ns.size()) == TimestampCount(segment), "timestamps of a segment");
  size_t next = 1;
  for (const GpuCommand& command : segment.commands) {
    const auto* dispatch = std::get_if<Dispatch>(&command);
    if (dispatch == nullptr) continue;
    const Step& step = plan.steps[dispatch->step];
    StepTime time;
    time.name = step.name;
    time.kernel = step.kernel.algorithm;
    time.ms = (timestamps_ns[next] - timestamps_ns[next - 1]) * 1e-6;
    time.flop = step.flop;
    for (const Binding& binding : step.bindings) {
      time.bytes += binding.slice.size_bytes * (binding.access == Access::kReadWrite ? 2 : 1);
    }
    times.push_back(std::move(time));
    ++next;
  }
}

}  // namespace vxla
