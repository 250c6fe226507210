#include "scheduler/runtime/commands/run.h"

#include <algorithm>
#include <utility>

#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/ir/module.h"
#include "core/passes/base/control_flow.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/plan/barriers.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/argument_check.h"
#include "scheduler/runtime/commands/profiler.h"
#include "scheduler/runtime/memory/live_values.h"

namespace VXLA_NAMESPACE {
namespace {

// A counted loop's iterations are submitted ahead of the device, but not without end: twice so many at most.
constexpr int64_t kIterationsInFlight = 64;
// A loop that ends itself on the device is asked how it stands after 1, 2, 4, ... iterations, at most so many.
constexpr int64_t kMostAhead = 256;

}  // namespace

Run::Run(std::shared_ptr<ExecutableState> state, const ExecuteOptions& options)
    : state_(std::move(state)),
      plan_(state_->program.plan),
      pool_(*state_->client->pool),
      device_(*state_->client->device),
      device_step_(options.device_step) {
  const auto& of_run = options.evaluator_of_run ? options.evaluator_of_run : state_->client->options.evaluator_of_run;
  evaluate_ = of_run ? of_run() : state_->client->evaluate;
}

Run::~Run() {
  Unpin();
  Abandon();
}

void Run::Unpin() {
  if (pins_) {
    for (const auto& memory : borrowed_) memory->Unpin();
  }
  pins_ = false;
}

// A run that failed half-way: nothing may be given back while the device still works on it.
void Run::Abandon() {
  if (context_ == nullptr) return;
  (void)device_.Wait(Later(after_, context_->finished()));
  context_.reset();
  state_->contexts->Forget();
}

Status Run::Begin(std::span<const Argument> arguments, RunStatistics& statistics) {
  VXLA_RETURN_IF_ERROR(CheckArguments(*state_->module, device_, arguments));
  VXLA_RETURN_IF_ERROR(state_->made.Await());
  VXLA_ASSIGN_OR_RETURN(context_, state_->contexts->Acquire(statistics.allocated_bytes));
  VXLA_RETURN_IF_ERROR(TakeParameters(arguments, statistics.allocated_bytes));
  VXLA_RETURN_IF_ERROR(TakeResults(statistics.allocated_bytes));
  return Bind(statistics);
}

Result<Execution> Run::Submit(RunStatistics& statistics) {
  VXLA_RETURN_IF_ERROR(SubmitAll(statistics));
  for (const auto& memory : parameters_) {
    if (memory != nullptr) memory->NoteUse(after_);
  }
  const Event done(pool_.waiter(), after_);
  for (const auto& memory : results_) memory->set_ready(done);
  state_->contexts->Release(std::move(context_));
  return Results(done);
}

Execution Run::Defer() {
  promise_ = std::make_shared<Promise>();
  for (const auto& memory : borrowed_) memory->NoteUse(promise_->event());
  for (const auto& memory : results_) memory->set_ready(promise_->event());
  Unpin();
  return Results(promise_->event());
}

void Run::Keep(RunStatistics& statistics) {
  const Status status = Guarded([&] { return SubmitAll(statistics); });
  if (status.ok()) {
    for (const auto& memories : {parameters_, borrowed_}) {
      for (const auto& memory : memories) {
        if (memory != nullptr) memory->NoteUse(after_);
      }
    }
    state_->contexts->Release(std::move(context_));
    promise_->Keep(pool_.waiter(), after_);
  } else {
    Abandon();
    promise_->Keep(status);
  }
  for (const auto& memories : {borrowed_, results_}) {
    for (const auto& memory : memories) memory->NotePromiseKept();
  }
}

Status Run::SubmitAll(RunStatistics& statistics) {
  VXLA_RETURN_IF_ERROR(AwaitPromises());
  for (const auto& [leaf, source] : copies_) VXLA_RETURN_IF_ERROR(CopyParameter(leaf, *source));
  if (CommandBuffer* const update = context_->stale_blocks()) {
    VXLA_ASSIGN_OR_RETURN(const TimePoint point, device_.Submit(*update, after_));
    context_->NoteSubmitted(point);
    context_->NoteBlocksUpdated();
    After(point);
  }
  if (state_->program.profile) profile_.steps = StepTimesOf(plan_);
  state_->client->Report({CallProgress::Stage::kRun});
  arguments_ready_ = after_;
  submitted_.assign(plan_.segments.size(), {});
  VXLA_RETURN_IF_ERROR(RunSegments(0, static_cast<int>(plan_.segments.size())));
  statistics.read_backs = read_backs_;
  statistics.uploaded_bytes = uploaded_bytes_;
  statistics.downloaded_bytes = downloaded_bytes_;
  statistics.steps = std::move(profile_.steps);
  statistics.spans = std::move(profile_.spans);
  return OkStatus();
}

Status Run::AwaitPromises() {
  for (const Event& promise : contents_) {
    VXLA_ASSIGN_OR_RETURN(const Moment ready, promise.AwaitSubmission());
    After(ready);
  }
  for (const Event& promise : uses_) {
    // A use that failed is over.
    if (const Result<Moment> used = promise.AwaitSubmission(); used.ok()) After(*used);
  }
  return OkStatus();
}

Execution Run::Results(const Event& done) const {
  Execution execution;
  execution.shape = plan_.result_shape;
  execution.done = done;
  const auto messages =
      plan_.size_messages.empty() ? nullptr : std::make_shared<const std::vector<std::string>>(plan_.size_messages);
  for (size_t leaf = 0; leaf < results_.size(); ++leaf) {
    results_[leaf]->set_size_messages(messages);
    execution.leaves.emplace_back(plan_.results[leaf].shape, results_[leaf]);
  }
  return execution;
}

Status Run::TakeParameters(std::span<const Argument> arguments, int64_t& allocated_bytes) {
  parameters_.resize(plan_.parameters.size());
  // Pins first: a value that is donated must not be an argument twice.
  for (const Argument& argument : arguments) {
    for (const DeviceBuffer& value : argument.leaves) {
      if (!value.memory()->Pin()) {
        for (const auto& memory : borrowed_) memory->Unpin();
        return InvalidArgument("argument {}: the value was {}", &argument - arguments.data(),
                               value.memory()->donated() ? "donated to an earlier run" : "deleted");
      }
      borrowed_.push_back(value.memory());
    }
  }
  pins_ = true;
  std::vector<const Literal*> literals;
  for (int leaf = 0, first = 0; leaf < static_cast<int>(plan_.parameters.size()); ++leaf) {
    const PlanParameter& parameter = plan_.parameters[leaf];
    const Argument& argument = arguments[parameter.number];
    if (leaf == 0 || plan_.parameters[leaf - 1].number != parameter.number) {
      first = leaf;
      literals = argument.literal != nullptr ? FlattenLiteral(*argument.literal) : std::vector<const Literal*>{};
    }
    if (argument.literal != nullptr) {
      state_->client->Report({CallProgress::Stage::kUpload, static_cast<size_t>(leaf), plan_.parameters.size()});
      VXLA_RETURN_IF_ERROR(UploadParameter(leaf, *literals.at(leaf - first), allocated_bytes));
    } else if (argument.leaves.at(leaf - first).knows_sizes()) {
      VXLA_ASSIGN_OR_RETURN(const Literal value, argument.leaves.at(leaf - first).ToLiteral());
      VXLA_RETURN_IF_ERROR(UploadParameter(leaf, value, allocated_bytes));
    } else {
      VXLA_RETURN_IF_ERROR(BorrowParameter(leaf, argument, argument.leaves.at(leaf - first), allocated_bytes));
    }
  }
  return OkStatus();
}

Status Run::UploadParameter(int leaf, const Literal& value, int64_t& allocated_bytes) {
  const PlanParameter& parameter = plan_.parameters[leaf];
  const bool read = IsTouched(parameter) || IsPassedThrough(parameter);
  if (!read && parameter.donated_to < 0) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(parameters_[leaf], pool_.Take(DeviceBytes(parameter.shape),
                                                      read ? BufferPool::Writer::kHost : BufferPool::Writer::kDevice,
                                                      allocated_bytes, context_->LastParameter(leaf)));
  After(parameters_[leaf]->last_use());
  if (!read) return OkStatus();
  uploaded_bytes_ += DeviceBytes(parameter.shape);
  if (!parameter.shape.IsDynamic()) return UploadLiteral(device_, value, parameters_[leaf]->buffer(), 0);
  return UploadLiteral(device_, ConformTo(value, parameter.shape), parameters_[leaf]->buffer(), 0);
}

Status Run::BorrowParameter(int leaf, const Argument& argument, const DeviceBuffer& value, int64_t& allocated_bytes) {
  const PlanParameter& parameter = plan_.parameters[leaf];
  DeviceMemory& memory = *value.memory();
  if (parameter.donated_to < 0) {
    if (!IsTouched(parameter)) return OkStatus();
    parameters_[leaf] = value.memory();
    return AwaitContents(memory.ready());
  }
  if (!argument.keep && std::ranges::count(borrowed_, value.memory()) > 1) {
    return InvalidArgument("argument {}: the program donates it, but it is in use as another argument as well",
                           parameter.number);
  }
  if (!argument.keep) parameters_[leaf] = memory.Donate();
  if (parameters_[leaf] == nullptr) {  // the caller's to keep, or held by somebody
    VXLA_ASSIGN_OR_RETURN(parameters_[leaf],
                          pool_.Take(memory.size_bytes(), BufferPool::Writer::kDevice, allocated_bytes));
    After(parameters_[leaf]->last_use());
    if (memory.size_bytes() != 0) copies_.emplace_back(leaf, &memory);
    return AwaitContents(memory.ready());
  }
  parameters_[leaf]->AddPromisedUses(uses_);
  After(parameters_[leaf]->last_use());
  return AwaitContents(parameters_[leaf]->ready());
}

Status Run::AwaitContents(const Event& ready) {
  if (ready.IsSubmitted()) {
    VXLA_ASSIGN_OR_RETURN(const Moment moment, ready.AwaitSubmission());
    After(moment);
  } else {
    contents_.push_back(ready);
  }
  return OkStatus();
}

// The caller keeps the value that the program overwrites.
Status Run::CopyParameter(int leaf, DeviceMemory& source) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<CommandBuffer> commands, device_.CreateCommandBuffer(0));
  VXLA_RETURN_IF_ERROR(commands->Begin());
  commands->Copy({&source.buffer(), 0, source.size_bytes()}, {&parameters_[leaf]->buffer(), 0, source.size_bytes()});
  VXLA_RETURN_IF_ERROR(commands->End());
  auto& extra = context_->extra_commands();
  extra.push_back(nullptr);  // room first: what is submitted must not be lost
  VXLA_ASSIGN_OR_RETURN(const TimePoint point, device_.Submit(*commands, after_));
  extra.back() = std::move(commands);
  context_->NoteSubmitted(point);
  source.NoteUse(point);
  After(point);
  return OkStatus();
}

