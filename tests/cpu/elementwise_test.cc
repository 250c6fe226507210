// Arithmetic, bits and comparisons: the values of the corners, against rules written out here.
#include <cmath>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

Literal Unary(const std::string& op, const Literal& x, ElementType result) {
  const Shape out(result, {x.shape().dimensions().begin(), x.shape().dimensions().end()});
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(out) + " " + op + "(p)"), {x});
}

Literal Binary(const std::string& op, const Literal& a, const Literal& b, const std::string& attributes = {},
               ElementType result = kTuple) {
  const ElementType type = result == kTuple ? a.shape().element_type() : result;
  const Shape out(type, {a.shape().dimensions().begin(), a.shape().dimensions().end()});
  return RunText(Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
                       " parameter(1)\nROOT r = " + Text(out) + " " + op + "(a, b)" + attributes),
                 {a, b});
}

const std::vector<ElementType> kSignedTypes = {kS2, kS4, kS8, kS16, kS32, kS64};
const std::vector<ElementType> kUnsignedTypes = {kU2, kU4, kU8, kU16, kU32, kU64};

TEST(ElementwiseTest, SignedDivisionAndRemainderFollowXlasCorners) {
  for (ElementType type : kSignedTypes) {
    const int64_t low = MinSigned(type), high = MaxSigned(type);
    const Literal a = Ints(type, {6}, {high, low, low, 1, -1, low}), b = Ints(type, {6}, {0, 0, -1, -1, 1, low});
    EXPECT_THAT(Integers(Binary("divide", a, b)), ElementsAre(-1, -1, low, -1, -1, 1)) << ElementTypeName(type);
    EXPECT_THAT(Integers(Binary("remainder", a, b)), ElementsAre(high, low, 0, 0, 0, 0)) << ElementTypeName(type);
  }
  const Literal a = Ints(kS8, {4}, {-7, 7, -7, 7}), b = Ints(kS8, {4}, {2, -2, -2, 2});
  EXPECT_THAT(Integers(Binary("divide", a, b)), ElementsAre(-3, -3, 3, 3));
  EXPECT_THAT(Integers(Binary("remainder", a, b)), ElementsAre(-1, 1, -1, 1));
}

TEST(ElementwiseTest, UnsignedDivisionByZeroGivesAllOnes) {
  for (ElementType type : kUnsignedTypes) {
    const int64_t ones = static_cast<int64_t>(MaxUnsigned(type));
    EXPECT_THAT(Integers(Binary("divide", Ints(type, {2}, {3, 0}), Ints(type, {2}, {0, 0}))), ElementsAre(ones, ones));
    EXPECT_THAT(Integers(Binary("remainder", Ints(type, {2}, {3, 0}), Ints(type, {2}, {0, 0}))), ElementsAre(3, 0));
  }
}

TEST(ElementwiseTest, IntegersWrapAtTheirWidth) {
  for (ElementType type : kSignedTypes) {
    const int64_t low = MinSigned(type), high = MaxSigned(type);
    EXPECT_THAT(Integers(Binary("add", Ints(type, {2}, {high, low}), Ints(type, {2}, {1, -1}))),
                ElementsAre(low, high));
    EXPECT_THAT(Integers(Binary("subtract", Ints(type, {1}, {low}), Ints(type, {1}, {1}))), ElementsAre(high));
    EXPECT_THAT(Integers(Binary("multiply", Ints(type, {1}, {low}), Ints(type, {1}, {-1}))), ElementsAre(low));
    EXPECT_THAT(Integers(Unary("abs", Ints(type, {2}, {low, -1}), type)), ElementsAre(low, 1));
    EXPECT_THAT(Integers(Unary("negate", Ints(type, {2}, {low, high}), type)), ElementsAre(low, -high));
    EXPECT_THAT(Integers(Unary("sign", Ints(type, {3}, {low, 0, high}), type)), ElementsAre(-1, 0, 1));
    EXPECT_THAT(Integers(Unary("not", Ints(type, {2}, {0, low}), type)), ElementsAre(-1, high));
  }
}

