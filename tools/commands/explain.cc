// vxla explain: what a program becomes: the fused module, kernels, buffers, barriers, and what stays on the CPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/placed_replicas.h"
#include "api/sharded_program.h"
#include "backend/kernel_hash.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/device_merger.h"
#include "core/passes/sharding/exchange_cost.h"
#include "core/text/hlo_printer.h"
#include "scheduler/bundle/bundle.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/replicas/placement.h"
#include "tools/arguments.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/commands/replicas.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

struct ExplainFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  ReplicaFlags replicas;
  std::string dump_folder, isa_folder;
  std::vector<std::string> dump_after;
  bool names_device = false, json = false, module = false, plan = false, passes = false, verify = false,
       shardings = false;
};

// What the optimizer's passes did, by their names and in all rounds, and the modules that --dump-after asks for.
struct PassReport {
  struct Row {
    std::string name;
    int runs = 0, changes = 0;
    double seconds = 0;
  };
  std::vector<Row> rows;
  struct Dump {
    std::string title, text;
  };
  std::vector<Dump> dumps;
  Status fault;  // the first that --verify-after finds

  Status Add(const PassRun& run, const Module& module, const ExplainFlags& flags) {
    auto row = std::ranges::find(rows, run.name, &Row::name);
    if (row == rows.end()) row = rows.insert(row, {std::string(run.name)});
    ++row->runs;
    row->changes += run.changed ? 1 : 0;
    row->seconds += run.seconds;
    const std::string title = run.round == 0 ? std::string(run.name) : fmt::format("{}, round {}", run.name, run.round);
    const auto& wanted = flags.dump_after;
    const bool all = std::ranges::find(wanted, "all") != wanted.end();
    if ((all && run.changed) || std::ranges::find(wanted, run.name) != wanted.end())
      dumps.push_back({title, PrintHlo(module)});
    if (!flags.verify) return OkStatus();
    const Status status = Verify(module);
    if (!status.ok()) fault = Internal("--verify-after: after {}: {}", title, status.message());
    return fault;
  }

  std::string Text() const {
    std::string text;
    for (const Row& row : rows) {
      text += fmt::format("  {:<32}{:>4} {:<5}{:>4} {:<8}{:>10.3f} ms\n", row.name, row.runs,
                          row.runs == 1 ? "run" : "runs", row.changes, row.changes == 1 ? "change" : "changes",
                          row.seconds * 1e3);
    }
    return text;
  }
  nlohmann::ordered_json Json() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Row& row : rows)
      json.push_back({{"name", row.name}, {"runs", row.runs}, {"changes", row.changes}, {"seconds", row.seconds}});
    return json;
  }
};

Status CheckPassNames(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = PassNames();
  for (const std::string& name : names) {
    if (name != "all" && std::ranges::find(known, name) == known.end())
      return InvalidArgument("--dump-after {}: no pass has this name; all, or {}", name, fmt::join(known, ", "));
  }
  return OkStatus();
}

// "003_rows_0123456789abcdef"
std::string StemOf(const Plan& plan, size_t k) {
  const std::string stem = std::filesystem::path(plan.kernels[k].algorithm).stem().string();
  return fmt::format("{:03}_{}_{:016x}", k, stem, HashOf(plan.kernels[k]));
}

Status DumpKernels(const Device& device, const Plan& plan, const std::string& folder) {
  VXLA_RETURN_IF_ERROR(MakeFolder(folder));
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    VXLA_ASSIGN_OR_RETURN(std::string source, device.KernelSource(plan.bindings, plan.kernels[k]));
    VXLA_RETURN_IF_ERROR(WriteText(fmt::format("{}/{}.comp", folder, StemOf(plan, k)), source));
  }
  return OkStatus();
}

// The names of the plan's steps that a kernel runs, the first ones.
std::string StepsOf(const Plan& plan, size_t k) {
  std::string names;
  size_t count = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.kernel_of_step[s] != static_cast<int>(k)) continue;
    if (++count <= 3) names += (count == 1 ? "" : ", ") + plan.steps[s].name;
  }
  return count > 3 ? fmt::format("{}, ... ({} dispatches)", names, count) : names;
}

