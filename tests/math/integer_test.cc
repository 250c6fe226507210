// Integer arithmetic of the shader math against wider integers, with every pair of edge values.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "backend/cpu/twin/shader_math.h"

namespace VXLA_NAMESPACE {
namespace integer_test {

namespace sm = shader_math;
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

template <typename T>
std::vector<T> Operands() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           7,
                           31,
                           32,
                           33,
                           63,
                           64,
                           65,
                           Limits::max(),
                           T(Limits::max() - 1),
                           Limits::min(),
                           T(Limits::min() + 1),
                           T(-1),
                           T(-2),
                           T(-7),
                           T(-32)};
  std::mt19937_64 random(43);
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  return values;
}

// What the tests need of one carrier.
template <typename T>
struct Functions {
  T(*add)
  (T, T), (*subtract)(T, T), (*multiply)(T, T), (*divide)(T, T), (*remainder)(T, T), (*power)(T, T), (*mulhi)(T, T);
  T (*maximum)(T, T), (*minimum)(T, T), (*left)(T, T), (*logical)(T, T), (*arithmetic)(T, T);
  T (*abs)(T), (*sign)(T), (*negate)(T), (*invert)(T), (*popcnt)(T), (*clz)(T);
  T (*clamp)(T, T, T);
  bool (*eq)(T, T), (*ne)(T, T), (*ge)(T, T), (*gt)(T, T), (*le)(T, T), (*lt)(T, T);
};

#define FUNCTIONS(s)                                                                                                  \
  {                                                                                                                   \
    sm::add_##s, sm::subtract_##s, sm::multiply_##s, sm::divide_##s, sm::remainder_##s, sm::power_##s, sm::mulhi_##s, \
        sm::maximum_##s, sm::minimum_##s, sm::shift_left_##s, sm::shift_right_logical_##s,                            \
        sm::shift_right_arithmetic_##s, sm::abs_##s, sm::sign_##s, sm::negate_##s, sm::not_##s, sm::popcnt_##s,       \
        sm::count_leading_zeros_##s, sm::clamp_##s, sm::compare_eq_##s, sm::compare_ne_##s, sm::compare_ge_##s,       \
        sm::compare_gt_##s, sm::compare_le_##s, sm::compare_lt_##s                                                    \
  }

template <typename T>
T ExactPower(T base, T exponent) {
  if (std::is_signed_v<T> && exponent < 0)
    return base == 1 ? 1 : (base == T(-1) ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0));
  std::make_unsigned_t<T> result = 1, factor = static_cast<std::make_unsigned_t<T>>(base),
                          left = static_cast<std::make_unsigned_t<T>>(exponent);
  for (; left != 0; left >>= 1, factor *= factor) {
    if ((left & 1) != 0) result *= factor;
  }
  return static_cast<T>(result);
}

template <typename T>
void CheckBinary(const Functions<T>& f, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = sizeof(T) * 8;
  const Wide x = a, y = b;
  EXPECT_EQ(f.add(a, b), static_cast<T>(x + y));
  EXPECT_EQ(f.subtract(a, b), static_cast<T>(x - y));
  EXPECT_EQ(f.multiply(a, b), static_cast<T>(static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y)));
  EXPECT_EQ(f.divide(a, b), b == 0 ? static_cast<T>(-1) : static_cast<T>(x / y));
  EXPECT_EQ(f.remainder(a, b), b == 0 ? a : static_cast<T>(x % y));
  const T high = std::is_signed_v<T>
                     ? static_cast<T>((x * y) >> kBits)
                     : static_cast<T>((static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b)) >> kBits);
  EXPECT_EQ(f.mulhi(a, b), high);
  EXPECT_EQ(f.power(a, b), ExactPower(a, b));
  EXPECT_EQ(f.maximum(a, b), std::max(a, b));
  EXPECT_EQ(f.minimum(a, b), std::min(a, b));
  const U count = static_cast<U>(b);
  const bool inside = count < kBits;
  EXPECT_EQ(f.left(a, b), inside ? static_cast<T>(static_cast<U>(a) << count) : T(0));
  EXPECT_EQ(f.logical(a, b), inside ? static_cast<T>(static_cast<U>(a) >> count) : T(0));
  const auto as_signed = static_cast<std::make_signed_t<T>>(a);
  EXPECT_EQ(f.arithmetic(a, b), static_cast<T>(as_signed >> (inside ? count : kBits - 1)));
  EXPECT_EQ(f.eq(a, b), a == b);
  EXPECT_EQ(f.ne(a, b), a != b);
  EXPECT_EQ(f.ge(a, b), a >= b);
  EXPECT_EQ(f.gt(a, b), a > b);
  EXPECT_EQ(f.le(a, b), a <= b);
  EXPECT_EQ(f.lt(a, b), a < b);
  EXPECT_EQ(f.clamp(a, 5, b), std::min(std::max(a, T(5)), b));
}

