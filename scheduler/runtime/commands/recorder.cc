#include "scheduler/runtime/commands/recorder.h"

#include "core/host/ranges.h"
#include "scheduler/plan/barriers.h"
#include "scheduler/plan/work_limit.h"
#include "scheduler/runtime/commands/profiler.h"

namespace VXLA_NAMESPACE {
namespace {

// Not measured yet. On an H100 whose driver lets the host write into no device memory, a dispatch took 4 us longer for
// its block; one submission more, which brings all blocks over, takes about 10.
constexpr size_t kLeastStepsToBring = 4;

// Which of `wanted` differ from `bound`, which is brought up to date; whether any does.
bool Update(std::span<const BoundBuffer> wanted, std::vector<BoundBuffer>& bound, std::vector<bool>& moved) {
  moved.assign(wanted.size(), false);
  bound.resize(wanted.size());
  bool any = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].buffer == nullptr) continue;
    moved[i] = bound[i].buffer == nullptr || wanted[i].number != bound[i].number;
    bound[i] = wanted[i];
    any |= moved[i];
  }
  return any;
}

bool IsIndirect(const Plan& plan, int segment) {
  return std::ranges::any_of(Only<Dispatch>(std::get<GpuCommands>(plan.segments[segment]).commands),
                             [](const Dispatch& dispatch) { return dispatch.groups_at.buffer >= 0; });
}

}  // namespace

Result<std::unique_ptr<ExecutionContext>> ExecutionContext::Create(const CompiledPlan& program, BufferPool& pool,
                                                                   int64_t& allocated_bytes) {
  std::unique_ptr<ExecutionContext> context(new ExecutionContext(program));
  const Plan& plan = program.plan;
  context->compute_queues_ = pool.device().facts().compute_queues();
  VXLA_RETURN_IF_ERROR(context->Allocate(pool, {}, allocated_bytes));
  if (context->written_blocks_ != context->argument_blocks_) {
    VXLA_ASSIGN_OR_RETURN(context->update_, pool.device().CreateCommandBuffer(0));
    VXLA_RETURN_IF_ERROR(context->update_->Begin());
    context->RecordBlocks(*context->update_);
    VXLA_RETURN_IF_ERROR(context->update_->End());
  }
  context->resubmitted_ = plan.ResubmittedInFlight();
  for (const Segment& segment : plan.segments) {
    std::unique_ptr<CommandBuffer> commands;
    if (const auto* gpu = std::get_if<GpuCommands>(&segment))
      VXLA_SET_OR_RETURN(commands, pool.device().CreateCommandBuffer(program.profile ? TimestampCount(*gpu) : 0,
                                                                     context->QueueOf(*gpu)));
    context->commands_.push_back(std::move(commands));
  }
  context->repeats_ = plan.Batches();
  for (int repeats : context->repeats_) {
    auto& commands = context->batches_.emplace_back();
    if (repeats == 1) continue;
    VXLA_ASSIGN_OR_RETURN(commands, pool.device().CreateCommandBuffer(0));
  }
  return context;
}

Result<std::unique_ptr<ExecutionContext>> ExecutionContext::CreateForRecording(
    const CompiledPlan& program, BufferPool& pool, std::vector<std::shared_ptr<Buffer>> scratch) {
  std::unique_ptr<ExecutionContext> context(new ExecutionContext(program));
  int64_t allocated_bytes = 0;
  VXLA_RETURN_IF_ERROR(context->Allocate(pool, std::move(scratch), allocated_bytes));
  return context;
}

