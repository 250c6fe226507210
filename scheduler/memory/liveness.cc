#include "scheduler/memory/liveness.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

// What a loop finds in memory when it begins and uses, the next iteration uses again; only the loop's end ends its
// life.
void ExtendOverLoops(StepGraph& graph) {
  Plan& plan = graph.plan;
  const std::vector<DecisionPlaces> places = DecisionPlacesOf(graph);
  for (size_t d = 0; d < places.size(); ++d) {
    if (graph.decisions[d].kind != HostDecide::Kind::kWhile) continue;
    const int close = places[d].close;
    for (int i = places[d].open; i < close; ++i) {
      for (const Binding& use : graph.operations[i].uses) {
        PlanBuffer& buffer = plan.buffers.at(use.slice.buffer);
        const bool from_outside = buffer.first_use < places[d].open || buffer.placement.space != MemorySpace::kScratch;
        if (from_outside) buffer.last_use = std::max(buffer.last_use, close);
      }
    }
  }
}

// The host writes its results while the device may still run what stands between the last work that the host step waits
// for and the step itself: their memory is theirs from there on.
void ExtendOverHostSteps(StepGraph& graph) {
  Plan& plan = graph.plan;
  std::vector<int> device_writer(plan.buffers.size(), -1);
  int last_mark = -1;
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i) {
    const Operation& operation = graph.operations[i];
    if (std::holds_alternative<DecisionMark>(operation.action)) last_mark = i;
    if (!std::holds_alternative<HostEvaluate>(operation.action)) {
      for (const Binding& use : operation.uses) {
        if (use.access != Access::kRead) device_writer[use.slice.buffer] = i;
      }
      continue;
    }
    int waited = last_mark;
    for (const Binding& use : operation.uses) {
      if (use.access == Access::kRead) waited = std::max(waited, device_writer[use.slice.buffer]);
    }
    for (const Binding& use : operation.uses) {
      PlanBuffer& buffer = plan.buffers.at(use.slice.buffer);
      if (use.access != Access::kRead) buffer.first_use = std::min(buffer.first_use, waited + 1);
    }
  }
}

// What stands beside one another runs in any order: nobody in an overlap takes over memory of another one in it.
void ExtendOverOverlaps(StepGraph& graph) {
  Plan& plan = graph.plan;
  const int count = static_cast<int>(graph.operations.size());
  for (int begin = 0, end = 0; begin < count; begin = end) {
    const int overlap = graph.operations[begin].overlap;
    for (end = begin; end < count && graph.operations[end].overlap == overlap;) ++end;
    if (overlap == 0) continue;
    for (int i = begin; i < end; ++i) {
      for (const Binding& use : graph.operations[i].uses) {
        PlanBuffer& buffer = plan.buffers.at(use.slice.buffer);
        buffer.first_use = std::min(buffer.first_use, begin);
        buffer.last_use = std::max(buffer.last_use, end - 1);
      }
    }
  }
}

}  // namespace

Status ComputeLiveness(StepGraph& graph) {
  Plan& plan = graph.plan;
  for (PlanBuffer& buffer : plan.buffers) buffer.first_use = buffer.last_use = -1;
  const int count = static_cast<int>(graph.operations.size());
  for (int i = 0; i < count; ++i) {
    for (const Binding& use : graph.operations[i].uses) {
      PlanBuffer& buffer = plan.buffers.at(use.slice.buffer);
      if (buffer.first_use < 0) {
        if (use.access == Access::kRead && buffer.placement.space == MemorySpace::kScratch &&
            use.slice.size_bytes > 0) {
          return Internal("plan: operation {} reads {} before anything has written it", i, buffer.name);
        }
        buffer.first_use = i;
      }
      buffer.last_use = i;
    }
  }
  ExtendOverOverlaps(graph);
  ExtendOverLoops(graph);
  ExtendOverHostSteps(graph);
  // A profile reads behind a step how many workgroups ran.
  for (const Step& step : plan.steps) {
    if (step.groups_at.buffer < 0) continue;
    PlanBuffer& buffer = plan.buffers[step.groups_at.buffer];
    if (buffer.first_use >= 0) buffer.last_use = std::max(count - 1, 0);
  }
  for (const PlanResult& result : plan.results) {
    PlanBuffer& buffer = plan.buffers[result.buffer];
    if (buffer.first_use >= 0) buffer.last_use = std::max(count - 1, 0);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
