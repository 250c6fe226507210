// vxla diff: one program on two devices (or against saved results), and where the values differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "backend/vulkan/device/open.h"
#include "core/literal_compare.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/numpy_file.h"
#include "tools/session.h"

namespace vxla {
namespace {

using Json = nlohmann::ordered_json;

struct DiffFlags {
  ProgramFlags program;
  DeviceFlags device;
  CompileFlags compile;
  std::string against = "cpu";
  std::optional<double> rtol, atol, ulp;
  bool json = false;
};

struct LeafReport {
  size_t index;
  Comparison comparison;
  Tolerance tolerance;
  std::string shape;
};

Result<std::vector<Literal>> ExpectedFromFile(const std::string& path, const std::vector<const Literal*>& actual) {
  VXLA_ASSIGN_OR_RETURN(auto arrays, ReadNpz(path));
  std::vector<Literal> expected;
  for (size_t k = 0; k < actual.size(); ++k) {
    const std::string name = fmt::format("result_{}", k);
    if (!actual[k]->shape().IsArray()) {
      expected.emplace_back(actual[k]->shape());
      continue;
    }
    const auto it = arrays.find(name);
    if (it == arrays.end()) return InvalidArgument("{}: has no {}; the program gives result_0 to result_{}", path, name, actual.size() - 1);
    const auto type = arrays.find(name + "__dtype");
    Result<Literal> literal = ToLiteral(it->second, actual[k]->shape(), type == arrays.end() ? "" : type->second.text(), name);
    if (!literal.ok()) return Status(literal.status()).WithPrefix(path + ": ");
    expected.push_back(std::move(literal).value());
  }
  return expected;
}

Tolerance ToleranceFor(const DiffFlags& flags, const Literal& expected) {
  if (!flags.rtol && !flags.atol && !flags.ulp) return Tolerance::DefaultFor(expected);
  return {flags.rtol.value_or(0), flags.atol.value_or(0), flags.ulp.value_or(0)};
}

void PrintLeaf(const LeafReport& leaf) {
  const Comparison& c = leaf.comparison;
  fmt::print("result_{} {}: ", leaf.index, leaf.shape);
  if (!c.shapes_match) return fmt::print("the shapes differ\n");
  if (c.differing == 0) return fmt::print("equal, bit for bit\n");
  fmt::print("{} of {} elements differ, worst {:.4g} ulp, {:.3g} absolute, {:.3g} relative: {}\n", c.differing, c.elements, c.max_ulp, c.max_abs,
             c.max_rel, c.agrees() ? "within the tolerance" : fmt::format("{} OUTSIDE the tolerance", c.mismatches));
  if (c.agrees()) return;
  fmt::print("  tolerance: rtol {:.3g}, atol {:.3g}, ulp {:.3g}", leaf.tolerance.rtol, leaf.tolerance.atol, leaf.tolerance.ulp);
  if (c.nan_mismatches > 0) fmt::print("; NaN on one side only: {}", c.nan_mismatches);
  fmt::print("\n  {:>16} {:>16} {:>16} {:>10} {:>10} {:>10}\n", "at", "got", "expected", "ulp", "abs", "rel");
  for (const ElementDifference& e : c.worst) {
    fmt::print("  {:>16} {:>16} {:>16} {:10.3g} {:10.3g} {:10.3g}\n", "[" + e.where + "]", e.actual, e.expected, e.ulp, e.abs, e.rel);
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

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

Json LeafJson(const LeafReport& leaf) {
  const Comparison& c = leaf.comparison;
  return {{"index", leaf.index}, {"max_ulp", NumberJson(c.max_ulp)}, {"max_abs", NumberJson(c.max_abs)}, {"max_rel", NumberJson(c.max_rel)},
          {"count", c.mismatches}, {"where", c.worst.empty() ? "" : c.worst[0].where}, {"differing", c.differing}, {"elements", c.elements}};
}

Status Diff(const DiffFlags& flags) {
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadRunnable(flags.program.file));
  VXLA_ASSIGN_OR_RETURN(ProgramArguments arguments, LoadArguments(*module, flags.program.args, flags.program.seed));
  PrintNotes(arguments.notes);
  std::string device, reference = flags.against;
  Progress("running on " + flags.device.device);
  VXLA_ASSIGN_OR_RETURN(Literal actual, RunOn(flags.device.device, flags.device, flags.compile, *module, arguments.pointers(), &device));
  const std::vector<const Literal*> got = FlattenLiteral(actual);

  std::vector<Literal> from_file;
  Literal expected_value;
  std::vector<const Literal*> expected;
  if (flags.against.ends_with(".npz")) {
    VXLA_ASSIGN_OR_RETURN(from_file, ExpectedFromFile(flags.against, got));
    for (const Literal& literal : from_file) expected.push_back(&literal);
  } else {
    Progress("running on " + flags.against);
    VXLA_ASSIGN_OR_RETURN(expected_value, RunOn(flags.against, flags.device, flags.compile, *module, arguments.pointers(), &reference));
    expected = FlattenLiteral(expected_value);
  }
  Progress("");

  std::vector<LeafReport> leaves;
  int64_t bad = -1;
  for (size_t k = 0; k < got.size(); ++k) {
    if (!got[k]->shape().IsArray()) continue;
    const Tolerance tolerance = ToleranceFor(flags, *expected[k]);
    leaves.push_back({k, Compare(*got[k], *expected[k], tolerance), tolerance, expected[k]->shape().ToString()});
    if (bad < 0 && !leaves.back().comparison.agrees()) bad = static_cast<int64_t>(k);
  }
  if (flags.json) {
    Json report{{"verdict", bad < 0 ? "agree" : "differ"}, {"device", device}, {"reference", reference}, {"results", Json::array()}};
    for (const LeafReport& leaf : leaves) report["results"].push_back(LeafJson(leaf));
    report["first_bad"] = bad < 0 ? Json() : Json(fmt::format("result_{}", bad));
    report["fault"] = Json();
    VXLA_RETURN_IF_ERROR(WriteText("-", report.dump(2) + "\n"));
  } else {
    Comparison worst;
    for (const LeafReport& leaf : leaves) {
      PrintLeaf(leaf);
      worst.max_abs = std::max(worst.max_abs, leaf.comparison.max_abs);
      worst.max_ulp = std::max(worst.max_ulp, leaf.comparison.max_ulp);
    }
    fmt::print("{}: {} and {} {}; worst difference {:.3g} ({:.4g} ulp)\n", bad < 0 ? "AGREE" : "DIFFER", device, reference,
               bad < 0 ? fmt::format("agree on all {} results", leaves.size()) : fmt::format("differ, first in result_{}", bad), worst.max_abs,
               worst.max_ulp);
  }
  if (bad >= 0) return Mismatch("{}: result_{} on {} differs from {}", flags.program.file, bad, device, reference);
  return OkStatus();
}

// --device all: one comparison after another, each with its verdict; the first failure is the answer.
Status DiffOnAll(DiffFlags flags) {
  if (flags.device.device != "all") return Diff(flags);
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, vulkan::ListDevices());
  Status first;
  for (size_t i = 0; i < devices.size(); ++i) {
    flags.device.device = fmt::format("vulkan:{}", i);
    Status status = Diff(flags);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace

CommandBody AddDiff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  flags->program.AddTo(app);
  flags->device.AddTo(app);
  flags->compile.AddTo(app);
  app.add_option("--against", flags->against, "cpu, another device, or an .npz with result_0, result_1 ...")->capture_default_str();
  app.add_option("--rtol", flags->rtol, "relative tolerance (default 1e-5)");
  app.add_option("--atol", flags->atol, "absolute tolerance (default 1e-6 of the largest expected magnitude)");
  app.add_option("--ulp", flags->ulp, "or so many units in the last place");
  app.add_flag("--json", flags->json, "the verdict as one JSON object");
  return [flags] { return Report(DiffOnAll(*flags)); };
}

}  // namespace vxla
