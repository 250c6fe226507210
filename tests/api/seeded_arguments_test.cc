// Seeded arguments: the same values everywhere, and of each kind what it says.
#include "api/verify/seeded_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE::testing::seeded_arguments_test {
namespace {

using ::testing::ElementsAre;

std::vector<ElementType> Types(bool (*wanted)(ElementType)) {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) {
    if (wanted(static_cast<ElementType>(t))) types.push_back(static_cast<ElementType>(t));
  }
  return types;
}

std::vector<double> Doubles(ElementType type, ArgumentFill fill, int64_t count, uint64_t seed = 0) {
  const Literal literal = RandomLiteral(Shape(type, {count}), seed, 0, fill);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(literal.GetDouble(i));
  return values;
}

std::vector<int64_t> Integers(ElementType type, ArgumentFill fill, int64_t count, uint64_t seed = 0) {
  const Literal literal = RandomLiteral(Shape(type, {count}), seed, 0, fill);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(literal.GetInt(i));
  return values;
}

TEST(SeededArgumentsTest, FillsHaveNames) {
  for (const ArgumentFill fill : {ArgumentFill::kSmall, ArgumentFill::kFullRange, ArgumentFill::kSpecial})
    EXPECT_EQ(ParseFill(FillName(fill)), fill);
  EXPECT_EQ(FillName(ArgumentFill::kFullRange), "full-range");
  EXPECT_EQ(ParseFill("full"), std::nullopt);
}

TEST(SeededArgumentsTest, ArraysAreAFunctionOfSeedNumberAndFill) {
  for (const ElementType type : Types(IsArrayElement)) {
    const Shape shape(type, {1000});
    for (const ArgumentFill fill : {ArgumentFill::kSmall, ArgumentFill::kFullRange, ArgumentFill::kSpecial}) {
      const Literal once = RandomLiteral(shape, 5, 1, fill);
      const auto same = [](const Literal& a, const Literal& b) { return std::ranges::equal(a.bytes(), b.bytes()); };
      EXPECT_TRUE(same(once, RandomLiteral(shape, 5, 1, fill))) << ElementTypeName(type);
      // A shorter array holds the first elements of a longer one.
      const Literal start = RandomLiteral(Shape(type, {40}), 5, 1, fill);
      EXPECT_TRUE(std::ranges::equal(start.bytes(), once.bytes().first(start.bytes().size()))) << ElementTypeName(type);
      if (type == ElementType::kS1 && fill == ArgumentFill::kSmall) continue;  // 0 is all that it has from 0 to 7
      EXPECT_FALSE(same(once, RandomLiteral(shape, 6, 1, fill))) << ElementTypeName(type);
      EXPECT_FALSE(same(once, RandomLiteral(shape, 5, 2, fill))) << ElementTypeName(type);
    }
  }
}

TEST(SeededArgumentsTest, SmallIntegersAreFromZeroToSeven) {
  for (const ElementType type : Types(IsInteger)) {
    const std::vector<int64_t> values = Integers(type, ArgumentFill::kSmall, 1000);
    const int64_t most =
        IsSigned(type) ? MaxSigned(type) : static_cast<int64_t>(std::min<uint64_t>(MaxUnsigned(type), 7));
    EXPECT_EQ(*std::ranges::min_element(values), 0) << ElementTypeName(type);
    EXPECT_EQ(*std::ranges::max_element(values), std::min<int64_t>(most, 7)) << ElementTypeName(type);
  }
}

TEST(SeededArgumentsTest, FullRangeIntegersAreOfTheirWholeType) {
  for (const ElementType type : Types(IsInteger)) {
    const std::vector<int64_t> values = Integers(type, ArgumentFill::kFullRange, 4096);
    if (BitWidth(type) <= 8) {
      EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()).size(), size_t{1} << BitWidth(type))
          << ElementTypeName(type);
      continue;
    }
    // Each bit is set in about half of them.
    for (int bit = 0; bit < BitWidth(type); ++bit) {
      const auto set = std::ranges::count_if(values, [&](int64_t value) { return (value >> bit & 1) != 0; });
      EXPECT_NEAR(static_cast<double>(set), 2048, 200) << ElementTypeName(type) << " bit " << bit;
    }
    if (!IsSigned(type)) continue;
    const auto negative = std::ranges::count_if(values, [](int64_t value) { return value < 0; });
    EXPECT_NEAR(static_cast<double>(negative), 2048, 200) << ElementTypeName(type);
  }
}

