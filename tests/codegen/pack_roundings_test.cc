#include "backend/vulkan/codegen/pack_roundings.h"

#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace {

TEST(PackRoundingsTest, OneTestServesAllValuesOfAStore) {
  EXPECT_EQ(
      PackRoundings("void element(uint i) {\n"
                    "  precise float v4 = round_bf16(add_f32(v1, v3));\n"
                    "  precise float v5 = decode_bf16(w);\n"
                    "  precise float v7 = round_bf16(multiply_f32(v5, v6));\n"
                    "  precise float v8 = round_bf16(v5);\n"
                    "  precise float v9 = round_bf16(v6);\n"
                    "  STORE(2, u32x2, i, uvec2(encode_rounded_pair_bf16(v4, v7), encode_rounded_pair_bf16(v8, v9)));\n"
                    "}\n",
                    true),
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
  EXPECT_EQ(PackRoundings("  precise float a = round_f16(x);\n  precise float b = round_f16(y);\n"
                          "  STORE(0, u32, i, encode_rounded_pair_f16(a, b));\n",
                          true),
            "  precise float a = x;\n  precise float b = y;\n"
            "  uint words_of_a = uint(encode_number_pair_f16(a, b));\n"
            "  if (any(bvec2(is_nan_f32(a), is_nan_f32(b)))) words_of_a = "
            "uint(encode_rounded_pair_f16(round_f16(a), round_f16(b)));\n"
            "  STORE(0, u32, i, words_of_a);\n");
}

// Used twice, of another type, by a scope of its own, not rounded here, or f16 by integers.
TEST(PackRoundingsTest, OthersStayAsTheyAre) {
  const std::string rounded = "  precise float a = round_bf16(x);\n  precise float b = round_bf16(y);\n",
                    store = "  STORE(0, u32, i, encode_rounded_pair_bf16(a, b));\n";
  for (const std::string& text :
       {rounded + "  precise float c = a;\n" + store, rounded + store + "  STORE(1, f32, i, b);\n",
        rounded + "  STORE(0, u32, i, encode_rounded_pair_bf16(a, a));\n", rounded + "  {\n" + store,
        "  precise float a = round_bf16(x);\n  precise float b = round_f16(y);\n" + store,
        "  precise float a = round_bf16(x);\n" + store,
        std::string("  precise float a = round_f16(x);\n  precise float b = round_f16(y);\n"
                    "  STORE(0, u32, i, encode_rounded_pair_f16(a, b));\n")}) {
    EXPECT_EQ(PackRoundings(text, false), text);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
