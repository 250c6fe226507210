#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

std::vector<Opcode> AllOpcodes() {
  std::vector<Opcode> opcodes;
  for (int i = 0; i < OpcodeCount(); ++i) opcodes.push_back(static_cast<Opcode>(i));
  return opcodes;
}

TEST(InferShapeTest, ReachesEveryRowAndItsMessagesNameTheOp) {
  const Shape shapes[] = {Shape(kF32, {2, 3}),
                          Shape(kS32),
                          Shape(kPred, {0}),
                          Shape(kC64, {3}),
                          Shape::Token(),
                          Shape::Tuple({}),
                          Shape::Tuple({Shape(kF32, {5}), Shape::Token()})};
  for (Opcode opcode : AllOpcodes()) {
    const int fixed = FactsOf(opcode).operand_count;
    for (int count = fixed < 0 ? 0 : fixed; count <= (fixed < 0 ? 5 : fixed); ++count) {
      for (const Shape& operand : shapes) {
        for (const Shape& stated : shapes) {
          const OneOp op(opcode, std::vector<Shape>(count, operand), NoAttributes{}, stated);
          const Result<Shape> result = op.Infer();
          if (result.ok()) continue;
          EXPECT_THAT(result.status().message(), ::testing::StartsWith(std::string(OpcodeText(opcode)) + ": "));
          EXPECT_NE(result.status().code(), StatusCode::kInternal) << OpcodeText(opcode);
        }
      }
    }
  }
}

TEST(InferShapeTest, RejectsAnotherNumberOfOperandsThanTheRowSays) {
  for (Opcode opcode : AllOpcodes()) {
    const int count = FactsOf(opcode).operand_count;
    if (count < 0) continue;
    EXPECT_EQ(Inferred(opcode, std::vector<Shape>(count + 1, Shape(kF32))),
              fmt::format("{}: {} operands, {} needed", OpcodeText(opcode), count + 1, count));
  }
}

TEST(InferShapeTest, RejectsSizesThatDoNotFit) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF32, {huge, huge})}),
            "negate: the product of the sizes above 0 of f32[1099511627776,1099511627776] exceeds the limit of 2^63-1");
  EXPECT_EQ(
      Inferred(Opcode::kNegate, {Shape(kF32, {0, huge, huge})}),
      "negate: the product of the sizes above 0 of f32[0,1099511627776,1099511627776] exceeds the limit of 2^63-1");
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF64, {int64_t{1} << 61})}),
            "negate: f64[2305843009213693952] takes more than 17592186044416 bytes, the limit of an array");
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF32, std::vector<int64_t>(60000, 1))}),
            "negate: an array of 60000 dimensions, at most 64 are possible");
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF32, {-3})}), "negate: size -3 of dimension 0 is negative");
}

TEST(InferShapeTest, ElementCountsAreChecked) {
  EXPECT_EQ(CheckedElementCount(IntList{3, -2}).status().message(), "dimension -2 of [3,-2] is negative");  // count_c1
  EXPECT_EQ(CheckedElementCount(IntList{int64_t{1} << 62, 2}).status().message(),
            "the element count of [4611686018427387904,2] exceeds the limit of 2^63-1");  // count_c2
}

TEST(InferShapeTest, RejectsUnboundedDimensions) {
  Shape shape(kF32, {kUnboundedSize});
  shape.set_dynamic_dimension(0, true);
  const OneOp op(Opcode::kNegate, {shape});
  EXPECT_EQ(op.Infer().status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(op.Infer().status().message(), "negate: f32[?] has an unbounded dimension, which cannot be compiled");
}

TEST(InferShapeTest, BoundedDynamicDimensionsPropagate) {
  Shape shape(kF32, {5, 7});
  shape.set_dynamic_dimension(1, true);
  EXPECT_EQ(Inferred(Opcode::kAdd, {Shape(kF32, {5, 7}), shape}), "f32[5,<=7]");
  EXPECT_EQ(Inferred(Opcode::kTranspose, {shape}, DimensionsAttributes{{1, 0}}), "f32[<=7,5]");
  EXPECT_EQ(Inferred(Opcode::kSetDimensionSize, {Shape(kF32, {5}), Shape(kS32)}, DimensionsAttributes{{0}}),
            "f32[<=5]");
  EXPECT_EQ(Inferred(Opcode::kGetDimensionSize, {shape}, DimensionsAttributes{{1}}), "s32[]");
  EXPECT_EQ(Inferred(Opcode::kGetDimensionSize, {shape}, DimensionsAttributes{{2}}),
            "get-dimension-size: dimension 2 is not a dimension of f32[5,<=7]");
}

TEST(InferShapeTest, StatedShapesAreNeededWhereTheTextMustStateThem) {
  int inferable = 0;
  for (Opcode opcode : AllOpcodes()) inferable += Has(opcode, Trait::kStatesShape) ? 0 : 1;
  EXPECT_GE(inferable, 85);
  for (Opcode opcode : {Opcode::kReshape, Opcode::kConvert, Opcode::kIota, Opcode::kSlice, Opcode::kParameter}) {
    EXPECT_TRUE(Has(opcode, Trait::kStatesShape)) << OpcodeText(opcode);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