TEST(ElementwiseTest, ShiftsBeyondTheWidthGiveZeroOrTheSign) {
  for (ElementType type : kSignedTypes) {
    const int64_t low = MinSigned(type), width = BitWidth(type);
    if (MaxSigned(type) < width) continue;  // the width does not fit in s2 and s4
    const Literal x = Ints(type, {4}, {low, low, low, 1}), by = Ints(type, {4}, {width, width - 1, -1, width - 1});
    EXPECT_THAT(Integers(Binary("shift-left", x, by)), ElementsAre(0, 0, 0, low)) << ElementTypeName(type);
    EXPECT_THAT(Integers(Binary("shift-right-logical", x, by)), ElementsAre(0, 1, 0, 0));
    EXPECT_THAT(Integers(Binary("shift-right-arithmetic", x, by)), ElementsAre(-1, -1, -1, 0));
  }
}

TEST(ElementwiseTest, BitCountsKnowTheWidth) {
  for (ElementType type : kUnsignedTypes) {
    const int64_t width = BitWidth(type), ones = static_cast<int64_t>(MaxUnsigned(type));
    auto wrapped = [&](int64_t x) { return static_cast<int64_t>(static_cast<uint64_t>(x) & MaxUnsigned(type)); };
    EXPECT_THAT(Integers(Unary("count-leading-zeros", Ints(type, {3}, {0, 1, ones}), type)),
                ElementsAre(wrapped(width), wrapped(width - 1), 0))
        << ElementTypeName(type);
    EXPECT_THAT(Integers(Unary("popcnt", Ints(type, {3}, {0, 1, ones}), type)), ElementsAre(0, 1, wrapped(width)));
  }
  EXPECT_THAT(Integers(Unary("count-leading-zeros", Ints(kS16, {2}, {-1, 1}), kS16)), ElementsAre(0, 15));
  EXPECT_THAT(Integers(Unary("popcnt", Ints(kS16, {2}, {-1, -32768}), kS16)), ElementsAre(16, 1));
}

TEST(ElementwiseTest, IntegerPowersWithNegativeExponents) {
  const Literal base = Ints(kS32, {6}, {2, 1, -1, -1, 0, 3}), exponent = Ints(kS32, {6}, {-1, -5, -3, -4, -1, 4});
  EXPECT_THAT(Integers(Binary("power", base, exponent)), ElementsAre(0, 1, -1, 1, 0, 81));
  EXPECT_THAT(Integers(Binary("power", Ints(kU8, {2}, {3, 2}), Ints(kU8, {2}, {6, 8}))), ElementsAre(729 % 256, 0));
}

TEST(ElementwiseTest, MulhiIsTheUpperHalfOfTheProduct) {
  EXPECT_THAT(Integers(Binary("mulhi", Ints(kS32, {2}, {-2, 1 << 30}), Ints(kS32, {2}, {3, 8}))), ElementsAre(-1, 2));
  EXPECT_THAT(Integers(Binary("mulhi", Ints(kU64, {1}, {-1}), Ints(kU64, {1}, {-1}))), ElementsAre(-2));
}

TEST(ElementwiseTest, MaximumAndMinimumSpreadNan) {
  for (ElementType type : {kF16, kBF16, kF32, kF64}) {
    const Literal a = Array(type, {6}, {kNan, 1, -0.0, 0.0, kInf, -kInf}),
                  b = Array(type, {6}, {1, kNan, 0.0, -0.0, 1, 1});
    EXPECT_THAT(Doubles(Binary("maximum", a, b)), SameDoubles({kNan, kNan, 0.0, 0.0, kInf, 1}));
    EXPECT_THAT(Doubles(Binary("minimum", a, b)), SameDoubles({kNan, kNan, -0.0, -0.0, 1, -kInf}));
  }
}

