#include "core/shape.h"

#include <gtest/gtest.h>

namespace vxla {
namespace {

TEST(ElementTypeTest, NamesRoundTrip) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    EXPECT_EQ(ParseElementType(ElementTypeName(type)), type);
  }
  EXPECT_EQ(ParseElementType("f33"), std::nullopt);
}

TEST(ElementTypeTest, LimitsOfIntegers) {
  EXPECT_EQ(MinSigned(ElementType::kS1), -1);
  EXPECT_EQ(MaxSigned(ElementType::kS1), 0);
  EXPECT_EQ(MinSigned(ElementType::kS4), -8);
  EXPECT_EQ(MaxSigned(ElementType::kS64), INT64_MAX);
  EXPECT_EQ(MinSigned(ElementType::kS64), INT64_MIN);
  EXPECT_EQ(MaxUnsigned(ElementType::kU2), 3u);
  EXPECT_EQ(MaxUnsigned(ElementType::kU64), UINT64_MAX);
  EXPECT_EQ(MaxUnsigned(ElementType::kPred), 1u);
}

TEST(ShapeTest, CountsAndBytes) {
  EXPECT_EQ(Shape(ElementType::kF32, {7, 11, 13}).ElementCount(), 1001);
  EXPECT_EQ(Shape(ElementType::kF32, {7, 11, 13}).SizeBytes(), 4004);
  EXPECT_EQ(Shape(ElementType::kS4, {5}).SizeBytes(), 5);
  EXPECT_EQ(Shape(ElementType::kC128).SizeBytes(), 16);
  EXPECT_EQ(Shape(ElementType::kF32, {7, 0, 3}).ElementCount(), 0);
  EXPECT_EQ(Shape::Token().ElementCount(), 0);
  const Shape tuple =
      Shape::Tuple({Shape(ElementType::kF64, {3}), Shape::Tuple({Shape(ElementType::kU8)}), Shape::Token()});
  EXPECT_EQ(tuple.SizeBytes(), 25);
  EXPECT_EQ(FlattenTuple(tuple).size(), 3u);
}

TEST(ShapeTest, CheckedElementCountRejectsWhatDoesNotFit) {
  EXPECT_EQ(*CheckedElementCount(std::vector<int64_t>{}), 1);
  EXPECT_EQ(*CheckedElementCount(std::vector<int64_t>{INT64_MAX}), INT64_MAX);
  EXPECT_EQ(*CheckedElementCount(std::vector<int64_t>{INT64_MAX, 0, INT64_MAX}), 0);
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{int64_t{1} << 62, 2}).status().message(),
            "the element count of [4611686018427387904,2] exceeds the limit of 2^63-1");
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{3, -2}).status().message(), "dimension -2 of [3,-2] is negative");
}

TEST(ShapeTest, EqualityIgnoresLayoutsAndCompatibilityDynamicFlags) {
  Shape a(ElementType::kF32, {2, 3});
  Shape b = a;
  b.set_layout(Layout{{0, 1}, ""});
  EXPECT_TRUE(a == b);
  EXPECT_EQ(b.MinorToMajor(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(a.MinorToMajor(), (std::vector<int64_t>{1, 0}));
  b.set_dynamic_dimension(1, true);
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(Compatible(a, b));
  EXPECT_TRUE(Shape::Tuple({b}).IsDynamic());
  EXPECT_FALSE(Compatible(a, Shape(ElementType::kS32, {2, 3})));
  EXPECT_TRUE(SameDimensions(a, Shape(ElementType::kS32, {2, 3})));
  EXPECT_FALSE(Compatible(Shape::Tuple({a}), Shape::Tuple({a, a})));
}

TEST(ShapeTest, BuffersAreShapesOfTheirOwn) {
  Shape buffer(ElementType::kF32, {2});
  buffer.set_is_buffer(true);
  EXPECT_FALSE(buffer == Shape(ElementType::kF32, {2}));
  EXPECT_EQ(buffer.ToString(), "b(f32[2])");
}

TEST(ShapeTest, Strings) {
  Shape shape(ElementType::kBF16, {2, 5, kUnboundedSize});
  shape.set_dynamic_dimension(1, true);
  shape.set_dynamic_dimension(2, true);
  shape.set_layout(Layout{{2, 1, 0}, "T(8)"});
  EXPECT_EQ(shape.ToString(), "bf16[2,<=5,?]");
  EXPECT_EQ(shape.ToString(true), "bf16[2,<=5,?]{2,1,0:T(8)}");
  EXPECT_EQ(Shape::Tuple({Shape(ElementType::kPred), Shape::Token()}).ToString(), "(pred[], token[])");
}

TEST(ShapeTest, RowMajorStrides) {
  const std::vector<int64_t> dimensions{2, 3, 5};
  EXPECT_EQ(RowMajorStrides(dimensions), (std::vector<int64_t>{15, 5, 1}));
}

}  // namespace
}  // namespace vxla
