#include "tools/diff/diff_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "api/verify/report_data.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2430; --faint: #667085; --line: #dfe3ea; --good: #13795b; --good-tint: #d3efe5;
  --bad: #b42318; --bad-tint: #fdf1f0; --on-bad: #ffffff; --tint: #f5f7fa; --bar: #3b6fb6; --equal: #8fb9a8; --heat: #1a225c; --cell: #eef3f0; }
@media (prefers-color-scheme: dark) { :root { --page: #14181f; --ink: #e4e7ec; --faint: #98a2b3; --line: #333b48; --good: #5fc9a3;
  --good-tint: #173a2e; --bad: #f97066; --bad-tint: #35201f; --on-bad: #14181f; --tint: #1d232c; --bar: #6ea1e8; --equal: #4d7d6b;
  --heat: #a9c8ff; --cell: #1f262f; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; background: var(--page); color: var(--ink); margin: 0 auto; max-width: 1160px;
  padding: 32px 24px 80px; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 40px 0 10px; } h3 { font-size: 15px; margin: 24px 0 6px; }
code, td.n, td.t { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.verdict { border-left: 6px solid var(--good); background: var(--tint); padding: 14px 18px; margin: 18px 0; border-radius: 4px; }
.verdict.bad { border-color: var(--bad); } .verdict b { color: var(--good); } .verdict.bad b { color: var(--bad); }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: 13px; } td.n, th.n { text-align: right; white-space: nowrap; }
th, td { padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
tr.bad td { background: var(--bad-tint); } .tag { border-radius: 3px; padding: 1px 7px; font-size: 12px; background: var(--line); }
.tag.bad { background: var(--bad); color: var(--on-bad); } .tag.good { background: var(--good-tint); color: var(--good); }
.pictures { display: flex; flex-wrap: wrap; gap: 32px; margin-top: 10px; } figure { margin: 0; } figcaption { color: var(--faint); font-size: 13px; }
pre { background: var(--tint); padding: 10px 14px; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 4px; } .faint { color: var(--faint); }
summary { cursor: pointer; padding: 6px 0; } details details { margin-left: 18px; }
svg { max-width: 100%; height: auto; } h1 { overflow-wrap: anywhere; }
svg text { font-size: 10px; fill: var(--faint); } svg .count { fill: var(--ink); } svg .bar { fill: var(--bar); } svg .equal { fill: var(--equal); }
svg .apart { fill: var(--bad); } svg .heat { fill: var(--heat); } svg .cell { fill: var(--cell); }
svg line { stroke: var(--bad); stroke-dasharray: 4 3; } svg .limit { fill: var(--bad); }
)";

std::string Number(double value) { return value == 0 ? "0" : fmt::format("{:.4g}", value); }

// At most four characters, to stand on a bar: "999", "12k", "3.4M".
std::string ShortCount(int64_t count) {
  if (count < 1000) return fmt::format("{}", count);
  double value = static_cast<double>(count);
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return value < 9.95 ? fmt::format("{:.1f}{}", value, unit) : fmt::format("{:.0f}{}", value, unit);
}

// So many units in the last place are within the tolerance at every magnitude. An atol allows more next to zero.
double UlpsAllowed(const Tolerance& tolerance, ElementType type) {
  if (!IsFloating(type) && !IsComplex(type)) return 0;
  // The smallest double of the format's spacing at 1: an ulp is that share of the number, or up to half of it.
  const double spacing = 1 / UlpDistance(RealPart(type), 2, 1);
  return std::max({tolerance.ulp, tolerance.norm_ulp, tolerance.rtol / spacing});
}

// "8.59e+06 at [3]"
std::string AtElement(double value, const std::optional<ElementDifference>& element) {
  return element ? fmt::format("{} at [{}]", Number(value), element->where) : Number(value);
}

std::string ToleranceText(const Tolerance& tolerance, const std::string& bound) {
  if (!bound.empty()) return bound;
  std::string text;
  auto add = [&](const char* name, double value) {
    if (value > 0) text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", name, value);
  };
  add("rtol", tolerance.rtol);
  add("atol", tolerance.atol);
  add("ulp", tolerance.ulp);
  add("ulp of |z|", tolerance.norm_ulp);
  return text.empty() ? "equal" : text;
}

// Bars with their counts over their buckets, and a line behind the last distance that the tolerance allows at every
// magnitude; `allowed` below 0: no line.
std::string Svg(const DistanceHistogram& histogram, double allowed) {
  // Bucket b ends at 2^(b - 2).
  const double limit = allowed < 0 ? -1 : allowed < 0.5 ? 0 : std::log2(allowed) + 2;
  const size_t shown =
      std::min<size_t>(static_cast<size_t>(std::max(0.0, std::ceil(limit))) + 1, DistanceHistogram::kPowers);
  const size_t last = std::max({size_t{3}, histogram.last(), shown});
  const double most = std::log10(1.0 + static_cast<double>(*std::ranges::max_element(histogram.counts)));
  constexpr int kBar = 30, kHeight = 150, kTop = 30;
  const int width = static_cast<int>(last + 1) * kBar + 32;  // the last label leans to the right
  std::string svg = fmt::format("<svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">", width,
                                kTop + kHeight + 58);
  for (size_t b = 0; b <= last; ++b) {
    const int64_t count = histogram.counts[b];
    const double height = most > 0 ? std::log10(1.0 + static_cast<double>(count)) / most * kHeight : 0;
    const char* kind = b == 0 ? "equal" : b + 1 == histogram.counts.size() ? "apart" : "bar";
    const int x = static_cast<int>(b) * kBar + 4;
    const std::string label = DistanceHistogram::Label(b);
    svg += fmt::format(
        "<rect class={} x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"><title>{}: {} of {}</title></rect>", kind,
        x, kTop + kHeight - height, kBar - 4, height, label, count, histogram.total);
    if (count > 0) {
      svg += fmt::format("<text class=count x=\"{}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + (kBar - 4) / 2,
                         kTop + kHeight - height - 3, ShortCount(count));
    }
    svg += fmt::format("<text x=\"{0}\" y=\"{1}\" transform=\"rotate(60 {0} {1})\">{2}</text>", x + 6,
                       kTop + kHeight + 14, label);
  }
  if (limit >= 0) {
    const double x = std::min(limit + 1, static_cast<double>(last + 1)) * kBar + 2;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"12\" y2=\"{1}\"/><text class=limit x=\"{0:.1f}\" y=\"10\" "
        "text-anchor=\"{2}\">tolerance</text>",
        x, kTop + kHeight, x > width / 2 ? "end" : "start");
  }
  return svg + "</svg>";
}

