// The emulated 64-bit types on each Vulkan device present (also where the device has its own) against the same text
// compiled as C++: equal bits, NaN included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "backend/vulkan/shader/shader_source.h"
#include "tests/math/emulated_values.h"
#include "tests/math_vulkan/function_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

template <typename T>
constexpr const char* Tag() {
  if (std::is_same_v<T, float>) return "f32";
  if (std::is_same_v<T, emulated::f64_t>) return "f64";
  if (std::is_same_v<T, int32_t>) return "i32";
  if (std::is_same_v<T, uint32_t> || std::is_same_v<T, bool>) return "u32";
  if (std::is_same_v<T, emulated::i64_t>) return "i64";
  if (std::is_same_v<T, emulated::u64_t>) return "u64";
  return "c128";
}

// What Make knows how to make for a type.
template <typename T>
struct NativeOf {
  using Type = T;
};
template <>
struct NativeOf<emulated::f64_t> {
  using Type = double;
};
template <>
struct NativeOf<emulated::i64_t> {
  using Type = int64_t;
};
template <>
struct NativeOf<emulated::u64_t> {
  using Type = uint64_t;
};
template <>
struct NativeOf<emulated::c128_t> {
  using Type = native::dvec2;
};

template <typename T>
std::string Hex(const T& value) {
  uint32_t words[4] = {};
  std::memcpy(words, &value, sizeof(T));
  std::string text = "0x";
  for (size_t i = sizeof(T) / 4; i-- > 0;) text += fmt::format("{:08x}", words[i]);
  return text;
}

class EmulatedBitsTest : public testing::TestWithParam<int> {
 protected:
  static constexpr size_t kCount = 20011;

  void SetUp() override {
    DeviceHooks hooks;
    hooks.source = [](const KernelKey& key, const DeviceFacts& facts, BindingMode mode) {
      DeviceFacts poor = facts;
      poor.int64 = poor.float64 = false;
      return AssembleShader(key, poor, mode);
    };
    OpenOptions options;
    options.cache_dir = SharedCacheFolder();
    auto opened = OpenDeviceWith(GetParam(), options, hooks);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device_ = std::move(opened).value();
  }

  template <typename T>
  static std::vector<T> Operands(uint64_t seed) {
    Words words(seed);
    std::vector<T> values(kCount);
    for (T& v : values) v = Pass<T>(Make<typename NativeOf<T>::Type>(words));
    return values;
  }

  template <typename R, typename... A>
  void Check(const std::string& name, R (*function)(A...)) {
    auto next_seed = [seed = uint64_t{200}]() mutable { return seed++; };
    const std::tuple<std::vector<A>...> operands{Operands<A>(next_seed())...};
    std::apply([&](const auto&... values) { Compare(name, function, values...); }, operands);
  }

  template <typename R, typename... A>
  void Compare(const std::string& name, R (*function)(A...), const std::vector<A>&... operands) {
    const auto got = ApplyOnDevice<R>(*device_, name, {Tag<A>()..., Tag<R>()}, kCount, operands...);
    ASSERT_EQ(got.size(), kCount) << name;
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const StoredAs<R> want = function(operands[i]...);
      if (std::memcmp(&got[i], &want, sizeof(want)) == 0) continue;
      if constexpr (std::is_same_v<R, float>) {
        if (std::isnan(got[i]) && std::isnan(want)) continue;
      }
      if (wrong++ > 2) continue;
      std::string at;
      ((at += Hex(operands[i]) + " "), ...);
      ADD_FAILURE() << name << " of " << at << "is " << Hex(got[i]) << " on the device, " << Hex(want) << " in C++";
    }
    EXPECT_EQ(wrong, 0u) << name << ": of " << kCount;
  }

  std::unique_ptr<Device> device_;
};

#define SAME(name) Check(#name, emulated::name)

TEST_P(EmulatedBitsTest, F64Arithmetic) {
  SAME(add_f64), SAME(subtract_f64), SAME(multiply_f64), SAME(divide_f64), SAME(sqrt_f64), SAME(remainder_f64);
  SAME(floor_f64), SAME(ceil_f64), SAME(round_nearest_even_f64), SAME(round_nearest_afz_f64), SAME(negate_f64),
      SAME(sign_f64);
  SAME(maximum_f64), SAME(minimum_f64), SAME(compare_lt_f64), SAME(compare_le_f64), SAME(compare_eq_f64),
      SAME(compare_ne_f64);
  SAME(compare_total_lt_f64), SAME(is_finite_f64);
}
TEST_P(EmulatedBitsTest, I64) {
  SAME(add_i64), SAME(subtract_i64), SAME(multiply_i64), SAME(divide_i64), SAME(remainder_i64), SAME(mulhi_i64),
      SAME(power_i64);
  SAME(negate_i64), SAME(abs_i64), SAME(sign_i64), SAME(maximum_i64), SAME(minimum_i64), SAME(and_i64), SAME(not_i64);
  SAME(popcnt_i64), SAME(count_leading_zeros_i64), SAME(shift_left_i64), SAME(shift_right_logical_i64);
  SAME(shift_right_arithmetic_i64), SAME(compare_lt_i64), SAME(compare_eq_i64), SAME(compare_ge_i64);
}
TEST_P(EmulatedBitsTest, U64) {
  SAME(add_u64), SAME(multiply_u64), SAME(divide_u64), SAME(remainder_u64), SAME(mulhi_u64), SAME(power_u64),
      SAME(maximum_u64);
  SAME(shift_left_u64), SAME(shift_right_arithmetic_u64), SAME(compare_lt_u64), SAME(compare_ge_u64),
      SAME(count_leading_zeros_u64);
}
TEST_P(EmulatedBitsTest, Conversions) {
  SAME(convert_f32_f64), SAME(convert_f64_f32), SAME(convert_f64_f32_odd), SAME(convert_f64_i32), SAME(convert_f64_u32);
  SAME(convert_f64_i64), SAME(convert_f64_u64), SAME(convert_i64_f64), SAME(convert_u64_f64), SAME(convert_i32_f64);
  SAME(convert_u32_f64), SAME(convert_f32_i64), SAME(convert_f32_u64), SAME(convert_i64_f32), SAME(convert_u64_f32);
  SAME(convert_i32_i64), SAME(convert_i64_i32), SAME(bitcast_f64_i64), SAME(round_from_f64_f16), SAME(convert_f64_pred);
}
// A few of each kind: a kernel of emulated functions takes a driver seconds to build.
TEST_P(EmulatedBitsTest, F64Functions) {
  SAME(exponential_f64), SAME(log_f64), SAME(tanh_f64), SAME(sine_f64), SAME(rsqrt_f64), SAME(cbrt_f64),
      SAME(hypot_f64);
}
TEST_P(EmulatedBitsTest, C128) { SAME(add_c128), SAME(multiply_c128), SAME(divide_c128), SAME(sqrt_c128); }

INSTANTIATE_TEST_SUITE_P(All, EmulatedBitsTest, testing::ValuesIn(DeviceIndices()), DeviceTestName);

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
#undef SAME
