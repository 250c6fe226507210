#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace elementwise_infer_test {

const Shape kF = Shape(kF32, {2, 3}), kS = Shape(kS32, {2, 3}), kU = Shape(kU8, {2, 3}), kP = Shape(kPred, {2, 3}),
            kC = Shape(kC64, {2, 3});

TEST(UnaryInferTest, KeepsShapeAndTypeOfScalarsAndEmptyArrays) {
  for (const Shape& shape : {Shape(kF64), Shape(kF8E4M3FN, {0, 5}), Shape(kBF16, {2, 3, 5, 7, 1, 1})}) {
    EXPECT_EQ(Inferred(Opcode::kExp, {shape}), shape.ToString());
  }
}

TEST(UnaryInferTest, RejectsTuplesAndTokens) {
  EXPECT_EQ(Inferred(Opcode::kExp, {Shape::Tuple({kF})}), "exponential: operand 0 is (f32[2,3]), not an array");
  EXPECT_EQ(Inferred(Opcode::kExp, {Shape::Token()}), "exponential: operand 0 is token[], not an array");
}

TEST(UnaryInferTest, FloatFunctionsRejectIntegers) {
  for (Opcode opcode : {Opcode::kExp, Opcode::kSin, Opcode::kLog, Opcode::kTanh, Opcode::kSqrt, Opcode::kAcosh}) {
    EXPECT_EQ(Inferred(opcode, {kS}),
              fmt::format("{}: operand 0 is of s32, a floating or complex type needed", OpcodeText(opcode)));
    EXPECT_EQ(Inferred(opcode, {kC}), "c64[2,3]");
  }
}

TEST(UnaryInferTest, RoundingErfAndGammaFunctionsRejectComplex) {
  for (Opcode opcode : {Opcode::kFloor, Opcode::kCeil, Opcode::kRoundNearestAfz, Opcode::kRoundNearestEven,
                        Opcode::kErf, Opcode::kErfc, Opcode::kErfInv, Opcode::kLgamma, Opcode::kDigamma}) {
    EXPECT_EQ(Inferred(opcode, {kC}),
              fmt::format("{}: operand 0 is of c64, a floating type needed", OpcodeText(opcode)));
  }
}

TEST(UnaryInferTest, BitFunctionsTakeIntegers) {
  EXPECT_EQ(Inferred(Opcode::kPopulationCount, {kU}), "u8[2,3]");
  EXPECT_EQ(Inferred(Opcode::kClz, {kF}), "count-leading-zeros: operand 0 is of f32, an integer type needed");
  EXPECT_EQ(Inferred(Opcode::kNot, {kP}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kNot, {kF}), "not: operand 0 is of f32, an integer type or pred needed");
}

TEST(UnaryInferTest, SignedFunctionsRejectUnsigned) {
  EXPECT_EQ(Inferred(Opcode::kAbs, {kU}), "abs: operand 0 is of u8, a signed, floating or complex type needed");
  EXPECT_EQ(Inferred(Opcode::kSign, {kU}), "sign: operand 0 is of u8, a signed, floating or complex type needed");
  EXPECT_EQ(Inferred(Opcode::kNegate, {kU}), "u8[2,3]");
  EXPECT_EQ(Inferred(Opcode::kNegate, {kP}),
            "negate: operand 0 is of pred, an integer, floating or complex type needed");
}

TEST(UnaryInferTest, ComplexPartsAreReal) {
  EXPECT_EQ(Inferred(Opcode::kAbs, {kC}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kReal, {Shape(kC128)}), "f64[]");
  EXPECT_EQ(Inferred(Opcode::kImag, {kF}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kImag, {kS}), "imag: operand 0 is of s32, a floating or complex type needed");
}

TEST(UnaryInferTest, IsFiniteGivesPred) {
  EXPECT_EQ(Inferred(Opcode::kIsFinite, {kF}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kIsFinite, {kC}), "is-finite: operand 0 is of c64, a floating type needed");
}

TEST(ConvertInferTest, TakesTheStatedType) {
  EXPECT_EQ(Inferred(Opcode::kConvert, {kF}, {}, Shape(kS4)), "s4[2,3]");
  EXPECT_EQ(Inferred(Opcode::kConvert, {kF}, {}, Shape(kC64)), "c64[2,3]");
  EXPECT_EQ(Inferred(Opcode::kConvert, {kC}, {}, Shape(kC128)), "c128[2,3]");
}

TEST(ConvertInferTest, RejectsComplexToReal) {
  EXPECT_EQ(Inferred(Opcode::kConvert, {kC}, {}, Shape(kF32)),
            "convert: from c64 to f32: take real or imag of a complex array");
}

TEST(ConvertInferTest, RejectsAMissingShape) {
  EXPECT_EQ(Inferred(Opcode::kConvert, {kF}), "convert: the stated shape () is not an array");
}

