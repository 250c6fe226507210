#include "core/data/shape.h"

#include <gmock/gmock.h>

#include "core/limits.h"

namespace VXLA_NAMESPACE {
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

TEST(ShapeTest, CountsAndBytesStopAtTheLargestNumber) {
  const Shape huge(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(huge.ElementCount(), INT64_MAX);
  EXPECT_EQ(huge.SizeBytes(), INT64_MAX);
  EXPECT_EQ(Shape(ElementType::kF64, {int64_t{1} << 61}).SizeBytes(), INT64_MAX);
  EXPECT_EQ(Shape::Tuple({Shape(ElementType::kS8, {INT64_MAX}), Shape(ElementType::kS8, {2})}).SizeBytes(), INT64_MAX);
  EXPECT_EQ(Shape(ElementType::kF32, {3, -2}).ElementCount(), INT64_MAX);
  EXPECT_EQ(Shape(ElementType::kF32, {kUnboundedSize}).ElementCount(), INT64_MAX);
  EXPECT_EQ(Shape(ElementType::kF32, {INT64_MAX, 0, INT64_MAX}).ElementCount(), 0);
}

TEST(ShapeTest, CheckShapeSaysWhatCannotBeAValues) {
  using enum ElementType;
  auto message = [](const Shape& shape) { return CheckShape(shape).message(); };
  EXPECT_EQ(message(Shape(kF32, {2, 3})), "");
  EXPECT_EQ(message(Shape::Token()), "");
  EXPECT_EQ(message(Shape(kF32, {2, -3})), "size -3 of dimension 1 is negative");
  EXPECT_EQ(message(Shape(kF32, {kUnboundedSize})), "f32[?] has an unbounded dimension, which cannot be compiled");
  EXPECT_EQ(message(Shape(kS8, {INT64_MAX, 0, 2})),
            "the product of the sizes above 0 of s8[9223372036854775807,0,2] exceeds the limit of 2^63-1");
  EXPECT_EQ(message(Shape(kS8, {kMaxArrayBytes})), "");
  EXPECT_EQ(message(Shape(kS8, {kMaxArrayBytes + 1})),
            "s8[17592186044417] takes more than 17592186044416 bytes, the limit of an array");
  EXPECT_EQ(message(Shape(kS8, std::vector<int64_t>(64, 1))), "");
  EXPECT_EQ(message(Shape(kS8, std::vector<int64_t>(60000, 1))),
            "an array of 60000 dimensions, at most 64 are possible");
  EXPECT_EQ(message(Shape::Tuple({Shape(kF32), Shape(kF32, {-1})})), "size -1 of dimension 0 is negative");
  EXPECT_EQ(message(Shape::Tuple(std::vector<Shape>(65536, Shape(kF32)))),
            "a tuple of 65537 elements and 1 levels, at most 65536 and 64 are possible");
}

// Copying and destroying recurse, so a deep shape must not come to be.
TEST(ShapeTest, TuplesNestTo64Levels) {
  Shape nested(ElementType::kF32);
  for (int level = 0; level < 64; ++level) nested = Shape::Tuple({nested});
  EXPECT_TRUE(CheckShape(nested).ok());
  try {
    Shape::Tuple({nested});
    FAIL() << "a tuple of 65 levels";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a tuple of 65 levels, at most 64 are possible"));
  }
}

TEST(ShapeTest, DimensionsThatAreNotThereAreNamed) {
  const Shape shape(ElementType::kF32, {2, 3});
  for (const int i : {-1, 2, INT32_MAX}) {
    try {
      shape.dimension(i);
      FAIL() << i;
    } catch (const InternalError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("dimension " + std::to_string(i) + " of the 2 of f32[2,3]"));
    }
  }
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
}  // namespace VXLA_NAMESPACE
