#include "api/placed_replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "api/devices.h"
#include "api/separate_replicas.h"
#include "backend/vulkan/device/open.h"
#include "core/attributes.h"
#include "scheduler/replicas/placement.h"
#include "scheduler/replicas/remote_devices.h"
#include "scheduler/replicas/shared_exchange.h"
#include "scheduler/replicas/transport.h"
#include "scheduler/runtime/programs/choose.h"
#include "scheduler/runtime/programs/merged.h"

namespace VXLA_NAMESPACE {

std::string DeviceOfPlace(const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return number ? "vulkan:" + text : text;
}

Result<PlaceList> PlacesOf(const std::vector<std::string>& list, int64_t devices, const DeviceOptions& options) {
  PlaceList places;
  if (list.empty()) return InvalidArgument("no devices to run on are named");
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> known, vulkan::ListDevices(options.loader_path));
  VXLA_ASSIGN_OR_RETURN(const Emulation emulate, vulkan::ParseEmulation(options.emulate));
  const auto queues = [&](const DeviceFacts& facts) {
    const int most = options.queues > 0 ? options.queues : kMostQueues;
    return emulate.queues ? std::max<int64_t>(1, most - 1) : std::min<int64_t>(facts.compute_queues(), most);
  };
  if (list.size() == 1 && IsAllDevices(list[0])) {
    std::vector<PlacementFacts> physical;
    std::vector<std::string> names;
    std::vector<DeviceFacts> running;
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i].compile_only) continue;
      names.push_back(fmt::format("vulkan:{}", i));
      running.push_back(known[i]);
      physical.push_back({queues(known[i]), 1});
    }
    if (physical.empty()) return DeviceFailure("--devices all: no device of this machine runs programs");
    const Seating placement = SpreadDevices(devices, physical);
    for (const LogicalPlace& place : placement.places) {
      places.devices.push_back(names[static_cast<size_t>(place.physical)]);
      places.queues.push_back(physical[static_cast<size_t>(place.physical)].queues);
      places.facts.emplace_back(running[static_cast<size_t>(place.physical)]);
    }
    places.place_of = placement.place_of;
    return places;
  }
  for (const std::string& text : list) {
    places.devices.push_back(DeviceOfPlace(text));
    const Result<int> index = IsCpu(text) ? Result<int>(-1) : vulkan::ChooseDevice(known, places.devices.back());
    places.facts.emplace_back();
    if (index.ok() && *index >= 0) places.facts.back() = known[static_cast<size_t>(*index)];
    places.queues.push_back(places.facts.back() ? queues(*places.facts.back()) : 1);
  }
  places.place_of = PlaceDevices(devices, std::ssize(list));
  return places;
}

struct PlacedExecutable::State {
  struct Place {
    int64_t number = 0;
    std::string name;
    MergedProgram program;
    CustomCallRegistry registry;  // the user's, and the exchanges
    EvaluateOptions evaluate;
    std::unique_ptr<Client> client;  // null: the reference
    std::shared_ptr<Executable> executable;
  };
  State(const Module& module, const DeviceGrid& devices, IntList places, const EvaluateOptions& evaluate)
      : grid(devices),
        place_of(std::move(places)),
        result(module.entry()->root()->shape()),
        timeout(evaluate.collective_timeout) {}

  DeviceAssignment Assignment() const { return {grid, place_of}; }

  const DeviceGrid grid;
  const IntList place_of;
  const Shape result;  // of a device
  const std::chrono::milliseconds timeout;
  std::vector<std::unique_ptr<Place>> places;  // of this process
  ProcessGroup* group = nullptr;               // of a job
  JobWaits waits;
  std::mutex running;
  std::unique_ptr<Transport> transport;                       // of the run, which is one at a time
  LocalTransport* local = nullptr;                            // the same; null: a job's
  std::map<int64_t, std::string> ways;                        // of each exchange, by number
  std::map<int64_t, std::unique_ptr<SharedExchange>> shared;  // those that go through shared memory
  std::vector<std::string> names;                             // of the places that have devices
  std::function<Result<std::unique_ptr<SeparateExecutable>>()> separately;
  std::unique_ptr<Program> program;

