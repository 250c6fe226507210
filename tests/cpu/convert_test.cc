// Conversions between all types, and reduce-precision, against rules written out here.
#include <cmath>
#include <limits>

#include "core/data/float_formats.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using enum ElementType;

Literal Convert(const Literal& x, ElementType type) {
  const Shape out(type, {x.shape().dimensions().begin(), x.shape().dimensions().end()});
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(out) + " convert(p)"), {x});
}

std::vector<ElementType> TypesWhere(bool (*is)(ElementType)) {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) {
    if (is(static_cast<ElementType>(t))) types.push_back(static_cast<ElementType>(t));
  }
  return types;
}

// XLA's conversion of a real number to an integer type: truncated, saturated, NaN to 0.
__int128 Saturated(long double x, ElementType type) {
  if (std::isnan(x)) return 0;
  const __int128 low = IsSigned(type) ? static_cast<__int128>(MinSigned(type)) : 0;
  const __int128 high =
      IsSigned(type) ? static_cast<__int128>(MaxSigned(type)) : static_cast<__int128>(MaxUnsigned(type));
  if (x <= static_cast<long double>(low)) return low;
  if (x >= static_cast<long double>(high)) return high;
  return static_cast<__int128>(std::trunc(x));
}

TEST(ConvertTest, FloatsToIntegersTruncateAndSaturate) {
  const std::vector<double> values = {0.9,  -0.9, 1.5,  -1.5, 7.99,  126.5, -129, 300,   3e4,
                                      -7e4, 5e9,  -5e9, 1e19, -1e19, 2e19,  kInf, -kInf, kNan};
  for (ElementType from : TypesWhere(IsFloating)) {
    const Literal x = Array(from, {static_cast<int64_t>(values.size())}, values);
    for (ElementType to : TypesWhere(IsInteger)) {
      const Literal y = Convert(x, to);
      for (int64_t i = 0; i < x.element_count(); ++i) {
        const auto want = static_cast<int64_t>(Saturated(x.GetDouble(i), to));
        EXPECT_EQ(y.GetInt(i), want) << ElementTypeName(from) << " " << x.GetDouble(i) << " to " << ElementTypeName(to);
      }
    }
  }
}

TEST(ConvertTest, FloatsToFloatsRoundOnce) {
  for (ElementType from : TypesWhere(IsFloating)) {
    const Literal x = Random(from, {257}, 9, ArgumentFill::kSpecial);
    for (ElementType to : TypesWhere(IsFloating)) {
      Literal want(Shape(to, {257}));
      for (int64_t i = 0; i < 257; ++i) want.SetDouble(i, x.GetDouble(i));
      EXPECT_THAT(Doubles(Convert(x, to)), SameDoubles(Doubles(want)))
          << ElementTypeName(from) << " to " << ElementTypeName(to);
    }
  }
}

// A wider type gets the narrower one's bits at its top, as from the instructions of CPUs and GPUs.
TEST(ConvertTest, NansKeepTheirSignAndPayload) {
  const auto bits = [](const std::string& from, const std::string& number, const std::string& to,
                       const std::string& word) {
    return Integers(RunText(Entry("u = " + from + "[1] constant({" + number + "})\np = " + to +
                                  "[1] convert(u)\nROOT r = " + word + "[1] bitcast-convert(p)"),
                            {}))[0];
  };
  EXPECT_EQ(bits("f16", "nan", "f32", "u32"), 0x7fc00000);
  EXPECT_EQ(bits("f32", "nan", "f64", "u64"), 0x7ff8000000000000);
  EXPECT_EQ(bits("f32", "-nan", "f64", "u64"), static_cast<int64_t>(0xfff8000000000000));
  EXPECT_EQ(bits("bf16", "nan", "f64", "u64"), 0x7ff8000000000000);
  EXPECT_EQ(bits("f64", "nan", "f32", "u32"), 0x7fc00000);
  const Literal payload = Ints(kU32, {1}, {0x7fc12345});
  EXPECT_EQ(Integers(RunText(Entry("u = u32[1] parameter(0)\nx = f32[1] bitcast-convert(u)\ny = f64[1] convert(x)\n"
                                   "ROOT r = u64[1] bitcast-convert(y)"),
                             {payload}))[0],
            0x7ff82468a0000000);
}

TEST(ConvertTest, F64ToBf16DoesNotRoundTwice) {
  // Just above the middle between 1 and the next bf16; rounding to f32 first would make it the middle, and then even.
  const double x = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  EXPECT_THAT(Doubles(Convert(Array(kF64, {1}, {x}), kBF16)), ElementsAre(1 + std::ldexp(1.0, -7)));
}

