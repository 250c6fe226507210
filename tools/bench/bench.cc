// vxla bench: times of programs next to peers measured in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "api/sharded_program.h"
#include "backend/cpu/reference/evaluator.h"
#include "backend/device.h"
#include "backend/vulkan/device/open.h"
#include "core/ir/module.h"
#include "core/passes/devices/device_merger.h"
#include "core/passes/sharding/exchange_cost.h"
#include "core/text/hlo_parser.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/recording.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "tools/arguments.h"
#include "tools/bench/cases.h"
#include "tools/bench/iree.h"
#include "tools/bench/load.h"
#include "tools/bench/peers.h"
#include "tools/bench/places.h"
#include "tools/bench/tune.h"
#include "tools/bench/xla.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/commands/flop_count.h"
#include "tools/commands/sharded_steps.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

struct BenchFlags {
  std::vector<std::string> names;
  ArgumentSource arguments;
  DeviceFlags device;
  CompileFlags compile;
  bool both_bindings = true;  // unless --bindings names one
  int runs = 10, warmup = 1;
  bool json = false, list = false;
  bool only_loading = false;
  std::string tune;
  std::string iree;  // the folder of its commands
  std::string against, python = "python3", table;
  double settle_seconds = 0;  // at least so long before runs count
};

// Of several runs, in ms.
struct RunTimes {
  double best = 0, median = 0, worst = 0;
  double spread = 0;  // from the first quartile to the third, as a share of the median
};

RunTimes TimesOf(std::vector<double> ms) {
  std::ranges::sort(ms);
  // Between neighbours where the place is none of an element's.
  const auto quantile = [&](double share) {
    const double at = share * static_cast<double>(ms.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, ms.size() - 1);
    return ms[below] + (at - static_cast<double>(below)) * (ms[above] - ms[below]);
  };
  const double median = quantile(0.5);
  return {ms.front(), median, ms.back(), median > 0 ? (quantile(0.75) - quantile(0.25)) / median : 0};
}

struct BenchRow {
  std::string name, device, bindings;
  double ms = 0;  // the best
  int64_t bytes = 0;
  double flop = 0;
  std::optional<PeerTime> peer = {};
  std::vector<PeerTime> sweep = {};
  std::optional<double> reference_ms = {};  // of a program file, run once on the CPU reference
  std::optional<double> driver_ms = {};     // of loading a bundle
  std::optional<double> caller_ms = {};     // of the thread that submits and waits, by the processor's time
  bool of_iree = false;
  const char* exchanges = nullptr;  // whose traffic with others `bytes` are: "a place receives"
  std::optional<RunTimes> times = {};
};

// The runs that count, after those that warm up: first touch of memory, what the driver compiles late, its clocks.
// `run` gives its own ms.
template <typename Run>
Status Measure(const BenchFlags& flags, BenchRow& row, const Run& run) {
  const auto start = Clock::now();
  for (int k = 0; k < flags.warmup || MsSince(start) < 1000 * flags.settle_seconds; ++k)
    VXLA_RETURN_IF_ERROR(run().status());
  std::vector<double> ms;
  for (int k = 0; k < flags.runs; ++k) {
    VXLA_ASSIGN_OR_RETURN(const double one, run());
    ms.push_back(one);
  }
  row.times = TimesOf(std::move(ms));
  row.ms = row.times->best;
  return OkStatus();
}

constexpr char kPlaces[] = "all_reduce_places", kSharded[] = "sharded", kKernels[] = "kernels";

// Bytes of the program's arguments and results: what a perfect kernel moves.
int64_t TrafficOf(const Module& module) {
  int64_t bytes = module.entry()->root()->shape().SizeBytes();
  for (const Instruction* parameter : module.entry()->parameters()) bytes += parameter->shape().SizeBytes();
  return bytes;
}

Result<BenchRow> MeasureOnCpu(const BenchFlags& flags, const std::string& name, const Module& module, double flop) {
  VXLA_ASSIGN_OR_RETURN(ProgramArguments arguments, LoadArguments(module, flags.arguments));
  const EvaluateOptions options = flags.compile.evaluate_options(flags.arguments.seed);
  BenchRow row{name, "cpu", "", 0, TrafficOf(module), flop, MeasureHost(name), {}, {}};
  VXLA_RETURN_IF_ERROR(Measure(flags, row, [&]() -> Result<double> {
    const auto start = Clock::now();
    VXLA_RETURN_IF_ERROR(Evaluate(module, arguments.pointers(), options).status());
    return MsSince(start);
  }));
  return row;
}

// Arguments that stay whole though the program donates them.
Result<std::vector<Argument>> UploadKept(Client& client, const ProgramArguments& arguments) {
  std::vector<Argument> on_device;
  for (const Literal& value : arguments.values) {
    VXLA_ASSIGN_OR_RETURN(std::vector<DeviceBuffer> leaves, client.Upload(value));
    on_device.emplace_back(std::move(leaves)).keep = true;
  }
  return on_device;
}

