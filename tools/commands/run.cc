// vxla run: a program's results, printed as numpy prints them or saved.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "api/placed_replicas.h"
#include "api/replicas.h"
#include "api/sharded_program.h"
#include "backend/cpu/reference/checked_run.h"
#include "core/host/hash.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/text/hlo_printer.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/replicas/mpi_module.h"
#include "scheduler/replicas/sockets/socket_group.h"
#include "tools/arguments.h"
#include "tools/bench/peers.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/commands/replicas.h"
#include "tools/commands/trace.h"
#include "tools/files.h"
#include "tools/numpy_file.h"
#include "tools/numpy_print.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  ReplicaFlags replicas;
  std::string out, trace;
  int num_runs = 1;
  // Of a program of whole arrays: how its arguments and results lie.
  std::vector<Sharding> parameter_shardings, result_shardings;
  bool json = false, profile = false, check_same = false, checked = false, distributed = false;
  // Of a job that no launcher started.
  std::string coordinator;
  int64_t rank = -1, ranks = 0;
};

// One array for all devices or one for each; of a program of whole arrays those, which devices share.
Result<ReplicatedArguments> ArgumentsFor(const RunFlags& flags, const Module& module, const DeviceGrid& grid) {
  const ArgumentSource& source = flags.program.arguments;
  if (flags.parameter_shardings.empty()) return LoadReplicatedArguments(module, source, grid.count());
  return LoadWholeArguments(module, flags.parameter_shardings, source, grid.count());
}

Json FallbacksJson(const Executable& executable) {
  Json list = Json::array();
  for (const Fallback& f : executable.fallbacks())
    list.push_back({{"instruction", f.instruction}, {"opcode", f.opcode}, {"reason", f.reason}});
  return list;
}

// --check-same: every run gives the bits of the first one.
class SameBits {
 public:
  explicit SameBits(bool wanted) : wanted_(wanted) {}
  Status Check(int run, const Literal& result) {
    if (!wanted_) return OkStatus();
    if (run == 0) {
      first_ = result;
      return OkStatus();
    }
    return CheckSameBits(result, first_, fmt::format("run {}", run + 1), "run 1");
  }

 private:
  const bool wanted_;
  Literal first_;
};

// Shares are of the rate at which the device copies 64 MiB, by its driver or a kernel as is faster, and of that at
// which it multiplies and adds, both measured here and now.
Status PrintProfile(Device& device, const RunStatistics& statistics) {
  constexpr int64_t kCopyBytes = int64_t{64} << 20;
  // On a GPU to submit and to wait takes about as long as one of them.
  const int repeats = device.facts().is_software() ? 1 : 8;
  VXLA_ASSIGN_OR_RETURN(const PeerTime copy, MeasureCopy(device, kCopyBytes, repeats));
  VXLA_ASSIGN_OR_RETURN(const double flop_per_ms, MeasureFlopPerMs(device));
  const double bytes_per_ms = 2.0 * kCopyBytes / copy.ms;
  double total_ms = 0;
  for (const StepTime& step : statistics.steps) total_ms += step.ms;
  fmt::print(stderr, "{:>9} {:>6} {:>10} {:>8} {:>9} {:>8}  kernel\n", "ms", "share", "MB", "of copy", "GFLOP/s",
             "of peak");
  int64_t ran = 0;
  for (const StepTime& step : statistics.steps) {
    if (step.runs == 0) continue;
    ++ran;
    const auto rate = [&](int64_t amount) { return step.ms > 0 ? static_cast<double>(amount) / step.ms : 0; };
    fmt::print(stderr, "{:9.4f} {:5.1f}% {:10.3f} {:7.1f}% {:9.2f} {:7.1f}%  {} [{}]{}\n", step.ms,
               total_ms > 0 ? 100 * step.ms / total_ms : 0, static_cast<double>(step.bytes) * 1e-6,
               100 * rate(step.bytes) / bytes_per_ms, rate(step.flop) * 1e-6, 100 * rate(step.flop) / flop_per_ms,
               step.name, step.kernel, step.runs == 1 ? "" : fmt::format(" x{}", step.runs));
  }
  const int64_t idle = std::ssize(statistics.steps) - ran;
  fmt::print(stderr,
             "{:9.4f} ms in {} dispatches{}; measured here: {} {:.1f} GB/s, f32 multiplications and additions {:.1f} "
             "GFLOP/s\n",
             total_ms, ran, idle == 0 ? "" : fmt::format(" ({} of branches and loops did not run)", idle), copy.name,
             bytes_per_ms * 1e-6, flop_per_ms * 1e-6);
  return OkStatus();
}

