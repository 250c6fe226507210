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

}  // namespace

bool MayRunSeparately(const CompileOptions& options) { return !options.profile && !options.require_gpu; }

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

  Result<Literal> RunDevice(ReplicaLink& link, int64_t device, std::span<const Literal* const> arguments) {
    const Place& place = places[static_cast<size_t>(place_of[static_cast<size_t>(device)])];
    if (place.client == nullptr) return EvaluateDevice(*program->source, arguments, evaluate, link, device);
    running = {&link, device};
    return place.executable->Run(arguments);
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
  state->program = std::make_shared<const SeparateProgram>(SeparateDevices(*inlined));
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
        const Instruction* const source = program->SourceOf(instruction);
        return run->Evaluate(source != nullptr ? *source : instruction, operands);
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

Result<Literal> SeparateExecutable::Run(std::span<const std::vector<const Literal*>> arguments) {
  State& state = *state_;
  const std::unique_ptr<ReplicaLink> link =
      MakeReplicaLink(state.grid, state.evaluate.collective_timeout, state.evaluate.host);
  std::vector<Literal> results(static_cast<size_t>(state.grid.count()));
  VXLA_RETURN_IF_ERROR(link->Run([&](int64_t device) -> Status {
    const auto d = static_cast<size_t>(device);
    VXLA_ASSIGN_OR_RETURN(results[d], state.RunDevice(*link, device, arguments[d]));
    return OkStatus();
  }));
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
