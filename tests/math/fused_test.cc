// The f32 functions as GPUs compute them, with fused multiply-adds and quotients put right by them, against the text
// that every other device and the library run: the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <glm/vec2.hpp>
#include <glm/vec4.hpp>
#include <random>

#include "tests/math/shader_words.h"
#include "tests/math/ulp.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace VXLA_NAMESPACE {
namespace {
namespace fused {

// Vulkan lets a quotient be 2.5 units off.
constexpr int kGuessUnits = 2;

using namespace shader_words;
// Taken for 1 / b and for the inverse root too, so only the text's own corrections make them right.
float inversesqrt(float x) { return Spoilt(1 / std::sqrt(x), kGuessUnits); }
float quotient_guess_f32(float a, float b) { return Spoilt(a / b, kGuessUnits); }
float root_guess_f32(float a) { return Spoilt(std::sqrt(a), kGuessUnits); }

#define VXLA_OWN_GUESSES
#define VXLA_CORRECT_F32
#define VXLA_FUSED_F32
#define VXLA_NATIVE_NAN
// clang-format off
// NOLINTBEGIN(bugprone-suspicious-include)
#include "shaders/include/math/prelude.glsl"
#include "shaders/include/math/select.glsl"
#include "shaders/include/math/f32.glsl"
#include "shaders/include/math/f32_exp_log.glsl"
#include "shaders/include/math/f32_trig.glsl"
#include "shaders/include/math/f32_special.glsl"
#include "shaders/include/math/f32_gamma.glsl"

// What GroupFarOperands makes of four quotients that stand together (tests/codegen compares the text).
#define precise
#define dont_unroll likely
glm::vec4 grouped(glm::vec4 a, glm::vec4 b) {
#include "tests/math/grouped_divisions.inc"
  return glm::vec4(v4, v5, v6, v7);
}
glm::vec4 grouped_exponentials(glm::vec4 a) {
#include "tests/math/grouped_exponentials.inc"
  return glm::vec4(v4, v5, v6, v7);
}
#undef precise
#undef dont_unroll
// NOLINTEND
// clang-format on
#undef VXLA_OWN_GUESSES
#undef VXLA_CORRECT_F32
#undef VXLA_FUSED_F32
#undef VXLA_NATIVE_NAN

}  // namespace fused

namespace sm = shader_math;

#define ONE(name) \
  { #name, fused::name##_f32, sm::name##_f32 }
struct OneArgument {
  const char* name;
  float (*fused)(float);
  float (*plain)(float);
};
const OneArgument kOne[] = {ONE(exponential),  ONE(exp2),    ONE(exponential_minus_one),
                            ONE(logistic),     ONE(tanh),    ONE(sinh),
                            ONE(cosh),         ONE(log),     ONE(log2),
                            ONE(log_plus_one), ONE(asinh),   ONE(acosh),
                            ONE(atanh),        ONE(lgamma),  ONE(digamma),
                            ONE(rsqrt),        ONE(cbrt),    ONE(erf),
                            ONE(erfc),         ONE(erf_inv), ONE(sine),
                            ONE(cosine),       ONE(tan),     ONE(asin),
                            ONE(acos),         ONE(atan),    ONE(sqrt)};
struct TwoArguments {
  const char* name;
  float (*fused)(float, float);
  float (*plain)(float, float);
};
const TwoArguments kTwo[] = {ONE(divide), ONE(power), ONE(atan2), ONE(hypot), ONE(remainder)};
#undef ONE

bool IsTheSame(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// VXLA_TEST_LONG: every 61st float.
bool TakesLong() { return std::getenv("VXLA_TEST_LONG") != nullptr; }

TEST(FusedMathTest, FunctionsOfOneArgumentGiveTheSameBits) {
  for (const OneArgument& f : kOne) {
    int64_t differing = 0;
    const auto check = [&](float x) {
      const float want = f.plain(x), got = f.fused(x);
      if (!IsTheSame(want, got) && differing++ == 0) {
        ADD_FAILURE() << fmt::format("{}({}) is {}, fused {}", f.name, x, want, got);
      }
    };
    for (const float x : SpecialValues<float>()) check(x);
    const uint64_t stride = TakesLong() ? 61 : 40009;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
      check(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    EXPECT_EQ(differing, 0) << f.name;
  }
}

// Some of a group out of the ordinary, some not, in any mixture.
TEST(FusedMathTest, QuotientsOfAGroupAreEachTheirOwn) {
  const std::vector<float> special = SpecialValues<float>();
  Points<float> points(13);
  std::mt19937 random(14);
  int64_t differing = 0;
  for (int i = 0; i < 300'000; ++i) {
    glm::vec4 a, b;
    for (int j = 0; j < 4; ++j) {
      a[j] = random() % 3 == 0 ? special[random() % special.size()] : points.Next();
      b[j] = random() % 3 == 0 ? special[random() % special.size()] : points.Next();
    }
    const glm::vec4 got = fused::grouped(a, b);
    const float want[] = {sm::divide_f32(a.x, b.x), sm::divide_f32(a.y, b.x), sm::divide_f32(a.z, b.z),
                          sm::divide_f32(a.w, b.w)};
    for (int j = 0; j < 4; ++j) differing += !IsTheSame(got[j], want[j]);
  }
  EXPECT_EQ(differing, 0);
}

// Every number near the ends of what the middle holds for, and every 257th of all.
TEST(FusedMathTest, ExponentialsSideBySideHaveTheSameBits) {
  int64_t differing = 0;
  const auto check = [&](uint32_t bits) {
    const auto at = [](uint32_t word) { return std::bit_cast<float>(word); };
    const glm::vec4 a(at(bits), at(bits ^ 0x80000000u), at(bits + 1u), at(bits * 2654435761u));
    const glm::vec4 got = fused::grouped_exponentials(a);
    for (int j = 0; j < 4; ++j) differing += !IsTheSame(got[j], sm::exponential_f32(a[j]));
  };
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 257) check(static_cast<uint32_t>(bits));
  for (const float edge : {87.0f, 88.7f, 87.4f, 103.9f, 104.0f, 200.0f}) {
    for (uint32_t i = 0; i < 20000; ++i) check(std::bit_cast<uint32_t>(edge) - 10000u + i);
  }
  EXPECT_EQ(differing, 0);
}

TEST(FusedMathTest, FunctionsOfTwoArgumentsGiveTheSameBits) {
  const std::vector<float> special = SpecialValues<float>();
  for (const TwoArguments& f : kTwo) {
    int64_t differing = 0;
    const auto check = [&](float x, float y) {
      const float want = f.plain(x, y), got = f.fused(x, y);
      if (!IsTheSame(want, got) && differing++ == 0) {
        ADD_FAILURE() << fmt::format("{}({}, {}) is {}, fused {}", f.name, x, y, want, got);
      }
    };
    for (const float x : special) {
      for (const float y : special) check(x, y);
    }
    Points<float> xs(11), ys(12);
    for (int64_t i = TakesLong() ? 50'000'000 : 100'000; i > 0; --i) check(xs.Next(), ys.Next());
    EXPECT_EQ(differing, 0) << f.name;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