TEST(SeededArgumentsTest, FullRangeFloatsAreFiniteOfEveryMagnitudeAndBothSigns) {
  for (const ElementType type : Types(IsFloating)) {
    std::set<int> exponents;
    bool negative = false, positive = false;
    for (const double value : Doubles(type, ArgumentFill::kFullRange, 1 << 16)) {
      ASSERT_TRUE(std::isfinite(value)) << ElementTypeName(type);
      if (value != 0) exponents.insert(std::ilogb(value));
      negative |= value < 0;
      positive |= value > 0;
    }
    EXPECT_TRUE(positive) << ElementTypeName(type);
    EXPECT_EQ(negative, type != ElementType::kF8E8M0FNU) << ElementTypeName(type);
    const FloatFormat& format = FormatOf(type);
    EXPECT_EQ(*exponents.rbegin(), std::ilogb(MaxFinite(type))) << ElementTypeName(type);
    EXPECT_LE(*exponents.begin(), 1 - format.bias) << ElementTypeName(type);
    const int normal = std::ilogb(MaxFinite(type)) + format.bias;  // exponents of normal numbers
    EXPECT_GE(std::ssize(exponents), normal) << ElementTypeName(type);
  }
}

TEST(SeededArgumentsTest, SpecialIntegersAreTheirExtremesAmongOthers) {
  for (const ElementType type : Types(IsInteger)) {
    // From the first block on.
    const std::vector<int64_t> values = Integers(type, ArgumentFill::kSpecial, 32, 9);
    const std::set<int64_t> distinct(values.begin(), values.end());
    if (IsSigned(type)) {
      for (const int64_t value : {MinSigned(type), MaxSigned(type), int64_t{0}, int64_t{-1}})
        EXPECT_TRUE(distinct.contains(value)) << ElementTypeName(type) << " " << value;
    } else {
      EXPECT_TRUE(distinct.contains(0)) << ElementTypeName(type);
      EXPECT_TRUE(distinct.contains(static_cast<int64_t>(MaxUnsigned(type)))) << ElementTypeName(type);
    }
    if (BitWidth(type) <= 4) continue;
    EXPECT_GT(distinct.size(), 10u) << ElementTypeName(type);
  }
}

struct Classes {
  int nan = 0, infinite[2] = {}, zero[2] = {}, largest[2] = {}, least_normal[2] = {}, subnormal[2] = {}, ordinary = 0;
};

Classes ClassesOf(ElementType type, const std::vector<double>& values) {
  Classes classes;
  const double least = std::ldexp(1.0, 1 - FormatOf(type).bias);
  for (const double value : values) {
    const int sign = std::signbit(value) ? 1 : 0;
    if (std::isnan(value)) {
      ++classes.nan;
    } else if (std::isinf(value)) {
      ++classes.infinite[sign];
    } else if (value == 0) {
      ++classes.zero[sign];
    } else if (std::fabs(value) == MaxFinite(type)) {
      ++classes.largest[sign];
    } else if (std::fabs(value) == least) {
      ++classes.least_normal[sign];
    } else if (std::fabs(value) < least) {
      ++classes.subnormal[sign];
    } else {
      ++classes.ordinary;
    }
  }
  return classes;
}

TEST(SeededArgumentsTest, SpecialFloatsAreOfEveryClassThatTheTypeHasInEach32Elements) {
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16, ElementType::kF32, ElementType::kF64,
                                 ElementType::kF8E5M2, ElementType::kF8E4M3}) {
    const std::vector<double> values = Doubles(type, ArgumentFill::kSpecial, 320, 3);
    for (size_t block = 0; block < 10; ++block) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(32 * block);
      const Classes c = ClassesOf(type, {begin, begin + 32});
      EXPECT_GE(c.nan, 1) << ElementTypeName(type);
      for (int sign = 0; sign < 2; ++sign) {
        EXPECT_GE(c.infinite[sign], 1) << ElementTypeName(type);
        EXPECT_GE(c.zero[sign], 1) << ElementTypeName(type);
        EXPECT_GE(c.largest[sign], 1) << ElementTypeName(type);
        EXPECT_GE(c.least_normal[sign], 1) << ElementTypeName(type);
        EXPECT_GE(c.subnormal[sign], 2) << ElementTypeName(type);
      }
      EXPECT_GE(c.ordinary, 8) << ElementTypeName(type);
    }
  }
}