TEST(ReducePrecisionInferTest, RejectsBitsOutOfRangeAndIntegers) {
  EXPECT_EQ(Inferred(Opcode::kReducePrecision, {kF}, ReducePrecisionAttributes{5, 10}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kReducePrecision, {kF}, ReducePrecisionAttributes{0, 10}),
            "reduce-precision: exponent_bits 0 is below 1");
  EXPECT_EQ(Inferred(Opcode::kReducePrecision, {kF}, ReducePrecisionAttributes{5, -1}),
            "reduce-precision: mantissa_bits -1 is negative");
  EXPECT_EQ(Inferred(Opcode::kReducePrecision, {kS}, ReducePrecisionAttributes{5, 10}),
            "reduce-precision: operand 0 is of s32, a floating type needed");
}

TEST(StochasticConvertInferTest, NeedsRandomBitsOfTheOperandsWidth) {
  EXPECT_EQ(Inferred(Opcode::kStochasticConvert, {kF, Shape(kU32, {2, 3})}, {}, Shape(kS8)), "s8[2,3]");
  EXPECT_EQ(Inferred(Opcode::kStochasticConvert, {kF, kU}, {}, Shape(kS8)),
            "stochastic-convert: operand 1 of u8 has not the width of f32");
}

TEST(BinaryInferTest, HasNoImplicitBroadcasting) {
  EXPECT_EQ(Inferred(Opcode::kAdd, {kF, kF}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kAdd, {kF, Shape(kF32)}),
            "add: operand 0 f32[2,3] and operand 1 f32[] differ in their dimensions");
  EXPECT_EQ(Inferred(Opcode::kAdd, {kF, Shape(kF32, {2, 1})}),
            "add: operand 0 f32[2,3] and operand 1 f32[2,1] differ in their dimensions");
}

TEST(BinaryInferTest, RejectsMixedTypes) {
  EXPECT_EQ(Inferred(Opcode::kMultiply, {kF, kS}), "multiply: operand 0 is of f32, operand 1 of s32");
}

TEST(BinaryInferTest, ChecksTheKindsOfTypes) {
  EXPECT_EQ(Inferred(Opcode::kAdd, {kP, kP}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kSubtract, {kP, kP}),
            "subtract: operand 0 is of pred, an integer, floating or complex type needed");
  EXPECT_EQ(Inferred(Opcode::kDivide, {kP, kP}),
            "divide: operand 0 is of pred, an integer, floating or complex type needed");
  EXPECT_EQ(Inferred(Opcode::kPower, {kP, kP}),
            "power: operand 0 is of pred, an integer, floating or complex type needed");
  EXPECT_EQ(Inferred(Opcode::kRemainder, {kC, kC}),
            "remainder: operand 0 is of c64, an integer or floating type needed");
  EXPECT_EQ(Inferred(Opcode::kMaximum, {kC, kC}), "c64[2,3]");
  EXPECT_EQ(Inferred(Opcode::kMinimum, {kC, kC}), "c64[2,3]");
  EXPECT_EQ(Inferred(Opcode::kAtan2, {kS, kS}), "atan2: operand 0 is of s32, a floating or complex type needed");
  for (Opcode opcode : {Opcode::kAnd, Opcode::kOr, Opcode::kXor}) {
    EXPECT_EQ(Inferred(opcode, {kP, kP}), "pred[2,3]");
    EXPECT_EQ(Inferred(opcode, {kF, kF}),
              fmt::format("{}: operand 0 is of f32, an integer type or pred needed", OpcodeText(opcode)));
  }
  for (Opcode opcode :
       {Opcode::kShiftLeft, Opcode::kShiftRightArithmetic, Opcode::kShiftRightLogical, Opcode::kMulhi}) {
    EXPECT_EQ(Inferred(opcode, {kU, kU}), "u8[2,3]");
    EXPECT_EQ(Inferred(opcode, {kP, kP}),
              fmt::format("{}: operand 0 is of pred, an integer type needed", OpcodeText(opcode)));
  }
}

TEST(CompareInferTest, GivesPred) {
  EXPECT_EQ(Inferred(Opcode::kCompare, {kF, kF}, CompareAttributes{ComparisonDirection::kLt, {}}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kP, kP}, CompareAttributes{ComparisonDirection::kLt, {}}), "pred[2,3]");
}

TEST(CompareInferTest, RejectsOrderOfComplexNumbers) {
  EXPECT_EQ(Inferred(Opcode::kCompare, {kC, kC}, CompareAttributes{ComparisonDirection::kNe, {}}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kC, kC}, CompareAttributes{ComparisonDirection::kGe, {}}),
            "compare: c64 has no order, direction EQ or NE needed");
}

