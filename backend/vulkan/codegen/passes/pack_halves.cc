#include "backend/vulkan/codegen/passes/pack_halves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

using HalfPair = std::pair<std::string, std::string>;  // the names of the lower and the upper value

// The operator of f16 that gives what the operation of f32 does, rounded; empty: none.
std::string_view OperatorOf(const Expression& value) {
  if (value.rounded != ElementType::kF16) return {};
  return value.by == MadeBy::kAdd        ? "+"
         : value.by == MadeBy::kSubtract ? "-"
         : value.by == MadeBy::kMultiply ? "*"
                                         : "";
}

class HalfPacking {
 public:
  Code Run(Code code) {
    for (Statement& statement : code.TakeStatements()) {
      if (statement.kind == Statement::Kind::kStore) {
        Store(statement);
      } else if (statement.Declares()) {
        if (statement.type == "float") values_[statement.name] = *statement.value;
      } else {  // another scope, or what passes do not look into
        values_.clear();
        packed_.clear();
      }
      out_.push_back(std::move(statement));
    }
    return Code(std::move(out_));
  }

 private:
  const Expression* ValueOf(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }

  // The word whose halves the two are, as it was loaded.
  std::optional<std::string> WordOf(const HalfPair& names) const {
    const Expression *low = ValueOf(names.first), *high = ValueOf(names.second);
    if (low == nullptr || high == nullptr) return std::nullopt;
    const bool halves = (low->by == MadeBy::kHalf && high->by == MadeBy::kUpperHalf) ||
                        (low->by == MadeBy::kHalfOfAnyNan && high->by == MadeBy::kUpperHalfOfAnyNan);
    if (!halves || low->operands != high->operands || !IsPlain(low->operands[0])) return std::nullopt;
    return low->operands[0];
  }

  // The name of an f16vec2 of the two values; none where that gains nothing.
  std::optional<std::string> Packed(const HalfPair& names) {
    if (const auto known = packed_.find(names); known != packed_.end()) return known->second;
    if (const auto word = WordOf(names)) return Declare(names, fmt::format("unpackFloat2x16({})", *word));
    const Expression *low = ValueOf(names.first), *high = ValueOf(names.second);
    if (low == nullptr || high == nullptr) return std::nullopt;
    const std::string_view sign = OperatorOf(*low);
    if (sign.empty() || sign != OperatorOf(*high)) return std::nullopt;
    const HalfPair left = {low->operands[0], high->operands[0]}, right = {low->operands[1], high->operands[1]};
    for (const HalfPair& pair : {left, right}) {
      if (!IsPlain(pair.first) || !IsPlain(pair.second)) return std::nullopt;
    }
    const auto x = Packed(left), y = Packed(right);
    if (!x && !y) return std::nullopt;
    return Declare(names, fmt::format("{} {} {}", x ? *x : Converted(left), sign, y ? *y : Converted(right)));
  }

  // Operands of f16 operations are f16's values.
  static std::string Converted(const HalfPair& names) {
    if (names.first == names.second) return fmt::format("f16vec2(float16_t({}))", names.first);
    return fmt::format("f16vec2(float16_t({}), float16_t({}))", names.first, names.second);
  }

  std::string Declare(const HalfPair& names, const std::string& value) {
    const std::string name = fmt::format("half_{}", next_++);
    declared_.push_back(Local("precise f16vec2", name, value));
    return packed_[names] = name;
  }
  Statement Local(std::string type, std::string name, std::string value) const {
    return {.kind = Statement::Kind::kDeclare,
            .depth = depth_,
            .type = std::move(type),
            .name = std::move(name),
            .value = Expression{std::move(value)}};
  }

  static bool IsHalves(const Stored& stored) { return stored.pair && stored.pair->type == ElementType::kF16; }

  // Pairs that stand side by side become one vector.
  void Store(Statement& store) {
    depth_ = store.depth;
    declared_.clear();
    const auto first = std::ranges::find_if(store.values, IsHalves);
    const auto end = std::find_if_not(first, store.values.end(), IsHalves);
    if (first == end || std::any_of(end, store.values.end(), IsHalves)) return;
    const auto known = packed_;
    std::vector<std::string> halves;
    for (auto at = first; at != end; ++at) {
      const bool plain = IsPlain(at->pair->low) && IsPlain(at->pair->high);
      const auto half = plain && IsComputed(at->pair->low) ? Packed({at->pair->low, at->pair->high}) : std::nullopt;
      if (!half) {
        packed_ = known;
        return;
      }
      halves.push_back(*half);
    }
    for (Statement& each : declared_) out_.push_back(std::move(each));
    const std::string words = PackedWords(halves);
    store.values.insert(store.values.erase(first, end), Stored(words));
  }

  // A NaN that is only moved keeps its bits.
  bool IsComputed(const std::string& name) const {
    const Expression* value = ValueOf(name);
    return value != nullptr && !OperatorOf(*value).empty();
  }

  // The sum of all is NaN where one of them is; where infinities meet in it, the test costs time only.
  std::string PackedWords(const std::vector<std::string>& halves) {
    const std::string vector = halves.size() == 1 ? "uint" : fmt::format("uvec{}", halves.size());
    const std::string words = fmt::format("words_{0}", halves[0]), sum = fmt::format("sum_{0}", halves[0]);
    std::vector<std::string> packed, canonical;
    for (size_t i = 0; i < halves.size(); ++i) {
      packed.push_back(fmt::format("packFloat2x16({})", halves[i]));
      const std::string word = halves.size() == 1 ? words : fmt::format("{}.{}", words, "xyzw"[i]);
      canonical.push_back(fmt::format("canonical_nans_f16({})", word));
    }
    out_.push_back(Local(vector, words, fmt::format("{}({})", vector, fmt::join(packed, ", "))));
    out_.push_back(Local("precise f16vec2", sum, fmt::format("{}", fmt::join(halves, " + "))));
    out_.push_back({.kind = Statement::Kind::kRaw,
                    .text = fmt::format("{0}if (is_nan_f32(float({1}.x) + float({1}.y))) {2} = {3}({4});\n",
                                        std::string(2 * static_cast<size_t>(depth_), ' '), sum, words, vector,
                                        fmt::join(canonical, ", "))});
    return words;
  }

  std::vector<Statement> out_, declared_;
  int depth_ = 0;
  std::map<std::string, Expression> values_;  // by name, what the locals of this scope are
  std::map<HalfPair, std::string> packed_;
  int next_ = 0;
};

}  // namespace

Code PackHalves(Code code) { return HalfPacking().Run(std::move(code)); }

}  // namespace VXLA_NAMESPACE::vulkan