// The share of the darkest (in dark pages the brightest) colour: from half an ulp to a million.
std::string Shade(double distance) {
  if (distance == 0) return "class=cell";
  if (!std::isfinite(distance)) return "class=apart";
  const double t = std::clamp((std::log2(distance) + 1) / 21, 0.0, 1.0);
  return fmt::format("class=heat fill-opacity=\"{:.2f}\"", 0.2 + 0.8 * t);
}

std::string Svg(const HeatMap& map) {
  if (map.worst.empty()) return "";
  const int64_t cells_x = map.columns, cells_y = map.rows;
  const double side = std::clamp(384.0 / static_cast<double>(std::max(cells_x, cells_y)), 6.0, 24.0);
  std::string svg =
      fmt::format("<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">",
                  side * static_cast<double>(cells_x), side * static_cast<double>(cells_y));
  for (int64_t y = 0; y < cells_y; ++y) {
    // Neighbours of one colour are one rectangle.
    for (int64_t x = 0; x < cells_x;) {
      const std::string shade = Shade(map.at(y, x));
      double most = 0;
      int64_t end = x;
      while (end < cells_x && Shade(map.at(y, end)) == shade) most = std::max(most, map.at(y, end++));
      svg += fmt::format(
          "<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>row {} column {}: "
          "{:.4g} ulp</title></rect>",
          shade, static_cast<double>(x) * side, static_cast<double>(y) * side, static_cast<double>(end - x) * side,
          side, y * map.array_rows / cells_y, x * map.array_columns / cells_x, most);
      x = end;
    }
  }
  return svg + "</svg>";
}

std::string Figures(const std::string& what, const Literal& actual, const Literal& expected, double allowed) {
  return fmt::format(
      "<figure>{}<figcaption>{}: elements by distance in ulp (heights are logarithmic)</figcaption></figure>"
      "<figure>{}<figcaption>{}: where, rows of the last dimension; the farther the stronger, red is NaN or infinity "
      "on "
      "one side</figcaption></figure>",
      Svg(HistogramOf(actual, expected), allowed), what, Svg(HeatMapOf(actual, expected)), what);
}

