// Shader math on each Vulkan device present against the same text compiled as C++: equal bits, function by function.
// 64-bit types run as the device has them, or in pairs of words where it has none or VXLA_TEST_EMULATE says so.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "backend/cpu/twin/shader_math.h"
#include "backend/vulkan/shader/shader_source.h"
#include "tests/math/ulp.h"
#include "tests/math_vulkan/function_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace same_bits_test {

namespace sm = shader_math;

template <typename T>
const char* Tag() {
  if (std::is_same_v<T, float>) return "f32";
  if (std::is_same_v<T, double>) return "f64";
  if (std::is_same_v<T, int32_t>) return "i32";
  if (std::is_same_v<T, uint32_t> || std::is_same_v<T, bool>) return "u32";
  if (std::is_same_v<T, int64_t>) return "i64";
  if (std::is_same_v<T, uint64_t>) return "u64";
  return std::is_same_v<T, sm::vec2> ? "c64" : "c128";
}

template <typename T>
class Values {
 public:
  explicit Values(uint64_t seed) : random_(seed), points_(seed), specials_(MakeSpecials()) {}
  T Next() {
    if (random_() % 8 == 0) return specials_[random_() % specials_.size()];
    if constexpr (std::is_floating_point_v<T>) {
      return points_.Next();
    } else {
      return static_cast<T>(random_() >> (random_() % 64));
    }
  }

 private:
  static std::vector<T> MakeSpecials() {
    if constexpr (std::is_floating_point_v<T>) {
      return SpecialValues<T>();
    } else {
      using Limits = std::numeric_limits<T>;
      return {0, 1, 2, 7, 31, 32, 63, 64, Limits::max(), Limits::min(), T(Limits::min() + 1), T(-1), T(-2)};
    }
  }
  struct Nothing {
    explicit Nothing(uint64_t) {}
  };
  std::mt19937_64 random_;
  std::conditional_t<std::is_floating_point_v<T>, Points<T>, Nothing> points_;
  std::vector<T> specials_;
};

template <typename T>
std::vector<T> MakeValues(size_t count, uint64_t seed) {
  std::vector<T> values(count);
  if constexpr (std::is_same_v<T, sm::vec2> || std::is_same_v<T, sm::dvec2>) {
    Values<typename T::value_type> parts(seed);
    for (T& v : values) {
      const auto re = parts.Next(), im = parts.Next();
      v = T(re, im);
    }
  } else if constexpr (std::is_same_v<T, float>) {
    // Narrow floats and their midpoints as well as any f32.
    Values<float> parts(seed);
    for (size_t i = 0; i < count; ++i)
      values[i] = i % 8 == 0 ? std::bit_cast<float>(static_cast<uint32_t>(i * 0x12345u) << 12) : parts.Next();
  } else {
    Values<T> parts(seed);
    for (T& v : values) v = parts.Next();
  }
  return values;
}

bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}
bool Same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}
bool Same(sm::vec2 a, sm::vec2 b) { return Same(a.x, b.x) && Same(a.y, b.y); }
bool Same(sm::dvec2 a, sm::dvec2 b) { return Same(a.x, b.x) && Same(a.y, b.y); }
template <typename T>
requires std::is_integral_v<T>
bool Same(T a, T b) { return a == b; }

// What a device that flushes f32 denormals may see as zero in arithmetic: denormals, and results that round up to the
// least normal number. Functions of complex numbers have intermediate results far smaller than their operands, so there
// only operands of moderate size are sure to meet none.
bool MayFlush(float x) { return x != 0 && std::fabs(x) <= std::numeric_limits<float>::min(); }
bool MayFlush(sm::vec2 z) {
  const auto moderate = [](float x) {
    return x == 0 || !std::isfinite(x) || (std::fabs(x) > 0x1p-20f && std::fabs(x) < 0x1p20f);
  };
  return !moderate(z.x) || !moderate(z.y);
}
template <typename T>
bool MayFlush(T) {
  return false;
}

// The functions of real numbers that are a device's own operation; every other one sees denormals as they are.
bool IsArithmetic(const std::string& name) {
  static const std::set<std::string> names = {"add_f32", "subtract_f32", "multiply_f32", "divide_f32", "sqrt_f32"};
  return names.contains(name);
}

template <typename T>
std::string Text(T v) {
  if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", v);
  } else {
    return fmt::format("({}, {})", v.x, v.y);
  }
}

class SameBitsTest : public testing::TestWithParam<int> {
 protected:
  static constexpr size_t kCount = 20011;