Status Run::TakeResults(int64_t& allocated_bytes) {
  results_.resize(plan_.results.size());
  for (size_t leaf = 0; leaf < plan_.results.size(); ++leaf) {
    const PlanBuffer& buffer = plan_.buffers[plan_.results[leaf].buffer];
    if (buffer.placement.space == MemorySpace::kParameter) {
      results_[leaf] = parameters_.at(buffer.placement.index);
    } else {
      VXLA_ASSIGN_OR_RETURN(results_[leaf], pool_.Take(buffer.size_bytes, BufferPool::Writer::kDevice, allocated_bytes,
                                                       context_->LastResult(static_cast<int>(leaf))));
      After(results_[leaf]->last_use());
    }
  }
  return OkStatus();
}

Status Run::Bind(RunStatistics& statistics) {
  const auto bound = [](const std::vector<std::shared_ptr<DeviceMemory>>& memories) {
    std::vector<BoundBuffer> buffers;
    for (const auto& memory : memories) {
      buffers.push_back(memory == nullptr ? BoundBuffer{} : BoundBuffer{&memory->buffer(), memory->number()});
    }
    return buffers;
  };
  VXLA_ASSIGN_OR_RETURN(const RecordCounts counts, context_->Bind(bound(parameters_), bound(results_)));
  statistics.recorded += counts.dispatches;
  statistics.recorded_copies += counts.copies;
  return OkStatus();
}

