#include "scheduler/runtime/commands/recording.h"

#include <algorithm>

#include "core/limits.h"
#include "scheduler/plan/barriers.h"
#include "scheduler/plan/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostRecorded = 1 << 16;

// An iteration that ends itself begins with the condition: one more than stated finds out that the loop has ended.
int64_t TripsOf(const HostDecide& loop, int64_t loop_iterations) {
  return loop.ahead ? loop_iterations + 1 : loop.trip_count;
}

// Loops unrolled. A plan of segments [begin, end) has so many commands, at most kMostRecorded + 1.
int64_t CountCommands(const Plan& plan, int begin, int end, int64_t loop_iterations) {
  int64_t count = 0;
  for (int i = begin; i < end && count <= kMostRecorded; i = plan.SegmentEnd(i)) {
    const auto* loop = std::get_if<HostDecide>(&plan.segments[i]);
    if (loop == nullptr) {
      count += static_cast<int64_t>(std::get<GpuCommands>(plan.segments[i]).commands.size());
      continue;
    }
    const auto [body, behind] = plan.Region(i, 1);
    const int64_t trips = std::min(TripsOf(*loop, loop_iterations), kMostRecorded + 1);
    count +=
        std::min(trips * CountCommands(plan, body, behind, loop_iterations), kMostRecorded + 1) + (loop->ahead ? 1 : 0);
  }
  return std::min(count, kMostRecorded + 1);
}

Status CheckSegment(const Plan& plan, const Segment& segment, int64_t loop_iterations) {
  if (const auto* evaluation = std::get_if<HostEvaluate>(&segment)) {
    const auto why = std::ranges::find(plan.fallbacks, evaluation->instruction, &Fallback::instruction);
    if (why == plan.fallbacks.end())  // a check, which the host looks at
      return Unsupported(
          "it cannot be recorded: live sizes are compared, and no result has dynamic dimensions to tell");
    return Unsupported("it cannot be recorded: {} runs on the host: {}", evaluation->instruction, why->reason);
  }
  const auto* decision = std::get_if<HostDecide>(&segment);
  if (decision == nullptr) return OkStatus();
  if (decision->kind == HostDecide::Kind::kConditional)
    return Unsupported("it cannot be recorded: the host chooses the branch of {}", decision->instruction);
  if (decision->ahead && loop_iterations == 0)
    return Unsupported(
        "it cannot be recorded: the host asks the device when {} ends, and no loop_iterations are stated",
        decision->instruction);
  if (decision->trip_count < 0 && !decision->ahead)
    return Unsupported("it cannot be recorded: the host asks the device when {} ends", decision->instruction);
  return OkStatus();
}

void AddSegments(const Plan& plan, int begin, int end, int64_t loop_iterations, int& loops,
                 std::vector<RecordedCommand>& commands) {
  static const GpuCommand barrier = Barrier{};
  for (int i = begin; i < end; i = plan.SegmentEnd(i)) {
    const auto* loop = std::get_if<HostDecide>(&plan.segments[i]);
    if (loop != nullptr) {
      const auto [body, behind] = plan.Region(i, 1);
      for (int64_t trip = 0; trip < TripsOf(*loop, loop_iterations); ++trip)
        AddSegments(plan, body, behind, loop_iterations, loops, commands);
      if (!loop->ahead) continue;
    }
    // Submissions of segments wait for one another.
    if (!commands.empty()) commands.push_back({&barrier, {}, -1});
    if (loop != nullptr) {
      commands.push_back({nullptr, loop->selector, loops++});
      continue;
    }
    for (const GpuCommand& command : std::get<GpuCommands>(plan.segments[i]).commands)
      commands.push_back({&command, {}, -1});
  }
}

double SecondsOf(const Plan& plan, const RecordedCommand& recorded, const DeviceFacts& facts) {
  if (recorded.command == nullptr) return EstimateCopySeconds(recorded.selector.size_bytes, facts);
  if (const auto* dispatch = std::get_if<Dispatch>(recorded.command))
    return EstimateSeconds(plan.steps[dispatch->step], facts) / dispatch->parts;
  if (const auto* copy = std::get_if<CopyBytes>(recorded.command))
    return EstimateCopySeconds(copy->source.size_bytes, facts);
  return 0;
}

