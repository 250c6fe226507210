#include "api/separate_replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "api/devices.h"
#include "backend/replica_link.h"
#include "core/passes/base/call_inliner.h"
#include "scheduler/replicas/remote_devices.h"

namespace VXLA_NAMESPACE {
namespace {

using Clock = std::chrono::steady_clock;
double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What one device did, among what all did.
void AddStatistics(const std::string& device, const RunStatistics& own, double began_ms, RunStatistics& all) {
  all.recorded += own.recorded;
  all.recorded_copies += own.recorded_copies;
  all.compiled += own.compiled;
  all.allocated_bytes += own.allocated_bytes;
  all.read_backs += own.read_backs;
  all.uploaded_bytes += own.uploaded_bytes;
  all.downloaded_bytes += own.downloaded_bytes;
  const int64_t first = std::ssize(all.steps);
  for (StepTime step : own.steps) {
    step.name = device + ": " + step.name;
    all.steps.push_back(std::move(step));
  }
  for (RunSpan span : own.spans) {
    if (span.step >= 0) span.step += first;
    if (span.step < 0) span.on_host = device + ": " + span.on_host;
    span.begin_ms += began_ms;
    span.end_ms += began_ms;
    all.spans.push_back(std::move(span));
  }
}

Result<Literal> RunCall(const SeparateProgram::Call& call, std::span<const Literal* const> operands,
                        InstructionEvaluator& run) {
  return call.gathers ? run.Gather(*call.source, operands) : run.Evaluate(*call.source, operands);
}

}  // namespace

struct SeparateExecutable::State {
  struct Place {
    std::unique_ptr<Client> client;  // null: the reference, in a job another process
    std::shared_ptr<Executable> executable;
  };
  ProcessGroup* group = nullptr;  // of a job
  JobWaits waits;
  DeviceGrid grid;
  IntList place_of;
  EvaluateOptions evaluate;
  std::shared_ptr<const SeparateProgram> program;
  std::vector<Place> places;
  std::mutex running;

  // Of one run of a device's host instructions. remote: where the device is of another process than the first one of a
  // job.
  HostEvaluator EvaluatorFor(ReplicaLink& link, int64_t device, RemoteDevice* remote) const {
    auto run = std::make_shared<InstructionEvaluator>(evaluate, link, device);
    return
        [this, run, &link, device, remote](const Instruction& instruction, std::span<const Literal* const> operands) {
          const std::optional<size_t> number = program->NumberOf(instruction);
          if (!number) return run->Evaluate(instruction, operands);
          const SeparateProgram::Call& call = program->calls[*number];
          if (remote == nullptr || Has(call.source->opcode(), Trait::kDraws, Trait::kTellsPlace))
            return RunCall(call, operands, *run);
          return remote->Call(static_cast<int64_t>(*number), operands, instruction.shape(),
                              fmt::format("{}: {}", TextWithChannel(*call.source), link.grid().Name(device)));
        };
  }

  Result<Execution> RunOnReference(ReplicaLink& link, int64_t device, const std::vector<Argument>& arguments) {
    std::vector<const Literal*> literals;
    for (const Argument& argument : arguments) {
      if (argument.literal == nullptr)
        return InvalidArgument("argument {}: the reference takes the host's arrays", literals.size());
      literals.push_back(argument.literal);
    }
    VXLA_ASSIGN_OR_RETURN(Literal result, EvaluateDevice(*program->source, literals, evaluate, link, device));
    Execution execution{.shape = result.shape(), .leaves = {}, .done = {}, .on_host = {}};
    execution.on_host = std::make_shared<const Literal>(std::move(result));
    return execution;
  }

