#include "backend/vulkan/codegen/group_divisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

// Whether the line holds one of the names, or a component of one.
bool Mentions(std::string_view line, const std::set<std::string, std::less<>>& names) {
  for (size_t begin = 0; begin < line.size() && !names.empty();) {
    size_t end = begin;
    while (end < line.size() && IsNamePart(line[end])) ++end;
    const std::string_view word = line.substr(begin, end - begin);
    if (!word.empty() && names.contains(word.substr(0, word.find('.')))) return true;
    begin = end + 1;
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

// What "float v3 = add_f32(v1, v2);" declares, if it is one of GlslWriter's values, which are all that it changes.
std::string_view DeclaredValue(std::string_view line) {
  std::string_view rest = WithoutIndent(line);
  if (rest.starts_with("precise ")) rest.remove_prefix(8);
  const size_t type = rest.find(' '), equals = rest.find(" = ");
  if (type == rest.npos || equals == rest.npos || equals <= type || !rest.ends_with(";") ||
      rest.find_first_of("{}") != rest.npos)
    return {};
  const std::string_view name = rest.substr(type + 1, equals - type - 1);
  const bool is_value = name.size() > 1 && name[0] == 'v' && name.find_first_not_of("0123456789", 1) == name.npos;
  return is_value && IsPlain(rest.substr(0, type)) ? name : std::string_view();
}

// A value of its own, which changes nothing that was there before.
bool IsDeclaration(std::string_view line) {
  const std::string_view rest = WithoutIndent(line);
  return !DeclaredValue(line).empty() || (rest.starts_with("precise ") && rest.ends_with(";") &&
                                          rest.find(" = ") != rest.npos && rest.find_first_of("{}") == rest.npos);
}

class Grouping {
 public:
  std::string Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    while (!group_.empty()) Finish();
    return fmt::format("{}\n", fmt::join(lines_, "\n"));
  }

 private:
  void Add(std::string_view line) {
    const bool waits = Mentions(line, awaited_);
    if (const std::string_view value = DeclaredValue(line); waits && !value.empty()) {
      awaited_.emplace(value);
      waiting_.emplace_back(line);
      return;
    }
    // Several rounds: what waited may hold a group of its own, and what waits for that one.
    while (!group_.empty() && (waits || !IsDeclaration(line) || group_.size() == kMostGrouped)) Finish();
    if (auto division = ReadDivision(line)) {
      division->line = lines_.size();
      awaited_.insert(division->quotient);
      group_.push_back(std::move(*division));
    }
    lines_.emplace_back(line);
  }

  void Finish() {
    if (group_.size() > 1) Write();
    group_.clear();
    awaited_.clear();
    for (const std::string& line : std::exchange(waiting_, {})) Add(line);
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
  std::vector<std::string> waiting_;            // lines that need a quotient of the group
  std::set<std::string, std::less<>> awaited_;  // the group's quotients, and what those lines declare
};

}  // namespace

std::string GroupDivisions(std::string_view text) { return Grouping().Run(text); }

}  // namespace VXLA_NAMESPACE::vulkan
