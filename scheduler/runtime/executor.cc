#include "scheduler/runtime/executor.h"

#include <algorithm>
#include <system_error>

#include "backend/device.h"
#include "core/host/guarded.h"
#include "core/module.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/barriers.h"
#include "scheduler/plan.h"
#include "scheduler/replicas/device_step.h"
#include "scheduler/runtime/argument_check.h"
#include "scheduler/runtime/live_values.h"
#include "scheduler/runtime/profiler.h"

namespace VXLA_NAMESPACE {
namespace {

// A counted loop's iterations are submitted ahead of the device, but not without end: twice so many at most.
constexpr int64_t kIterationsInFlight = 64;
// A loop that ends itself on the device is asked how it stands after 1, 2, 4, ... iterations, at most so many.
constexpr int64_t kMostAhead = 256;

// One run, from its arguments to its submitted work.
class Run {
 public:
  explicit Run(ExecutableState& state)
      : state_(state), plan_(state.program.plan), pool_(*state.client->pool), device_(*state.client->device) {
    const auto& of_run = state.client->options.evaluator_of_run;
    evaluate_ = of_run ? of_run() : state.client->evaluate;
  }

  ~Run() {
    for (DeviceMemory* memory : pinned_) memory->Unpin();
    if (context_ == nullptr) return;
    // The run failed half-way: nothing may be given back while the device still works on it.
    (void)device_.Wait(Later(after_, context_->finished()));
    context_.reset();
    state_.contexts->Forget();
  }

  Result<Execution> Execute(std::span<const Argument> arguments, RunStatistics& statistics) {
    VXLA_RETURN_IF_ERROR(CheckArguments(*state_.module, device_, arguments));
    VXLA_RETURN_IF_ERROR(state_.WaitForKernels());
    VXLA_ASSIGN_OR_RETURN(context_, state_.contexts->Acquire(statistics.allocated_bytes));
    VXLA_RETURN_IF_ERROR(TakeParameters(arguments, statistics.allocated_bytes));
    VXLA_RETURN_IF_ERROR(TakeResults(statistics.allocated_bytes));
    VXLA_RETURN_IF_ERROR(Bind(statistics));
    if (state_.program.profile) profile_.steps = StepTimesOf(plan_);
    state_.client->Report({CallProgress::Stage::kRun});
    arguments_ready_ = after_;
    submitted_.assign(plan_.segments.size(), {});
    VXLA_RETURN_IF_ERROR(RunSegments(0, static_cast<int>(plan_.segments.size())));
    statistics.read_backs = read_backs_;
    statistics.steps = std::move(profile_.steps);
    statistics.spans = std::move(profile_.spans);
    return Finish();
  }

 private:
  Status TakeParameters(std::span<const Argument> arguments, int64_t& allocated_bytes);
  Status UploadParameter(int leaf, const Literal& value, int64_t& allocated_bytes);
  Status BorrowParameter(int leaf, const Argument& argument, const DeviceValue& value, int64_t& allocated_bytes);
  Status CopyParameter(int leaf, DeviceMemory& source, int64_t& allocated_bytes);
  Status TakeResults(int64_t& allocated_bytes);
  Status Bind(RunStatistics& statistics);
  Status RunSegments(int begin, int end);
  Status RunSegment(int segment);
  Status Submit(int segment, CommandBuffer& commands);
  Status SubmitBeside(int segment, int overlap, CommandBuffer& commands);
  Status SubmitCommands(int segment);
  Result<std::vector<double>> ReadShares(const GpuCommands& commands);
  Status SubmitIterations(int segment, int64_t count);
  Status RunAhead(int segment);
  Status RunWhile(int segment);
  Status RunConditional(int segment);
  Result<int64_t> ReadSelector(const HostDecide& decision);
  Status EvaluateOnHost(const HostEvaluate& evaluation);
  Result<bool> RunDeviceStep(const Instruction& instruction, const HostEvaluate& evaluation, const Moment& needed);
  Result<Literal> DownloadOperand(const HostEvaluate::Operand& operand, const Moment& needed);
  Result<Execution> Finish();

