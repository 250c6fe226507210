#include "api/separate_replicas.h"

#include <algorithm>
#include <chrono>

#include "api/devices.h"
#include "api/replicas.h"
#include "backend/replica_link.h"
#include "core/passes/call_inliner.h"

namespace VXLA_NAMESPACE {
namespace {

// Whose run the thread is about to make: the evaluator of its host instructions is made on this thread.
struct RunningDevice {
  ReplicaLink* link = nullptr;
  int64_t device = 0;
};
thread_local RunningDevice running;

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

}  // namespace

bool RunsSeparately(const Module& module, const Result<MergedProgram>& merged) {
  return merged.ok() ? RunsSeparately(module, *merged) : merged.status().code() == StatusCode::kUnsupported;
}

bool RunsSeparately(const Module& module, const MergedProgram& merged) {
  const bool may_part = std::ranges::any_of(
      merged.partings, [](const Status& parting) { return parting.code() == StatusCode::kUnsupported; });
  return may_part && TalksToHost(module);
}

struct SeparateExecutable::State {
  struct Place {
    std::unique_ptr<Client> client;  // null: the reference
    std::shared_ptr<Executable> executable;
  };
  DeviceGrid grid;
  IntList place_of;
  EvaluateOptions evaluate;
  std::shared_ptr<const SeparateProgram> program;
  bool gives_tuple = false;
  std::vector<Place> places;

  Result<Literal> RunDevice(ReplicaLink& link, int64_t device, std::span<const Literal* const> arguments,
                            RunStatistics& statistics) {
    const Place& place = places[static_cast<size_t>(place_of[static_cast<size_t>(device)])];
    if (place.client == nullptr) return EvaluateDevice(*program->source, arguments, evaluate, link, device);
    running = {&link, device};
    return place.executable->Run(arguments, &statistics);
  }
};

SeparateExecutable::SeparateExecutable(std::unique_ptr<State> state) : state_(std::move(state)) {}
SeparateExecutable::SeparateExecutable(SeparateExecutable&&) noexcept = default;
SeparateExecutable& SeparateExecutable::operator=(SeparateExecutable&&) noexcept = default;
SeparateExecutable::~SeparateExecutable() = default;

Result<SeparateExecutable> SeparateExecutable::Compile(const Module& module, const DeviceGrid& grid,
                                                       const std::vector<std::shared_ptr<Device>>& places,
                                                       const IntList& place_of, const EvaluateOptions& evaluate,
                                                       const CompileOptions& options) {
  VXLA_RETURN_IF_ERROR(CheckCollectives(module, grid));
  VXLA_RETURN_IF_ERROR(CheckCustomCalls(module, evaluate.custom_calls, /*kernels_will_do=*/true));
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  auto state = std::make_unique<State>();
  state->grid = grid;
  state->place_of = place_of;
  state->evaluate = evaluate;
  const bool all_devices = std::ranges::find(places, nullptr) == places.end();
  state->program = std::make_shared<const SeparateProgram>(SeparateDevices(*inlined, grid, all_devices));
  state->gives_tuple = module.entry()->root()->shape().IsTuple();
  for (size_t p = 0; p < places.size(); ++p) {
    State::Place& place = state->places.emplace_back();
    if (places[p] == nullptr) continue;
    ClientOptions client = ClientOptionsFor(evaluate);
    client.check_program = nullptr;  // the calls of SeparateDevices are nobody's; the others have been looked at
    // All devices of a place meet in the middle of their runs.
    client.max_runs_in_flight = std::max(1, static_cast<int>(std::ranges::count(place_of, static_cast<int64_t>(p))));
    client.evaluator_of_run = [program = state->program, evaluate]() -> HostEvaluator {
      auto run = std::make_shared<InstructionEvaluator>(evaluate, *running.link, running.device);
      return [program, run](const Instruction& instruction, std::span<const Literal* const> operands) {
        const std::optional<size_t> number = program->NumberOf(instruction);
        if (!number) return run->Evaluate(instruction, operands);
        const SeparateProgram::Call& call = program->calls[*number];
        return call.gathers ? run->Gather(*call.source, operands) : run->Evaluate(*call.source, operands);
      };
    };
    const auto folds = [evaluate](const Instruction& instruction, std::span<const Literal* const> operands) {
      return EvaluateInstruction(instruction, operands, evaluate);
    };
    place.client = std::make_unique<Client>(places[p], folds, std::move(client));
    VXLA_ASSIGN_OR_RETURN(place.executable, place.client->Compile(*state->program->module, options));
  }
  return SeparateExecutable(std::move(state));
}

Result<Literal> SeparateExecutable::Run(std::span<const std::vector<const Literal*>> arguments,
                                        RunStatistics* statistics) {
  State& state = *state_;
  const std::unique_ptr<ReplicaLink> link =
      MakeReplicaLink(state.grid, state.evaluate.collective_timeout, state.evaluate.host);
  const auto devices = static_cast<size_t>(state.grid.count());
  std::vector<Literal> results(devices);
  std::vector<RunStatistics> of_devices(devices);
  std::vector<double> began(devices);
  const auto start = Clock::now();
  VXLA_RETURN_IF_ERROR(link->Run([&](int64_t device) -> Status {
    const auto d = static_cast<size_t>(device);
    began[d] = MsSince(start);
    VXLA_ASSIGN_OR_RETURN(results[d], state.RunDevice(*link, device, arguments[d], of_devices[d]));
    return OkStatus();
  }));
  if (statistics != nullptr) {
    *statistics = {};
    for (size_t d = 0; d < devices; ++d)
      AddStatistics(state.grid.Name(static_cast<int64_t>(d)), of_devices[d], began[d], *statistics);
    std::ranges::stable_sort(statistics->spans, {}, &RunSpan::begin_ms);
    statistics->ms = MsSince(start);
  }
  std::vector<std::vector<const Literal*>> leaves;
  for (const Literal& result : results) leaves.push_back(FlattenLiteral(result));
  return StackResults(leaves, state.gives_tuple);
}

std::vector<std::string> SeparateExecutable::names() const {
  std::vector<std::string> names;
  for (const State::Place& place : state_->places) {
    names.push_back(place.client == nullptr ? "the CPU reference" : place.client->device().facts().name);
  }
  return names;
}

const Executable& SeparateExecutable::executable() const {
  VXLA_CHECK(state_->places[0].executable != nullptr, "the first place is the reference");
  return *state_->places[0].executable;
}

}  // namespace VXLA_NAMESPACE
