// Conversions and bitcasts of the shader math against C++ casts where those are defined, and the limits where they are
// not.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "backend/cpu/twin/shader_math.h"
#include "tests/math/ulp.h"

namespace VXLA_NAMESPACE {
namespace {

namespace sm = shader_math;

template <typename Integer, typename Float>
Integer Saturated(Float x) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(x)) return 0;
  // 2^63 and 2^64 are floats; the limits are not.
  if (x >= std::ldexp(Float{1}, Limits::digits)) return Limits::max();
  if (x <= static_cast<Float>(Limits::min())) return Limits::min();
  return static_cast<Integer>(x);
}

template <typename Float>
std::vector<Float> Values() {
  std::vector<Float> values = SpecialValues<Float>();
  for (int k = 0; k < 66; ++k) {
    for (Float s : {Float{1}, Float{-1}}) {
      const Float p = s * std::ldexp(Float{1}, k);
      for (Float v : {p, std::nextafter(p, Float{0}), std::nextafter(p, 2 * p), p + Float(0.5), p - Float(0.5)})
        values.push_back(v);
    }
  }
  Points<Float> points(47);
  for (int i = 0; i < 200000; ++i) values.push_back(points.Next());
  return values;
}

TEST(ConvertTest, F32ToIntegersTruncatesAndSaturates) {
  for (float x : Values<float>()) {
    SCOPED_TRACE(x);
    ASSERT_EQ(sm::convert_f32_i32(x), Saturated<int32_t>(x));
    ASSERT_EQ(sm::convert_f32_u32(x), Saturated<uint32_t>(x));
    ASSERT_EQ(sm::convert_f32_i64(x), Saturated<int64_t>(x));
    ASSERT_EQ(sm::convert_f32_u64(x), Saturated<uint64_t>(x));
    ASSERT_EQ(sm::convert_f32_int_saturate(x, -128, 127), Saturated<int8_t>(x));
    ASSERT_EQ(sm::convert_f32_uint_saturate(x, 65535u), Saturated<uint16_t>(x));
  }
}

TEST(ConvertTest, F64ToIntegersTruncatesAndSaturates) {
  for (double x : Values<double>()) {
    SCOPED_TRACE(x);
    ASSERT_EQ(sm::convert_f64_i32(x), Saturated<int32_t>(x));
    ASSERT_EQ(sm::convert_f64_u32(x), Saturated<uint32_t>(x));
    ASSERT_EQ(sm::convert_f64_i64(x), Saturated<int64_t>(x));
    ASSERT_EQ(sm::convert_f64_u64(x), Saturated<uint64_t>(x));
    ASSERT_EQ(sm::convert_f64_int_saturate(x, -32768, 32767), Saturated<int16_t>(x));
    ASSERT_EQ(sm::convert_f64_uint_saturate(x, 255u), Saturated<uint8_t>(x));
  }
}

TEST(ConvertTest, F64ToF32RoundsOnceAndF32ToF64IsExact) {
  auto check = [](double x) {
    const float got = sm::convert_f64_f32(x), want = static_cast<float>(x);
    ASSERT_TRUE(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want) || (std::isnan(got) && std::isnan(want)))
        << x;
  };
  for (double x : Values<double>()) check(x);
  Points<float> points(53);
  for (int i = 0; i < 200000; ++i) {
    const float f = points.Next();
    const double wide = sm::convert_f32_f64(f);
    ASSERT_TRUE(std::bit_cast<uint64_t>(wide) == std::bit_cast<uint64_t>(static_cast<double>(f)) || std::isnan(f)) << f;
    if (!std::isfinite(f)) continue;
    // Midpoints between neighbouring floats, and what lies next to them.
    const double middle = (static_cast<double>(f) + static_cast<double>(std::nextafter(f, INFINITY))) / 2;
    for (double x : {middle, std::nextafter(middle, -1e300), std::nextafter(middle, 1e300)}) check(x);
  }
  check(0x1p-150);
  check(std::nextafter(0x1p-150, 1.0));
  check(0x1.fffffefffffffp127);
  check(0x1.ffffffp127);
}

