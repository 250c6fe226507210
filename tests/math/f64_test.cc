// f64 functions of the shader math against MPFR at 160 bits.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cstdlib>
#include <string>

#include "backend/cpu/shader_math.h"
#include "tests/math/ulp.h"

namespace vxla {
namespace {

namespace sm = shader_math;

// An MPFR number that frees itself.
struct Number {
  explicit Number(int bits) { mpfr_init2(value, bits); }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_t value;
};

double Distance(double got, const Number& exact) {
  if (mpfr_nan_p(exact.value) || std::isnan(got)) return (mpfr_nan_p(exact.value) != 0) == std::isnan(got) ? 0 : kWrong;
  const double rounded = mpfr_get_d(exact.value, MPFR_RNDN);
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : kWrong;
  if (mpfr_zero_p(exact.value)) {
    return got == 0 && std::signbit(got) == (mpfr_signbit(exact.value) != 0) ? 0 : kWrong;
  }
  const int exponent = std::max(static_cast<int>(mpfr_get_exp(exact.value)) - 1, -1022);
  Number difference(160);
  mpfr_sub_d(difference.value, exact.value, got, MPFR_RNDN);
  mpfr_mul_2si(difference.value, difference.value, 52 - exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

using ExactUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using ExactBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

int ExactRsqrt(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (!mpfr_zero_p(x)) return mpfr_rec_sqrt(r, x, mode);
  mpfr_set_inf(r, mpfr_signbit(x) != 0 ? -1 : 1);
  return 0;
}
int ExactLogistic(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  mpfr_neg(r, x, mode);
  mpfr_exp(r, r, mode);
  mpfr_add_ui(r, r, 1, mode);
  return mpfr_ui_div(r, 1, r, mode);
}
int ExactRoundAfz(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_round(r, x); }
int ExactFloor(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_floor(r, x); }
int ExactCeil(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_ceil(r, x); }

struct Unary {
  const char* name;
  double (*function)(double);
  ExactUnary exact;
  double bound;
};

const Unary kUnary[] = {
    {"exponential", sm::exponential_f64, mpfr_exp, 2},
    {"exponential_minus_one", sm::exponential_minus_one_f64, mpfr_expm1, 2},
    {"log", sm::log_f64, mpfr_log, 2},
    {"log_plus_one", sm::log_plus_one_f64, mpfr_log1p, 2},
    {"logistic", sm::logistic_f64, ExactLogistic, 2},
    {"tanh", sm::tanh_f64, mpfr_tanh, 2},
    {"sinh", sm::sinh_f64, mpfr_sinh, 2},
    {"cosh", sm::cosh_f64, mpfr_cosh, 2},
    {"asinh", sm::asinh_f64, mpfr_asinh, 2},
    {"acosh", sm::acosh_f64, mpfr_acosh, 2},
    {"atanh", sm::atanh_f64, mpfr_atanh, 2},
    {"sine", sm::sine_f64, mpfr_sin, 2},
    {"cosine", sm::cosine_f64, mpfr_cos, 2},
    {"tan", sm::tan_f64, mpfr_tan, 2},
    {"asin", sm::asin_f64, mpfr_asin, 2},
    {"acos", sm::acos_f64, mpfr_acos, 2},
    {"atan", sm::atan_f64, mpfr_atan, 2},
    {"erf", sm::erf_f64, mpfr_erf, 2},
    {"rsqrt", sm::rsqrt_f64, ExactRsqrt, 2},
    {"cbrt", sm::cbrt_f64, mpfr_cbrt, 2},
    {"sqrt", sm::sqrt_f64, mpfr_sqrt, 0.5},
    {"floor", sm::floor_f64, ExactFloor, 0},
    {"ceil", sm::ceil_f64, ExactCeil, 0},
    {"round_nearest_even", sm::round_nearest_even_f64, mpfr_rint, 0},
    {"round_nearest_afz", sm::round_nearest_afz_f64, ExactRoundAfz, 0},
    {"abs", sm::abs_f64, mpfr_abs, 0},
    {"negate", sm::negate_f64, mpfr_neg, 0},
};

int SampleCount(int normal) {
  const char* text = std::getenv("VXLA_MATH_SAMPLES");
  return text != nullptr ? std::atoi(text) : normal;
}

class F64UnaryTest : public testing::TestWithParam<Unary> {};

TEST_P(F64UnaryTest, StaysWithinItsBound) {
  const Unary& f = GetParam();
  double worst = 0, at = 0;
  Number x(53), exact(160);
  auto check = [&](double value) {
    mpfr_set_d(x.value, value, MPFR_RNDN);
    f.exact(exact.value, x.value, MPFR_RNDN);
    const double ulp = Distance(f.function(value), exact);
    if (ulp > worst) worst = ulp, at = value;
  };
  for (double value : SpecialValues<double>()) check(value);
  Points<double> points(17);
  const int samples = SampleCount(20000);
  for (int i = 0; i < samples; ++i) check(points.Next());
  std::printf("%s_f64: %.4f ulp at %.17g\n", f.name, worst, at);
  EXPECT_LE(worst, f.bound) << f.name << " at " << at << ": " << f.function(at);
}

INSTANTIATE_TEST_SUITE_P(All, F64UnaryTest, testing::ValuesIn(kUnary), [](const auto& info) { return std::string(info.param.name); });

struct Binary {
  const char* name;
  double (*function)(double, double);
  ExactBinary exact;
  double bound;
};

const Binary kBinary[] = {
    {"power", sm::power_f64, mpfr_pow, 2},   {"atan2", sm::atan2_f64, mpfr_atan2, 2},
    {"hypot", sm::hypot_f64, mpfr_hypot, 2}, {"remainder", sm::remainder_f64, mpfr_fmod, 0},
    {"add", sm::add_f64, mpfr_add, 0.5},     {"multiply", sm::multiply_f64, mpfr_mul, 0.5},
    {"divide", sm::divide_f64, mpfr_div, 0.5},
};

class F64BinaryTest : public testing::TestWithParam<Binary> {};

TEST_P(F64BinaryTest, StaysWithinItsBound) {
  const Binary& f = GetParam();
  double worst = 0, at_x = 0, at_y = 0;
  // Wide enough that sums and products of doubles are exact but for far apart exponents.
  Number x(53), y(53), exact(220);
  auto check = [&](double a, double b) {
    mpfr_set_d(x.value, a, MPFR_RNDN);
    mpfr_set_d(y.value, b, MPFR_RNDN);
    f.exact(exact.value, x.value, y.value, MPFR_RNDN);
    const double ulp = Distance(f.function(a, b), exact);
    if (ulp > worst) worst = ulp, at_x = a, at_y = b;
  };
  for (double a : SpecialValues<double>()) {
    for (double b : SpecialValues<double>()) check(a, b);
  }
  Points<double> xs(19), ys(23);
  const int samples = SampleCount(20000);
  for (int i = 0; i < samples; ++i) check(xs.Next(), ys.Next());
  std::printf("%s_f64: %.4f ulp at %.17g, %.17g\n", f.name, worst, at_x, at_y);
  EXPECT_LE(worst, f.bound) << f.name << " at " << at_x << ", " << at_y << ": " << f.function(at_x, at_y);
}

INSTANTIATE_TEST_SUITE_P(All, F64BinaryTest, testing::ValuesIn(kBinary), [](const auto& info) { return std::string(info.param.name); });

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

}  // namespace
}  // namespace vxla