std::string ElementRow(const ElementDifference& e) {
  return fmt::format(
      "<tr><td class=t>[{}]</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td>"
      "<td class=n>{}</td></tr>",
      e.where, EscapeHtml(e.actual), EscapeHtml(e.expected), Number(e.ulp), Number(e.abs), Number(e.rel));
}

std::string WorstTable(const Comparison& c) {
  if (c.worst.empty()) return "";
  std::string html =
      "<table><tr><th>at</th><th class=n>device</th><th class=n>expected</th><th class=n>ulp</th><th "
      "class=n>absolute</th><th class=n>relative</th></tr>";
  for (const ElementDifference& e : c.worst) html += ElementRow(e);
  // They are the worst by absolute difference; the worst in ulp may be another one.
  const auto listed = [&](const ElementDifference& e) { return e.index == c.worst_ulp->index; };
  if (c.worst_ulp && std::ranges::none_of(c.worst, listed)) html += ElementRow(*c.worst_ulp);
  return html + "</table>";
}

// What agrees is there to be opened; it is open where nothing differs.
std::string Folded(const std::string& summary, const std::string& html, bool open) {
  if (html.empty()) return "";
  return fmt::format("<details{}><summary>{}</summary>{}</details>", open ? " open" : "", summary, html);
}

std::string BitsText(const std::optional<Comparison>& driver) {
  if (!driver) return "not known";
  return driver->agrees() ? "same bits" : fmt::format("{} other bits", driver->mismatches);
}

constexpr char kResultHead[] =
    "<table><tr><th>result</th><th>shape</th><th></th><th>tolerance</th><th class=n>outside</th><th "
    "class=n>differing</th>"
    "<th class=n>elements</th><th class=n>worst ulp</th><th class=n>absolute</th><th class=n>relative</th>"
    "<th class=n>NaN</th><th class=n>inf</th><th>as shader arithmetic</th></tr>";

std::string ResultRow(const LeafReport& leaf, const std::string& bound) {
  const Comparison& c = leaf.comparison;
  const char* kind = leaf.agrees() ? "good" : "bad";
  return fmt::format(
      "<tr class={0}><td>result_{1}</td><td class=t>{2}</td><td><span class=\"tag {0}\">{3}</span></td><td>{4}</td>"
      "<td class=n>{5}</td><td class=n>{6}</td><td class=n>{7}</td><td class=n>{8}</td><td class=n>{9}</td>"
      "<td class=n>{10}</td><td class=n>{11}</td><td class=n>{12}</td><td>{13}</td></tr>",
      kind, leaf.index, EscapeHtml(leaf.shape), leaf.agrees() ? "agrees" : "differs",
      EscapeHtml(ToleranceText(leaf.tolerance, bound)), c.mismatches, c.differing, c.elements,
      AtElement(c.max_ulp, c.worst_ulp), AtElement(c.max_abs, c.worst_abs), AtElement(c.max_rel, c.worst_rel),
      c.nan_mismatches, c.infinity_mismatches, BitsText(leaf.driver));
}

// The worst elements and the pictures of one result.
std::string ResultPictures(const DiffOutcome& outcome, const LeafReport& leaf) {
  const Literal& got = *FlattenLiteral(outcome.actual)[leaf.index];
  const Literal& expected = *FlattenLiteral(outcome.expected)[leaf.index];
  const double allowed = UlpsAllowed(leaf.tolerance, expected.shape().element_type());
  const std::string rounding = RoundingText(outcome, leaf);
  std::string html =
      fmt::format("{}{}<div class=pictures>{}", rounding.empty() ? "" : fmt::format("<p>{}</p>", EscapeHtml(rounding)),
                  WorstTable(leaf.comparison), Figures("device and expected", got, expected, allowed));
  if (leaf.driver && !leaf.driver->agrees()) {
    html += Figures("device and shader arithmetic", got, *FlattenLiteral(*outcome.shader_math)[leaf.index], 0);
  }
  return html + "</div>";
}

