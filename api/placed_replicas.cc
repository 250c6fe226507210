#include "api/placed_replicas.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/devices.h"
#include "api/separate_replicas.h"
#include "backend/vulkan/device/open.h"
#include "core/ir/attributes.h"
#include "scheduler/replicas/placement.h"
#include "scheduler/replicas/remote_devices.h"
#include "scheduler/runtime/programs/placed.h"

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
  const auto add = [&](std::string device, std::optional<DeviceFacts> facts) {
    places.devices.push_back(std::move(device));
    places.queues.push_back(facts ? queues(*facts) : 1);
    places.facts.push_back(std::move(facts));
  };
  if (list.size() == 1 && IsAllDevices(list[0])) {
    for (size_t i = 0; i < known.size() && std::ssize(places.devices) < devices; ++i) {
      if (!known[i].compile_only) add(fmt::format("vulkan:{}", i), known[i]);
    }
    if (places.devices.empty()) return DeviceFailure("--devices all: no device of this machine runs programs");
  } else {
    for (const std::string& text : list) {
      const std::string device = DeviceOfPlace(text);
      const Result<int> index = IsCpu(text) ? Result<int>(-1) : vulkan::ChooseDevice(known, device);
      add(device, index.ok() && *index >= 0 ? std::optional(known[*index]) : std::nullopt);
    }
  }
  places.place_of = PlaceDevices(devices, std::ssize(places.devices));
  return places;
}

struct PlacedExecutable::State {
  // What the host does for a place.
  struct Host {
    CustomCallRegistry registry;  // the user's, and the exchanges
    EvaluateOptions evaluate;
    std::unique_ptr<Client> client;  // null: the reference
  };
  State(const Module& module, DeviceAssignment assignment, const EvaluateOptions& evaluate)
      : result(module.entry()->root()->shape()),
        places(std::make_shared<Places>(std::move(assignment), result, evaluate.collective_timeout)) {}

  const DeviceGrid& grid() const { return places->assignment().grid; }
  const IntList& place_of() const { return places->assignment().device_of; }

  const Shape result;  // of a device
  std::vector<std::unique_ptr<Host>> hosts;
  const std::shared_ptr<Places> places;  // of this process
  ProcessGroup* group = nullptr;         // of a job
  JobWaits waits;
  std::vector<std::string> ranks;                                    // their names, for messages
  int64_t used() const { return std::ranges::max(place_of()) + 1; }  // places
  std::vector<std::string> names;                                    // of the places that have devices
  std::function<Result<std::unique_ptr<DevicesApart>>()> separately;
  std::unique_ptr<Program> program;

  Status AddPlace(const Module& module, const DevicePlaces& at, const std::vector<bool>& shared, bool may_run_apart,
                  const DeviceOptions& options, std::shared_ptr<Device> opened, const EvaluateOptions& evaluate,
                  const CompileOptions& compile) {
    auto place = std::make_unique<Places::Place>();
    auto host = std::make_unique<Host>();
    place->number = at.here;
    VXLA_ASSIGN_OR_RETURN(place->program, MergeDevices(module, grid(), shared, at));
    if (may_run_apart && RunsApart(module, place->program))
      return Unsupported("the devices may part, and what they tell the host cannot be told twice");
    if (evaluate.custom_calls != nullptr) host->registry = *evaluate.custom_calls;
    for (const PlaceExchange& exchange : place->program.exchanges) RegisterExchange(*host, at.here, exchange);
    host->evaluate = evaluate;
    host->evaluate.custom_calls = &host->registry;
    if (IsCpu(options.device)) {
      place->name = "the CPU reference";
      place->on_reference = [module = place->program.module.get(),
                             host = host.get()](const std::vector<Argument>& arguments) -> Result<Literal> {
        std::vector<const Literal*> literals;
        for (const Argument& argument : arguments) {
          if (argument.literal == nullptr) return InvalidArgument("the reference takes the host's arrays");
          literals.push_back(argument.literal);
        }
        return Evaluate(*module, literals, host->evaluate);
      };
    } else {
      place->device = std::move(opened);
      if (place->device == nullptr) VXLA_SET_OR_RETURN(place->device, OpenDevice(options));
      host->client = MakeClient(place->device, host->evaluate, options.progress);
      place->name = place->device->facts().name;
      VXLA_ASSIGN_OR_RETURN(place->executable, host->client->Compile(*place->program.module, compile));
    }
    hosts.push_back(std::move(host));
    places->Add(std::move(place));
    return OkStatus();
  }

