#include "backend/vulkan/codegen/pack_halves.h"

#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace {

TEST(PackHalvesTest, AChainOfTwoWordsIsComputedInPairs) {
  const std::string loads =
      "  uvec2 w = LOAD(0, u32x2, i);\n"
      "  float s = decode_f16(LOAD(1, u16, 0u));\n"
      "  float a = decode_any_nan_f16(w.x);\n"
      "  float b = decode_upper_any_nan_f16(w.x);\n"
      "  float c = decode_f16(((w.y >> 0) & 65535u));\n"
      "  float d = decode_f16(((w.y >> 16) & 65535u));\n";
  const std::string values =
      "  precise float m = round_f16(multiply_f32(a, s));\n"
      "  precise float n = round_f16(multiply_f32(b, s));\n"
      "  precise float x = round_f16(add_f32(m, c));\n"
      "  precise float y = round_f16(add_f32(n, d));\n"
      "  precise float z = round_f16(subtract_f32(c, s));\n"
      "  precise float t = round_f16(subtract_f32(d, s));\n";
  EXPECT_EQ(PackHalves(loads + values +
                       "  STORE(2, u32x2, i, uvec2(encode_rounded_pair_f16(x, y), encode_rounded_pair_f16(z, t)));\n"),
            loads + values +
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

// A conversion from f32, values that differ in what they are, halves of different words, another scope's, bf16.
TEST(PackHalvesTest, OthersStayAsTheyAre) {
  const std::string loads =
      "  float a = decode_any_nan_f16(w);\n  float b = decode_upper_any_nan_f16(w);\n"
      "  float c = decode_any_nan_f16(v);\n  float d = decode_upper_any_nan_f16(u);\n";
  const std::string store = "  STORE(0, u32, i, encode_rounded_pair_f16(x, y));\n";
  const std::string sums =
      "  precise float x = round_f16(add_f32(a, c));\n  precise float y = round_f16(add_f32(b, d));\n";
  for (const std::string& text :
       {loads + "  precise float x = round_f16(a);\n  precise float y = round_f16(b);\n" + store,
        loads + "  precise float x = round_f16(add_f32(a, a));\n  precise float y = round_f16(multiply_f32(b, b));\n" +
            store,
        loads + "  precise float x = round_f16(add_f32(c, c));\n  precise float y = round_f16(add_f32(d, d));\n" +
            store,
        loads + sums + "  {\n" + store + "  }\n",
        loads + sums + "  STORE(0, u32, i, encode_rounded_pair_bf16(x, y));\n",
        loads + sums +
            "  STORE(0, u32x2, i, uvec2(encode_rounded_pair_f16(x, y), encode_rounded_pair_f16(a, b)));\n"}) {
    EXPECT_EQ(PackHalves(text), text);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
