// Narrow floats: every encoding decodes and encodes back, every pair of neighbours rounds as it must, and the ends of
// the range are those of ml_dtypes.
#include "core/data/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class NarrowFormatTest : public testing::TestWithParam<ElementType> {
 protected:
  ElementType type() const { return GetParam(); }
  uint32_t encodings() const { return uint32_t{1} << BitWidth(type()); }
  double Decode(uint32_t bits) const { return DecodeNarrowFloat(type(), bits); }
  uint32_t Encode(double value) const { return EncodeNarrowFloat(type(), value); }
  bool exponent_only() const { return FormatOf(type()).specials == FloatSpecials::kExponent; }
};

TEST_P(NarrowFormatTest, EveryEncodingRoundTrips) {
  for (uint32_t bits = 0; bits < encodings(); ++bits) {
    const double value = Decode(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Decode(Encode(value)))) << bits;
    } else {
      EXPECT_EQ(Encode(value), bits) << value;
    }
  }
}

TEST_P(NarrowFormatTest, NeighboursRoundToNearestTiesToEven) {
  for (uint32_t bits = 0; bits + 1 < encodings(); ++bits) {
    const double low = Decode(bits);
    const double high = Decode(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high) || !(low < high)) continue;  // the positive half
    const double middle = low + (high - low) / 2;
    EXPECT_EQ(Encode(middle), exponent_only() || (bits & 1) != 0 ? bits + 1 : bits) << middle;
    EXPECT_EQ(Encode(std::nextafter(middle, 0.0)), bits) << middle;
    EXPECT_EQ(Encode(std::nextafter(middle, kInfinity)), bits + 1) << middle;
    if (exponent_only()) continue;
    const uint32_t sign = encodings() / 2;
    const bool no_negative_zero = FormatOf(type()).specials == FloatSpecials::kUnsignedZero && bits == 0;
    EXPECT_EQ(Encode(-std::nextafter(middle, 0.0)), no_negative_zero ? 0 : sign | bits) << middle;
    EXPECT_EQ(Encode(-std::nextafter(middle, kInfinity)), sign | (bits + 1)) << middle;
  }
}

TEST_P(NarrowFormatTest, OverflowFollowsTheFormat) {
  const double max = MaxFinite(type());
  // The next value that the format would have, were its exponent unbounded, and the tie on the way there.
  const double next = max + (max - Decode(Encode(max) - 1)) * (exponent_only() ? 2 : 1);
  const double tie = max + (next - max) / 2;
  EXPECT_EQ(Decode(Encode(std::nextafter(tie, 0.0))), max);
  for (const double value : {std::nextafter(tie, kInfinity), 2 * next, 1e300, kInfinity}) {
    const double stored = Decode(Encode(value));
    switch (FormatOf(type()).specials) {
      case FloatSpecials::kIeee:
        EXPECT_EQ(stored, kInfinity) << value;
        EXPECT_EQ(Decode(Encode(-value)), -kInfinity) << value;
        break;
      case FloatSpecials::kFinite:
        EXPECT_EQ(stored, max) << value;
        EXPECT_EQ(Decode(Encode(-value)), -max) << value;
        break;
      default:
        EXPECT_TRUE(std::isnan(stored)) << value;
    }
  }
}

TEST_P(NarrowFormatTest, ZerosAndTinyValues) {
  if (exponent_only()) {
    // No zero and no negative values: NaN; what is positive and tiny becomes the least value.
    for (const double value : {0.0, -0.0, -1e-300}) EXPECT_TRUE(std::isnan(Decode(Encode(value)))) << value;
    EXPECT_EQ(Encode(1e-300), 0u);
    EXPECT_EQ(Decode(0), 0x1p-127);
    return;
  }
  const bool unsigned_zero = FormatOf(type()).specials == FloatSpecials::kUnsignedZero;
  const uint32_t negative_zero = unsigned_zero ? 0 : encodings() / 2;
  EXPECT_EQ(Encode(0.0), 0u);
  EXPECT_EQ(Encode(-0.0), negative_zero);
  EXPECT_EQ(Encode(1e-300), 0u);
  EXPECT_EQ(Encode(-1e-300), negative_zero);
  EXPECT_EQ(Encode(std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(Encode(Decode(1)), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFormatTest,
                         testing::Values(ElementType::kF4E2M1FN, ElementType::kF6E2M3FN, ElementType::kF6E3M2FN,
                                         ElementType::kF8E3M4, ElementType::kF8E4M3, ElementType::kF8E4M3FN,
                                         ElementType::kF8E4M3B11FNUZ, ElementType::kF8E4M3FNUZ, ElementType::kF8E5M2,
                                         ElementType::kF8E5M2FNUZ, ElementType::kF8E8M0FNU, ElementType::kF16,
                                         ElementType::kBF16),
                         [](const auto& info) { return std::string(ElementTypeName(info.param)); });

TEST(FloatFormatsTest, LargestValues) {
  const std::pair<ElementType, double> expected[] = {
      {ElementType::kF6E2M3FN, 7.5},     {ElementType::kF6E3M2FN, 28},       {ElementType::kF4E2M1FN, 6},
      {ElementType::kF8E3M4, 15.5},      {ElementType::kF8E4M3, 240},        {ElementType::kF8E4M3FN, 448},
      {ElementType::kF8E4M3B11FNUZ, 30}, {ElementType::kF8E4M3FNUZ, 240},    {ElementType::kF8E5M2, 57344},
      {ElementType::kF8E5M2FNUZ, 57344}, {ElementType::kF16, 65504},         {ElementType::kF8E8M0FNU, 0x1p127},
      {ElementType::kBF16, 0x1.FEp127},  {ElementType::kF32, 0x1.FFFFFEp127}};
  for (const auto& [type, max] : expected) EXPECT_EQ(MaxFinite(type), max) << ElementTypeName(type);
  EXPECT_TRUE(HasInfinity(ElementType::kF8E4M3));
  EXPECT_FALSE(HasInfinity(ElementType::kF8E4M3FN));
}

TEST(FloatFormatsTest, NanEncodings) {
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF16, kNan), 0x7e00u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF16, -kNan), 0xfe00u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kBF16, kNan), 0x7fc0u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E5M2, kNan), 0x7eu);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E4M3FN, kNan), 0x7fu);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E4M3FNUZ, kNan), 0x80u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E4M3FNUZ, -kNan), 0x80u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E8M0FNU, kNan), 0xffu);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF4E2M1FN, kNan), 0x8u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF6E2M3FN, kNan), 0x20u);
}

TEST(FloatFormatsTest, ExponentOnlyFormatHasNeitherZeroNorSign) {
  for (const double value : {0.0, -0.0, -1.0, -1e-300, kInfinity, -kInfinity}) {
    EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E8M0FNU, value), 0xffu) << value;
  }
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E8M0FNU, 1e-300), 0u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E8M0FNU, 1.0), 127u);
  EXPECT_EQ(EncodeNarrowFloat(ElementType::kF8E8M0FNU, 1.5), 128u);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