// One entry for each result; `stored_as` where an .npz holds another type than the result's.
Json ResultsJson(const std::vector<const Literal*>& leaves) {
  Json list = Json::array();
  for (size_t k = 0; k < leaves.size(); ++k) {
    const Shape& shape = leaves[k]->shape();
    if (!shape.IsArray()) continue;
    Json& entry = list.emplace_back(Json{{"index", k}, {"shape", shape.ToString()}});
    if (const std::string stand_in = StandInOf(shape.element_type()); !stand_in.empty()) entry["stored_as"] = stand_in;
  }
  return list;
}

// Says which saved results are bits of a type that numpy lacks.
void PrintStandIns(const std::string& file, const std::vector<const Literal*>& leaves) {
  std::string text;
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (!leaves[k]->shape().IsArray()) continue;
    const ElementType type = leaves[k]->shape().element_type();
    const std::string stand_in = StandInOf(type);
    if (stand_in.empty()) continue;
    text += fmt::format("{}result_{} ({} as {})", text.empty() ? "" : ", ", k, ElementTypeName(type), stand_in);
  }
  if (text.empty()) return;
  PrintNotes(
      {fmt::format("{} holds the bits of types that numpy lacks: {}; result_N__dtype names the type", file, text)});
}

// The one array of an .npy, or an .npz of all; says what was written.
Status Save(const std::string& file, const std::vector<const Literal*>& leaves) {
  if (IsNpyName(file)) {
    const auto array = std::ranges::find_if(leaves, [](const Literal* leaf) { return leaf->shape().IsArray(); });
    VXLA_RETURN_IF_ERROR(WriteNpy(file, **array));
  } else {
    VXLA_RETURN_IF_ERROR(WriteNpz(file, "result", leaves));
    PrintStandIns(file, leaves);
  }
  PrintWritten(file);
  return OkStatus();
}

Result<Literal> RunOnCpu(const RunFlags& flags, const DeviceGrid& grid, const Module& module, Json& report) {
  VXLA_ASSIGN_OR_RETURN(ReplicatedArguments arguments, ArgumentsFor(flags, module, grid));
  PrintNotes(arguments.notes);
  FeedFiles feeds(flags.replicas, grid.count());
  VXLA_RETURN_IF_ERROR(feeds.Open());
  EvaluateOptions options = flags.compile.evaluate_options(flags.program.arguments.seed);
  options.collective_timeout = flags.replicas.collective_timeout();
  options.host = feeds.transfers();
  Json runs = Json::array();
  SameBits same(flags.check_same);
  Literal result;
  for (int run = 0; run < flags.num_runs; ++run) {
    if (flags.num_runs > 1) Progress(fmt::format("run {} of {}", run + 1, flags.num_runs));
    feeds.Rewind();
    const auto start = Clock::now();
    VXLA_ASSIGN_OR_RETURN(result, RunReplicated(module, grid, arguments.pointers(grid.count()), options));
    runs.push_back(MsSince(start));
    VXLA_RETURN_IF_ERROR(same.Check(run, result));
  }
  VXLA_RETURN_IF_ERROR(feeds.Save());
  report = {{"device", "cpu"},         {"driver", "reference"},     {"compile_ms", 0.0},
            {"first_run_ms", runs[0]}, {"runs_ms", runs},           {"recorded", 0},
            {"compiled", 0},           {"allocated_bytes", 0},      {"fallbacks", Json::array()},
            {"faults", Json::array()}, {"replicas", grid.replicas}, {"partitions", grid.partitions}};
  return result;
}

