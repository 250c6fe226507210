// What each part of a tolerance allows, and where the worst elements lie.
#include "core/numerics/literal_compare.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

Literal Floats(const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}), values);
}

int64_t Mismatches(const std::vector<float>& actual, const std::vector<float>& expected, const Tolerance& tolerance) {
  return Compare(Floats(actual), Floats(expected), tolerance).mismatches;
}

// Beside an infinity the other part is nothing, where the distance between numbers counts; else it is a number as any.
TEST(LiteralCompareTest, APartBesideAnInfinityIsSmall) {
  const auto number = [](double re, double im) {
    Literal made(Shape(ElementType::kC64, {}));
    made.SetComplex(0, {re, im});
    return made;
  };
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Tolerance by_distance;
  by_distance.norm_ulp = 1;
  const Literal expected = number(-9e34, infinity);
  EXPECT_TRUE(Compare(number(0, infinity), expected, by_distance).agrees());
  EXPECT_TRUE(Compare(number(0, infinity), expected, {1e-5, 0, 0}).agrees());
  EXPECT_FALSE(Compare(number(0, infinity), expected, {}).agrees());
  for (const double part : {-infinity, 3e38, nan})
    EXPECT_FALSE(Compare(number(-9e34, part), expected, by_distance).agrees()) << part;
  EXPECT_FALSE(Compare(number(nan, infinity), expected, by_distance).agrees());
  EXPECT_FALSE(Compare(number(-infinity, infinity), expected, by_distance).agrees());
}

TEST(LiteralCompareTest, WithoutAToleranceAnyDifferenceIsOne) {
  EXPECT_EQ(Mismatches({1, 2}, {1, 2}, {}), 0);
  EXPECT_EQ(Mismatches({1, 2}, {1, 2.0000002f}, {}), 1);
}

TEST(LiteralCompareTest, TheAbsoluteToleranceIsTheSameAtEveryMagnitude) {
  EXPECT_EQ(Mismatches({0.5f, 1000.5f}, {0, 1000}, {.atol = 0.5}), 0);
  EXPECT_EQ(Mismatches({0.5f, 1000.75f}, {0, 1000}, {.atol = 0.5}), 1);
}

TEST(LiteralCompareTest, TheRelativeToleranceGrowsWithWhatIsExpected) {
  EXPECT_EQ(Mismatches({1010, -1010}, {1000, -1000}, {.rtol = 0.01}), 0);
  EXPECT_EQ(Mismatches({1000}, {990}, {.rtol = 0.01}), 1) << "of the expected value, not of the other one";
  EXPECT_EQ(Mismatches({1e-30f}, {0}, {.rtol = 0.01}), 1);
}

TEST(LiteralCompareTest, BothTogetherAddUp) {
  EXPECT_EQ(Mismatches({1012}, {1000}, {.rtol = 0.01, .atol = 2}), 0);
  EXPECT_EQ(Mismatches({1013}, {1000}, {.rtol = 0.01, .atol = 2}), 1);
}

TEST(LiteralCompareTest, UnitsInTheLastPlaceAreAnotherWayToAgree) {
  const float next = 1 + std::numeric_limits<float>::epsilon();
  EXPECT_EQ(Mismatches({next}, {1}, {.ulp = 1}), 0);
  EXPECT_EQ(Mismatches({next + std::numeric_limits<float>::epsilon()}, {1}, {.ulp = 1}), 1);
}

// Next to 0 a unit is the least number, not that of 1.
TEST(LiteralCompareTest, UnitsOfZeroAreTheLeastNumbers) {
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(UlpDistance(ElementType::kF32, -3 * least, 0), 3);
  EXPECT_EQ(UlpDistance(ElementType::kF64, 2 * std::numeric_limits<double>::denorm_min(), 0), 2);
  EXPECT_EQ(Mismatches({least}, {0}, {.ulp = 1}), 0);
  EXPECT_EQ(Mismatches({1e-30f}, {0}, {.ulp = 1e9}), 1);
}

TEST(LiteralCompareTest, WhatADeviceCannotKeepAgreesWithZero) {
  EXPECT_EQ(Mismatches({0, 1e-40f}, {1e-40f, 0}, {.least = 1.2e-38}), 0);
  EXPECT_EQ(Mismatches({0}, {1e-37f}, {.least = 1.2e-38}), 1);
}

TEST(LiteralCompareTest, NanAgreesWithNanAndInfinitiesByTheirSigns) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tolerance wide{.rtol = 1, .atol = 1e30, .ulp = 1e9};
  EXPECT_EQ(Mismatches({nan, infinity, -infinity}, {nan, infinity, -infinity}, {}), 0);
  const Comparison comparison = Compare(Floats({nan, 1, infinity, 1}), Floats({1, nan, -infinity, infinity}), wide);
  EXPECT_EQ(comparison.mismatches, 4) << "no tolerance allows these";
  EXPECT_EQ(comparison.nan_mismatches, 2);
  EXPECT_EQ(comparison.infinity_mismatches, 2);
}

TEST(LiteralCompareTest, ASumMayBeOffByAShareOfItsTermsMagnitudes) {
  const Literal magnitudes = Floats({1000, 10});
  const Tolerance tolerance{.magnitudes = &magnitudes, .magnitude_factor = 0.001};
  EXPECT_EQ(Mismatches({0.9f, 0.009f}, {0, 0}, tolerance), 0);
  EXPECT_EQ(Mismatches({0.9f, 0.9f}, {0, 0}, tolerance), 1);
}

TEST(LiteralCompareTest, IntegersAgreeAsNumbersDo) {
  const auto integers = [](const std::vector<int32_t>& values) {
    return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {static_cast<int64_t>(values.size())}), values);
  };
  EXPECT_EQ(Compare(integers({1, 2, 3}), integers({1, 2, 4}), {}).mismatches, 1);
}

TEST(LiteralCompareTest, TheWorstElementsAreNamed) {
  const Shape shape(ElementType::kF32, {2, 2});
  const Literal actual = Literal::FromVector<float>(shape, std::vector<float>{1, 2, 3, 5});
  const Literal expected = Literal::FromVector<float>(shape, std::vector<float>{1, 2.5f, 3, 9});
  const Comparison comparison = Compare(actual, expected, {});
  ASSERT_EQ(comparison.worst.size(), 2u);
  EXPECT_EQ(comparison.worst[0].where, "1,1");
  EXPECT_EQ(comparison.worst[1].where, "0,1");
  EXPECT_EQ(comparison.max_abs, 4);
  EXPECT_EQ(comparison.elements, 4);
}

TEST(LiteralCompareTest, ShapesMustMatch) {
  const Comparison comparison = Compare(Floats({1, 2}), Floats({1}), {});
  EXPECT_FALSE(comparison.shapes_match);
  EXPECT_FALSE(comparison.agrees());
}

}  // namespace
}  // namespace VXLA_NAMESPACE
