// Every example of the broadcasting document, through the builder.
#include "core/passes/base/verifier.h"
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

std::string Sum(const Shape& lhs, const Shape& rhs, const IntList& broadcast_dimensions = {}) {
  XlaBuilder builder("sum");
  const XlaOp x = Parameter(&builder, 0, lhs);
  const XlaOp y = Parameter(&builder, 1, rhs);
  const XlaOp sum = Add(x, y, broadcast_dimensions);
  if (sum.valid()) {
    const Result<XlaComputation> computation = builder.Build();
    EXPECT_TRUE(computation.ok());
    const Status verified = Verify(computation->module());
    EXPECT_TRUE(verified.ok()) << verified.message();
  }
  return ShapeOrError(sum);
}

Shape F32(std::vector<int64_t> dimensions) { return Shape(kF32, std::move(dimensions)); }

TEST(BroadcastingTest, ScalarsBroadcastOverAnyArrayWithoutDimensions) {
  EXPECT_EQ(Sum(F32({2, 3}), F32({})), "f32[2,3]");
  EXPECT_EQ(Sum(F32({}), F32({2, 3})), "f32[2,3]");
  EXPECT_EQ(Sum(F32({}), F32({})), "f32[]");
  EXPECT_EQ(Sum(F32({}), F32({0, 3})), "f32[0,3]");
}

TEST(BroadcastingTest, VectorToMatrixNeedsADimension) {
  EXPECT_EQ(Sum(F32({2, 3}), F32({3}), {1}), "f32[2,3]");
  EXPECT_EQ(Sum(F32({3}), F32({2, 3}), {1}), "f32[2,3]");
  EXPECT_EQ(Sum(F32({2, 3}), F32({3})), "add: 0 broadcast_dimensions for f32[3] and f32[2,3], 1 needed");
}

TEST(BroadcastingTest, VectorMatchesEitherDimensionOfASquareMatrix) {
  EXPECT_EQ(Sum(F32({3, 3}), F32({3}), {0}), "f32[3,3]");
  EXPECT_EQ(Sum(F32({3, 3}), F32({3}), {1}), "f32[3,3]");
  EXPECT_EQ(Sum(F32({2, 3}), F32({3}), {0}), "add: f32[2,3] and f32[3] are incompatible in dimension 0");
}

TEST(BroadcastingTest, MatrixMatchesTwoDimensionsOfACuboid) {
  EXPECT_EQ(Sum(F32({2, 3, 4}), F32({3, 4}), {1, 2}), "f32[2,3,4]");
  EXPECT_EQ(Sum(F32({2, 3, 4}), F32({2, 4}), {0, 2}), "f32[2,3,4]");
  EXPECT_EQ(Sum(F32({2, 3, 4}), F32({2, 3}), {0, 1}), "f32[2,3,4]");
}

TEST(BroadcastingTest, FormalDefinitionOverRankFour) {
  const int64_t m = 2, n = 3, p = 5, q = 7;
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Sum(F32({m, n, p, q}), F32({IntList{m, n, p, q}[i]}), {i}), "f32[2,3,5,7]");
  EXPECT_EQ(Sum(F32({m, n, p, q}), F32({p, q}), {2, 3}), "f32[2,3,5,7]");
  EXPECT_EQ(Sum(F32({m, n, p, q}), F32({n, p}), {1, 2}), "f32[2,3,5,7]");
  EXPECT_EQ(Sum(F32({m, n, p, q}), F32({m, q}), {0, 3}), "f32[2,3,5,7]");
}

TEST(BroadcastingTest, DimensionsMustIncreaseStrictly) {
  EXPECT_EQ(Sum(F32({2, 3, 3, 5}), F32({3, 3}), {2, 1}), "add: broadcast_dimensions {2,1} are not strictly increasing");
  EXPECT_EQ(Sum(F32({2, 3, 3, 5}), F32({3, 3}), {1, 1}), "add: broadcast_dimensions {1,1} are not strictly increasing");
}

TEST(BroadcastingTest, DimensionsMustExist) {
  EXPECT_EQ(Sum(F32({2, 3}), F32({3}), {2}), "add: broadcast dimension 2 is not a dimension of f32[2,3]");
  EXPECT_EQ(Sum(F32({2, 3}), F32({3}), {-1}), "add: broadcast dimension -1 is not a dimension of f32[2,3]");
}

TEST(BroadcastingTest, EqualRanksTakeNoOtherDimensionsThanTheIdentity) {
  EXPECT_EQ(Sum(F32({2, 3}), F32({2, 3}), {0, 1}), "f32[2,3]");
  EXPECT_EQ(Sum(F32({3, 3}), F32({3, 3}), {1, 0}),
            "add: broadcast_dimensions {1,0} for f32[3,3] and f32[3,3] of equal rank");
}

