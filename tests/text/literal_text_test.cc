#include "core/text/literal_text.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "core/data/float_formats.h"
#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

Result<std::shared_ptr<const Literal>> Parse(const Shape& shape, std::string_view text) {
  Lexer lexer(text);
  return ParseLiteral(lexer, shape);
}

// The text that a value of `shape` is printed as after being read from `text`.
std::string Reprint(const Shape& shape, std::string_view text) {
  const auto literal = Parse(shape, text);
  if (!literal.ok()) return literal.status().message();
  return *literal == nullptr ? "elided" : PrintLiteral(**literal);
}

void ExpectRoundTrip(const Literal& literal) {
  const std::string text = PrintLiteral(literal);
  const auto back = Parse(literal.shape(), text);
  ASSERT_TRUE(back.ok()) << back.status().message() << "\n" << text.substr(0, 200);
  ASSERT_NE(*back, nullptr);
  EXPECT_TRUE(**back == literal) << literal.shape().ToString() << " " << text.substr(0, 200);
}

// A vector holding these encodings.
Literal FromBits(ElementType type, std::span<const uint64_t> bits) {
  Literal literal(Shape(type, {static_cast<int64_t>(bits.size())}));
  for (size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(literal.mutable_bytes().data() + i * StorageBytes(type), &bits[i],
                static_cast<size_t>(StorageBytes(type)));
  }
  return literal;
}

TEST(LiteralTextTest, EveryEncodingOfEveryNarrowFloatRoundTrips) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsNarrowFloat(type)) continue;
    std::vector<uint64_t> bits;
    for (uint64_t b = 0; b < (uint64_t{1} << BitWidth(type)); ++b) bits.push_back(b);
    ExpectRoundTrip(FromBits(type, bits));
  }
}

TEST(LiteralTextTest, RandomBitsOfWideFloatsRoundTrip) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> bits{0,
                             uint64_t{1} << 63,
                             1,
                             0x7ff0000000000000,
                             0xfff0000000000000,
                             0x7ff0000000000001,
                             0xfff8000000000000,
                             0x7fefffffffffffff,
                             0x000fffffffffffff};
  for (int i = 0; i < 5000; ++i) bits.push_back(random());
  ExpectRoundTrip(FromBits(ElementType::kF64, bits));
  std::vector<uint64_t> words{0,          0x80000000, 1,          0x7f800000, 0xff800000,
                              0x7f800001, 0x7fc00000, 0xffc00000, 0x7f7fffff, 0x007fffff};
  for (int i = 0; i < 5000; ++i) words.push_back(random() & 0xffffffff);
  ExpectRoundTrip(FromBits(ElementType::kF32, words));
}

