// f32 functions of the shader math against the C library's double, which is exact enough to tell 0.001 ulp.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdlib>
#include <functional>
#include <string>

#include "backend/cpu/shader_math.h"
#include "tests/math/ulp.h"

namespace vxla {
namespace {

namespace sm = shader_math;

struct Unary {
  const char* name;
  float (*function)(float);
  double (*exact)(double);
  double bound;  // ulp
};

double ExactLogistic(double x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double ExactRsqrt(double x) { return 1 / std::sqrt(x); }
double ExactSign(double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); }
double ExactNegate(double x) { return -x; }

const Unary kUnary[] = {
    {"exponential", sm::exponential_f32, std::exp, 1},
    {"exponential_minus_one", sm::exponential_minus_one_f32, std::expm1, 1},
    {"log", sm::log_f32, std::log, 1},
    {"log_plus_one", sm::log_plus_one_f32, std::log1p, 1},
    {"logistic", sm::logistic_f32, ExactLogistic, 1},
    {"tanh", sm::tanh_f32, std::tanh, 1},
    {"sinh", sm::sinh_f32, std::sinh, 1},
    {"cosh", sm::cosh_f32, std::cosh, 1},
    {"asinh", sm::asinh_f32, std::asinh, 1},
    {"acosh", sm::acosh_f32, std::acosh, 1},
    {"atanh", sm::atanh_f32, std::atanh, 1},
    {"sine", sm::sine_f32, std::sin, 1},
    {"cosine", sm::cosine_f32, std::cos, 1},
    {"tan", sm::tan_f32, std::tan, 1},
    {"asin", sm::asin_f32, std::asin, 1},
    {"acos", sm::acos_f32, std::acos, 1},
    {"atan", sm::atan_f32, std::atan, 1},
    {"erf", sm::erf_f32, std::erf, 1},
    {"rsqrt", sm::rsqrt_f32, ExactRsqrt, 1},
    {"cbrt", sm::cbrt_f32, std::cbrt, 1},
    {"sqrt", sm::sqrt_f32, std::sqrt, 0.5},
    {"floor", sm::floor_f32, std::floor, 0},
    {"ceil", sm::ceil_f32, std::ceil, 0},
    {"round_nearest_even", sm::round_nearest_even_f32, std::nearbyint, 0},
    {"round_nearest_afz", sm::round_nearest_afz_f32, std::round, 0},
    {"sign", sm::sign_f32, ExactSign, 0},
    {"abs", sm::abs_f32, std::fabs, 0},
    {"negate", sm::negate_f32, ExactNegate, 0},
};

struct Worst {
  double ulp = 0;
  float x = 0, y = 0;
};

void Note(Worst* worst, double ulp, float x, float y = 0) {
  if (ulp > worst->ulp) *worst = {ulp, x, y};
}

class F32UnaryTest : public testing::TestWithParam<Unary> {};

TEST_P(F32UnaryTest, StaysWithinItsBound) {
  const Unary& f = GetParam();
  Worst worst;
  auto check = [&](float x) { Note(&worst, UlpError(f.function(x), f.exact(static_cast<double>(x))), x); };
  for (float x : SpecialValues<float>()) check(x);
  Points<float> points(7);
  for (int i = 0; i < 500000; ++i) check(points.Next());
  // Every 8009th bit pattern, so that no binade is left out; VXLA_MATH_STRIDE=1 makes it all of them.
  const char* stride_text = std::getenv("VXLA_MATH_STRIDE");
  const uint64_t stride = stride_text != nullptr ? std::strtoull(stride_text, nullptr, 10) : 8009;
  ASSERT_GT(stride, 0u);
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) check(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  RecordProperty("ulp", std::to_string(worst.ulp));
  std::printf("%s_f32: %.4f ulp at %.9g\n", f.name, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, f.bound) << f.name << " at " << worst.x << ": " << f.function(worst.x) << ", exactly " << f.exact(worst.x);
}

INSTANTIATE_TEST_SUITE_P(All, F32UnaryTest, testing::ValuesIn(kUnary), [](const auto& info) { return std::string(info.param.name); });

struct Binary {
  const char* name;
  float (*function)(float, float);
  double (*exact)(double, double);
  double bound;
};

double ExactMaximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::nan("");
  return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
}
double ExactMinimum(double x, double y) { return -ExactMaximum(-x, -y); }
double ExactAdd(double x, double y) { return x + y; }
double ExactSubtract(double x, double y) { return x - y; }
double ExactMultiply(double x, double y) { return x * y; }
double ExactDivide(double x, double y) { return x / y; }

const Binary kBinary[] = {
    {"power", sm::power_f32, std::pow, 1},
    {"atan2", sm::atan2_f32, std::atan2, 1},
    {"hypot", sm::hypot_f32, std::hypot, 1},
    {"remainder", sm::remainder_f32, std::fmod, 0},
    {"maximum", sm::maximum_f32, ExactMaximum, 0},
    {"minimum", sm::minimum_f32, ExactMinimum, 0},
    {"add", sm::add_f32, ExactAdd, 0.5000001},
    {"subtract", sm::subtract_f32, ExactSubtract, 0.5000001},
    {"multiply", sm::multiply_f32, ExactMultiply, 0.5},
    {"divide", sm::divide_f32, ExactDivide, 0.5000001},
};

class F32BinaryTest : public testing::TestWithParam<Binary> {};

TEST_P(F32BinaryTest, StaysWithinItsBound) {
  const Binary& f = GetParam();
  Worst worst;
  auto check = [&](float x, float y) {
    Note(&worst, UlpError(f.function(x, y), f.exact(static_cast<double>(x), static_cast<double>(y))), x, y);
  };
  for (float x : SpecialValues<float>()) {
    for (float y : SpecialValues<float>()) check(x, y);
  }
  Points<float> xs(11), ys(13);
  for (int i = 0; i < 1000000; ++i) check(xs.Next(), ys.Next());
  std::printf("%s_f32: %.4f ulp at %.9g, %.9g\n", f.name, worst.ulp, worst.x, worst.y);
  EXPECT_LE(worst.ulp, f.bound) << f.name << " at " << worst.x << ", " << worst.y << ": " << f.function(worst.x, worst.y)
                                << ", exactly " << f.exact(worst.x, worst.y);
}

INSTANTIATE_TEST_SUITE_P(All, F32BinaryTest, testing::ValuesIn(kBinary), [](const auto& info) { return std::string(info.param.name); });

TEST(F32PowerTest, StaysWithinOneUlpNearOneWithHugeExponents) {
  std::mt19937_64 random(3);
  Worst worst;
  for (int i = 0; i < 500000; ++i) {
    const float x = 1 + (static_cast<float>(random() >> 40) * 0x1p-24f - 0.5f) * 0.008f;
    const float y = std::ldexp(1 + static_cast<float>(random() >> 41) * 0x1p-23f, static_cast<int>(random() % 30)) * (i % 2 ? 1 : -1);
    Note(&worst, UlpError(sm::power_f32(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), x, y);
  }
  EXPECT_LE(worst.ulp, 1) << worst.x << " ^ " << worst.y;
}

TEST(F32SineTest, IsRightForLargeArguments) {
  EXPECT_EQ(sm::sine_f32(1e30f), static_cast<float>(std::sin(static_cast<double>(1e30f))));
  EXPECT_EQ(sm::cosine_f32(3.4028234e38f), static_cast<float>(std::cos(static_cast<double>(3.4028234e38f))));
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
      const float a = i == 0 ? sm::bitcast_u32_f32(0xffc00000u) : order[i], b = j == 0 ? sm::bitcast_u32_f32(0xffc00000u) : order[j];
      EXPECT_EQ(sm::compare_total_lt_f32(a, b), i < j) << i << " " << j;
      EXPECT_EQ(sm::compare_total_le_f32(a, b), i <= j);
      EXPECT_EQ(sm::compare_total_eq_f32(a, b), i == j);
      EXPECT_EQ(sm::compare_total_ne_f32(a, b), i != j);
      EXPECT_EQ(sm::compare_total_ge_f64(a, b), i >= j);
      EXPECT_EQ(sm::compare_total_gt_f64(a, b), i > j);
      // Plain compares take denormals as zeros.
      const float fa = std::fabs(a) < 1e-40f ? 0 : a, fb = std::fabs(b) < 1e-40f ? 0 : b;
      EXPECT_EQ(sm::compare_lt_f32(a, b), fa < fb);
      EXPECT_EQ(sm::compare_ne_f32(a, b), fa != fb);
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

}  // namespace
}  // namespace vxla
