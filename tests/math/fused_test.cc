// The f32 functions as GPUs compute them, with fused multiply-adds and quotients put right by them, against the text
// that every other device and the library run: the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <glm/vec2.hpp>
#include <glm/vec4.hpp>
#include <optional>
#include <random>

#include "core/data/float_formats.h"
#include "tests/math/functions.h"
#include "tests/math/shader_words.h"
#include "tests/math/ulp.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace VXLA_NAMESPACE {
namespace {
namespace fused {

// Vulkan lets a quotient be 2.5 units off.
constexpr int kGuessUnits = 2;
std::optional<int> guess_units;  // how far off each guess is; without it any number of units up to that

using namespace shader_words;
float Guess(float x) {
  return guess_units.has_value() ? std::bit_cast<float>(std::bit_cast<int>(x) + *guess_units) : Spoilt(x, kGuessUnits);
}
// Taken for 1 / b and for the inverse root too, so only the text's own corrections make them right.
float inversesqrt(float x) { return Guess(1 / std::sqrt(x)); }
float quotient_guess_f32(float a, float b) { return Guess(a / b); }
float root_guess_f32(float a) { return Guess(std::sqrt(a)); }

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
#include "shaders/include/math/f32_narrow.glsl"
#include "shaders/include/math/f16.glsl"

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

constexpr int kMostUnits = 4;  // that a guess may be off

// Calls test(significand) for all 2^23, from each guess; a sample where that would take long, with all near the ends.
void ForEachSignificandAndGuess(const std::function<void(uint32_t)>& test) {
  for (int units = -kMostUnits; units <= kMostUnits; ++units) {
    fused::guess_units = units;
    const uint32_t step = TakesLong() ? 1 : 101;
    for (uint32_t at = 0; at < 1u << 23; at += at < 4096 || at >= (1u << 23) - 4096 ? 1 : step) test(at);
  }
  fused::guess_units.reset();
}

// x with b x = 1 modulo 2^24, for odd b: each step doubles the number of bits that hold.
uint32_t InverseModulo24(uint32_t b) {
  uint32_t x = b;
  for (int bits = 3; bits < 24; bits *= 2) x *= 2 - b * x;
  return x & 0xffffffu;
}

// The numerators A whose quotients A 2^k / B (k = 23 or, for A < B, 24) lie c / 2B from a tie for c = -7, -5 .. 7 and
// odd B: 2 A 2^k = (2 Q + 1) B + c for some Q, so (2 Q + 1) B = -c modulo 2^(k + 1).
TEST(FusedMathTest, QuotientsNextToATieAreRoundedRight) {
  int64_t count = 0, differing = 0;
  ForEachSignificandAndGuess([&](uint32_t significand) {
    const uint32_t divisor = 1u << 23 | significand;
    if (divisor % 2 == 0) return;
    const uint64_t inverse = InverseModulo24(divisor);
    for (int c = -7; c <= 7; c += 2) {
      // 2 Q + 1 has 25 bits; modulo 2^25 the product either fits or does not.
      const uint64_t odd = (inverse * static_cast<uint64_t>(-c) & 0xffffffu) | 1u << 24;
      const uint64_t product = odd * divisor + static_cast<uint64_t>(c);
      for (int k = 23; k <= 24; ++k) {
        const uint64_t numerator = product >> (k + 1);
        if (product != numerator << (k + 1) || numerator >> 23 != 1) continue;
        const float a = static_cast<float>(numerator), b = static_cast<float>(divisor);
        ++count;
        if (fused::divide_f32(a, b) == a / b) continue;
        if (differing++ == 0)
          ADD_FAILURE() << fmt::format("{} / {} from guesses {} units off", a, b, *fused::guess_units);
      }
    }
  });
  EXPECT_EQ(differing, 0);
  EXPECT_GT(count, TakesLong() ? 100'000'000 : 1'000'000);
}

TEST(FusedMathTest, RootsOfAllSignificandsAreRoundedRight) {
  int64_t differing = 0;
  ForEachSignificandAndGuess([&](uint32_t significand) {
    for (const uint32_t exponent : {127u, 128u}) {
      const float a = std::bit_cast<float>(exponent << 23 | significand);
      const auto inverse = static_cast<float>(1 / std::sqrt(static_cast<long double>(a)));
      if (fused::sqrt_f32(a) == std::sqrt(a) && fused::rsqrt_f32(a) == inverse) continue;
      if (differing++ == 0)
        ADD_FAILURE() << fmt::format("a root of {} from guesses {} units off", a, *fused::guess_units);
    }
  });
  // Out of the middle of the range, denormals too.
  for (const auto& [first, last] : {std::pair(0u, 0x21100000u), std::pair(0x5e700000u, 0x7f800000u)}) {
    for (uint32_t bits = first; bits < last; bits += 251) {
      const auto a = std::bit_cast<float>(bits);
      differing += fused::sqrt_f32(a) != std::sqrt(a) || fused::rsqrt_f32(a) != sm::rsqrt_f32(a);
    }
  }
  EXPECT_EQ(differing, 0);
  for (const uint32_t bits : {0x4009f038u, 0x407ffffeu}) {  // the nearest to a tie
    const float a = std::bit_cast<float>(bits);
    EXPECT_EQ(sm::rsqrt_f32(a), static_cast<float>(1 / std::sqrt(static_cast<long double>(a))));
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

// Zeros, infinities and NaN leave a quotient and a root before the integers, with all of their bits.
TEST(FusedMathTest, SpecialValuesHaveTheBitsOfTheIntegers) {
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  std::vector<float> values = SpecialValues<float>();
  for (const uint32_t word : {0x7f800001u, 0x7fffffffu, 0x7fc12345u, 0u, 1u, 0x7f800000u, 0x20800000u, 0x5e7fffffu})
    values.push_back(std::bit_cast<float>(word));
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  for (const float a : values) {
    EXPECT_EQ(bits(fused::sqrt_f32(a)), bits(sm::corrected_sqrt_f32(a))) << a;
    EXPECT_EQ(bits(fused::rsqrt_f32(a)), bits(sm::rsqrt_f32(a))) << a;
    for (const float b : values) {
      const uint32_t want = bits(sm::corrected_divide_f32(a, b));
      EXPECT_EQ(bits(fused::divide_f32(a, b)), want) << a << " / " << b;
      EXPECT_EQ(bits(fused::grouped(glm::vec4(1, a, 1, 1), glm::vec4(b, 1, 1, 1)).y), want) << a << " / " << b;
      EXPECT_EQ(bits(fused::grouped(glm::vec4(1, 1, 1, a), glm::vec4(1, 1, 1, b)).w), want) << a << " / " << b;
    }
  }
}

// Every 61st number of those that are not positive, and all near the ends of what is normal, and of what is not zero.
TEST(FusedMathTest, ExponentialsOfWeightsAreWithinAnUlp) {
  double worst = 0;
  const auto check = [&](uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    const double exact = std::exp(static_cast<double>(x));
    const double unit = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
    worst = std::max(worst, std::abs(fused::exponential_weight_f32(x) - exact) / unit);
  };
  for (uint64_t bits = 0x80000000; bits < 0xff800000; bits += 61) check(static_cast<uint32_t>(bits));
  for (const float edge : {-87.34f, -103.97f, -110.0f}) {
    for (uint32_t i = 0; i < 20000; ++i) check(std::bit_cast<uint32_t>(edge) - 10000u + i);
  }
  EXPECT_LE(worst, 1);
  EXPECT_EQ(fused::exponential_weight_f32(0.0f), 1);
  EXPECT_EQ(fused::exponential_weight_f32(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_TRUE(std::isnan(fused::exponential_weight_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(FusedMathTest, ExponentialsOfSixteenBitsAreWithinTheirBound) {
  const auto check = [&](uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    const double exact = std::exp(static_cast<double>(x)), bound = 0x1p-22 - x * 0x1p-25;
    const float got = fused::exponential_of_16_bits_f32(x);
    if (x < -87.684F) {
      EXPECT_EQ(got, 0) << x;
    } else if (x > -87.682F) {
      EXPECT_LE(std::abs(got - exact), bound * exact + 0x1p-149) << x;
    }
  };
  for (uint64_t bits = 0x80000000; bits <= 0xff800000; bits += 61) check(static_cast<uint32_t>(bits));
  for (const float edge : {-0.3466F, -87.34F, -87.68F, -88.02F}) {
    for (uint32_t i = 0; i < 20000; ++i) check(std::bit_cast<uint32_t>(edge) - 10000u + i);
  }
  EXPECT_EQ(fused::exponential_of_16_bits_f32(0.0F), 1);
  EXPECT_EQ(fused::exponential_of_16_bits_f32(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_TRUE(std::isnan(fused::exponential_of_16_bits_f32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(fused::exponential_of_16_bits_f32(std::bit_cast<float>(0x7fffffffu))));
}

// Where they have none of the other devices' bits: every 61st number, all near the ends of the ranges, from guesses
// that are as far off as may be.
TEST(FusedMathTest, FunctionsByFmaAreWithinAnUlp) {
  struct ByFma {
    Opcode opcode;
    float (*function)(float);
    double (*exact)(double);
    std::vector<float> edges;
  };
  const std::vector<ByFma> functions = {
      {Opcode::kExp, fused::exponential_by_fma_f32, std::exp, {-103.97F, -87.34F, 88.7228F}},
      {Opcode::kLogistic,
       fused::logistic_by_fma_f32,
       [](double x) { return 1 / (1 + std::exp(-x)); },
       {-103.97F, -87.34F, -1.1F, 17.0F}},
      {Opcode::kTanh, fused::tanh_by_fma_f32, std::tanh, {-0.625F, 0.625F, 9.01F}},
      {Opcode::kErf, fused::erf_by_fma_f32, std::erf, {-1.0F, 0.99F, 1.0F, 1.01F, 1.05F, 3.92F, 4.0F}}};
  for (int i = 0; i < OpcodeCount(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(HasFusedVariant(opcode),
              std::ranges::any_of(functions, [&](const ByFma& f) { return f.opcode == opcode; }));
  }
  for (const ByFma& f : functions) {
    const std::string_view name = OpcodeText(f.opcode);
    const double bound = AccuracyOf(f.opcode, ElementType::kF32).ulp;
    double worst = 0;
    const auto check = [&](uint32_t bits) {
      const auto x = std::bit_cast<float>(bits);
      worst = std::max(worst, UlpError(f.function(x), f.exact(static_cast<double>(x))));
    };
    for (const int guess : {-4, 0, 4}) {
      fused::guess_units = guess;
      for (const uint64_t sign : {0x00000000u, 0x80000000u}) {
        for (uint64_t bits = 0; bits <= 0x7f800000; bits += 61 * 3)
          check(static_cast<uint32_t>(sign | (bits + 61 * (guess / 4 + 1))));
      }
      for (const float edge : f.edges) {
        for (uint32_t i = 0; i < 20000; ++i) check(std::bit_cast<uint32_t>(edge) - 10000u + i);
      }
      for (const float special : {0.0F, -0.0F, 1e-45F, -1e-45F, std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        check(std::bit_cast<uint32_t>(special));
    }
    fused::guess_units.reset();
    EXPECT_LE(worst, bound) << name;
  }
  for (const float x : {0.0F, 0.5F, 3.0F, 50.0F, 90.0F, 104.0F, 1e30F})
    EXPECT_EQ(fused::exponential_by_fma_f32(-x), fused::exponential_weight_f32(-x)) << x;
}

struct NarrowFunction {
  const char* name;
  float (*fused)(float);
  float (*plain)(float);
  float (*fused_f16)(float);
  float (*plain_f16)(float);
};
#define NARROW(name) \
  { #name, fused::name##_f32_narrow, sm::name##_f32, fused::name##_f16, sm::name##_f16 }
const NarrowFunction kNarrow[] = {NARROW(erf),
                                  NARROW(exponential),
                                  NARROW(log),
                                  NARROW(logistic),
                                  // Of f16, too.
                                  {"tanh", fused::tanh_f32_narrow, sm::tanh_f32, fused::tanh_f32_narrow, sm::tanh_f32}};
#undef NARROW

// At every encoding of every narrow type, from every guess: what follows is rounded to the type.
TEST(FusedMathTest, NarrowFunctionsRoundToTheSameBits) {
  for (const NarrowFunction& f : kNarrow) {
    std::string name = f.name;
    const auto opcode = ParseOpcode(name);
    ASSERT_TRUE(opcode.has_value()) << f.name;
    EXPECT_TRUE(HasNarrowVariant(*opcode)) << f.name;
    for (const NarrowFormat& format : NarrowFormats()) {
      const bool f16 = format.type == ElementType::kF16;
      int64_t differing = 0;
      for (int guess = -4; guess <= 4; ++guess) {
        fused::guess_units = guess;
        for (uint32_t bits = 0; bits < uint32_t{1} << BitWidth(format.type); ++bits) {
          const auto x = static_cast<float>(DecodeNarrowFloat(format.type, bits));
          const float got = format.round((f16 ? f.fused_f16 : f.fused)(x)),
                      want = format.round((f16 ? f.plain_f16 : f.plain)(x));
          if (!IsTheSame(got, want) && ++differing <= 3)
            ADD_FAILURE() << f.name << " of " << x << ": " << got << ", not " << want;
        }
      }
      fused::guess_units.reset();
      EXPECT_EQ(differing, 0) << f.name << " " << ElementTypeName(format.type);
    }
  }
  int64_t count = 0;
  for (int i = 0; i < OpcodeCount(); ++i) count += HasNarrowVariant(static_cast<Opcode>(i)) ? 1 : 0;
  EXPECT_EQ(count, std::ssize(kNarrow));
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

// Remainders of products are exact by multiply-adds and without: in ordinary numbers and next to where pairs end.
TEST(FusedMathTest, ProductsInPairsGiveTheSameBits) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::uniform_int_distribution<int> exponent(-60, 60);
  const std::vector<float> special = SpecialValues<float>();
  const auto value = [&](int64_t i) {
    if (i % 7 == 0) return special[random() % special.size()];
    return i % 2 == 0 ? 1 + 0x1p-12F * unit(random) : std::ldexp(unit(random), exponent(random));
  };
  int64_t differing = 0;
  const auto check = [&](const glm::vec2& want, const glm::vec2& got) {
    // Nothing is made of the remainder of what is not finite.
    const bool same = IsTheSame(want.x, got.x) && (!std::isfinite(want.x) || IsTheSame(want.y, got.y));
    if (!same && differing++ == 0)
      ADD_FAILURE() << fmt::format("({}, {}) fused ({}, {})", want.x, want.y, got.x, got.y);
  };
  for (int64_t i = 0; i < 100'000; ++i) {
    glm::vec2 pair(1, 0);
    for (int64_t n = 0; n < 8; ++n) {
      const glm::vec2 factor(value(i + n), 0);
      const glm::vec2 next = shader_math::multiply_into_pair_f32(pair, factor);
      check(next, fused::multiply_into_pair_f32(pair, factor));
      pair = next;
    }
    const glm::vec2 other = shader_math::ordered_pair_f32(glm::vec2(value(i), 0));
    check(shader_math::ordered_pair_f32(pair), fused::ordered_pair_f32(pair));
    check(shader_math::multiply_pair_f32(pair, other), fused::multiply_pair_f32(pair, other));
  }
  EXPECT_EQ(differing, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
