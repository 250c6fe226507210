#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace data_movement_infer_test {

const Shape kF = Shape(kF32, {4, 8});

std::string Slices(const Shape& shape, std::vector<SliceDimension> slice) {
  return Inferred(Opcode::kSlice, {shape}, SliceAttributes{std::move(slice)});
}

TEST(SliceTest, CountsElementsOfEachStride) {
  EXPECT_EQ(Slices(kF, {{1, 4, 2}, {0, 8, 3}}), "f32[2,3]");
  EXPECT_EQ(Slices(kF, {{3, 3, 1}, {8, 8, 5}}), "f32[0,0]");
  EXPECT_EQ(Slices(Shape(kF32), {}), "f32[]");
  EXPECT_EQ(Slices(Shape(kF32, {0}), {{0, 0, INT64_MAX}}), "f32[0]");
}

TEST(SliceTest, RejectsLimitBeyondDimension) {
  EXPECT_EQ(Slices(kF, {{0, 4, 1}, {0, 9, 1}}), "slice: limit 9 exceeds dimension 1 of f32[4,8]");
}

TEST(SliceTest, RejectsNegativeStart) {
  EXPECT_EQ(Slices(kF, {{-1, 4, 1}, {0, 8, 1}}), "slice: start -1 of dimension 0 of f32[4,8] is negative");
}

TEST(SliceTest, RejectsStartBeyondLimit) {
  EXPECT_EQ(Slices(kF, {{3, 2, 1}, {0, 8, 1}}), "slice: start 3 exceeds limit 2 in dimension 0 of f32[4,8]");
}

TEST(SliceTest, RejectsStrideBelowOne) {
  EXPECT_EQ(Slices(kF, {{0, 4, 0}, {0, 8, 1}}), "slice: stride 0 of dimension 0 of f32[4,8] is below 1");
  EXPECT_EQ(Slices(kF, {{0, 4, INT64_MIN}, {0, 8, 1}}),
            "slice: stride -9223372036854775808 of dimension 0 of f32[4,8] is below 1");
}

TEST(SliceTest, RejectsAnotherRank) {
  EXPECT_EQ(Slices(kF, {{0, 4, 1}}), "slice: slice has 1 entries for the 2 dimensions of f32[4,8]");
}

std::string Padded(const Shape& shape, std::vector<PaddingDimension> padding, ElementType value = kF32) {
  return Inferred(Opcode::kPad, {shape, Shape(value)}, PadAttributes{std::move(padding)});
}

TEST(PadTest, InteriorComesBeforeEdges) {
  EXPECT_EQ(Padded(kF, {{1, 2, 3}, {-1, -2, 0}}), "f32[16,5]");
  EXPECT_EQ(Padded(Shape(kF32, {0}), {{1, 1, 7}}), "f32[2]");
  EXPECT_EQ(Padded(Shape(kF32, {1}), {{0, 0, int64_t{1} << 44}}), "f32[1]");
}

TEST(PadTest, NegativeEdgesMayRemoveAllButNoMore) {
  EXPECT_EQ(Padded(kF, {{-4, 0, 0}, {0, -8, 0}}), "f32[0,0]");
  EXPECT_EQ(Padded(kF, {{-5, 0, 0}, {0, 0, 0}}),
            "pad: padding -5_0_0 gives dimension 0 of f32[4,8] a size outside of 0 to 2^63-1");
}

TEST(PadTest, RejectsNegativeInterior) {
  EXPECT_EQ(Padded(kF, {{0, 0, 0}, {0, 0, -1}}), "pad: interior padding -1 of dimension 1 is negative");
}

TEST(PadTest, RejectsPaddingBeyondTheLimit) {
  EXPECT_EQ(Padded(Shape(kF32, {3}), {{INT64_MAX, INT64_MAX, INT64_MAX}}),
            "pad: padding 9223372036854775807 of dimension 0 exceeds the limit of 2^44");
}

TEST(PadTest, RejectsMoreElementsThanANumberHolds) {
  constexpr int64_t kMost = int64_t{1} << 44, kSize = int64_t{1} << 20;
  EXPECT_EQ(Padded(Shape(kF32, {kSize}), {{0, 0, kMost}}),
            "pad: padding 0_0_17592186044416 gives dimension 0 of f32[1048576] a size outside of 0 to 2^63-1");
}

TEST(PadTest, RejectsAnotherTypeOrRank) {
  EXPECT_EQ(Padded(kF, {{}, {}}, kS32), "pad: operand 0 is of f32, operand 1 of s32");
  EXPECT_EQ(Padded(kF, {{}}), "pad: padding has 1 entries for the 2 dimensions of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kPad, {kF, Shape(kF32, {1})}, PadAttributes{{{}, {}}}),
            "pad: operand 1 is f32[1], not a scalar");
}