// The device's last form of a kernel is its assembly; those before it go into a file of their own.
Status WriteExecutable(const std::string& path, const std::string& steps, const KernelExecutable& executable) {
  std::string text = fmt::format("; steps = {}\n; executable = {}\n; subgroup size = {}\n", steps, executable.name,
                                 executable.subgroup_size);
  for (const auto& statistic : executable.statistics)
    text += fmt::format("; {} = {}\n", statistic.name, statistic.value);
  if (!executable.forms.empty()) text += executable.forms.back().text;
  VXLA_RETURN_IF_ERROR(WriteText(path + ".isa", text));
  std::string earlier;
  for (size_t i = 0; i + 1 < executable.forms.size(); ++i)
    earlier += fmt::format("; {}\n{}\n", executable.forms[i].name, executable.forms[i].text);
  return earlier.empty() ? OkStatus() : WriteText(path + ".ir", earlier);
}

// What the driver's compiler made of each kernel: a file each, and the statistics for the report.
Status ShowIsa(Device& device, const Plan& plan, const std::string& folder, nlohmann::ordered_json& kernels) {
  VXLA_RETURN_IF_ERROR(MakeFolder(folder));
  kernels = nlohmann::ordered_json::array();
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<KernelExecutable> executables,
                          device.KernelExecutables(plan.bindings, plan.kernels[k]));
    for (size_t e = 0; e < executables.size(); ++e) {
      const std::string stem = StemOf(plan, k) + (e == 0 ? "" : fmt::format("_{}", e));
      VXLA_RETURN_IF_ERROR(WriteExecutable(fmt::format("{}/{}", folder, stem), StepsOf(plan, k), executables[e]));
      nlohmann::ordered_json row = {{"file", stem + ".isa"},
                                    {"algorithm", plan.kernels[k].algorithm},
                                    {"steps", StepsOf(plan, k)},
                                    {"subgroup_size", executables[e].subgroup_size},
                                    {"statistics", nlohmann::ordered_json::object()}};
      for (const auto& statistic : executables[e].statistics) row["statistics"][statistic.name] = statistic.value;
      kernels.push_back(std::move(row));
    }
  }
  return OkStatus();
}

std::string IsaText(const nlohmann::ordered_json& kernels) {
  std::string text = "\nKernels as the driver compiled them\n\n";
  for (const auto& row : kernels) {
    text += fmt::format("{}  {} lanes  {}\n   ", row["file"].get<std::string>(), row["subgroup_size"].get<int>(),
                        row["steps"].get<std::string>());
    for (const auto& [name, value] : row["statistics"].items())
      text += fmt::format(" {}: {};", name, value.get<std::string>());
    text.back() = '\n';
  }
  return text;
}

// "1239040 bytes (1.2 MiB)"
std::string BytesText(int64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return *unit == '\0' ? fmt::format("{} bytes", bytes) : fmt::format("{} bytes ({:.1f} {})", bytes, value, unit);
}