Status ExecutionContext::Allocate(BufferPool& pool, std::vector<std::shared_ptr<Buffer>> scratch,
                                  int64_t& allocated_bytes) {
  const Plan& plan = program_.plan;
  const int64_t argument_bytes = program_.layout.total_bytes;
  VXLA_ASSIGN_OR_RETURN(written_blocks_, pool.Allocate(argument_bytes, MemoryKind::kArguments, allocated_bytes));
  argument_blocks_ = written_blocks_;
  if (pool.device().facts().arguments_over_bus && plan.steps.size() >= kLeastStepsToBring)
    VXLA_SET_OR_RETURN(argument_blocks_, pool.Allocate(argument_bytes, MemoryKind::kDevice, allocated_bytes));
  scratch_blocks_ = std::move(scratch);
  for (size_t i = scratch_blocks_.size(); i < plan.scratch_block_bytes.size(); ++i)
    VXLA_SET_OR_RETURN(scratch_blocks_.emplace_back(),
                       pool.Allocate(plan.scratch_block_bytes[i], MemoryKind::kDevice, allocated_bytes));
  if (written_blocks_->mapped() == nullptr)
    return Internal("device: argument memory of {} bytes is not mapped", argument_bytes);
  const auto address_of = [&](MemorySpace space, int index) {
    return index == kNoPlace ? argument_blocks_->device_address() : BufferOf(space, index)->device_address();
  };
  WriteArguments(plan, program_.layout, address_of, blocks());
  return OkStatus();
}

Result<RecordCounts> ExecutionContext::Bind(std::span<const BoundBuffer> parameters,
                                            std::span<const BoundBuffer> results) {
  Rebind(parameters, results);
  const Plan& plan = program_.plan;
  RecordCounts counts;
  const bool all = !recorded_;
  recorded_ = false;  // until all of it has gone well
  for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
    const auto* gpu = std::get_if<GpuCommands>(&plan.segments[i]);
    if (gpu == nullptr || (!all && !NamesMovedBuffer(*gpu))) continue;
    VXLA_RETURN_IF_ERROR(Record(i, counts));
  }
  recorded_ = true;
  return counts;
}

bool ExecutionContext::Rebind(std::span<const BoundBuffer> parameters, std::span<const BoundBuffer> results) {
  const bool parameter_moved = Update(parameters, parameters_, parameter_moved_);
  const bool result_moved = Update(results, results_, result_moved_);
  if (program_.plan.bindings == BindingMode::kAddresses) {
    const auto patch = [&](const auto& patches, const std::vector<BoundBuffer>& bound, const std::vector<bool>& moved) {
      for (size_t i = 0; i < bound.size(); ++i) {
        if (moved[i]) PatchArguments(patches[i], bound[i].buffer->device_address(), blocks());
      }
    };
    patch(program_.layout.parameter_patches, parameters_, parameter_moved_);
    patch(program_.layout.result_patches, results_, result_moved_);
    blocks_are_stale_ |= parameter_moved || result_moved;
  }
  return parameter_moved || result_moved;
}

bool ExecutionContext::NamesMovedBuffer(const GpuCommands& segment) const {
  if (!Contains(parameter_moved_, true) && !Contains(result_moved_, true)) return false;
  const bool addresses = program_.plan.bindings == BindingMode::kAddresses;
  for (const GpuCommand& command : segment.commands) {
    if (addresses && std::holds_alternative<Dispatch>(command)) continue;
    for (const MemoryUse& use : MemoryUses(program_.plan, command)) {
      if (use.range.space == MemorySpace::kParameter && parameter_moved_[use.range.index]) return true;
      if (use.range.space == MemorySpace::kResult && result_moved_[use.range.index]) return true;
    }
  }
  return false;
}

Status ExecutionContext::Record(int segment, RecordCounts& counts) {
  VXLA_RETURN_IF_ERROR(Record(segment, 1, *commands_[segment], counts));
  if (repeats_[segment] == 1) return OkStatus();
  return Record(segment, repeats_[segment], *batches_[segment], counts);
}