// A program of one device or of several, compiled for the arguments at hand.
struct Compiled {
  std::shared_ptr<Executable> one;
  std::optional<ReplicatedExecutable> several;
  const Executable& executable() const { return several ? several->executable() : *one; }
};

// Runs what is compiled as often as the flags say.
Result<Literal> RunCompiled(const RunFlags& flags, Device& device, Compiled& compiled,
                            const ReplicatedArguments& arguments,
                            const std::vector<std::vector<const Literal*>>& pointers, FeedFiles& feeds, bool sizes_vary,
                            double compile_ms, Json& report) {
  const auto start = Clock::now();
  Trace trace;
  const CompileStatistics& made = compiled.executable().compile_statistics();
  trace.AddHostSpan("plan", 0, made.plan_ms);
  trace.AddHostSpan("make kernels", made.plan_ms, made.plan_ms + made.kernels_ms);
  PrintFallbacks(compiled.executable());
  PrintNotes(arguments.notes);
  Json runs = Json::array();
  RunStatistics statistics;
  SameBits same(flags.check_same);
  Literal result;
  for (int run = 0; run < flags.num_runs; ++run) {
    if (flags.num_runs > 1) Progress(fmt::format("run {} of {}", run + 1, flags.num_runs));
    feeds.Rewind();
    const double begin_ms = compile_ms + MsSince(start);
    VXLA_ASSIGN_OR_RETURN(result, compiled.several ? compiled.several->Run(pointers, &statistics)
                                                   : compiled.one->Run(pointers[0], &statistics));
    runs.push_back(statistics.ms);
    if (!flags.trace.empty()) trace.AddRun(fmt::format("run {}", run + 1), begin_ms, statistics);
    // Where arguments decide sizes, what runs is known now.
    if (run == 0 && sizes_vary) PrintFallbacks(compiled.executable());
    VXLA_RETURN_IF_ERROR(same.Check(run, result));
  }
  Progress("");
  VXLA_RETURN_IF_ERROR(feeds.Save());
  VXLA_RETURN_IF_ERROR(CheckValidation(device));
  if (flags.profile) VXLA_RETURN_IF_ERROR(PrintProfile(device, statistics));
  if (!flags.trace.empty()) VXLA_RETURN_IF_ERROR(trace.Write(flags.trace, device.facts().name));
  report = {
      {"device", device.facts().name},
      {"driver", device.facts().driver + " " + device.facts().driver_version},
      {"compile_ms", compile_ms},
      {"first_run_ms", runs[0]},
      {"runs_ms", runs},
      {"recorded", statistics.recorded},
      {"compiled", flags.num_runs == 1 ? compiled.executable().compile_statistics().compiled : statistics.compiled},
      {"allocated_bytes", statistics.allocated_bytes},
      {"read_backs", statistics.read_backs},
      {"fallbacks", FallbacksJson(compiled.executable())},
      {"faults", FaultsJson(compiled.executable().plan())}};
  return result;
}

