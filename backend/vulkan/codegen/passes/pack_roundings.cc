#include "backend/vulkan/codegen/passes/pack_roundings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace VXLA_NAMESPACE::vulkan {
namespace {

class RoundingPacking {
 public:
  RoundingPacking(Code code, ElementType type) : statements_(code.TakeStatements()), type_(type) {}

  Code Run() {
    for (size_t i = 0; i < statements_.size(); ++i) {
      if (statements_[i].kind == Statement::Kind::kStore) Pack(i);
    }
    std::vector<Statement> out;
    for (size_t i = 0; i < statements_.size(); ++i) {
      if (const auto at = before_.find(i); at != before_.end())
        out.insert(out.end(), at->second.begin(), at->second.end());
      out.push_back(std::move(statements_[i]));
    }
    return Code(std::move(out));
  }

 private:
  bool IsPair(const Stored& stored) const { return stored.pair && stored.pair->type == type_; }

  // The declaration before `store` that rounds the value, where nothing but the store uses it and no scope, nor what
  // passes do not look into, lies between.
  std::optional<size_t> RoundedAt(const std::string& name, size_t store) const {
    std::optional<size_t> found;
    for (size_t i = store; i-- > 0 && !found;) {
      const Statement& statement = statements_[i];
      if (statement.kind != Statement::Kind::kDeclare && statement.kind != Statement::Kind::kStore) return std::nullopt;
      if (statement.DeclaresFloat() && statement.name == name && statement.value->rounded == type_) {
        found = i;
      } else if (statement.Mentions(name) != 0) {
        return std::nullopt;
      }
    }
    if (!found || statements_[store].Mentions(name) != 1) return std::nullopt;
    for (size_t i = store + 1; i < statements_.size() && statements_[i].kind != Statement::Kind::kEndFunction; ++i) {
      if (statements_[i].Mentions(name) != 0) return std::nullopt;
    }
    return found;
  }

  void Pack(size_t at) {
    Statement& store = statements_[at];
    std::vector<Stored::Pair> pairs;
    for (const Stored& stored : store.values) {
      if (IsPair(stored)) pairs.push_back(*stored.pair);
    }
    // One word, or a vector of them.
    if (pairs.empty() || (pairs.size() > 1 && pairs.size() != store.values.size())) return;
    std::vector<size_t> roundings;
    for (const Stored::Pair& pair : pairs) {
      for (const std::string& name : {pair.low, pair.high}) {
        const auto rounded = RoundedAt(name, at);
        if (!rounded) return;
        roundings.push_back(*rounded);
      }
    }
    const std::string vector = pairs.size() == 1 ? "uint" : fmt::format("uvec{}", pairs.size());
    std::vector<std::string> numbers, rounded, tests;
    for (const auto& [type, low, high] : pairs) {
      const std::string_view name = ElementTypeName(type);
      numbers.push_back(fmt::format("encode_number_pair_{}({}, {})", name, low, high));
      rounded.push_back(fmt::format("encode_rounded_pair_{0}(round_{0}({1}), round_{0}({2}))", name, low, high));
      tests.push_back(fmt::format("any(bvec2(is_nan_f32({}), is_nan_f32({})))", low, high));
    }
    const std::string words = "words_of_" + pairs[0].low;
    std::string test = tests[0];
    if (pairs.size() > 1) test = fmt::format("any(bvec{}({}))", pairs.size(), fmt::join(tests, ", "));
    before_[at] = {
        {.kind = Statement::Kind::kDeclare,
         .depth = store.depth,
         .type = vector,
         .name = words,
         .value = Expression{fmt::format("{}({})", vector, fmt::join(numbers, ", "))}},
        {.kind = Statement::Kind::kRaw,
         .text = fmt::format("{}if ({}) {} = {}({});\n", std::string(2 * static_cast<size_t>(store.depth), ' '), test,
                             words, vector, fmt::join(rounded, ", "))}};
    if (pairs.size() > 1) {
      store.values = {Stored(words)};
    } else {
      *std::ranges::find_if(store.values, [&](const Stored& stored) { return IsPair(stored); }) = Stored(words);
    }
    for (const size_t rounding : roundings) statements_[rounding].value->rounded.reset();
  }

  std::vector<Statement> statements_;
  const ElementType type_;
  std::map<size_t, std::vector<Statement>> before_;  // what stands before statements now
};

}  // namespace

Code PackRoundings(Code code, bool f16) {
  code = RoundingPacking(std::move(code), ElementType::kBF16).Run();
  return f16 ? RoundingPacking(std::move(code), ElementType::kF16).Run() : code;
}

}  // namespace VXLA_NAMESPACE::vulkan
