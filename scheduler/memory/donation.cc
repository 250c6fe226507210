#include "scheduler/memory/donation.h"

#include <algorithm>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

// One dispatch reads the parameter and writes the result: it may where the parameter comes in.
bool CanRunInPlace(const StepGraph& graph, int operation, int parameter, int result) {
  const auto* dispatch = std::get_if<Dispatch>(&graph.operations[operation].action);
  if (dispatch == nullptr) return false;
  const Step& step = graph.plan.steps[dispatch->step];
  return std::ranges::any_of(step.in_place, [&](const SharedPlace& place) {
    return place.operand.buffer == parameter && place.result.buffer == result;
  });
}

// By buffer, how many operations write it.
std::vector<int> WritersOf(const StepGraph& graph) {
  std::vector<int> writers(graph.plan.buffers.size()), last(graph.plan.buffers.size(), -1);
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i) {
    for (const Binding& use : graph.operations[i].uses) {
      const auto buffer = static_cast<size_t>(use.slice.buffer);
      if (use.access == Access::kRead || last[buffer] == i) continue;
      last[buffer] = i;
      ++writers[buffer];
    }
  }
  return writers;
}

void CopyOverParameter(StepGraph& graph, int result_leaf, int parameter_leaf) {
  Plan& plan = graph.plan;
  const int source = plan.results[result_leaf].buffer;
  const int target = plan.parameters[parameter_leaf].buffer;
  const int64_t size = plan.buffers[source].size_bytes;
  Operation operation;
  operation.action = CopyBytes{{source, 0, size}, {target, 0, size}};
  operation.uses = {{{source, 0, size}, Access::kRead}, {{target, 0, size}, Access::kWrite}};
  const int at = static_cast<int>(graph.operations.size());
  graph.operations.push_back(std::move(operation));
  plan.buffers[source].last_use = at;
  plan.buffers[target].last_use = at;
  if (plan.buffers[target].first_use < 0) plan.buffers[target].first_use = at;
  plan.results[result_leaf].buffer = target;
}

void Donate(StepGraph& graph, int result_leaf, StepGraph::Donor donor, const std::vector<int>& writers) {
  Plan& plan = graph.plan;
  PlanParameter& parameter = plan.parameters[donor.parameter_leaf];
  PlanBuffer& from = plan.buffers[parameter.buffer];
  PlanBuffer& to = plan.buffers[plan.results[result_leaf].buffer];
  if (plan.results[result_leaf].buffer == parameter.buffer) {
    parameter.donated_to = result_leaf;
    return;
  }
  if (to.placement.space != MemorySpace::kScratch || to.size_bytes == 0) return;
  const int write = to.first_use;
  const auto* copy = write < 0 ? nullptr : std::get_if<CopyBytes>(&graph.operations[write].action);
  const bool handed_on = copy != nullptr && from.last_use == write && copy->source.buffer == parameter.buffer;
  const bool after = from.last_use < write;
  const bool in_place = from.last_use == write &&
                        CanRunInPlace(graph, write, parameter.buffer, plan.results[result_leaf].buffer) &&
                        writers[plan.results[result_leaf].buffer] == 1;
  if (after || in_place || handed_on) {
    to.placement = from.placement;
    parameter.donated_to = result_leaf;
  } else if (donor.must) {
    CopyOverParameter(graph, result_leaf, donor.parameter_leaf);
    parameter.donated_to = result_leaf;
  }
}

}  // namespace

void AssignDonations(StepGraph& graph) {
  const std::vector<int> writers = WritersOf(graph);
  for (int leaf = 0; leaf < static_cast<int>(graph.donors.size()); ++leaf) {
    if (graph.donors[leaf].parameter_leaf >= 0) Donate(graph, leaf, graph.donors[leaf], writers);
  }
  // Copies that were added at the end came after the results were declared alive to the end.
  const int last = std::max(static_cast<int>(graph.operations.size()) - 1, 0);
  for (const PlanResult& result : graph.plan.results) {
    PlanBuffer& buffer = graph.plan.buffers[result.buffer];
    if (buffer.first_use >= 0) buffer.last_use = last;
  }
}

}  // namespace VXLA_NAMESPACE