std::string ResultsHtml(const DiffOutcome& outcome) {
  std::string good_rows, bad_rows, good_pictures, bad_pictures;
  size_t agreeing = 0, shown = 0;
  for (const LeafReport& leaf : outcome.leaves) {
    const Comparison& c = leaf.comparison;
    agreeing += leaf.agrees();
    (leaf.agrees() ? good_rows : bad_rows) += ResultRow(leaf, outcome.bound);
    constexpr size_t kMostPictures = 32;
    if (c.differing == 0 || !c.shapes_match || shown++ >= kMostPictures) continue;
    const std::string title = fmt::format("result_{} <span class=faint>{}</span>", leaf.index, EscapeHtml(leaf.shape));
    const std::string pictures = ResultPictures(outcome, leaf);
    if (leaf.agrees()) {
      good_pictures += Folded(title, pictures, /*open=*/outcome.leaves.size() == 1);
    } else {
      bad_pictures += fmt::format("<h3>{}</h3>{}", title, pictures);
    }
  }
  std::string html = "<h2>Results</h2>";
  if (!bad_rows.empty())
    html += fmt::format("<div class=wide>{}{}</table></div>{}", kResultHead, bad_rows, bad_pictures);
  if (good_rows.empty()) return html;
  return html + Folded(fmt::format("{} of {} results agree", agreeing, outcome.leaves.size()),
                       fmt::format("<div class=wide>{}{}</table></div>{}", kResultHead, good_rows, good_pictures),
                       /*open=*/bad_rows.empty());
}

constexpr char kInstructionHead[] =
    "<table><tr><th>instruction</th><th>op</th><th>shape</th><th>bound</th><th class=n>outside</th>"
    "<th class=n>elements</th><th class=n>worst ulp</th><th class=n>absolute</th><th class=n>relative</th>"
    "<th>as shader arithmetic</th><th>fault</th></tr>";

std::string InstructionRow(const InstructionReport& i) {
  const std::string head =
      fmt::format("<tr class={}><td class=t>{}</td><td>{}</td><td class=t>{}</td>", i.bad() ? "bad" : "good",
                  EscapeHtml(i.name), EscapeHtml(i.opcode), EscapeHtml(i.shape));
  if (!i.not_run.empty())
    return fmt::format("{}<td colspan=8 class=faint>not compared: {}</td></tr>", head, EscapeHtml(i.not_run));
  const Comparison& c = i.device;
  return fmt::format(
      "{}<td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td "
      "class=n>{}</td><td>{}</td><td>{}</td></tr>",
      head, EscapeHtml(i.bound), c.mismatches, c.elements, AtElement(c.max_ulp, c.worst_ulp),
      AtElement(c.max_abs, c.worst_abs), AtElement(c.max_rel, c.worst_rel),
      i.on_host ? "on the host" : BitsText(i.driver),
      i.fault == Fault::kNone ? "" : fmt::format("<span class=\"tag bad\">{}</span>", FaultName(i.fault)));
}

std::string InstructionsHtml(const DiffOutcome& outcome) {
  if (!outcome.isolated) return "";
  std::string good_rows, bad_rows, worst;
  size_t within = 0;
  for (const InstructionReport& i : outcome.instructions) {
    (i.bad() ? bad_rows : good_rows) += InstructionRow(i);
    within += i.not_run.empty() && !i.bad();
    if (i.bad()) worst += fmt::format("<h3>{}</h3>{}", EscapeHtml(i.name), WorstTable(i.device));
  }
  std::string html = "<h2>Instructions by themselves, on the reference's operands</h2>";
  if (!bad_rows.empty()) html += fmt::format("<div class=wide>{}{}</table></div>{}", kInstructionHead, bad_rows, worst);
  if (good_rows.empty()) return html;
  return html + Folded(fmt::format("{} of {} instructions within their bounds", within, outcome.instructions.size()),
                       fmt::format("<div class=wide>{}{}</table></div>", kInstructionHead, good_rows),
                       /*open=*/bad_rows.empty());
}