std::string Counted(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// What a plan comes to: a line of counts, the kernels, and what the CPU does and why.
std::string SummaryOf(const Plan& plan) {
  constexpr size_t kMostKernels = 16;
  std::string text =
      fmt::format("{} of {}, {} on the CPU, peak {}, lower bound {}, {}\n",
                  plan.dispatch_count() == 1 ? "1 dispatch" : fmt::format("{} dispatches", plan.dispatch_count()),
                  Counted(static_cast<int64_t>(plan.kernels.size()), "kernel"),
                  Counted(static_cast<int64_t>(plan.fallbacks.size()), "instruction"), BytesText(plan.peak_bytes),
                  BytesText(plan.lower_bound_bytes), Counted(plan.barrier_count(), "barrier"));
  for (size_t k = 0; k < std::min(plan.kernels.size(), kMostKernels); ++k)
    text += fmt::format("  kernel {}: {}: {}\n", k, plan.kernels[k].algorithm, StepsOf(plan, k));
  if (plan.kernels.size() > kMostKernels)
    text += fmt::format("  and {}: --plan lists all\n",
                        Counted(static_cast<int64_t>(plan.kernels.size() - kMostKernels), "more kernel"));
  for (const Fallback& fallback : plan.fallbacks)
    text += fmt::format("  fallback {} ({}): {}\n", fallback.instruction, fallback.opcode, fallback.reason);
  for (const PlanFault& fault : plan.faults) text += fmt::format("  fault {}\n", ToText(fault));
  return text;
}

// The variant that the device of the command line takes, and why it cannot take others.
Status ExplainChoice(const ExplainFlags& flags, const Bundle& bundle, std::string& text, nlohmann::ordered_json& json) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, OpenClient(flags.device));
  const Device& device = client->device();
  const DeviceFacts& facts = device.facts();
  const Result<size_t> chosen = ChooseVariant(bundle, facts, device.binding_modes());
  if (!chosen.ok() && chosen.status().code() != StatusCode::kUnsupported) return chosen.status();
  text += fmt::format("\nOn {}\n\n", facts.name);
  for (size_t i = 0; i < bundle.variants.size(); ++i) {
    const std::string why_not = WhyNot(bundle.variants[i], facts, device.binding_modes());
    const bool taken = chosen.ok() && *chosen == i;
    text += fmt::format("{}: {}\n", bundle.variants[i].ToString(),
                        taken             ? "it is taken"
                        : why_not.empty() ? "it could run, another one runs better"
                                          : why_not);
  }
  json = {{"device", facts.name}};
  json["variant"] = chosen.ok() ? nlohmann::ordered_json(*chosen) : nlohmann::ordered_json();
  return OkStatus();
}

// The variants of a bundle; a device is asked only where the command line names one.
Status ExplainBundle(const ExplainFlags& flags, std::span<const std::byte> bytes, nlohmann::ordered_json& json) {
  if (!flags.dump_folder.empty() || !flags.isa_folder.empty())
    return InvalidArgument("a bundle, which is compiled already: it holds neither GLSL nor a driver's instructions");
  if (flags.module || flags.passes || flags.verify || !flags.dump_after.empty())
    return InvalidArgument("a bundle, which is compiled already: it holds no module");
  VXLA_ASSIGN_OR_RETURN(const Bundle bundle, ReadBundle(bytes));
  std::string text = fmt::format("Bundle of {}: {} bytes of SPIR-V, {} of constants\n", bundle.producer,
                                 bundle.modules.size(), bundle.constants.size());
  nlohmann::ordered_json variants = nlohmann::ordered_json::array();
  for (const BundleVariant& variant : bundle.variants) {
    text += fmt::format("\nVariant: {}\n\n{}", variant.ToString(), SummaryOf(variant.plan));
    if (flags.plan) text += "\n" + ToText(variant.plan);
    variants.push_back(
        {{"target", variant.made_for.name}, {"generic", variant.generic}, {"plan", ToJson(variant.plan)}});
  }
  nlohmann::ordered_json choice;
  if (flags.names_device) VXLA_RETURN_IF_ERROR(ExplainChoice(flags, bundle, text, choice));
  if (!flags.json) return WriteText("-", text);
  json = {{"producer", bundle.producer},
          {"module_bytes", bundle.modules.size()},
          {"constant_bytes", bundle.constants.size()},
          {"variants", std::move(variants)}};
  if (flags.names_device) json["taken"] = std::move(choice);
  return OkStatus();
}

