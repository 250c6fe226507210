// vxla diff: one program on two devices (or against saved results), where the values differ, and whose fault that is.
#include "api/verify/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/replicas.h"
#include "backend/device.h"
#include "core/devices/replica_groups.h"
#include "core/module.h"
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
    "for the CPU and summed in the order of the device's plan. `fault` is then: algorithm (the shader math leaves the "
    "bound too), driver (the device's bits are not the shader math's), order (a combiner cannot be shown to "
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

// The worst mismatches by absolute difference, the worst in ulp among or behind them, and how many are how far off.
void PrintWorst(const Comparison& c) {
  fmt::print("\n  {:>16} {:>16} {:>16} {:>10} {:>10} {:>10}\n", "at", "got", "expected", "ulp", "abs", "rel");
  const auto print = [](const ElementDifference& e) {
    fmt::print("  {:>16} {:>16} {:>16} {:>10.3g} {:>10.3g} {:>10.3g}\n", "[" + e.where + "]", e.actual, e.expected,
               e.ulp, e.abs, e.rel);
  };
  bool listed = false;
  for (const ElementDifference& e : c.worst) {
    print(e);
    listed |= c.worst_ulp && e.index == c.worst_ulp->index;
  }
  if (c.worst_ulp && !listed) print(*c.worst_ulp);
  fmt::print("  relative errors:");
  for (size_t b = 0; b <= kRelativeBuckets.size(); ++b) {
    if (b < kRelativeBuckets.size()) {
      fmt::print(" <{:.0e}: {}", kRelativeBuckets[b], c.buckets[b]);
    } else {
      fmt::print(" more: {}\n", c.buckets[b]);
    }
  }
}