// A program and its arguments on the device.
struct ReadyProgram {
  std::shared_ptr<Executable> executable;
  std::vector<Argument> arguments;
  // Submits and waits.
  Status Execute(RunStatistics* statistics = nullptr) const {
    VXLA_ASSIGN_OR_RETURN(const Execution execution, executable->Execute(arguments, statistics));
    return execution.Wait();
  }
  Result<double> TimedRun() const {
    const auto start = Clock::now();
    VXLA_RETURN_IF_ERROR(Execute());
    return MsSince(start);
  }
};
Result<ReadyProgram> MakeReady(const BenchFlags& flags, Client& client, const Module& module,
                               const CompileOptions& options) {
  ReadyProgram program;
  VXLA_ASSIGN_OR_RETURN(program.executable, client.Compile(module, options));
  VXLA_ASSIGN_OR_RETURN(const ProgramArguments arguments, LoadArguments(module, flags.arguments));
  VXLA_ASSIGN_OR_RETURN(program.arguments, UploadKept(client, arguments));
  return program;
}

Result<BenchRow> MeasureOnDevice(const BenchFlags& flags, Client& client, const std::string& name, const Module& module,
                                 double flop, bool fusion, bool wide_accumulation) {
  CompileOptions options = flags.compile.options();
  options.wide_accumulation |= wide_accumulation;
  options.fusion &= fusion;
  VXLA_ASSIGN_OR_RETURN(const ReadyProgram program, MakeReady(flags, client, module, options));
  PrintFallbacks(*program.executable);
  const bool addresses = client.device().binding_mode() == BindingMode::kAddresses;
  BenchRow row{
      name, client.device().facts().name, addresses ? "addresses" : "descriptors", 0, TrafficOf(module), flop, {}, {},
      {}};
  VXLA_RETURN_IF_ERROR(Measure(flags, row, [&] { return program.TimedRun(); }));
  VXLA_ASSIGN_OR_RETURN(row.sweep, MeasureHandWritten(client.device(), name));
  if (!row.sweep.empty()) {
    row.peer = row.sweep.front();
  } else if (name == "replay_1000") {
    VXLA_ASSIGN_OR_RETURN(row.peer, MeasureHandRecorded(client.device(), *program.executable));
    if (ThreadMs() > 0) {
      VXLA_ASSIGN_OR_RETURN(row.caller_ms, BestOf(flags.runs, [&]() -> Result<double> {
                              const double start = ThreadMs();
                              VXLA_RETURN_IF_ERROR(program.Execute());
                              return ThreadMs() - start;
                            }));
    }
  } else if (row.peer = MeasureHost(name); !row.peer && row.bytes > 0) {
    VXLA_ASSIGN_OR_RETURN(row.peer, MeasureCopy(client.device(), row.bytes / 2));
    row.peer->name += " of as many bytes";
  }
  return row;
}

void AddBound(std::span<const DeviceBuffer> values, std::vector<BoundBuffer>& bound) {
  for (const DeviceBuffer& value : values) bound.push_back({&value.memory()->buffer(), value.memory()->number()});
}

// What a host pays for a frame: to bind a program and to record it into a command buffer, beside running it as ever.
Result<BenchRow> MeasureRecording(const BenchFlags& flags, Client& client, const std::string& name,
                                  const Module& module) {
  VXLA_ASSIGN_OR_RETURN(const ReadyProgram program, MakeReady(flags, client, module, flags.compile.options()));
  const std::shared_ptr<Executable>& executable = program.executable;
  std::vector<BoundBuffer> bound_arguments;
  for (const Argument& argument : program.arguments) AddBound(argument.leaves, bound_arguments);
  VXLA_ASSIGN_OR_RETURN(const Execution results, executable->Execute(program.arguments));
  VXLA_RETURN_IF_ERROR(results.Wait());
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Recording> recording, Recording::Create(executable, {}));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<CommandBuffer> commands, client.device().CreateCommandBuffer(0));
  std::vector<BoundBuffer> bound_results;
  AddBound(results.leaves, bound_results);
  const bool addresses = executable->plan().bindings == BindingMode::kAddresses;
  BenchRow row{name, client.device().facts().name, addresses ? "addresses" : "descriptors", 0, 0, 0, {}, {}, {}};
  VXLA_RETURN_IF_ERROR(Measure(flags, row, [&]() -> Result<double> {
    VXLA_RETURN_IF_ERROR(commands->Begin());
    const auto start = Clock::now();
    recording->Bind(bound_arguments, bound_results);
    VXLA_RETURN_IF_ERROR(recording->Record(*commands));
    const double ms = MsSince(start);
    VXLA_RETURN_IF_ERROR(commands->End());
    return ms;
  }));
  VXLA_ASSIGN_OR_RETURN(const double ms, BestOf(flags.runs, [&] { return program.TimedRun(); }));
  row.peer = PeerTime{"submitting and waiting", ms};
  return row;
}

// From a bundle's file to an executable, on devices that are open.
Status AddLoading(const BenchFlags& flags, Client& client, const std::string& name, const std::string& file,
                  std::vector<BenchRow>& rows) {
  constexpr int kMostLoads = 5;  // each opens a device
  const bool addresses = client.device().binding_mode() == BindingMode::kAddresses;
  DeviceOptions options = flags.device.options();
  options.bindings = addresses ? "addresses" : "descriptors";
  VXLA_ASSIGN_OR_RETURN(const std::vector<LoadTime> times,
                        MeasureLoading(options, file, std::min(flags.runs, kMostLoads)));
  for (const LoadTime& time : times) {
    BenchRow row{.name = fmt::format("{}, loaded {}", name, time.what),
                 .device = client.device().facts().name,
                 .bindings = options.bindings,
                 .ms = time.ms,
                 .driver_ms = time.driver_ms};
    rows.push_back(std::move(row));
  }
  return OkStatus();
}