// Makes `module` what the first place runs, which is named if places are given.
Status PlaceDevicesOf(const ExplainFlags& flags, const DeviceGrid& grid, std::unique_ptr<Module>& module,
                      std::string& placement, std::string& first_place) {
  const std::vector<std::string> one = {flags.device.device};
  const bool given = !flags.replicas.devices.empty();
  if (!given && grid.count() == 1) return OkStatus();
  const std::vector<std::string>& list = given ? flags.replicas.devices : one;
  VXLA_ASSIGN_OR_RETURN(const PlaceList places, PlacesOf(list, grid.count(), flags.device.options()));
  const std::vector<std::string>& names = IsAllDevices(list[0]) ? places.devices : list;
  placement = "Placement\n\n" + PlacementText(grid, places.place_of, names, places.queues) + "\n";
  MergedProgram merged;
  if (given) {
    first_place = places.devices[0];
    VXLA_ASSIGN_OR_RETURN(merged, MergeDevices(*module, grid, {}, DevicePlaces{places.place_of, 0}));
    for (const PlaceExchange& exchange : merged.exchanges)
      flags.compile.registry->Register(exchange.target(), [](void*, const void**) {});
    std::vector<const DeviceFacts*> facts;
    for (const auto& known : places.facts) facts.push_back(known ? &*known : nullptr);
    const std::string exchanges = ExchangesText(merged.exchanges, facts);
    if (!exchanges.empty()) placement += "Exchanges\n\n" + exchanges + "\n";
  } else {
    // What run makes of it where the devices have arguments of their own.
    VXLA_ASSIGN_OR_RETURN(merged, MergeDevices(*module, grid, {}));
  }
  module = std::move(merged.module);
  return OkStatus();
}

// What is told of a program beside its plan.
struct Told {
  std::string shardings, placement;
  nlohmann::ordered_json kernels;  // machine code
};

nlohmann::ordered_json ToJson(const Executable& executable, const Told& told, const PassReport& passes,
                              const ExplainFlags& flags) {
  nlohmann::ordered_json json = ToJson(executable.plan());
  json["summary"] = SummaryOf(executable.plan());
  if (flags.shardings) json["shardings"] = told.shardings;
  if (!told.kernels.is_null()) json["isa"] = told.kernels;
  json["passes"] = passes.Json();
  for (const auto& dump : passes.dumps) json["after"].push_back({{"pass", dump.title}, {"module", dump.text}});
  return json;
}

std::string ToText(const Executable& executable, const Told& told, const PassReport& passes,
                   const ExplainFlags& flags) {
  std::string text = SummaryOf(executable.plan());
  if (flags.shardings) text += "\nShardings\n\n" + told.shardings;
  if (!told.placement.empty()) text += "\n" + told.placement;
  if (flags.passes) text += "\nPasses\n\n" + passes.Text();
  for (const auto& dump : passes.dumps) text += fmt::format("\nAfter {}\n\n{}", dump.title, dump.text);
  if (flags.module) text += fmt::format("\nFused module\n\n{}", PrintHlo(executable.module()));
  if (flags.plan) text += fmt::format("\nPlan\n\n{}", ToText(executable.plan()));
  if (!told.kernels.is_null()) text += IsaText(told.kernels);
  return text;
}

