#include "core/numerics/fixed_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

std::optional<FixedRange> RangeOf(const std::string& body) {
  const auto module = ParseHlo("ENTRY e { " + body + " }");
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? FixedRangeOf(*(*module)->entry()->root()) : std::nullopt;
}

void ExpectRange(const std::string& body, int unit, double most, bool finite, bool negative) {
  SCOPED_TRACE(body);
  const auto range = RangeOf(body);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->unit, unit);
  EXPECT_EQ(range->most, most);
  EXPECT_EQ(range->finite, finite);
  EXPECT_EQ(range->negative, negative);
}

TEST(FixedRangeTest, OfTypes) {
  ExpectRange("ROOT a = pred[3] parameter(0)", 0, 1, true, false);
  ExpectRange("ROOT a = s8[3] parameter(0)", 0, 128, true, true);
  ExpectRange("ROOT a = u16[3] parameter(0)", 0, 65536, true, false);
  ExpectRange("ROOT a = f16[3] parameter(0)", -24, 65504, false, true);
  ExpectRange("ROOT a = f4e2m1fn[3] parameter(0)", -1, 6, true, true);
  ExpectRange("ROOT a = f8e4m3fn[3] parameter(0)", -9, 448, false, true);
  EXPECT_FALSE(RangeOf("ROOT a = c64[3] parameter(0)").has_value());
}

TEST(FixedRangeTest, OfConstants) {
  ExpectRange("ROOT a = f32[3] constant({0.75, -6, 0})", -2, 6, true, true);
  ExpectRange("ROOT a = f32[2] constant({1, inf})", 0, 1, false, false);
  ExpectRange("ROOT a = s32[2] constant({-8, 24})", 3, 24, true, true);
  ExpectRange("ROOT a = f32[2] constant({-0, 0})", 0, 0, true, true);
}

TEST(FixedRangeTest, OfWhatIsComputed) {
  const std::string byte =
      "p = s8[3] parameter(0)  b = f32[3] convert(p)  h = f16[3] parameter(1)  k = f32[3] convert(h) ";
  ExpectRange(byte + "ROOT a = f32[3] multiply(b, b)", 0, 16384, true, true);
  ExpectRange(byte + "ROOT a = f32[3] abs(b)", 0, 128, true, false);
  ExpectRange(byte + "ROOT a = f32[3] subtract(b, b)", 0, 256, true, true);
  ExpectRange(byte + "ROOT a = f32[3] multiply(k, b)", -24, 65504.0 * 128, false, true);
  ExpectRange(byte + "ROOT a = f16[3] multiply(h, h)", -24, 65504, false, true);
  ExpectRange(byte + "ROOT a = s8[3] add(p, p)", 0, 128, true, true);  // wraps
  ExpectRange("p = s32[3] parameter(0)  ROOT a = f32[3] convert(p)", 0, std::ldexp(1, 31), true, true);
  ExpectRange("p = u16[3] parameter(0)  ROOT a = f16[3] convert(p)", 0, 65504, false, false);  // 65,520 is infinite
  ExpectRange("p = f16[3] parameter(0)  ROOT a = s32[3] convert(p)", 0, std::ldexp(1, 31), true, true);  // NaN
  ExpectRange("c = f32[3] constant({0.25, 0.5, 7})  ROOT a = s32[3] convert(c)", 0, 7, true, false);
  ExpectRange("ROOT a = f32[3,9] iota(), iota_dimension=1", 0, 8, true, false);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
