#include "backend/vulkan/codegen/pack_halves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

using HalfPair = std::pair<std::string, std::string>;  // the names of the lower and the upper value

struct HalfOperation {
  std::string_view call, sign;
};
constexpr std::array<HalfOperation, 3> kHalfOperations = {
    {{"round_f16(add_f32(", "+"}, {"round_f16(subtract_f32(", "-"}, {"round_f16(multiply_f32(", "*"}}};

bool IsHalfName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

std::optional<HalfPair> TwoNames(std::string_view text) {
  const size_t comma = text.find(", ");
  if (comma == text.npos) return std::nullopt;
  HalfPair names = {std::string(text.substr(0, comma)), std::string(text.substr(comma + 2))};
  if (!IsHalfName(names.first) || !IsHalfName(names.second)) return std::nullopt;
  return names;
}

// The argument of `call`, which the text consists of.
std::optional<std::string_view> Argument(std::string_view text, std::string_view call, std::string_view end) {
  if (!text.starts_with(call) || !text.ends_with(end)) return std::nullopt;
  return text.substr(call.size(), text.size() - call.size() - end.size());
}

class HalfPacking {
 public:
  std::string Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Add(std::string(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(out_);
  }

 private:
  void Add(std::string line) {
    if (line.find_first_of("{}#") != line.npos) {  // another scope
      values_.clear();
      packed_.clear();
    }
    if (line.find(" STORE(") != line.npos) {
      Store(&line);
    } else {
      Note(line);
    }
    out_ += line;
    out_ += '\n';
  }

  // "precise float v3 = what it is;"
  void Note(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("precise ")) line.remove_prefix(8);
    const size_t equals = line.find(" = ");
    if (!line.starts_with("float ") || equals == line.npos || !line.ends_with(";")) return;
    values_[std::string(line.substr(6, equals - 6))] = line.substr(equals + 3, line.size() - equals - 4);
  }

  const std::string* ValueOf(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }

  // The word whose halves the two are, as it was loaded.
  std::optional<std::string> WordOf(const HalfPair& names) const {
    const std::string *low = ValueOf(names.first), *high = ValueOf(names.second);
    if (low == nullptr || high == nullptr) return std::nullopt;
    constexpr std::array<std::array<std::string_view, 4>, 2> kForms = {
        {{"decode_any_nan_f16(", ")", "decode_upper_any_nan_f16(", ")"},
         {"decode_f16(((", " >> 0) & 65535u))", "decode_f16(((", " >> 16) & 65535u))"}}};
    for (const auto& form : kForms) {
      const auto a = Argument(*low, form[0], form[1]), b = Argument(*high, form[2], form[3]);
      if (a && b && *a == *b && IsHalfName(*a)) return std::string(*a);
    }
    return std::nullopt;
  }

  // The name of an f16vec2 of the two values; none where that gains nothing.
  std::optional<std::string> Packed(const HalfPair& names) {
    if (const auto known = packed_.find(names); known != packed_.end()) return known->second;
    if (const auto word = WordOf(names)) return Declare(names, fmt::format("unpackFloat2x16({})", *word));
    const std::string *low = ValueOf(names.first), *high = ValueOf(names.second);
    if (low == nullptr || high == nullptr) return std::nullopt;
    for (const HalfOperation& operation : kHalfOperations) {
      const auto a = Argument(*low, operation.call, "))"), b = Argument(*high, operation.call, "))");
      if (!a || !b) continue;
      const auto lows = TwoNames(*a), highs = TwoNames(*b);
      if (!lows || !highs) return std::nullopt;
      const HalfPair left = {lows->first, highs->first}, right = {lows->second, highs->second};
      const auto x = Packed(left), y = Packed(right);
      if (!x && !y) return std::nullopt;
      return Declare(names,
                     fmt::format("{} {} {}", x ? *x : Converted(left), operation.sign, y ? *y : Converted(right)));
    }
    return std::nullopt;
  }