std::string FactsHtml(const DiffOutcome& outcome) {
  if (!outcome.facts) return "";
  const DeviceFacts& facts = *outcome.facts;
  std::string rows;
  auto row = [&](const char* name, const std::string& value) {
    rows += fmt::format("<tr><th>{}</th><td>{}</td></tr>", name, EscapeHtml(value));
  };
  auto yes = [](bool value) { return value ? "yes" : "no"; };
  row("device", facts.name);
  row("driver", facts.driver + " " + facts.driver_version);
  row("Vulkan", fmt::format("{}.{}.{}", facts.api_version >> 22 & 0x7f, facts.api_version >> 12 & 0x3ff,
                            facts.api_version & 0xfff));
  row("native types",
      fmt::format("int64 {}, float64 {}, float16 {}, 16-bit storage {}, 8-bit storage {}", yes(facts.int64),
                  yes(facts.float64), yes(facts.float16), yes(facts.storage16), yes(facts.storage8)));
  row("subgroups", fmt::format("{} invocations, shuffles {}", facts.subgroup_size, yes(facts.subgroup_shuffle)));
  row("denormals", fmt::format("f32 {}, f16 {}, f64 {}", facts.quirks.flushes_f32_denormals ? "flushed" : "kept",
                               facts.quirks.flushes_f16_denormals ? "flushed" : "kept",
                               facts.quirks.flushes_f64_denormals ? "flushed" : "kept"));
  row("fusion", outcome.fusion ? "on" : "off");
  for (const std::string& note : facts.quirks.notes) row("quirk", note);
  return "<h2>Device</h2><table>" + rows + "</table>";
}

std::string VerdictHtml(const DiffOutcome& outcome) {
  std::string text = outcome.agrees() ? "AGREE" : "DIFFER";
  std::string html = fmt::format("<div class=\"verdict {}\"><b>{}</b>: {} and {}", outcome.agrees() ? "good" : "bad",
                                 text, EscapeHtml(outcome.device), EscapeHtml(outcome.reference));
  if (!outcome.agrees()) html += fmt::format(" differ, first in <code>{}</code>", EscapeHtml(outcome.first_bad));
  if (!outcome.fault.empty()) html += fmt::format("; fault: <b>{}</b>", outcome.fault);
  for (const std::string& note : outcome.notes)
    html += fmt::format("<br><span class=faint>{}</span>", EscapeHtml(note));
  return html + "</div>";
}

// "2026-11-28 13:00 UTC"
std::string UtcNow() {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
}

std::string Code(const std::string& text) { return fmt::format("<code>{}</code>", EscapeHtml(text)); }

// What whoever reads the verdict does with it, by whose fault it is.
std::vector<std::string> NextSteps(const ReportFacts& facts, const DiffOutcome& outcome) {
  if (outcome.agrees())
    return {fmt::format("Nothing. To see each instruction by itself: {}", Code(facts.command + " --isolate -v"))};
  std::vector<std::string> steps;
  const bool on_file = outcome.fault == "expected file";
  if (!facts.alone.empty()) {
    steps.push_back(fmt::format("See the instruction alone: {}", Code(facts.alone)));
  } else if (outcome.bad_instruction() != nullptr) {
    steps.push_back(fmt::format("Write the instruction as a program of its own: {}", Code(facts.command + " --bisect")));
  }
  if (outcome.fault == "driver") {
    steps.push_back(fmt::format("Run it on another driver beside this one: {}",
                                Code((facts.alone.empty() ? facts.command : facts.alone) + " --against lavapipe")));
    steps.push_back(
        "Report it to whoever makes the driver, with the small program, its arguments, the GLSL below and what "
        "<code>vxla devices</code> says");
  } else if (outcome.fault == "algorithm") {
    steps.push_back(
        "The formula or kernel of vxla is wrong, or a custom call's: report it with the small program, its arguments and "
        "<code>vxla --version --json</code>");
  } else if (outcome.fault == "order") {
    steps.push_back("Make the combiner associative, or sum in one order: the program asks for what no order decides");
  } else if (outcome.fault == "overflow") {
    steps.push_back("Keep the arguments smaller, or scale them: the program asks for what no order decides");
  } else if (outcome.fault == "rounding") {
    steps.push_back("Each operation is within its bound: leave out --rtol, --atol and --ulp, or state larger ones");
  } else if (on_file) {
    steps.push_back("The CPU reference gives other values than the file too: make the file again, or look at how it was made");
  } else if (outcome.fault == "other device") {
    steps.push_back("The first device agrees with the reference: compare the other one with it");
  }
  if (outcome.fault.empty())
    steps.push_back(fmt::format("Find out whose fault it is: {}", Code(facts.command + " --isolate")));
  return steps;
}

std::string NextHtml(const ReportFacts& facts, const DiffOutcome& outcome) {
  std::string items;
  for (const std::string& step : NextSteps(facts, outcome)) items += fmt::format("<li>{}</li>", step);
  return fmt::format("<h2>What now</h2><ol>{}</ol>", items);
}

