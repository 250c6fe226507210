#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

const Shape kF = Shape(kF32, {4, 8});

// A computation of one parameter.
XlaComputation Of(const Shape& shape, const std::function<XlaOp(XlaOp)>& body) {
  XlaBuilder builder("body");
  return *builder.Build(body(Parameter(&builder, 0, shape)));
}

TEST(TupleInferTest, NestsAndIndexes) {
  const Shape tuple = Shape::Tuple({kF, Shape::Tuple({Shape::Token()})});
  EXPECT_EQ(Inferred(Opcode::kTuple, {kF, tuple}), "(f32[4,8], (f32[4,8], (token[])))");
  EXPECT_EQ(Inferred(Opcode::kTuple, {}), "()");
  EXPECT_EQ(Inferred(Opcode::kGetTupleElement, {tuple}, GetTupleElementAttributes{1}), "(token[])");
}

TEST(TupleInferTest, RejectsIndicesOutOfRangeAndArrays) {
  EXPECT_EQ(Inferred(Opcode::kGetTupleElement, {Shape::Tuple({kF})}, GetTupleElementAttributes{1}),
            "get-tuple-element: index 1 is not in 0 to 0 of (f32[4,8])");
  EXPECT_EQ(Inferred(Opcode::kGetTupleElement, {Shape::Tuple({kF})}, GetTupleElementAttributes{-1}),
            "get-tuple-element: index -1 is not in 0 to 0 of (f32[4,8])");
  EXPECT_EQ(Inferred(Opcode::kGetTupleElement, {kF}, GetTupleElementAttributes{0}),
            "get-tuple-element: operand 0 is f32[4,8], not a tuple");
}

TEST(TupleInferTest, StopsTuplesThatDoubleAgainAndAgain) {
  XlaBuilder builder("bomb");
  XlaOp op = Parameter(&builder, 0, Shape(kF32));
  for (int i = 0; i < 40; ++i) op = Tuple(&builder, {op, op});
  EXPECT_EQ(builder.first_error().message(), "tuple: more than 65536 elements or 64 levels");
}

TEST(TupleInferTest, StopsTuplesThatNestTooDeep) {
  XlaBuilder builder("deep");
  XlaOp op = Parameter(&builder, 0, Shape(kF32));
  for (int i = 0; i < 100; ++i) op = Tuple(&builder, {op});
  EXPECT_EQ(builder.first_error().message(), "tuple: more than 65536 elements or 64 levels");
}

TEST(ConstantInferTest, RejectsALiteralOfAnotherShape) {
  const auto literal = std::make_shared<const Literal>(Shape(kS32, {3}));
  EXPECT_EQ(Inferred(Opcode::kConstant, {}, ConstantAttributes{literal}, Shape(kS32, {3})), "s32[3]");
  EXPECT_EQ(Inferred(Opcode::kConstant, {}, ConstantAttributes{literal}, kF),
            "constant: a literal of s32[3] for f32[4,8]");
}

TEST(ParameterInferTest, RejectsNegativeNumbers) {
  EXPECT_EQ(Inferred(Opcode::kParameter, {}, ParameterAttributes{0}, kF), "f32[4,8]");
}

TEST(CallInferTest, ChecksArguments) {
  const XlaComputation negate = Of(kF, Neg);
  EXPECT_EQ(Inferred(Opcode::kCall, {kF}, {}, {}, {negate}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kCall, {}, {}, {}, {negate}), "call: computation body has 1 parameters, 0 needed");
  EXPECT_EQ(Inferred(Opcode::kCall, {Shape(kF32, {4, 7})}, {}, {}, {negate}),
            "call: parameter 0 of computation body is f32[4,8], f32[4,7] needed");
  EXPECT_EQ(Inferred(Opcode::kCall, {kF}), "call: 0 called computations, 1 needed");
}

TEST(FusionInferTest, TakesTheFusedComputationsShape) {
  const XlaComputation negate = Of(kF, Neg);
  EXPECT_EQ(Inferred(Opcode::kFusion, {kF}, FusionAttributes{}, {}, {negate}), "f32[4,8]");
  FusionAttributes aliased;
  aliased.output_to_operand_aliasing = {{.output_index = {}, .operand = 1, .operand_index = {}, .kind = {}}};
  EXPECT_EQ(Inferred(Opcode::kFusion, {kF}, aliased, {}, {negate}),
            "fusion: output_to_operand_aliasing names operand 1 of 1");
}

TEST(MapInferTest, AppliesScalarsToAllDimensions) {
  const XlaComputation less = ScalarComputation(kF32, Lt);
  EXPECT_EQ(Inferred(Opcode::kMap, {kF, kF}, DimensionsAttributes{{0, 1}}, {}, {less}), "pred[4,8]");
  EXPECT_EQ(Inferred(Opcode::kMap, {kF, kF}, DimensionsAttributes{{0}}, {}, {less}),
            "map: dimensions has 1 entries for the 2 dimensions of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kMap, {kF, kF}, DimensionsAttributes{{1, 0}}, {}, {less}),
            "map: dimensions {1,0} are not all those of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kMap, {kF, Shape(kF32, {4})}, DimensionsAttributes{{0, 1}}, {}, {less}),
            "map: operand 1 f32[4] and operand 0 f32[4,8] differ in their dimensions");
  EXPECT_EQ(Inferred(Opcode::kMap, {kF}, DimensionsAttributes{{0, 1}}, {}, {less}),
            "map: computation scalar has 2 parameters, 1 needed");
  const XlaComputation many = Of(Shape(kF32), [](XlaOp x) { return Broadcast(x, {3}); });
  EXPECT_EQ(Inferred(Opcode::kMap, {kF}, DimensionsAttributes{{0, 1}}, {}, {many}),
            "map: computation body returns f32[3], a scalar needed");
}

