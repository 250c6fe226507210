#include "scheduler/graph/segments.h"

#include "scheduler/plan/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

class Segmenter {
 public:
  Segmenter(StepGraph& graph, const DeviceFacts& facts)
      : graph_(graph), facts_(facts), segments_(graph.plan.segments), place_(graph.decisions.size(), -1) {
    segments_.clear();
  }

  void Add(const Operation& operation) {
    fresh_ |= operation.group != group_ || operation.queue != queue_ || operation.overlap != overlap_;
    group_ = operation.group, queue_ = operation.queue, overlap_ = operation.overlap;
    if (const auto* evaluation = std::get_if<HostEvaluate>(&operation.action)) {
      segments_.push_back(*evaluation);
    } else if (const auto* mark = std::get_if<DecisionMark>(&operation.action)) {
      AddMark(*mark);
      fresh_ = true;  // what follows runs under another condition
    } else if (const auto* dispatch = std::get_if<Dispatch>(&operation.action)) {
      AddDispatch(*dispatch);
    } else if (const auto* copy = std::get_if<CopyBytes>(&operation.action)) {
      // A donated parameter may hold the result that it would be copied into.
      const PhysicalRange source = RangeOf(graph_.plan, copy->source), target = RangeOf(graph_.plan, copy->target);
      if (source == target) return;
      Spend(EstimateCopySeconds(copy->source.size_bytes, facts_));
      Commands().push_back(*copy);
    }
  }

 private:
  void AddDispatch(const Dispatch& dispatch) {
    Step& step = graph_.plan.steps[dispatch.step];
    const int parts = PartsWithinBudget(step, facts_);
    for (int part = 0; part < parts; ++part) {
      Spend(EstimateSeconds(step, facts_) / parts);
      if (parts > 1) fresh_ = true;
      Commands().push_back(Dispatch{dispatch.step, part, parts, parts == 1 ? step.groups_at : BufferSlice{}});
    }
    step.groups_at = {};
    if (parts > 1) step.kernel.in_parts = fresh_ = true;
  }

  // A command buffer that would go beyond the budget ends before what takes so long.
  void Spend(double seconds) {
    if (facts_.work_budget_seconds > 0 && spent_seconds_ + seconds > facts_.work_budget_seconds) fresh_ = true;
    next_seconds_ = seconds;
  }

  void AddMark(const DecisionMark& mark) {
    if (mark.kind == DecisionMark::Kind::kOpen) {
      place_[mark.decision] = static_cast<int>(segments_.size());
      segments_.push_back(graph_.decisions[mark.decision]);
    } else {
      std::get<HostDecide>(segments_[place_[mark.decision]]).region_ends.push_back(static_cast<int>(segments_.size()));
    }
  }

  std::vector<GpuCommand>& Commands() {
    if (fresh_ || segments_.empty() || !std::holds_alternative<GpuCommands>(segments_.back()))
      segments_.push_back(GpuCommands{queue_, {}, overlap_}), spent_seconds_ = 0;
    fresh_ = false;
    spent_seconds_ += next_seconds_;
    return std::get<GpuCommands>(segments_.back()).commands;
  }

  StepGraph& graph_;
  const DeviceFacts& facts_;
  std::vector<Segment>& segments_;
  std::vector<int> place_;  // of each decision among the segments
  bool fresh_ = false;
  int group_ = 0, queue_ = 0, overlap_ = 0;
  double spent_seconds_ = 0, next_seconds_ = 0;  // of the segment so far; of the command that comes
};

}  // namespace

void PartitionSegments(StepGraph& graph, const DeviceFacts& facts) {
  Segmenter segmenter(graph, facts);
  for (const Operation& operation : graph.operations) segmenter.Add(operation);
}

}  // namespace VXLA_NAMESPACE
