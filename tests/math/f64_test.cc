// f64 functions of the shader math against the C library's long double, and MPFR where that cannot decide.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/math/functions.h"

namespace VXLA_NAMESPACE {
namespace f64_test {

namespace sm = shader_math;

int SampleCount(int normal) {
  const char* text = std::getenv("VXLA_MATH_SAMPLES");
  return text != nullptr ? std::atoi(text) : normal;
}

struct Worst {
  double ulp = 0, x = 0, y = 0;
  int wrong = 0;
};

// Notes a result: the C library's long double says how far off it is; MPFR where that is too close to the bound to
// tell, and where the C library says that the result is wrong.
template <typename Decide>
void Note(Worst* worst, const UlpBound& bound, double got, long double exact, double x, double y, Decide decide) {
  double ulp = UlpError(got, exact);
  if (ulp <= std::min(worst->ulp, bound.ulp - 0.01)) return;
  if (ulp > bound.ulp - 0.01) {
    Number decided(220);
    decide(decided);
    ulp = Distance(got, decided);
    mpfr_sub_d(decided.value, decided.value, got, MPFR_RNDN);
    if (ulp > bound.ulp && mpfr_cmpabs(decided.value, Number(bound.absolute).value) <= 0) return;
    if (ulp > bound.ulp) ++worst->wrong;
  }
  if (ulp > worst->ulp) worst->ulp = ulp, worst->x = x, worst->y = y;
}

class F64UnaryTest : public testing::TestWithParam<UnaryFunction> {};

TEST_P(F64UnaryTest, StaysWithinItsBound) {
  const UnaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF64);
  Worst worst;
  auto check = [&](double x) {
    Note(&worst, bound, f.f64(x), f.wider(x), x, 0,
         [&](Number& exact) { f.exact(exact.value, Number(x).value, MPFR_RNDN); });
  };
  for (double value : SpecialValues<double>()) check(value);
  Points<double> points(17);
  const int samples = SampleCount(1000000);
  for (int i = 0; i < samples; ++i) check(points.Next());
  std::printf("%s_f64: %.4f ulp at %.17g\n", f.name, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, bound.ulp) << f.name << " at " << worst.x << ": " << f.f64(worst.x) << ", " << worst.wrong
                                  << " wrong";
}

// MPFR alone, at every result.
TEST_P(F64UnaryTest, StaysWithinItsBoundByMpfr) {
  const UnaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF64);
  auto check = [&](double x) {
    Number exact(160);
    f.exact(exact.value, Number(x).value, MPFR_RNDN);
    const double ulp = Distance(f.f64(x), exact);
    mpfr_sub_d(exact.value, exact.value, f.f64(x), MPFR_RNDN);
    if (ulp <= bound.ulp || mpfr_cmpabs(exact.value, Number(bound.absolute).value) <= 0) return;
    ADD_FAILURE() << f.name << " of " << x << ": " << f.f64(x) << ", " << ulp << " ulp";
  };
  for (double value : SpecialValues<double>()) check(value);
  Points<double> points(29);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) check(points.Next());
}

INSTANTIATE_TEST_SUITE_P(All, F64UnaryTest, testing::ValuesIn(UnaryFunctions().begin(), UnaryFunctions().end()),
                         [](const auto& info) { return FunctionName(info); });

class F64BinaryTest : public testing::TestWithParam<BinaryFunction> {};

TEST_P(F64BinaryTest, StaysWithinItsBound) {
  const BinaryFunction& f = GetParam();
  const UlpBound bound = StatedBound(f.name, ElementType::kF64);
  Worst worst;
  auto check = [&](double x, double y) {
    Note(&worst, bound, f.f64(x, y), f.wider(x, y), x, y,
         [&](Number& exact) { f.exact(exact.value, Number(x).value, Number(y).value, MPFR_RNDN); });
  };
  for (double a : SpecialValues<double>()) {
    for (double b : SpecialValues<double>()) check(a, b);
  }
  Points<double> xs(19), ys(23);
  const int samples = SampleCount(1000000);
  for (int i = 0; i < samples; ++i) check(xs.Next(), ys.Next());
  std::printf("%s_f64: %.4f ulp at %.17g, %.17g\n", f.name, worst.ulp, worst.x, worst.y);
  EXPECT_LE(worst.ulp, bound.ulp) << f.name << " at " << worst.x << ", " << worst.y << ": " << f.f64(worst.x, worst.y);
}

INSTANTIATE_TEST_SUITE_P(All, F64BinaryTest, testing::ValuesIn(BinaryFunctions().begin(), BinaryFunctions().end()),
                         [](const auto& info) { return FunctionName(info); });

TEST(F64SineTest, IsRightNextToMultiplesOfHalfPi) {
  // The double closest to a multiple of pi/2: the cosine is 2^-61 of the argument's size and still has all its bits.
  const double x = 6381956970095103.0 * 0x1p797;
  Number m(53), exact(160);
  mpfr_set_d(m.value, x, MPFR_RNDN);
  mpfr_cos(exact.value, m.value, MPFR_RNDN);
  EXPECT_LE(Distance(sm::cosine_f64(x), exact), 1);
  mpfr_tan(exact.value, m.value, MPFR_RNDN);
  EXPECT_LE(Distance(sm::tan_f64(x), exact), 1);
}

TEST(F64Test, MinimumAndMaximumPropagateNanAndOrderZeros) {
  EXPECT_TRUE(std::isnan(sm::maximum_f64(1, NAN)));
  EXPECT_TRUE(std::isnan(sm::minimum_f64(NAN, 1)));
  EXPECT_FALSE(std::signbit(sm::maximum_f64(-0.0, 0.0)));
  EXPECT_FALSE(std::signbit(sm::maximum_f64(0.0, -0.0)));
  EXPECT_TRUE(std::signbit(sm::minimum_f64(0.0, -0.0)));
  EXPECT_TRUE(std::signbit(sm::minimum_f64(-0.0, 0.0)));
  EXPECT_EQ(sm::clamp_f64(-5, -1, -3), -3);
}

// Rounds as bits to a width that keeps the exponent.
double ExactReduce(double x, int mantissa_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int drop = 52 - mantissa_bits;
  const uint64_t bias = drop == 0 ? 0 : (uint64_t{1} << (drop - 1)) - 1 + (bits >> drop & 1);
  return std::bit_cast<double>((bits + bias) >> drop << drop);
}

TEST(F64ReducePrecisionTest, RoundsToNearestEvenAtEveryWidth) {
  Points<double> points(29);
  for (int i = 0; i < 20000; ++i) {
    const double x = points.Next();
    if (std::isnan(x)) continue;
    const int mantissa = i % 53;
    EXPECT_EQ(sm::reduce_precision_f64(x, 11, mantissa), ExactReduce(x, mantissa)) << x << " " << mantissa;
  }
  for (double x : SpecialValues<double>()) {
    if (std::isnan(x)) continue;
    EXPECT_EQ(sm::reduce_precision_f64(x, 11, 7), ExactReduce(x, 7)) << x;
  }
  EXPECT_EQ(sm::reduce_precision_f64(1e300, 8, 23), INFINITY);
  EXPECT_EQ(sm::reduce_precision_f64(-1e-300, 8, 23), 0.0);
  EXPECT_EQ(sm::reduce_precision_f64(1 + 0x1p-24, 8, 23), 1);
}

}  // namespace f64_test
}  // namespace VXLA_NAMESPACE