std::string Bitcast(const Shape& shape, ElementType to) {
  return Inferred(Opcode::kBitcastConvert, {shape}, {}, Shape(to));
}

TEST(BitcastConvertTest, WidthsChangeTheLastDimension) {
  EXPECT_EQ(Bitcast(Shape(kF32, {10}), kF16), "f16[10,2]");
  EXPECT_EQ(Bitcast(Shape(kF32), kF16), "f16[2]");
  EXPECT_EQ(Bitcast(Shape(kF16, {10, 2}), kF32), "f32[10]");
  EXPECT_EQ(Bitcast(Shape(kU8, {8}), kS64), "s64[]");
  EXPECT_EQ(Bitcast(Shape(kF32, {0, 3}), kS32), "s32[0,3]");
  EXPECT_EQ(Bitcast(Shape(kU4, {3, 2}), kU8), "u8[3]");
}

TEST(BitcastConvertTest, RejectsALastDimensionThatIsNotTheRatio) {
  EXPECT_EQ(Bitcast(Shape(kF16, {2, 10}), kF32),
            "bitcast-convert: the last dimension of f16[2,10] must be 2 to become f32");
  EXPECT_EQ(Bitcast(Shape(kF16), kF32), "bitcast-convert: the last dimension of f16[] must be 2 to become f32");
}

TEST(BitcastConvertTest, RejectsComplexToReal) {
  EXPECT_EQ(Bitcast(Shape(kC64, {3}), kF64), "bitcast-convert: from c64 to f64: both or neither must be complex");
}

TEST(ReshapeTest, KeepsTheElementCount) {
  EXPECT_EQ(Inferred(Opcode::kReshape, {kF}, {}, Shape(kF32, {2, 16})), "f32[2,16]");
  EXPECT_EQ(Inferred(Opcode::kReshape, {Shape(kF32, {0, 3})}, {}, Shape(kF32, {5, 0})), "f32[5,0]");
  EXPECT_EQ(Inferred(Opcode::kReshape, {Shape(kF32, {1, 1})}, {}, Shape(kF32)), "f32[]");
  EXPECT_EQ(Inferred(Opcode::kReshape, {kF}, {}, Shape(kF32, {5})), "reshape: f32[4,8] has 32 elements, f32[5] has 5");
  EXPECT_EQ(Inferred(Opcode::kReshape, {kF}, {}, Shape(kS32, {32})),
            "reshape: the element types of f32[4,8] and s32[32] differ");
}

TEST(BroadcastTest, MapsEachOperandDimension) {
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {kF}, DimensionsAttributes{{2, 0}}, Shape(kF32, {8, 5, 4})), "f32[8,5,4]");
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {Shape(kF32)}, DimensionsAttributes{}, Shape(kF32, {0})), "f32[0]");
}

TEST(BroadcastTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {kF}, DimensionsAttributes{{0}}, Shape(kF32, {4, 8})),
            "broadcast: dimensions has 1 entries for the 2 dimensions of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {kF}, DimensionsAttributes{{0, 2}}, Shape(kF32, {4, 8})),
            "broadcast: dimensions 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {kF}, DimensionsAttributes{{1, 1}}, Shape(kF32, {4, 8})),
            "broadcast: dimensions {1,1} names 1 twice");
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {Shape(kF32, {1})}, DimensionsAttributes{{0}}, Shape(kF32, {4})),
            "broadcast: dimension 0 of f32[1] has not the size of dimension 0 of f32[4]");
  EXPECT_EQ(Inferred(Opcode::kBroadcast, {Shape(kF32)}, DimensionsAttributes{}, Shape(kS32, {4})),
            "broadcast: the element types of f32[] and s32[4] differ");
}

TEST(ConcatenateTest, AddsSizesAlongOneDimension) {
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF, Shape(kF32, {0, 8}), Shape(kF32, {3, 8})}, DimensionsAttributes{{0}}),
            "f32[7,8]");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF}, DimensionsAttributes{{1}}), "f32[4,8]");
}