TEST(ConvertTest, IntegersToFloatsRoundOnce) {
  std::mt19937_64 random(59);
  for (int i = 0; i < 300000; ++i) {
    uint64_t u = random() >> (random() % 64);
    // Runs of zeros make ties.
    if (i % 3 == 0) u &= ~((uint64_t{1} << (random() % 50)) - 1);
    if (i % 7 == 0) u += 1;
    const auto s = static_cast<int64_t>(u);
    const auto u32 = static_cast<uint32_t>(u);
    const auto s32 = static_cast<int32_t>(u32);
    ASSERT_EQ(sm::convert_u64_f32(u), static_cast<float>(u)) << u;
    ASSERT_EQ(sm::convert_i64_f32(s), static_cast<float>(s)) << s;
    ASSERT_EQ(sm::convert_u64_f64(u), static_cast<double>(u)) << u;
    ASSERT_EQ(sm::convert_i64_f64(s), static_cast<double>(s)) << s;
    ASSERT_EQ(sm::convert_u32_f32(u32), static_cast<float>(u32)) << u32;
    ASSERT_EQ(sm::convert_i32_f32(s32), static_cast<float>(s32)) << s32;
    ASSERT_EQ(sm::convert_u32_f64(u32), static_cast<double>(u32)) << u32;
    ASSERT_EQ(sm::convert_i32_f64(s32), static_cast<double>(s32)) << s32;
  }
  EXPECT_EQ(sm::convert_u64_f32(UINT64_MAX), 0x1p64f);
  EXPECT_EQ(sm::convert_i64_f64(INT64_MIN), -0x1p63);
  EXPECT_EQ(sm::convert_u32_f32(UINT32_MAX), 0x1p32f);
}

TEST(ConvertTest, IntegersToIntegersKeepTheLowBits) {
  for (int64_t x :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-5000000000}, INT64_MAX, INT64_MIN, int64_t{0x80000000}}) {
    EXPECT_EQ(sm::convert_i64_i32(x), static_cast<int32_t>(x));
    EXPECT_EQ(sm::convert_i64_u32(x), static_cast<uint32_t>(x));
    EXPECT_EQ(sm::convert_i64_u64(x), static_cast<uint64_t>(x));
    EXPECT_EQ(sm::convert_u64_i32(static_cast<uint64_t>(x)), static_cast<int32_t>(x));
    EXPECT_EQ(sm::convert_u64_i64(static_cast<uint64_t>(x)), x);
    const auto narrow = static_cast<int32_t>(x);
    EXPECT_EQ(sm::convert_i32_i64(narrow), int64_t{narrow});
    EXPECT_EQ(sm::convert_i32_u64(narrow), static_cast<uint64_t>(int64_t{narrow}));
    EXPECT_EQ(sm::convert_u32_i64(static_cast<uint32_t>(narrow)), int64_t{static_cast<uint32_t>(narrow)});
    EXPECT_EQ(sm::convert_i32_u32(narrow), static_cast<uint32_t>(narrow));
  }
}

TEST(ConvertTest, PredIsZeroOrOneAndNanIsTrue) {
  EXPECT_EQ(sm::convert_pred_f32(true), 1.0f);
  EXPECT_EQ(sm::convert_pred_i64(true), 1);
  EXPECT_EQ(sm::convert_pred_f64(false), 0.0);
  EXPECT_TRUE(sm::convert_f32_pred(NAN));
  EXPECT_TRUE(sm::convert_f64_pred(NAN));
  EXPECT_FALSE(sm::convert_f32_pred(-0.0f));
  EXPECT_FALSE(sm::convert_f64_pred(-0.0));
  EXPECT_TRUE(sm::convert_f32_pred(1e-45f));
  EXPECT_TRUE(sm::convert_i64_pred(int64_t{1} << 40));
}

TEST(ConvertTest, ComplexTakesAndGivesTheRealPart) {
  EXPECT_EQ(sm::convert_i32_c64(-3).x, -3.0f);
  EXPECT_EQ(sm::convert_i32_c64(-3).y, 0.0f);
  EXPECT_EQ(sm::convert_c64_i32(sm::vec2(2.5f, 9.0f)), 2);
  EXPECT_EQ(sm::convert_c128_c64(sm::dvec2(0.1, 1e300)).x, 0.1f);
  EXPECT_EQ(sm::convert_c128_c64(sm::dvec2(0.1, 1e300)).y, INFINITY);
  EXPECT_EQ(sm::convert_c64_c128(sm::vec2(0.1f, -0.0f)).x, static_cast<double>(0.1f));
}

TEST(BitcastTest, KeepsBits) {
  EXPECT_EQ(sm::bitcast_f32_u32(-0.0f), 0x80000000u);
  EXPECT_EQ(sm::bitcast_i32_f32(0x3f800000), 1.0f);
  EXPECT_EQ(sm::bitcast_f64_u64(-0.0), 0x8000000000000000u);
  EXPECT_EQ(sm::bitcast_f64_i64(1.0), 0x3ff0000000000000);
  EXPECT_EQ(sm::bitcast_u64_f64(1), 4.9406564584124654e-324);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
