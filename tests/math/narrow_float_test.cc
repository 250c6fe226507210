// Narrow floats of the shader math against core/data/float_formats: every encoding, every midpoint between two, and random
// f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "backend/cpu/twin/shader_math.h"
#include "core/data/float_formats.h"
#include "tests/math/ulp.h"

namespace VXLA_NAMESPACE {
namespace narrow_float_test {

namespace sm = shader_math;

struct Format {
  ElementType type;
  float (*round)(float);
  float (*decode)(uint32_t);
  uint32_t (*encode)(float);
  float (*round_from_f64)(double);
};

#define FORMAT(type, name) \
  { ElementType::type, sm::round_##name, sm::decode_##name, sm::encode_##name, sm::round_from_f64_##name }
const Format kFormats[] = {
    FORMAT(kF16, f16),
    FORMAT(kBF16, bf16),
    FORMAT(kF8E5M2, f8e5m2),
    FORMAT(kF8E4M3, f8e4m3),
    FORMAT(kF8E4M3FN, f8e4m3fn),
    FORMAT(kF8E3M4, f8e3m4),
    FORMAT(kF8E4M3B11FNUZ, f8e4m3b11fnuz),
    FORMAT(kF8E4M3FNUZ, f8e4m3fnuz),
    FORMAT(kF8E5M2FNUZ, f8e5m2fnuz),
    FORMAT(kF8E8M0FNU, f8e8m0fnu),
    FORMAT(kF4E2M1FN, f4e2m1fn),
    FORMAT(kF6E2M3FN, f6e2m3fn),
    FORMAT(kF6E3M2FN, f6e3m2fn),
};
#undef FORMAT

// Equal bits, or NaN on both sides.
bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// A NaN's payload lies below the double's quiet bit, as core/data/float_formats.h's decoding has it.
double Widen(float x) {
  const uint64_t bits = std::bit_cast<uint32_t>(x);
  if (!std::isnan(x)) return x;
  return std::bit_cast<double>((bits >> 31 << 63) | (uint64_t{0x7ff8} << 48) | (bits & 0x7fffff) << 28);
}

class NarrowFloatTest : public testing::TestWithParam<Format> {
 protected:
  const Format& f() const { return GetParam(); }
  uint32_t Encodings() const { return uint32_t{1} << BitWidth(f().type); }
  float Exact(double x) const {
    return static_cast<float>(DecodeNarrowFloat(f().type, EncodeNarrowFloat(f().type, x)));
  }
};

TEST_P(NarrowFloatTest, DecodesEveryEncodingAndEncodesItBack) {
  for (uint32_t bits = 0; bits < Encodings(); ++bits) {
    const float value = static_cast<float>(DecodeNarrowFloat(f().type, bits));
    EXPECT_TRUE(Same(f().decode(bits), value)) << bits << ": " << f().decode(bits) << " instead of " << value;
    EXPECT_TRUE(Same(f().round(value), Exact(value))) << value;
    EXPECT_EQ(f().encode(f().decode(bits)), bits) << value;
    EXPECT_EQ(EncodeNarrowFloat(f().type, DecodeNarrowFloat(f().type, bits)), bits) << value;
  }
}

TEST_P(NarrowFloatTest, RoundsNextToEveryMidpoint) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < Encodings(); ++bits) {
    const double value = DecodeNarrowFloat(f().type, bits);
    if (std::isfinite(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.push_back(values.back() * 2);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double middle = (values[i] + values[i + 1]) / 2;
    for (double d : {middle, std::nextafter(middle, -1e300), std::nextafter(middle, 1e300)}) {
      EXPECT_TRUE(Same(f().round_from_f64(d), Exact(d)))
          << d << ": " << f().round_from_f64(d) << " instead of " << Exact(d);
    }
    const float m = static_cast<float>(middle);
    for (float x : {m, std::nextafter(m, -INFINITY), std::nextafter(m, INFINITY)}) {
      EXPECT_TRUE(Same(f().round(x), Exact(x))) << x << ": " << f().round(x) << " instead of " << Exact(x);
      EXPECT_EQ(f().encode(x), EncodeNarrowFloat(f().type, x)) << x;
    }
  }
}

TEST_P(NarrowFloatTest, RoundsRandomAndSpecialValues) {
  Points<float> points(31);
  std::vector<float> values = SpecialValues<float>();
  for (int i = 0; i < 200000; ++i) values.push_back(points.Next());
  for (float x : values) {
    EXPECT_TRUE(Same(f().round(x), Exact(x))) << x << ": " << f().round(x) << " instead of " << Exact(x);
    EXPECT_EQ(f().encode(x), EncodeNarrowFloat(f().type, Widen(x))) << x;
  }
  Points<double> doubles(37);
  std::vector<double> wide = SpecialValues<double>();
  for (int i = 0; i < 100000; ++i) wide.push_back(doubles.Next());
  for (double x : wide) EXPECT_TRUE(Same(f().round_from_f64(x), Exact(x))) << x;
}

TEST_P(NarrowFloatTest, RoundsWideIntegersOnce) {
  std::mt19937_64 random(41);
  for (int i = 0; i < 50000; ++i) {
    const uint64_t u = random() >> (random() % 64);
    // Next to a midpoint, where rounding twice shows.
    const uint64_t near = u & ~((uint64_t{1} << (random() % 48)) - 1);
    for (uint64_t v : {u, near, near + 1, near - 1}) {
      const uint32_t low = static_cast<uint32_t>(v);
      EXPECT_TRUE(Same(f().round(sm::convert_u32_f32_odd(low)), Exact(low))) << low;
      EXPECT_TRUE(Same(f().round(sm::convert_i32_f32_odd(static_cast<int32_t>(low))), Exact(static_cast<int32_t>(low))))
          << low;
      // A double holds these: at most 53 bits.
      const uint64_t w = v & ((uint64_t{1} << 53) - 1);
      EXPECT_TRUE(Same(f().round(sm::convert_u64_f32_odd(w)), Exact(static_cast<double>(w)))) << w;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFloatTest, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(ElementTypeName(info.param.type)); });

}  // namespace narrow_float_test
}  // namespace VXLA_NAMESPACE
