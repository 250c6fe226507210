#include "scheduler/liveness.h"

#include <algorithm>

namespace vxla {

Status ComputeLiveness(StepGraph& graph) {
  Plan& plan = graph.plan;
  for (PlanBuffer& buffer : plan.buffers) buffer.first_use = buffer.last_use = -1;
  const int count = static_cast<int>(graph.operations.size());
  for (int i = 0; i < count; ++i) {
    for (const Binding& use : graph.operations[i].uses) {
      PlanBuffer& buffer = plan.buffers.at(use.slice.buffer);
      if (buffer.first_use < 0) {
        if (use.access == Access::kRead && buffer.placement.space == MemorySpace::kScratch && use.slice.size_bytes > 0) {
          return Internal("plan: operation {} reads {} before anything has written it", i, buffer.name);
        }
        buffer.first_use = i;
      }
      buffer.last_use = i;
    }
  }
  for (const PlanResult& result : plan.results) {
    PlanBuffer& buffer = plan.buffers[result.buffer];
    if (buffer.first_use >= 0) buffer.last_use = std::max(count - 1, 0);
  }
  return OkStatus();
}

}  // namespace vxla