TEST(LiteralTextTest, IntegersRoundTripAtTheirLimits) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type) && type != ElementType::kPred) continue;
    Literal literal(Shape(type, {4}));
    literal.SetInt(0, IsSigned(type) ? MinSigned(type) : 0);
    literal.SetInt(1, IsSigned(type) ? MaxSigned(type) : static_cast<int64_t>(MaxUnsigned(type)));
    literal.SetInt(2, 1);
    ExpectRoundTrip(literal);
  }
  EXPECT_EQ(Reprint(Shape(ElementType::kU64), "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(Reprint(Shape(ElementType::kS64), "-9223372036854775808"), "-9223372036854775808");
}

TEST(LiteralTextTest, FloatsHaveTheFewestDigits) {
  const Shape f32(ElementType::kF32);
  EXPECT_EQ(Reprint(f32, "0.100000001"), "0.1");
  EXPECT_EQ(Reprint(f32, "16777217"), "16777216");  // rounds to even
  EXPECT_EQ(Reprint(f32, "1e-50"), "0");
  EXPECT_EQ(Reprint(f32, "-1e-50"), "-0");
  EXPECT_EQ(Reprint(f32, "1.17549435e-38"), "1.1754944e-38");
  EXPECT_EQ(Reprint(f32, ".5"), "0.5");
  EXPECT_EQ(Reprint(f32, "3."), "3");
  EXPECT_EQ(Reprint(Shape(ElementType::kBF16), "0.1"), "0.1");
  EXPECT_EQ(Reprint(Shape(ElementType::kF16), "65504"), "6.55e+04");
  EXPECT_EQ(Reprint(Shape(ElementType::kF64), "0.1"), "0.1");
}

TEST(LiteralTextTest, NegativeZeroIsKept) {
  for (const ElementType type :
       {ElementType::kF32, ElementType::kF64, ElementType::kBF16, ElementType::kF16, ElementType::kF8E5M2}) {
    EXPECT_EQ(Reprint(Shape(type), "-0"), "-0");
    EXPECT_EQ(Reprint(Shape(type), "-0.0"), "-0");
  }
  EXPECT_EQ(Reprint(Shape(ElementType::kC64), "(-0, -0)"), "(-0, -0)");
}

TEST(LiteralTextTest, NanPayloads) {
  const Shape f32(ElementType::kF32);
  EXPECT_EQ(Reprint(f32, "nan"), "nan");
  EXPECT_EQ(Reprint(f32, "-nan"), "-nan");
  EXPECT_EQ(Reprint(f32, "nan(0x123)"), "nan(0x123)");
  EXPECT_EQ(Reprint(f32, "-nan(0x400001)"), "-nan(0x400001)");
  EXPECT_EQ(Reprint(f32, "nan(0x400000)"), "nan");
  EXPECT_EQ(Reprint(Shape(ElementType::kF64), "nan(0x8000000000001)"), "nan(0x8000000000001)");
  EXPECT_EQ(Reprint(Shape(ElementType::kF8E4M3FN), "-nan"), "-nan");
  const auto literal = Parse(f32, "nan(0x123)");
  EXPECT_EQ(std::bit_cast<uint32_t>((*literal)->data<float>()[0]), 0x7f800123u);
}

TEST(LiteralTextTest, ComplexPartsAreReadWhole) {
  const Shape c64(ElementType::kC64);
  EXPECT_EQ(Reprint(c64, "(nan, 1)"), "(nan, 1)");
  EXPECT_EQ(Reprint(c64, "(inf, -nan)"), "(inf, -nan)");
  EXPECT_EQ(Reprint(c64, "(3.4028235e+38, -3.40282347e+38)"), "(3.4028235e+38, -3.4028235e+38)");
  EXPECT_EQ(Reprint(Shape(ElementType::kC128, {2}), "{(1e300, 0), (nan(0x1), 1)}"), "{(1e+300, 0), (nan(0x1), 1)}");
}

TEST(LiteralTextTest, ArraysTuplesAndEmptyOnes) {
  EXPECT_EQ(Reprint(Shape(ElementType::kS32, {2, 3}), "{{1,2,3},{4,5,6}}"), "{ {1, 2, 3}, {4, 5, 6} }");
  EXPECT_EQ(Reprint(Shape(ElementType::kS32, {2, 1, 2}), "{ { /*i0=0*/ {1, 2} }, { {3, 4} } }"),
            "{ /*i0=0*/ { {1, 2} }, /*i0=1*/ { {3, 4} } }");
  EXPECT_EQ(Reprint(Shape(ElementType::kS32, {0}), "{}"), "{}");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32, {2, 0, 3}), "{ { }, { } }"), "{}");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32, {2, 0, 3}), "{}"), "{}");
  EXPECT_EQ(Reprint(Shape(ElementType::kPred), "1"), "true");
  EXPECT_EQ(Reprint(Shape(ElementType::kPred, {3}), "{true, 0, 1}"), "{1, 0, 1}");
  const Shape pair =
      Shape::Tuple({Shape(ElementType::kF32, {2}), Shape::Tuple({Shape(ElementType::kS8), Shape::Tuple({})})});
  EXPECT_EQ(Reprint(pair, "({1, 2}, (-3, ()))"), "({1, 2}, (-3, ()))");
}

TEST(LiteralTextTest, ElidedConstants) {
  EXPECT_EQ(Reprint(Shape(ElementType::kF32, {1000000, 1000000}), "{...}"), "elided");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32, {7}), "..."), "elided");
  EXPECT_EQ(Reprint(Shape::Tuple({Shape(ElementType::kF32, {7}), Shape(ElementType::kS8)}), "({...}, 3)"), "elided");
  const auto module =
      RoundTrip(Entry("a = f32[1000]{0} constant({...})\n ROOT b = (f32[9], s8[]) constant(({...}, 3))"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Find(*module, "a")->attributes<ConstantAttributes>().literal, nullptr);
}

TEST(LiteralTextTest, DynamicDimensionsHoldTheirLiveSize) {
  Shape shape(ElementType::kS32, {2, 5});
  shape.set_dynamic_dimension(1, true);
  const auto literal = Parse(shape, "{{1, 2, 3}, {4, 5, 6}}");
  ASSERT_TRUE(literal.ok()) << literal.status().message();
  EXPECT_EQ((*literal)->dynamic_size(1), 3);
  EXPECT_EQ((*literal)->GetInt(5), 4);
  EXPECT_EQ(PrintLiteral(**literal), "{ {1, 2, 3}, {4, 5, 6} }");
  ExpectRoundTrip(**literal);
}

