#include "scheduler/queue_assignment.h"

namespace vxla {

void AssignQueues(StepGraph& graph) {
  std::vector<Segment>& segments = graph.plan.segments;
  segments.clear();
  for (const Operation& operation : graph.operations) {
    if (const auto* evaluation = std::get_if<HostEvaluate>(&operation.action)) {
      segments.push_back(*evaluation);
      continue;
    }
    if (segments.empty() || !std::holds_alternative<GpuCommands>(segments.back())) segments.push_back(GpuCommands{});
    std::vector<GpuCommand>& commands = std::get<GpuCommands>(segments.back()).commands;
    if (const auto* dispatch = std::get_if<Dispatch>(&operation.action)) commands.push_back(*dispatch);
    if (const auto* copy = std::get_if<CopyBytes>(&operation.action)) commands.push_back(*copy);
  }
}

}  // namespace vxla
