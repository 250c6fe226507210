// vxla diff: one program on two devices (or against saved results), where the values differ, and whose fault that is.
#include "api/verify/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/replicas.h"
#include "backend/device.h"
#include "core/devices/replica_groups.h"
#include "core/host/hash.h"
#include "core/ir/module.h"
#include "core/text/hlo_printer.h"
#include "scheduler/plan/plan.h"
#include "tools/arguments.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/commands/replicas.h"
#include "tools/diff/diff_cases.h"
#include "tools/diff/diff_many.h"
#include "tools/diff/diff_print.h"
#include "tools/diff/diff_report.h"
#include "tools/files.h"
#include "tools/numpy_file.h"
#include "tools/session.h"
#include "tools/vxla.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

// An option that was given, and the words that give it again.
struct GivenOption {
  std::string name;
  std::vector<std::string> words;
};

struct DiffFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  ReplicaFlags replicas;
  DiffOptions options;
  std::string against = "cpu";
  std::string against_bindings, against_emulate, report, bisect_prefix = "bisect";
  std::vector<std::string> files;  // program.file is one of them
  std::string junit, sarif, expected_failures;
  int jobs = 1;
  double time_limit_s = 0;
  bool json = false, two_way = false, verbose = false;
  std::vector<GivenOption> given;
};

constexpr char kAbout[] =
    "A result agrees when each element is within --ulp, or within atol + rtol * |expected|. A program of one "
    "operation is judged by that operation's bound: the accuracy table for functions (docs/reference/accuracy.md); "
    "for sums so much of the sum of the terms' magnitudes, growing with the square root of their number. Whole "
    "programs are first judged by rtol 1e-5 and atol 1e-6 of the largest expected magnitude; 4 sqrt(n) 2^-24 of it "
    "where the program's longest sum has n > 16 terms; a few ulp for types narrower than f32.\n"
    "\n"
    "What is outside is judged again, unless --rtol, --atol or --ulp is given: every instruction by itself by its own "
    "bound, on the reference's operands, and the results by how far rounding can move them: the reference runs again "
    "with every rounding perturbed (Monte Carlo arithmetic). Differences within that agree, and the amplification of "
    "rounding errors is named.\n"
    "\n"
    "Three values are compared: the CPU reference's, the device's, and those of the shaders' own arithmetic compiled "
    "for the CPU and summed in the order of the device's plan. `fault` is then: algorithm (the shader arithmetic leaves the "
    "bound too), driver (the device's bits are not the shader arithmetic's), order (a combiner cannot be shown to "
    "associate, so that its elements' order decides), rounding (every operation is within its bound, and a stated "
    "tolerance is too small), expected file (the reference gives other values than the file too) or other device (the "
    "first one agrees with the reference). Denormals that the device flushes are taken as zeros. A loop's body is "
    "looked at in its first iteration (--bisect: the first 16); of a conditional, the branch taken.";

// An .npy holds the only result.
Result<std::vector<Literal>> ExpectedFromArray(const std::string& path, const std::vector<const Shape*>& leaves) {
  const auto arrays = std::ranges::count_if(leaves, [](const Shape* leaf) { return leaf->IsArray(); });
  if (arrays != 1) return InvalidArgument("{}: one array, and the program gives {}: name an .npz", path, arrays);
  VXLA_ASSIGN_OR_RETURN(const NumpyArray array, ReadNpy(path));
  std::vector<Literal> expected;
  for (const Shape* leaf : leaves) {
    if (!leaf->IsArray()) {
      expected.emplace_back(*leaf);
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(Literal literal, ToLiteral(array, *leaf, "", path));
    expected.push_back(std::move(literal));
  }
  return expected;
}

Result<std::vector<Literal>> ExpectedFromFile(const std::string& path, const Shape& shape) {
  const auto leaves = FlattenTuple(shape);
  if (IsNpyName(path)) return ExpectedFromArray(path, leaves);
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<NpzFile> file, NpzFile::Open(path));
  file->TakeUnnamedAs("result");
  std::vector<Literal> expected;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const std::string name = fmt::format("result_{}", k);
    if (!leaves[k]->IsArray()) {
      expected.emplace_back(*leaves[k]);
      continue;
    }
    if (!file->Contains(name))
      return InvalidArgument("{}: has no {}; the program gives result_0 to result_{}", path, name, leaves.size() - 1);
    VXLA_ASSIGN_OR_RETURN(const std::string type_name, file->TypeName(name));
    auto accept = [&](const NumpyArray& header) {
      return CheckArray(header, *leaves[k], type_name, path + ": " + name);
    };
    VXLA_ASSIGN_OR_RETURN(const NumpyArray array, file->Read(name, accept));
    Result<Literal> literal = ToLiteral(array, *leaves[k], type_name, name);
    if (!literal.ok()) return Status(literal.status()).WithPrefix(path + ": ");
    expected.push_back(std::move(literal).value());
  }
  return expected;
}

