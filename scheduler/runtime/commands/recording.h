// Recording: a compiled program as commands in the caller's command buffers, which the caller submits.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "scheduler/runtime/commands/recorder.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {

// kUnsupported with the first reason why a command buffer cannot hold the plan: a step for the host, a decision that it
// takes on the way, more iterations than a command buffer should have.
Status CheckRecordable(const Plan& plan);
// The same, and a program that is compiled anew for the sizes of its arguments.
Status CheckRecordable(const Executable& executable);

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

// One use at a time: not bound again before the device has finished what was recorded.
class Recording {
 public:
  // `scratch`: the caller's, by block; none: the recording's own. CheckRecordable says whether it can be.
  static Result<std::unique_ptr<Recording>> Create(std::shared_ptr<Executable> executable,
                                                   std::vector<std::shared_ptr<Buffer>> scratch);

  // By leaf. A null buffer where nothing touches the leaf. Whether anything moved: under addresses what was recorded
  // runs with the new ones, as long as it copies none of them (RecordingNeeds).
  bool Bind(std::span<const BoundBuffer> arguments, std::span<const BoundBuffer> results) {
    return context_->Rebind(arguments, results);
  }
  // Nothing orders these commands with what the command buffer holds before and after them.
  Status Record(CommandBuffer& commands) { return Record(0, size(), commands); }
  // Of so many commands, loops written out, those from `begin` to `end`. A part that is not the first one begins with a
  // barrier for the one before it.
  size_t size() const { return commands_.size(); }
  Status Record(size_t begin, size_t end, CommandBuffer& commands);
  // Behind whatever was recorded before, on the same queue: for what shares this scratch.
  void OrderBehind(CommandBuffer& commands) const { commands.Barrier(indirect_); }
  const std::vector<std::shared_ptr<Buffer>>& scratch() const { return context_->scratch(); }
  // The end of the part from `begin` on that takes so long, by a low estimate of the device's speed: a dispatch at
  // least.
  size_t EndWithin(size_t begin, double seconds) const;

  const Plan& plan() const { return state_.program.plan; }

 private:
  explicit Recording(std::shared_ptr<Executable> executable);
  void AddSegments(int begin, int end);

  std::shared_ptr<Executable> executable_;
  ExecutableState& state_;
  std::unique_ptr<ExecutionContext> context_;
  bool indirect_ = false;
  std::vector<const GpuCommand*> commands_;
};

}  // namespace VXLA_NAMESPACE