  Status AddPlace(const Module& module, const DevicePlaces& at, const std::vector<bool>& shared, bool may_run_apart,
                  const DeviceOptions& device, const EvaluateOptions& evaluate, const CompileOptions& compile) {
    auto made = std::make_unique<Place>();
    Place& place = *made;
    place.number = at.here;
    VXLA_ASSIGN_OR_RETURN(place.program, MergeDevicesOfPlace(module, grid, shared, at));
    if (may_run_apart && RunsApart(module, place.program))
      return Unsupported("the devices may part, and what they tell the host cannot be told twice");
    if (evaluate.custom_calls != nullptr) place.registry = *evaluate.custom_calls;
    for (const PlaceExchange& exchange : place.program.exchanges) RegisterExchange(place, exchange);
    place.evaluate = evaluate;
    place.evaluate.custom_calls = &place.registry;
    if (IsCpu(device.device)) {
      place.name = "the CPU reference";
      places.push_back(std::move(made));
      return OkStatus();
    }
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(device));
    place.client = MakeClient(std::move(opened), place.evaluate, device.progress);
    place.name = place.client->device().facts().name;
    VXLA_ASSIGN_OR_RETURN(place.executable, place.client->Compile(*place.program.module, compile));
    places.push_back(std::move(made));
    return OkStatus();
  }

  // The exchanges whose places see the same memory. Afterwards all places are here.
  Status Share(std::optional<SharingWay> wanted) {
    std::vector<Device*> devices(places.size(), nullptr);
    std::vector<const DeviceFacts*> facts(places.size(), nullptr);
    for (size_t p = 0; p < places.size(); ++p) {
      if (places[p]->client == nullptr) continue;
      devices[p] = &places[p]->client->device();
      facts[p] = &devices[p]->facts();
    }
    for (const auto& place : places) {
      for (const PlaceExchange& exchange : place->program.exchanges) {
        const SharingWay way = wanted.value_or(ChooseSharing(exchange, facts));
        if (ways.contains(exchange.number)) continue;
        ways.emplace(exchange.number, ExchangeText(exchange.what, SharingWay::kStaging, TellingWay::kHost));
        if (way == SharingWay::kStaging) continue;
        TellingWay telling = ChooseTelling(exchange, way, facts);
        auto made = SharedExchange::Create(exchange, way, telling, devices);
        if (!made.ok() && telling != TellingWay::kHost) {
          telling = TellingWay::kHost;
          made = SharedExchange::Create(exchange, way, telling, devices);
        }
        if (!made.ok() && wanted) return made.status();
        if (!made.ok()) continue;  // no memory for the boxes, or the driver has another mind than its facts
        ways.at(exchange.number) = ExchangeText(exchange.what, way, telling);
        shared.emplace(exchange.number, std::move(*made));
      }
    }
    return OkStatus();
  }

  // From the first run on.
  Result<std::unique_ptr<Program>> Separately() {
    VXLA_ASSIGN_OR_RETURN(std::unique_ptr<SeparateExecutable> made, separately());
    names = made->names();
    return std::unique_ptr<Program>(std::move(made));
  }

  Result<bool> RunShared(const Place& place, const Instruction& instruction, DeviceStep& step) {
    if (instruction.call_kind() != CallKind::kExchange) return false;
    const auto exchange = std::ranges::find(
        place.program.exchanges, instruction.attributes<CustomCallAttributes>().number, &PlaceExchange::number);
    if (exchange == place.program.exchanges.end() || !shared.contains(exchange->number)) return false;
    VXLA_RETURN_IF_ERROR(shared.at(exchange->number)->Run(*exchange, place.number, step, *local));
    return true;
  }

  void RegisterExchange(Place& place, const PlaceExchange& exchange) {
    place.registry.Register(exchange.target(), [this, number = place.number, &exchange](void* out, const void** in,
                                                                                        CustomCallStatus& status) {
      const Status exchanged = transport->ExchangeArrays(exchange, number, in, static_cast<void**>(out));
      if (!exchanged.ok()) status.SetFailure(std::string(exchanged.message()));
    });
  }

  // Until the place is done.
  Result<Execution> RunPlace(Place& place, ArgumentLists arguments) {
    Result<Execution> execution = Start(place, MergedArguments(place.program, arguments));
    const Status status = execution.ok() ? execution->Wait() : execution.status();
    if (status.ok()) return execution;
    // What an exchange reports comes back as the failure of a custom call.
    const std::optional<Status> missed = transport->Missed(place.number);
    return missed ? Status(missed->code(), missed->message(), status.location()) : status;
  }

  Result<Execution> Start(Place& place, const std::vector<Argument>& arguments) {
    if (place.executable != nullptr) {
      ExecuteOptions options;
      options.waits_for_host = true;
      if (local != nullptr) {
        options.device_step = [&](const Instruction& instruction, DeviceStep& step) {
          return RunShared(place, instruction, step);
        };
      }
      return place.executable->Execute(arguments, options);
    }
    std::vector<const Literal*> literals;
    for (const Argument& argument : arguments) {
      if (argument.literal == nullptr) return InvalidArgument("the reference takes the host's arrays");
      literals.push_back(argument.literal);
    }
    VXLA_ASSIGN_OR_RETURN(Literal literal, Evaluate(*place.program.module, literals, place.evaluate));
    Execution execution{.shape = literal.shape(), .leaves = {}, .done = {}, .on_host = {}};
    execution.on_host = std::make_shared<const Literal>(std::move(literal));
    return execution;
  }

  // A place that failed by itself says more than those that waited for it, who say where it was missed.
  Status Outcome(const std::vector<std::optional<Result<Execution>>>& results,
                 const std::vector<std::string>& titles) const {
    const Status* waited = nullptr;
    std::optional<size_t> failed;
    for (size_t p = 0; p < results.size(); ++p) {
      if (results[p]->ok()) continue;
      const Status& status = results[p]->status();
      if (transport->Missed(places[p]->number)) {
        if (waited == nullptr) waited = &status;
      } else if (!failed) {
        failed = p;
      }
    }
    if (!failed) return waited == nullptr ? OkStatus() : *waited;
    const Status& status = results[*failed]->status();
    if (waited == nullptr) return status;
    return Status(
        status.code(),
        fmt::format("{}; that was place {} ({}); {}", status.message(), *failed, titles[*failed], waited->message()),
        status.location());
  }
};

