// f32 functions of the shader math against the C library's double, and MPFR where that cannot decide.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdlib>
#include <functional>
#include <string>

#include "tests/math/functions.h"

namespace VXLA_NAMESPACE {
namespace f32_test {

namespace sm = shader_math;

struct Worst {
  double ulp = 0;
  float x = 0, y = 0;
};

// The C library's double says how far off a result is; MPFR where that is within a thousandth of the bound.
template <typename Decide>
void Note(Worst* worst, const UlpBound& bound, float got, double exact, float x, float y, Decide decide) {
  double ulp = UlpError(got, exact);
  if (ulp <= std::min(worst->ulp, bound.ulp - 0.001)) return;
  if (ulp > bound.ulp - 0.001) {
    Number decided(160);
    decide(decided);
    ulp = Distance(got, decided);
    mpfr_sub_d(decided.value, decided.value, got, MPFR_RNDN);
    if (ulp > bound.ulp && mpfr_cmpabs(decided.value, Number(bound.absolute).value) <= 0) return;
  }
  if (ulp > worst->ulp) *worst = {ulp, x, y};
}

class F32UnaryTest : public testing::TestWithParam<UnaryFunction> {};

TEST_P(F32UnaryTest, StaysWithinItsBound) {
  const UnaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF32);
  Worst worst;
  auto check = [&](float x) {
    Note(&worst, bound, f.f32(x), f.wide(x), x, 0,
         [&](Number& exact) { f.exact(exact.value, Number(x).value, MPFR_RNDN); });
  };
  for (float x : SpecialValues<float>()) check(x);
  Points<float> points(7);
  for (int i = 0; i < 500000; ++i) check(points.Next());
  // Every 8009th bit pattern, so that no binade is left out; math_exhaustive runs all of them.
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 8009)
    check(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::printf("%s_f32: %.4f ulp at %.9g\n", f.name, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, bound.ulp) << f.name << " at " << worst.x << ": " << f.f32(worst.x) << ", exactly "
                                  << f.wide(worst.x);
}

// MPFR alone, at every result, so that no mistake of the C library's hides one of ours.
TEST_P(F32UnaryTest, StaysWithinItsBoundByMpfr) {
  const UnaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF32);
  auto check = [&](float x) {
    Number exact(160);
    f.exact(exact.value, Number(x).value, MPFR_RNDN);
    const double ulp = Distance(f.f32(x), exact);
    mpfr_sub_d(exact.value, exact.value, f.f32(x), MPFR_RNDN);
    if (ulp <= bound.ulp || mpfr_cmpabs(exact.value, Number(bound.absolute).value) <= 0) return;
    ADD_FAILURE() << f.name << " of " << x << ": " << f.f32(x) << ", " << ulp << " ulp";
  };
  for (float x : SpecialValues<float>()) check(x);
  Points<float> points(29);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) check(points.Next());
}

INSTANTIATE_TEST_SUITE_P(All, F32UnaryTest, testing::ValuesIn(UnaryFunctions().begin(), UnaryFunctions().end()),
                         [](const auto& info) { return FunctionName(info); });

class F32BinaryTest : public testing::TestWithParam<BinaryFunction> {};

TEST_P(F32BinaryTest, StaysWithinItsBound) {
  const BinaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF32);
  Worst worst;
  auto check = [&](float x, float y) {
    Note(&worst, bound, f.f32(x, y), f.wide(x, y), x, y,
         [&](Number& exact) { f.exact(exact.value, Number(x).value, Number(y).value, MPFR_RNDN); });
  };
  for (float x : SpecialValues<float>()) {
    for (float y : SpecialValues<float>()) check(x, y);
  }
  Points<float> xs(11), ys(13);
  for (int i = 0; i < 1000000; ++i) check(xs.Next(), ys.Next());
  std::printf("%s_f32: %.4f ulp at %.9g, %.9g\n", f.name, worst.ulp, worst.x, worst.y);
  EXPECT_LE(worst.ulp, bound.ulp) << f.name << " at " << worst.x << ", " << worst.y << ": " << f.f32(worst.x, worst.y);
}

INSTANTIATE_TEST_SUITE_P(All, F32BinaryTest, testing::ValuesIn(BinaryFunctions().begin(), BinaryFunctions().end()),
                         [](const auto& info) { return FunctionName(info); });

TEST(F32PowerTest, StaysWithinOneUlpNearOneWithHugeExponents) {
  std::mt19937_64 random(3);
  Worst worst;
  for (int i = 0; i < 500000; ++i) {
    const float x = 1 + (static_cast<float>(random() >> 40) * 0x1p-24f - 0.5f) * 0.008f;
    const float y = std::ldexp(1 + static_cast<float>(random() >> 41) * 0x1p-23f, static_cast<int>(random() % 30)) *
                    (i % 2 ? 1 : -1);
    Note(&worst, {1, 0, 0}, sm::power_f32(x, y), std::pow(static_cast<double>(x), static_cast<double>(y)), x, y,
         [&](Number& exact) { mpfr_pow(exact.value, Number(x).value, Number(y).value, MPFR_RNDN); });
  }
  EXPECT_LE(worst.ulp, 1) << worst.x << " ^ " << worst.y;
}

TEST(F32SineTest, IsRightForLargeArguments) {
  EXPECT_EQ(sm::sine_f32(1e30f), static_cast<float>(std::sin(static_cast<double>(1e30f))));
  EXPECT_EQ(sm::cosine_f32(3.4028234e38f), static_cast<float>(std::cos(static_cast<double>(3.4028234e38f))));
}

