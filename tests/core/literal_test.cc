#include "core/data/literal.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "core/data/float_formats.h"
#include "core/numerics/literal_compare.h"

namespace VXLA_NAMESPACE {
namespace {

TEST(LiteralTest, IntegersWrapToTheirWidth) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsInteger(type)) continue;
    Literal literal(Shape(type, {3}));
    const int bits = BitWidth(type);
    literal.SetInt(1, -1);
    EXPECT_EQ(literal.GetInt(1), IsSigned(type) || bits == 64 ? -1 : static_cast<int64_t>(MaxUnsigned(type)));
    if (bits == 64) continue;
    literal.SetInt(2, (int64_t{1} << bits) + 1);
    EXPECT_EQ(literal.GetInt(2), bits == 1 && IsSigned(type) ? -1 : 1) << ElementTypeName(type);
    EXPECT_EQ(literal.GetInt(0), 0);
  }
}

TEST(LiteralTest, SubByteValuesAreKeptInTheLowBits) {
  Literal literal(Shape(ElementType::kS4, {2}));
  literal.SetInt(0, -3);
  EXPECT_EQ(literal.data<uint8_t>()[0], 0x0d);
  EXPECT_EQ(literal.GetInt(0), -3);
}

TEST(LiteralTest, FloatsRoundWhenStored) {
  EXPECT_EQ(Literal::Scalar(ElementType::kF32, 0.1).GetDouble(0), static_cast<double>(0.1f));
  EXPECT_EQ(Literal::Scalar(ElementType::kBF16, 1.00390625).GetDouble(0), 1.0);  // a tie goes to even
  EXPECT_EQ(Literal::Scalar(ElementType::kF16, 1e6).GetDouble(0), INFINITY);
  EXPECT_EQ(Literal::Scalar(ElementType::kF64, 0.1).GetDouble(0), 0.1);
  EXPECT_TRUE(std::signbit(Literal::Scalar(ElementType::kF32, -0.0).GetDouble(0)));
}

TEST(LiteralTest, ComplexPartsAreSeparate) {
  Literal literal(Shape(ElementType::kC64, {2}));
  literal.SetComplex(1, {1.5, -2.5});
  EXPECT_EQ(literal.GetComplex(1), std::complex<double>(1.5, -2.5));
  EXPECT_EQ(literal.GetComplex(0), std::complex<double>(0, 0));
  EXPECT_EQ(Literal::Scalar(ElementType::kC128, 3).GetComplex(0), std::complex<double>(3, 0));
  EXPECT_EQ(Literal::Scalar(ElementType::kF32, 3).GetComplex(0), std::complex<double>(3, 0));
}

TEST(LiteralTest, PredIsZeroOrOne) {
  Literal literal(Shape(ElementType::kPred, {2}));
  literal.SetInt(1, 256);
  EXPECT_EQ(literal.GetInt(1), 1);
  EXPECT_EQ(literal.data<uint8_t>()[1], 1);
}

TEST(LiteralTest, EqualityIsOfBits) {
  const Literal nan = Literal::Scalar(ElementType::kF32, NAN);
  EXPECT_TRUE(nan == nan);
  EXPECT_FALSE(Literal::Scalar(ElementType::kF32, 0.0) == Literal::Scalar(ElementType::kF32, -0.0));
  EXPECT_FALSE(Literal::ScalarInt(ElementType::kS32, 0) == Literal::ScalarInt(ElementType::kU32, 0));
}

TEST(LiteralTest, FlattenAndUnflatten) {
  const Literal tuple = Literal::Tuple({Literal::ScalarInt(ElementType::kS32, 7),
                                        Literal::Tuple({Literal::Scalar(ElementType::kF32, 2), Literal::Tuple({})})});
  const auto leaves = FlattenLiteral(tuple);
  ASSERT_EQ(leaves.size(), 2u);
  std::vector<Literal> copies{*leaves[0], *leaves[1]};
  EXPECT_TRUE(UnflattenLiteral(tuple.shape(), copies) == tuple);
}

TEST(LiteralTest, DynamicSizesBeginAtTheirBounds) {
  Shape shape(ElementType::kF32, {2, 5});
  shape.set_dynamic_dimension(1, true);
  Literal literal(shape);
  EXPECT_EQ(literal.dynamic_size(1), 5);
  literal.set_dynamic_size(1, 3);
  EXPECT_EQ(literal.dynamic_size(1), 3);
  EXPECT_EQ(literal.dynamic_size(0), 2);
  EXPECT_FALSE(literal == Literal(shape));
}