namespace {

// Each place runs on a thread of its own, the last one on the caller's. In a job there is one here, or none.
class PlacesTogether : public DevicesTogether {
 public:
  PlacesTogether(PlacedExecutable::State& state, std::vector<std::string> titles)
      : state_(state), titles_(std::move(titles)) {}

  const Executable& executable() const override { return *state_.places[0]->executable; }
  Attempt Try(ArgumentLists arguments, RunStatistics* statistics) override;

 private:
  void RunPlaces(ArgumentLists arguments, std::vector<std::optional<Result<Execution>>>& results);

  PlacedExecutable::State& state_;
  const std::vector<std::string> titles_;
};

void PlacesTogether::RunPlaces(ArgumentLists arguments, std::vector<std::optional<Result<Execution>>>& results) {
  const auto run = [&](size_t p) {
    results[p] = state_.RunPlace(*state_.places[p], arguments);
    if (state_.local != nullptr) state_.local->Leave(state_.places[p]->number);
  };
  std::vector<std::thread> threads;
  for (size_t p = 0; p + 1 < results.size(); ++p) threads.emplace_back(run, p);
  if (!results.empty()) run(results.size() - 1);
  for (std::thread& thread : threads) thread.join();
}

Attempt PlacesTogether::Try(ArgumentLists arguments, RunStatistics* statistics) {
  const std::lock_guard lock(state_.running);
  if (state_.group == nullptr) {
    auto local = std::make_unique<LocalTransport>(titles_, state_.timeout);
    state_.local = local.get();
    state_.transport = std::move(local);
  }
  for (const auto& [number, exchange] : state_.shared) {
    if (Status status = exchange->Rewind(); !status.ok()) return Attempt::Failed(std::move(status));
  }
  std::vector<std::optional<Result<Execution>>> results(state_.places.size());
  RunPlaces(arguments, results);
  if (Status status = state_.Outcome(results, titles_); !status.ok()) return Attempt::Failed(std::move(status));
  Attempt all;
  all.launch.by_device.resize(static_cast<size_t>(state_.grid.count()));
  for (size_t p = 0; p < state_.places.size(); ++p) {
    const PlacedExecutable::State::Place& place = *state_.places[p];
    Attempt attempt = ResultsByDevice(place.program, state_.result, **results[p], statistics);
    if (attempt.how != Attempt::How::kDone) return attempt;
    for (size_t d = 0; d < all.launch.by_device.size(); ++d) {
      if (state_.place_of[d] == place.number) all.launch.by_device[d] = std::move(attempt.launch.by_device[d]);
    }
  }
  return all;
}

// In a process of a job that has no devices.
class NoDevices : public Program {
 public:
  using Program::Program;
  const Executable& executable() const override { VXLA_CHECK(false, "a process of a job without devices"); }
  Result<Launch> Execute(ArgumentLists arguments, RunStatistics*) override {
    return Launch{std::vector<Execution>(arguments.size())};
  }
};

// What the processes of a job have to know of each other; flags.
enum : uint8_t { kMayPart = 1, kRunsApart = 2, kIsReference = 4, kMayFail = 8, kHasFailed = 16 };

class JobOfPlaces : public Job {
 public:
  explicit JobOfPlaces(PlacedExecutable::State& state) : state_(state) {}

