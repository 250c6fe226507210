#include "backend/vulkan/codegen/group_far_operands.h"

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
constexpr size_t kMostRolled = 8;    // each turn of the loop chooses among so many

// A function of which one part holds for ordinary operands and another for all.
struct Family {
  std::string_view call, middle, all;
  std::string_view far, limit;  // of an operand, and what that is not where the middle holds
  std::string_view special;     // the result where it needs neither
  std::string_view leaves;      // whether it needs `all`
  size_t fewest;                // calls that are a group
  bool all_only = false;        // no middle: the loop is over all of a group
};
constexpr Family kDivisions = {"divide_f32",     "divide_middle_f32", "quotient_by_integers_f32", "far_f32",
                               ">= 0x7b000000u", "special_or_f32",    "leaves_middle_f32",        1};
constexpr Family kRolledDivisions = {"divide_f32", "", "corrected_divide_f32", "", "", "", "", 2, true};
constexpr Family kExponentials = {"exponential_f32",      "exponential_middle_f32",
                                  "exponential_f32",      "far_exponent_f32",
                                  "> 0x42ae0000u",        "",
                                  "leaves_exponents_f32", 2};

struct GroupedCall {
  std::string indent, result;
  std::vector<std::string> operands;
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
std::optional<GroupedCall> ReadCall(std::string_view line, const Family& family) {
  constexpr std::string_view kBegin = "precise float ", kEnd = ");";
  std::string_view rest = WithoutIndent(line);
  GroupedCall call;
  call.indent = line.substr(0, line.size() - rest.size());
  if (!rest.starts_with(kBegin) || !rest.ends_with(kEnd)) return std::nullopt;
  rest = rest.substr(kBegin.size(), rest.size() - kBegin.size() - kEnd.size());
  const std::string text = fmt::format(" = {}(", family.call);
  const size_t at = rest.find(text);
  if (at == rest.npos) return std::nullopt;
  call.result = rest.substr(0, at);
  rest.remove_prefix(at + text.size());
  for (size_t comma = rest.find(", "); comma != rest.npos; comma = rest.find(", ")) {
    call.operands.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 2);
  }
  call.operands.emplace_back(rest);
  const bool plain = IsPlain(call.result) && std::ranges::all_of(call.operands, IsPlain);
  return plain ? std::optional(std::move(call)) : std::nullopt;
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
  // Calls of the family `later` and what needs them move behind a group where they may.
  Grouping(const Family& family, const Family* later) : family_(family), later_(later) {}
  std::string Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    while (Holds()) Finish();
    return fmt::format("{}\n", fmt::join(lines_, "\n"));
  }

 private:
  size_t Most() const { return family_.all_only ? kMostRolled : kMostGrouped; }
  bool Holds() const { return !group_.empty() || !waiting_.empty(); }

  void Add(std::string_view line) {
    const bool waits = Mentions(line, awaited_);
    const bool later = later_ != nullptr && !finishing_ && ReadCall(line, *later_);
    if (const std::string_view value = DeclaredValue(line); (waits || later) && !value.empty()) {
      awaited_.emplace(value);
      waiting_.emplace_back(line);
      return;
    }
    // Several rounds: what waited may hold a group of its own, and what waits for that one.
    while (Holds() && (waits || !IsDeclaration(line) || group_.size() == Most())) Finish();
    if (auto call = ReadCall(line, family_)) {
      call->line = lines_.size();
      awaited_.insert(call->result);
      group_.push_back(std::move(*call));
    }
    lines_.emplace_back(line);
  }

  void Finish() {
    if (group_.size() >= family_.fewest) Write();
    group_.clear();
    awaited_.clear();
    const bool finishes = std::exchange(finishing_, true);
    for (const std::string& line : std::exchange(waiting_, {})) Add(line);
    finishing_ = finishes;
  }

  // An operand of the call that the loop is at, which has no arrays.
  std::string Choice(size_t operand) const {
    std::string text = group_.back().operands[operand];
    if (std::ranges::all_of(group_, [&](const GroupedCall& call) { return call.operands[operand] == text; }))
      return text;
    for (size_t i = group_.size() - 1; i-- > 0;)
      text = fmt::format("at == {}u ? {} : {}", i, group_[i].operands[operand], text);
    return text;
  }

  void Write() {
    if (family_.all_only) {
      WriteRolled();
      return;
    }
    const std::string &indent = group_[0].indent, &name = group_[0].result;
    std::vector<std::string> operands;
    for (const GroupedCall& call : group_) {
      lines_[call.line] = fmt::format("{}precise float {} = {}({});", call.indent, call.result, family_.middle,
                                      fmt::join(call.operands, ", "));
      for (const std::string& operand : call.operands) {
        if (std::ranges::find(operands, operand) == operands.end()) operands.push_back(operand);
      }
    }
    std::string far = fmt::format("{}({})", family_.far, operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) far = fmt::format("max({}, {}({}))", far, family_.far, operands[i]);
    lines_.push_back(fmt::format("{}if ({} {}) {{", indent, far, family_.limit));
    lines_.push_back(fmt::format("{}  uint left_{} = 0u;", indent, name));
    for (size_t i = 0; i < group_.size(); ++i) {
      const std::string& result = group_[i].result;
      const std::string own = fmt::format("{}", fmt::join(group_[i].operands, ", "));
      if (!family_.special.empty())
        lines_.push_back(fmt::format("{}  {} = {}({}, {});", indent, result, family_.special, own, result));
      lines_.push_back(fmt::format("{}  left_{} |= {}({}) ? {}u : 0u;", indent, name, family_.leaves, own, 1u << i));
    }
    lines_.push_back(
        fmt::format("{0}  [[dont_unroll]] for (; left_{1} != 0u; left_{1} &= left_{1} - 1u) {{", indent, name));
    lines_.push_back(fmt::format("{}    uint at = uint(findLSB(left_{}));", indent, name));
    WriteTurn(indent + "    ");
    lines_.push_back(indent + "  }");
    lines_.push_back(indent + "}");
  }

  void WriteRolled() {
    const std::string& indent = group_[0].indent;
    for (const GroupedCall& call : group_)
      lines_[call.line] = fmt::format("{}precise float {} = 0.0f;", call.indent, call.result);
    lines_.push_back(fmt::format("{}[[dont_unroll]] for (uint at = 0u; at < {}u; ++at) {{", indent, group_.size()));
    WriteTurn(indent + "  ");
    lines_.push_back(indent + "}");
  }

  // The call that the loop is at.
  void WriteTurn(const std::string& indent) {
    std::vector<std::string> chosen;
    for (size_t operand = 0; operand < group_[0].operands.size(); ++operand) chosen.push_back(Choice(operand));
    lines_.push_back(fmt::format("{}precise float far = {}({});", indent, family_.all, fmt::join(chosen, ", ")));
    for (size_t i = 0; i < group_.size(); ++i)
      lines_.push_back(fmt::format("{0}{1} = at == {2}u ? far : {1};", indent, group_[i].result, i));
  }

  const Family& family_;
  const Family* later_;
  bool finishing_ = false;  // a group has ended: what waits stands where it may
  std::vector<std::string> lines_;
  std::vector<GroupedCall> group_;
  std::vector<std::string> waiting_;            // lines that need a result of the group
  std::set<std::string, std::less<>> awaited_;  // the group's results, and what those lines declare
};

}  // namespace

// What divides an exponential, as a softmax does, is one group where divisions of other values wait for it.
std::string GroupFarOperands(std::string_view text, DivisionText divisions) {
  const Family* family = divisions == DivisionText::kMiddle   ? &kDivisions
                         : divisions == DivisionText::kRolled ? &kRolledDivisions
                                                              : nullptr;
  const std::string call = fmt::format("{}(", kExponentials.call);
  const size_t first = text.find(call);
  std::string grouped(text);
  if (first != text.npos && text.find(call, first + 1) != text.npos)
    grouped = Grouping(kExponentials, family).Run(grouped);
  return family == nullptr ? grouped : Grouping(*family, nullptr).Run(grouped);
}

}  // namespace VXLA_NAMESPACE::vulkan
