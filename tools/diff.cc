// vxla diff: one program on two devices (or against saved results), where the values differ, and whose fault that is.
#include "api/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/replicas.h"
#include "backend/device.h"
#include "core/module.h"
#include "core/replica_groups.h"
#include "core/text/hlo_printer.h"
#include "tools/arguments.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/diff_report.h"
#include "tools/files.h"
#include "tools/numpy_file.h"
#include "tools/replicas.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

struct DiffFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  ReplicaFlags replicas;
  DiffOptions options;
  std::string against = "cpu";
  std::string against_bindings, against_emulate, report, bisect_prefix = "bisect";
  bool json = false, two_way = false;
  std::string command;  // as typed, for the report
};

constexpr char kAbout[] =
    "A result agrees when each element is within --ulp, or within atol + rtol * |expected|. A program of one operation "
    "is judged by\n"
    "that operation's bound: the accuracy table for functions (docs/accuracy.md); for sums so much of the sum of the "
    "terms' magnitudes,\n"
    "growing with the square root of their number. Whole programs are first judged by rtol 1e-5 and atol 1e-6 of the "
    "largest expected\n"
    "magnitude; 4 sqrt(n) 2^-24 of it where the program's longest sum has n > 16 terms; a few ulp for types narrower "
    "than f32.\n"
    "What is outside is judged again, unless --rtol, --atol or --ulp is given: every instruction by itself by its own "
    "bound, on the\n"
    "reference's operands, and the results by how far rounding can move them: the reference runs again with every "
    "rounding perturbed\n"
    "(Monte Carlo arithmetic). Differences within that agree, and the amplification of rounding errors is named.\n"
    "Three values are compared: the CPU reference's, the device's, and those of the shaders' own arithmetic compiled "
    "for the CPU\n"
    "and summed in the order of the device's plan. `fault` is then: algorithm (the shader math leaves the bound too), "
    "driver (the\n"
    "device's bits are not the shader math's), rounding (every operation is within its bound, and a stated tolerance "
    "is too small), or\n"
    "expected file (the reference gives other values than the file too). Denormals that the device flushes are taken "
    "as "
    "zeros. A loop's\n"
    "body is looked at in its first iteration (--bisect: the first 16); of a conditional, the branch taken.";

Result<std::vector<Literal>> ExpectedFromFile(const std::string& path, const Shape& shape) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<NpzFile> file, NpzFile::Open(path));
  std::vector<Literal> expected;
  const auto leaves = FlattenTuple(shape);
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

void PrintLeaf(const LeafReport& leaf) {
  const Comparison& c = leaf.comparison;
  fmt::print("result_{} {}: ", leaf.index, leaf.shape);
  if (!c.shapes_match) return fmt::print("the shapes differ: {}\n", c.shapes);
  if (c.differing == 0) return fmt::print("equal, bit for bit\n");
  fmt::print("{} of {} elements differ, worst {:.4g} ulp, {:.3g} absolute, {:.3g} relative: {}\n", c.differing,
             c.elements, c.max_ulp, c.max_abs, c.max_rel,
             c.agrees() ? "within the tolerance"
             : leaf.agrees()
                 ? fmt::format("{} outside the tolerance, within what rounding does to the program", c.mismatches)
                 : fmt::format("{} OUTSIDE the tolerance", c.mismatches));
  if (leaf.driver && !leaf.driver->agrees()) {
    fmt::print("  the device's bits differ from shader math's in {} elements, by {:.4g} ulp at most\n",
               leaf.driver->mismatches, leaf.driver->max_ulp);
  }
  if (c.agrees()) return;
  fmt::print("  tolerance: rtol {:.3g}, atol {:.3g}, ulp {:.3g}", leaf.tolerance.rtol, leaf.tolerance.atol,
             leaf.tolerance.ulp);
  if (c.nan_mismatches > 0) fmt::print("; NaN on one side only: {}", c.nan_mismatches);
  if (c.infinity_mismatches > 0) fmt::print("; infinite on one side only: {}", c.infinity_mismatches);
  if (leaf.conditioning && !leaf.agrees())
    fmt::print("; {} of them are beyond what rounding does to the reference in {} perturbed runs",
               leaf.conditioning->outside, leaf.conditioning->runs);
  fmt::print("\n  {:>16} {:>16} {:>16} {:>10} {:>10} {:>10}\n", "at", "got", "expected", "ulp", "abs", "rel");
  for (const ElementDifference& e : c.worst) {
    fmt::print("  {:>16} {:>16} {:>16} {:10.3g} {:10.3g} {:10.3g}\n", "[" + e.where + "]", e.actual, e.expected, e.ulp,
               e.abs, e.rel);
  }
  fmt::print("  relative errors:");
  for (size_t b = 0; b <= kRelativeBuckets.size(); ++b) {
    if (b < kRelativeBuckets.size()) {
      fmt::print(" <{:.0e}: {}", kRelativeBuckets[b], c.buckets[b]);
    } else {
      fmt::print(" more: {}\n", c.buckets[b]);
    }
  }
}