// The case's program as `vxla compile` writes it, for any device, under the client's way to bind.
Status AddLoadingOfCase(const BenchFlags& flags, Client& client, const BenchCase& c, const Module& module,
                        std::vector<BenchRow>& rows) {
  DeviceOptions options = flags.device.options();
  options.device = "generic";
  options.bindings = client.device().binding_mode() == BindingMode::kAddresses ? "addresses" : "descriptors";
  options.emulate.clear();
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenTarget(options));
  const std::unique_ptr<Client> compiling = MakeClient(device, flags.compile.evaluate_options(flags.arguments.seed));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable,
                        compiling->Compile(module, flags.compile.options()));
  BundleBuilder bundle;
  VXLA_RETURN_IF_ERROR(bundle.Add(*executable, *device, /*generic=*/true));
  const ScratchFolder folder;
  const std::string file = folder.path() + "/case.vxla";
  VXLA_RETURN_IF_ERROR(WriteText(file, bundle.Finish("vxla bench")));
  return AddLoading(flags, client, c.name, file, rows);
}

// Where IREE is to be had; else a note says what is missing.
void AddIree(const BenchFlags& flags, Client& client, const std::string& name, const Module& module,
             std::vector<BenchRow>& rows) {
  Progress(fmt::format("measuring {} in IREE", name));
  const DeviceFacts& facts = client.device().facts();
  const Result<double> ms = MeasureIree(module, vulkan::UuidText(facts.device_uuid), flags.iree, flags.runs);
  if (!ms.ok()) {
    Progress("");
    fmt::print(stderr, "{}: no row of IREE's: {}\n", name, ms.status().message());
    return;
  }
  BenchRow row{.name = name + " in IREE, submitting and waiting", .device = facts.name, .bindings = "", .ms = *ms};
  row.of_iree = true;
  rows.push_back(std::move(row));
}

Status AddBundle(const BenchFlags& flags, Client& client, const std::string& file, std::vector<BenchRow>& rows) {
  if (flags.only_loading) return AddLoading(flags, client, file, file, rows);
  VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(file));
  ReadyProgram program;
  VXLA_ASSIGN_OR_RETURN(program.executable, client.Load(std::as_bytes(std::span(bytes.view()))));
  const std::shared_ptr<Executable>& executable = program.executable;
  VXLA_ASSIGN_OR_RETURN(const ProgramArguments values, LoadArguments(executable->module(), flags.arguments));
  VXLA_ASSIGN_OR_RETURN(program.arguments, UploadKept(client, values));
  const bool addresses = executable->plan().bindings == BindingMode::kAddresses;
  BenchRow row{.name = file,
               .device = client.device().facts().name,
               .bindings = addresses ? "addresses" : "descriptors",
               .bytes = TrafficOf(executable->module())};
  VXLA_RETURN_IF_ERROR(Measure(flags, row, [&] { return program.TimedRun(); }));
  rows.push_back(std::move(row));
  return AddLoading(flags, client, file, file, rows);
}

bool IsBundleFile(const BenchCase& c) {
  if (!c.hlo.empty()) return false;
  const Result<FileBytes> bytes = FileBytes::Open(c.name);
  return bytes.ok() && IsBundle(std::as_bytes(std::span(bytes->view())));
}

// The width of the names' column: rows of one table stand under each other, whatever their files are called.
size_t NameWidth(const std::vector<BenchCase>& cases) {
  size_t width = 14;
  for (const BenchCase& c : cases) {
    const bool loads = c.records || IsBundleFile(c);
    const std::string_view longest = c.records ? " in IREE, submitting and waiting" : ", loaded in the background";
    width = std::max(width, c.name.size() + (loads ? longest.size() : 0));
    if (c.name == kPlaces || c.name == kSharded) width = std::max<size_t>(width, 70);
  }
  return width;
}

void PrintHeader(size_t width) {
  fmt::print("{:<{}} {:<12} {:>10} {:>10} {:>7} {:>8} {:>9}\n", "case", width, "bindings", "best ms", "median ms",
             "spread", "GB/s", "GFLOP/s");
}

void PrintRow(const BenchRow& row, size_t width) {
  fmt::print("{:<{}} {:<12} {:>10.3f}", row.name, width, row.bindings, row.ms);
  if (row.times) {
    fmt::print(" {:>10.3f} {:>6.1f}%", row.times->median, 100 * row.times->spread);
  } else {
    fmt::print(" {:>10} {:>7}", "", "");
  }
  if (row.driver_ms) {
    fmt::print("   {:.3f} ms of the driver's on all threads", *row.driver_ms);
  } else if (row.exchanges != nullptr) {
    fmt::print("   {} {} bytes", row.exchanges, row.bytes);
  } else if (!row.of_iree) {
    fmt::print(" {:>8.2f} {:>9.2f}", static_cast<double>(row.bytes) / row.ms * 1e-6, row.flop / row.ms * 1e-6);
  }
  if (row.peer) fmt::print("   {:.2f} of {} ({:.3f} ms)", row.peer->ms / row.ms, row.peer->name, row.peer->ms);
  if (row.caller_ms) fmt::print("   {:.3f} ms of this thread's", *row.caller_ms);
  if (row.reference_ms)
    fmt::print("   {:.1f} times the CPU reference ({:.3f} ms)", *row.reference_ms / row.ms, *row.reference_ms);
  fmt::print("\n");
  for (const PeerTime& peer : row.sweep) {
    const std::string name = "    " + peer.name;
    fmt::print("{:<{}} {:<12} {:>10.3f}\n", name, width, "", peer.ms);
  }
  std::fflush(stdout);
}