// The first bad instruction as a program of its own; both files' names.
Result<std::pair<std::string, std::string>> WriteSmallProgram(const InstructionReport& bad, const std::string& prefix) {
  const std::string program = prefix + ".hlo", arguments = prefix + ".npz";
  VXLA_RETURN_IF_ERROR(WriteText(program, PrintHlo(*bad.program->module)));
  std::vector<const Literal*> leaves;
  for (const auto& argument : bad.program->arguments) {
    for (const Literal* leaf : FlattenLiteral(*argument)) leaves.push_back(leaf);
  }
  VXLA_RETURN_IF_ERROR(WriteNpz(arguments, "arg", leaves));
  return std::pair(program, arguments);
}

bool AgainstFile(const DiffFlags& flags) { return IsNpzName(flags.against) || IsNpyName(flags.against); }

// Of the arguments' bytes in their order.
std::string HashOfArguments(const std::vector<const Literal*>& arguments) {
  std::vector<std::byte> bytes;
  for (const Literal* argument : arguments) {
    for (const Literal* leaf : FlattenLiteral(*argument))
      bytes.insert(bytes.end(), leaf->bytes().begin(), leaf->bytes().end());
  }
  return HashBytes(bytes).Hex();
}

Result<DiffOutcome> CompareOnOneDevice(const DiffFlags& flags, const Module& module, const DiffOptions& options,
                                       ReportFacts& facts) {
  std::optional<std::vector<Literal>> expected;
  if (AgainstFile(flags)) {
    VXLA_ASSIGN_OR_RETURN(expected, ExpectedFromFile(flags.against, module.entry()->root()->shape()));
  }
  VXLA_ASSIGN_OR_RETURN(ProgramArguments arguments, LoadArguments(module, flags.program.arguments));
  PrintNotes(arguments.notes);
  if (!flags.report.empty()) facts.arguments = HashOfArguments(arguments.pointers());
  return Diff(module, arguments.pointers(), options, std::move(expected));
}

// Programs on several devices.
Result<DiffOutcome> CompareReplicated(const DiffFlags& flags, const Module& module, const DeviceGrid& grid,
                                      const DiffOptions& options) {
  if (flags.options.isolate || flags.options.bisect)
    return Unsupported("{}: a program of {} replicas and {} partitions is compared as a whole only",
                       flags.options.bisect ? "--bisect" : "--isolate", grid.replicas, grid.partitions);
  std::optional<std::vector<Literal>> expected;
  if (AgainstFile(flags)) {
    VXLA_ASSIGN_OR_RETURN(expected,
                          ExpectedFromFile(flags.against, StackedResults(module.entry()->root()->shape(), grid)));
  } else if (!IsCpu(flags.against)) {
    return Unsupported("--against {}: a program of {} replicas and {} partitions is compared with the CPU reference",
                       flags.against, grid.replicas, grid.partitions);
  }
  VXLA_ASSIGN_OR_RETURN(const ReplicatedArguments arguments,
                        LoadReplicatedArguments(module, flags.program.arguments, grid.count()));
  PrintNotes(arguments.notes);
  return RunReplicatedDiff(module, grid, arguments.pointers(grid.count()), options, std::move(expected));
}

