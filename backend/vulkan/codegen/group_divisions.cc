#include "backend/vulkan/codegen/group_divisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr size_t kMostGrouped = 32;  // bits of a word

struct GroupedDivision {
  std::string indent, quotient, a, b;
  size_t line = 0;  // where it stands in the output
};

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool IsPlain(std::string_view operand) { return !operand.empty() && std::ranges::all_of(operand, IsNamePart); }

bool Mentions(std::string_view line, std::string_view name) {
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsNamePart(line[at - 1]);
    if (begins && (end == line.size() || line[end] == '.' || !IsNamePart(line[end]))) return true;
  }
  return false;
}

std::string_view WithoutIndent(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

// "precise float q = divide_f32(a, b);" of plain operands.
std::optional<GroupedDivision> ReadDivision(std::string_view line) {
  constexpr std::string_view kBegin = "precise float ", kCall = " = divide_f32(", kEnd = ");";
  std::string_view rest = WithoutIndent(line);
  GroupedDivision division;
  division.indent = line.substr(0, line.size() - rest.size());
  if (!rest.starts_with(kBegin) || !rest.ends_with(kEnd)) return std::nullopt;
  rest = rest.substr(kBegin.size(), rest.size() - kBegin.size() - kEnd.size());
  const size_t call = rest.find(kCall);
  if (call == rest.npos) return std::nullopt;
  const std::string_view operands = rest.substr(call + kCall.size());
  const size_t comma = operands.find(", ");
  if (comma == operands.npos) return std::nullopt;
  division.quotient = rest.substr(0, call);
  division.a = operands.substr(0, comma);
  division.b = operands.substr(comma + 2);
  if (!IsPlain(division.quotient) || !IsPlain(division.a) || !IsPlain(division.b)) return std::nullopt;
  return division;
}

// A value of its own, which changes nothing that was there before.
bool IsDeclaration(std::string_view line) {
  const std::string_view rest = WithoutIndent(line);
  return rest.starts_with("precise ") && rest.ends_with(";") && rest.find(" = ") != rest.npos &&
         rest.find_first_of("{}") == rest.npos;
}

class Grouping {
 public:
  std::string Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    Finish();
    return fmt::format("{}\n", fmt::join(lines_, "\n"));
  }

 private:
  void Add(std::string_view line) {
    const bool uses =
        std::ranges::any_of(group_, [&](const GroupedDivision& division) { return Mentions(line, division.quotient); });
    if (uses || !IsDeclaration(line) || group_.size() == kMostGrouped) Finish();
    if (auto division = ReadDivision(line)) {
      division->line = lines_.size();
      group_.push_back(std::move(*division));
    }
    lines_.emplace_back(line);
  }

  void Finish() {
    if (group_.size() > 1) Write();
    group_.clear();
  }

  // The operands of the i-th division, in a loop that has no arrays.
  std::string Choice(std::string GroupedDivision::*operand) const {
    std::string text = group_.back().*operand;
    if (std::ranges::all_of(group_, [&](const GroupedDivision& d) { return d.*operand == text; })) return text;
    for (size_t i = group_.size() - 1; i-- > 0;) text = fmt::format("at == {}u ? {} : {}", i, group_[i].*operand, text);
    return text;
  }

  void Write() {
    const std::string &indent = group_[0].indent, &name = group_[0].quotient;
    std::vector<std::string> operands;
    for (const GroupedDivision& d : group_) {
      lines_[d.line] = fmt::format("{}precise float {} = divide_middle_f32({}, {});", d.indent, d.quotient, d.a, d.b);
      for (const std::string& operand : {d.a, d.b}) {
        if (std::ranges::find(operands, operand) == operands.end()) operands.push_back(operand);
      }
    }
    std::string far = fmt::format("far_f32({})", operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) far = fmt::format("max({}, far_f32({}))", far, operands[i]);
    lines_.push_back(fmt::format("{}if ({} >= 0x7b000000u) {{", indent, far));
    lines_.push_back(fmt::format("{}  uint left_{} = 0u;", indent, name));
    for (size_t i = 0; i < group_.size(); ++i) {
      lines_.push_back(fmt::format("{}  left_{} |= leaves_middle_f32({}, {}) ? {}u : 0u;", indent, name, group_[i].a,
                                   group_[i].b, 1u << i));
    }
    lines_.push_back(
        fmt::format("{0}  [[dont_unroll]] for (; left_{1} != 0u; left_{1} &= left_{1} - 1u) {{", indent, name));
    lines_.push_back(fmt::format("{}    uint at = uint(findLSB(left_{}));", indent, name));
    lines_.push_back(fmt::format("{}    precise float far = corrected_divide_f32({}, {});", indent,
                                 Choice(&GroupedDivision::a), Choice(&GroupedDivision::b)));
    for (size_t i = 0; i < group_.size(); ++i) {
      lines_.push_back(fmt::format("{0}    {1} = at == {2}u ? far : {1};", indent, group_[i].quotient, i));
    }
    lines_.push_back(indent + "  }");
    lines_.push_back(indent + "}");
  }

  std::vector<std::string> lines_;
  std::vector<GroupedDivision> group_;
};

}  // namespace

std::string GroupDivisions(std::string_view text) { return Grouping().Run(text); }

}  // namespace VXLA_NAMESPACE::vulkan