  // Operands of f16 operations are f16's values.
  static std::string Converted(const HalfPair& names) {
    if (names.first == names.second) return fmt::format("f16vec2(float16_t({}))", names.first);
    return fmt::format("f16vec2(float16_t({}), float16_t({}))", names.first, names.second);
  }

  std::string Declare(const HalfPair& names, const std::string& value) {
    const std::string name = fmt::format("half_{}", next_++);
    lines_ += fmt::format("{}precise f16vec2 {} = {};\n", indent_, name, value);
    return packed_[names] = name;
  }

  void Store(std::string* line) {
    constexpr std::string_view kCall = "encode_rounded_pair_f16(";
    const size_t begin = line->find(kCall);
    indent_ = line->substr(0, line->find_first_not_of(' '));
    lines_.clear();
    std::vector<std::string> halves;
    size_t end = begin;
    const auto known = packed_;
    for (size_t at = begin; at != line->npos && line->compare(at, kCall.size(), kCall) == 0;) {
      const size_t close = line->find(')', at);
      const auto names = TwoNames(std::string_view(*line).substr(at + kCall.size(), close - at - kCall.size()));
      const auto half = names && IsComputed(names->first) ? Packed(*names) : std::nullopt;
      if (!half) return Forget(known);
      halves.push_back(*half);
      end = close + 1;
      at = line->compare(end, 2, ", ") == 0 ? end + 2 : line->npos;
    }
    if (halves.empty() || line->find(kCall, end) != line->npos) return Forget(known);
    out_ += lines_;
    Replace(line, begin, end, halves);
  }

  void Forget(const std::map<HalfPair, std::string>& known) { packed_ = known; }

  // A NaN that is only moved keeps its bits.
  bool IsComputed(const std::string& name) const {
    const std::string* value = ValueOf(name);
    return value != nullptr && std::ranges::any_of(kHalfOperations, [&](const HalfOperation& operation) {
             return value->starts_with(operation.call);
           });
  }

  // The sum of all is NaN where one of them is; where infinities meet in it, the test costs time only.
  void Replace(std::string* line, size_t begin, size_t end, const std::vector<std::string>& halves) {
    const std::string vector = halves.size() == 1 ? "uint" : fmt::format("uvec{}", halves.size());
    const std::string words = fmt::format("words_{0}", halves[0]), sum = fmt::format("sum_{0}", halves[0]);
    std::vector<std::string> packed, canonical;
    for (size_t i = 0; i < halves.size(); ++i) {
      packed.push_back(fmt::format("packFloat2x16({})", halves[i]));
      const std::string word = halves.size() == 1 ? words : fmt::format("{}.{}", words, "xyzw"[i]);
      canonical.push_back(fmt::format("canonical_nans_f16({})", word));
    }
    std::string before = fmt::format("{}{} {} = {}({});\n", indent_, vector, words, vector, fmt::join(packed, ", "));
    before += fmt::format("{}precise f16vec2 {} = {};\n", indent_, sum, fmt::join(halves, " + "));
    before += fmt::format("{0}if (is_nan_f32(float({1}.x) + float({1}.y))) {2} = {3}({4});\n", indent_, sum, words,
                          vector, fmt::join(canonical, ", "));
    // A STORE of several words has them in a vector's brackets.
    const std::string around = vector + "(";
    const bool bracketed =
        halves.size() > 1 && begin >= around.size() && line->compare(begin - around.size(), around.size(), around) == 0;
    if (bracketed) begin -= around.size(), end += 1;
    line->replace(begin, end - begin, words);
    out_ += before;
  }

  std::string out_, lines_, indent_;
  std::map<std::string, std::string> values_;  // by name, what the lines of this scope say that they are
  std::map<HalfPair, std::string> packed_;
  int next_ = 0;
};

}  // namespace

std::string PackHalves(std::string_view text) { return HalfPacking().Run(text); }

}  // namespace VXLA_NAMESPACE::vulkan
