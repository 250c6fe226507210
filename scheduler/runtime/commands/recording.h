// Recording: a compiled program as commands in the caller's command buffers, which the caller submits.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/runtime/commands/recorder.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {

// kUnsupported with the first reason why a command buffer cannot hold the plan: a step for the host, a decision that it
// takes on the way, more iterations than a command buffer should have. A loop that ends itself on the device
// (HostDecide::ahead) is recorded with `loop_iterations` iterations; 0: it is a reason, too.
Status CheckRecordable(const Plan& plan, int64_t loop_iterations = 0);
// The same, and a program that is compiled anew for the sizes of its arguments.
Status CheckRecordable(const Executable& executable, int64_t loop_iterations = 0);

// What the caller lends.
struct RecordingNeeds {
  int64_t scratch_bytes = 0;  // from an address and an offset that are multiples of kBlockAlignment
  bool copies_arguments = false, copies_results = false;  // transfers read or write them
  bool indirect = false;                                  // counts of workgroups lie in scratch
  // Kernels touch whole units of memory: so much of it belongs to each argument and result.
  static constexpr int64_t kUnitBytes = 16;
};
RecordingNeeds NeedsOf(const Plan& plan);
// Parts of the caller's scratch, by block of the plan: where each begins.
std::vector<int64_t> ScratchOffsets(const Plan& plan);

// What a command buffer gets, loops unrolled.
struct RecordedCommand {
  const GpuCommand* command = nullptr;  // null: what follows
  // Of a loop with a stated number of iterations, behind it: what says whether it would go on, and its number among
  // these loops.
  BufferSlice selector;
  int loop = -1;
  bool is_barrier() const { return command != nullptr && std::holds_alternative<Barrier>(*command); }
};
// Of a plan that can be recorded.
std::vector<RecordedCommand> RecordedCommands(const Plan& plan, int64_t loop_iterations);

// All but the barriers, in their order, are its steps.
struct RecordedSteps {
  struct Step {
    std::string name;
    double seconds = 0;  // by a low estimate of the device's speed
  };
  // A part of the scratch, and the first and the last step that use it.
  struct Scratch {
    int64_t offset_bytes = 0, size_bytes = 0;
    int first_step = 0, last_step = 0;
  };
  std::vector<Step> steps;
  std::vector<Scratch> scratch;  // by first step; what iterations of a loop use lasts for all of them
  int loops = 0;                 // with a stated number of iterations, each time that they are recorded
  double seconds() const;
};
RecordedSteps StepsOf(const Plan& plan, int64_t loop_iterations, const DeviceFacts& facts);

// One use at a time: not bound again before the device has finished what was recorded.
class Recording {
 public:
  // `scratch`: the caller's, by block; none: the recording's own. CheckRecordable says whether it can be.
  static Result<std::unique_ptr<Recording>> Create(std::shared_ptr<Executable> executable,
                                                   std::vector<std::shared_ptr<Buffer>> scratch,
                                                   int64_t loop_iterations = 0);

  // By leaf. A null buffer where nothing touches the leaf. Whether anything moved: under addresses what was recorded
  // runs with the new ones, as long as it copies none of them (RecordingNeeds).
  bool Bind(std::span<const BoundBuffer> arguments, std::span<const BoundBuffer> results) {
    return context_->Rebind(arguments, results);
  }
  // Where each loop with a stated number of iterations says whether it would go on: an s32 each.
  void BindLoops(BufferRange loops) { loops_ = loops; }
  // Nothing orders these commands with what the command buffer holds before and after them.
  Status Record(CommandBuffer& commands) { return Record(0, size(), commands); }
  // Of so many commands, loops unrolled, those from `begin` to `end`. A part that is not the first one begins with a
  // barrier for the one before it. `behind`, unless it is empty, is called behind each step.
  size_t size() const { return commands_.size(); }
  Status Record(size_t begin, size_t end, CommandBuffer& commands, const std::function<void()>& behind = {});
  // Steps among the first so many commands.
  size_t StepsBefore(size_t end) const;
  // Behind whatever was recorded before, on the same queue: for what shares this scratch.
  void OrderBehind(CommandBuffer& commands) const { commands.Barrier(indirect_); }
  const std::vector<std::shared_ptr<Buffer>>& scratch() const { return context_->scratch(); }
  // The end of the part from `begin` on that takes so long, by a low estimate of the device's speed: a dispatch at
  // least.
  size_t EndWithin(size_t begin, double seconds) const;

  const Plan& plan() const { return state_.program.plan; }

 private:
  explicit Recording(std::shared_ptr<Executable> executable);
  std::shared_ptr<Executable> executable_;
  ExecutableState& state_;
  std::unique_ptr<ExecutionContext> context_;
  bool indirect_ = false;
  std::vector<RecordedCommand> commands_;
  BufferRange loops_;
};

}  // namespace VXLA_NAMESPACE