Json RowJson(const BenchRow& row) {
  Json json{{"name", row.name}, {"device", row.device}, {"ms", row.ms}, {"bytes", row.bytes}, {"flop", row.flop}};
  if (!row.bindings.empty()) json["bindings"] = row.bindings;
  json["peer"] = row.peer ? Json(row.peer->name) : Json();
  json["peer_ms"] = row.peer ? Json(row.peer->ms) : Json();
  json["ratio"] = row.peer ? Json(row.peer->ms / row.ms) : Json();
  if (row.reference_ms) json["cpu_ms"] = *row.reference_ms;
  if (row.driver_ms) json["driver_ms"] = *row.driver_ms;
  if (row.caller_ms) json["caller_ms"] = *row.caller_ms;
  if (row.times) {
    json["median_ms"] = row.times->median;
    json["worst_ms"] = row.times->worst;
    json["spread"] = row.times->spread;
  }
  return json;
}

Result<std::vector<BenchCase>> Selected(const std::vector<std::string>& names) {
  const std::vector<BenchCase> all = BenchCases();
  if (names.empty()) return all;
  const std::vector<BenchCase> collectives = CollectiveCases(), kernels = KernelCases();
  std::vector<BenchCase> selected;
  const auto take = [&](const std::vector<BenchCase>& cases, const std::string& name) {
    const auto it = std::ranges::find(cases, name, &BenchCase::name);
    if (it != cases.end()) selected.push_back(*it);
    return it != cases.end();
  };
  for (const std::string& name : names) {
    if (take(all, name) || take(collectives, name) || take(kernels, name)) continue;
    if (name == kKernels) {
      selected.insert(selected.end(), kernels.begin(), kernels.end());
      continue;
    }
    if (name == "collectives") selected.insert(selected.end(), collectives.begin(), collectives.end());
    if (name == "collectives" || name == kPlaces) {
      selected.push_back({kPlaces, "", 0, true, false});
      continue;
    }
    if (name == kSharded) {
      selected.push_back({kSharded, "", 0, true, false});
      continue;
    }
    // Anything else is a file; its text is read here so that a wrong name is reported before anything runs.
    Result<std::string> text = ReadFile(name);
    if (!text.ok()) {
      std::string known;
      for (const BenchCase& c : all) known += (known.empty() ? "" : ", ") + c.name;
      return InvalidArgument("{}: neither a file nor one of {}, kernels, collectives, {}, {}", name, known, kPlaces,
                             kSharded);
    }
    selected.push_back({name, "", 0, true, false});
  }
  return selected;
}

// Arguments may lie beside each program.
BenchFlags ForCase(const BenchFlags& flags, const BenchCase& c) {
  constexpr std::string_view kFolder = "{folder}";
  BenchFlags of_case = flags;
  const std::string folder = std::filesystem::path(c.name).parent_path().string();
  for (std::string& file : of_case.arguments.files) {
    if (file.starts_with(kFolder)) file.replace(0, kFolder.size(), folder.empty() ? "." : folder);
  }
  return of_case;
}

Result<std::unique_ptr<Module>> LoadCase(const BenchCase& c, const BenchFlags& flags) {
  if (c.replicas > 1) {
    VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> of_each, ParseHlo(c.hlo));
    VXLA_ASSIGN_OR_RETURN(MergedProgram merged, MergeDevices(*of_each, {c.replicas, 1}, {}));
    return std::move(merged.module);
  }
  if (!c.hlo.empty()) return ParseHlo(c.hlo);
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(c.name, flags.compile));
  const Status refined =
      RefineForArguments(module, flags.arguments, flags.compile.evaluate_options(flags.arguments.seed));
  if (!refined.ok()) return AtPlace(refined, c.name);
  return module;
}

// One client for each way to bind, opened when a case wants it.
class Clients {
 public:
  explicit Clients(const BenchFlags& flags) : flags_(flags) {}

  std::vector<std::string> modes() const {
    if (!flags_.both_bindings) return {flags_.device.bindings};
    return {"addresses", "descriptors"};
  }
  std::string counted;  // "case 3 of 45: ", for progress
  // emulate: beyond what the command line says.
  Result<Client*> Get(const std::string& mode, const std::string& emulate) {
    std::unique_ptr<Client>& client = clients_[mode + " " + emulate];
    if (client == nullptr) {
      DeviceFlags device_flags = flags_.device;
      device_flags.bindings = mode;
      device_flags.emulate += (device_flags.emulate.empty() || emulate.empty() ? "" : ",") + emulate;
      VXLA_ASSIGN_OR_RETURN(client, OpenClient(device_flags, flags_.compile.evaluate_options(flags_.arguments.seed)));
      const DeviceFacts& facts = client->device().facts();
      Progress("");
      if (!flags_.json && clients_.size() == 1)
        fmt::print("{}, {} {}\n", facts.name, facts.driver, facts.driver_version);
    }
    return client.get();
  }

 private:
  const BenchFlags& flags_;
  std::map<std::string, std::unique_ptr<Client>> clients_;
};