// The library's options in the words of the command's.
DiffOptions DiffOptionsOf(const DiffFlags& flags) {
  DiffOptions options = flags.options;
  options.device = flags.device.options();
  options.compile = flags.compile.options();
  options.evaluate = flags.compile.evaluate_options(flags.program.arguments.seed);
  options.evaluate.collective_timeout = flags.replicas.collective_timeout();
  options.places = flags.replicas.devices;
  if (!AgainstFile(flags) && !IsCpu(flags.against)) {
    options.against = options.device;
    options.against->device = flags.against;
    if (!flags.against_bindings.empty()) options.against->bindings = flags.against_bindings;
    if (!flags.against_emulate.empty()) options.against->emulate = flags.against_emulate;
  }
  return options;
}

// "vxla diff a.hlo --args b.npz", with what a shell needs in quotes.
std::string CommandOf(const std::vector<std::string>& words) {
  std::string command = "vxla diff";
  for (const std::string& word : words) {
    const bool plain =
        !word.empty() &&
        word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=./,:+@%") ==
            std::string::npos;
    if (plain) {
      command += " " + word;
      continue;
    }
    std::string quoted;
    for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += " '" + quoted + "'";
  }
  return command;
}

// The options that were given, in words that repeat them.
std::vector<GivenOption> GivenOptions(const CLI::App& app) {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    GivenOption& one = given.emplace_back(GivenOption{option->get_name(), {}});
    const bool flag = option->get_expected_max() == 0, each = option->get_items_expected_max() == 1;
    for (const std::string& value : option->results()) {
      if (option->get_positional()) {
        one.words.push_back(value);
      } else if (flag) {
        one.words.push_back(value == "true" ? one.name : one.name + "=" + value);
      } else {
        // One that takes a word at a time is named before each.
        if (each || one.words.empty()) one.words.push_back(one.name);
        one.words.push_back(value);
      }
    }
  }
  return given;
}

std::string WholeCommand(const DiffFlags& flags) {
  std::vector<std::string> words;
  for (const GivenOption& option : flags.given) words.insert(words.end(), option.words.begin(), option.words.end());
  return CommandOf(words);
}

// The command that shows the difference of the small program: with every option but those that speak of the whole one
// or of how it was looked at.
std::string CommandAlone(const DiffFlags& flags, const std::string& program, const std::string& arguments) {
  constexpr std::string_view kOfTheWhole[] = {"FILE",    "--args",  "--bisect", "--bisect-to",         "--report",
                                              "--json",  "--junit", "--sarif",  "--expected-failures", "--jobs",
                                              "--device", "--verbose", "--time-limit"};
  std::vector<std::string> words{program, "--args", arguments};
  for (const GivenOption& option : flags.given) {
    if (option.name == "--device") words.insert(words.end(), {"--device", flags.device.device});  // `all` stands for it
    const bool whole = std::ranges::find(kOfTheWhole, option.name) != std::end(kOfTheWhole);
    // A file holds the whole program's results, and the instruction was compared with the reference.
    if (whole || (option.name == "--against" && AgainstFile(flags))) continue;
    words.insert(words.end(), option.words.begin(), option.words.end());
  }
  // A stated tolerance is for the results; the instruction was judged by its own bound, as --isolate judges it.
  if (flags.options.stated() && !flags.options.isolate) words.push_back("--isolate");
  return CommandOf(words);
}

// FILE:LINE:COLUMN of what is named, which may be in a loop ("while.1 iteration 0: add.3"); of a result, the root's. null
// where the program's text has no such instruction: a fusion.
Json PlaceOfFirstBad(const Module& module, const std::string& file, const DiffOutcome& outcome) {
  if (outcome.first_bad.empty()) return nullptr;
  const size_t colon = outcome.first_bad.rfind(": ");
  const std::string name = outcome.first_bad.substr(colon == std::string::npos ? 0 : colon + 2);
  const Instruction* found = outcome.bad_instruction() == nullptr ? module.entry()->root() : nullptr;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      const bool better = computation.get() == module.entry() || found == nullptr;
      if (instruction->name() == name && better) found = instruction.get();
    }
  }
  if (found == nullptr || found->location().line == 0) return nullptr;
  return fmt::format("{}:{}:{}", file, found->location().line, found->location().column);
}