// On several devices that --devices names.
Result<Literal> RunOnPlaces(const RunFlags& flags, const DeviceGrid& grid, const Module& module, Json& report) {
  if (flags.profile || !flags.trace.empty())
    return InvalidArgument("--devices: {} looks at one device", flags.profile ? "--profile" : "--trace");
  FeedFiles feeds(flags.replicas, grid.count());
  VXLA_RETURN_IF_ERROR(feeds.Open());
  EvaluateOptions host_steps = flags.compile.evaluate_options(flags.program.arguments.seed);
  host_steps.host = feeds.transfers();
  host_steps.collective_timeout = flags.replicas.collective_timeout();
  VXLA_ASSIGN_OR_RETURN(const ReplicatedArguments arguments, ArgumentsFor(flags, module, grid));
  const std::vector<std::vector<const Literal*>> pointers = arguments.pointers(grid.count());
  const auto start = Clock::now();
  VXLA_ASSIGN_OR_RETURN(PlacedExecutable executable,
                        PlacedExecutable::Compile(module, grid, pointers, flags.replicas.devices,
                                                  flags.device.options(), host_steps, flags.compile.options()));
  const double compile_ms = MsSince(start);
  PrintNotes(arguments.notes);
  Json runs = Json::array();
  SameBits same(flags.check_same);
  Literal result;
  for (int run = 0; run < flags.num_runs; ++run) {
    feeds.Rewind();
    const auto begin = Clock::now();
    VXLA_ASSIGN_OR_RETURN(result, executable.Run(pointers));
    runs.push_back(MsSince(begin));
    VXLA_RETURN_IF_ERROR(same.Check(run, result));
  }
  VXLA_RETURN_IF_ERROR(feeds.Save());
  report = {{"device", fmt::format("{}", fmt::join(executable.names(), ", "))},
            {"driver", ""},
            {"compile_ms", compile_ms},
            {"first_run_ms", runs[0]},
            {"runs_ms", runs},
            {"replicas", grid.replicas},
            {"partitions", grid.partitions},
            {"fallbacks", Json::array()},
            {"faults", Json::array()}};
  return result;
}

// --distributed. The launcher asks a process to end, for another one is gone: those that wait say so first.
std::atomic<bool> job_is_ended = false;

Status CheckJobFlags(const RunFlags& flags) {
  const std::pair<bool, const char*> refused[] = {{flags.profile, "--profile"},
                                                  {!flags.trace.empty(), "--trace"},
                                                  {!flags.replicas.devices.empty(), "--devices"},
                                                  {!flags.replicas.infeed.empty(), "--infeed"},
                                                  {!flags.replicas.outfeed.empty(), "--outfeed"}};
  for (const auto& [given, name] : refused) {
    if (given) return InvalidArgument("--distributed: {} is for one process", name);
  }
  return OkStatus();
}

// What this process has when it meets the others.
struct JobMember {
  std::optional<PlacedExecutable> executable;
  ReplicatedArguments arguments;
  std::vector<std::vector<const Literal*>> pointers;
  EvaluateOptions host_steps;
  double compile_ms = 0;
  std::vector<JobPart> parts{{"program", {}}, {"grid of devices", {}}, {"data", {}}};
};

Status PrepareMember(const RunFlags& flags, const DeviceGrid& grid, const Module& module, ProcessGroup& group,
                     const JobWaits& waits, MemberOrder order, JobMember& member) {
  VXLA_RETURN_IF_ERROR(CheckJobFlags(flags));
  VXLA_ASSIGN_OR_RETURN(member.arguments, ArgumentsFor(flags, module, grid));
  member.pointers = member.arguments.pointers(grid.count());
  std::string data = fmt::format("{} {}", flags.program.arguments.seed, flags.num_runs);
  for (const auto& parameter : member.arguments.values) {
    for (const Literal& value : parameter) {
      for (const Literal* leaf : FlattenLiteral(value)) data += HashBytes(leaf->bytes()).Hex();
    }
  }
  member.parts[0].hash = HashText(PrintHlo(module));
  member.parts[1].hash = HashText(fmt::format("{} {}", grid.replicas, grid.partitions));
  member.parts[2].hash = HashText(data);
  member.host_steps = flags.compile.evaluate_options(flags.program.arguments.seed);
  const auto start = Clock::now();
  JobMembership membership{&group, waits, flags.device.options()};
  membership.order = order;
  VXLA_ASSIGN_OR_RETURN(member.executable, PlacedExecutable::CompileInJob(module, grid, member.pointers, membership,
                                                                          member.host_steps, flags.compile.options()));
  member.compile_ms = MsSince(start);
  return OkStatus();
}