  void SetUp() override {
    DeviceHooks hooks;
    hooks.source = [](const KernelKey& key, const DeviceFacts& facts, BindingMode mode) {
      return AssembleShader(key, facts, mode);
    };
    OpenOptions options;
    options.cache_dir = SharedCacheFolder();
    const char* emulate = std::getenv("VXLA_TEST_EMULATE");
    auto emulation = ParseEmulation(emulate != nullptr ? emulate : "");
    ASSERT_TRUE(emulation.ok()) << emulation.status().message();
    options.emulate = *emulation;
    auto opened = OpenDeviceWith(GetParam(), options, hooks);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device_ = std::move(opened).value();
  }

  template <typename R, typename... A>
  void Check(const std::string& name, R (*function)(A...)) {
    auto next_seed = [seed = uint64_t{100}]() mutable { return ++seed; };
    // Braces: the operands are made in order, each from a seed of its own.
    const std::tuple<std::vector<A>...> operands{MakeValues<A>(kCount, next_seed())...};
    std::apply([&](const auto&... values) { Compare(name, function, values...); }, operands);
  }

  template <typename R, typename... A>
  void Compare(const std::string& name, R (*function)(A...), const std::vector<A>&... operands) {
    const auto got = ApplyOnDevice<R>(*device_, name, {Tag<A>()..., Tag<R>()}, kCount, operands...);
    ASSERT_EQ(got.size(), kCount) << name;
    const auto& quirks = device_->facts().quirks;
    const bool complex = name.ends_with("_c64"),
               flushes = quirks.flushes_f32_denormals || (complex && quirks.flushes_fused_denormals);
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const R want = function(operands[i]...);
      if (Same(static_cast<R>(got[i]), want)) continue;
      const bool excused = flushes && (complex || IsArithmetic(name));
      if (excused && (MayFlush(want) || (MayFlush(operands[i]) || ...))) continue;
      if (wrong++ > 2) continue;
      std::string at;
      ((at += Text(operands[i]) + " "), ...);
      ADD_FAILURE() << name << " of " << at << "is " << Text(static_cast<R>(got[i])) << " on the device, " << Text(want)
                    << " in C++";
    }
    EXPECT_EQ(wrong, 0u) << name << ": of " << kCount;
  }

  std::unique_ptr<Device> device_;
};