// The kernels of a module on the device of the flags; with a step's name, those that it runs.
Result<std::vector<ReportKernel>> KernelsOf(const DiffFlags& flags, const Module& module, const std::string& step) {
  DeviceOptions device = flags.device.options();
  device.compile_only = true;
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                        OpenClient(device, flags.compile.evaluate_options(flags.program.arguments.seed)));
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable,
                        client->Compile(module, flags.compile.options()));
  const Plan& plan = executable->plan();
  std::vector<ReportKernel> kernels;
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    bool wanted = step.empty();
    for (size_t s = 0; s < plan.steps.size(); ++s)
      wanted |= plan.kernel_of_step[s] == static_cast<int>(k) && plan.steps[s].name == step;
    if (!wanted) continue;
    VXLA_ASSIGN_OR_RETURN(std::string source, client->device().KernelSource(plan.bindings, plan.kernels[k]));
    kernels.push_back({plan.kernels[k].algorithm, std::move(source)});
  }
  return kernels;
}

Status WritePage(const DiffFlags& flags, const Module& module, const DiffOutcome& outcome, ReportFacts facts) {
  facts.program = flags.program.file;
  facts.command = WholeCommand(flags);
  facts.version = VersionText();
  if (flags.program.file != "-") {
    VXLA_ASSIGN_OR_RETURN(const FileBytes bytes, FileBytes::Open(flags.program.file));
    facts.program_hash = HashText(bytes.view()).Hex();
  }
  const InstructionReport* bad = outcome.bad_instruction();
  const bool has_program = bad != nullptr && bad->program != nullptr;
  if (has_program) facts.hlo = PrintHlo(*bad->program->module);
  if (!outcome.agrees() && outcome.facts != nullptr && (has_program || bad == nullptr)) {
    auto kernels = has_program ? KernelsOf(flags, *bad->program->module, "") : KernelsOf(flags, module, outcome.first_bad);
    if (kernels.ok()) {
      facts.kernels = std::move(kernels).value();
    } else {
      facts.no_kernels = kernels.status().message();
    }
  }
  return WriteDiffReport(flags.report, facts, outcome);
}

// What --json prints goes to `json`.
Status DiffOnOne(const DiffFlags& flags, Json& json) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(flags.program.file, flags.compile));
  VXLA_ASSIGN_OR_RETURN(const DeviceGrid grid, flags.replicas.GridOf(*module));
  const Status refined = RefineForArguments(module, flags.program.arguments,
                                            flags.compile.evaluate_options(flags.program.arguments.seed), grid.count());
  if (!refined.ok()) return AtPlace(refined, flags.program.file);
  const DiffOptions options = DiffOptionsOf(flags);
  ReportFacts facts;
  VXLA_ASSIGN_OR_RETURN(DiffOutcome outcome, grid.count() > 1 ? CompareReplicated(flags, *module, grid, options)
                                                              : CompareOnOneDevice(flags, *module, options, facts));
  if (AgainstFile(flags)) outcome.reference = flags.against;
  if (outcome.facts != nullptr) PrintIfNoGpu(flags.device, *outcome.facts);
  PrintNotes(outcome.notes);
  json = OutcomeJson(outcome);
  json["first_bad_where"] = PlaceOfFirstBad(*module, flags.program.file, outcome);
  if (!flags.json) PrintOutcome(outcome, options, flags.verbose);
  const InstructionReport* bad = outcome.bad_instruction();
  if (flags.options.bisect && bad != nullptr && bad->program != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const auto files, WriteSmallProgram(*bad, flags.bisect_prefix));
    facts.alone = CommandAlone(flags, files.first, files.second);
    json["bisect"] = {
        {"program", files.first}, {"arguments", files.second}, {"instruction", bad->name}, {"command", facts.alone}};
    if (!flags.json) fmt::print("bisect: {} alone: {}\n", bad->name, facts.alone);
  } else if (flags.options.bisect) {
    json["bisect"] = nullptr;
    if (!flags.json) fmt::print("bisect: no instruction by itself leaves its bound\n");
  }
  if (!flags.report.empty()) VXLA_RETURN_IF_ERROR(WritePage(flags, *module, outcome, std::move(facts)));
  return outcome.agrees() ? OkStatus() : Status(StatusCode::kMismatch, "");  // the verdict says it
}

