// Whiles that the device runs whole: one step, or a decision around one where a dispatch may not take so long.
#include "core/passes/base/control_flow.h"
#include "scheduler/graph/step_graph_builder.h"

namespace VXLA_NAMESPACE {

Result<bool> StepGraphBuilder::AddLoopKernel(const Instruction& loop, std::string* apart) {
  if (!options_.loop_kernels) return false;
  const Instruction* const outer = current_;
  current_ = &loop;
  scratch_count_ = 0;
  const PlanSize before = SizeOfPlan();
  const int leaves = LeafCount(loop.shape());
  const Computation& body = *loop.called(1);
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const bool handed_on = graph_.origins.Of(*body.root(), leaf) == LeafOrigin{body.parameter(0), leaf};
    const BufferSlice initial = SliceOf(*loop.operand(0), leaf);
    graph_.buffer_of[{&loop, leaf}] = handed_on ? initial.buffer : AddBuffer(LeafName(loop, leaf), initial.size_bytes);
  }
  Result<LoopLowering> lowered =
      WithoutThrowing([&]() -> Result<LoopLowering> { return lowering_.LowerLoop(loop, *this); });
  if (lowered.ok()) {
    AddLoopSteps(loop, *std::move(lowered));
    return true;
  }
  ReturnTo(before);
  for (int leaf = 0; leaf < leaves; ++leaf) graph_.buffer_of.erase({&loop, leaf});
  current_ = outer;
  *apart = lowered.status().message();
  if (lowered.status().code() == StatusCode::kUnsupported) return false;
  if (lowered.status().code() != StatusCode::kInternal) return Status(lowered.status()).At(loop.location());
  plan_.faults.push_back({PlanName(loop), lowered.status().message(), PlanFault::Remedy::kUnfused});
  return false;
}

void StepGraphBuilder::AddLoopSteps(const Instruction& loop, LoopLowering lowering) {
  for (const Step& step : lowering.steps) {
    for (const SharedPlace& place : step.in_place) AddCopy(place.operand.buffer, place.result.buffer);
  }
  const bool once = lowering.runs == 1;
  const int decision = static_cast<int>(graph_.decisions.size());
  if (!once) {
    HostDecide decide;
    decide.instruction = PlanName(loop);
    decide.trip_count = lowering.runs;
    // Whether it goes on is known after the steps, so they are the condition's region and the body's is empty.
    if (lowering.runs < 0) decide.selector = lowering.goes_on;
    decide.selector_is_pred = false;
    graph_.decisions.push_back(decide);
    AddMark(DecisionMark::Kind::kOpen, decision);
    if (lowering.runs >= 0) AddMark(DecisionMark::Kind::kNextRegion, decision);
  }
  for (Step& step : lowering.steps) AddStep(loop, std::move(step));
  if (once) return;
  if (lowering.runs < 0) AddMark(DecisionMark::Kind::kNextRegion, decision);
  AddMark(DecisionMark::Kind::kClose, decision);
}

}  // namespace VXLA_NAMESPACE