void PrintInstruction(const InstructionReport& i) {
  const Comparison& c = i.device;
  fmt::print("  {} = {} {}: {} of {} elements outside its bound ({}), worst {:.4g} ulp, {:.3g} absolute at [{}]",
             i.name, i.shape, i.opcode, c.mismatches, c.elements, i.bound, c.max_ulp, c.max_abs,
             c.worst.empty() ? "" : c.worst[0].where);
  fmt::print("{}\n", i.fault == Fault::kNone ? "" : fmt::format("; fault: {}", FaultName(i.fault)));
}

void PrintInstructions(const DiffOutcome& outcome, const DiffOptions& options) {
  if (!outcome.isolated) return;
  size_t compared = 0, bad = 0, on_host = 0, other_bits = 0;
  for (const InstructionReport& i : outcome.instructions) {
    compared += i.not_run.empty();
    bad += i.bad();
    on_host += i.on_host;
    other_bits += i.driver && !i.driver->agrees();
  }
  if (!options.isolate && !options.bisect && bad == 0) return;
  fmt::print(
      "{} instructions by themselves: {} compared ({} of them on the host), {} outside their bound, {} with other bits "
      "than shader math\n",
      outcome.instructions.size(), compared, on_host, bad, other_bits);
  for (const InstructionReport& i : outcome.instructions) {
    if (i.bad()) PrintInstruction(i);
    if (!i.not_run.empty() && options.isolate) fmt::print("  {} ({}): not compared: {}\n", i.name, i.opcode, i.not_run);
  }
}

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

Json ComparisonJson(const Comparison& c) {
  return {{"max_ulp", NumberJson(c.max_ulp)},
          {"max_abs", NumberJson(c.max_abs)},
          {"max_rel", NumberJson(c.max_rel)},
          {"count", c.mismatches},
          {"where", c.worst.empty() ? "" : c.worst[0].where},
          {"differing", c.differing},
          {"elements", c.elements},
          {"nan_mismatches", c.nan_mismatches},
          {"infinity_mismatches", c.infinity_mismatches}};
}

