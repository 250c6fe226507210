// StepGraphBuilder: makes a step graph; its parts are in step_graph.cc (instructions, results) and control_flow.cc.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/host/hash.h"
#include "scheduler/compile.h"
#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// One class, because a loop's steps and a branch's are built as those around them, into one graph.
class StepGraphBuilder : public BufferMap {
 public:
  StepGraphBuilder(const Module& module, const Lowering& lowering, const PlanOptions& options);

  Result<StepGraph> Build();

  BufferSlice SliceOf(const Instruction& instruction, int leaf) override;
  BufferSlice Scratch(int64_t size_bytes) override;
  BufferSlice Constant(std::vector<uint32_t> words) override;
  BufferSlice RandomState(const Instruction& state) override;

 private:
  void AddParameters();
  // The states that the program's random numbers come from, set at its beginning.
  void AddRandomStates();
  // Every instruction that the computation's root or a side effect needs, in order.
  Status AddComputation(const Computation& computation);
  Status AddInstruction(const Instruction& instruction);
  // Its steps, or its evaluation on the host. A result that must lie where an operand lies is the operand's copy before
  // the step changes it: copy elision and donation put both into one place where the operand is wanted no more.
  Status AddSteps(const Instruction& instruction);
  void AddStep(const Instruction& instruction, Step step);
  // A buffer for each leaf of what `current_` computes.
  void AddLeaves(const Instruction& instruction);
  void AddFault(const Instruction& instruction, const std::string& error);
  // Its leaves' memory and its evaluation on the host.
  Status AddHostResult(const Instruction& instruction, const std::string& reason);
  void AddHostEvaluation(const Instruction& instruction, const std::string& reason);

  // control_flow.cc
  Status AddWhile(const Instruction& loop);
  Status AddConditional(const Instruction& conditional);
  Status AddKnownBranch(const Instruction& conditional, int branch);
  void BindParameter(const Computation& computation, const Instruction& argument);
  // A buffer for each leaf of the state: the initial value's own where the body hands the leaf on unchanged.
  std::vector<int> AddState(const Instruction& loop);
  void MoveIntoState(const Instruction& root, const std::vector<int>& state);
  void AddMark(DecisionMark::Kind kind, int decision);
  // loop_kernels.cc: the loop as steps that run it whole; false: the lowering has none.
  Result<bool> AddLoopKernel(const Instruction& loop, std::string* apart);
  void AddLoopSteps(const Instruction& loop, LoopLowering lowering);

  Status ReadDonors();
  void AddResults();

  // Of what lowering refuses nothing stays in the plan.
  struct PlanSize {
    size_t buffers, constants;
  };
  PlanSize SizeOfPlan() const { return {plan_.buffers.size(), plan_.constants.size()}; }
  void ReturnTo(const PlanSize& before);
  int AddBuffer(std::string name, int64_t size_bytes);
  void AddCopy(int source, int target);
  BufferSlice WholeSlice(int buffer) const { return {buffer, 0, plan_.buffers[buffer].size_bytes}; }

  const Module& module_;
  const Computation& entry_;
  const Lowering& lowering_;
  const PlanOptions options_;
  StepGraph graph_;
  Plan& plan_ = graph_.plan;
  std::unordered_map<int, int> parameter_leaf_of_buffer_;
  std::vector<int> first_leaf_of_parameter_;
  const Instruction* current_ = nullptr;
  int scratch_count_ = 0;
  std::multimap<Hash128, size_t> tables_;                  // places in plan_.constants, by the hashes of their words
  std::map<std::pair<bool, int64_t>, int> random_states_;  // buffers, by whether they count draws and by device
  DeepProperty live_sizes_{TouchesLiveSizes};
};

// A check of lowering's that fails, or an index of its own that is out of range, as a status.
auto WithoutThrowing(auto&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::logic_error& error) {
    return Internal("{}", error.what());
  }
}

// "fusion.3", "tuple.1[2]", "body/fusion.3".
std::string LeafName(const Instruction& instruction, int leaf);

}  // namespace VXLA_NAMESPACE