void PrintLeaf(const DiffOutcome& outcome, const LeafReport& leaf) {
  const Comparison& c = leaf.comparison;
  fmt::print("result_{} {}: ", leaf.index, leaf.shape);
  if (!c.shapes_match) return fmt::print("the shapes differ: {}\n", c.shapes);
  if (c.differing == 0) return fmt::print("equal, bit for bit\n");
  fmt::print("{} of {} elements differ, worst {}: {}\n", c.differing, c.elements, WorstText(c),
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
  if (const std::string rounding = RoundingText(outcome, leaf); !rounding.empty()) fmt::print("\n  {}", rounding);
  PrintWorst(c);
}

void PrintInstruction(const InstructionReport& i) {
  const Comparison& c = i.device;
  fmt::print("  {} = {} {}: {} of {} elements outside its bound ({}), worst {}{}\n", i.name, i.shape, i.opcode,
             c.mismatches, c.elements, i.bound, WorstText(c),
             i.fault == Fault::kNone ? "" : fmt::format("; fault: {}", FaultName(i.fault)));
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

Json WhereJson(const std::optional<ElementDifference>& element) { return element ? Json(element->where) : Json(); }

// `where` is the mismatch with the largest absolute difference, the others name the elements of the maxima.
Json ComparisonJson(const Comparison& c) {
  return {{"max_ulp", NumberJson(c.max_ulp)},
          {"max_abs", NumberJson(c.max_abs)},
          {"max_rel", NumberJson(c.max_rel)},
          {"count", c.mismatches},
          {"where", c.worst.empty() ? "" : c.worst[0].where},
          {"max_ulp_where", WhereJson(c.worst_ulp)},
          {"max_abs_where", WhereJson(c.worst_abs)},
          {"max_rel_where", WhereJson(c.worst_rel)},
          {"differing", c.differing},
          {"elements", c.elements},
          {"nan_mismatches", c.nan_mismatches},
          {"infinity_mismatches", c.infinity_mismatches}};
}

// "worst difference 3 ulp at result_0[1,2], 1e-06 absolute at result_1[0]", over all results.
std::string WorstOfAll(const DiffOutcome& outcome) {
  const LeafReport *ulp = nullptr, *abs = nullptr;
  bool same_bits = true;
  for (const LeafReport& leaf : outcome.leaves) {
    const Comparison& c = leaf.comparison;
    same_bits &= c.shapes_match && c.differing == 0;
    if (c.worst_ulp && (ulp == nullptr || c.max_ulp > ulp->comparison.max_ulp)) ulp = &leaf;
    if (c.worst_abs && (abs == nullptr || c.max_abs > abs->comparison.max_abs)) abs = &leaf;
  }
  if (same_bits) return "bit for bit";
  std::string text;
  if (ulp != nullptr)
    text += fmt::format("worst difference {:.4g} ulp at result_{}[{}]", ulp->comparison.max_ulp, ulp->index,
                        ulp->comparison.worst_ulp->where);
  if (abs != nullptr)
    text += fmt::format("{}{:.3g} absolute at result_{}[{}]", text.empty() ? "worst difference " : ", ",
                        abs->comparison.max_abs, abs->index, abs->comparison.worst_abs->where);
  return text.empty() ? "no difference of finite numbers" : text;
}

// The verdict in a line, after the given word.
std::string VerdictText(const DiffOutcome& outcome, const std::string& word) {
  const size_t count = outcome.leaves.size();
  std::string verdict = count == 1 ? "agree on the result" : fmt::format("agree on all {} results", count);
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
  return fmt::format("{}: {} and {} {}; {}", word, outcome.device, outcome.reference, verdict, WorstOfAll(outcome));
}

constexpr char kAgree[] = "AGREE", kDiffer[] = "DIFFER";

Json OutcomeJson(const DiffOutcome& outcome) {
  Json json{{"verdict", outcome.agrees() ? "agree" : "differ"},
            {"summary", VerdictText(outcome, outcome.agrees() ? kAgree : kDiffer)},
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
    // Elements beyond what rounding does to the reference: of the device, and of what it is compared with.
    if (leaf.conditioning) entry["beyond_rounding"] = leaf.conditioning->outside;
    if (leaf.expected_conditioning) entry["expected_beyond_rounding"] = leaf.expected_conditioning->outside;
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
  json["notes"] = outcome.notes;
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

// The verdict in a line, then what differs; with -v also what agrees.
void PrintOutcome(const DiffOutcome& outcome, const DiffFlags& flags) {
  const std::string word = outcome.agrees() ? Toned(Tone::kGood, kAgree) : Toned(Tone::kBad, kDiffer);
  fmt::print("{}\n", VerdictText(outcome, word));
  for (const LeafReport& leaf : outcome.leaves) {
    if (flags.verbose || !leaf.agrees()) PrintLeaf(outcome, leaf);
  }
  if (!outcome.bound.empty() && (flags.verbose || !outcome.agrees()))
    fmt::print("bound of this one operation: {}\n", outcome.bound);
  PrintInstructions(outcome, flags.options);
}

bool AgainstFile(const DiffFlags& flags) { return IsNpzName(flags.against) || IsNpyName(flags.against); }

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
  constexpr std::string_view kOfTheWhole[] = {"FILE",     "--args", "--bisect", "--bisect-to",
                                              "--report", "--json", "--device"};
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
  if (outcome.facts != nullptr) PrintIfNoGpu(flags.device, *outcome.facts);
  PrintNotes(outcome.notes);
  json = OutcomeJson(outcome);
  if (!flags.json) PrintOutcome(outcome, flags);
  const InstructionReport* bad = outcome.bad_instruction();
  if (flags.options.bisect && bad != nullptr && bad->program != nullptr) {
    VXLA_ASSIGN_OR_RETURN(const auto files, WriteSmallProgram(*bad, flags.bisect_prefix));
    const std::string command = CommandAlone(flags, files.first, files.second);
    json["bisect"] = {
        {"program", files.first}, {"arguments", files.second}, {"instruction", bad->name}, {"command", command}};
    if (!flags.json) fmt::print("bisect: {} alone: {}\n", bad->name, command);
  } else if (flags.options.bisect) {
    json["bisect"] = nullptr;
    if (!flags.json) fmt::print("bisect: no instruction by itself leaves its bound\n");
  }
  if (!flags.report.empty()) {
    VXLA_RETURN_IF_ERROR(WriteDiffReport(flags.report, flags.program.file, WholeCommand(flags), outcome));
  }
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

Status DiffAndPrint(DiffFlags flags, Json& json) {
  flags.options.shader_math = !flags.two_way;
  flags.options.progress = [](const std::string& text) { Progress(text); };
  if (!flags.report.empty()) VXLA_RETURN_IF_ERROR(CheckNotInput(flags.report, flags.program.file));
  return IsAllDevices(flags.device.device) ? DiffOnAll(flags, json) : DiffOnOne(flags, json);
}

}  // namespace

CommandBody AddDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  flags->program.AddTo(app);
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
  app.add_flag("--two-way", flags->two_way, "leave out the shader math on the CPU: faster, but no `fault`");
  app.option_defaults()->group(kShownOptions);
  app.add_flag("-v,--verbose", flags->verbose, "also what agrees: each result with its differences and its bound");
  app.add_option("--report", flags->report, "write what was found as one page of HTML")
      ->check(FileToWrite())
      ->type_name("FILE");
  app.add_flag("--json", flags->json, "the verdict as one JSON object");
  return [flags, &app](Json& json) {
    flags->given = GivenOptions(app);
    return AtPlace(DiffAndPrint(*flags, json), flags->program.file);
  };
}

}  // namespace VXLA_NAMESPACE