  // Of this process, before the first run.
  void Say(uint8_t flag) { anywhere_ |= flag; }
  void SayOf(PlacedExecutable::State::Place& place, bool talks_to_host) {
    state_.names = {place.name};
    for (const Status& parting : place.program.partings) {
      if (parting.code() == StatusCode::kUnsupported) {
        Say(kMayPart);
      } else if (Attempt::Parted(parting).how == Attempt::How::kWrong && !talks_to_host) {
        Say(kMayFail);
      }
    }
  }

  Result<bool> RunsApart() override {
    if (!met_) {
      VXLA_ASSIGN_OR_RETURN(anywhere_, Together("the start of the run", anywhere_));
      met_ = true;
    }
    return (anywhere_ & kRunsApart) != 0;
  }

  Result<Attempt::How> Agree(const Attempt& here) override {
    using How = Attempt::How;
    const bool may_part = (anywhere_ & kMayPart) != 0, may_fail = (anywhere_ & (kMayFail | kIsReference)) == kMayFail;
    const bool goes_on =
        here.how == How::kDone || (here.how == How::kParted && may_part) || (here.how == How::kWrong && may_fail);
    if (!goes_on) {
      Leave();
      return How::kFailed;
    }
    if (!may_part && !may_fail) return How::kDone;
    // Who parts may be known at one place alone; the run is made again by all.
    const uint8_t found = here.how == How::kDone ? 0 : here.how == How::kWrong ? kHasFailed : kRunsApart;
    VXLA_ASSIGN_OR_RETURN(const uint8_t together, Together("the end of the run", found));
    return together == 0 ? How::kDone : together == kHasFailed ? How::kWrong : How::kParted;
  }

  void Leave() override { state_.transport->Leave(state_.group->rank()); }

  // The program whose devices run apart, in this process.
  Result<std::unique_ptr<Program>> MakeApart(const Status& why) const {
    if ((anywhere_ & kIsReference) != 0) {
      return Unsupported("{}; the devices of a job run apart on Vulkan devices alone, and a rank has the reference",
                         why.ok() ? "devices meet by ways that only a run shows" : why.message())
          .At(why.location());
    }
    if (!state_.separately) return std::unique_ptr<Program>(std::make_unique<NoDevices>(state_.Assignment()));
    return state_.Separately();
  }

 private:
  // The flags of all processes together.
  Result<uint8_t> Together(const std::string& what, uint8_t own) const {
    VXLA_ASSIGN_OR_RETURN(const auto all, Gather(*state_.group, what, {std::byte{own}}, GatherAt::kAll, state_.waits));
    uint8_t flags = 0;
    for (const std::vector<std::byte>& of_rank : all) flags |= std::to_integer<uint8_t>(of_rank.at(0));
    return flags;
  }

  PlacedExecutable::State& state_;
  uint8_t anywhere_ = 0;  // flags of all processes, once they have met; of this one before
  bool met_ = false;
};

}  // namespace

PlacedExecutable::PlacedExecutable(std::unique_ptr<State> state) : state_(std::move(state)) {}
PlacedExecutable::PlacedExecutable(PlacedExecutable&&) noexcept = default;
PlacedExecutable& PlacedExecutable::operator=(PlacedExecutable&&) noexcept = default;
PlacedExecutable::~PlacedExecutable() = default;