TEST(BroadcastingTest, DegenerateDimensionsOfSimilarRanks) {
  EXPECT_EQ(Sum(F32({2, 1}), F32({2, 3})), "f32[2,3]");
  EXPECT_EQ(Sum(F32({1, 2, 5}), F32({7, 2, 5})), "f32[7,2,5]");
  EXPECT_EQ(Sum(F32({7, 2, 5}), F32({7, 1, 5})), "f32[7,2,5]");
  EXPECT_EQ(Sum(F32({7, 2, 5}), F32({7, 2, 6})), "add: f32[7,2,5] and f32[7,2,6] are incompatible in dimension 2");
}

TEST(BroadcastingTest, DegenerateDimensionsOnBothSidesAreAnOuterOperation) {
  EXPECT_EQ(Sum(F32({2, 1}), F32({1, 3})), "f32[2,3]");
}

TEST(BroadcastingTest, CompositionOfVectorAndRowMatrix) { EXPECT_EQ(Sum(F32({4}), F32({1, 2}), {0}), "f32[4,2]"); }

TEST(BroadcastingTest, CompositionOfMatrixAndCuboid) {
  EXPECT_EQ(Sum(F32({1, 2}), F32({4, 3, 1}), {1, 2}), "f32[4,3,2]");
}

TEST(BroadcastingTest, DegenerateDimensionBecomesEmpty) {
  EXPECT_EQ(Sum(F32({1, 3}), F32({0, 3})), "f32[0,3]");
  EXPECT_EQ(Sum(F32({5}), F32({0})), "add: f32[5] and f32[0] are incompatible in dimension 0");
}

TEST(BroadcastingTest, MaterialisesAsReshapeAndBroadcast) {
  XlaBuilder builder("sum");
  const XlaOp x = Parameter(&builder, 0, F32({4}));
  const XlaOp y = Parameter(&builder, 1, F32({1, 2}));
  Add(x, y, {0});
  const XlaComputation computation = *builder.Build();
  std::vector<std::string> text;
  for (const auto& instruction : computation.module().entry()->instructions()) text.push_back(Summary(*instruction));
  EXPECT_THAT(text, ::testing::ElementsAre("f32[4] %parameter = parameter()", "f32[1,2] %parameter.1 = parameter()",
                                           "f32[4,2] %broadcast = broadcast(%parameter)",
                                           "f32[2] %reshape = reshape(%parameter.1)",
                                           "f32[4,2] %broadcast.1 = broadcast(%reshape)",
                                           "f32[4,2] %add = add(%broadcast, %broadcast.1)"));
}

TEST(BroadcastingTest, ComparisonsBroadcastToo) {
  XlaBuilder builder("less");
  const XlaOp less = Lt(Parameter(&builder, 0, F32({2, 3})), Parameter(&builder, 1, F32({3})), {1});
  EXPECT_EQ(ShapeOrError(less), "pred[2,3]");
}

TEST(BroadcastingTest, BroadcastInDimGrowsDimensionsOfSizeOne) {
  XlaBuilder builder("grow");
  const XlaOp x = Parameter(&builder, 0, F32({1, 3}));
  EXPECT_EQ(ShapeOrError(BroadcastInDim(x, {5, 7, 3}, {1, 2})), "f32[5,7,3]");
  EXPECT_EQ(ShapeOrError(BroadcastInDim(x, {5, 7, 4}, {1, 2})),
            "broadcast: dimension 1 of f32[1,3] is neither 1 nor 4");
}

TEST(BroadcastingTest, BroadcastInDimTakesIncreasingDimensionsThatExist) {
  XlaBuilder a("a"), b("b"), c("c");
  EXPECT_EQ(ShapeOrError(BroadcastInDim(Parameter(&a, 0, F32({3})), {3, 5}, {2})),
            "broadcast: broadcast dimension 2 is not a dimension of f32[3,5]");
  EXPECT_EQ(ShapeOrError(BroadcastInDim(Parameter(&b, 0, F32({3, 5})), {5, 3}, {1, 0})),
            "broadcast: broadcast_dimensions {1,0} are not strictly increasing");
  EXPECT_EQ(ShapeOrError(BroadcastInDim(Parameter(&c, 0, F32({3, 5})), {5, 3}, {1})),
            "broadcast: 1 broadcast_dimensions for f32[3,5]");
}

TEST(BroadcastingTest, BroadcastAddsDimensionsToTheLeft) {
  XlaBuilder builder("left");
  EXPECT_EQ(ShapeOrError(Broadcast(Parameter(&builder, 0, F32({})), {2, 3})), "f32[2,3]");
  EXPECT_EQ(ShapeOrError(Broadcast(Parameter(&builder, 1, F32({5, 7})), {2, 0})), "f32[2,0,5,7]");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
