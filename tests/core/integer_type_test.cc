// Arithmetic of integers and truth values as HLO has it.
#include "core/numerics/integer_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace VXLA_NAMESPACE::testing {
namespace integer_type_test {

using enum Opcode;

int64_t Computed(ElementType type, Opcode opcode, int64_t x, int64_t y) {
  const std::optional<int64_t> value = IntegerType(type).Computed(opcode, x, y);
  EXPECT_TRUE(value.has_value());
  return value.value_or(0);
}

TEST(IntegerTypeTest, WrapsAtTheTypesOwnBits) {
  EXPECT_EQ(Computed(ElementType::kS8, kAdd, 127, 1), -128);
  EXPECT_EQ(Computed(ElementType::kU8, kSubtract, 0, 1), 255);
  EXPECT_EQ(Computed(ElementType::kS4, kMultiply, 7, 3), 5);
  EXPECT_EQ(Computed(ElementType::kU32, kPower, 2, 33), 0);
  EXPECT_EQ(Computed(ElementType::kPred, kAdd, 1, 1), 1);
  EXPECT_EQ(Computed(ElementType::kPred, kXor, 1, 1), 0);
}

TEST(IntegerTypeTest, DividesByZeroAsHloHasIt) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Computed(ElementType::kS32, kDivide, 5, 0), -1);
  EXPECT_EQ(Computed(ElementType::kU8, kDivide, 5, 0), 255);
  EXPECT_EQ(Computed(ElementType::kS32, kRemainder, 5, 0), 5);
  EXPECT_EQ(Computed(ElementType::kS64, kDivide, kLeast, -1), kLeast);
  EXPECT_EQ(Computed(ElementType::kS64, kRemainder, kLeast, -1), 0);
  EXPECT_FALSE(IntegerType(ElementType::kS32).Computed(kPower, 2, -1).has_value());
  EXPECT_FALSE(IntegerType(ElementType::kS32).Computed(kAtan2, 2, 1).has_value());
}

TEST(IntegerTypeTest, UnsignedNumbersCompareByTheirBits) {
  const int64_t all = -1;  // 2^64 - 1
  EXPECT_EQ(Computed(ElementType::kU64, kMaximum, all, 1), all);
  EXPECT_EQ(Computed(ElementType::kS64, kMaximum, all, 1), 1);
  EXPECT_TRUE(IntegerType(ElementType::kU64).Compares(ComparisonDirection::kGt, all, 1));
  EXPECT_EQ(Computed(ElementType::kU64, kDivide, all, 2), std::numeric_limits<int64_t>::max());
}

TEST(IntegerTypeTest, ShiftsOutAllBits) {
  EXPECT_EQ(Computed(ElementType::kS8, kShiftLeft, 1, 7), -128);
  EXPECT_EQ(Computed(ElementType::kS8, kShiftLeft, 1, 8), 0);
  EXPECT_EQ(Computed(ElementType::kS8, kShiftRightLogical, -1, 1), 127);
  EXPECT_EQ(Computed(ElementType::kS8, kShiftRightArithmetic, -128, 3), -16);
  EXPECT_EQ(Computed(ElementType::kS8, kShiftRightArithmetic, -128, -1), -1);
}

}  // namespace integer_type_test
}  // namespace VXLA_NAMESPACE::testing