Result<std::vector<BenchRow>> MeasureBundle(const BenchFlags& flags, Clients& clients, const std::string& file) {
  std::vector<BenchRow> rows;
  if (IsCpu(flags.device.device))
    return InvalidArgument("a bundle, which is compiled already: --device cpu is for programs");
  for (const std::string& mode : clients.modes()) {
    VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(mode, ""));
    Progress(fmt::format("{}measuring {} with {}", clients.counted, file, mode));
    const Status status = AddBundle(flags, *client, file, rows);
    // A bundle need not have a variant for each way to bind.
    const bool other = flags.both_bindings && status.code() == StatusCode::kUnsupported;
    if (!status.ok() && !(other && (mode == clients.modes().front() || !rows.empty()))) return status;
  }
  return rows;
}

Result<std::vector<BenchRow>> MeasureOverPlaces(const BenchFlags& flags) {
  Progress("measuring all-reduces over places");
  VXLA_ASSIGN_OR_RETURN(const std::vector<PlacesTime> times, MeasurePlaces(flags.device.options(), flags.runs));
  std::vector<BenchRow> rows;
  for (const PlacesTime& time : times) {
    BenchRow row{.name = fmt::format("all-reduce of {} KiB over {} places, {}", time.bytes >> 10, time.places,
                                     ReductionFormText(time.form)),
                 .device = flags.device.device,
                 .bindings = "",
                 .ms = time.ms,
                 .bytes = time.received};
    row.exchanges = "a place receives";
    rows.push_back(std::move(row));
  }
  return rows;
}

// What all devices of a program with shardings compute, as one program of the device.
struct StepProgram {
  ReadyProgram program;
  int64_t bytes = 0;  // that a device sends
};
Result<StepProgram> CompileStep(const BenchFlags& flags, Client& client, const std::string& text, int64_t devices) {
  VXLA_ASSIGN_OR_RETURN(const ShardedProgram parsed, ParseShardedProgram(text, kSharded, devices));
  StepProgram step;
  for (const ExchangeCost& cost : ExchangesOf(*parsed.module)) step.bytes += cost.bytes;
  VXLA_ASSIGN_OR_RETURN(const MergedProgram merged, MergeDevices(*parsed.module, {1, devices}, {}));
  VXLA_ASSIGN_OR_RETURN(step.program, MakeReady(flags, client, *merged.module, flags.compile.options()));
  return step;
}

// Both programs of a step take turns, so that other load meets both.
Result<std::vector<BenchRow>> MeasureSharded(const BenchFlags& flags, Clients& clients) {
  if (IsCpu(flags.device.device)) return InvalidArgument("{}: measured on Vulkan devices alone", kSharded);
  constexpr int64_t kWidth = 256;
  VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(clients.modes().front(), ""));
  std::vector<BenchRow> rows;
  for (const ShardedStep& step : ShardedSteps(kWidth)) {
    Progress(fmt::format("{}measuring {}", clients.counted, step.name));
    VXLA_ASSIGN_OR_RETURN(const StepProgram whole, CompileStep(flags, *client, step.whole, step.devices));
    VXLA_ASSIGN_OR_RETURN(const StepProgram by_hand, CompileStep(flags, *client, step.by_hand, step.devices));
    const bool addresses = client->device().binding_mode() == BindingMode::kAddresses;
    BenchRow row{.name = step.name,
                 .device = client->device().facts().name,
                 .bindings = addresses ? "addresses" : "descriptors",
                 .bytes = whole.bytes};
    row.exchanges = "a device sends";
    int turn = 0;
    double hand_ms = 0;
    VXLA_RETURN_IF_ERROR(Measure(flags, row, [&]() -> Result<double> {
      VXLA_ASSIGN_OR_RETURN(const double hand, by_hand.program.TimedRun());
      if (++turn > flags.warmup) hand_ms = hand_ms == 0 ? hand : std::min(hand_ms, hand);
      return whole.program.TimedRun();
    }));
    row.peer = PeerTime{fmt::format("what is written by hand, which sends {}", by_hand.bytes), hand_ms};
    rows.push_back(std::move(row));
  }
  return rows;
}