Status Run::RunSegments(int begin, int end) {
  for (int i = begin; i < end; i = plan_.SegmentEnd(i)) VXLA_RETURN_IF_ERROR(RunSegment(i));
  return OkStatus();
}

Status Run::RunSegment(int segment) {
  if (const auto* evaluation = std::get_if<HostEvaluate>(&plan_.segments[segment])) return EvaluateOnHost(*evaluation);
  const auto* decision = std::get_if<HostDecide>(&plan_.segments[segment]);
  if (decision == nullptr) return SubmitCommands(segment);
  return decision->kind == HostDecide::Kind::kWhile ? RunWhile(segment) : RunConditional(segment);
}

Status Run::Submit(int segment, CommandBuffer& commands) {
  const int overlap = std::get<GpuCommands>(plan_.segments[segment]).overlap;
  if (overlap != 0) return SubmitBeside(segment, overlap, commands);
  VXLA_ASSIGN_OR_RETURN(const TimePoint point, device_.Submit(commands, after_));
  context_->NoteSubmitted(point);
  beside_.overlap = 0;
  after_ = point;  // what it waited for has passed by then
  submitted_[segment] = after_;
  return OkStatus();
}

Status Run::SubmitBeside(int segment, int overlap, CommandBuffer& commands) {
  // In a loop it may be the same overlap again.
  if (beside_.overlap != overlap || segment <= beside_.segment) beside_ = Beside{overlap, segment, after_, {}};
  const int queue = context_->queue(segment);
  const Moment after = Later(beside_.begin, TimePoint{queue, beside_.finished.at(queue)});
  VXLA_ASSIGN_OR_RETURN(const TimePoint point, device_.Submit(commands, after));
  context_->NoteSubmitted(point);
  beside_.segment = segment;
  beside_.finished.Join(point);
  after_ = beside_.finished;
  submitted_[segment] = point;
  return OkStatus();
}

