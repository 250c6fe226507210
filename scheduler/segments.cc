#include "scheduler/segments.h"

namespace VXLA_NAMESPACE {
namespace {

class Segmenter {
 public:
  explicit Segmenter(StepGraph& graph)
      : graph_(graph), segments_(graph.plan.segments), place_(graph.decisions.size(), -1) {
    segments_.clear();
  }

  void Add(const Operation& operation) {
    fresh_ |= operation.group != group_;
    group_ = operation.group;
    if (const auto* evaluation = std::get_if<HostEvaluate>(&operation.action)) {
      segments_.push_back(*evaluation);
    } else if (const auto* mark = std::get_if<DecisionMark>(&operation.action)) {
      AddMark(*mark);
      fresh_ = true;  // what follows runs under another condition
    } else if (const auto* dispatch = std::get_if<Dispatch>(&operation.action)) {
      Commands().push_back(*dispatch);
    } else if (const auto* copy = std::get_if<CopyBytes>(&operation.action)) {
      // A donated parameter may hold the result that it would be copied into.
      const PhysicalRange source = RangeOf(graph_.plan, copy->source), target = RangeOf(graph_.plan, copy->target);
      if (!(source == target)) Commands().push_back(*copy);
    }
  }

 private:
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
      segments_.push_back(GpuCommands{});
    fresh_ = false;
    return std::get<GpuCommands>(segments_.back()).commands;
  }

  StepGraph& graph_;
  std::vector<Segment>& segments_;
  std::vector<int> place_;  // of each decision among the segments
  bool fresh_ = false;
  int group_ = 0;
};

}  // namespace

void PartitionSegments(StepGraph& graph) {
  Segmenter segmenter(graph);
  for (const Operation& operation : graph.operations) segmenter.Add(operation);
}

}  // namespace VXLA_NAMESPACE