TEST(WhileInferTest, BodyAndConditionTakeTheInitialShape) {
  const XlaComputation more = Of(Shape(kS32), [](XlaOp x) { return Lt(x, ConstantR0<int32_t>(x.builder(), 5)); });
  const XlaComputation step = Of(Shape(kS32), Neg);
  const XlaComputation widen = Of(Shape(kS32), [](XlaOp x) { return ConvertElementType(x, kS64); });
  EXPECT_EQ(Inferred(Opcode::kWhile, {Shape(kS32)}, {}, {}, {more, step}), "s32[]");
  EXPECT_EQ(Inferred(Opcode::kWhile, {Shape(kS32)}, {}, {}, {step, step}),
            "while: computation body returns s32[], pred[] needed");
  EXPECT_EQ(Inferred(Opcode::kWhile, {Shape(kS32)}, {}, {}, {more, widen}),
            "while: computation body.1 returns s64[], s32[] needed");
  EXPECT_EQ(Inferred(Opcode::kWhile, {Shape(kS64)}, {}, {}, {more, step}),
            "while: parameter 0 of computation body is s32[], s64[] needed");
}

TEST(ConditionalInferTest, BranchesReturnOneShape) {
  const XlaComputation negate = Of(kF, Neg);
  const XlaComputation finite = Of(kF, IsFinite);
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kPred), kF, kF}, {}, {}, {negate, negate}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kS32), kF}, {}, {}, {negate}), "f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kPred), kF, kF}, {}, {}, {negate, finite}),
            "conditional: computation body.1 returns pred[4,8], f32[4,8] needed");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kPred), kF}, {}, {}, {negate}),
            "conditional: 1 branches for a pred, 2 needed");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kS64), kF}, {}, {}, {negate}),
            "conditional: operand 0 is s64[], pred[] or s32[] needed");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kS32), kF, kF}, {}, {}, {negate}),
            "conditional: 1 branches for 2 arguments");
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kS32)}), "conditional: no branches");
}

TEST(TokenInferTest, AfterAllTakesTokensAndValues) {
  EXPECT_EQ(Inferred(Opcode::kAfterAll, {Shape::Token(), Shape::Token()}), "token[]");
  EXPECT_EQ(Inferred(Opcode::kAfterAll, {kF, Shape::Token()}), "token[]");
  EXPECT_EQ(Inferred(Opcode::kAddDependency, {kF, Shape::Token()}), "f32[4,8]");
}

TEST(AsyncInferTest, WrapsOperandsAndResult) {
  const XlaComputation finite = Of(kF, IsFinite);
  const Shape context = Shape::Tuple({Shape::Tuple({kF}), Shape(kPred, {4, 8}), Shape(kU32)});
  EXPECT_EQ(Inferred(Opcode::kAsyncStart, {kF}, AsyncAttributes{}, context, {finite}), context.ToString());
  EXPECT_EQ(Inferred(Opcode::kAsyncStart, {kF}, AsyncAttributes{}, Shape::Tuple({kF, kF}), {finite}),
            "async-start: the stated shape (f32[4,8], f32[4,8]) does not begin with (f32[4,8]), pred[4,8]");
  EXPECT_EQ(Inferred(Opcode::kAsyncDone, {context}), "async-done: operand 0 is not an async-start or async-update");
}

TEST(HostTransferInferTest, InfeedAndRecvStateTheirData) {
  const Shape token = Shape::Token();
  EXPECT_EQ(Inferred(Opcode::kInfeed, {token}, {}, Shape::Tuple({kF, token})), "(f32[4,8], token[])");
  EXPECT_EQ(Inferred(Opcode::kInfeed, {token}, {}, kF), "infeed: the stated shape f32[4,8] is not (data, token[])");
  EXPECT_EQ(Inferred(Opcode::kInfeed, {kF}, {}, Shape::Tuple({kF, token})),
            "infeed: operand 0 is f32[4,8], not a token");
  const Shape nested = Shape::Tuple({Shape::Tuple({Shape::Tuple({kF})}), token});
  EXPECT_EQ(Inferred(Opcode::kInfeed, {token}, {}, nested), "infeed: ((f32[4,8])) holds a nested tuple");
  EXPECT_EQ(Inferred(Opcode::kOutfeed, {kF, token}), "token[]");
  OutfeedAttributes other;
  other.outfeed_shape = Shape(kF32);
  EXPECT_EQ(Inferred(Opcode::kOutfeed, {kF, token}, other), "outfeed: outfeed_shape f32[] for f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kSend, {kF, token}), "(f32[4,8], u32[], token[])");
  EXPECT_EQ(Inferred(Opcode::kRecv, {token}, {}, kF), "recv: the stated shape f32[4,8] is not (data, u32[], token[])");
  EXPECT_EQ(Inferred(Opcode::kSendDone, {token}), "send-done: operand 0 is parameter, send needed");
  EXPECT_EQ(Inferred(Opcode::kRecvDone, {token}), "recv-done: operand 0 is parameter, recv needed");
  XlaBuilder builder("transfer");
  EXPECT_EQ(ShapeOrError(Infeed(&builder, kF)), "f32[4,8]");
  EXPECT_EQ(ShapeOrError(Recv(&builder, kF, 1)), "f32[4,8]");
  const XlaOp x = Parameter(&builder, 0, kF);
  EXPECT_EQ(ShapeOrError(Send(x, 1)), "token[]");
  EXPECT_EQ(ShapeOrError(Outfeed(x, kF)), "token[]");
  EXPECT_EQ(ShapeOrError(CustomCall(&builder, "f", {x}, Shape(kS8))), "s8[]");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