// "out.html" -> "out.1.html"
std::string Numbered(const std::string& path, size_t number) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  const size_t at = dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path.size() : dot;
  return path.substr(0, at) + fmt::format(".{}", number) + path.substr(at);
}

// --device all: one comparison after another, each under its device's name with its verdict; the first failure is the
// answer. Files are numbered as the devices are.
Status DiffOnAll(const DiffFlags& flags, Json& json) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
  json = {{"verdict", "agree"}, {"devices", Json::array()}};
  Status first;
  for (size_t i = 0; i < devices.size(); ++i) {
    DiffFlags on_one = flags;
    on_one.device.device = fmt::format("vulkan:{}", i);
    on_one.compile.registry = std::make_shared<CustomCallRegistry>();  // each reads the kernels and functions again
    if (!flags.report.empty()) on_one.report = Numbered(flags.report, i);
    on_one.bisect_prefix += fmt::format(".{}", i);
    if (!flags.json) {
      Progress("");
      fmt::print("{}vulkan:{}  {}  ({} {})\n", i == 0 ? "" : "\n", i, devices[i].name, devices[i].driver,
                 devices[i].driver_version);
      std::fflush(stdout);
    }
    Json one;
    Status status = DiffOnOne(on_one, one);
    const bool ran = status.ok() || status.code() == StatusCode::kMismatch;
    if (!ran) PrintNotes({fmt::format("vulkan:{}: {}", i, status.message())});
    if (!ran && !one.is_object()) one = {{"device", devices[i].name}};
    if (!ran) one.update(ErrorJson(status));
    if (!status.ok()) json["verdict"] = ran && json["verdict"] != "failed" ? "differ" : "failed";
    json["devices"].push_back(std::move(one));
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// The options of a comparison among several: what was given, but what is told of all of them together.
DiffTask TaskOf(const DiffFlags& flags, const std::string& file, const std::string& device, size_t number) {
  constexpr std::string_view kOfAll[] = {"FILE",     "--device",    "--json",   "--junit", "--sarif", "--expected-failures",
                                         "--jobs",   "--time-limit", "--report", "--bisect-to", "--verbose"};
  std::vector<std::string> words{file, "--device", device};
  for (const GivenOption& option : flags.given) {
    if (std::ranges::find(kOfAll, option.name) == std::end(kOfAll))
      words.insert(words.end(), option.words.begin(), option.words.end());
  }
  DiffTask task{file, device, CommandOf(words), {"diff"}};
  if (flags.options.bisect)
    words.insert(words.end(), {"--bisect-to", fmt::format("{}.{}", flags.bisect_prefix, number)});
  if (!flags.report.empty()) words.insert(words.end(), {"--report", Numbered(flags.report, number)});
  task.words.insert(task.words.end(), words.begin(), words.end());
  task.words.push_back("--json");
  return task;
}

void PrintCase(const DiffCase& one, bool names_device) {
  const char* word = one.failed() ? "FAIL" : one.agrees() ? "AGREE" : "DIFFER";
  std::string text = one.Text(), expects;
  if (one.unexpectedly_agrees()) expects = fmt::format(" (against {}: take the line out)", one.expected->place);
  if (one.as_expected())
    expects = fmt::format(" (as {} expects{}{})", one.expected->place, one.expected->why.empty() ? "" : ": ",
                          one.expected->why);
  const Tone tone = one.as_expected() ? Tone::kFaint : one.passes() ? Tone::kGood : Tone::kBad;
  fmt::print("{}{} {}{}: {}{}\n", Toned(tone, word), std::string(6 - std::strlen(word), ' '), one.program,
             names_device ? " on " + one.device : "", text, expects);
  if (!one.passes() && !one.agrees()) fmt::print("       alone: {}\n", one.command);
  std::fflush(stdout);
}

Result<std::vector<ExpectedFailure>> ExpectedOf(const DiffFlags& flags) {
  if (flags.expected_failures.empty()) return std::vector<ExpectedFailure>();
  return ReadExpectedFailures(flags.expected_failures);
}

// The files that a CI system reads, and what of the list speaks of nothing.
Status WriteCases(const DiffFlags& flags, const std::vector<ExpectedFailure>& expected,
                  const std::vector<DiffCase>& cases) {
  std::vector<std::string> notes;
  for (const ExpectedFailure& line : expected) {
    if (std::ranges::none_of(cases, [&](const DiffCase& one) { return Speaks(line, one); }))
      notes.push_back(fmt::format("{}: {}: nothing that was compared is called so", line.place, line.program));
  }
  PrintNotes(notes);
  if (!flags.junit.empty()) VXLA_RETURN_IF_ERROR(WriteText(flags.junit, JUnitXml(cases)));
  if (flags.sarif.empty()) return OkStatus();
  return WriteText(flags.sarif, SarifJson(cases).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<std::vector<std::string>> DevicesOf(const DiffFlags& flags) {
  if (!IsAllDevices(flags.device.device)) return std::vector<std::string>{flags.device.device};
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
  std::vector<std::string> names;
  for (size_t i = 0; i < devices.size(); ++i) names.push_back(fmt::format("vulkan:{}", i));
  return names;
}

Status DiffSeveral(const DiffFlags& flags, Json& json) {
  if (!flags.program.arguments.files.empty())
    return InvalidArgument("--args: they are one program's, and {} are given", flags.files.size());
  if (AgainstFile(flags))
    return InvalidArgument("--against {}: these are one program's results, and {} are given", flags.against,
                           flags.files.size());
  if (std::ranges::find(flags.files, "-") != flags.files.end())
    return InvalidArgument("-: standard input is one program, and {} are given", flags.files.size());
  VXLA_ASSIGN_OR_RETURN(const std::vector<ExpectedFailure> expected, ExpectedOf(flags));
  VXLA_ASSIGN_OR_RETURN(const std::vector<std::string> devices, DevicesOf(flags));
  std::vector<DiffTask> tasks;
  for (const std::string& file : flags.files) {
    for (const std::string& device : devices) tasks.push_back(TaskOf(flags, file, device, tasks.size()));
  }
  const auto told = [&](DiffCase& one) {
    Expect(one, expected);
    Progress("");
    if (!flags.json) PrintCase(one, devices.size() > 1);
  };
  VXLA_ASSIGN_OR_RETURN(const std::vector<DiffCase> cases, RunDiffTasks(tasks, flags.jobs, flags.time_limit_s, told));
  Progress("");
  if (!flags.json) fmt::print("{}\n", CountsText(cases));
  const Status status = StatusOf(cases);
  json = {{"verdict", status.ok() ? "agree" : status.code() == StatusCode::kMismatch ? "differ" : "failed"},
          {"summary", CountsText(cases)},
          {"programs", Json::array()}};
  for (const DiffCase& one : cases) {
    Json entry{{"program", one.program}, {"asked_device", one.device}, {"seconds", one.seconds}};
    entry["as_expected"] = one.expected ? Json(one.as_expected()) : Json();
    entry.update(one.json);
    json["programs"].push_back(std::move(entry));
  }
  VXLA_RETURN_IF_ERROR(WriteCases(flags, expected, cases));
  return status;
}

// One program, on a device or on all.
Status DiffSingle(const DiffFlags& flags, Json& json) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<ExpectedFailure> expected, ExpectedOf(flags));
  const auto begin = std::chrono::steady_clock::now();
  Status status = IsAllDevices(flags.device.device) ? DiffOnAll(flags, json) : DiffOnOne(flags, json);
  status = AtPlace(status, flags.program.file);
  if (flags.junit.empty() && flags.sarif.empty() && flags.expected_failures.empty()) return status;
  Json verdicts = json.contains("devices") ? json["devices"] : Json::array({json.is_object() ? json : Json::object()});
  const bool judged = status.ok() || status.code() == StatusCode::kMismatch;
  if (!judged && !json.contains("devices")) verdicts[0].update(ErrorJson(status));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<DiffCase> cases;
  for (Json& verdict : verdicts) {
    const std::string device = verdicts.size() > 1 ? fmt::format("vulkan:{}", cases.size()) : flags.device.device;
    cases.push_back({flags.program.file, device, std::move(verdict), seconds / static_cast<double>(verdicts.size()),
                     WholeCommand(flags), {}});
    Expect(cases.back(), expected);
    if (const DiffCase& one = cases.back(); one.expected && !flags.json) PrintCase(one, verdicts.size() > 1);
  }
  VXLA_RETURN_IF_ERROR(WriteCases(flags, expected, cases));
  return expected.empty() ? status : StatusOf(cases);
}

Status DiffAndPrint(DiffFlags flags, Json& json) {
  flags.options.shader_math = !flags.two_way;
  flags.options.progress = [](const std::string& text) { Progress(text); };
  for (const std::string& file : flags.files) {
    for (const std::string& written : {flags.report, flags.junit, flags.sarif}) {
      if (!written.empty()) VXLA_RETURN_IF_ERROR(CheckNotInput(written, file));
    }
  }
  flags.program.file = flags.files.front();
  return flags.files.size() > 1 ? DiffSeveral(flags, json) : DiffSingle(flags, json);
}

void AddCiOptions(CLI::App& app, DiffFlags& flags) {
  app.add_option("--junit", flags.junit, "write the verdicts as JUnit XML: a suite for each device")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_option("--sarif", flags.sarif, "write what differs or fails as SARIF, at the line of the first bad instruction")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_option("--expected-failures", flags.expected_failures,
                 "a list of what is known not to agree, a line each: PROGRAM differs|fails [DEVICE] # why. PROGRAM may "
                 "hold * and ?; what is listed and agrees is a difference")
      ->type_name("FILE");
  app.add_option("-j,--jobs", flags.jobs, "of several programs, compare so many at a time")
      ->check(WholeNumber(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--time-limit", flags.time_limit_s, "of several programs, stop one that takes longer (default: none)")
      ->check(NumberFromZero(1e9))
      ->type_name("SECONDS");
}

}  // namespace

CommandBody AddDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("FILE", flags->files,
                 "the program as HLO text, StableHLO text or bytecode; - is standard input; of several, each is compared "
                 "in a process of its own")
      ->required()
      ->expected(1, 1 << 20)
      ->type_name("");
  AddArgumentOptions(app, flags->program.arguments);
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  flags->replicas.AddTo(app, /*feeds=*/false);
  app.footer(kAbout);
  app.option_defaults()->group(kJudgeOptions);
  app.add_option("--against", flags->against,
                 "cpu, another device, or saved results: an .npz with result_0, result_1 ... (or numpy.savez's arr_0, "
                 "arr_1 ...), or the only one as an .npy")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--against-bindings", flags->against_bindings, "how the other device's kernels reach memory")
      ->check(OneOf({"addresses", "descriptors"}));
  app.add_option("--against-emulate", flags->against_emulate, "what the other device does without, as --emulate");
  // A negative one or NaN would make every result differ.
  const CLI::Validator tolerance = NumberFromZero(HUGE_VAL);
  app.add_option("--rtol", flags->options.rtol, "relative tolerance (default 1e-5)")->check(tolerance)->type_name("X");
  app.add_option("--atol", flags->options.atol,
                 "absolute tolerance (default 1e-6 of the largest expected magnitude, more after long sums)")
      ->check(tolerance)
      ->type_name("X");
  app.add_option("--ulp", flags->options.ulp, "or so many units in the last place")->check(tolerance)->type_name("X");
  app.add_flag("--isolate", flags->options.isolate,
               "run each instruction by itself on the reference's operands; list those outside their bound");
  app.add_flag("--bisect", flags->options.bisect,
               "find the first such instruction and write it as a program of its own");
  app.add_option("--bisect-to", flags->bisect_prefix, "where --bisect writes: PREFIX.hlo and PREFIX.npz")
      ->type_name("PREFIX")
      ->capture_default_str();
  app.add_flag("--two-way", flags->two_way, "leave out the shader arithmetic on the CPU: faster, but no `fault`");
  app.option_defaults()->group(kShownOptions);
  app.add_flag("-v,--verbose", flags->verbose, "also what agrees: each result with its differences and its bound");
  app.add_option("--report", flags->report, "write what was found as one page of HTML")
      ->check(FileToWrite())
      ->type_name("FILE");
  AddCiOptions(app, *flags);
  app.add_flag("--json", flags->json, "the verdict as one JSON object");
  return [flags, &app](Json& json) {
    flags->given = GivenOptions(app);
    return DiffAndPrint(*flags, json);
  };
}

}  // namespace VXLA_NAMESPACE