TEST(LiteralTest, ComparedSizesThatDifferAreNamed) {
  Shape shape(ElementType::kF32, {7});
  shape.set_dynamic_dimension(0, true);
  Literal three(shape), seven(shape);
  three.set_dynamic_size(0, 3);
  const Comparison comparison = Compare(three, seven, Tolerance{});
  EXPECT_FALSE(comparison.agrees());
  EXPECT_EQ(comparison.shapes, "f32[3], want f32[7]");
}

TEST(LiteralTest, ReshapeKeepsTheBytes) {
  const std::vector<int32_t> values{1, 2, 3, 4, 5, 6};
  const Literal literal = Literal::FromVector<int32_t>(Shape(ElementType::kS32, {6}), values);
  const Literal reshaped = literal.Reshaped(Shape(ElementType::kS32, {2, 3}));
  EXPECT_EQ(reshaped.shape().ToString(), "s32[2,3]");
  EXPECT_EQ(reshaped.GetInt(4), 5);
  EXPECT_THROW(literal.Reshaped(Shape(ElementType::kS32, {5})), InternalError);
}

std::string CheckedBy(const std::function<void()>& use) {
  try {
    use();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(LiteralTest, MakeRefusesWhatNoValueCanBe) {
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF32, {2, -3})).status().message(), "size -3 of dimension 1 is negative");
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF32, {int64_t{1} << 62})).status().message(),
            "f32[4611686018427387904] takes more than 17592186044416 bytes, the limit of an array");
  const Result<Literal> large = Literal::Make(Shape(ElementType::kU8, {int64_t{1} << 44}));
  EXPECT_EQ(large.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(large.status().message(), "u8[17592186044416]: 17592186044416 bytes of host memory are not to be had");
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF32, {2, 3}))->element_count(), 6);
  EXPECT_EQ(Literal::Make(Shape::Tuple({Shape(ElementType::kF32), Shape(ElementType::kF32, {-1})})).status().message(),
            "size -1 of dimension 0 is negative");
  const std::vector<float> three{1, 2, 3};
  const std::span<const float> values(three);
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF32, {4}), values).status().message(),
            "3 values for the 4 elements of f32[4]");
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF64, {3}), values).status().message(),
            "values of 4 bytes for f64[3], which has 8 an element");
  EXPECT_EQ(Literal::Make(Shape::Tuple({}), values).status().message(),
            "values of 4 bytes for (), which has 0 an element");
  EXPECT_EQ(Literal::Make(Shape(ElementType::kF32, {3}), values)->GetDouble(2), 3);
}

TEST(LiteralTest, PreconditionsNameBothNumbers) {
  using ::testing::HasSubstr;
  Literal f(Shape(ElementType::kF32, {2, 3}));
  const std::vector<float> three{1, 2, 3};
  EXPECT_THAT(CheckedBy([] { Literal bad(Shape(ElementType::kF32, {-3})); }),
              HasSubstr("size -3 of dimension 0 is negative"));
  EXPECT_THAT(CheckedBy([&] { Literal::FromVector<float>(f.shape(), three); }),
              HasSubstr("3 values for the 6 elements of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.data<double>(); }),
              HasSubstr("values of 8 bytes for f32[2,3], which has 4 an element"));
  EXPECT_THAT(CheckedBy([&] { f.GetDouble(6); }), HasSubstr("element 6 of the 6 of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.SetDouble(-1, 0); }), HasSubstr("element -1 of the 6 of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.GetComplex(INT64_MAX); }),
              HasSubstr("element 9223372036854775807 of the 6 of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.GetInt(0); }), HasSubstr("f32 is neither an integer type nor pred"));
  EXPECT_THAT(CheckedBy([&] { f.SetInt(0, 1); }), HasSubstr("f32 is neither an integer type nor pred"));
  EXPECT_THAT(CheckedBy([] { Literal(Shape(ElementType::kS32)).GetDouble(0); }),
              HasSubstr("s32 is no real floating-point type"));
  EXPECT_THAT(CheckedBy([] { Literal(Shape(ElementType::kPred)).SetComplex(0, 1); }),
              HasSubstr("pred is neither a floating-point nor a complex type"));
  EXPECT_THAT(CheckedBy([] { Literal().GetInt(0); }), HasSubstr("tuple is neither an integer type nor pred"));
  EXPECT_THAT(CheckedBy([&] { f.tuple_element(0); }), HasSubstr("element 0 of the 0 of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.dynamic_size(2); }), HasSubstr("dimension 2 of the 2 of f32[2,3]"));
  EXPECT_THAT(CheckedBy([&] { f.set_dynamic_size(1, 4); }),
              HasSubstr("live size 4 of dimension 1 of f32[2,3], whose bound is 3"));
  EXPECT_THAT(CheckedBy([&] { (void)f.Reshaped(Shape(ElementType::kF32, {5})); }),
              HasSubstr("f32[2,3] of 24 bytes as f32[5] of 20"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