  // Until the device is done.
  Result<Execution> RunDevice(ReplicaLink& link, int64_t device, const std::vector<Argument>& arguments,
                              RunStatistics& statistics) {
    const Place& place = places[static_cast<size_t>(place_of[static_cast<size_t>(device)])];
    if (place.client == nullptr) return RunOnReference(link, device, arguments);
    std::optional<RemoteDevice> remote;
    if (group != nullptr && group->rank() != 0) remote.emplace(*group, device, waits);
    ExecuteOptions options;
    options.statistics = &statistics;
    options.evaluator_of_run = [&] { return EvaluatorFor(link, device, remote ? &*remote : nullptr); };
    Result<Execution> execution = place.executable->Execute(arguments, options);
    Status status = execution.ok() ? execution->Wait() : execution.status();
    if (remote) {
      const Status ended = remote->End(status);
      if (status.ok()) status = ended;
    }
    VXLA_RETURN_IF_ERROR(status);
    return execution;
  }

  bool IsHere(int64_t device) const {
    return group == nullptr || place_of[static_cast<size_t>(device)] == group->rank();
  }

  // At the first process of a job.
  Status ServeElsewhere(ReplicaLink& link, const std::atomic<int64_t>& running_here, int64_t device) {
    if (group->rank() != 0) return OkStatus();
    InstructionEvaluator evaluator(evaluate, link, device);
    JobRun run;
    run.failure = [&] { return link.failure(); };
    run.is_finished = [&] { return running_here == 0; };
    run.call = [&](int64_t number, std::span<const std::byte> bytes) -> Result<Literal> {
      if (number < 0 || number >= std::ssize(program->calls)) return Internal("call {} of a job", number);
      const SeparateProgram::Call& call = program->calls[static_cast<size_t>(number)];
      std::vector<Literal> operands;
      for (const Instruction* operand : call.source->operands()) {
        VXLA_ASSIGN_OR_RETURN(operands.emplace_back(), UnpackLiteral(operand->shape(), bytes));
      }
      std::vector<const Literal*> pointers;
      for (const Literal& operand : operands) pointers.push_back(&operand);
      return RunCall(call, pointers, evaluator);
    };
    return ServeDevice(*group, place_of[static_cast<size_t>(device)], device, waits, run);
  }

