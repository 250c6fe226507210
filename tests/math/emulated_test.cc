// The emulated 64-bit types against the machine's own: arithmetic and conversions on a million structured operands
// each, every function of the shader math on a hundred thousand. Equal bits; any NaN equals any NaN.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "tests/math/emulated_values.h"

namespace VXLA_NAMESPACE {
namespace {

uint64_t Bits(uint32_t x, uint32_t y) { return (uint64_t{y} << 32) | x; }
bool Same(double a, emulated::f64_t b) {
  const uint64_t bits = Bits(b.x, b.y);
  return std::bit_cast<uint64_t>(a) == bits || (std::isnan(a) && std::isnan(std::bit_cast<double>(bits)));
}
bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}
bool Same(native::vec2 a, native::vec2 b) { return Same(a.x, b.x) && Same(a.y, b.y); }
bool Same(native::dvec2 a, emulated::c128_t b) { return Same(a.x, b.x) && Same(a.y, b.y); }
bool Same(int64_t a, emulated::i64_t b) { return static_cast<uint64_t>(a) == Bits(b.x, b.y); }
bool Same(uint64_t a, emulated::u64_t b) { return a == Bits(b.x, b.y); }
template <typename T>
requires std::is_integral_v<T>
bool Same(T a, T b) { return a == b; }

std::string Text(double x) { return fmt::format("{:a} ({})", x, x); }
std::string Text(native::vec2 x) { return fmt::format("({:a}, {:a})", x.x, x.y); }
std::string Text(native::dvec2 x) { return fmt::format("({:a}, {:a})", x.x, x.y); }
std::string Text(emulated::f64_t x) { return Text(std::bit_cast<double>(Bits(x.x, x.y))); }
std::string Text(emulated::c128_t x) { return Text(x.x) + ", " + Text(x.y); }
std::string Text(emulated::i64_t x) { return fmt::format("0x{:x}", Bits(x.x, x.y)); }
std::string Text(emulated::u64_t x) { return fmt::format("0x{:x}", Bits(x.x, x.y)); }
template <typename T>
requires std::is_integral_v<T> std::string Text(T x) { return fmt::format("0x{:x}", x); }
std::string Text(bool x) { return x ? "true" : "false"; }

int Count(int normal) {
  const char* text = std::getenv("VXLA_MATH_SAMPLES");
  return text != nullptr ? std::atoi(text) : normal;
}

template <typename R, typename... A, typename E, typename... B>
void Check(const char* name, R (*want)(A...), E (*got)(B...), int count) {
  Words words(std::hash<std::string>()(name));
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    // Braces: in order.
    const std::tuple<A...> operands{Make<A>(words)...};
    std::apply(
        [&](const A&... a) {
          const R w = want(a...);
          const E g = got(Pass<B>(a)...);
          if (Same(w, g) || wrong++ > 2) return;
          std::string at;
          ((at += Text(a) + " "), ...);
          ADD_FAILURE() << name << " of " << at << "is " << Text(g) << ", should be " << Text(w);
        },
        operands);
  }
  EXPECT_EQ(wrong, 0) << name << ": of " << count;
}

constexpr int kArithmetic = 1000000, kFunction = 100000;

#define EXACT(name) Check(#name, native::name, emulated::name, Count(kArithmetic))
#define SAME(name) Check(#name, native::name, emulated::name, Count(kFunction))

TEST(EmulatedF64Test, AddsAndMultipliesAsTheMachineDoes) {
  EXACT(add_f64), EXACT(subtract_f64), EXACT(multiply_f64), EXACT(horner_f64);
}
// Both words of an exact sum or product; fast_two_sum wants the larger summand first.
template <auto Function>
native::dvec2 Both(double a, double b) {
  double lo = 0;
  const double hi = Function(a, b, lo);
  return {hi, lo};
}
template <auto Function>
emulated::c128_t BothEmulated(emulated::f64_t a, emulated::f64_t b) {
  emulated::f64_t lo{};
  const emulated::f64_t hi = Function(a, b, lo);
  return {hi, lo};
}
double FastTwoSum(double a, double b, double& lo) {
  return std::fabs(a) < std::fabs(b) ? native::fast_two_sum_f64(b, a, lo) : native::fast_two_sum_f64(a, b, lo);
}
emulated::f64_t FastTwoSumEmulated(emulated::f64_t a, emulated::f64_t b, emulated::f64_t& lo) {
  return emulated::compare_lt_f64(emulated::magnitude_f64(a), emulated::magnitude_f64(b))
             ? emulated::fast_two_sum_f64(b, a, lo)
             : emulated::fast_two_sum_f64(a, b, lo);
}
// Overflow on the way to the second word is left out: what it gives is no number.
double ClippedTwoProd(double a, double b, double& lo) {
  const auto clip = [](double x) { return std::fabs(x) < 0x1p500 ? x : 1.5; };
  return native::two_prod_f64(clip(a), clip(b), lo);
}
emulated::f64_t ClippedTwoProdEmulated(emulated::f64_t a, emulated::f64_t b, emulated::f64_t& lo) {
  const auto clip = [](emulated::f64_t x) { return (x.y & 0x7fffffff) < 0x5f300000 ? x : Words64(1.5); };
  return emulated::two_prod_f64(clip(a), clip(b), lo);
}