std::string NameOf(const Plan& plan, const RecordedCommand& recorded) {
  const auto copied = [&](const BufferSlice& slice) { return plan.buffers[slice.buffer].name; };
  if (recorded.command == nullptr) return "whether it goes on: " + copied(recorded.selector);
  if (const auto* dispatch = std::get_if<Dispatch>(recorded.command)) return plan.steps[dispatch->step].name;
  return "copy to " + copied(std::get<CopyBytes>(*recorded.command).target);
}

// The plan's buffers in scratch that a command uses.
std::vector<int> BuffersOf(const Plan& plan, const RecordedCommand& recorded) {
  std::vector<int> buffers;
  const auto add = [&](const BufferSlice& slice) {
    if (slice.buffer < 0) return;
    const PlanBuffer& buffer = plan.buffers[slice.buffer];
    if (buffer.placement.space == MemorySpace::kScratch && buffer.size_bytes != 0) buffers.push_back(slice.buffer);
  };
  if (recorded.command == nullptr) {
    add(recorded.selector);
  } else if (const auto* dispatch = std::get_if<Dispatch>(recorded.command)) {
    for (const Binding& binding : plan.steps[dispatch->step].bindings) add(binding.slice);
    add(dispatch->groups_at);
  } else if (const auto* copy = std::get_if<CopyBytes>(recorded.command)) {
    add(copy->source);
    add(copy->target);
  }
  return buffers;
}

}  // namespace

Status CheckRecordable(const Plan& plan, int64_t loop_iterations) {
  for (const Segment& segment : plan.segments) VXLA_RETURN_IF_ERROR(CheckSegment(plan, segment, loop_iterations));
  if (CountCommands(plan, 0, static_cast<int>(plan.segments.size()), loop_iterations) > kMostRecorded) {
    return Unsupported("it cannot be recorded: with its loops unrolled it has more than {} commands", kMostRecorded);
  }
  return OkStatus();
}

Status CheckRecordable(const Executable& executable, int64_t loop_iterations) {
  if (executable.depends_on_sizes())
    return Unsupported("the program cannot be recorded: it is compiled for the sizes of each run's arguments");
  return CheckRecordable(executable.plan(), loop_iterations);
}

RecordingNeeds NeedsOf(const Plan& plan) {
  RecordingNeeds needs;
  if (const std::vector<int64_t> offsets = ScratchOffsets(plan); !offsets.empty())
    needs.scratch_bytes = offsets.back() + RoundUp(plan.scratch_block_bytes.back(), kBlockAlignment);
  for (const GpuCommands& gpu : Only<GpuCommands>(plan.segments)) {
    for (const GpuCommand& command : gpu.commands) {
      const auto* dispatch = std::get_if<Dispatch>(&command);
      needs.indirect |= dispatch != nullptr && dispatch->groups_at.buffer >= 0;
      if (!std::holds_alternative<CopyBytes>(command)) continue;
      for (const MemoryUse& use : MemoryUses(plan, command)) {
        needs.copies_arguments |= use.range.space == MemorySpace::kParameter;
        needs.copies_results |= use.range.space == MemorySpace::kResult;
      }
    }
  }
  return needs;
}

std::vector<int64_t> ScratchOffsets(const Plan& plan) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const int64_t bytes : plan.scratch_block_bytes) {
    offsets.push_back(end);
    end += RoundUp(bytes, kBlockAlignment);
  }
  return offsets;
}

std::vector<RecordedCommand> RecordedCommands(const Plan& plan, int64_t loop_iterations) {
  std::vector<RecordedCommand> commands;
  int loops = 0;
  AddSegments(plan, 0, static_cast<int>(plan.segments.size()), loop_iterations, loops, commands);
  return commands;
}