Result<PlacedExecutable> PlacedExecutable::Compile(const Module& module, const DeviceGrid& grid,
                                                   std::span<const std::vector<const Literal*>> arguments,
                                                   const std::vector<std::string>& places, const DeviceOptions& options,
                                                   const EvaluateOptions& evaluate, const CompileOptions& compile,
                                                   const PlaceChoices& choices) {
  VXLA_ASSIGN_OR_RETURN(const PlaceList list, PlacesOf(places, grid.count(), options));
  auto state = std::make_unique<State>(module, grid, list.place_of, evaluate);
  const std::vector<bool> shared = SharedParameters(arguments);
  const int64_t used = state->place_of.back() + 1;
  const auto options_of = [options, devices = list.devices](int64_t place) {
    DeviceOptions device = options;
    device.device = devices[static_cast<size_t>(place)];
    return device;
  };
  state->separately = [source = std::shared_ptr<const Module>(module.Clone()), grid, place_of = state->place_of, used,
                       options_of, evaluate, compile]() -> Result<std::unique_ptr<SeparateExecutable>> {
    std::vector<std::shared_ptr<Device>> devices(static_cast<size_t>(used));
    for (int64_t place = 0; place < used; ++place) {
      const DeviceOptions device = options_of(place);
      if (IsCpu(device.device)) continue;
      VXLA_ASSIGN_OR_RETURN(devices[static_cast<size_t>(place)], OpenDevice(device));
    }
    return SeparateExecutable::Compile(*source, grid, devices, place_of, evaluate, compile);
  };
  std::vector<const DeviceFacts*> facts;
  for (int64_t place = 0; place < used; ++place) {
    const auto& known = list.facts[static_cast<size_t>(place)];
    facts.push_back(known ? &*known : nullptr);
  }
  const PlaceLink link = LinkOf(choices.sharing.value_or(ChooseSharing(facts)));
  for (int64_t number = 0; number < used; ++number) {
    const DevicePlaces at{state->place_of, number, link, choices.form};
    const Status added = state->AddPlace(module, at, shared, true, options_of(number), evaluate, compile);
    if (!added.ok() && added.code() == StatusCode::kUnsupported) {
      VXLA_ASSIGN_OR_RETURN(state->program, state->Separately());
      return PlacedExecutable(std::move(state));
    }
    VXLA_RETURN_IF_ERROR(added);
  }
  VXLA_RETURN_IF_ERROR(state->Share(choices.sharing));
  for (const auto& place : state->places) state->names.push_back(place->name);
  MakeApart apart;
  if (!TalksToHost(module)) apart = [placed = state.get()](const Status&) { return placed->Separately(); };
  auto together = std::make_unique<PlacesTogether>(*state, PlaceTitles(grid, state->place_of, state->names));
  state->program = ChooseInRuns(state->Assignment(), std::move(together), std::move(apart));
  return PlacedExecutable(std::move(state));
}

Result<PlacedExecutable> PlacedExecutable::CompileInJob(const Module& module, const DeviceGrid& grid,
                                                        std::span<const std::vector<const Literal*>> arguments,
                                                        ProcessGroup& group, const JobWaits& waits,
                                                        const DeviceOptions& options, const EvaluateOptions& evaluate,
                                                        const CompileOptions& compile, const PlaceChoices& choices) {
  auto state = std::make_unique<State>(module, grid, PlaceDevices(grid.count(), group.size()), evaluate);
  state->group = &group;
  state->waits = waits;
  auto job = std::make_unique<JobOfPlaces>(*state);
  std::unique_ptr<Program> from_first_run;
  if (group.rank() <= state->place_of.back()) {
    const bool is_reference = IsCpu(options.device);
    if (is_reference) job->Say(kIsReference);
    state->separately = [source = std::shared_ptr<const Module>(module.Clone()), grid, place_of = state->place_of,
                         &group, waits, options, evaluate, compile]() -> Result<std::unique_ptr<SeparateExecutable>> {
      VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(options));
      return SeparateExecutable::CompileInJob(*source, grid, device, place_of, group, waits, evaluate, compile);
    };
    const DevicePlaces at{state->place_of, group.rank(), PlaceLink::kProcesses, choices.form};
    const Status added =
        state->AddPlace(module, at, SharedParameters(arguments), !is_reference, options, evaluate, compile);
    if (!added.ok() && added.code() == StatusCode::kUnsupported) {
      VXLA_ASSIGN_OR_RETURN(from_first_run, job->MakeApart(added));
      job->Say(kRunsApart);
    } else {
      VXLA_RETURN_IF_ERROR(added);
      job->SayOf(*state->places[0], TalksToHost(module));
    }
  }
  const MakeApart apart = [job = job.get()](const Status& why) { return job->MakeApart(why); };
  auto together = std::make_unique<PlacesTogether>(*state, std::vector<std::string>());
  state->program =
      ChooseInJob(state->Assignment(), std::move(together), std::move(from_first_run), apart, std::move(job));
  return PlacedExecutable(std::move(state));
}