// As the reference adds up, where each process has it. All processes call it.
Result<MemberOrder> OrderInJob(const RunFlags& flags, ProcessGroup& group, const JobWaits& waits) {
  const auto own = static_cast<std::byte>(IsCpu(flags.device.device));
  VXLA_ASSIGN_OR_RETURN(const auto all, Gather(group, "the start of the job", {own}, GatherAt::kAll, waits));
  const bool everywhere = std::ranges::all_of(all, [](const auto& of_rank) { return of_rank.at(0) != std::byte{}; });
  return everywhere ? MemberOrder::kInARow : MemberOrder::kPairs;
}

// The job that this process is one of; the process has the group to its end.
Result<ProcessGroup*> JoinJob(const RunFlags& flags) {
  if (flags.coordinator.empty()) {
    if (flags.rank >= 0 || flags.ranks > 0)
      return InvalidArgument("--rank and --ranks: --coordinator HOST:PORT says where the processes meet");
    return JoinProcessGroup();
  }
  if (flags.ranks < 1 || flags.rank < 0) {
    return InvalidArgument("--coordinator {}: --ranks says how many processes there are, --rank which one this is",
                           flags.coordinator);
  }
  const JobRank self{flags.rank, flags.ranks};
  const auto timeout = flags.replicas.collective_timeout();
  VXLA_ASSIGN_OR_RETURN(const auto connections,
                        Connections::Open(self, TellThrough(flags.coordinator, self, timeout), timeout));
  return connections->All().release();
}

// A process of a job: the first one gives the result, the others none.
Result<Literal> RunInJob(const RunFlags& flags, const Result<std::unique_ptr<Module>>& module, const DeviceGrid& grid,
                         ProcessGroup& group, Json& report) {
  std::signal(SIGTERM, [](int) { job_is_ended = true; });
  const JobWaits waits{flags.replicas.collective_timeout(), &job_is_ended};
  VXLA_ASSIGN_OR_RETURN(const MemberOrder order, OrderInJob(flags, group, waits));
  JobMember member;
  Status ready = module.status();
  if (ready.ok()) ready = PrepareMember(flags, grid, **module, group, waits, order, member);
  const Status met = MeetOthers(group, ready, member.parts, waits);
  if (!met.ok()) {
    if (met.code() != StatusCode::kDeviceFailure) group.Finish();
    return met;
  }
  if (group.rank() == 0) PrintNotes(member.arguments.notes);
  Json runs = Json::array();
  SameBits same(flags.check_same);
  std::optional<Literal> result;
  for (int run = 0; run < flags.num_runs; ++run) {
    const auto begin = Clock::now();
    VXLA_ASSIGN_OR_RETURN(result, member.executable->RunInJob(member.pointers));
    runs.push_back(MsSince(begin));
    if (result) VXLA_RETURN_IF_ERROR(same.Check(run, *result));
  }
  group.Finish();
  report = {{"device", fmt::format("{}", fmt::join(member.executable->names(), ", "))},
            {"driver", ""},
            {"compile_ms", member.compile_ms},
            {"first_run_ms", runs[0]},
            {"runs_ms", runs},
            {"rank", group.rank()},
            {"ranks", group.size()},
            {"replicas", grid.replicas},
            {"partitions", grid.partitions},
            {"fallbacks", Json::array()},
            {"faults", Json::array()}};
  return result ? *std::move(result) : Literal();
}

Result<Literal> RunOnDevice(const RunFlags& flags, const DeviceGrid& grid, const Module& module, Json& report) {
  FeedFiles feeds(flags.replicas, grid.count());
  VXLA_RETURN_IF_ERROR(feeds.Open());
  EvaluateOptions host_steps = flags.compile.evaluate_options(flags.program.arguments.seed);
  host_steps.host = feeds.transfers();
  host_steps.collective_timeout = flags.replicas.collective_timeout();
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, OpenClient(flags.device, host_steps));
  Device& device = client->device();
  CompileOptions options = flags.compile.options();
  options.profile = flags.profile || !flags.trace.empty();
  VXLA_ASSIGN_OR_RETURN(const ReplicatedArguments arguments, ArgumentsFor(flags, module, grid));
  const std::vector<std::vector<const Literal*>> pointers = arguments.pointers(grid.count());
  const auto start = Clock::now();
  Compiled compiled;
  if (grid.count() > 1) {
    VXLA_ASSIGN_OR_RETURN(compiled.several,
                          ReplicatedExecutable::Compile(*client, module, grid, pointers, options, host_steps));
  } else {
    VXLA_ASSIGN_OR_RETURN(compiled.one, client->Compile(module, options));
  }
  const double compile_ms = MsSince(start);
  return RunCompiled(flags, device, compiled, arguments, pointers, feeds, mlir::IsDynamicProgram(module), compile_ms,
                     report);
}