TEST(ElementwiseTest, SignKeepsZerosAndNan) {
  for (ElementType type : {kF16, kBF16, kF32, kF64}) {
    EXPECT_THAT(Doubles(Unary("sign", Array(type, {5}, {-0.0, 0.0, kNan, -3, kInf}), type)),
                SameDoubles({-0.0, 0.0, kNan, -1, 1}));
  }
}

TEST(ElementwiseTest, RoundingOfHalves) {
  const Literal x = Array(kF32, {6}, {0.5, 1.5, -2.5, -0.4, 0.49999997, 2.5});
  EXPECT_THAT(Doubles(Unary("round-nearest-afz", x, kF32)), SameDoubles({1, 2, -3, -0.0, 0, 3}));
  EXPECT_THAT(Doubles(Unary("round-nearest-even", x, kF32)), SameDoubles({0, 2, -2, -0.0, 0, 2}));
  EXPECT_THAT(Doubles(Unary("floor", x, kF32)), SameDoubles({0, 1, -3, -1, 0, 2}));
  EXPECT_THAT(Doubles(Unary("ceil", x, kF32)), SameDoubles({1, 2, -2, -0.0, 1, 3}));
}

TEST(ElementwiseTest, CompareIsIeeeOrTotalOrder) {
  const Literal a = Array(kF32, {4}, {kNan, -0.0, 1, -kInf}), b = Array(kF32, {4}, {kNan, 0.0, kNan, kNan});
  EXPECT_THAT(Integers(Binary("compare", a, b, ", direction=EQ", kPred)), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Integers(Binary("compare", a, b, ", direction=NE", kPred)), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(Integers(Binary("compare", a, b, ", direction=LE", kPred)), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Integers(Binary("compare", a, b, ", direction=LT, type=TOTALORDER", kPred)), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Integers(Binary("compare", a, b, ", direction=EQ, type=TOTALORDER", kPred)), ElementsAre(1, 0, 0, 0));
}

TEST(ElementwiseTest, TheTotalOrderTellsNansApart) {
  const auto order = [](ElementType type, ElementType bits, std::vector<int64_t> a, std::vector<int64_t> b) {
    const std::string t(ElementTypeName(type)), u(ElementTypeName(bits));
    return Integers(RunText(Entry("a = " + u + "[4] parameter(0)\nb = " + u + "[4] parameter(1)\nx = " + t +
                                  "[4] bitcast-convert(a)\ny = " + t + "[4] bitcast-convert(b)\n" +
                                  "ROOT r = pred[4] compare(x, y), direction=LT, type=TOTALORDER"),
                            {Ints(bits, {4}, a), Ints(bits, {4}, b)}));
  };
  EXPECT_THAT(order(kF32, kU32, {0x7f800001, 0x7f800001, 0xff800002, 0x7fc00000},
                    {0x7fc00000, 0x7f800002, 0xff800001, 0x7f800001}),
              ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(order(kF16, kU16, {0x7c01, 0x7c01, 0xfc02, 0x7e00}, {0x7e00, 0x7c02, 0xfc01, 0x7c01}),
              ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(order(kF8E5M2, kU8, {0x7d, 0x7d, 0xfe, 0x7e}, {0x7e, 0x7f, 0xfd, 0x7d}), ElementsAre(1, 1, 1, 0));
}

// The powers of two below 2^-150 are zeros of f32, which the type does not have; 2^-127 and 2^-149 become its least
// value.
TEST(ElementwiseTest, TheExponentTypeIsNanWhereF32Underflows) {
  const Literal a = Ints(kU8, {4}, {0, 0, 0, 127}), b = Ints(kU8, {4}, {127, 105, 100, 0});
  const Literal product =
      RunText(Entry("a = u8[4] parameter(0)\nb = u8[4] parameter(1)\nx = f8e8m0fnu[4] bitcast-convert(a)\n"
                    "y = f8e8m0fnu[4] bitcast-convert(b)\nz = f8e8m0fnu[4] multiply(x, y)\n"
                    "ROOT r = u8[4] bitcast-convert(z)"),
              {a, b});
  EXPECT_THAT(Integers(product), ElementsAre(0, 0, 255, 0));
}

TEST(ElementwiseTest, CompareKnowsTheSignOfIntegers) {
  EXPECT_THAT(Integers(Binary("compare", Ints(kS8, {1}, {-1}), Ints(kS8, {1}, {1}), ", direction=LT", kPred)),
              ElementsAre(1));
  EXPECT_THAT(Integers(Binary("compare", Ints(kU8, {1}, {255}), Ints(kU8, {1}, {1}), ", direction=LT", kPred)),
              ElementsAre(0));
}

TEST(ElementwiseTest, ClampTakesScalarBoundsAndReturnsTheUpperOneWhenTheyCross) {
  const std::string text = Entry(
      "low = f32[] parameter(0)\nx = f32[5] parameter(1)\nhigh = f32[] parameter(2)\n"
      "ROOT r = f32[5] clamp(low, x, high)");
  const Literal x = Array(kF32, {5}, {-1, 5, 9, kNan, kInf});
  EXPECT_THAT(Doubles(RunText(text, {Array(kF32, {}, {0}), x, Array(kF32, {}, {6})})), SameDoubles({0, 5, 6, kNan, 6}));
  EXPECT_THAT(Doubles(RunText(text, {Array(kF32, {}, {-3}), x, Array(kF32, {}, {-5})})),
              SameDoubles({-5, -5, -5, kNan, -5}));
}

TEST(ElementwiseTest, SelectKeepsTheBitsOfSignallingNan) {
  Literal a = Ints(kU32, {3}, {0x7f800001, 0x7fc12345, 0x3f800000});
  const Literal floats = a.Reshaped(Shape(kF32, {3}));
  const Literal which = Ints(kPred, {3}, {1, 0, 1});
  const std::string text = Entry("p = pred[3] parameter(0)\na = f32[3] parameter(1)\nROOT r = f32[3] select(p, a, a)");
  EXPECT_EQ(RunText(text, {which, floats}), floats);
  const std::string scalar = Entry(
      "p = pred[] parameter(0)\na = s8[2] parameter(1)\nb = s8[2] parameter(2)\n"
      "ROOT r = s8[2] select(p, a, b)");
  EXPECT_THAT(Integers(RunText(scalar, {Ints(kPred, {}, {0}), Ints(kS8, {2}, {1, 2}), Ints(kS8, {2}, {3, 4})})),
              ElementsAre(3, 4));
}

TEST(ElementwiseTest, PredArithmeticIsLogical) {
  const Literal a = Ints(kPred, {4}, {0, 0, 1, 1}), b = Ints(kPred, {4}, {0, 1, 0, 1});
  EXPECT_THAT(Integers(Binary("and", a, b)), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Integers(Binary("or", a, b)), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Integers(Binary("xor", a, b)), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Integers(Unary("not", a, kPred)), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Integers(Binary("maximum", a, b)), ElementsAre(0, 1, 1, 1));
}

TEST(ElementwiseTest, NarrowFloatsRoundAfterEachOp) {
  // 256 + 1 is a tie in bf16 (8 bits): to even, 256; again 256.
  const std::string text = Entry(
      "a = bf16[1] parameter(0)\nb = bf16[1] parameter(1)\ns = bf16[1] add(a, b)\n"
      "ROOT r = bf16[1] add(s, b)");
  EXPECT_THAT(Doubles(RunText(text, {Array(kBF16, {1}, {256}), Array(kBF16, {1}, {1})})), ElementsAre(256));
  EXPECT_THAT(Doubles(Binary("multiply", Array(kF8E4M3FN, {2}, {16, 1.125}), Array(kF8E4M3FN, {2}, {32, 1.125}))),
              SameDoubles({kNan, 1.25}));
  EXPECT_THAT(Doubles(Binary("add", Array(kF16, {1}, {65504}), Array(kF16, {1}, {16}))), ElementsAre(kInf));
}

TEST(ElementwiseTest, ComplexQuotientsRecoverInfinities) {
  Literal a(Shape(kC64, {3})), b(Shape(kC64, {3}));
  a.SetComplex(0, {1, 1}), b.SetComplex(0, {0, 0});
  a.SetComplex(1, {kInf, 1}), b.SetComplex(1, {1, 1});
  a.SetComplex(2, {1, 1}), b.SetComplex(2, {kInf, 0});
  const Literal q = Binary("divide", a, b);
  EXPECT_EQ(q.GetComplex(0), std::complex<double>(kInf, kInf));
  EXPECT_TRUE(std::isinf(q.GetComplex(1).real()) && std::isinf(q.GetComplex(1).imag()));
  EXPECT_EQ(q.GetComplex(2), std::complex<double>(0, 0));
}

TEST(ElementwiseTest, C128QuotientsDoNotOverflowOnTheWay) {
  Literal a(Shape(kC128, {1})), b(Shape(kC128, {1}));
  a.SetComplex(0, {1e308, 1e308}), b.SetComplex(0, {1e308, 1e308});
  EXPECT_EQ(Binary("divide", a, b).GetComplex(0), std::complex<double>(1, 0));
  EXPECT_DOUBLE_EQ(Unary("abs", a, kF64).GetDouble(0), 1.4142135623730951e308);
}

TEST(ElementwiseTest, EmptyAndScalarShapes) {
  EXPECT_EQ(Binary("add", Array(kF32, {0, 3}, {}), Array(kF32, {0, 3}, {})).element_count(), 0);
  EXPECT_THAT(Doubles(Binary("add", Array(kF32, {}, {1}), Array(kF32, {}, {2}))), ElementsAre(3));
}

TEST(ElementwiseTest, EveryFloatTypeAddsInBlocksLikeAPlainLoop) {
  for (ElementType type : {kF4E2M1FN, kF6E2M3FN, kF6E3M2FN, kF8E3M4, kF8E4M3, kF8E4M3FN, kF8E4M3B11FNUZ, kF8E4M3FNUZ,
                           kF8E5M2, kF8E5M2FNUZ, kF16, kBF16, kF32, kF64}) {
    const Literal a = Random(type, {1543}, 1, ArgumentFill::kSpecial),
                  b = Random(type, {1543}, 2, ArgumentFill::kSpecial);
    Literal want(a.shape());
    for (int64_t i = 0; i < 1543; ++i) want.SetDouble(i, a.GetDouble(i) + b.GetDouble(i));
    EXPECT_EQ(Binary("add", a, b), want) << ElementTypeName(type);
  }
}

TEST(ElementwiseTest, ReusesOperandsButNeverTheCallersOrSharedOnes) {
  const Literal a = Array(kF32, {2}, {1, 2});
  const std::string text = Entry(
      "a = f32[2] parameter(0)\nb = f32[2] add(a, a)\nc = f32[2] multiply(b, b)\n"
      "d = f32[2] negate(b)\nROOT r = (f32[2], f32[2], f32[2]) tuple(c, d, a)");
  const Literal result = RunText(text, {a});
  EXPECT_THAT(Doubles(result.tuple_elements()[0]), ElementsAre(4, 16));
  EXPECT_THAT(Doubles(result.tuple_elements()[1]), ElementsAre(-2, -4));
  EXPECT_THAT(Doubles(result.tuple_elements()[2]), ElementsAre(1, 2));
  EXPECT_THAT(Doubles(a), ElementsAre(1, 2));
}

TEST(ElementwiseTest, RejectsTypesWithoutTheFunction) {
  const Result<Literal> result =
      TryRun(Entry("p = c64[2] parameter(0)\nROOT r = c64[2] floor(p)"), {Random(kC64, {2}, 1)});
  ASSERT_FALSE(result.ok());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
