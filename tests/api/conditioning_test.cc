// What perturbed runs allow a value: spreads, rare flips, NaN and infinities, and no more.
#include "api/verify/conditioning.h"

#include <gtest/gtest.h>

#include <cmath>

namespace VXLA_NAMESPACE {
namespace {

Literal Floats(const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}), values);
}
Literal Ints(const std::vector<int32_t>& values) {
  return Literal::FromVector<int32_t>(Shape(ElementType::kS32, {static_cast<int64_t>(values.size())}), values);
}

TEST(SpreadTest, AValueWithinTheSpreadIsExplainedAndOneBeyondIsNot) {
  const Literal reference = Floats({1, 100});
  Spread spread(reference);
  for (int run = 0; run < 8; ++run) spread.Add(Floats({1 + (run % 2 == 0 ? 0.01F : -0.01F), 100}));
  EXPECT_TRUE(spread.Judge(Floats({1.03F, 100}), {}).explains);
  const Conditioning beyond = spread.Judge(Floats({1.05F, 100}), {});
  EXPECT_FALSE(beyond.explains);
  EXPECT_EQ(beyond.outside, 1);
  EXPECT_FALSE(spread.Judge(Floats({1, 100.001F}), {}).explains);  // which no run has moved
  EXPECT_TRUE(spread.Judge(Floats({1, 100.001F}), Tolerance{1e-4, 0, 0}).explains);
  // 0.01 of a largest magnitude of 100, in roundings of 2^-24.
  EXPECT_NEAR(beyond.amplification, 0.01 / 100 * 0x1p24, 20);
}

TEST(SpreadTest, AnIntegerThatPerturbedRunsFlipMayDiffer) {
  const Literal reference = Ints({3, 5});
  Spread spread(reference);
  for (int run = 0; run < 8; ++run) spread.Add(Ints({run < 3 ? 7 : 3, 5}));
  const Conditioning flipped = spread.Judge(Ints({7, 5}), {});
  EXPECT_TRUE(flipped.explains);
  EXPECT_EQ(flipped.undetermined, 1);
  EXPECT_FALSE(spread.Judge(Ints({3, 6}), {}).explains);
}

TEST(SpreadTest, NanAndInfinitiesAreFineWhereARunHasThem) {
  const Literal reference = Floats({1, 1, NAN});
  Spread spread(reference);
  for (int run = 0; run < 8; ++run) spread.Add(Floats({run < 2 ? NAN : 1, 1, run < 2 ? 4 : NAN}));
  EXPECT_TRUE(spread.Judge(Floats({NAN, 1, 5}), {}).explains);
  EXPECT_FALSE(spread.Judge(Floats({1, NAN, NAN}), {}).explains);
  EXPECT_FALSE(spread.Judge(Floats({INFINITY, 1, NAN}), {}).explains);
}

// Of 10,000 elements each run flips about ten, never the same: at ten more nobody wonders, at a thousand one does.
TEST(SpreadTest, RareFlipsAreCountedRatherThanAwaited) {
  std::vector<int32_t> zeros(10000, 0);
  const Literal reference = Ints(zeros);
  Spread spread(reference);
  for (size_t run = 0; run < 8; ++run) {
    std::vector<int32_t> flipped = zeros;
    for (size_t k = 0; k < 10; ++k) flipped[run * 100 + k * 7] = 1;
    spread.Add(Ints(flipped));
  }
  std::vector<int32_t> device = zeros, wrong = zeros, far = zeros;
  for (size_t k = 0; k < 10; ++k) device[5000 + k * 11] = 1;
  for (size_t k = 0; k < 1000; ++k) wrong[5000 + k] = 1;
  far[5000] = 1000;
  const Conditioning alike = spread.Judge(Ints(device), {});
  EXPECT_EQ(alike.outside, 10);
  EXPECT_EQ(alike.unseen, 10);
  EXPECT_TRUE(alike.explains);
  EXPECT_FALSE(spread.Judge(Ints(wrong), {}).explains);
  EXPECT_FALSE(spread.Judge(Ints(far), {}).explains);  // one element, but no flip goes that far
}

}  // namespace
}  // namespace VXLA_NAMESPACE