Status Run::SubmitCommands(int segment) {
  VXLA_RETURN_IF_ERROR(Submit(segment, context_->commands(segment)));
  if (!state_->program.profile) return OkStatus();
  VXLA_RETURN_IF_ERROR(device_.Wait(after_));
  VXLA_ASSIGN_OR_RETURN(const std::vector<double> timestamps, context_->commands(segment).Timestamps());
  const double end_ms = clock_.Ms();
  const auto& commands = std::get<GpuCommands>(plan_.segments[segment]);
  VXLA_ASSIGN_OR_RETURN(const std::vector<double> shares, ReadShares(commands));
  AddStepTimes(plan_, commands, {timestamps, end_ms, shares}, profile_);
  return OkStatus();
}

// How much of its workgroups each dispatch ran.
Result<std::vector<double>> Run::ReadShares(const GpuCommands& commands) {
  std::vector<double> shares;
  for (const Dispatch& dispatch : Only<Dispatch>(commands.commands)) {
    shares.push_back(1);
    if (dispatch.groups_at.buffer < 0) continue;
    const BufferRange source = context_->Locate(dispatch.groups_at);
    Literal counts(Shape(ElementType::kU32, {3}));
    VXLA_RETURN_IF_ERROR(device_.Download(*source.buffer, source.offset_bytes, counts.mutable_bytes(), after_));
    for (int64_t k = 0; k < 3; ++k) {
      const uint32_t most = plan_.steps[dispatch.step].groups[k];
      shares.back() *= static_cast<double>(counts.GetInt(k)) / std::max(most, 1u);
    }
  }
  return shares;
}