// Every way to bind, the fastest first.
Result<std::vector<BenchRow>> MeasureCase(const BenchFlags& flags, Clients& clients, const BenchCase& c) {
  if (c.name == kPlaces) return MeasureOverPlaces(flags);
  if (c.name == kSharded) return MeasureSharded(flags, clients);
  if (IsBundleFile(c)) return MeasureBundle(flags, clients, c.name);
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadCase(c, flags));
  std::vector<BenchRow> rows, loading;
  double flop = c.flop;
  std::optional<double> reference_ms;
  // A kernel without a function beside it is nothing that the reference could run.
  if (c.hlo.empty() && CheckCustomCalls(*module, flags.compile.registry.get()).ok()) {
    VXLA_ASSIGN_OR_RETURN(const ProgramArguments arguments, LoadArguments(*module, flags.arguments));
    VXLA_ASSIGN_OR_RETURN(const CountedRun counted, RunAndCount(*module, arguments.pointers(),
                                                                flags.compile.evaluate_options(flags.arguments.seed)));
    flop = counted.flop;
    reference_ms = counted.ms;
  }
  if (c.on_cpu || IsCpu(flags.device.device)) {
    VXLA_ASSIGN_OR_RETURN(BenchRow row, MeasureOnCpu(flags, c.name, *module, flop));
    rows.push_back(std::move(row));
    return rows;
  }
  for (const std::string& mode : clients.modes()) {
    VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(mode, c.emulate));
    Progress(fmt::format("{}measuring {} with {}", clients.counted, c.name, mode));
    if (c.records) {
      VXLA_ASSIGN_OR_RETURN(BenchRow row, MeasureRecording(flags, *client, c.name, *module));
      rows.push_back(std::move(row));
      VXLA_RETURN_IF_ERROR(AddLoadingOfCase(flags, *client, c, *module, loading));
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(BenchRow row,
                          MeasureOnDevice(flags, *client, c.name, *module, flop, c.fusion, c.wide_accumulation));
    row.reference_ms = reference_ms;
    if (c.replicas > 1) {
      VXLA_ASSIGN_OR_RETURN(row.sweep, MeasureCopies(client->device(), row.bytes / 2));
      row.peer = row.sweep.front();
    }
    if (!c.against.empty()) {
      VXLA_ASSIGN_OR_RETURN(Client * plain, clients.Get(mode, ""));
      VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> other, ParseHlo(c.against));
      VXLA_ASSIGN_OR_RETURN(const BenchRow peer,
                            MeasureOnDevice(flags, *plain, "f32", *other, c.flop, c.fusion, false));
      row.peer = PeerTime{c.peer, peer.ms};
    }
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, &BenchRow::ms);
  std::ranges::move(loading, std::back_inserter(rows));
  if (c.records) {
    VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(clients.modes().front(), c.emulate));
    AddIree(flags, *client, c.name, *module, rows);
  }
  return rows;
}

// "f32[512,512] dot"; of what no program stands for, what it is.
Result<std::string> About(const BenchCase& c) {
  if (c.name == kPlaces) return std::string("all-reduces of 1 KiB to 64 MiB over 3, 4 and 8 logical devices");
  if (c.name == kSharded)
    return std::string("transformer steps with shardings over 4 logical devices, beside the same by hand");
  if (c.hlo.empty()) return std::string("a file");
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(c.hlo));
  const Instruction& root = *module->entry()->root();
  std::string text = fmt::format("{} {}", root.shape().ToString(), OpcodeText(root.opcode()));
  if (c.replicas > 1) text += fmt::format(" over {} replicas", c.replicas);
  if (!c.emulate.empty()) text += fmt::format(", --emulate {}", c.emulate);
  if (c.wide_accumulation) text += ", --accumulation wide";
  if (c.on_cpu) text += ", on the CPU reference";
  if (c.records) text += ", what recording it costs the host";
  if (!c.against.empty()) text += fmt::format(", beside {}", c.peer);
  return text;
}

// Of all cases, or those that are named; the programs are in the JSON.
Status ListCases(const std::vector<std::string>& names, bool wants_json, Json& json) {
  const std::vector<BenchCase> by_default = BenchCases();
  std::vector<BenchCase> cases = by_default;
  if (names.empty()) {
    std::ranges::move(KernelCases(), std::back_inserter(cases));
    std::ranges::move(CollectiveCases(), std::back_inserter(cases));
    cases.push_back({kPlaces, "", 0, true, false});
    cases.push_back({kSharded, "", 0, true, false});
  } else {
    VXLA_ASSIGN_OR_RETURN(cases, Selected(names));
  }
  size_t width = 0;
  for (const BenchCase& c : cases) width = std::max(width, c.name.size());
  Json list = Json::array();
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i) {
    const BenchCase& c = cases[i];
    VXLA_ASSIGN_OR_RETURN(const std::string about, About(c));
    if (names.empty() && i == by_default.size())
      text += "\nOnly where they are named; sizes of a GPU as kernels, several devices but sharded as collectives:\n";
    text += fmt::format("{:<{}}  {}\n", c.name, width, about);
    const bool is_default = std::ranges::find(by_default, c.name, &BenchCase::name) != by_default.end();
    list.push_back({{"name", c.name}, {"about", about}, {"by_default", is_default}, {"hlo", c.hlo}});
  }
  if (!wants_json) return WriteText("-", text);
  json = std::move(list);
  return OkStatus();
}

// The failure of a case, with its name in front.
Status OfCase(const BenchCase& c, const Status& status) {
  const bool placed = c.hlo.empty() && status.location().line > 0;
  if (placed) return AtPlace(status, c.name);
  return status.message().starts_with(c.name + ": ") ? status : Status(status).WithPrefix(c.name + ": ");
}

Status Bench(const BenchFlags& flags, Json& json) {
  VXLA_RETURN_IF_ERROR(CheckOneDevice(flags.device));
  VXLA_ASSIGN_OR_RETURN(const std::vector<BenchCase> cases, Selected(flags.names));
  Clients clients(flags);
  Json list = Json::array();
  const size_t width = NameWidth(cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    const BenchCase& c = cases[i];
    if (cases.size() > 1) clients.counted = fmt::format("case {} of {}: ", i + 1, cases.size());
    // Many cases take minutes, and without a terminal nothing else tells where they stand.
    if (cases.size() > 1 && !ShowsProgress()) PrintNotes({clients.counted + c.name});
    const Result<std::vector<BenchRow>> rows = MeasureCase(ForCase(flags, c), clients, c);
    if (!rows.ok()) return OfCase(c, rows.status());
    Progress("");  // the rows may go to the same terminal
    if (!flags.json && i == 0) PrintHeader(width);
    for (const BenchRow& row : *rows) {
      if (!flags.json) PrintRow(row, width);
      list.push_back(RowJson(row));
    }
  }
  if (flags.json) json = std::move(list);
  return OkStatus();
}

