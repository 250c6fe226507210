#include "backend/vulkan/codegen/pack_roundings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct PackedPair {
  std::string low, high;
};

bool IsWordPart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int CountName(std::string_view line, std::string_view name) {
  int count = 0;
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    count += (at == 0 || !IsWordPart(line[at - 1])) && (end == line.size() || !IsWordPart(line[end]));
  }
  return count;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class Packing16 {
 public:
  Packing16(std::vector<std::string> lines, std::string_view type) : lines_(std::move(lines)), type_(type) {}

  std::vector<std::string> Run() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].find(" STORE(") != std::string::npos) Pack(i);
    }
    return std::move(lines_);
  }

 private:
  std::string Call() const { return fmt::format("encode_rounded_pair_{}(", type_); }

  // The pairs of a STORE, if its last argument consists of nothing else.
  std::vector<PackedPair> PairsOf(std::string_view line) const {
    const std::string call = Call();
    std::vector<PackedPair> pairs;
    for (size_t at = line.find(call); at != line.npos; at = line.find(call, at + 1)) {
      const size_t begin = at + call.size(), comma = line.find(", ", begin), end = line.find(')', begin);
      if (comma == line.npos || end == line.npos || comma > end) return {};
      pairs.push_back(
          {std::string(line.substr(begin, comma - begin)), std::string(line.substr(comma + 2, end - comma - 2))});
      for (const std::string& name : {pairs.back().low, pairs.back().high}) {
        if (name.empty() || !std::ranges::all_of(name, IsWordPart)) return {};
      }
    }
    return pairs;
  }

  // The line before `store` that rounds the value, where nothing but the STORE uses it and no scope lies between.
  std::optional<size_t> RoundedAt(const std::string& name, size_t store) const {
    const std::string begin = fmt::format("precise float {} = round_{}(", name, type_);
    std::optional<size_t> found;
    for (size_t i = store; i-- > 0 && !found;) {
      if (lines_[i].find_first_of("{}#") != std::string::npos) return std::nullopt;
      const size_t at = lines_[i].find(begin);
      if (at != std::string::npos && at == lines_[i].find_first_not_of(' ') && lines_[i].ends_with(");")) found = i;
      if (!found && CountName(lines_[i], name) != 0) return std::nullopt;
    }
    if (!found || CountName(lines_[store], name) != 1) return std::nullopt;
    for (size_t i = store + 1; i < lines_.size() && lines_[i] != "}"; ++i) {
      if (CountName(lines_[i], name) != 0) return std::nullopt;
    }
    return found;
  }

  void Pack(size_t store) {
    const std::vector<PackedPair> pairs = PairsOf(lines_[store]);
    std::vector<std::string> names;
    for (const PackedPair& pair : pairs) names.insert(names.end(), {pair.low, pair.high});
    std::vector<size_t> roundings;
    for (const std::string& name : names) {
      const auto at = RoundedAt(name, store);
      if (!at) return;
      roundings.push_back(*at);
    }
    if (pairs.empty() || pairs.size() == 3 || pairs.size() > 4) return;
    const std::string vector = pairs.size() == 1 ? "uint" : fmt::format("uvec{}", pairs.size());
    std::string text = vector + "(", rounded = vector + "(", tests;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto& [low, high] = pairs[i];
      const char* comma = i == 0 ? "" : ", ";
      text += fmt::format("{}encode_rounded_pair_{}({}, {})", comma, type_, low, high);
      rounded += fmt::format("{0}encode_rounded_pair_{1}(round_{1}({2}), round_{1}({3}))", comma, type_, low, high);
      tests += fmt::format("{}any(bvec2(is_nan_f32({}), is_nan_f32({})))", i == 0 ? "" : ", ", low, high);
    }
    text += ")", rounded += ")";
    std::string& line = lines_[store];
    const size_t at = line.find(pairs.size() == 1 ? text.substr(5, text.size() - 6) : text);
    const size_t length = pairs.size() == 1 ? text.size() - 6 : text.size();
    if (at == std::string::npos) return;
    const std::string indent = line.substr(0, line.find_first_not_of(' ')), words = "words_of_" + names[0];
    std::string numbers = text;
    for (size_t call = numbers.find("encode_rounded"); call != std::string::npos; call = numbers.find("encode_rounded"))
      numbers.replace(call, 14, "encode_number");
    if (pairs.size() > 1) tests = fmt::format("any(bvec{}({}))", pairs.size(), tests);
    line.replace(at, length, words);
    line = fmt::format("{0}{1} {2} = {3};\n{0}if ({4}) {2} = {5};\n{6}", indent, vector, words, numbers, tests, rounded,
                       line);
    for (const size_t rounding : roundings) {
      std::string& value = lines_[rounding];
      const std::string call = fmt::format("round_{}(", type_);
      value.erase(value.size() - 2, 1);
      value.erase(value.find(call), call.size());
    }
  }

  std::vector<std::string> lines_;
  std::string_view type_;
};

}  // namespace

std::string PackRoundings(std::string_view text, bool f16) {
  std::vector<std::string> lines = Packing16(LinesOf(text), "bf16").Run();
  if (f16) lines = Packing16(std::move(lines), "f16").Run();
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace VXLA_NAMESPACE::vulkan