// So many iterations of a loop whose body may be submitted without the host in between.
Status Run::SubmitIterations(int segment, int64_t count) {
  const auto& loop = std::get<HostDecide>(plan_.segments[segment]);
  const auto [begin, end] = plan_.Region(segment, 1);
  Moment behind = after_;
  for (int64_t submission = 1; count > 0; ++submission) {
    if (loop.batch > 1 && count >= loop.batch) {
      VXLA_RETURN_IF_ERROR(Submit(begin, context_->batch(begin)));
      count -= loop.batch;
    } else {
      VXLA_RETURN_IF_ERROR(RunSegments(begin, end));
      --count;
    }
    if (submission % kIterationsInFlight != 0) continue;
    VXLA_RETURN_IF_ERROR(device_.Wait(behind));
    behind = after_;
  }
  return OkStatus();
}

Status Run::RunAhead(int segment) {
  const auto& loop = std::get<HostDecide>(plan_.segments[segment]);
  for (int64_t count = 1;; count = std::min(2 * count, kMostAhead)) {
    VXLA_RETURN_IF_ERROR(SubmitIterations(segment, count));
    VXLA_ASSIGN_OR_RETURN(const int64_t go_on, ReadSelector(loop));
    if (go_on == 0) return OkStatus();
  }
}

Status Run::RunWhile(int segment) {
  const auto& loop = std::get<HostDecide>(plan_.segments[segment]);
  const int64_t limit = state_->max_loop_iterations;
  if (loop.ahead) return RunAhead(segment);
  if (loop.trip_count >= 0 && (limit < 0 || loop.trip_count <= limit))
    return SubmitIterations(segment, loop.trip_count);
  const auto [condition_begin, condition_end] = plan_.Region(segment, 0);
  const auto [body_begin, body_end] = plan_.Region(segment, 1);
  for (int64_t iteration = 0;; ++iteration) {
    if (loop.trip_count < 0) {
      VXLA_RETURN_IF_ERROR(RunSegments(condition_begin, condition_end));
      VXLA_ASSIGN_OR_RETURN(const int64_t go_on, ReadSelector(loop));
      if (go_on == 0) return OkStatus();
    }
    if (limit >= 0 && std::max(iteration, loop.trip_count - 1) >= limit) {
      return Mismatch("while: iteration limit {} reached by {}", limit, loop.instruction)
          .At(state_->instructions.at(loop.instruction)->location());
    }
    VXLA_RETURN_IF_ERROR(RunSegments(body_begin, body_end));
  }
}

Status Run::RunConditional(int segment) {
  const auto& conditional = std::get<HostDecide>(plan_.segments[segment]);
  VXLA_ASSIGN_OR_RETURN(const int64_t selector, ReadSelector(conditional));
  const int branch = BranchOf(selector, conditional.selector_is_pred, static_cast<int>(conditional.region_ends.size()));
  const auto [begin, end] = plan_.Region(segment, branch);
  return RunSegments(begin, end);
}

Result<int64_t> Run::ReadSelector(const HostDecide& decision) {
  ++read_backs_;
  const BufferRange source = context_->Locate(decision.selector);
  Literal value(Shape(decision.selector_is_pred ? ElementType::kPred : ElementType::kS32));
  downloaded_bytes_ += std::ssize(value.bytes());
  VXLA_RETURN_IF_ERROR(device_.Download(*source.buffer, source.offset_bytes, value.mutable_bytes(), after_));
  return value.GetInt(0);
}