template <typename T>
void CheckUnary(const Functions<T>& f, T a) {
  using U = std::make_unsigned_t<T>;
  const U negative = U(0) - static_cast<U>(a);
  EXPECT_EQ(f.abs(a), a < 0 ? static_cast<T>(negative) : a);
  EXPECT_EQ(f.sign(a), a < 0 ? T(-1) : T(a > 0));
  EXPECT_EQ(f.negate(a), static_cast<T>(negative));
  EXPECT_EQ(f.invert(a), static_cast<T>(~a));
  EXPECT_EQ(f.popcnt(a), static_cast<T>(std::popcount(static_cast<U>(a))));
  EXPECT_EQ(f.clz(a), static_cast<T>(std::countl_zero(static_cast<U>(a))));
}

template <typename T>
void CheckAll(const Functions<T>& f) {
  for (T a : Operands<T>()) {
    CheckUnary(f, a);
    for (T b : Operands<T>()) {
      SCOPED_TRACE(testing::Message() << a << ", " << b);
      CheckBinary(f, a, b);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(IntegerTest, S32FollowsXla) { CheckAll<int32_t>(FUNCTIONS(i32)); }
TEST(IntegerTest, U32FollowsXla) { CheckAll<uint32_t>(FUNCTIONS(u32)); }
TEST(IntegerTest, S64FollowsXla) { CheckAll<int64_t>(FUNCTIONS(i64)); }
TEST(IntegerTest, U64FollowsXla) { CheckAll<uint64_t>(FUNCTIONS(u64)); }

// Every pair of operands of an 8-bit type, against C++ on 8-bit values.
TEST(NarrowIntegerTest, S8AgreesWithInt8) {
  for (int a = -128; a < 128; ++a) {
    EXPECT_EQ(sm::count_leading_zeros_i32_width(a, 8), std::countl_zero(static_cast<uint8_t>(a)));
    EXPECT_EQ(sm::popcnt_i32_width(a, 8), std::popcount(static_cast<uint8_t>(a)));
    for (int b = -128; b < 128; ++b) {
      const bool inside = b >= 0 && b < 8;
      EXPECT_EQ(sm::wrap_s8(sm::add_i32(a, b)), static_cast<int8_t>(a + b));
      EXPECT_EQ(sm::wrap_s8(sm::multiply_i32(a, b)), static_cast<int8_t>(a * b));
      EXPECT_EQ(sm::wrap_s8(sm::divide_i32(a, b)), b == 0 ? -1 : static_cast<int8_t>(a / b));
      EXPECT_EQ(sm::wrap_s8(sm::remainder_i32(a, b)), b == 0 ? a : a % b);
      EXPECT_EQ(sm::wrap_s8(sm::shift_left_i32_width(a, b, 8)), inside ? static_cast<int8_t>(a << b) : 0);
      EXPECT_EQ(sm::wrap_s8(sm::shift_right_logical_i32_width(a, b, 8)),
                inside ? static_cast<int8_t>(static_cast<uint8_t>(a) >> b) : 0);
      EXPECT_EQ(sm::wrap_s8(sm::shift_right_arithmetic_i32_width(a, b, 8)), a >> (inside ? b : 7));
      EXPECT_EQ(sm::wrap_s8(sm::mulhi_i32_width(a, b, 8)), (a * b) >> 8);
    }
  }
}

TEST(NarrowIntegerTest, U8AgreesWithUint8) {
  for (uint32_t a = 0; a < 256; ++a) {
    EXPECT_EQ(sm::count_leading_zeros_u32_width(a, 8),
              static_cast<uint32_t>(std::countl_zero(static_cast<uint8_t>(a))));
    EXPECT_EQ(sm::wrap_u8(sm::not_u32(a)), static_cast<uint8_t>(~a));
    for (uint32_t b = 0; b < 256; ++b) {
      const bool inside = b < 8;
      EXPECT_EQ(sm::wrap_u8(sm::subtract_u32(a, b)), static_cast<uint8_t>(a - b));
      EXPECT_EQ(sm::wrap_u8(sm::divide_u32(a, b)), b == 0 ? 255 : a / b);
      EXPECT_EQ(sm::wrap_u8(sm::remainder_u32(a, b)), b == 0 ? a : a % b);
      EXPECT_EQ(sm::wrap_u8(sm::shift_left_u32_width(a, b, 8)), inside ? static_cast<uint8_t>(a << b) : 0);
      EXPECT_EQ(sm::wrap_u8(sm::shift_right_logical_u32_width(a, b, 8)), inside ? a >> b : 0);
      EXPECT_EQ(sm::wrap_u8(sm::shift_right_arithmetic_u32_width(a, b, 8)),
                static_cast<uint8_t>(static_cast<int8_t>(a) >> (inside ? b : 7)));
      EXPECT_EQ(sm::mulhi_u32_width(a, b, 8), (a * b) >> 8);
    }
  }
}

TEST(NarrowIntegerTest, WrapsToItsWidth) {
  EXPECT_EQ(sm::wrap_s4(8), -8);
  EXPECT_EQ(sm::wrap_s4(-9), 7);
  EXPECT_EQ(sm::wrap_s2(2), -2);
  EXPECT_EQ(sm::wrap_s1(1), -1);
  EXPECT_EQ(sm::wrap_s16(40000), -25536);
  EXPECT_EQ(sm::wrap_u4(17u), 1u);
  EXPECT_EQ(sm::wrap_u2(7u), 3u);
  EXPECT_EQ(sm::wrap_u1(2u), 0u);
  EXPECT_EQ(sm::wrap_u16(65537u), 1u);
}

TEST(PredTest, LogicAndComparison) {
  for (bool a : {false, true}) {
    EXPECT_EQ(sm::not_pred(a), !a);
    for (bool b : {false, true}) {
      EXPECT_EQ(sm::and_pred(a, b), a && b);
      EXPECT_EQ(sm::or_pred(a, b), a || b);
      EXPECT_EQ(sm::xor_pred(a, b), a != b);
      EXPECT_EQ(sm::maximum_pred(a, b), a || b);
      EXPECT_EQ(sm::minimum_pred(a, b), a && b);
      EXPECT_EQ(sm::compare_lt_pred(a, b), a < b);
      EXPECT_EQ(sm::compare_le_pred(a, b), a <= b);
      EXPECT_EQ(sm::compare_gt_pred(a, b), a > b);
      EXPECT_EQ(sm::compare_ge_pred(a, b), a >= b);
      EXPECT_EQ(sm::compare_eq_pred(a, b), a == b);
      EXPECT_EQ(sm::compare_ne_pred(a, b), a != b);
    }
  }
}

}  // namespace integer_test
}  // namespace VXLA_NAMESPACE