Json OutcomeJson(const DiffOutcome& outcome) {
  Json json{{"verdict", outcome.agrees() ? "agree" : "differ"},
            {"device", outcome.device},
            {"reference", outcome.reference},
            {"results", Json::array()}};
  bool same_bits = true, known = false;
  for (const LeafReport& leaf : outcome.leaves) {
    Json entry{{"index", leaf.index}};
    entry.update(ComparisonJson(leaf.comparison));
    entry["agrees"] = leaf.agrees();
    entry["judged_by"] = leaf.judged_by;
    entry["amplification"] = leaf.conditioning ? NumberJson(leaf.conditioning->amplification) : Json();
    if (leaf.driver) entry["same_bits_as_shader_math"] = leaf.driver->agrees();
    known |= leaf.driver.has_value();
    same_bits &= !leaf.driver || leaf.driver->agrees();
    json["results"].push_back(std::move(entry));
  }
  json["same_bits_as_shader_math"] = known ? Json(same_bits) : Json();
  json["first_bad"] = outcome.first_bad.empty() ? Json() : Json(outcome.first_bad);
  json["fault"] = outcome.fault.empty() ? Json() : Json(outcome.fault);
  const std::optional<double> amplification = outcome.amplification();
  json["amplification"] = amplification ? NumberJson(*amplification) : Json();
  if (!outcome.isolated) return json;
  json["instructions"] = Json::array();
  for (const InstructionReport& i : outcome.instructions) {
    Json entry{{"name", i.name}, {"opcode", i.opcode}, {"shape", i.shape}, {"bound", i.bound}, {"on_host", i.on_host}};
    if (!i.not_run.empty()) {
      entry["not_compared"] = i.not_run;
    } else {
      entry["agrees"] = !i.bad();
      entry.update(ComparisonJson(i.device));
      entry["fault"] = i.fault == Fault::kNone ? Json() : Json(FaultName(i.fault));
      entry["same_bits_as_shader_math"] = i.driver ? Json(i.driver->agrees()) : Json();
    }
    json["instructions"].push_back(std::move(entry));
  }
  return json;
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

void PrintOutcome(const DiffOutcome& outcome, const DiffOptions& options) {
  for (const LeafReport& leaf : outcome.leaves) PrintLeaf(leaf);
  if (!outcome.bound.empty()) fmt::print("bound of this one operation: {}\n", outcome.bound);
  PrintInstructions(outcome, options);
  Comparison worst;
  for (const LeafReport& leaf : outcome.leaves) {
    worst.max_abs = std::max(worst.max_abs, leaf.comparison.max_abs);
    worst.max_ulp = std::max(worst.max_ulp, leaf.comparison.max_ulp);
  }
  std::string verdict = fmt::format("agree on all {} results", outcome.leaves.size());
  const auto grown = std::ranges::max_element(outcome.leaves, {}, [](const LeafReport& leaf) {
    return leaf.conditioning ? leaf.conditioning->amplification : -1;
  });
  if (grown != outcome.leaves.end() && grown->conditioning)
    verdict += fmt::format("; the program amplifies rounding errors: by {:.2g}x at result_{}",
                           grown->conditioning->amplification, grown->index);
  if (!outcome.agrees()) {
    verdict = fmt::format("differ, first in {}{}", outcome.first_bad,
                          outcome.fault.empty() ? "" : fmt::format(" (fault: {})", outcome.fault));
  }
  fmt::print("{}: {} and {} {}; worst difference {:.3g} ({:.4g} ulp)\n",
             outcome.agrees() ? Toned(Tone::kGood, "AGREE") : Toned(Tone::kBad, "DIFFER"), outcome.device,
             outcome.reference, verdict, worst.max_abs, worst.max_ulp);
}

bool AgainstFile(const DiffFlags& flags) { return flags.against.ends_with(".npz"); }

Result<DiffOutcome> CompareOnOneDevice(const DiffFlags& flags, const Module& module, const DiffOptions& options) {
  std::optional<std::vector<Literal>> expected;
  if (AgainstFile(flags)) {
    VXLA_ASSIGN_OR_RETURN(expected, ExpectedFromFile(flags.against, module.entry()->root()->shape()));
  }
  VXLA_ASSIGN_OR_RETURN(ProgramArguments arguments, LoadArguments(module, flags.program.arguments));
  PrintNotes(arguments.notes);
  return Diff(module, arguments.pointers(), options, std::move(expected));
}

// Programs on several devices.
Result<DiffOutcome> CompareReplicated(const DiffFlags& flags, const Module& module, const DeviceGrid& grid,
                                      const DiffOptions& options) {
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

// What --json prints goes to `json`.
Status DiffOnOne(const DiffFlags& flags, Json& json) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(flags.program.file, flags.compile));
  VXLA_ASSIGN_OR_RETURN(const DeviceGrid grid, flags.replicas.GridOf(*module));
  const Status refined = RefineForArguments(module, flags.program.arguments,
                                            flags.compile.evaluate_options(flags.program.arguments.seed), grid.count());
  if (!refined.ok()) return AtPlace(refined, flags.program.file);
  const DiffOptions options = DiffOptionsOf(flags);
  VXLA_ASSIGN_OR_RETURN(DiffOutcome outcome, grid.count() > 1 ? CompareReplicated(flags, *module, grid, options)
                                                              : CompareOnOneDevice(flags, *module, options));
  if (AgainstFile(flags)) outcome.reference = flags.against;
  PrintNotes(outcome.notes);
  json = OutcomeJson(outcome);
  if (!flags.json) PrintOutcome(outcome, flags.options);
  const InstructionReport* bad = outcome.bad_instruction();
  if (flags.options.bisect && bad != nullptr && bad->program != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const auto files, WriteSmallProgram(*bad, flags.bisect_prefix));
    json["bisect"] = {{"program", files.first}, {"arguments", files.second}};
    if (!flags.json) fmt::print("bisect: {} alone: vxla diff {} --args {}\n", bad->name, files.first, files.second);
  } else if (flags.options.bisect) {
    json["bisect"] = nullptr;
    if (!flags.json) fmt::print("bisect: no instruction by itself leaves its bound\n");
  }
  if (!flags.report.empty()) {
    VXLA_RETURN_IF_ERROR(WriteDiffReport(flags.report, flags.program.file, flags.command, outcome));
  }
  if (outcome.agrees()) return OkStatus();
  return Mismatch("{}: {} on {} differs from {}", flags.program.file, outcome.first_bad, outcome.device,
                  outcome.reference);
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