  // From the first run on.
  Result<std::unique_ptr<Program>> Separately() {
    VXLA_ASSIGN_OR_RETURN(std::unique_ptr<DevicesApart> made, separately());
    names = made->names();
    return std::unique_ptr<Program>(std::move(made));
  }

  void RegisterExchange(Host& host, int64_t number, const PlaceExchange& exchange) {
    host.registry.Register(exchange.target(), [places = places.get(), number, &exchange](void* out, const void** in,
                                                                                         CustomCallStatus& status) {
      const Status exchanged = places->Exchange(exchange, number, in, static_cast<void**>(out));
      if (!exchanged.ok()) status.SetFailure(std::string(exchanged.message()));
    });
  }
};

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
  auto state = std::make_unique<State>(module, DeviceAssignment{grid, list.place_of}, evaluate);
  const std::vector<bool> shared = SharedParameters(arguments);
  const int64_t used = list.place_of.back() + 1;
  const auto options_of = [options, devices = list.devices](int64_t place) {
    DeviceOptions device = options;
    device.device = devices[place];
    return device;
  };
  state->separately = [source = std::shared_ptr<const Module>(module.Clone()), grid, place_of = list.place_of, used,
                       options_of, evaluate, compile]() -> Result<std::unique_ptr<DevicesApart>> {
    std::vector<std::shared_ptr<Device>> devices(static_cast<size_t>(used));
    for (int64_t place = 0; place < used; ++place) {
      const DeviceOptions device = options_of(place);
      if (IsCpu(device.device)) continue;
      VXLA_ASSIGN_OR_RETURN(devices[place], OpenDevice(device));
    }
    return CompileApart(*source, {grid, place_of}, devices, evaluate, compile);
  };
  std::vector<const DeviceFacts*> facts;
  for (int64_t place = 0; place < used; ++place) {
    const auto& known = list.facts[place];
    facts.push_back(known ? &*known : nullptr);
  }
  const PlaceLink link = LinkOf(choices.sharing.value_or(ChooseSharing(facts)));
  MemberOrder order = MemberOrder::kInARow;
  for (int64_t place = 0; place < used; ++place) {
    if (!IsCpu(options_of(place).device)) order = MemberOrder::kPairs;
  }
  for (int64_t number = 0; number < used; ++number) {
    const DevicePlaces at{state->place_of(), number, link, choices.form, order};
    const Status added = state->AddPlace(module, at, shared, true, options_of(number), nullptr, evaluate, compile);
    if (!added.ok() && added.code() == StatusCode::kUnsupported) {
      state->places->Clear();
      state->hosts.clear();
      VXLA_ASSIGN_OR_RETURN(state->program, state->Separately());
      return PlacedExecutable(std::move(state));
    }
    VXLA_RETURN_IF_ERROR(added);
  }
  VXLA_RETURN_IF_ERROR(state->places->Share(choices.sharing));
  state->names = state->places->names();
  MakeApart apart;
  if (!TalksToHost(module)) apart = [placed = state.get()](const Status&) { return placed->Separately(); };
  state->program = ChooseInRuns(state->places->assignment(), state->places, std::move(apart));
  return PlacedExecutable(std::move(state));
}

Result<std::shared_ptr<Device>> JobMembership::Open() const { return device != nullptr ? device : OpenDevice(options); }