// A run's kernels, by the device's timestamps: the median, in ms. None where the device has none.
Result<std::optional<double>> MeasureKernels(const BenchFlags& flags, Client& client, const Module& module) {
  CompileOptions options = flags.compile.options();
  options.profile = true;
  Result<ReadyProgram> program = MakeReady(flags, client, module, options);
  if (!program.ok() && program.status().code() == StatusCode::kUnsupported) return std::optional<double>();
  VXLA_RETURN_IF_ERROR(program.status());
  BenchRow row;
  VXLA_RETURN_IF_ERROR(Measure(flags, row, [&]() -> Result<double> {
    RunStatistics statistics;
    VXLA_RETURN_IF_ERROR(program->Execute(&statistics));
    double ms = 0;
    for (const StepTime& step : statistics.steps) ms += step.ms;
    return ms;
  }));
  return row.times->median > 0 ? std::optional(row.times->median) : std::nullopt;
}

// The faster way to bind, by calls.
Result<XlaComparison> Compare(const BenchFlags& flags, Clients& clients, const BenchCase& c, const XlaTime& xla) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadCase(c, flags));
  XlaComparison comparison{.name = c.name, .call_ms = 0, .device_ms = {}, .xla = xla};
  Client* faster = nullptr;
  for (const std::string& mode : clients.modes()) {
    VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(mode, ""));
    Progress(fmt::format("{}measuring {} with {}", clients.counted, c.name, mode));
    VXLA_ASSIGN_OR_RETURN(const ReadyProgram program, MakeReady(flags, *client, *module, flags.compile.options()));
    BenchRow row;
    VXLA_RETURN_IF_ERROR(Measure(flags, row, [&] { return program.TimedRun(); }));
    if (faster != nullptr && row.ms >= comparison.call_ms) continue;
    faster = client;
    comparison.call_ms = row.ms;
  }
  VXLA_ASSIGN_OR_RETURN(comparison.device_ms, MeasureKernels(flags, *faster, *module));
  return comparison;
}

Json ComparisonJson(const XlaComparison& row) {
  const auto or_null = [](const std::optional<double>& ms) { return ms ? Json(*ms) : Json(); };
  Json json{{"name", row.name}, {"ms", row.call_ms}, {"device_ms", or_null(row.device_ms)}};
  if (!row.xla.error.empty()) {
    json["error"] = row.xla.error;
    return json;
  }
  json["xla_ms"] = row.xla.call_ms;
  json["xla_device_ms"] = or_null(row.xla.device_ms);
  json["ratio"] = row.ratio();
  return json;
}

void PrintComparison(const XlaComparison& row, size_t width) {
  const auto or_dash = [](const std::optional<double>& ms) {
    return ms ? fmt::format("{:.3f}", *ms) : std::string("-");
  };
  fmt::print("{:<{}} {:>10.3f} {:>10}", row.name, width, row.call_ms, or_dash(row.device_ms));
  if (row.xla.error.empty()) {
    fmt::print(" {:>10.3f} {:>10} {:>8.2f}\n", row.xla.call_ms, or_dash(row.xla.device_ms), row.ratio());
  } else {
    fmt::print("   XLA: {}\n", row.xla.error);
  }
  std::fflush(stdout);
}

void PrintMean(const std::vector<XlaComparison>& rows) {
  double logarithms = 0;
  int64_t count = 0, quicker = 0;
  for (const XlaComparison& row : rows) {
    if (row.ratio() == 0) continue;
    ++count;
    quicker += row.ratio() > 1;
    logarithms += std::log(row.ratio());
  }
  if (count > 0)
    fmt::print("quicker than XLA on {} of {}, geometric mean {:.2f}\n", quicker, count,
               std::exp(logarithms / static_cast<double>(count)));
}

Status AddToXla(const BenchFlags& flags, const BenchCase& c, XlaPeer& peer) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, LoadCase(c, flags));
  VXLA_ASSIGN_OR_RETURN(const ProgramArguments arguments, LoadArguments(*module, flags.arguments));
  return peer.Add(*module, arguments.values);
}

