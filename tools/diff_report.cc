#include "tools/diff_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/report_data.h"
#include "tools/files.h"

namespace vxla {
namespace {

constexpr char kStyle[] = R"(
:root { --ink: #1c2430; --faint: #667085; --line: #dfe3ea; --good: #13795b; --bad: #b42318; --tint: #f5f7fa; --bar: #3b6fb6; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; color: var(--ink); margin: 0 auto; max-width: 1120px; padding: 32px 24px 80px; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 40px 0 10px; } h3 { font-size: 15px; margin: 24px 0 6px; }
code, td.n { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.verdict { border-left: 6px solid var(--good); background: var(--tint); padding: 14px 18px; margin: 18px 0; border-radius: 4px; }
.verdict.bad { border-color: var(--bad); } .verdict b { color: var(--good); } .verdict.bad b { color: var(--bad); }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: 13px; } td.n, th.n { text-align: right; white-space: nowrap; }
th, td { padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
tr.bad td { background: #fdf1f0; } .tag { border-radius: 3px; padding: 1px 7px; font-size: 12px; background: var(--line); }
.tag.bad { background: var(--bad); color: #fff; } .tag.good { background: #d3efe5; color: var(--good); }
.pictures { display: flex; flex-wrap: wrap; gap: 32px; margin-top: 10px; } figure { margin: 0; } figcaption { color: var(--faint); font-size: 13px; }
pre { background: var(--tint); padding: 10px 14px; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 4px; } .faint { color: var(--faint); }
)";

std::string Svg(const DistanceHistogram& histogram) {
  const size_t last = std::max<size_t>(3, histogram.last());
  const double most = std::log10(1.0 + static_cast<double>(*std::ranges::max_element(histogram.counts)));
  constexpr int kBar = 26, kHeight = 150;
  const int width = static_cast<int>(last + 1) * kBar + 32;  // the last label leans to the right
  std::string svg =
      fmt::format("<svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">", width, kHeight + 62);
  for (size_t b = 0; b <= last; ++b) {
    const int64_t count = histogram.counts[b];
    const double height = most > 0 ? std::log10(1.0 + static_cast<double>(count)) / most * kHeight : 0;
    const char* color = b == 0 ? "#8fb9a8" : b + 1 == histogram.counts.size() ? "#b42318" : "#3b6fb6";
    const double x = static_cast<double>(b) * kBar + 4;
    const std::string label = DistanceHistogram::Label(b);
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"{}\"><title>{}: {} of "
        "{}</title></rect>",
        x, kHeight - height + 4, kBar - 4, height, color, label, count, histogram.total);
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{}\" font-size=\"10\" fill=\"#667085\" transform=\"rotate(60 {:.0f} {})\">{}</text>",
        x + 6, kHeight + 16, x + 6, kHeight + 16, label);
  }
  return svg + "</svg>";
}

std::string Color(double distance) {
  if (distance == 0) return "#eef3f0";
  if (!std::isfinite(distance)) return "#b42318";
  // From light blue at half an ulp to dark at a million.
  const double t = std::clamp((std::log2(distance) + 1) / 21, 0.0, 1.0);
  auto mix = [&](double from, double to) { return static_cast<int>(from + (to - from) * t); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(190, 26), mix(214, 34), mix(240, 92));
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
      const std::string color = Color(map.at(y, x));
      double most = 0;
      int64_t end = x;
      while (end < cells_x && Color(map.at(y, end)) == color) most = std::max(most, map.at(y, end++));
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>row {} column {}: "
          "{:.4g} ulp</title></rect>",
          static_cast<double>(x) * side, static_cast<double>(y) * side, static_cast<double>(end - x) * side, side,
          color, y * map.array_rows / cells_y, x * map.array_columns / cells_x, most);
      x = end;
    }
  }
  return svg + "</svg>";
}

std::string Number(double value) { return value == 0 ? "0" : fmt::format("{:.4g}", value); }

std::string Figures(const std::string& what, const Literal& actual, const Literal& expected) {
  return fmt::format(
      "<figure>{}<figcaption>{}: elements by distance in ulp (heights are logarithmic)</figcaption></figure>"
      "<figure>{}<figcaption>{}: where, rows of the last dimension; dark is far, red is NaN or infinity on one "
      "side</figcaption></figure>",
      Svg(HistogramOf(actual, expected)), what, Svg(HeatMapOf(actual, expected)), what);
}

std::string WorstTable(const Comparison& c) {
  if (c.worst.empty()) return "";
  std::string html =
      "<table><tr><th>at</th><th class=n>device</th><th class=n>expected</th><th class=n>ulp</th><th "
      "class=n>absolute</th><th class=n>relative</th></tr>";
  for (const ElementDifference& e : c.worst) {
    html += fmt::format(
        "<tr><td class=n style=\"text-align:left\">[{}]</td><td class=n>{}</td><td class=n>{}</td><td "
        "class=n>{}</td><td class=n>{}</td><td class=n>{}</td></tr>",
        e.where, EscapeHtml(e.actual), EscapeHtml(e.expected), Number(e.ulp), Number(e.abs), Number(e.rel));
  }
  return html + "</table>";
}

std::string ResultsHtml(const DiffOutcome& outcome) {
  std::string html =
      "<h2>Results</h2><div class=wide><table><tr><th>result</th><th>shape</th><th></th><th class=n>outside</th><th "
      "class=n>differing</th><th class=n>elements</th>"
      "<th class=n>worst ulp</th><th class=n>absolute</th><th class=n>relative</th><th class=n>NaN</th><th "
      "class=n>inf</th><th>as shader math</th></tr>";
  for (const LeafReport& leaf : outcome.leaves) {
    const Comparison& c = leaf.comparison;
    html += fmt::format(
        "<tr class={}><td>result_{}</td><td class=n style=\"text-align:left\">{}</td><td><span class=\"tag "
        "{}\">{}</span></td><td class=n>{}</td><td class=n>{}</td>"
        "<td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td "
        "class=n>{}</td><td>{}</td></tr>",
        leaf.agrees() ? "good" : "bad", leaf.index, EscapeHtml(leaf.shape), leaf.agrees() ? "good" : "bad",
        leaf.agrees() ? "agrees" : "differs", c.mismatches, c.differing, c.elements, Number(c.max_ulp),
        Number(c.max_abs), Number(c.max_rel), c.nan_mismatches, c.infinity_mismatches,
        !leaf.driver            ? "not known"
        : leaf.driver->agrees() ? "same bits"
                                : fmt::format("{} other bits", leaf.driver->mismatches));
  }
  html += "</table></div>";
  const auto got = FlattenLiteral(outcome.actual), expected = FlattenLiteral(outcome.expected);
  std::vector<const Literal*> shader_math;
  if (outcome.shader_math) shader_math = FlattenLiteral(*outcome.shader_math);
  constexpr size_t kMostPictures = 32;
  size_t shown = 0;
  for (const LeafReport& leaf : outcome.leaves) {
    if (leaf.comparison.differing == 0 || !leaf.comparison.shapes_match || shown++ >= kMostPictures) continue;
    html += fmt::format("<h3>result_{} <span class=faint>{}</span></h3>{}<div class=pictures>{}", leaf.index,
                        EscapeHtml(leaf.shape), WorstTable(leaf.comparison),
                        Figures("device and expected", *got[leaf.index], *expected[leaf.index]));
    if (leaf.driver && !leaf.driver->agrees())
      html += Figures("device and shader math", *got[leaf.index], *shader_math[leaf.index]);
    html += "</div>";
  }
  return html;
}

std::string InstructionsHtml(const DiffOutcome& outcome) {
  if (!outcome.isolated) return "";
  std::string html =
      "<h2>Instructions by themselves, on the reference's operands</h2><div "
      "class=wide><table><tr><th>instruction</th><th>op</th><th>shape</th><th>bound</th>"
      "<th class=n>outside</th><th class=n>elements</th><th class=n>worst ulp</th><th class=n>absolute</th><th "
      "class=n>relative</th><th>as shader math</th><th>fault</th></tr>";
  for (const InstructionReport& i : outcome.instructions) {
    const std::string head = fmt::format(
        "<tr class={}><td class=n style=\"text-align:left\">{}</td><td>{}</td><td class=n "
        "style=\"text-align:left\">{}</td>",
        i.bad() ? "bad" : "good", EscapeHtml(i.name), EscapeHtml(i.opcode), EscapeHtml(i.shape));
    if (!i.not_run.empty()) {
      html += fmt::format("{}<td colspan=8 class=faint>not compared: {}</td></tr>", head, EscapeHtml(i.not_run));
      continue;
    }
    const Comparison& c = i.device;
    html += fmt::format(
        "{}<td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td "
        "class=n>{}</td><td>{}</td><td>{}</td></tr>",
        head, EscapeHtml(i.bound), c.mismatches, c.elements, Number(c.max_ulp), Number(c.max_abs), Number(c.max_rel),
        i.on_host            ? "on the host"
        : !i.driver          ? "not known"
        : i.driver->agrees() ? "same bits"
                             : fmt::format("{} other bits", i.driver->mismatches),
        i.fault == Fault::kNone ? "" : fmt::format("<span class=\"tag bad\">{}</span>", FaultName(i.fault)));
  }
  html += "</table></div>";
  for (const InstructionReport& i : outcome.instructions) {
    if (i.bad()) html += fmt::format("<h3>{}</h3>{}", EscapeHtml(i.name), WorstTable(i.device));
  }
  return html;
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

}  // namespace

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

Status WriteDiffReport(const std::string& path, const std::string& program, const std::string& command,
                       const DiffOutcome& outcome) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width\"><title>{0}: {1}</title>"
      "<style>{2}</style></head><body><h1>{1}</h1><div class=faint>vxla diff</div>",
      outcome.agrees() ? "AGREE" : "DIFFER", EscapeHtml(program), kStyle);
  html += VerdictHtml(outcome);
  html += fmt::format("<pre>{}</pre>", EscapeHtml(command));
  html += ResultsHtml(outcome);
  html += InstructionsHtml(outcome);
  html += FactsHtml(outcome);
  return WriteText(path, html + "</body></html>\n");
}

}  // namespace vxla
