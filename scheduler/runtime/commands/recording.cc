#include "scheduler/runtime/commands/recording.h"

#include <algorithm>

#include "core/limits.h"
#include "scheduler/barriers.h"
#include "scheduler/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostRecorded = 1 << 16;

// Loops written out. A plan of segments [begin, end) has so many commands, at most kMostRecorded + 1.
int64_t CountCommands(const Plan& plan, int begin, int end) {
  int64_t count = 0;
  for (int i = begin; i < end && count <= kMostRecorded; i = plan.SegmentEnd(i)) {
    const auto* loop = std::get_if<HostDecide>(&plan.segments[i]);
    if (loop == nullptr) {
      count += static_cast<int64_t>(std::get<GpuCommands>(plan.segments[i]).commands.size());
      continue;
    }
    const auto [body, behind] = plan.Region(i, 1);
    const int64_t trips = std::min(loop->trip_count, kMostRecorded + 1);
    count += std::min(trips * CountCommands(plan, body, behind), kMostRecorded + 1);
  }
  return std::min(count, kMostRecorded + 1);
}

Status CheckSegment(const Plan& plan, const Segment& segment) {
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
  if (decision->trip_count < 0)
    return Unsupported("it cannot be recorded: the host asks the device when {} ends", decision->instruction);
  return OkStatus();
}

}  // namespace

Status CheckRecordable(const Plan& plan) {
  for (const Segment& segment : plan.segments) VXLA_RETURN_IF_ERROR(CheckSegment(plan, segment));
  if (CountCommands(plan, 0, static_cast<int>(plan.segments.size())) > kMostRecorded) {
    return Unsupported("it cannot be recorded: with its loops written out it has more than {} commands", kMostRecorded);
  }
  return OkStatus();
}

Status CheckRecordable(const Executable& executable) {
  if (executable.depends_on_sizes())
    return Unsupported("the program cannot be recorded: it is compiled for the sizes of each run's arguments");
  return CheckRecordable(executable.plan());
}

RecordingNeeds NeedsOf(const Plan& plan) {
  RecordingNeeds needs;
  if (const std::vector<int64_t> offsets = ScratchOffsets(plan); !offsets.empty())
    needs.scratch_bytes = offsets.back() + RoundUp(plan.scratch_block_bytes.back(), kBlockAlignment);
  for (const Segment& segment : plan.segments) {
    const auto* gpu = std::get_if<GpuCommands>(&segment);
    if (gpu == nullptr) continue;
    for (const GpuCommand& command : gpu->commands) {
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

Recording::Recording(std::shared_ptr<Executable> executable)
    : executable_(std::move(executable)), state_(*executable_->state_), indirect_(NeedsOf(plan()).indirect) {}

Result<std::unique_ptr<Recording>> Recording::Create(std::shared_ptr<Executable> executable,
                                                     std::vector<std::shared_ptr<Buffer>> scratch) {
  VXLA_RETURN_IF_ERROR(CheckRecordable(executable->plan()));
  std::unique_ptr<Recording> recording(new Recording(std::move(executable)));
  ExecutableState& state = recording->state_;
  VXLA_RETURN_IF_ERROR(state.made.Await());
  VXLA_ASSIGN_OR_RETURN(recording->context_,
                        ExecutionContext::CreateForRecording(state.program, *state.client->pool, std::move(scratch)));
  recording->AddSegments(0, static_cast<int>(recording->plan().segments.size()));
  return recording;
}

void Recording::AddSegments(int begin, int end) {
  static const GpuCommand barrier = Barrier{};
  for (int i = begin; i < end; i = plan().SegmentEnd(i)) {
    if (const auto* loop = std::get_if<HostDecide>(&plan().segments[i])) {
      const auto [body, behind] = plan().Region(i, 1);
      for (int64_t trip = 0; trip < loop->trip_count; ++trip) AddSegments(body, behind);
      continue;
    }
    // Submissions of segments wait for one another.
    if (!commands_.empty()) commands_.push_back(&barrier);
    for (const GpuCommand& command : std::get<GpuCommands>(plan().segments[i]).commands) commands_.push_back(&command);
  }
}

Status Recording::Record(size_t begin, size_t end, CommandBuffer& commands) {
  commands.BeginLabel(plan().name.c_str());
  if (begin != 0) commands.Barrier(indirect_);
  Status status;
  for (size_t i = begin; i < end && status.ok(); ++i)
    status = context_->RecordCommand(*commands_[i], indirect_, commands);
  commands.EndLabel();
  return status;
}

size_t Recording::EndWithin(size_t begin, double seconds) const {
  const DeviceFacts& facts = state_.client->device->facts();
  double spent = 0;
  bool works = false;
  for (size_t i = begin; i < commands_.size(); ++i) {
    double cost = 0;
    if (const auto* dispatch = std::get_if<Dispatch>(commands_[i])) {
      cost = EstimateSeconds(plan().steps[static_cast<size_t>(dispatch->step)], facts) / dispatch->parts;
    } else if (const auto* copy = std::get_if<CopyBytes>(commands_[i])) {
      cost = EstimateCopySeconds(copy->source.size_bytes, facts);
    }
    if (works && spent + cost > seconds) return i;
    spent += cost;
    works |= !std::holds_alternative<Barrier>(*commands_[i]);
  }
  return commands_.size();
}

}  // namespace VXLA_NAMESPACE