  bool IsTouched(const PlanParameter& parameter) const { return plan_.buffers[parameter.buffer].first_use >= 0; }
  // The result is the parameter's own value.
  bool IsPassedThrough(const PlanParameter& parameter) const {
    return parameter.donated_to >= 0 && plan_.results[parameter.donated_to].buffer == parameter.buffer;
  }
  void After(const Moment& moment) { after_.Join(moment); }

  ExecutableState& state_;
  const Plan& plan_;
  BufferPool& pool_;
  Device& device_;
  HostEvaluator evaluate_;
  std::unique_ptr<ExecutionContext> context_;
  std::vector<std::shared_ptr<DeviceMemory>> parameters_, results_;  // by leaf
  std::vector<DeviceMemory*> pinned_;
  std::vector<std::shared_ptr<DeviceMemory>> borrowed_;  // keeps what is pinned
  Moment after_;                                         // what the next piece of work waits for
  Moment arguments_ready_;                               // what the first one waited for
  std::vector<Moment> submitted_;                        // by segment, what its last submission reaches
  Moment device_steps_;                                  // what host steps that ran on the device have submitted
  // The overlap that is being submitted: its last segment so far, what it waits for, and all of it so far.
  struct Beside {
    int overlap = 0, segment = -1;
    Moment begin, finished;
  } beside_;
  int64_t read_backs_ = 0;
  RunStatistics profile_;  // of a profiling run: steps and spans
  const Stopwatch clock_;
};

Status Run::TakeParameters(std::span<const Argument> arguments, int64_t& allocated_bytes) {
  parameters_.resize(plan_.parameters.size());
  // Pins first: a value that is donated must not be an argument twice.
  for (const Argument& argument : arguments) {
    for (const DeviceValue& value : argument.leaves) {
      if (!value.memory()->Pin()) {
        return InvalidArgument("argument {}: the value was donated to an earlier run", &argument - arguments.data());
      }
      pinned_.push_back(value.memory().get());
      borrowed_.push_back(value.memory());
    }
  }
  std::vector<const Literal*> literals;
  for (int leaf = 0, first = 0; leaf < static_cast<int>(plan_.parameters.size()); ++leaf) {
    const PlanParameter& parameter = plan_.parameters[leaf];
    const Argument& argument = arguments[parameter.number];
    if (leaf == 0 || plan_.parameters[leaf - 1].number != parameter.number) {
      first = leaf;
      literals = argument.literal != nullptr ? FlattenLiteral(*argument.literal) : std::vector<const Literal*>{};
    }
    if (argument.literal != nullptr) {
      state_.client->Report({CallProgress::Stage::kUpload, static_cast<size_t>(leaf), plan_.parameters.size()});
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
  if (!parameter.shape.IsDynamic()) return UploadLiteral(device_, value, parameters_[leaf]->buffer(), 0);
  return UploadLiteral(device_, ConformTo(value, parameter.shape), parameters_[leaf]->buffer(), 0);
}

Status Run::BorrowParameter(int leaf, const Argument& argument, const DeviceValue& value, int64_t& allocated_bytes) {
  const PlanParameter& parameter = plan_.parameters[leaf];
  DeviceMemory& memory = *value.memory();
  if (parameter.donated_to < 0) {
    if (!IsTouched(parameter)) return OkStatus();
    parameters_[leaf] = value.memory();
    After(memory.ready());
    return OkStatus();
  }
  if (argument.keep) return CopyParameter(leaf, memory, allocated_bytes);
  parameters_[leaf] = memory.Donate();
  if (parameters_[leaf] == nullptr) {
    return InvalidArgument("argument {}: the program donates it, but it is in use as another argument as well",
                           parameter.number);
  }
  After(memory.ready());
  After(memory.last_use());
  return OkStatus();
}

// The caller keeps the value that the program overwrites.
Status Run::CopyParameter(int leaf, DeviceMemory& source, int64_t& allocated_bytes) {
  VXLA_ASSIGN_OR_RETURN(parameters_[leaf],
                        pool_.Take(source.size_bytes(), BufferPool::Writer::kDevice, allocated_bytes));
  After(source.ready());
  After(parameters_[leaf]->last_use());
  if (source.size_bytes() == 0) return OkStatus();
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
  const int overlap = std::get<GpuCommands>(plan_.segments[static_cast<size_t>(segment)]).overlap;
  if (overlap != 0) return SubmitBeside(segment, overlap, commands);
  VXLA_ASSIGN_OR_RETURN(const TimePoint point, device_.Submit(commands, after_));
  context_->NoteSubmitted(point);
  beside_.overlap = 0;
  after_ = point;  // what it waited for has passed by then
  submitted_[static_cast<size_t>(segment)] = after_;
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
  submitted_[static_cast<size_t>(segment)] = point;
  return OkStatus();
}

Status Run::SubmitCommands(int segment) {
  VXLA_RETURN_IF_ERROR(Submit(segment, context_->commands(segment)));
  if (!state_.program.profile) return OkStatus();
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
  for (const GpuCommand& command : commands.commands) {
    const auto* dispatch = std::get_if<Dispatch>(&command);
    if (dispatch == nullptr) continue;
    shares.push_back(1);
    if (dispatch->groups_at.buffer < 0) continue;
    const BufferRange source = context_->Locate(dispatch->groups_at);
    Literal counts(Shape(ElementType::kU32, {3}));
    VXLA_RETURN_IF_ERROR(device_.Download(*source.buffer, source.offset_bytes, counts.mutable_bytes(), after_));
    for (int64_t k = 0; k < 3; ++k) {
      const uint32_t most = plan_.steps[dispatch->step].groups[static_cast<size_t>(k)];
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
  const int64_t limit = state_.max_loop_iterations;
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
          .At(state_.instructions.at(loop.instruction)->location());
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
  VXLA_RETURN_IF_ERROR(device_.Download(*source.buffer, source.offset_bytes, value.mutable_bytes(), after_));
  return value.GetInt(0);
}

// The device goes on with what is submitted meanwhile.
Status Run::EvaluateOnHost(const HostEvaluate& evaluation) {
  Moment needed = evaluation.waits_for_arguments ? arguments_ready_ : Moment();
  for (const int segment : evaluation.waits_for) needed.Join(submitted_[static_cast<size_t>(segment)]);
  needed.Join(device_steps_);
  const Instruction& instruction = *state_.instructions.at(evaluation.instruction);
  if (state_.client->options.device_step && !evaluation.shape.IsDynamic()) {
    VXLA_ASSIGN_OR_RETURN(const bool ran, RunDeviceStep(instruction, evaluation, needed));
    if (ran) return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(device_.Wait(needed));
  std::vector<Literal> downloaded;
  downloaded.reserve(evaluation.operands.size());
  std::vector<const Literal*> operands;
  for (const HostEvaluate::Operand& operand : evaluation.operands) {
    if (!operand.constant.empty()) {
      operands.push_back(&state_.instructions.at(operand.constant)->literal());
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(Literal value, DownloadOperand(operand, needed));
    downloaded.push_back(std::move(value));
    operands.push_back(&downloaded.back());
  }
  state_.client->Report({CallProgress::Stage::kHostStep, 0, 0, instruction.name()});
  const double begin_ms = clock_.Ms();
  VXLA_ASSIGN_OR_RETURN(Literal result, evaluate_(instruction, operands));
  if (state_.program.profile) profile_.spans.push_back({-1, instruction.name(), begin_ms, clock_.Ms()});
  if (evaluation.shape.IsDynamic()) result = ConformTo(result, evaluation.shape);
  if (!(result.shape() == evaluation.shape)) {
    return Internal("host evaluation of {} {} gave {} instead of {}", OpcodeText(instruction.opcode()),
                    instruction.name(), result.shape().ToString(), evaluation.shape.ToString());
  }
  const std::vector<const Literal*> leaves = FlattenLiteral(result);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const BufferRange target = context_->Locate(evaluation.results[i]);
    VXLA_RETURN_IF_ERROR(UploadLiteral(device_, *leaves[i], *target.buffer, target.offset_bytes));
  }
  return OkStatus();
}

Result<bool> Run::RunDeviceStep(const Instruction& instruction, const HostEvaluate& evaluation, const Moment& needed) {
  DeviceStep step;
  step.after = needed;
  for (const HostEvaluate::Operand& operand : evaluation.operands) {
    if (!operand.constant.empty()) {
      for (const Literal* leaf : FlattenLiteral(state_.instructions.at(operand.constant)->literal()))
        step.operands.push_back({{}, leaf});
    }
    for (const BufferSlice& leaf : operand.leaves) step.operands.push_back({context_->Locate(leaf)});
  }
  for (const BufferSlice& leaf : evaluation.results) step.results.push_back(context_->Locate(leaf));
  const double begin_ms = clock_.Ms();
  VXLA_ASSIGN_OR_RETURN(const bool ran, state_.client->options.device_step(instruction, step));
  if (!ran) return false;
  context_->NoteSubmitted(step.finished);
  After(step.finished);
  device_steps_.Join(step.finished);
  if (state_.program.profile) profile_.spans.push_back({-1, instruction.name(), begin_ms, clock_.Ms()});
  return true;
}

Result<Literal> Run::DownloadOperand(const HostEvaluate::Operand& operand, const Moment& needed) {
  std::vector<Literal> leaves;
  for (const Shape* shape : FlattenTuple(operand.shape)) {
    const BufferRange source = context_->Locate(operand.leaves[leaves.size()]);
    VXLA_ASSIGN_OR_RETURN(Literal leaf, DownloadLiteral(device_, *shape, *source.buffer, source.offset_bytes, needed));
    leaves.push_back(std::move(leaf));
  }
  return UnflattenLiteral(operand.shape, leaves);
}

Result<Execution> Run::Finish() {
  for (const auto& memory : parameters_) {
    if (memory != nullptr) memory->NoteUse(after_);
  }
  Execution execution;
  execution.shape = plan_.result_shape;
  const auto messages =
      plan_.size_messages.empty() ? nullptr : std::make_shared<const std::vector<std::string>>(plan_.size_messages);
  for (size_t leaf = 0; leaf < results_.size(); ++leaf) {
    results_[leaf]->set_ready(after_);
    results_[leaf]->set_size_messages(messages);
    execution.leaves.emplace_back(plan_.results[leaf].shape, results_[leaf]);
  }
  state_.contexts->Release(std::move(context_));
  return execution;
}

}  // namespace

ContextPool::~ContextPool() {
  for (auto& context : idle_) (void)memory_.device().Wait(context->finished());
}

std::unique_ptr<ExecutionContext> ContextPool::TakeIdle(bool finished_only) {
  if (idle_.empty()) return nullptr;
  const auto oldest = std::min_element(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) {
    return a->finished().sum() < b->finished().sum();
  });
  if (finished_only && !memory_.device().IsDone((*oldest)->finished())) return nullptr;
  std::unique_ptr<ExecutionContext> context = std::move(*oldest);
  idle_.erase(oldest);
  return context;
}

// No memory on the host is a status here too: the caller counts out what was not made.
Result<std::unique_ptr<ExecutionContext>> ContextPool::Create(int64_t& allocated_bytes) {
  return Guarded([&] { return ExecutionContext::Create(program_, memory_, allocated_bytes); });
}

Result<std::unique_ptr<ExecutionContext>> ContextPool::Acquire(int64_t& allocated_bytes) {
  std::unique_ptr<ExecutionContext> context;
  {
    std::unique_lock lock(mutex_);
    context = TakeIdle(/*finished_only=*/true);
    if (context == nullptr && count_ < limit_) {
      idle_.reserve(count_ + 1);
      ++count_;
      lock.unlock();
      auto created = Create(allocated_bytes);
      if (created.ok()) return created;
      lock.lock();
      --count_;
      // Too little memory for another run beside those in flight: wait for one of them instead.
      if (created.status().code() != StatusCode::kResourceExhausted || count_ == 0) return created.status();
    }
    while (context == nullptr) {
      context = TakeIdle(/*finished_only=*/false);
      if (context == nullptr && count_ == 0) {
        idle_.reserve(count_ + 1);
        ++count_;
        lock.unlock();
        auto created = Create(allocated_bytes);
        if (!created.ok()) Forget();
        return created;
      }
      if (context == nullptr) released_.wait(lock);
    }
  }
  if (!context->finished().is_beginning()) {
    if (Status status = memory_.device().Wait(context->finished()); !status.ok()) {
      Forget();
      return status;
    }
  }
  context->extra_commands().clear();
  return context;
}

void ContextPool::Release(std::unique_ptr<ExecutionContext> context) noexcept {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
  released_.notify_one();
}

bool ContextPool::IsIdle() {
  std::lock_guard lock(mutex_);
  return static_cast<int>(idle_.size()) == count_ &&
         std::ranges::all_of(idle_, [&](const auto& context) { return memory_.device().IsDone(context->finished()); });
}

void ContextPool::Forget() {
  std::lock_guard lock(mutex_);
  --count_;
  released_.notify_one();
}

Status MakeKernels(ExecutableState& state) {
  const Stopwatch all;
  std::vector<const KernelKey*> keys;
  for (const KernelKey& key : state.program.plan.kernels) keys.push_back(&key);
  const auto progress = [&](size_t made, size_t wanted) {
    state.client->Report({CallProgress::Stage::kKernels, made, wanted});
  };
  VXLA_ASSIGN_OR_RETURN(state.program.kernels, state.client->device->GetKernels(state.program.plan.bindings, keys,
                                                                                &state.statistics.compiled, progress));
  state.statistics.kernels = static_cast<int>(keys.size());
  for (const auto& kernel : state.program.kernels)
    state.statistics.driver_ms += kernel == nullptr ? 0 : kernel->driver_ms;
  state.statistics.kernels_ms = all.Ms();
  return OkStatus();
}

void MakeKernelsInBackground(ExecutableState& state) {
  const auto make = [&state] {
    const std::lock_guard lock(state.client->background);
    return Guarded([&] { return MakeKernels(state); });
  };
  try {
    state.kernels_made = std::async(std::launch::async, make).share();
  } catch (const std::system_error&) {
    // No thread to be had: whoever needs the kernels first makes them.
    state.kernels_made = std::async(std::launch::deferred, make).share();
  }
}

// Blocks are bound as storage buffers under descriptors; under addresses the kernels ask for 16 bytes.
int64_t BlockAlignment(const DeviceFacts& facts, BindingMode bindings) {
  return bindings == BindingMode::kDescriptors ? std::max<int64_t>(16, facts.storage_offset_alignment) : 16;
}

void MakeContexts(ExecutableState& state) {
  state.contexts = std::make_unique<ContextPool>(state.program, *state.client->pool,
                                                 std::max(1, state.client->options.max_runs_in_flight));
}

Status AllocateConstantBlocks(ExecutableState& state) {
  int64_t allocated_bytes = 0;
  for (int64_t bytes : state.program.plan.constant_block_bytes) {
    VXLA_ASSIGN_OR_RETURN(auto block, state.client->pool->Allocate(bytes, MemoryKind::kDevice, allocated_bytes));
    state.program.constant_blocks.push_back(std::move(block));
  }
  return OkStatus();
}

Status UploadConstants(ExecutableState& state) {
  const Plan& plan = state.program.plan;
  Device& device = *state.client->device;
  VXLA_RETURN_IF_ERROR(AllocateConstantBlocks(state));
  for (const PlanConstant& constant : plan.constants) {
    const Placement& placement = plan.buffers[constant.buffer].placement;
    if (constant.instruction.empty()) {
      VXLA_RETURN_IF_ERROR(device.Upload(std::as_bytes(std::span(constant.words)),
                                         *state.program.constant_blocks.at(placement.index), placement.offset_bytes));
      continue;
    }
    const Literal& literal = state.instructions.at(constant.instruction)->literal();
    VXLA_RETURN_IF_ERROR(UploadLiteral(device, *FlattenLiteral(literal).at(constant.leaf),
                                       *state.program.constant_blocks.at(placement.index), placement.offset_bytes));
  }
  return OkStatus();
}

Executable::Executable(std::unique_ptr<ExecutableState> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

const Plan& Executable::plan() const {
  return state_->specializations != nullptr ? state_->specializations->shown().plan() : state_->program.plan;
}
const std::vector<Fallback>& Executable::fallbacks() const { return plan().fallbacks; }
const Module& Executable::module() const {
  return state_->specializations != nullptr ? state_->specializations->shown().module() : *state_->module;
}
const std::string& Executable::bundle_variant() const { return state_->bundle_variant; }

std::span<const std::byte> Executable::image_conversion(bool argument, uint32_t leaf, uint32_t format) const {
  const auto found = std::ranges::find_if(state_->conversions, [&](const ExecutableState::Conversion& each) {
    return each.of.argument == argument && each.of.leaf == leaf && each.of.format == format;
  });
  return found == state_->conversions.end() ? std::span<const std::byte>() : found->file;
}
const CompileStatistics& Executable::compile_statistics() const {
  (void)state_->WaitForKernels();  // which are part of them
  return state_->specializations != nullptr ? state_->specializations->shown().compile_statistics()
                                            : state_->statistics;
}

Result<bool> Executable::IsReady() const {
  const auto& made = state_->kernels_made;
  if (made.valid() && made.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return false;
  VXLA_RETURN_IF_ERROR(state_->WaitForKernels());
  return true;
}

bool Executable::IsIdle() const {
  const Result<bool> ready = IsReady();
  if (ready.ok() && !*ready) return false;
  return state_->contexts == nullptr || state_->contexts->IsIdle();
}

bool Executable::depends_on_sizes() const { return state_->specializations != nullptr; }

Result<StaticProgram> Executable::ProgramFor(std::span<const Literal* const> arguments) const {
  VXLA_CHECK(depends_on_sizes(), "a program of static shapes is the same for all arguments");
  return Guarded([&] {
    std::vector<Argument> values;
    for (const Literal* argument : arguments) values.emplace_back(*argument);
    return state_->specializations->ProgramFor(*state_->client->device, values);
  });
}

Result<Execution> Executable::Execute(std::span<const Argument> arguments, RunStatistics* statistics) {
  const Stopwatch all;
  RunStatistics local;
  Result<Execution> execution = Guarded([&] {
    return state_->specializations != nullptr
               ? state_->specializations->Execute(*state_->client->device, arguments, &local)
               : vxla::Run(*state_).Execute(arguments, local);
  });
  local.ms = all.Ms();
  if (statistics != nullptr) *statistics = std::move(local);
  return execution;
}

Result<Literal> Executable::Run(std::span<const Literal* const> arguments, RunStatistics* statistics) {
  const Stopwatch all;
  Result<Literal> result = Guarded([&]() -> Result<Literal> {
    std::vector<Argument> values;
    for (const Literal* argument : arguments) values.emplace_back(*argument);
    VXLA_ASSIGN_OR_RETURN(const Execution execution, Execute(values, statistics));
    VXLA_RETURN_IF_ERROR(execution.Wait());
    state_->client->Report({CallProgress::Stage::kDownload, 0, execution.leaves.size()});
    return execution.ToLiteral();
  });
  if (result.ok() && statistics != nullptr) statistics->ms = all.Ms();
  return result;
}

}  // namespace VXLA_NAMESPACE