  // What the devices that are here give.
  Status RunDevices(ArgumentLists arguments, std::vector<Execution>& results, RunStatistics* statistics) {
    const std::unique_ptr<ReplicaLink> link = MakeReplicaLink(grid, evaluate.collective_timeout, evaluate.host);
    const auto devices = static_cast<size_t>(grid.count());
    results.resize(devices);
    std::vector<RunStatistics> of_devices(devices);
    std::vector<double> began(devices);
    const auto start = Clock::now();
    std::atomic<int64_t> running_here = 0;
    for (int64_t device = 0; device < grid.count(); ++device) running_here += IsHere(device) ? 1 : 0;
    VXLA_RETURN_IF_ERROR(link->Run([&](int64_t device) -> Status {
      if (!IsHere(device)) return ServeElsewhere(*link, running_here, device);
      const auto d = static_cast<size_t>(device);
      began[d] = MsSince(start);
      Result<Execution> result = RunDevice(*link, device, arguments[d], of_devices[d]);
      --running_here;
      VXLA_ASSIGN_OR_RETURN(results[d], std::move(result));
      return OkStatus();
    }));
    if (statistics == nullptr) return OkStatus();
    *statistics = {};
    for (size_t d = 0; d < devices; ++d)
      AddStatistics(grid.Name(static_cast<int64_t>(d)), of_devices[d], began[d], *statistics);
    std::ranges::stable_sort(statistics->spans, {}, &RunSpan::begin_ms);
    statistics->ms = MsSince(start);
    return OkStatus();
  }
};

SeparateExecutable::SeparateExecutable(std::unique_ptr<State> state)
    : Program({state->grid, state->place_of}), state_(std::move(state)) {}
SeparateExecutable::~SeparateExecutable() = default;

Result<std::unique_ptr<SeparateExecutable>> SeparateExecutable::Compile(
    const Module& module, const DeviceGrid& grid, const std::vector<std::shared_ptr<Device>>& places,
    const IntList& place_of, const EvaluateOptions& evaluate, const CompileOptions& options) {
  auto state = std::make_unique<State>();
  state->grid = grid;
  state->place_of = place_of;
  state->evaluate = evaluate;
  return Build(std::move(state), module, places, options);
}

Result<std::unique_ptr<SeparateExecutable>> SeparateExecutable::CompileInJob(
    const Module& module, const DeviceGrid& grid, const std::shared_ptr<Device>& device, const IntList& place_of,
    ProcessGroup& group, const JobWaits& waits, const EvaluateOptions& evaluate, const CompileOptions& options) {
  auto state = std::make_unique<State>();
  state->group = &group;
  state->waits = waits;
  state->grid = grid;
  state->place_of = place_of;
  state->evaluate = evaluate;
  state->evaluate.collective_timeout = waits.timeout;
  std::vector<std::shared_ptr<Device>> places(static_cast<size_t>(place_of.back() + 1));
  places.at(static_cast<size_t>(group.rank())) = device;
  return Build(std::move(state), module, places, options);
}

Result<std::unique_ptr<SeparateExecutable>> SeparateExecutable::Build(
    std::unique_ptr<State> state, const Module& module, const std::vector<std::shared_ptr<Device>>& places,
    const CompileOptions& options) {
  const EvaluateOptions& evaluate = state->evaluate;
  VXLA_RETURN_IF_ERROR(CheckCollectives(module, state->grid));
  VXLA_RETURN_IF_ERROR(CheckCustomCalls(module, evaluate.custom_calls, /*kernels_will_do=*/true));
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  const bool all_devices = state->group != nullptr || std::ranges::find(places, nullptr) == places.end();
  state->program = std::make_shared<const SeparateProgram>(SeparateDevices(*inlined, state->grid, all_devices));
  for (size_t p = 0; p < places.size(); ++p) {
    State::Place& place = state->places.emplace_back();
    if (places[p] == nullptr) continue;
    ClientOptions client = ClientOptionsFor(evaluate);
    client.check_program = nullptr;  // the calls of SeparateDevices are nobody's; the others have been looked at
    // All devices of a place meet in the middle of their runs.
    client.least_runs_in_flight =
        std::max(1, static_cast<int>(std::ranges::count(state->place_of, static_cast<int64_t>(p))));
    client.evaluator_of_run = nullptr;  // each run brings its own
    const auto folds = [evaluate](const Instruction& instruction, std::span<const Literal* const> operands) {
      return EvaluateInstruction(instruction, operands, evaluate);
    };
    place.client = std::make_unique<Client>(places[p], folds, std::move(client));
    VXLA_ASSIGN_OR_RETURN(place.executable, place.client->Compile(*state->program->module, options));
  }
  return std::unique_ptr<SeparateExecutable>(new SeparateExecutable(std::move(state)));
}

Result<Launch> SeparateExecutable::Execute(ArgumentLists arguments, RunStatistics* statistics) {
  State& state = *state_;
  const std::lock_guard lock(state.running);
  Launch launch;
  Status status = state.RunDevices(arguments, launch.by_device, statistics);
  if (state.group != nullptr) {
    status = state.group->rank() == 0 ? TellOutcome(*state.group, state.place_of.back() + 1, status, state.waits)
                                      : HearOutcome(*state.group, status, state.waits);
  }
  VXLA_RETURN_IF_ERROR(status);
  return launch;
}

std::vector<std::string> SeparateExecutable::names() const {
  std::vector<std::string> names;
  for (const State::Place& place : state_->places) {
    if (state_->group != nullptr && place.client == nullptr) continue;
    names.push_back(place.client == nullptr ? "the CPU reference" : place.client->device().facts().name);
  }
  return names;
}

const Executable& SeparateExecutable::executable() const {
  VXLA_CHECK(state_->places[0].executable != nullptr, "the first place is the reference");
  return *state_->places[0].executable;
}

}  // namespace VXLA_NAMESPACE
