#include <gtest/gtest.h>

#include <random>

#include "backend/vulkan/codegen/kernel_builder.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kLimit = (uint32_t{1} << 31) - 1;

uint32_t Divide(uint32_t n, const MagicDivisor& magic) {
  return static_cast<uint32_t>((uint64_t{n} * magic.multiplier) >> 32) >> magic.shift;
}

// Wrong quotients of one divisor show at multiples and just below them, and most at the top of the range.
void CheckDivisor(uint32_t d, std::mt19937& random) {
  const MagicDivisor magic = MakeMagicDivisor(d);
  std::uniform_int_distribution<uint32_t> any(0, kLimit);
  auto check = [&](uint32_t n) { ASSERT_EQ(Divide(n, magic), n / d) << n << " / " << d; };
  const uint32_t last = kLimit / d * d;
  for (uint32_t n : {0u, 1u, d - 1, d, d + 1 > kLimit ? kLimit : d + 1, last, last - 1, kLimit, kLimit - 1}) check(n);
  for (int i = 0; i < 40; ++i) {
    const uint32_t n = any(random);
    const uint32_t multiple = n / d * d;
    check(n);
    check(multiple);
    if (multiple > 0) check(multiple - 1);
  }
}

TEST(MagicDivisionTest, IsExactForSmallDivisorsAndPowersOfTwo) {
  std::mt19937 random(1);
  for (uint32_t d = 2; d < 20000; ++d) CheckDivisor(d, random);
  for (int bit = 1; bit < 31; ++bit) {
    for (int64_t d : {(int64_t{1} << bit) - 1, int64_t{1} << bit, (int64_t{1} << bit) + 1}) {
      if (d >= 2 && d <= kLimit) CheckDivisor(static_cast<uint32_t>(d), random);
    }
  }
}

TEST(MagicDivisionTest, IsExactForRandomDivisors) {
  std::mt19937 random(2);
  std::uniform_int_distribution<uint32_t> any(2, kLimit);
  for (int i = 0; i < 20000; ++i) CheckDivisor(any(random) >> (i % 30) | 2, random);
}

TEST(MagicDivisionTest, IsExactForEveryValueBelowTwoToTheTwenty) {
  for (uint32_t d : {3u, 7u, 11u, 641u, 65537u}) {
    const MagicDivisor magic = MakeMagicDivisor(d);
    for (uint32_t n = 0; n < (1u << 20); ++n) ASSERT_EQ(Divide(n, magic), n / d);
  }
}

TEST(MagicDivisionTest, RefusesDivisorsThatNeedNoDivision) { EXPECT_THROW(MakeMagicDivisor(1), InternalError); }

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