Result<PlacedExecutable> PlacedExecutable::CompileInJob(const Module& module, const DeviceGrid& grid,
                                                        std::span<const std::vector<const Literal*>> arguments,
                                                        const JobMembership& member, const EvaluateOptions& evaluate,
                                                        const CompileOptions& compile, const PlaceChoices& choices) {
  ProcessGroup& group = *member.group;
  auto state = std::make_unique<State>(
      module, DeviceAssignment{grid, member.process_of ? *member.process_of : PlaceDevices(grid.count(), group.size())},
      evaluate);
  state->group = &group;
  state->waits = member.waits;
  state->ranks = member.names;
  for (int64_t rank = std::ssize(state->ranks); rank < state->used(); ++rank)
    state->ranks.push_back(fmt::format("rank {}", rank));
  auto job = std::make_unique<JobOfPlaces>(*state->places, group, member.waits);
  const MakeApart apart = [placed = state.get(),
                           job = job.get()](const Status& why) -> Result<std::unique_ptr<Program>> {
    VXLA_RETURN_IF_ERROR(job->CheckApart(why));
    if (!placed->separately) return WithoutDevices(placed->places->assignment());
    return placed->Separately();
  };
  std::unique_ptr<Program> from_first_run;
  if (group.rank() < state->used()) {
    const bool is_reference = IsCpu(member.options.device);
    if (is_reference) job->SayIsReference();
    state->separately = [source = std::shared_ptr<const Module>(module.Clone()), grid, place_of = state->place_of(),
                         member, evaluate, compile]() -> Result<std::unique_ptr<DevicesApart>> {
      VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, member.Open());
      return CompileApartInJob(*source, {grid, place_of}, device, *member.group, member.waits, evaluate, compile);
    };
    const DevicePlaces at{state->place_of(), group.rank(), PlaceLink::kProcesses, choices.form, member.order};
    const Status added = state->AddPlace(module, at, SharedParameters(arguments), !is_reference, member.options,
                                         member.device, evaluate, compile);
    if (!added.ok() && added.code() == StatusCode::kUnsupported) {
      VXLA_ASSIGN_OR_RETURN(from_first_run, apart(added));
      job->SayRunsApart();
    } else {
      VXLA_RETURN_IF_ERROR(added);
      state->names = state->places->names();
      job->SayOf(state->places->places()[0]->program, TalksToHost(module));
    }
  }
  state->program =
      ChooseInJob(state->places->assignment(), state->places, std::move(from_first_run), apart, std::move(job));
  return PlacedExecutable(std::move(state));
}

Result<Literal> PlacedExecutable::Run(std::span<const std::vector<const Literal*>> arguments) {
  VXLA_ASSIGN_OR_RETURN(const HostResults results, state_->program->Run(arguments));
  return StackResults(results.leaves, state_->result.IsTuple());
}

Result<Launch> PlacedExecutable::ExecuteInJob(std::span<const std::vector<Argument>> arguments) {
  State& state = *state_;
  std::vector<std::string> titles = PlaceTitles(state.grid(), state.place_of(), state.ranks);
  state.places->Meet(std::make_unique<GroupTransport>(*state.group, std::move(titles), state.waits));
  return state.program->Execute(arguments);
}

Result<std::optional<Literal>> PlacedExecutable::RunInJob(std::span<const std::vector<const Literal*>> arguments) {
  State& state = *state_;
  const int64_t rank = state.group->rank();
  const auto devices = static_cast<size_t>(state.grid().count());
  VXLA_ASSIGN_OR_RETURN(const Launch launch, ExecuteInJob(LentArguments(arguments)));
  std::vector<std::vector<const Literal*>> leaves(devices);
  std::vector<Literal> own(devices);
  for (size_t d = 0; d < devices; ++d) {
    if (state.place_of()[d] != rank) continue;
    Result<Literal> literal = launch.by_device[d].ToLiteral();
    if (!literal.ok()) state.places->Leave(rank);
    VXLA_ASSIGN_OR_RETURN(own[d], std::move(literal));
    leaves[d] = FlattenLiteral(own[d]);
  }
  std::vector<std::byte> bytes;
  const std::vector<const Shape*> shapes = FlattenTuple(state.result);
  for (const auto& of_device : leaves) {
    for (const Literal* leaf : of_device) PackLiteral(*leaf, bytes);
  }
  if (rank == 0) bytes.clear();  // they are here
  VXLA_ASSIGN_OR_RETURN(const auto all,
                        Gather(*state.group, "the results", std::move(bytes), GatherAt::kFirst, state.waits));
  if (rank != 0) return std::optional<Literal>();
  std::vector<Literal> received;
  received.reserve(devices * shapes.size());
  std::vector<std::span<const std::byte>> left(all.begin(), all.end());
  for (size_t d = 0; d < devices; ++d) {
    const auto place = static_cast<size_t>(state.place_of()[d]);
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

int64_t PlacedExecutable::devices() const { return state_->grid().count(); }

std::vector<std::string> PlacedExecutable::names() const { return state_->names; }

std::string PlacedExecutable::sharing() const { return state_->places->sharing(); }

int64_t PlacedExecutable::bytes_received() const { return state_->places->bytes_received(); }

std::string PlacedExecutable::placement() const { return PlacementText(state_->grid(), state_->place_of(), names()); }

}  // namespace VXLA_NAMESPACE