// One array per .npy; said before anything runs.
Status CheckOutput(const RunFlags& flags, const Shape& result) {
  if (!IsNpyName(flags.out)) return OkStatus();
  const std::vector<const Shape*> leaves = FlattenTuple(result);
  const auto arrays = std::ranges::count_if(leaves, [](const Shape* leaf) { return leaf->IsArray(); });
  if (arrays == 1) return OkStatus();
  return InvalidArgument("-o {}: an .npy holds one array, and the program gives {}: name an .npz", flags.out, arrays);
}

// What cannot be asked of a program that is compiled already.
Status CheckBundleFlags(const RunFlags& flags) {
  const std::pair<bool, const char*> refused[] = {{IsCpu(flags.device.device), "--device cpu"},
                                                  {flags.profile, "--profile"},
                                                  {!flags.trace.empty(), "--trace"},
                                                  {flags.checked, "--checked"},
                                                  {flags.compile.no_fusion, "--no-fusion"},
                                                  {flags.compile.accumulation != "default", "--accumulation"},
                                                  {flags.compile.max_loop_iterations >= 0, "--max-loop-iterations"},
                                                  {!flags.compile.kernels.empty(), "--kernel"},
                                                  {!flags.compile.custom_calls.empty(), "--custom-call"},
                                                  {flags.replicas.replicas > 1, "--replicas"},
                                                  {flags.replicas.partitions > 1, "--partitions"},
                                                  {!flags.replicas.devices.empty(), "--devices"},
                                                  {flags.distributed, "--distributed"},
                                                  {!flags.replicas.infeed.empty(), "--infeed"},
                                                  {!flags.replicas.outfeed.empty(), "--outfeed"}};
  for (const auto& [given, name] : refused) {
    if (given)
      return InvalidArgument("{}: a bundle, which is compiled already: {} is for programs", flags.program.file, name);
  }
  return OkStatus();
}

Result<Literal> RunBundle(const RunFlags& flags, std::string_view bytes, Json& report) {
  VXLA_RETURN_IF_ERROR(CheckBundleFlags(flags));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, OpenClient(flags.device));
  Compiled compiled;
  Result<std::shared_ptr<Executable>> loaded = client->Load(std::as_bytes(std::span(bytes)));
  if (!loaded.ok()) return Status(loaded.status()).WithPrefix(flags.program.file + ": ");
  compiled.one = *std::move(loaded);
  VXLA_RETURN_IF_ERROR(CheckOutput(flags, compiled.one->module().entry()->root()->shape()));
  VXLA_ASSIGN_OR_RETURN(const ReplicatedArguments arguments,
                        LoadReplicatedArguments(compiled.one->module(), flags.program.arguments, /*devices=*/1));
  FeedFiles feeds(flags.replicas, 1);
  VXLA_ASSIGN_OR_RETURN(Literal result,
                        RunCompiled(flags, client->device(), compiled, arguments, arguments.pointers(1), feeds,
                                    /*sizes_vary=*/false, compiled.one->compile_statistics().ms, report));
  report["variant"] = compiled.one->bundle_variant();
  return result;
}

// --checked: on the reference, before anything else runs.
Status CheckFirst(const RunFlags& flags, std::unique_ptr<Module>& module) {
  const EvaluateOptions options = flags.compile.evaluate_options(flags.program.arguments.seed);
  VXLA_ASSIGN_OR_RETURN(const ProgramArguments arguments, LoadArguments(*module, flags.program.arguments));
  const Status refined = RefineForArguments(module, flags.program.arguments, options);
  if (!refined.ok()) return AsChecked(refined);
  return CheckPlaces(*module, arguments.pointers(), options);
}