Status DiffAndPrint(DiffFlags flags, Json& json) {
  flags.options.shader_math = !flags.two_way;
  flags.options.progress = [](const std::string& text) { Progress(text); };
  return flags.device.device == "all" ? DiffOnAll(flags, json) : DiffOnOne(flags, json);
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
std::vector<std::string> WordsOf(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const bool flag = option->get_expected_max() == 0;
    if (!option->get_positional()) words.push_back(option->get_name());
    if (!flag) words.insert(words.end(), option->results().begin(), option->results().end());
  }
  return words;
}

}  // namespace

CommandBody AddDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  flags->program.AddTo(app);
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  flags->replicas.AddTo(app, /*feeds=*/false);
  app.footer(kAbout);
  app.add_option("--against", flags->against, "cpu, another device, or an .npz with result_0, result_1 ...")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--against-bindings", flags->against_bindings, "how the other device's kernels reach memory")
      ->check(OneOf({"addresses", "descriptors"}));
  app.add_option("--against-emulate", flags->against_emulate, "what the other device does without, as --emulate");
  // A negative one or NaN would make every result differ.
  const CLI::Validator tolerance = NumberFromZero(HUGE_VAL);
  app.add_option("--rtol", flags->options.rtol, "relative tolerance (default 1e-5)")->check(tolerance);
  app.add_option("--atol", flags->options.atol,
                 "absolute tolerance (default 1e-6 of the largest expected magnitude, more after long sums)")
      ->check(tolerance);
  app.add_option("--ulp", flags->options.ulp, "or so many units in the last place")->check(tolerance);
  app.add_flag("--isolate", flags->options.isolate,
               "run each instruction by itself on the reference's operands; list those outside their bound");
  app.add_flag("--bisect", flags->options.bisect,
               "find the first such instruction and write it as a program of its own");
  app.add_option("--bisect-to", flags->bisect_prefix, "where --bisect writes: PREFIX.hlo and PREFIX.npz")
      ->capture_default_str();
  app.add_flag("--two-way", flags->two_way, "leave out the shader math on the CPU: faster, but no `fault`");
  app.add_option("--report", flags->report, "write what was found as one page of HTML")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_flag("--json", flags->json, "the verdict as one JSON object");
  return [flags, &app](Json& json) {
    flags->command = CommandOf(WordsOf(app));
    return AtPlace(DiffAndPrint(*flags, json), flags->program.file);
  };
}

}  // namespace VXLA_NAMESPACE