// The gamma functions next to their zeros below 0, where only the absolute bound holds, and at poles.
TEST(F32GammaTest, HoldsItsAbsoluteBoundNextToZerosBelowZero) {
  const UnaryFunction* rows[] = {nullptr, nullptr};
  for (const UnaryFunction& f : UnaryFunctions()) {
    if (std::string_view(f.name) == "lgamma") rows[0] = &f;
    if (std::string_view(f.name) == "digamma") rows[1] = &f;
  }
  for (const UnaryFunction* f : rows) {
    const double bound = StatedBound(f->name, ElementType::kF32).absolute;
    int zeros = 0;
    for (float x = -2.0001f; x > -20; x = std::nextafter(x, -100.0f) - 1e-3f) {
      const float next = x - 1.5e-3f;
      if (std::signbit(f->wide(x)) == std::signbit(f->wide(next)) ||
          !(std::fabs(f->wide(x)) < 1 && std::fabs(f->wide(next)) < 1))
        continue;
      ++zeros;
      for (float at = x; at > next; at = std::nextafter(at, -100.0f)) {
        ASSERT_LE(std::fabs(f->f32(at) - f->wide(at)), std::max(bound, 2 * 0x1p-23 * std::fabs(f->wide(at))))
            << f->name << " of " << at;
      }
    }
    EXPECT_GT(zeros, 3) << f->name;
  }
  EXPECT_EQ(sm::lgamma_f32(-3), INFINITY);
  EXPECT_EQ(sm::lgamma_f32(-INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(sm::digamma_f32(-3)));
  EXPECT_TRUE(std::isnan(sm::digamma_f32(0)));
  EXPECT_EQ(sm::erf_inv_f32(-1), -INFINITY);
  EXPECT_TRUE(std::isnan(sm::erf_inv_f32(1.5f)));
}

TEST(F32Test, NanIsCanonicalAndZeroKeepsItsSign) {
  EXPECT_EQ(sm::bitcast_f32_u32(sm::log_f32(-1)), 0x7fc00000u);
  EXPECT_EQ(sm::bitcast_f32_u32(sm::sqrt_f32(-1)), 0x7fc00000u);
  EXPECT_EQ(sm::bitcast_f32_u32(sm::sine_f32(-0.0f)), 0x80000000u);
  EXPECT_EQ(sm::bitcast_f32_u32(sm::tanh_f32(-0.0f)), 0x80000000u);
}

TEST(F32Test, ClampGivesTheUpperBoundWhereBoundsCross) {
  EXPECT_EQ(sm::clamp_f32(-5, -1, -3), -3);
  EXPECT_TRUE(std::isnan(sm::clamp_f32(0, NAN, 1)));
}

TEST(F32Test, TotalOrderRanksNanAndZeros) {
  const float order[] = {-NAN, -INFINITY, -1, -1e-45f, -0.0f, 0.0f, 1e-45f, 1, INFINITY, NAN};
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 10; ++j) {
      const float a = i == 0 ? sm::bitcast_u32_f32(0xffc00000u) : order[i],
                  b = j == 0 ? sm::bitcast_u32_f32(0xffc00000u) : order[j];
      EXPECT_EQ(sm::compare_total_lt_f32(a, b), i < j) << i << " " << j;
      EXPECT_EQ(sm::compare_total_le_f32(a, b), i <= j);
      EXPECT_EQ(sm::compare_total_eq_f32(a, b), i == j);
      EXPECT_EQ(sm::compare_total_ne_f32(a, b), i != j);
      EXPECT_EQ(sm::compare_total_ge_f64(a, b), i >= j);
      EXPECT_EQ(sm::compare_total_gt_f64(a, b), i > j);
      EXPECT_EQ(sm::compare_lt_f32(a, b), a < b);
      EXPECT_EQ(sm::compare_le_f32(a, b), a <= b);
      EXPECT_EQ(sm::compare_gt_f32(a, b), a > b);
      EXPECT_EQ(sm::compare_ge_f32(a, b), a >= b);
      EXPECT_EQ(sm::compare_eq_f32(a, b), a == b);
      EXPECT_EQ(sm::compare_ne_f32(a, b), a != b);
    }
  }
}

TEST(F32ReducePrecisionTest, AgreesWithBf16AndF16InTheirNormalRange) {
  Points<float> points(5);
  for (int i = 0; i < 200000; ++i) {
    const float x = points.Next();
    if (std::isnan(x)) continue;
    EXPECT_EQ(sm::reduce_precision_f32(x, 8, 7), sm::round_bf16(x)) << x;
    if (std::fabs(x) >= 0x1p-14f) {
      EXPECT_EQ(sm::reduce_precision_f32(x, 5, 10), sm::round_f16(x)) << x;
    }
    EXPECT_EQ(sm::reduce_precision_f32(x, 8, 23), x);
    EXPECT_EQ(sm::reduce_precision_f32(x, 11, 52), x);
  }
  EXPECT_EQ(sm::reduce_precision_f32(0x1p-15f, 5, 10), 0.0f);
  EXPECT_EQ(sm::reduce_precision_f32(65520.0f, 5, 10), INFINITY);
}

}  // namespace f32_test
}  // namespace VXLA_NAMESPACE
