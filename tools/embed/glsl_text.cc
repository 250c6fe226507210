#include "tools/embed/glsl_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace VXLA_NAMESPACE::embed {
namespace {

bool IsIdentifierStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// A step of Horner's scheme with a constant, "  p = horner_f64(p, z, uvec2(...));".
struct HornerStep {
  std::string_view target, argument, constant;
};
std::optional<HornerStep> HornerStepOf(std::string_view line) {
  constexpr std::string_view kCall = " = horner_f64(";
  const size_t begin = std::min(line.find_first_not_of(' '), line.size()), call = line.find(kCall);
  if (begin == 0 || call == line.npos) return std::nullopt;
  HornerStep step;
  step.target = line.substr(begin, call - begin);
  std::string_view rest = line.substr(call + kCall.size());
  if (!rest.starts_with(step.target) || !rest.substr(step.target.size()).starts_with(", ") || !rest.ends_with(");"))
    return std::nullopt;
  rest.remove_prefix(step.target.size() + 2);
  const size_t comma = std::min(rest.find(", uvec2("), rest.size());
  step.argument = rest.substr(0, comma);
  if (comma == rest.size() || !std::ranges::all_of(step.argument, IsIdentifierPart)) return std::nullopt;
  step.constant = rest.substr(comma + 2, rest.size() - comma - 4);
  return step;
}

using Macros = std::map<std::string_view, std::string_view>;

// The text with the macros replaced, arguments pasted.
void AppendExpanded(std::string_view text, const Macros& macros, std::string* out) {
  for (size_t i = 0; i < text.size();) {
    if (!IsIdentifierStart(text[i])) {
      out->push_back(text[i++]);
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && IsIdentifierPart(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    const auto macro = macros.find(word);
    if (macro == macros.end()) {
      out->append(word);
    } else if (!macro->second.starts_with("(")) {
      out->append(macro->second);
    } else {
      // (name) name##suffix
      const size_t end = text.find(')', i);
      out->append(text.substr(i + 1, end - i - 1));
      out->append(macro->second.substr(macro->second.find("##") + 2));
      i = end + 1;
    }
  }
}

}  // namespace

bool IsIdentifierPart(char c) { return IsIdentifierStart(c) || (c >= '0' && c <= '9'); }

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

void ForEachIdentifier(std::string_view text, const std::function<void(std::string_view)>& visit) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (IsIdentifierStart(c)) {
      const size_t begin = i;
      while (i < text.size() && IsIdentifierPart(text[i])) ++i;
      visit(text.substr(begin, i - begin));
    } else if (c >= '0' && c <= '9') {
      while (i < text.size() && (IsIdentifierPart(text[i]) || text[i] == '.')) ++i;  // 0x7fu, 1.0lf
    } else {
      ++i;
    }
  }
}

std::string Instantiated(const std::string& text, const ReadFile& read) {
  std::string_view file = text;
  constexpr std::string_view kInclude = "#include \"shaders/";
  Macros macros;
  std::string out;
  while (!file.empty()) {
    const std::string_view line = TakeLine(file);
    if (line.starts_with("#define ")) {
      const size_t end = std::min(line.find_first_of(" (", 8), line.size());  // the end: a macro without a value
      macros[line.substr(8, end - 8)] =
          line.substr(std::min(end + (line.substr(end).starts_with(' ') ? 1 : 0), line.size()));
    } else if (line.starts_with(kInclude)) {
      const std::string path(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
      AppendExpanded(read(path), macros, &out);
    } else if (!line.starts_with("#undef ")) {
      out.append(line).push_back('\n');
    }
  }
  return out;
}

std::string WithWordsForDoubles(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      const size_t end = std::min(text.find('\n', i), text.size());
      out.append(text.substr(i, end - i));
      i = end;
    } else if (IsIdentifierStart(c)) {
      const size_t begin = i;
      while (i < text.size() && IsIdentifierPart(text[i])) ++i;
      out.append(text.substr(begin, i - begin));
    } else if (c >= '0' && c <= '9') {
      const size_t begin = i;
      while (i < text.size() &&
             (IsIdentifierPart(text[i]) || text[i] == '.' ||
              ((text[i] == '-' || text[i] == '+') && text[i - 1] == 'e' && text[begin + 1] != 'x'))) {
        ++i;
      }
      std::string_view number = text.substr(begin, i - begin);
      if (!number.ends_with("lf")) {
        out.append(number);
        continue;
      }
      const double value = std::strtod(std::string(number.substr(0, number.size() - 2)).c_str(), nullptr);
      const bool negative = !out.empty() && out.back() == '-';
      if (negative) out.pop_back();
      const uint64_t bits = std::bit_cast<uint64_t>(negative ? -value : value);
      out += fmt::format("uvec2(0x{:x}u, 0x{:x}u)", static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32));
    } else {
      out.push_back(c);
      ++i;
    }
  }
  return out;
}

std::string WithLoopsForPolynomials(std::string_view text) {
  constexpr size_t kFewest = 4;
  std::string out;
  while (!text.empty()) {
    const std::string_view from_here = text;
    std::vector<HornerStep> steps;
    for (std::string_view rest = text; !rest.empty();) {
      const auto step = HornerStepOf(TakeLine(rest));
      if (!step || (!steps.empty() && (step->target != steps[0].target || step->argument != steps[0].argument))) break;
      steps.push_back(*step);
      text = rest;
    }
    if (steps.size() < kFewest) {
      text = from_here;
      out.append(TakeLine(text)).push_back('\n');
      continue;
    }
    out +=
        fmt::format("  for (int term = 0; term < {}; ++term) {{\n    uvec2 c = {};\n", steps.size(), steps[0].constant);
    for (size_t i = 1; i < steps.size(); ++i)
      out += fmt::format("    c = select_words(term == {}, {}, c);\n", i, steps[i].constant);
    out += fmt::format("    {0} = horner_f64({0}, {1}, c);\n  }}\n", steps[0].target, steps[0].argument);
  }
  return out;
}

std::string WithoutComments(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (!line.empty() && !line.starts_with("//")) out.append(line).push_back('\n');
  }
  return out;
}

}  // namespace VXLA_NAMESPACE::embed