TEST(EmulatedF64Test, GivesTheSameErrorsOfSumsAndProducts) {
  Check("two_sum_f64", Both<native::two_sum_f64>, BothEmulated<emulated::two_sum_f64>, Count(kArithmetic));
  Check("fast_two_sum_f64", Both<FastTwoSum>, BothEmulated<FastTwoSumEmulated>, Count(kArithmetic));
  Check("two_prod_f64", Both<ClippedTwoProd>, BothEmulated<ClippedTwoProdEmulated>, Count(kArithmetic));
}

TEST(EmulatedF64Test, DividesAndTakesRootsAsTheMachineDoes) {
  EXACT(divide_f64), EXACT(sqrt_plain_f64), EXACT(sqrt_f64);
}

double StandardFma(double a, double b, double c) { return std::fma(a, b, c); }

TEST(EmulatedF64Test, FusesAsTheStandardLibraryDoes) {
  Check("fma_f64", StandardFma, emulated::fma_f64, Count(kArithmetic));
  Check("fma_f64", native::fma_f64, emulated::fma_f64, Count(kFunction));
  // Sums that cancel.
  Words words(7);
  for (int i = 0; i < Count(kArithmetic); ++i) {
    const double a = words.Double(), b = words.Double(),
                 c = -a * b * (1 + static_cast<int>(words.Next() % 5 - 2) * 0x1p-52);
    const double want = std::fma(a, b, c);
    const emulated::f64_t got = emulated::fma_f64(Words64(a), Words64(b), Words64(c));
    ASSERT_TRUE(Same(want, got)) << Text(a) << " " << Text(b) << " " << Text(c) << ": " << Text(got) << ", should be "
                                 << Text(want);
  }
}

TEST(EmulatedF64Test, RoundsAndComparesAsTheMachineDoes) {
  EXACT(floor_f64), EXACT(floor_plain_f64), EXACT(ceil_f64), EXACT(truncate_f64), EXACT(round_nearest_even_f64),
      EXACT(round_nearest_afz_f64);
  EXACT(compare_eq_f64), EXACT(compare_ne_f64), EXACT(compare_lt_f64), EXACT(compare_gt_f64), EXACT(compare_le_f64),
      EXACT(compare_ge_f64);
  EXACT(maximum_f64), EXACT(minimum_f64), EXACT(negate_f64), EXACT(abs_f64), EXACT(sign_f64), EXACT(is_finite_f64);
  SAME(compare_total_lt_f64), SAME(compare_total_le_f64), SAME(compare_total_eq_f64), SAME(clamp_f64),
      SAME(remainder_f64);
}

TEST(EmulatedI64Test, ComputesAsTheMachineDoes) {
  EXACT(add_i64), EXACT(subtract_i64), EXACT(multiply_i64), EXACT(divide_i64), EXACT(remainder_i64), EXACT(mulhi_i64),
      SAME(power_i64);
  EXACT(negate_i64), EXACT(abs_i64), EXACT(sign_i64), EXACT(maximum_i64), EXACT(minimum_i64), EXACT(clamp_i64);
  SAME(and_i64), SAME(or_i64), SAME(xor_i64), SAME(not_i64), SAME(popcnt_i64), EXACT(count_leading_zeros_i64);
  EXACT(shift_left_i64), EXACT(shift_right_logical_i64), EXACT(shift_right_arithmetic_i64), EXACT(magnitude_i64);
  EXACT(compare_eq_i64), EXACT(compare_ne_i64), EXACT(compare_lt_i64), EXACT(compare_gt_i64), EXACT(compare_le_i64),
      EXACT(compare_ge_i64);
}
TEST(EmulatedU64Test, ComputesAsTheMachineDoes) {
  EXACT(add_u64), EXACT(subtract_u64), EXACT(multiply_u64), EXACT(divide_u64), EXACT(remainder_u64), EXACT(mulhi_u64),
      SAME(power_u64);
  EXACT(negate_u64), EXACT(abs_u64), EXACT(sign_u64), EXACT(maximum_u64), EXACT(minimum_u64), EXACT(clamp_u64);
  SAME(and_u64), SAME(or_u64), SAME(xor_u64), SAME(not_u64), SAME(popcnt_u64), EXACT(count_leading_zeros_u64);
  EXACT(shift_left_u64), EXACT(shift_right_logical_u64), EXACT(shift_right_arithmetic_u64);
  EXACT(compare_eq_u64), EXACT(compare_ne_u64), EXACT(compare_lt_u64), EXACT(compare_gt_u64), EXACT(compare_le_u64),
      EXACT(compare_ge_u64);
}