TEST(ConvertTest, SixtyFourBitIntegersToFloatsRoundOnce) {
  const std::vector<int64_t> values = {(int64_t{1} << 62) + (int64_t{1} << 38) + 1,
                                       -(int64_t{1} << 62) - (int64_t{1} << 38) - 1,
                                       INT64_MAX,
                                       INT64_MIN,
                                       (int64_t{1} << 53) + 1,
                                       0,
                                       -1};
  const Literal x = Ints(kS64, {7}, values), u = Ints(kU64, {7}, values);
  const Literal f = Convert(x, kF32), d = Convert(x, kF64), uf = Convert(u, kF32), ud = Convert(u, kF64);
  for (int64_t i = 0; i < 7; ++i) {
    const auto k = static_cast<size_t>(i);
    EXPECT_EQ(f.GetDouble(i), static_cast<double>(static_cast<float>(values[k])));
    EXPECT_EQ(d.GetDouble(i), static_cast<double>(values[k]));
    EXPECT_EQ(uf.GetDouble(i), static_cast<double>(static_cast<float>(static_cast<uint64_t>(values[k]))));
    EXPECT_EQ(ud.GetDouble(i), static_cast<double>(static_cast<uint64_t>(values[k])));
  }
  EXPECT_THAT(Doubles(Convert(Ints(kS64, {1}, {(int64_t{1} << 60) + (int64_t{1} << 52) + 1}), kBF16)),
              ElementsAre(std::ldexp(1 + std::ldexp(1.0, -7), 60)));
}

TEST(ConvertTest, IntegersToIntegersWrap) {
  for (ElementType from : TypesWhere(IsInteger)) {
    const Literal x = Random(from, {83}, 3);
    for (ElementType to : TypesWhere(IsInteger)) {
      Literal want(Shape(to, {83}));
      for (int64_t i = 0; i < 83; ++i) want.SetInt(i, x.GetInt(i));
      EXPECT_EQ(Convert(x, to), want) << ElementTypeName(from) << " to " << ElementTypeName(to);
    }
  }
  EXPECT_THAT(Integers(Convert(Ints(kS32, {2}, {300, -1}), kU8)), ElementsAre(44, 255));
}

TEST(ConvertTest, ToPredTestsForZero) {
  EXPECT_THAT(Integers(Convert(Array(kF32, {4}, {0, -0.0, 0.1, kNan}), kPred)), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Integers(Convert(Ints(kS32, {3}, {0, 256, -1}), kPred)), ElementsAre(0, 1, 1));
  EXPECT_THAT(Doubles(Convert(Ints(kPred, {2}, {0, 1}), kBF16)), ElementsAre(0, 1));
}

TEST(ConvertTest, ComplexToComplexAndRealToComplex) {
  Literal z(Shape(kC128, {1}));
  z.SetComplex(0, {2.75, -1});
  EXPECT_EQ(Convert(z, kC64).GetComplex(0), std::complex<double>(2.75, -1));
  EXPECT_EQ(Convert(Array(kF16, {1}, {1.5}), kC64).GetComplex(0), std::complex<double>(1.5, 0));
}

Literal ReducePrecision(const Literal& x, int exponent, int mantissa) {
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(x.shape()) +
                       " reduce-precision(p), exponent_bits=" + std::to_string(exponent) +
                       ", mantissa_bits=" + std::to_string(mantissa)),
                 {x});
}

TEST(ReducePrecisionTest, E5M10OfF32IsHalfPrecisionWithoutSubnormals) {
  std::vector<double> values = {kInf, -kInf, kNan, 65519, 65520, -65520, 0.0, -0.0, 1e-8, 6.1e-5, 6.103515625e-05};
  for (int i = 0; i < 500; ++i) values.push_back(std::ldexp(1 + i * 0.00199, i % 30 - 14));
  const int64_t count = static_cast<int64_t>(values.size());
  const Literal x = Array(kF32, {count}, values), y = ReducePrecision(x, 5, 10);
  for (int64_t i = 0; i < count; ++i) {
    double want = DecodeNarrowFloat(kF16, EncodeNarrowFloat(kF16, x.GetDouble(i)));
    if (std::fabs(want) < std::ldexp(1.0, -14)) want = std::copysign(0.0, want);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(y.GetDouble(i)));
    } else {
      EXPECT_EQ(y.GetDouble(i), want) << x.GetDouble(i);
    }
  }
}

TEST(ReducePrecisionTest, MoreBitsThanTheTypeChangeNothing) {
  for (ElementType type : {kF16, kBF16, kF32, kF64}) {
    const Literal x = Random(type, {211}, 4, ArgumentFill::kSpecial);
    EXPECT_EQ(ReducePrecision(x, 11, 52), x);
  }
  EXPECT_THAT(Doubles(ReducePrecision(Array(kF64, {2}, {1 + 0x1p-8, 1e300}), 8, 7)), ElementsAre(1, kInf));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