Result<Literal> PlacedExecutable::Run(std::span<const std::vector<const Literal*>> arguments) {
  VXLA_ASSIGN_OR_RETURN(const HostResults results, state_->program->Run(arguments));
  return StackResults(results.leaves, state_->result.IsTuple());
}

Result<std::optional<Literal>> PlacedExecutable::RunInJob(std::span<const std::vector<const Literal*>> arguments) {
  State& state = *state_;
  std::vector<std::string> ranks;
  for (int64_t place = 0; place <= state.place_of.back(); ++place) ranks.push_back(fmt::format("rank {}", place));
  state.transport =
      std::make_unique<GroupTransport>(*state.group, PlaceTitles(state.grid, state.place_of, ranks), state.waits);
  const auto devices = static_cast<size_t>(state.grid.count());
  VXLA_ASSIGN_OR_RETURN(const Launch launch, state.program->Execute(LentArguments(arguments)));
  std::vector<std::vector<const Literal*>> leaves(devices);
  std::vector<Literal> own(devices);
  for (size_t d = 0; d < devices; ++d) {
    if (state.place_of[d] != state.group->rank()) continue;
    Result<Literal> literal = launch.by_device[d].ToLiteral();
    if (!literal.ok()) state.transport->Leave(state.group->rank());
    VXLA_ASSIGN_OR_RETURN(own[d], std::move(literal));
    leaves[d] = FlattenLiteral(own[d]);
  }
  std::vector<std::byte> bytes;
  const std::vector<const Shape*> shapes = FlattenTuple(state.result);
  for (const auto& of_device : leaves) {
    for (const Literal* leaf : of_device) PackLiteral(*leaf, bytes);
  }
  if (state.group->rank() == 0) bytes.clear();  // they are here
  VXLA_ASSIGN_OR_RETURN(const auto all,
                        Gather(*state.group, "the results", std::move(bytes), GatherAt::kFirst, state.waits));
  if (state.group->rank() != 0) return std::optional<Literal>();
  std::vector<Literal> received;
  received.reserve(devices * shapes.size());
  std::vector<std::span<const std::byte>> left(all.begin(), all.end());
  for (size_t d = 0; d < devices; ++d) {
    const auto place = static_cast<size_t>(state.place_of[d]);
    if (place == 0) continue;
    leaves[d].clear();
    for (const Shape* shape : shapes) {
      VXLA_ASSIGN_OR_RETURN(Literal leaf, UnpackLiteral(*shape, left[place]));
      leaves[d].push_back(&received.emplace_back(std::move(leaf)));
    }
  }
  VXLA_ASSIGN_OR_RETURN(Literal stacked, StackResults(leaves, state.result.IsTuple()));
  return std::optional<Literal>(std::move(stacked));
}

std::vector<std::string> PlacedExecutable::names() const { return state_->names; }

std::string PlacedExecutable::sharing() const {
  std::string text;
  for (const auto& [number, way] : state_->ways) text += way + "\n";
  return text;
}

int64_t PlacedExecutable::bytes_received() const {
  std::map<int64_t, int64_t> most;  // by exchange
  for (const auto& place : state_->places) {
    for (const PlaceExchange& exchange : place->program.exchanges)
      most[exchange.number] = std::max(most[exchange.number], exchange.BytesReceived(place->number));
  }
  int64_t bytes = 0;
  for (const auto& [number, received] : most) bytes += received;
  return bytes;
}

std::string PlacedExecutable::placement() const { return PlacementText(state_->grid, state_->place_of, names()); }

}  // namespace VXLA_NAMESPACE