// The program as it will run, and on how many devices.
Result<std::unique_ptr<Module>> PrepareProgram(RunFlags& flags, std::string_view text, DeviceGrid& grid) {
  if (IsCpu(flags.device.device) && flags.replicas.devices.empty()) {
    if (!flags.trace.empty()) return InvalidArgument("--trace shows a Vulkan device's timeline: --device cpu has none");
    if (flags.profile) return InvalidArgument("--profile shows a Vulkan device's kernels: --device cpu has none");
  }
  Result<ShardedProgram> loaded = ParseShardedProgram(text, flags.program.file, flags.replicas.partitions_to_make());
  if (!loaded.ok()) return flags.checked ? AsChecked(loaded.status()) : loaded.status();
  std::unique_ptr<Module> module = std::move(loaded->module);
  const Status runs = CheckRunnableWith(*module, flags.program.file, flags.compile);
  if (!runs.ok()) return flags.checked ? AsChecked(runs) : runs;
  flags.parameter_shardings = std::move(loaded->parameters);
  flags.result_shardings = std::move(loaded->results);
  VXLA_RETURN_IF_ERROR(CheckOutput(flags, module->entry()->root()->shape()));
  if (flags.checked) {
    const Status checked = CheckFirst(flags, module);
    if (!checked.ok()) return AtPlace(checked, flags.program.file);
  }
  VXLA_ASSIGN_OR_RETURN(grid, flags.replicas.GridOf(*module));
  if (grid.count() > 1) {
    const Status refined = RefineForArguments(
        module, flags.program.arguments, flags.compile.evaluate_options(flags.program.arguments.seed), grid.count());
    if (!refined.ok()) return AtPlace(refined, flags.program.file);
  }
  return module;
}

Result<Literal> RunOnDevices(RunFlags& flags, std::string_view text, DeviceGrid& grid, Json& report) {
  VXLA_RETURN_IF_ERROR(flags.replicas.ReadCount(flags.device.options()));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, PrepareProgram(flags, text, grid));
  if (!flags.replicas.devices.empty()) return RunOnPlaces(flags, grid, *module, report);
  return IsCpu(flags.device.device) ? RunOnCpu(flags, grid, *module, report)
                                    : RunOnDevice(flags, grid, *module, report);
}

// What is wrong whatever the program is.
Status CheckRunFlags(const RunFlags& flags) {
  if (flags.check_same && flags.num_runs < 2)
    return InvalidArgument("--check-same compares runs: it needs --num-runs 2 or more");
  VXLA_RETURN_IF_ERROR(CheckOneDevice(flags.device));
  for (const std::string& written : {flags.out, flags.trace, flags.replicas.outfeed}) {
    if (!written.empty()) VXLA_RETURN_IF_ERROR(CheckNotInput(written, flags.program.file));
  }
  return OkStatus();
}

// Whatever keeps this process from it, it has joined the job first: the others wait for it, and are told.
Result<Literal> RunFileInJob(RunFlags& flags, DeviceGrid& grid, Json& report) {
  VXLA_ASSIGN_OR_RETURN(ProcessGroup* const group, JoinJob(flags));
  const auto prepared = [&]() -> Result<std::unique_ptr<Module>> {
    VXLA_RETURN_IF_ERROR(CheckRunFlags(flags));
    VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(flags.program.file));
    if (IsBundle(std::as_bytes(std::span(bytes.view())))) VXLA_RETURN_IF_ERROR(CheckBundleFlags(flags));
    VXLA_RETURN_IF_ERROR(flags.replicas.ReadCount(flags.device.options()));
    return PrepareProgram(flags, bytes.view(), grid);
  };
  return RunInJob(flags, prepared(), grid, *group, report);
}