// A text that is long shows its beginning.
std::string Listing(const std::string& text) {
  constexpr size_t kMost = 200'000;
  if (text.size() <= kMost) return fmt::format("<pre>{}</pre>", EscapeHtml(text));
  return fmt::format("<pre>{}</pre><p class=faint>{} bytes more</p>", EscapeHtml(text.substr(0, kMost)),
                     text.size() - kMost);
}

std::string BadInstructionHtml(const ReportFacts& facts, const DiffOutcome& outcome) {
  if (outcome.agrees() || (facts.hlo.empty() && facts.kernels.empty() && facts.no_kernels.empty())) return "";
  std::string html = fmt::format("<h2>What differs first: {}</h2>", EscapeHtml(outcome.first_bad));
  if (!facts.hlo.empty()) html += "<h3>As a program</h3>" + Listing(facts.hlo);
  constexpr size_t kMostKernels = 8;
  for (size_t k = 0; k < std::min(facts.kernels.size(), kMostKernels); ++k)
    html += Folded(fmt::format("Kernel {}, GLSL", EscapeHtml(facts.kernels[k].algorithm)),
                   Listing(facts.kernels[k].source), false);
  if (facts.kernels.size() > kMostKernels)
    html += fmt::format("<p class=faint>and {} kernels more: vxla explain --dump-kernels writes them</p>",
                        facts.kernels.size() - kMostKernels);
  if (!facts.no_kernels.empty())
    html += fmt::format("<p class=faint>No kernels are shown: {}</p>", EscapeHtml(facts.no_kernels));
  return html;
}

std::string MadeFromHtml(const ReportFacts& facts) {
  std::string rows;
  const auto row = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows += fmt::format("<tr><th>{}</th><td class=t>{}</td></tr>", name, EscapeHtml(value));
  };
  row("vxla", facts.version);
  row("program", facts.program);
  row("its XXH3-128", facts.program_hash);
  row("arguments, XXH3-128", facts.arguments);
  return "<h2>Made from</h2><table>" + rows + "</table>";
}

}  // namespace

std::string WorstText(const Comparison& c) {
  std::string text;
  const auto add = [&](double value, const char* unit, const std::optional<ElementDifference>& element) {
    if (element) text += fmt::format("{}{:.4g} {} at [{}]", text.empty() ? "" : ", ", value, unit, element->where);
  };
  add(c.max_ulp, "ulp", c.worst_ulp);
  add(c.max_abs, "absolute", c.worst_abs);
  add(c.max_rel, "relative", c.worst_rel);
  return text.empty() ? "none of finite numbers" : text;
}

std::string RoundingText(const DiffOutcome& outcome, const LeafReport& leaf) {
  if (!leaf.conditioning) return "";
  const std::string device = fmt::format("of {}: {}", outcome.device, leaf.conditioning->outside);
  const std::string other = !leaf.expected_conditioning
                                ? ""
                                : fmt::format(", of {}: {}", outcome.reference, leaf.expected_conditioning->outside);
  return fmt::format("elements beyond what rounding does to the reference in {} perturbed runs: {}{}",
                     leaf.conditioning->runs, device, other);
}

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

Status WriteDiffReport(const std::string& path, const ReportFacts& facts, const DiffOutcome& outcome) {
  const std::string name = std::filesystem::path(facts.program).filename().string();
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=color-scheme content=\"light dark\">"
      "<meta name=viewport content=\"width=device-width\"><title>{0}: {1}</title>"
      "<style>{2}</style></head><body><h1>{1}</h1><div class=faint>vxla diff, {3}</div>",
      outcome.agrees() ? "AGREE" : "DIFFER", EscapeHtml(name), kStyle, EscapeHtml(UtcNow()));
  html += VerdictHtml(outcome);
  html += fmt::format("<pre>{}</pre>", EscapeHtml(facts.command));
  html += NextHtml(facts, outcome);
  html += ResultsHtml(outcome);
  html += BadInstructionHtml(facts, outcome);
  html += InstructionsHtml(outcome);
  html += FactsHtml(outcome);
  html += MadeFromHtml(facts);
  return WriteText(path, html + "</body></html>\n");
}

}  // namespace VXLA_NAMESPACE
