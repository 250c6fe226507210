#include "backend/vulkan/codegen/passes/group_divisions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  MadeBy by = MadeBy::kOther;
  std::string_view middle, all;
  std::string_view far, limit;  // of an operand, and what that is not where the middle holds
  std::string_view special;     // the result where it needs neither
  std::string_view leaves;      // whether it needs `all`
  size_t fewest = 1;            // calls that are a group
  bool all_only = false;        // no middle: the loop is over all of a group
};
constexpr Family kDivisions = {MadeBy::kDivide,  "divide_middle_f32", "quotient_by_integers_f32", "far_f32",
                               ">= 0x7b000000u", "special_or_f32",    "leaves_middle_f32",        1};
constexpr Family kRolledDivisions = {MadeBy::kDivide, "", "corrected_divide_f32", "", "", "", "", 2, true};
constexpr Family kExponentials = {MadeBy::kExponential,   "exponential_middle_f32",
                                  "exponential_f32",      "far_exponent_f32",
                                  "> 0x42ae0000u",        "",
                                  "leaves_exponents_f32", 2};

// Of operands that need no calculation.
bool IsCall(const Statement& statement, const Family& family) {
  return statement.DeclaresFloat() && statement.value->by == family.by && !statement.value->rounded &&
         std::ranges::all_of(statement.value->operands, IsPlain);
}

class Grouping {
 public:
  // Calls of the family `later` and what needs them move behind a group where they may.
  Grouping(const Family& family, const Family* later) : family_(family), later_(later) {}
  Code Run(Code code) {
    for (Statement& statement : code.TakeStatements()) Add(std::move(statement));
    while (Holds()) Finish();
    return Code(std::move(out_));
  }

 private:
  size_t Most() const { return family_.all_only ? kMostRolled : kMostGrouped; }
  bool Holds() const { return !group_.empty() || !waiting_.empty(); }
  const Statement& Call(size_t i) const { return out_[group_[i]]; }
  const std::string& Result(size_t i) const { return Call(i).name; }

  void Add(Statement statement) {
    const bool waits = statement.MentionsAnyOf(awaited_);
    const bool later = later_ != nullptr && !finishing_ && IsCall(statement, *later_);
    if ((waits || later) && statement.Declares()) {
      awaited_.insert(statement.name);
      waiting_.push_back(std::move(statement));
      return;
    }
    // Several rounds: what waited may hold a group of its own, and what waits for that one.
    while (Holds() && (waits || !statement.Declares() || group_.size() == Most())) Finish();
    if (IsCall(statement, family_)) {
      awaited_.insert(statement.name);
      group_.push_back(out_.size());
    }
    out_.push_back(std::move(statement));
  }

  void Finish() {
    if (group_.size() >= family_.fewest) Write();
    group_.clear();
    awaited_.clear();
    const bool finishes = std::exchange(finishing_, true);
    for (Statement& statement : std::exchange(waiting_, {})) Add(std::move(statement));
    finishing_ = finishes;
  }

  void Write() {
    std::vector<std::string> results;
    std::vector<std::vector<std::string>> operands;  // by call
    for (const size_t at : group_) {
      results.push_back(out_[at].name);
      operands.push_back(out_[at].value->operands);
      out_[at].value = Expression{
          family_.all_only ? "0.0f" : fmt::format("{}({})", family_.middle, fmt::join(operands.back(), ", "))};
    }
    const std::string indent(2 * static_cast<size_t>(out_[group_[0]].depth), ' ');
    const std::string text =
        family_.all_only ? RolledText(indent, results, operands) : RestText(indent, results, operands);
    out_.push_back({.kind = Statement::Kind::kRaw, .text = text});
  }

  using Names = std::vector<std::string>;
  // What operands out of the ordinary give.
  std::string RestText(const std::string& indent, const Names& results, const std::vector<Names>& operands) const {
    Names all;
    for (const Names& each : operands) {
      for (const std::string& operand : each) {
        if (std::ranges::find(all, operand) == all.end()) all.push_back(operand);
      }
    }
    std::string far = fmt::format("{}({})", family_.far, all[0]);
    for (size_t i = 1; i < all.size(); ++i) far = fmt::format("max({}, {}({}))", far, family_.far, all[i]);
    const std::string left = "left_" + results[0];
    std::string text = fmt::format("{0}if ({1} {2}) {{\n{0}  uint {3} = 0u;\n", indent, far, family_.limit, left);
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string own = fmt::format("{}", fmt::join(operands[i], ", "));
      if (!family_.special.empty())
        text += fmt::format("{0}  {1} = {2}({3}, {1});\n", indent, results[i], family_.special, own);
      text += fmt::format("{}  {} |= {}({}) ? {}u : 0u;\n", indent, left, family_.leaves, own, uint32_t{1} << i);
    }
    text += fmt::format("{0}  [[dont_unroll]] for (; {1} != 0u; {1} &= {1} - 1u) {{\n", indent, left);
    text += fmt::format("{}    uint at = uint(findLSB({}));\n", indent, left);
    return text + TurnText(indent + "    ", results, operands) + fmt::format("{0}  }}\n{0}}}\n", indent);
  }

  std::string RolledText(const std::string& indent, const Names& results, const std::vector<Names>& operands) const {
    return fmt::format("{}[[dont_unroll]] for (uint at = 0u; at < {}u; ++at) {{\n", indent, results.size()) +
           TurnText(indent + "  ", results, operands) + indent + "}\n";
  }

  // The call that the loop is at.
  std::string TurnText(const std::string& indent, const Names& results, const std::vector<Names>& operands) const {
    Names chosen;
    for (size_t operand = 0; operand < operands[0].size(); ++operand) chosen.push_back(Choice(operands, operand));
    std::string text = fmt::format("{}precise float far = {}({});\n", indent, family_.all, fmt::join(chosen, ", "));
    for (size_t i = 0; i < results.size(); ++i)
      text += fmt::format("{0}{1} = at == {2}u ? far : {1};\n", indent, results[i], i);
    return text;
  }

  // An operand of that call, which has no arrays.
  static std::string Choice(const std::vector<Names>& operands, size_t operand) {
    std::string text = operands.back()[operand];
    if (std::ranges::all_of(operands, [&](const Names& each) { return each[operand] == text; })) return text;
    for (size_t i = operands.size() - 1; i-- > 0;)
      text = fmt::format("at == {}u ? {} : {}", i, operands[i][operand], text);
    return text;
  }

  const Family& family_;
  const Family* later_;
  bool finishing_ = false;  // a group has ended: what waits stands where it may
  std::vector<Statement> out_;
  std::vector<size_t> group_;                   // where its calls stand in the output
  std::vector<Statement> waiting_;              // what needs a result of the group
  std::set<std::string, std::less<>> awaited_;  // the group's results, and what those declare
};

}  // namespace

// What divides an exponential, as a softmax does, is one group where divisions of other values wait for it.
Code GroupDivisions(Code code, DivisionText divisions) {
  const Family* family = divisions == DivisionText::kMiddle   ? &kDivisions
                         : divisions == DivisionText::kRolled ? &kRolledDivisions
                                                              : nullptr;
  const auto exponentials =
      std::ranges::count_if(code.statements(), [](const Statement& each) { return IsCall(each, kExponentials); });
  if (exponentials > 1) code = Grouping(kExponentials, family).Run(std::move(code));
  return family == nullptr ? code : Grouping(*family, nullptr).Run(std::move(code));
}

}  // namespace VXLA_NAMESPACE::vulkan