TEST(EmulatedConversionTest, AreTheMachines) {
  EXACT(convert_f32_f64), EXACT(convert_f64_f32), EXACT(convert_f64_f32_odd), EXACT(convert_f64_i32),
      EXACT(convert_f64_u32);
  EXACT(convert_f64_i64), EXACT(convert_f64_u64), EXACT(convert_i64_f64), EXACT(convert_u64_f64),
      EXACT(convert_i32_f64), EXACT(convert_u32_f64);
  EXACT(convert_f32_i64), EXACT(convert_f32_u64), EXACT(convert_i64_f32), EXACT(convert_u64_f32),
      EXACT(convert_i64_f32_odd), EXACT(convert_u64_f32_odd);
  SAME(convert_i32_i64), SAME(convert_i32_u64), SAME(convert_u32_i64), SAME(convert_u32_u64), SAME(convert_i64_i32),
      SAME(convert_i64_u32);
  SAME(convert_u64_i32), SAME(convert_u64_u32), SAME(convert_i64_u64), SAME(convert_u64_i64), SAME(convert_pred_i64),
      SAME(convert_i64_pred);
  SAME(convert_pred_u64), SAME(convert_u64_pred), SAME(convert_pred_f64), SAME(convert_f64_pred), SAME(bitcast_f64_i64),
      SAME(bitcast_u64_f64);
  SAME(bitcast_i64_f64), SAME(bitcast_f64_u64), SAME(round_from_f64_f16), SAME(round_from_f64_bf16),
      SAME(round_from_f64_f8e4m3fn);
  SAME(convert_c64_c128), SAME(convert_c128_c64), SAME(convert_c128_i64), SAME(convert_u64_c128), SAME(convert_f64_c64);
}

TEST(EmulatedConversionTest, FromNativeTypesOfTheOtherKindKeepWords) {
  EXPECT_EQ(native::unpack_f64(1.5), native::uvec2(0, 0x3ff80000));
  EXPECT_EQ(native::pack_i64({7, 0xffffffff}), int64_t{7} - (int64_t{1} << 32));
  EXPECT_EQ(emulated::unpack_u64({1, 2}), native::uvec2(1, 2));
}

#define SAME_REAL(t)                                                                                                  \
  SAME(exponential_##t), SAME(exponential_minus_one_##t), SAME(log_##t), SAME(log_plus_one_##t), SAME(logistic_##t),  \
      SAME(tanh_##t), SAME(sinh_##t), SAME(cosh_##t), SAME(asinh_##t), SAME(acosh_##t), SAME(atanh_##t),              \
      SAME(sine_##t), SAME(cosine_##t), SAME(tan_##t), SAME(asin_##t), SAME(acos_##t), SAME(atan_##t), SAME(erf_##t), \
      SAME(rsqrt_##t), SAME(cbrt_##t), SAME(power_##t), SAME(atan2_##t), SAME(hypot_##t)
#define SAME_COMPLEX(t)                                                                                                \
  SAME(exponential_##t), SAME(exponential_minus_one_##t), SAME(log_##t), SAME(log_plus_one_##t), SAME(logistic_##t),   \
      SAME(tanh_##t), SAME(sinh_##t), SAME(cosh_##t), SAME(asinh_##t), SAME(acosh_##t), SAME(atanh_##t),               \
      SAME(sine_##t), SAME(cosine_##t), SAME(tan_##t), SAME(asin_##t), SAME(acos_##t), SAME(atan_##t),                 \
      SAME(rsqrt_##t), SAME(sqrt_##t), SAME(cbrt_##t), SAME(sign_##t), SAME(abs_##t), SAME(negate_##t), SAME(add_##t), \
      SAME(subtract_##t), SAME(multiply_##t), SAME(divide_##t), SAME(power_##t), SAME(atan2_##t), SAME(compare_eq_##t)

TEST(EmulatedFunctionTest, F64) {
  SAME_REAL(f64);
  SAME(exp2_f64), SAME(log2_f64), SAME(erfc_f64), SAME(erf_inv_f64), SAME(lgamma_f64), SAME(digamma_f64);
}
TEST(EmulatedFunctionTest, C128) { SAME_COMPLEX(c128); }

}  // namespace
}  // namespace VXLA_NAMESPACE