TEST(ConcatenateTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {}, DimensionsAttributes{{0}}),
            "concatenate: 0 operands, at least 1 needed");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF, kF}, DimensionsAttributes{{2}}),
            "concatenate: dimension 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF, Shape(kF32, {4, 7})}, DimensionsAttributes{{0}}),
            "concatenate: operand 1 f32[4,7] and operand 0 f32[4,8] differ outside of dimension 0");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF, Shape(kS32, {4, 8})}, DimensionsAttributes{{0}}),
            "concatenate: operand 1 is of s32, operand 0 of f32");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {Shape(kF32), Shape(kF32)}, DimensionsAttributes{{0}}),
            "concatenate: dimension 0 is not a dimension of f32[]");
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {kF}, DimensionsAttributes{{0, 1}}), "concatenate: 2 dimensions, 1 needed");
}

TEST(IotaTest, NeedsADimensionToCountAlong) {
  EXPECT_EQ(Inferred(Opcode::kIota, {}, IotaAttributes{1}, kF), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kIota, {}, IotaAttributes{2}, kF),
            "iota: iota_dimension 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kIota, {}, IotaAttributes{0}, Shape(kF32)), "iota: f32[] has no dimension to count along");
  EXPECT_EQ(Inferred(Opcode::kIota, {}, IotaAttributes{0}, Shape(kPred, {2})), "iota: pred has no consecutive values");
}

TEST(ReverseTest, RejectsDimensionsTwiceOrOutOfRange) {
  EXPECT_EQ(Inferred(Opcode::kReverse, {kF}, DimensionsAttributes{{1, 0}}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kReverse, {kF}, DimensionsAttributes{{1, 1}}), "reverse: dimensions {1,1} names 1 twice");
  EXPECT_EQ(Inferred(Opcode::kReverse, {kF}, DimensionsAttributes{{-1}}),
            "reverse: dimensions -1 is not a dimension of f32[4,8]");
}

TEST(TransposeTest, ResultDimensionIsOperandDimensionOfThePermutation) {
  EXPECT_EQ(Inferred(Opcode::kTranspose, {Shape(kF32, {2, 3, 5})}, DimensionsAttributes{{2, 0, 1}}), "f32[5,2,3]");
  EXPECT_EQ(Inferred(Opcode::kTranspose, {kF}, DimensionsAttributes{{0}}),
            "transpose: dimensions has 1 entries for the 2 dimensions of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kTranspose, {kF}, DimensionsAttributes{{0, 0}}),
            "transpose: dimensions {0,0} names 0 twice");
}

TEST(BitcastTest, KeepsTheSizeInBits) {
  EXPECT_EQ(Inferred(Opcode::kBitcast, {kF}, {}, Shape(kS32, {32})), "s32[32]");
  EXPECT_EQ(Inferred(Opcode::kBitcast, {kF}, {}, Shape(kF64, {32})), "bitcast: f32[4,8] and f64[32] differ in size");
}

TEST(ReshapeTest, TakesAPermutationOfTheDimensions) {
  XlaBuilder builder("t");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {2, 3}));
  EXPECT_EQ(ShapeOrError(Reshape(x, {1, 0}, {6})), "f32[6]");
  XlaBuilder twice("t");
  const XlaOp y = Parameter(&twice, 0, Shape(kF32, {2, 3}));
  EXPECT_EQ(ShapeOrError(Reshape(y, {0, 0}, {6})), "transpose: dimensions {0,0} names 0 twice");
  XlaBuilder beyond("t");
  const XlaOp z = Parameter(&beyond, 0, Shape(kF32, {2, 3}));
  EXPECT_EQ(ShapeOrError(Reshape(z, {0, 5}, {6})), "transpose: dimensions 5 is not a dimension of f32[2,3]");
}

TEST(CollapseTest, TakesConsecutiveDimensions) {
  XlaBuilder builder("collapse");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {4, 2, 3}));
  EXPECT_EQ(ShapeOrError(Collapse(x, {0, 1, 2})), "f32[24]");
  EXPECT_EQ(ShapeOrError(Collapse(x, {0, 1})), "f32[8,3]");
  EXPECT_EQ(ShapeOrError(Collapse(x, {1, 2})), "f32[4,6]");
  EXPECT_EQ(ShapeOrError(Collapse(x, {})), "f32[4,2,3]");
  EXPECT_EQ(ShapeOrError(Collapse(x, {0, 2})), "collapse: dimensions {0,2} are not consecutive ones of f32[4,2,3]");
}

TEST(CollapseTest, RejectsDescendingDimensions) {
  XlaBuilder builder("collapse");
  EXPECT_EQ(ShapeOrError(Collapse(Parameter(&builder, 0, Shape(kF32, {4, 2, 3})), {1, 0})),
            "collapse: dimensions {1,0} are not consecutive ones of f32[4,2,3]");
}

}  // namespace data_movement_infer_test
}  // namespace VXLA_NAMESPACE