double RecordedSteps::seconds() const {
  double sum = 0;
  for (const Step& step : steps) sum += step.seconds;
  return sum;
}

RecordedSteps StepsOf(const Plan& plan, int64_t loop_iterations, const DeviceFacts& facts) {
  RecordedSteps found;
  const std::vector<int64_t> offsets = ScratchOffsets(plan);
  std::vector<int> range_of(plan.buffers.size(), -1);
  for (const RecordedCommand& recorded : RecordedCommands(plan, loop_iterations)) {
    if (recorded.is_barrier()) continue;
    const int step = static_cast<int>(found.steps.size());
    found.steps.push_back({NameOf(plan, recorded), SecondsOf(plan, recorded, facts)});
    found.loops += recorded.loop >= 0 ? 1 : 0;
    for (const int buffer : BuffersOf(plan, recorded)) {
      int& range = range_of[buffer];
      if (range < 0) {
        range = static_cast<int>(found.scratch.size());
        const PlanBuffer& planned = plan.buffers[buffer];
        const Placement& placement = planned.placement;
        found.scratch.push_back({offsets[placement.index] + placement.offset_bytes,
                                 RoundUp(planned.size_bytes, RecordingNeeds::kUnitBytes), step, step});
      }
      found.scratch[range].last_step = step;
    }
  }
  return found;
}

Recording::Recording(std::shared_ptr<Executable> executable)
    : executable_(std::move(executable)), state_(*executable_->state_), indirect_(NeedsOf(plan()).indirect) {}

Result<std::unique_ptr<Recording>> Recording::Create(std::shared_ptr<Executable> executable,
                                                     std::vector<std::shared_ptr<Buffer>> scratch,
                                                     int64_t loop_iterations) {
  VXLA_RETURN_IF_ERROR(CheckRecordable(executable->plan(), loop_iterations));
  std::unique_ptr<Recording> recording(new Recording(std::move(executable)));
  ExecutableState& state = recording->state_;
  VXLA_RETURN_IF_ERROR(state.made.Await());
  VXLA_ASSIGN_OR_RETURN(recording->context_,
                        ExecutionContext::CreateForRecording(state.program, *state.client->pool, std::move(scratch)));
  recording->commands_ = RecordedCommands(recording->plan(), loop_iterations);
  return recording;
}

Status Recording::Record(size_t begin, size_t end, CommandBuffer& commands, const std::function<void()>& behind) {
  commands.BeginLabel(plan().name.c_str());
  if (begin == 0) {
    context_->RecordBlocks(commands);
  } else {
    commands.Barrier(indirect_);
  }
  Status status;
  for (size_t i = begin; i < end && status.ok(); ++i) {
    const RecordedCommand& recorded = commands_[i];
    if (recorded.command != nullptr) {
      status = context_->RecordCommand(*recorded.command, indirect_, commands);
    } else {
      constexpr int64_t kFlagBytes = 4;
      BufferRange flag = context_->Locate(recorded.selector);
      flag.size_bytes = kFlagBytes;
      commands.Copy(flag, {loops_.buffer, loops_.offset_bytes + kFlagBytes * recorded.loop, kFlagBytes});
    }
    if (behind && !recorded.is_barrier()) behind();
  }
  commands.EndLabel();
  return status;
}

size_t Recording::StepsBefore(size_t end) const {
  const auto first = commands_.begin();
  return static_cast<size_t>(std::count_if(first, first + static_cast<std::ptrdiff_t>(end),
                                           [](const RecordedCommand& each) { return !each.is_barrier(); }));
}

size_t Recording::EndWithin(size_t begin, double seconds) const {
  const DeviceFacts& facts = state_.client->device->facts();
  double spent = 0;
  bool works = false;
  for (size_t i = begin; i < commands_.size(); ++i) {
    const double cost = SecondsOf(plan(), commands_[i], facts);
    if (works && spent + cost > seconds) return i;
    spent += cost;
    works |= !commands_[i].is_barrier();
  }
  return commands_.size();
}

}  // namespace VXLA_NAMESPACE
