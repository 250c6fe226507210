#include "tools/diff/diff_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/diff/diff_report.h"
#include "tools/messages.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

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
    fmt::print("  the device's bits differ from shader arithmetic's in {} elements, by {:.4g} ulp at most\n",
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
      "than shader arithmetic\n",
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

}  // namespace

Json OutcomeJson(const DiffOutcome& outcome) {
  Json json{{"verdict", outcome.agrees() ? "agree" : "differ"},
            {"summary", VerdictText(outcome, outcome.agrees() ? kAgree : kDiffer)},
            {"device", outcome.device},
            {"reference", outcome.reference},
            {"worst", WorstOfAll(outcome)},
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

void PrintOutcome(const DiffOutcome& outcome, const DiffOptions& options, bool verbose) {
  const std::string word = outcome.agrees() ? Toned(Tone::kGood, kAgree) : Toned(Tone::kBad, kDiffer);
  fmt::print("{}\n", VerdictText(outcome, word));
  for (const LeafReport& leaf : outcome.leaves) {
    if (verbose || !leaf.agrees()) PrintLeaf(outcome, leaf);
  }
  if (!outcome.bound.empty() && (verbose || !outcome.agrees()))
    fmt::print("bound of this one operation: {}\n", outcome.bound);
  PrintInstructions(outcome, options);
}

}  // namespace VXLA_NAMESPACE
