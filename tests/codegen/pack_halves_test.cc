#include "backend/vulkan/codegen/passes/pack_halves.h"

#include <gtest/gtest.h>

#include "tests/support/statements.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using statements::Call;
using statements::Float;
using statements::Local;
using statements::StorePairs;
using Statements = std::vector<Statement>;

Statement Half(std::string name, MadeBy by, std::string word) {
  return Local(std::move(name), Call(by, {std::move(word)}), "float");
}
Statement Rounded(std::string name, MadeBy by, std::string a, std::string b) {
  return Float(std::move(name), Call(by, {std::move(a), std::move(b)}, ElementType::kF16));
}
Statements Together(std::initializer_list<Statements> parts) {
  Statements all;
  for (const Statements& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(PackHalvesTest, AChainOfTwoWordsIsComputedInPairs) {
  const Statements loads = {Local("w", {"LOAD(0, u32x2, i)"}, "uvec2"),
                            Local("s", {"decode_f16(LOAD(1, u16, 0u))"}, "float"),
                            Half("a", MadeBy::kHalfOfAnyNan, "w.x"),
                            Half("b", MadeBy::kUpperHalfOfAnyNan, "w.x"),
                            Half("c", MadeBy::kHalf, "w.y"),
                            Half("d", MadeBy::kUpperHalf, "w.y")};
  const Statements values = {Rounded("m", MadeBy::kMultiply, "a", "s"), Rounded("n", MadeBy::kMultiply, "b", "s"),
                             Rounded("x", MadeBy::kAdd, "m", "c"),      Rounded("y", MadeBy::kAdd, "n", "d"),
                             Rounded("z", MadeBy::kSubtract, "c", "s"), Rounded("t", MadeBy::kSubtract, "d", "s")};
  const Statements store = {StorePairs(2, {{ElementType::kF16, "x", "y"}, {ElementType::kF16, "z", "t"}})};
  EXPECT_EQ(PackHalves(Code(Together({loads, values, store}))).Print(),
            Code(Together({loads, values})).Print() +
                "  precise f16vec2 half_0 = unpackFloat2x16(w.x);\n"
                "  precise f16vec2 half_1 = half_0 * f16vec2(float16_t(s));\n"
                "  precise f16vec2 half_2 = unpackFloat2x16(w.y);\n"
                "  precise f16vec2 half_3 = half_1 + half_2;\n"
                "  precise f16vec2 half_4 = half_2 - f16vec2(float16_t(s));\n"
                "  uvec2 words_half_3 = uvec2(packFloat2x16(half_3), packFloat2x16(half_4));\n"
                "  precise f16vec2 sum_half_3 = half_3 + half_4;\n"
                "  if (is_nan_f32(float(sum_half_3.x) + float(sum_half_3.y))) words_half_3 = "
                "uvec2(canonical_nans_f16(words_half_3.x), canonical_nans_f16(words_half_3.y));\n"
                "  STORE(2, u32x2, i, words_half_3);\n");
}

// A conversion from f32, values that differ in what they are, halves of different words, another scope's, behind an
// assignment that passes do not look into, bf16.
TEST(PackHalvesTest, OthersStayAsTheyAre) {
  const Statements loads = {Half("a", MadeBy::kHalfOfAnyNan, "w"), Half("b", MadeBy::kUpperHalfOfAnyNan, "w"),
                            Half("c", MadeBy::kHalfOfAnyNan, "v"), Half("d", MadeBy::kUpperHalfOfAnyNan, "u")};
  const Statements store = {StorePairs(0, {{ElementType::kF16, "x", "y"}})};
  const Statements sums = {Rounded("x", MadeBy::kAdd, "a", "c"), Rounded("y", MadeBy::kAdd, "b", "d")};
  const auto convert = [](std::string name, std::string from) {
    return Float(std::move(name), {std::move(from), MadeBy::kOther, {}, ElementType::kF16});
  };
  const Statement open = {.kind = Statement::Kind::kOpen, .depth = 1},
                  close = {.kind = Statement::Kind::kClose, .depth = 1},
                  changed = {.kind = Statement::Kind::kRaw, .text = "  x = 2.0f;\n"};
  for (const Statements& all :
       {Together({loads, {convert("x", "a"), convert("y", "b")}, store}),
        Together({loads, {Rounded("x", MadeBy::kAdd, "a", "a"), Rounded("y", MadeBy::kMultiply, "b", "b")}, store}),
        Together({loads, {Rounded("x", MadeBy::kAdd, "c", "c"), Rounded("y", MadeBy::kAdd, "d", "d")}, store}),
        Together({loads, sums, {open}, store, {close}}), Together({loads, sums, {changed}, store}),
        Together({loads, sums, {StorePairs(0, {{ElementType::kBF16, "x", "y"}})}}),
        Together({loads, sums, {StorePairs(0, {{ElementType::kF16, "x", "y"}, {ElementType::kF16, "a", "b"}})}})}) {
    EXPECT_EQ(PackHalves(Code(all)).Print(), Code(all).Print());
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