#define SAME(name) Check(#name, sm::name)
#define SAME_REAL(t)                                                                                                  \
  SAME(exponential_##t), SAME(exponential_minus_one_##t), SAME(log_##t), SAME(log_plus_one_##t), SAME(logistic_##t),  \
      SAME(tanh_##t), SAME(sinh_##t), SAME(cosh_##t), SAME(asinh_##t), SAME(acosh_##t), SAME(atanh_##t),              \
      SAME(sine_##t), SAME(cosine_##t), SAME(tan_##t), SAME(asin_##t), SAME(acos_##t), SAME(atan_##t), SAME(erf_##t), \
      SAME(rsqrt_##t), SAME(exp2_##t), SAME(log2_##t), SAME(erfc_##t), SAME(erf_inv_##t), SAME(lgamma_##t),           \
      SAME(digamma_##t), SAME(cbrt_##t), SAME(sqrt_##t), SAME(floor_##t), SAME(ceil_##t),                             \
      SAME(round_nearest_even_##t), SAME(round_nearest_afz_##t), SAME(sign_##t), SAME(abs_##t), SAME(negate_##t),     \
      SAME(is_finite_##t), SAME(add_##t), SAME(subtract_##t), SAME(multiply_##t), SAME(divide_##t),                   \
      SAME(remainder_##t), SAME(power_##t), SAME(atan2_##t), SAME(hypot_##t), SAME(maximum_##t), SAME(minimum_##t),   \
      SAME(clamp_##t), SAME(compare_eq_##t), SAME(compare_ne_##t), SAME(compare_lt_##t), SAME(compare_le_##t),        \
      SAME(compare_gt_##t), SAME(compare_ge_##t), SAME(compare_total_lt_##t), SAME(compare_total_le_##t)
#define SAME_COMPLEX(t)                                                                                                \
  SAME(exponential_##t), SAME(exponential_minus_one_##t), SAME(log_##t), SAME(log_plus_one_##t), SAME(logistic_##t),   \
      SAME(tanh_##t), SAME(sinh_##t), SAME(cosh_##t), SAME(asinh_##t), SAME(acosh_##t), SAME(atanh_##t),               \
      SAME(sine_##t), SAME(cosine_##t), SAME(tan_##t), SAME(asin_##t), SAME(acos_##t), SAME(atan_##t),                 \
      SAME(rsqrt_##t), SAME(sqrt_##t), SAME(cbrt_##t), SAME(sign_##t), SAME(abs_##t), SAME(negate_##t), SAME(add_##t), \
      SAME(subtract_##t), SAME(multiply_##t), SAME(divide_##t), SAME(power_##t), SAME(compare_eq_##t)
#define SAME_INTEGER(t)                                                                                          \
  SAME(add_##t), SAME(subtract_##t), SAME(multiply_##t), SAME(divide_##t), SAME(remainder_##t), SAME(power_##t), \
      SAME(mulhi_##t), SAME(maximum_##t), SAME(minimum_##t), SAME(clamp_##t), SAME(shift_left_##t),              \
      SAME(shift_right_logical_##t), SAME(shift_right_arithmetic_##t), SAME(abs_##t), SAME(sign_##t),            \
      SAME(negate_##t), SAME(not_##t), SAME(and_##t), SAME(or_##t), SAME(xor_##t), SAME(popcnt_##t),             \
      SAME(count_leading_zeros_##t), SAME(compare_lt_##t), SAME(compare_ge_##t), SAME(compare_eq_##t)
#define SAME_NARROW(t) SAME(round_##t), SAME(encode_##t), SAME(decode_##t), SAME(round_from_f64_##t)

TEST_P(SameBitsTest, F32) { SAME_REAL(f32); }
// Where f64 is emulated a driver compiles some of these for half a minute each: ctest leaves F64 and C128 out on
// SwiftShader, where EmulatedBitsTest has a few; `tools/test.sh --full suites` runs them.
TEST_P(SameBitsTest, F64) { SAME_REAL(f64); }
TEST_P(SameBitsTest, C64) { SAME_COMPLEX(c64); }
TEST_P(SameBitsTest, C128) { SAME_COMPLEX(c128); }
TEST_P(SameBitsTest, F16OffTies) {
  SAME(exponential_f16), SAME(exp2_f16), SAME(exponential_minus_one_f16), SAME(log_f16), SAME(log_plus_one_f16),
      SAME(logistic_f16);
  SAME(sinh_f16), SAME(cosh_f16), SAME(asinh_f16), SAME(acosh_f16), SAME(sine_f16), SAME(cosine_f16), SAME(tan_f16),
      SAME(acos_f16);
  SAME(atan_f16), SAME(erf_f16), SAME(erfc_f16), SAME(erf_inv_f16), SAME(lgamma_f16), SAME(digamma_f16), SAME(cbrt_f16);
}
TEST_P(SameBitsTest, PairsOfNarrowFloats) { SAME(power_f32_odd), SAME(atan2_f32_odd), SAME(hypot_f32_odd); }
TEST_P(SameBitsTest, CorrectedDivision) { SAME(corrected_divide_f32), SAME(corrected_sqrt_f32); }
TEST_P(SameBitsTest, S32) { SAME_INTEGER(i32); }
TEST_P(SameBitsTest, U32) { SAME_INTEGER(u32); }
TEST_P(SameBitsTest, S64) { SAME_INTEGER(i64); }
TEST_P(SameBitsTest, U64) { SAME_INTEGER(u64); }

TEST_P(SameBitsTest, NarrowFloats) {
  SAME_NARROW(f16), SAME_NARROW(bf16), SAME_NARROW(f8e5m2), SAME_NARROW(f8e4m3), SAME_NARROW(f8e4m3fn),
      SAME_NARROW(f8e3m4);
  SAME_NARROW(f8e4m3b11fnuz), SAME_NARROW(f8e4m3fnuz), SAME_NARROW(f8e5m2fnuz), SAME_NARROW(f8e8m0fnu),
      SAME_NARROW(f4e2m1fn), SAME_NARROW(f6e2m3fn), SAME_NARROW(f6e3m2fn);
}

TEST_P(SameBitsTest, Conversions) {
  SAME(convert_f32_i32), SAME(convert_f32_u32), SAME(convert_f32_i64), SAME(convert_f32_u64), SAME(convert_f32_f64);
  SAME(convert_f64_i32), SAME(convert_f64_u32), SAME(convert_f64_i64), SAME(convert_f64_u64), SAME(convert_f64_f32);
  SAME(convert_i32_f32), SAME(convert_u32_f32), SAME(convert_i64_f32), SAME(convert_u64_f32), SAME(convert_i32_f64);
  SAME(convert_u32_f64), SAME(convert_i64_f64), SAME(convert_u64_f64), SAME(convert_i32_i64), SAME(convert_i32_u64);
  SAME(convert_i64_i32), SAME(convert_u32_i64), SAME(convert_i64_u32), SAME(convert_f32_pred), SAME(convert_f64_pred);
  SAME(convert_i32_f32_odd), SAME(convert_u64_f32_odd), SAME(convert_c64_c128), SAME(convert_c128_c64);
  SAME(bitcast_f32_i32), SAME(bitcast_u32_f32), SAME(bitcast_f64_u64), SAME(bitcast_i64_f64);
}

INSTANTIATE_TEST_SUITE_P(All, SameBitsTest, testing::ValuesIn(DeviceIndices()), DeviceTestName);

}  // namespace same_bits_test
}  // namespace VXLA_NAMESPACE::vulkan