Status Explain(ExplainFlags& flags, nlohmann::ordered_json& json) {
  VXLA_RETURN_IF_ERROR(CheckOneDevice(flags.device));
  VXLA_RETURN_IF_ERROR(CheckPassNames(flags.dump_after));
  VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(flags.program.file));
  if (const auto file = std::as_bytes(std::span(bytes.view())); IsBundle(file)) {
    Status status = ExplainBundle(flags, file, json);
    return status.ok() ? status : std::move(status).WithPrefix(flags.program.file + ": ");
  }
  VXLA_RETURN_IF_ERROR(flags.replicas.ReadCount(flags.device.options()));
  const int64_t partitions = flags.replicas.partitions_to_make();
  VXLA_ASSIGN_OR_RETURN(ShardedProgram program,
                        ParseShardedProgram(bytes.view(), flags.program.file, partitions, flags.shardings));
  std::unique_ptr<Module> module = std::move(program.module);
  VXLA_RETURN_IF_ERROR(CheckRunnableWith(*module, flags.program.file, flags.compile));
  Told told;
  if (flags.shardings) {
    told.shardings = program.arrays;
    if (told.shardings.empty()) told.shardings = "the program says nothing of how its arrays lie\n";
    told.shardings += "\nExchanges\n\n" + ExchangeText(*module);
  }
  const Status refined =
      RefineForArguments(module, flags.program.arguments, flags.compile.evaluate_options(flags.program.arguments.seed));
  if (!refined.ok()) return AtPlace(refined, flags.program.file);
  if (IsCpu(flags.device.device))
    return InvalidArgument("--device cpu: the CPU reference has no plan; explain wants a Vulkan device");
  VXLA_ASSIGN_OR_RETURN(const DeviceGrid grid, flags.replicas.GridOf(*module));
  std::string first_place;
  VXLA_RETURN_IF_ERROR(PlaceDevicesOf(flags, grid, module, told.placement, first_place));
  DeviceOptions device = flags.device.options();
  if (!first_place.empty()) device.device = first_place;
  device.compile_only = true;
  device.capture_executables = !flags.isa_folder.empty();
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                        OpenClient(device, flags.compile.evaluate_options(flags.program.arguments.seed)));
  if (const DeviceFacts& facts = client->device().facts(); facts.compile_only)
    PrintNotes({fmt::format("{}: null hardware: kernels are compiled for it, nothing can run on it", facts.name)});
  PassReport passes;
  CompileOptions options = flags.compile.options();
  // Compiled once for each way to bind, and at each choice of sizes: the last one is told of.
  options.after_pass = [&](const PassRun& run, const Module& after) {
    if (!passes.fault.ok()) return passes.fault;  // compilation tries again without fusion
    if (run.name == PassNames().front()) passes = {};
    return passes.Add(run, after, flags);
  };
  Result<std::shared_ptr<Executable>> compiled = client->Compile(*module, options);
  VXLA_RETURN_IF_ERROR(passes.fault);
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, std::move(compiled));
  if (!flags.dump_folder.empty())
    VXLA_RETURN_IF_ERROR(DumpKernels(client->device(), executable->plan(), flags.dump_folder));
  if (!flags.isa_folder.empty())
    VXLA_RETURN_IF_ERROR(ShowIsa(client->device(), executable->plan(), flags.isa_folder, told.kernels));
  VXLA_RETURN_IF_ERROR(CheckValidation(client->device()));
  if (flags.json) {
    json = ToJson(*executable, told, passes, flags);
    return OkStatus();
  }
  return WriteText("-", ToText(*executable, told, passes, flags));
}

}  // namespace

CommandBody AddExplain(CLI::App& app) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("FILE", flags->program.file,
                 "the program as HLO text, StableHLO text or bytecode; - is standard input")
      ->required()
      ->type_name("");
  // Where the arguments decide the program's sizes, they decide the plan.
  AddArgumentOptions(app, flags->program.arguments);
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  flags->replicas.AddTo(app, /*feeds=*/false);
  app.option_defaults()->group(kShownOptions);
  app.add_flag("--module", flags->module, "also the module after fusion, as HLO text");
  app.add_flag(
      "--shardings", flags->shardings,
      "also how each array of a program of whole arrays lies on its devices, what they exchange, and the memory "
      "that each of them needs for arguments and results");
  app.add_flag("--passes", flags->passes, "also the optimizer's passes: how often each ran, changed it, and its time");
  app.add_option("--dump-after", flags->dump_after,
                 "also the module after these passes, as HLO text; all: after each run that changed it; repeatable")
      ->type_name("PASS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--verify-after", flags->verify, "check the module after each pass; an error names the pass");
  app.add_flag("--plan", flags->plan, "also the plan: buffers, dispatches in their order, barriers, host steps");
  app.add_option("--dump-kernels", flags->dump_folder, "write each kernel's GLSL into this folder")
      ->type_name("FOLDER");
  app.add_option("--isa", flags->isa_folder,
                 "write what the driver compiled each kernel to into this folder: registers, spills, occupancy, "
                 "instructions; with null hardware (RADV_FORCE_FAMILY=navi31) no GPU is needed")
      ->type_name("FOLDER");
  app.add_flag("--json", flags->json, "the plan as one JSON object");
  return [flags, &app](nlohmann::ordered_json& json) {
    flags->names_device = app.count("--device") != 0;
    return AtPlace(Explain(*flags, json), flags->program.file);
  };
}

}  // namespace VXLA_NAMESPACE