Result<Literal> RunFile(RunFlags& flags, Json& report) {
  DeviceGrid grid;
  Result<Literal> result = Literal();
  if (flags.distributed) {
    result = RunFileInJob(flags, grid, report);
  } else {
    VXLA_RETURN_IF_ERROR(CheckRunFlags(flags));
    VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(flags.program.file));
    const bool is_bundle = IsBundle(std::as_bytes(std::span(bytes.view())));
    result = is_bundle ? RunBundle(flags, bytes.view(), report) : RunOnDevices(flags, bytes.view(), grid, report);
  }
  const bool others_have_it = report.contains("rank") && report["rank"] != 0;
  if (!result.ok() || flags.result_shardings.empty() || grid.count() == 1 || others_have_it) return result;
  return WholeResults(*result, flags.result_shardings, grid.count());
}

Status Run(RunFlags& flags, Json& json) {
  Json report;
  Result<Literal> result = RunFile(flags, report);
  if (!result.ok()) return AtPlace(result.status(), flags.program.file);
  if (report.contains("rank") && report["rank"] != 0) return OkStatus();  // the first process has the results
  const std::vector<const Literal*> leaves = FlattenLiteral(*result);
  if (flags.check_same) {
    PrintNotes({fmt::format("{} runs gave the same bits", flags.num_runs)});
    report["same_bits"] = true;
  }
  if (!flags.out.empty()) VXLA_RETURN_IF_ERROR(Save(flags.out, leaves));
  report["results"] = ResultsJson(leaves);
  if (flags.json) json = std::move(report);
  if (flags.json || !flags.out.empty()) return OkStatus();
  std::string text;
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (!leaves[k]->shape().IsArray()) continue;
    text += fmt::format("result_{}: {}\n{}\n", k, leaves[k]->shape().ToString(), PrintLikeNumpy(*leaves[k]));
  }
  return WriteText("-", text);
}

}  // namespace

CommandBody AddRun(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  flags->program.AddTo(app);
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  flags->replicas.AddTo(app);
  app.option_defaults()->group(kReplicaOptions);
  app.add_flag("--distributed", flags->distributed,
               "this process is one of a job (`mpirun -n 4 vxla run --distributed ...`): the processes share the "
               "program's devices, each on its own --device; the first one prints and saves");
  app.add_option("--coordinator", flags->coordinator,
                 "with --distributed, without a launcher: the address at which the first process waits for the others, "
                 "which connect over TCP")
      ->type_name("HOST:PORT")
      ->envname("VXLA_COORDINATOR");
  app.add_option("--ranks", flags->ranks, "with --coordinator: how many processes there are")
      ->check(WholeNumber(1, 4096))
      ->type_name("N")
      ->envname("VXLA_RANKS");
  app.add_option("--rank", flags->rank, "with --coordinator: which of them this is, from 0")
      ->check(WholeNumber(0, 4095))
      ->type_name("N")
      ->envname("VXLA_RANK");
  app.option_defaults()->group(kRunOptions);
  app.add_option("-o,--output", flags->out,
                 "save the results as an .npz with result_0, result_1 ..., or the only one as an .npy")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_option("--num-runs", flags->num_runs, "run so often; later runs replay the first")
      ->check(WholeNumber(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--check-same", flags->check_same,
               "with --num-runs: say whether every run gives the same bits; exit code 1 if not");
  app.add_flag("--checked", flags->checked,
               "first run on the CPU reference and end with exit code 1 where an operation of the tensor dialect is "
               "undefined: indices out of bounds, casts that do not fit");
  app.add_flag("--profile", flags->profile,
               "time, bytes and operations of each kernel, and its shares of the device's measured rates, on stderr");
  app.add_option(
         "--trace", flags->trace,
         "the timeline of host and device in Chrome's trace format, which Perfetto opens; steps run one at a time")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_flag("--json", flags->json, "what happened, as one JSON object on stdout");
  return [flags](Json& json) { return Run(*flags, json); };
}

}  // namespace VXLA_NAMESPACE
