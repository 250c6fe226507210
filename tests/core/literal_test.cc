#include "core/literal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/float_formats.h"

namespace vxla {
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

TEST(LiteralTest, ReshapeKeepsTheBytes) {
  const std::vector<int32_t> values{1, 2, 3, 4, 5, 6};
  const Literal literal = Literal::FromVector<int32_t>(Shape(ElementType::kS32, {6}), values);
  const Literal reshaped = literal.Reshaped(Shape(ElementType::kS32, {2, 3}));
  EXPECT_EQ(reshaped.shape().ToString(), "s32[2,3]");
  EXPECT_EQ(reshaped.GetInt(4), 5);
  EXPECT_THROW(literal.Reshaped(Shape(ElementType::kS32, {5})), InternalError);
}

}  // namespace
}  // namespace vxla
