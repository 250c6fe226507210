#include "scheduler/runtime/executor.h"

#include <algorithm>

#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/run.h"
#include "scheduler/runtime/memory/live_values.h"

namespace VXLA_NAMESPACE {

Status MakeKernels(ExecutableState& state, const Proceed& proceed) {
  const Stopwatch all;
  auto keys = Transformed(state.program.plan.kernels, [&](const KernelKey& key) { return &key; });
  const auto progress = [&](size_t made, size_t wanted) {
    const CallProgress call{CallProgress::Stage::kKernels, made, wanted};
    state.client->Report(call);
    return proceed ? proceed(call) : OkStatus();
  };
  VXLA_ASSIGN_OR_RETURN(state.program.kernels, state.client->device->GetKernels(state.program.plan.bindings, keys,
                                                                                &state.statistics.compiled, progress));
  state.statistics.kernels = static_cast<int>(keys.size());
  for (const auto& kernel : state.program.kernels)
    state.statistics.driver_ms += kernel == nullptr ? 0 : kernel->driver_ms;
  state.statistics.kernels_ms = all.Ms();
  return OkStatus();
}

void MakeKernelsInBackground(const std::shared_ptr<ExecutableState>& state) {
  auto promise = std::make_shared<Promise>();
  state->made = promise->event();
  state->client->background.Add([state = state, promise]() mutable {
    Status status = Guarded([&] { return MakeKernels(*state); });
    state.reset();  // who waits may end the device
    promise->Keep(std::move(status));
  });
}

// Blocks are bound as storage buffers under descriptors; under addresses the kernels ask for 16 bytes.
int64_t BlockAlignment(const DeviceFacts& facts, BindingMode bindings) {
  return bindings == BindingMode::kDescriptors ? std::max<int64_t>(16, facts.storage_offset_alignment) : 16;
}

namespace {

// What the host has to keep for a dispatch that is recorded, in its command buffer; a rough number.
constexpr int64_t kRecordedBytes = 256;
// As XLA has them of a device.
constexpr int64_t kMostRunsInFlight = 32;

int LimitOf(const ExecutableState& state) {
  const Plan& plan = state.program.plan;
  const ClientOptions& options = state.client->options;
  int64_t limit_bytes = options.max_bytes_in_flight;
  if (limit_bytes < 0) limit_bytes = static_cast<int64_t>(state.client->device->facts().memory_bytes / 4);
  int64_t run_bytes = state.program.layout.total_bytes + kRecordedBytes * plan.dispatch_count();
  for (const int64_t scratch : plan.scratch_block_bytes) run_bytes += scratch;
  const int64_t most = std::min(limit_bytes / std::max<int64_t>(run_bytes, 1), kMostRunsInFlight);
  return static_cast<int>(std::max<int64_t>({most, options.least_runs_in_flight, 1}));
}

}  // namespace

void MakeContexts(ExecutableState& state) {
  state.contexts = std::make_unique<ContextPool>(state.program, *state.client->pool, LimitOf(state));
  state.waits_on_host = !std::ranges::all_of(
      state.program.plan.segments, [](const Segment& segment) { return std::holds_alternative<GpuCommands>(segment); });
}

Status AllocateConstantBlocks(ExecutableState& state) {
  int64_t allocated_bytes = 0;
  for (int64_t bytes : state.program.plan.constant_block_bytes)
    VXLA_SET_OR_RETURN(state.program.constant_blocks.emplace_back(),
                       state.client->pool->Allocate(bytes, MemoryKind::kDevice, allocated_bytes));
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

Executable::Executable(std::shared_ptr<ExecutableState> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

namespace {

// Of a program for sizes what is shown of it; null: the state itself is.
const Executable* ShownOf(const ExecutableState& state) {
  return state.sized != nullptr ? state.sized->shown() : nullptr;
}

}  // namespace

const Plan& Executable::plan() const {
  const Executable* const shown = ShownOf(*state_);
  return shown != nullptr ? shown->plan() : state_->program.plan;
}
const std::vector<Fallback>& Executable::fallbacks() const { return plan().fallbacks; }
const Module& Executable::module() const {
  const Executable* const shown = ShownOf(*state_);
  return shown != nullptr ? shown->module() : *state_->module;
}
const std::string& Executable::bundle_variant() const { return state_->bundle_variant; }

std::span<const std::byte> Executable::image_conversion(bool argument, uint32_t leaf, uint32_t format) const {
  const auto found = std::ranges::find_if(state_->conversions, [&](const ExecutableState::Conversion& each) {
    return each.of.argument == argument && each.of.leaf == leaf && each.of.format == format;
  });
  return found == state_->conversions.end() ? std::span<const std::byte>() : found->file;
}
const CompileStatistics& Executable::compile_statistics() const {
  (void)state_->made.Await();  // which is part of them
  const Executable* const shown = ShownOf(*state_);
  return shown != nullptr ? shown->compile_statistics() : state_->statistics;
}

Event Executable::made() const { return state_->made; }

bool Executable::IsIdle() const {
  return state_->made.IsReady() && (state_->contexts == nullptr || state_->contexts->IsIdle());
}

bool Executable::depends_on_sizes() const { return state_->sized != nullptr; }

Result<StaticProgram> Executable::ProgramFor(std::span<const Literal* const> arguments) const {
  VXLA_CHECK(depends_on_sizes(), "a program of static shapes is the same for all arguments");
  return Guarded([&] {
    return state_->sized->ProgramFor(
        *state_->client->device, Transformed(arguments, [&](const Literal* argument) { return Argument(*argument); }));
  });
}

namespace {

// Runs whose host steps wait for nobody's promises are submitted by the caller, unless others are before them.
bool IsSubmittedHere(const ExecutableState& state, const Run& run, bool waits) {
  if (!run.WaitsOnHost()) return true;
  const Worker& runs = state.client->runs;
  return waits && (runs.IsIdle() || runs.IsCurrent());
}

Result<Execution> ExecutePlan(const std::shared_ptr<ExecutableState>& state, std::span<const Argument> arguments,
                              const ExecuteOptions& options, RunStatistics& statistics) {
  const bool waits = options.waits_for_host || options.statistics != nullptr || state->program.profile;
  const auto run = std::make_shared<Run>(state, options);
  VXLA_RETURN_IF_ERROR(run->Begin(arguments, statistics));
  if (IsSubmittedHere(*state, *run, waits)) return run->Submit(statistics);
  Execution execution = run->Defer();
  const auto late = std::make_shared<RunStatistics>(statistics);
  state->client->runs.Add([run = run, late]() mutable {
    run->Keep(*late);
    run.reset();
  });
  if (!waits) return execution;
  VXLA_RETURN_IF_ERROR(execution.done.AwaitSubmission().status());
  statistics = *late;
  return execution;
}

}  // namespace

Result<Execution> Executable::Execute(std::span<const Argument> arguments, RunStatistics* statistics) {
  return Execute(arguments, ExecuteOptions{.statistics = statistics, .evaluator_of_run = {}, .device_step = {}});
}

Result<Execution> Executable::Execute(std::span<const Argument> arguments, const ExecuteOptions& options) {
  const Stopwatch all;
  RunStatistics local;
  Result<Execution> execution = Guarded([&] {
    if (state_->sized == nullptr) return ExecutePlan(state_, arguments, options, local);
    ExecuteOptions inner = options;
    if (options.statistics != nullptr) inner.statistics = &local;
    return state_->sized->Execute(*state_->client->device, arguments, inner);
  });
  local.ms = all.Ms();
  if (options.statistics != nullptr) *options.statistics = std::move(local);
  return execution;
}

Result<Literal> Executable::Run(std::span<const Literal* const> arguments, RunStatistics* statistics) {
  const Stopwatch all;
  Result<Literal> result = Guarded([&]() -> Result<Literal> {
    std::vector<Argument> values = Transformed(arguments, [&](const Literal* argument) { return Argument(*argument); });
    VXLA_ASSIGN_OR_RETURN(const Execution execution, Execute(values, {statistics, /*waits_for_host=*/true, {}, {}}));
    VXLA_RETURN_IF_ERROR(execution.Wait());
    state_->client->Report({CallProgress::Stage::kDownload, 0, execution.leaves.size()});
    for (const DeviceBuffer& leaf : execution.leaves) {
      if (statistics != nullptr) statistics->downloaded_bytes += DeviceBytes(leaf.shape());
    }
    return execution.ToLiteral();
  });
  if (result.ok() && statistics != nullptr) statistics->ms = all.Ms();
  return result;
}

}  // namespace VXLA_NAMESPACE
