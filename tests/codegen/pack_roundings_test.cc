#include "backend/vulkan/codegen/passes/pack_roundings.h"

#include <gtest/gtest.h>

#include "tests/support/statements.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using statements::Call;
using statements::Float;
using statements::Local;
using statements::StorePairs;
using statements::StoreValues;
using Statements = std::vector<Statement>;

Statement Rounded(std::string name, std::string from, ElementType type) {
  return Float(std::move(name), {std::move(from), MadeBy::kOther, {}, type});
}

TEST(PackRoundingsTest, OneTestServesAllValuesOfAStore) {
  const Code body(Statements{Float("v4", Call(MadeBy::kAdd, {"v1", "v3"}, ElementType::kBF16)),
                             Float("v5", {"decode_bf16(w)"}),
                             Float("v7", Call(MadeBy::kMultiply, {"v5", "v6"}, ElementType::kBF16)),
                             Rounded("v8", "v5", ElementType::kBF16), Rounded("v9", "v6", ElementType::kBF16),
                             StorePairs(2, {{ElementType::kBF16, "v4", "v7"}, {ElementType::kBF16, "v8", "v9"}})});
  EXPECT_EQ(PackRoundings(Code::Function("void element(uint i)", body), true).Print(),
            "void element(uint i) {\n"
            "  precise float v4 = add_f32(v1, v3);\n"
            "  precise float v5 = decode_bf16(w);\n"
            "  precise float v7 = multiply_f32(v5, v6);\n"
            "  precise float v8 = v5;\n"
            "  precise float v9 = v6;\n"
            "  uvec2 words_of_v4 = uvec2(encode_number_pair_bf16(v4, v7), encode_number_pair_bf16(v8, v9));\n"
            "  if (any(bvec2(any(bvec2(is_nan_f32(v4), is_nan_f32(v7))), any(bvec2(is_nan_f32(v8), is_nan_f32(v9)))))) "
            "words_of_v4 = uvec2(encode_rounded_pair_bf16(round_bf16(v4), round_bf16(v7)), "
            "encode_rounded_pair_bf16(round_bf16(v8), round_bf16(v9)));\n"
            "  STORE(2, u32x2, i, words_of_v4);\n"
            "}\n");
}

TEST(PackRoundingsTest, OneWordIsOneToo) {
  EXPECT_EQ(PackRoundings(Code(Statements{Rounded("a", "x", ElementType::kF16), Rounded("b", "y", ElementType::kF16),
                                          StorePairs(0, {{ElementType::kF16, "a", "b"}})}),
                          true)
                .Print(),
            "  precise float a = x;\n  precise float b = y;\n"
            "  uint words_of_a = uint(encode_number_pair_f16(a, b));\n"
            "  if (any(bvec2(is_nan_f32(a), is_nan_f32(b)))) words_of_a = "
            "uint(encode_rounded_pair_f16(round_f16(a), round_f16(b)));\n"
            "  STORE(0, u32, i, words_of_a);\n");
}

// Used twice, of another type, by a scope of its own, behind what passes do not look into, not rounded here, or f16 by
// integers.
TEST(PackRoundingsTest, OthersStayAsTheyAre) {
  const Statement a = Rounded("a", "x", ElementType::kBF16), b = Rounded("b", "y", ElementType::kBF16),
                  store = StorePairs(0, {{ElementType::kBF16, "a", "b"}});
  for (const Statements& all :
       {Statements{a, b, Float("c", {"a"}), store}, Statements{a, b, store, StoreValues(1, "f32", {Stored("b")})},
        Statements{a, b, StorePairs(0, {{ElementType::kBF16, "a", "a"}})},
        Statements{a, b, {.kind = Statement::Kind::kOpen, .depth = 1}, store},
        Statements{a, b, {.kind = Statement::Kind::kRaw, .text = "  a = 0.0f;\n"}, store},
        Statements{a, Rounded("b", "y", ElementType::kF16), store}, Statements{a, store},
        Statements{Rounded("a", "x", ElementType::kF16), Rounded("b", "y", ElementType::kF16),
                   StorePairs(0, {{ElementType::kF16, "a", "b"}})}}) {
    EXPECT_EQ(PackRoundings(Code(all), false).Print(), Code(all).Print());
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
