#include "scheduler/recorder.h"

#include <algorithm>

#include "scheduler/barriers.h"
#include "scheduler/profiler.h"
#include "scheduler/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

// Which of `wanted` differ from `bound`; `bound` is brought up to date.
std::vector<bool> Rebind(std::span<const BoundBuffer> wanted, std::vector<BoundBuffer>& bound) {
  std::vector<bool> moved(wanted.size());
  bound.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].buffer == nullptr) continue;
    moved[i] = bound[i].buffer == nullptr || wanted[i].number != bound[i].number;
    bound[i] = wanted[i];
  }
  return moved;
}

}  // namespace

Result<std::unique_ptr<ExecutionContext>> ExecutionContext::Create(const Program& program, BufferPool& pool,
                                                                   int64_t& allocated_bytes) {
  std::unique_ptr<ExecutionContext> context(new ExecutionContext(program));
  const Plan& plan = program.plan;
  VXLA_ASSIGN_OR_RETURN(context->argument_blocks_,
                        pool.Allocate(program.layout.total_bytes, MemoryKind::kArguments, allocated_bytes));
  for (int64_t bytes : plan.scratch_block_bytes) {
    VXLA_ASSIGN_OR_RETURN(auto block, pool.Allocate(bytes, MemoryKind::kDevice, allocated_bytes));
    context->scratch_blocks_.push_back(std::move(block));
  }
  if (context->argument_blocks_->mapped() == nullptr) {
    return Internal("device: argument memory of {} bytes is not mapped", program.layout.total_bytes);
  }
  const auto address_of = [&](MemorySpace space, int index) {
    return index == kNoPlace ? context->argument_blocks_->device_address()
                             : context->BufferOf(space, index)->device_address();
  };
  WriteArguments(plan, program.layout, address_of, context->blocks());
  context->resubmitted_ = plan.ResubmittedInFlight();
  for (const Segment& segment : plan.segments) {
    std::unique_ptr<CommandBuffer> commands;
    if (const auto* gpu = std::get_if<GpuCommands>(&segment)) {
      VXLA_ASSIGN_OR_RETURN(commands, pool.device().CreateCommandBuffer(program.profile ? TimestampCount(*gpu) : 0));
    }
    context->commands_.push_back(std::move(commands));
  }
  return context;
}

Result<RecordCounts> ExecutionContext::Bind(std::span<const BoundBuffer> parameters,
                                            std::span<const BoundBuffer> results) {
  const std::vector<bool> parameter_moved = Rebind(parameters, parameters_);
  const std::vector<bool> result_moved = Rebind(results, results_);
  const Plan& plan = program_.plan;
  if (plan.bindings == BindingMode::kAddresses) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameter_moved[i]) continue;
      PatchArguments(program_.layout.parameter_patches[i], parameters_[i].buffer->device_address(), blocks());
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!result_moved[i]) continue;
      PatchArguments(program_.layout.result_patches[i], results_[i].buffer->device_address(), blocks());
    }
  }
  RecordCounts counts;
  const bool all = !recorded_;
  recorded_ = false;  // until all of it has gone well
  for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
    const auto* gpu = std::get_if<GpuCommands>(&plan.segments[i]);
    if (gpu == nullptr || (!all && !NamesMovedBuffer(*gpu, parameter_moved, result_moved))) continue;
    VXLA_RETURN_IF_ERROR(Record(i, counts));
  }
  recorded_ = true;
  return counts;
}

bool ExecutionContext::NamesMovedBuffer(const GpuCommands& segment, const std::vector<bool>& parameter_moved,
                                        const std::vector<bool>& result_moved) const {
  const auto any = [](const std::vector<bool>& moved) {
    return std::find(moved.begin(), moved.end(), true) != moved.end();
  };
  if (!any(parameter_moved) && !any(result_moved)) return false;
  const bool addresses = program_.plan.bindings == BindingMode::kAddresses;
  for (const GpuCommand& command : segment.commands) {
    if (addresses && std::holds_alternative<Dispatch>(command)) continue;
    for (const MemoryUse& use : MemoryUses(program_.plan, command)) {
      if (use.range.space == MemorySpace::kParameter && parameter_moved[use.range.index]) return true;
      if (use.range.space == MemorySpace::kResult && result_moved[use.range.index]) return true;
    }
  }
  return false;
}

Status ExecutionContext::Record(int segment, RecordCounts& counts) {
  CommandBuffer& commands = *commands_[segment];
  const Plan& plan = program_.plan;
  VXLA_RETURN_IF_ERROR(commands.Begin(resubmitted_[segment]));
  int timestamp = 0;
  if (program_.profile) commands.WriteTimestamp(timestamp++);
  for (const GpuCommand& command : std::get<GpuCommands>(plan.segments[segment]).commands) {
    if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
      VXLA_RETURN_IF_ERROR(RecordDispatch(commands, *dispatch));
      ++counts.dispatches;
      if (program_.profile) {
        commands.Barrier();  // so that the time is this step's alone
        commands.WriteTimestamp(timestamp++);
      }
    } else if (const auto* copy = std::get_if<CopyBytes>(&command)) {
      commands.Copy(Locate(copy->source), Locate(copy->target));
      ++counts.copies;
    } else {
      commands.Barrier();
    }
  }
  return commands.End();
}

Status ExecutionContext::RecordDispatch(CommandBuffer& commands, const Dispatch& dispatch) {
  const Plan& plan = program_.plan;
  const Step& step = plan.steps[dispatch.step];
  const BufferRange arguments{argument_blocks_.get(), program_.layout.offset_of_step[dispatch.step],
                              program_.layout.size_of_step[dispatch.step]};
  std::vector<BufferRange> buffers;
  if (plan.bindings == BindingMode::kDescriptors) {
    for (const Binding& binding : step.bindings) {
      BufferRange range = Locate(binding.slice);
      // A kernel may read whole words where its elements are narrower; every placement has room for that.
      range.size_bytes = std::max<int64_t>(16, (range.size_bytes + 15) / 16 * 16);
      buffers.push_back(range);
    }
  }
  commands.BeginLabel(step.name);
  const Status status = commands.Dispatch(*program_.kernels[plan.kernel_of_step[dispatch.step]], arguments, buffers,
                                          PartOf(step, dispatch.part, dispatch.parts));
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

std::span<std::byte> ExecutionContext::blocks() const {
  return {argument_blocks_->mapped(), static_cast<size_t>(program_.layout.total_bytes)};
}

}  // namespace VXLA_NAMESPACE