// XLA's parser does so for this type alone.
TEST(LiteralTextTest, NegativeNumbersOfU64Wrap) {
  EXPECT_EQ(Reprint(Shape(ElementType::kU64, {2}), "{-1, -9223372036854775808}"),
            "{18446744073709551615, 9223372036854775808}");
  EXPECT_EQ(Reprint(Shape(ElementType::kU64), "-9223372036854775809"),
            "literal: -9223372036854775809 is out of range for u64");
}

TEST(LiteralTextTest, Rejections) {
  const Shape matrix(ElementType::kS32, {2, 3});
  EXPECT_EQ(Reprint(matrix, "{{1,2,3},{4,5}}"), "literal: 2 elements in dimension 1 of s32[2,3], expected 3");
  EXPECT_EQ(Reprint(matrix, "{{1,2,3},{4,5,6,7}}"), "literal: more than 3 elements in dimension 1 of s32[2,3]");
  EXPECT_EQ(Reprint(matrix, "{{1,2,3}}  "), "literal: 1 elements in dimension 0 of s32[2,3], expected 2");
  EXPECT_EQ(Reprint(matrix, "{1,2,3,4,5,6}"), "expected '{', found '1'");
  EXPECT_EQ(Reprint(Shape(ElementType::kS8), "128"), "literal: 128 is out of range for s8");
  EXPECT_EQ(Reprint(Shape(ElementType::kS4), "-9"), "literal: -9 is out of range for s4");
  EXPECT_EQ(Reprint(Shape(ElementType::kU8), "-1"), "literal: -1 is out of range for u8");
  EXPECT_EQ(Reprint(Shape(ElementType::kU64), "18446744073709551616"),
            "literal: 18446744073709551616 is out of range for u64");
  EXPECT_EQ(Reprint(Shape(ElementType::kPred), "2"), "literal: 2 is out of range for pred");
  EXPECT_EQ(Reprint(Shape(ElementType::kS32), "1.5"), "expected an integer of s32, found '1.5'");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32), "3.5e38"), "literal: 3.5e38 is out of range for f32");
  EXPECT_EQ(Reprint(Shape(ElementType::kF64), "1e309"), "literal: 1e309 is out of range for f64");
  EXPECT_EQ(Reprint(Shape(ElementType::kF16), "65520"), "literal: 65520 is out of range for f16");
  EXPECT_EQ(Reprint(Shape(ElementType::kF8E4M3FN), "inf"), "literal: f8e4m3fn has no infinity");
  EXPECT_EQ(Reprint(Shape(ElementType::kF8E4M3FN), "465"), "literal: 465 is out of range for f8e4m3fn");
  EXPECT_EQ(Reprint(Shape(ElementType::kF4E2M1FN), "nan"), "literal: f4e2m1fn has no NaN");
  EXPECT_EQ(Reprint(Shape(ElementType::kF4E2M1FN), "7"), "literal: 7 is out of range for f4e2m1fn");
  EXPECT_EQ(Reprint(Shape(ElementType::kF8E8M0FNU), "-1"), "literal: -1 is out of range for f8e8m0fnu");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32), "nan(0x800000)"), "literal: 0x800000 is no NaN payload of f32");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32), "nan(7)"), "literal: 7 is no NaN payload of f32");
  EXPECT_EQ(Reprint(Shape(ElementType::kF8E4M3FN), "nan(0x1)"), "literal: a NaN of f8e4m3fn has no payload");
  EXPECT_EQ(Reprint(Shape(ElementType::kC64), "1"), "expected '(', found '1'");
  EXPECT_EQ(Reprint(Shape(ElementType::kC64), "(1, 1e39)"), "literal: 1e39 is out of range for f32");
  EXPECT_EQ(Reprint(Shape::Token(), "1"), "literal: token[] has no values");
  EXPECT_EQ(Reprint(Shape::Tuple({Shape(ElementType::kS8)}), "(1, 2)"), "expected ')', found ','");
  EXPECT_EQ(Reprint(Shape(ElementType::kF32, {int64_t{1} << 40}), "{1, 2}"),
            "literal: f32[1099511627776] has 1099511627776 elements, more than the text holds");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