Status ExecutionContext::Record(int segment, int repeats, CommandBuffer& commands, RecordCounts& counts) {
  VXLA_RETURN_IF_ERROR(commands.Begin(resubmitted_[segment]));
  int timestamp = 0;
  const bool profile = program_.profile && repeats == 1;
  if (profile) commands.WriteTimestamp(timestamp++);
  const bool indirect = IsIndirect(program_.plan, segment);
  for (int i = 0; i < repeats; ++i) {
    if (i > 0) commands.Barrier(indirect);
    for (const GpuCommand& command : std::get<GpuCommands>(program_.plan.segments[segment]).commands) {
      VXLA_RETURN_IF_ERROR(RecordCommand(command, indirect, commands));
      counts.dispatches += std::holds_alternative<Dispatch>(command);
      counts.copies += std::holds_alternative<CopyBytes>(command);
      if (!profile || !std::holds_alternative<Dispatch>(command)) continue;
      commands.Barrier(indirect);  // so that the time is this step's alone
      commands.WriteTimestamp(timestamp++);
    }
  }
  return commands.End();
}

Status ExecutionContext::RecordCommand(const GpuCommand& command, bool indirect, CommandBuffer& commands) {
  if (const auto* dispatch = std::get_if<Dispatch>(&command)) return RecordDispatch(commands, *dispatch);
  if (const auto* copy = std::get_if<CopyBytes>(&command)) {
    commands.Copy(Locate(copy->source), Locate(copy->target));
  } else {
    commands.Barrier(indirect);
  }
  return OkStatus();
}

Status ExecutionContext::RecordDispatch(CommandBuffer& commands, const Dispatch& dispatch) {
  const Plan& plan = program_.plan;
  const Step& step = plan.steps[dispatch.step];
  const BufferRange arguments{argument_blocks_.get(), program_.layout.offset_of_step[dispatch.step],
                              program_.layout.size_of_step[dispatch.step]};
  bindings_.clear();
  if (plan.bindings == BindingMode::kDescriptors) {
    for (const Binding& binding : step.bindings) {
      BufferRange range = Locate(binding.slice);
      // A kernel may read whole words where its elements are narrower; every placement has room for that.
      range.size_bytes = std::max<int64_t>(16, (range.size_bytes + 15) / 16 * 16);
      bindings_.push_back(range);
    }
  }
  commands.BeginLabel(step.name.c_str());
  const Kernel& kernel = *program_.kernels[plan.kernel_of_step[dispatch.step]];
  const Status status =
      dispatch.groups_at.buffer < 0
          ? commands.Dispatch(kernel, arguments, bindings_, PartOf(step, dispatch.part, dispatch.parts))
          : commands.DispatchIndirect(kernel, arguments, bindings_, Locate(dispatch.groups_at));
  commands.EndLabel();
  return status;
}

BufferRange ExecutionContext::Locate(const BufferSlice& slice) const {
  const PhysicalRange range = RangeOf(program_.plan, slice);
  if (range.begin == range.end) return {argument_blocks_.get(), 0, 0};
  return {BufferOf(range.space, range.index), range.begin, range.end - range.begin};
}

Buffer* ExecutionContext::BufferOf(MemorySpace space, int index) const {
  switch (space) {
    case MemorySpace::kParameter:
      return parameters_.at(index).buffer;
    case MemorySpace::kResult:
      return results_.at(index).buffer;
    case MemorySpace::kConstant:
      return program_.constant_blocks.at(index).get();
    case MemorySpace::kScratch:
      return scratch_blocks_.at(index).get();
  }
  return nullptr;
}

void ExecutionContext::RecordBlocks(CommandBuffer& commands) const {
  if (written_blocks_ == argument_blocks_) return;
  const int64_t bytes = program_.layout.total_bytes;
  commands.Barrier();  // for kernels of the run before, which read them
  commands.Copy({written_blocks_.get(), 0, bytes}, {argument_blocks_.get(), 0, bytes});
  commands.Barrier();
}

std::span<std::byte> ExecutionContext::blocks() const {
  return {written_blocks_->mapped(), static_cast<size_t>(program_.layout.total_bytes)};
}

}  // namespace VXLA_NAMESPACE