TEST(CompareInferTest, RejectsATypeThatDoesNotFitTheOperands) {
  EXPECT_EQ(Inferred(Opcode::kCompare, {kF, kF}, CompareAttributes{{}, ComparisonType::kTotalOrder}), "pred[2,3]");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kS, kS}, CompareAttributes{{}, ComparisonType::kTotalOrder}),
            "compare: the comparison type does not fit operands of s32");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kU, kU}, CompareAttributes{{}, ComparisonType::kSigned}),
            "compare: the comparison type does not fit operands of u8");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kS, kS}, CompareAttributes{{}, ComparisonType::kUnsigned}),
            "compare: the comparison type does not fit operands of s32");
  EXPECT_EQ(Inferred(Opcode::kCompare, {kS, kS}, CompareAttributes{{}, ComparisonType::kFloat}),
            "compare: the comparison type does not fit operands of s32");
}

TEST(CompareInferTest, TotalOrderOfIntegersIsTheOrdinaryOne) {
  XlaBuilder builder("total");
  const XlaOp x = Parameter(&builder, 0, kS);
  const XlaOp less = LtTotalOrder(x, x);
  EXPECT_EQ(ShapeOrError(less), "pred[2,3]");
  EXPECT_EQ(less.instruction()->attributes<CompareAttributes>().type, ComparisonType::kDefault);
  const XlaOp y = Parameter(&builder, 1, kF);
  EXPECT_EQ(GeTotalOrder(y, y).instruction()->attributes<CompareAttributes>().type, ComparisonType::kTotalOrder);
}

TEST(ComplexInferTest, TakesF32AndF64Only) {
  EXPECT_EQ(Inferred(Opcode::kComplex, {kF, kF}), "c64[2,3]");
  EXPECT_EQ(Inferred(Opcode::kComplex, {Shape(kF64), Shape(kF64)}), "c128[]");
  EXPECT_EQ(Inferred(Opcode::kComplex, {Shape(kF16), Shape(kF16)}), "complex: operand 0 is of f16, f32 or f64 needed");
}

TEST(ClampInferTest, TakesScalarBounds) {
  EXPECT_EQ(Inferred(Opcode::kClamp, {Shape(kF32), kF, kF}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kClamp, {Shape(kF32), kF, Shape(kF32)}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kClamp, {Shape(kF32, {3}), kF, kF}),
            "clamp: operand 0 f32[3] and operand 1 f32[2,3] differ in their dimensions");
  EXPECT_EQ(Inferred(Opcode::kClamp, {kF, Shape(kF32), kF}),
            "clamp: operand 0 f32[2,3] and operand 1 f32[] differ in their dimensions");
  EXPECT_EQ(Inferred(Opcode::kClamp, {kF, kF, Shape(kS32)}), "clamp: operand 2 is of s32, operand 1 of f32");
  EXPECT_EQ(Inferred(Opcode::kClamp, {kC, kC, Shape(kC64)}), "c64[2,3]");
}

TEST(SelectInferTest, TakesAScalarOrAnArrayOfPred) {
  EXPECT_EQ(Inferred(Opcode::kSelect, {Shape(kPred), kF, kF}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kSelect, {kP, kF, kF}), "f32[2,3]");
  EXPECT_EQ(Inferred(Opcode::kSelect, {kS, kF, kF}), "select: operand 0 is of s32, pred needed");
  EXPECT_EQ(Inferred(Opcode::kSelect, {Shape(kPred, {3}), kF, kF}),
            "select: operand 0 pred[3] and operand 1 f32[2,3] differ in their dimensions");
  EXPECT_EQ(Inferred(Opcode::kSelect, {kP, kF, kS}), "select: operand 1 is of f32, operand 2 of s32");
  EXPECT_EQ(Inferred(Opcode::kSelect, {Shape(kPred), Shape::Tuple({}), Shape::Tuple({})}),
            "select: operand 1 is (), not an array");
}

TEST(SelectInferTest, BuilderSelectsTuplesElementByElement) {
  XlaBuilder builder("select");
  const Shape pair = Shape::Tuple({kF, Shape::Tuple({kS})});
  const XlaOp a = Parameter(&builder, 0, pair), b = Parameter(&builder, 1, pair);
  EXPECT_EQ(ShapeOrError(Select(Parameter(&builder, 2, Shape(kPred)), a, b)), "(f32[2,3], (s32[2,3]))");
  EXPECT_EQ(
      ShapeOrError(Select(Parameter(&builder, 3, Shape(kPred, {2})), a, b)),
      "select: pred[2] of (f32[2,3], (s32[2,3])) and (f32[2,3], (s32[2,3])): tuples need one shape and a scalar pred");
}

}  // namespace elementwise_infer_test
}  // namespace VXLA_NAMESPACE