// The device goes on with what is submitted meanwhile.
Status Run::EvaluateOnHost(const HostEvaluate& evaluation) {
  Moment needed = evaluation.waits_for_arguments ? arguments_ready_ : Moment();
  for (const int segment : evaluation.waits_for) needed.Join(submitted_[segment]);
  needed.Join(device_steps_);
  const Instruction& instruction = *state_->instructions.at(evaluation.instruction);
  if (device_step_ && !evaluation.shape.IsDynamic()) {
    VXLA_ASSIGN_OR_RETURN(const bool ran, RunDeviceStep(instruction, evaluation, needed));
    if (ran) return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(device_.Wait(needed));
  std::vector<Literal> downloaded;
  downloaded.reserve(evaluation.operands.size());
  std::vector<const Literal*> operands;
  for (const HostEvaluate::Operand& operand : evaluation.operands) {
    if (!operand.constant.empty()) {
      operands.push_back(&state_->instructions.at(operand.constant)->literal());
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(downloaded.emplace_back(), DownloadOperand(operand, needed));
    operands.push_back(&downloaded.back());
  }
  state_->client->Report({CallProgress::Stage::kHostStep, 0, 0, instruction.name()});
  const double begin_ms = clock_.Ms();
  VXLA_ASSIGN_OR_RETURN(Literal result, evaluate_(instruction, operands));
  if (state_->program.profile) profile_.spans.push_back({-1, instruction.name(), begin_ms, clock_.Ms()});
  if (evaluation.shape.IsDynamic()) result = ConformTo(result, evaluation.shape);
  if (!(result.shape() == evaluation.shape)) {
    return Internal("host evaluation of {} {} gave {} instead of {}", OpcodeText(instruction.opcode()),
                    instruction.name(), result.shape().ToString(), evaluation.shape.ToString());
  }
  const std::vector<const Literal*> leaves = FlattenLiteral(result);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const BufferRange target = context_->Locate(evaluation.results[i]);
    uploaded_bytes_ += DeviceBytes(leaves[i]->shape());
    VXLA_RETURN_IF_ERROR(UploadLiteral(device_, *leaves[i], *target.buffer, target.offset_bytes));
  }
  return OkStatus();
}

Result<bool> Run::RunDeviceStep(const Instruction& instruction, const HostEvaluate& evaluation, const Moment& needed) {
  DeviceStep step;
  step.after = needed;
  for (const HostEvaluate::Operand& operand : evaluation.operands) {
    if (!operand.constant.empty()) {
      for (const Literal* leaf : FlattenLiteral(state_->instructions.at(operand.constant)->literal()))
        step.operands.push_back({{}, leaf});
    }
    for (const BufferSlice& leaf : operand.leaves) step.operands.push_back({context_->Locate(leaf)});
  }
  for (const BufferSlice& leaf : evaluation.results) step.results.push_back(context_->Locate(leaf));
  const double begin_ms = clock_.Ms();
  VXLA_ASSIGN_OR_RETURN(const bool ran, device_step_(instruction, step));
  if (!ran) return false;
  context_->NoteSubmitted(step.finished);
  After(step.finished);
  device_steps_.Join(step.finished);
  if (state_->program.profile) profile_.spans.push_back({-1, instruction.name(), begin_ms, clock_.Ms()});
  return true;
}

Result<Literal> Run::DownloadOperand(const HostEvaluate::Operand& operand, const Moment& needed) {
  std::vector<Literal> leaves;
  for (const Shape* shape : FlattenTuple(operand.shape)) {
    const BufferRange source = context_->Locate(operand.leaves[leaves.size()]);
    downloaded_bytes_ += DeviceBytes(*shape);
    VXLA_ASSIGN_OR_RETURN(leaves.emplace_back(),
                          DownloadLiteral(device_, *shape, *source.buffer, source.offset_bytes, needed));
  }
  return UnflattenLiteral(operand.shape, leaves);
}

}  // namespace VXLA_NAMESPACE