TEST(SeededArgumentsTest, SpecialFloatsAreNoneThatTheTypeLacks) {
  for (const ElementType type : Types(IsFloating)) {
    const Classes c = ClassesOf(type, Doubles(type, ArgumentFill::kSpecial, 320));
    const FloatSpecials kind = FormatOf(type).specials;
    const bool has_infinity = HasInfinity(type), has_sign = kind != FloatSpecials::kExponent;
    EXPECT_EQ(c.infinite[0] > 0, has_infinity) << ElementTypeName(type);
    EXPECT_EQ(c.infinite[1] > 0, has_infinity) << ElementTypeName(type);
    EXPECT_EQ(c.nan > 0, kind != FloatSpecials::kFinite) << ElementTypeName(type);
    EXPECT_EQ(c.zero[0] > 0, has_sign) << ElementTypeName(type);
    EXPECT_EQ(c.zero[1] > 0, has_sign && kind != FloatSpecials::kUnsignedZero) << ElementTypeName(type);
    EXPECT_GT(c.largest[0], 0) << ElementTypeName(type);
    EXPECT_EQ(c.largest[1] > 0, has_sign) << ElementTypeName(type);
  }
}

TEST(SeededArgumentsTest, PartsOfSpecialComplexNumbersMeetInEveryWay) {
  for (const ElementType type : {ElementType::kC64, ElementType::kC128}) {
    const Literal literal = RandomLiteral(Shape(type, {1 << 14}), 0, 0, ArgumentFill::kSpecial);
    std::set<std::pair<int, int>> pairs;
    const auto kind = [](double x) {
      return std::isnan(x) ? 0 : 2 * (std::isinf(x) ? 1 : x == 0 ? 2 : 3) + (std::signbit(x) ? 1 : 0);
    };
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      const std::complex<double> z = literal.GetComplex(i);
      pairs.emplace(kind(z.real()), kind(z.imag()));
    }
    EXPECT_EQ(pairs.size(), 49u) << ElementTypeName(type);
    const Literal full = RandomLiteral(Shape(type, {1 << 10}), 0, 0, ArgumentFill::kFullRange);
    double most = 0;
    for (int64_t i = 0; i < full.element_count(); ++i) {
      const std::complex<double> z = full.GetComplex(i);
      ASSERT_TRUE(std::isfinite(z.real()) && std::isfinite(z.imag()));
      EXPECT_NE(z.real(), z.imag());
      most = std::max({most, std::fabs(z.real()), std::fabs(z.imag())});
    }
    EXPECT_GT(most, 1e30);
  }
}

// The first values of array 0 of seed 0: what other machines must give too.
TEST(SeededArgumentsTest, FirstValuesAreThese) {
  EXPECT_THAT(Integers(ElementType::kS8, ArgumentFill::kFullRange, 6), ElementsAre(-43, -92, 41, 41, 84, -5));
  EXPECT_THAT(Integers(ElementType::kS32, ArgumentFill::kSpecial, 6), ElementsAre(-1, 3, 83534633, 0, -281164972, 2));
  EXPECT_THAT(Doubles(ElementType::kF32, ArgumentFill::kFullRange, 4),
              ElementsAre(0x1.4fd1aap+77, -0x1.c99948p+114, 0x1.f54652p-118, -0x1.21de52p+20));
  EXPECT_THAT(Doubles(ElementType::kBF16, ArgumentFill::kFullRange, 4),
              ElementsAre(-0x1.aap+82, -0x1.48p+26, -0x1.52p-57, -0x1.52p+95));
  EXPECT_THAT(Integers(ElementType::kS32, ArgumentFill::kSmall, 6), ElementsAre(5, 4, 1, 1, 4, 3));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::seeded_arguments_test