// Every program in XLA and then here, each for half a second before its runs count.
Status BenchAgainstXla(BenchFlags flags, Json& json) {
  VXLA_RETURN_IF_ERROR(CheckOneDevice(flags.device));
  if (IsCpu(flags.device.device)) return InvalidArgument("--against xla: --device cpu is no device of Vulkan's");
  if (flags.names.empty()) flags.names = {kKernels};
  flags.settle_seconds = kSettleSeconds;
  VXLA_ASSIGN_OR_RETURN(const std::vector<BenchCase> cases, Selected(flags.names));
  VXLA_ASSIGN_OR_RETURN(XlaPeer peer, XlaPeer::Create(flags.python));
  for (const BenchCase& c : cases) {
    const bool of_one = c.replicas == 1 && c.emulate.empty() && c.name != kPlaces && c.name != kSharded;
    if (!of_one || IsBundleFile(c)) return InvalidArgument("{}: --against xla is for programs of one device", c.name);
    Progress(fmt::format("writing {} for XLA", c.name));
    if (const Status added = AddToXla(ForCase(flags, c), c, peer); !added.ok()) return OfCase(c, added);
  }
  PrintNotes({fmt::format("measuring {} program{} in XLA", cases.size(), cases.size() == 1 ? "" : "s")});
  VXLA_ASSIGN_OR_RETURN(const XlaTimes xla, peer.Measure(flags.runs));
  Clients clients(flags);
  std::vector<XlaComparison> rows;
  const size_t width = NameWidth(cases);
  Json list = Json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    clients.counted = fmt::format("case {} of {}: ", i + 1, cases.size());
    if (cases.size() > 1 && !ShowsProgress()) PrintNotes({clients.counted + cases[i].name});
    const Result<XlaComparison> row = Compare(ForCase(flags, cases[i]), clients, cases[i], xla.programs[i]);
    if (!row.ok()) return OfCase(cases[i], row.status());
    Progress("");
    if (!flags.json && i == 0)
      fmt::print("beside {}\n{:<{}} {:>10} {:>10} {:>10} {:>10} {:>8}\n", xla.name, "case", width, "call ms",
                 "device ms", "XLA call", "XLA device", "ratio");
    if (!flags.json) PrintComparison(*row, width);
    list.push_back(ComparisonJson(*row));
    rows.push_back(*row);
  }
  if (!flags.json && rows.size() > 1) PrintMean(rows);
  if (!flags.table.empty()) {
    VXLA_ASSIGN_OR_RETURN(Client * client, clients.Get(clients.modes().front(), ""));
    std::string command = "vxla bench --against xla";
    for (const std::string& name : flags.names) command += name == kKernels ? "" : " " + name;
    VXLA_RETURN_IF_ERROR(WriteXlaTable(flags.table, client->device().facts(), xla.name, std::move(rows), command));
  }
  if (flags.json) json = std::move(list);
  return OkStatus();
}

}  // namespace

CommandBody AddBench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  app.add_option(
         "NAME", flags->names,
         "cases, program files or bundles; without one, every case. Of several files --args {folder}/args.npz lies "
         "beside "
         "each. kernels: what fills a GPU, 16 million elements, "
         "products of 4096 x 4096, attention. collectives: all_reduce, all_gather and all_to_all "
         "of 64 MiB over 2, 4 and 8 replicas (all_reduce_2 ...). all_reduce_places: all-reduces of 1 KiB to 64 MiB "
         "over 3, 4 and 8 logical devices of the one that is named. sharded: steps of transformers over 4 logical "
         "devices, data, tensor, sequence and expert parallel and fully sharded: time, and bytes that a device sends, "
         "beside the same step written by hand for each device")
      ->type_name("");
  AddArgumentOptions(app, flags->arguments);
  app.option_defaults()->group(kRunOptions);
  app.add_option("--num-runs", flags->runs, "so many runs count: the best, the median and how far they spread")
      ->check(WholeNumber(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--warmup", flags->warmup, "so many runs before those count for nothing")
      ->check(WholeNumber(0, 100000))
      ->type_name("N")
      ->capture_default_str();
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  app.option_defaults()->group(kRunOptions);
  app.add_flag("--list", flags->list, "name the cases and what they measure, and measure nothing");
  app.add_flag(
      "--tune{keep-bits}", flags->tune,
      "measure workgroup sizes, tiles and elements of an invocation on this device, and keep what is faster for "
      "every program from now on. keep-bits: where no result changes. any-bits: also what changes the order of "
      "sums. forget: back to the built-in table");
  app.add_option("--iree", flags->iree,
                 "where iree-compile and iree-benchmark-module are, which embed runs too (without: on the PATH, or in "
                 "iree_venv/bin beside vxla)")
      ->type_name("FOLDER");
  app.add_option(
         "--against", flags->against,
         "xla: beside XLA, by a Python that has JAX, on its CUDA or ROCm device or else its CPU; without NAME the "
         "kernels. Of calls that wait for their results, and of the devices by their own events, after half a "
         "second each; the ratio is of the latter where both have them, above 1 where vxla is the quicker one")
      ->check(OneOf({"xla"}))
      ->type_name("PEER");
  app.add_option("--python", flags->python, "the command of that Python")->type_name("PYTHON")->capture_default_str();
  app.add_option("-o,--output", flags->table,
                 "with --against: also a table as docs/benchmarks/data has them, with device, driver, day and commit")
      ->check(FileToWrite())
      ->type_name("FILE.json");
  app.add_flag("--loading", flags->only_loading, "of bundles only the time from the file to ready");
  app.add_flag("--json", flags->json, "the table as JSON");
  return [flags, &app](Json& json) {
    flags->both_bindings = app.count("--bindings") == 0;
    if (flags->list) return ListCases(flags->names, flags->json, json);
    if (!flags->table.empty() && flags->against.empty())
      return InvalidArgument("-o {}: only --against makes a table", flags->table);
    if (!flags->against.empty()) return BenchAgainstXla(*flags, json);
    if (!flags->tune.empty()) {
      return TuneDevice({flags->tune, flags->names, flags->device, flags->compile.options(), flags->arguments,
                         flags->runs, flags->json},
                        json);
    }
    return Bench(*flags, json);
  };
}

}  // namespace VXLA_NAMESPACE
