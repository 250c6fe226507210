// Constraints that no text reaches: those of the builder's functions, and of instructions built without a parser. Each
// expectation stands beside the label of its check.
#include "core/builder/emit.h"
#include "core/builder/math.h"
#include "core/ir/module.h"
#include "core/passes/base/verifier.h"
#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

const Shape kV(kF32, {4}), kM(kF32, {4, 6});

template <typename Build>
std::string Error(Build&& build) {
  XlaBuilder b("b");
  return ShapeOrError(build(b, Parameter(&b, 0, kM)));
}
#define VXLA_ERROR(expression) \
  Error([](XlaBuilder& b, XlaOp m) { return static_cast<void>(b), static_cast<void>(m), expression; })

TEST(BuilderConstraintsTest, Parameters) {
  EXPECT_EQ(VXLA_ERROR(Parameter(&b, -1, kV)), "parameter: number -1 is not in 0 to 1048575");  // parameter_c1
  EXPECT_EQ(VXLA_ERROR(Parameter(&b, 0, kV)), "parameter: number 0 occurs twice");              // parameter_c2
  XlaBuilder gap("gap");
  Parameter(&gap, 1, kV);
  EXPECT_EQ(gap.Build().status().message(), "gap: no parameter has number 0");  // parameter_c3
}

TEST(BuilderConstraintsTest, OpsOfOtherBuilders) {
  XlaBuilder other("other"), empty("empty");
  const XlaOp stranger = Parameter(&other, 0, kM);
  XlaBuilder b("b");
  const XlaOp m = Parameter(&b, 0, kM);
  EXPECT_EQ(b.GetShape(stranger).status().message(), "b: no op of this builder");  // builder_c1
  EXPECT_EQ(Emit(b, Opcode::kNegate, {{stranger}}).status().message(), "negate: operand 0 is no op of builder b");
  EXPECT_EQ(b.Build(stranger).status().message(), "b: the root is no op of this builder");  // builder_c3
  EXPECT_EQ(ShapeOrError(Add(m, stranger)), "operand 1 is no op of builder b");             // builder_c1
  EXPECT_EQ(empty.Build().status().message(), "empty: a computation without ops");          // builder_c2
  EXPECT_EQ(VXLA_ERROR(Map(&b, {m, m}, XlaComputation(), {0, 1})),
            "map: a computation that was never built");  // computation_c1
}

TEST(BuilderConstraintsTest, Broadcasting) {
  EXPECT_EQ(VXLA_ERROR(Add(m, Parameter(&b, 1, kV))),
            "add: 0 broadcast_dimensions for f32[4] and f32[4,6], 1 needed");  // broadcast_c1
  EXPECT_EQ(VXLA_ERROR(Add(m, Parameter(&b, 1, kV), {2})),
            "add: broadcast dimension 2 is not a dimension of f32[4,6]");  // broadcast_c2
  EXPECT_EQ(VXLA_ERROR(Add(Broadcast(m, {2}), m, {2, 1})),
            "add: broadcast_dimensions {2,1} are not strictly increasing");  // broadcast_c3
  EXPECT_EQ(VXLA_ERROR(Add(m, m, {1, 0})),
            "add: broadcast_dimensions {1,0} for f32[4,6] and f32[4,6] of equal rank");  // broadcast_c4
  EXPECT_EQ(VXLA_ERROR(Add(m, Parameter(&b, 1, kV), {1})),
            "add: f32[4,6] and f32[4] are incompatible in dimension 1");                              // broadcast_c5
  EXPECT_EQ(VXLA_ERROR(Add(m, Tuple(&b, {m}))), "add: f32[4,6] and (f32[4,6]) are not both arrays");  // broadcast_c6
  EXPECT_EQ(VXLA_ERROR(BroadcastInDim(m, {4, 6}, {0})), "broadcast: 1 broadcast_dimensions for f32[4,6]");
  EXPECT_EQ(VXLA_ERROR(BroadcastInDim(m, {4, 6}, {0, 2})),
            "broadcast: broadcast dimension 2 is not a dimension of f32[4,6]");
  EXPECT_EQ(VXLA_ERROR(BroadcastInDim(m, {6, 4}, {1, 0})),
            "broadcast: broadcast_dimensions {1,0} are not strictly increasing");
  EXPECT_EQ(VXLA_ERROR(BroadcastInDim(m, {4, 7}, {0, 1})), "broadcast: dimension 1 of f32[4,6] is neither 1 nor 7");
}

TEST(BuilderConstraintsTest, Movement) {
  EXPECT_EQ(VXLA_ERROR(Collapse(m, {1, 0})),
            "collapse: dimensions {1,0} are not consecutive ones of f32[4,6]");          // collapse_c1
  EXPECT_EQ(VXLA_ERROR(Slice(m, {0, 0}, {1})), "slice: 2 starts, 1 limits, 0 strides");  // slice_c1
  EXPECT_EQ(VXLA_ERROR(SliceInDim(m, 0, 1, 1, 2)),
            "slice: dimension 2 is not a dimension of f32[4,6]");  // slice_in_dim_c1
  EXPECT_EQ(VXLA_ERROR(PadInDim(m, ConstantR0<float>(&b, 0), 2, 1, 1)),
            "pad: dimension 2 is not a dimension of f32[4,6]");  // pad_in_dim_c1
  EXPECT_EQ(VXLA_ERROR(DynamicReshape(m, {ConstantR0<int32_t>(&b, 1)}, {24}, {})),
            "dynamic-reshape: 0 flags for 1 dimensions");  // dynamic_reshape_c1
  EXPECT_EQ(VXLA_ERROR(ConstantR2<float>(&b, {{1, 2}, {3}})), "constant: rows of 2 and 1 values");  // constant_c2
  EXPECT_EQ(
      VXLA_ERROR(Select(Eq(m, m), Tuple(&b, {m}), Tuple(&b, {m}))),
      "select: pred[4,6] of (f32[4,6]) and (f32[4,6]): tuples need one shape and a scalar pred");  // select_tuple_c1
  EXPECT_EQ(VXLA_ERROR(Map(&b, {m}, ScalarComputation(kF32), {0, 1}, {m})),
            "map: static operand 0 is f32[4,6], a scalar needed");  // map_static_c1
  EXPECT_EQ(VXLA_ERROR(Sort(Tuple(&b, {m}))),
            "sort: (f32[4,6]) has no order of its own, a comparator is needed");  // sort_order_c1
  EXPECT_EQ(VXLA_ERROR(RngBernoulli(ConstantR0<float>(&b, 0), Shape(kS32, {2}))),
            "rng-bernoulli: mean f32[] and result s32[2], f32[] and u32 needed");  // rng_bernoulli_c1
}

TEST(BuilderConstraintsTest, ProductsWindowsAndShards) {
  EXPECT_EQ(VXLA_ERROR(IsNan(Eq(m, m))),
            "is-nan: the operand is pred[4,6], a floating type needed");  // float_function_c1
  EXPECT_EQ(VXLA_ERROR(ZerosLike(Tuple(&b, {m}))),
            "(f32[4,6]) is not an array to take an element type from");                                // prototype_c1
  EXPECT_EQ(VXLA_ERROR(Dot(ConstantR0<float>(&b, 0), m)), "dot: f32[] has no dimension to contract");  // dot_rank_c1
  const auto window = [](const IntList& sizes, const IntList& strides, Padding padding) {
    XlaBuilder b("b");
    const XlaOp m = Parameter(&b, 0, kM);
    return ShapeOrError(ReduceWindow(m, ConstantR0<float>(&b, 0), ScalarComputation(kF32), sizes, strides, padding));
  };
  EXPECT_EQ(window({2}, {}, Padding::kSame),
            "reduce-window: a window of 1 dimensions and 0 strides for 2 dimensions");  // window_lists_c2
  EXPECT_EQ(window({2, 2}, {0, 1}, Padding::kSame),
            "reduce-window: window stride 0 of dimension 0 is below 1");  // window_c2
  EXPECT_EQ(VXLA_ERROR(ReduceWindowWithGeneralPadding(m, ConstantR0<float>(&b, 0), ScalarComputation(kF32), {2, 2},
                                                      {1, 1}, {1}, {}, {})),
            "reduce-window: 2 strides, 0 paddings, 1 and 0 dilations for a window of 2 dimensions");  // window_lists_c1
  static const PrecisionConfig tf32{{}, "dot_tf32_tf32_f32"};
  EXPECT_EQ(VXLA_ERROR(Conv(Broadcast(m, {1, 1}), Broadcast(m, {1, 1}), {1, 1}, Padding::kValid, 1, 1, &tf32)),
            "convolution: algorithm dot_tf32_tf32_f32 is a dot's");  // conv_algorithm_c1
  static const PrecisionConfig unknown{{}, "dot_f32_f32_f16"};
  EXPECT_THAT(
      VXLA_ERROR(Dot(m, Transpose(m, {1, 0}), &unknown)),
      ::testing::StartsWith("dot: algorithm dot_f32_f32_f16 is none of dot_any_f8_any_f8_f32, "));  // dot_algorithm_c1
  static const DotAttributes ragged{{}, {1}, {}, {2}, {}, "", {0}, {0}};
  EXPECT_EQ(VXLA_ERROR(RaggedDot(m, Broadcast(m, {2}), Iota(&b, kS32, 2), ragged, &tf32)),
            "ragged-dot: algorithm dot_tf32_tf32_f32 is a plain dot's");                                // ragged_dot_c5
  EXPECT_EQ(VXLA_ERROR(AllGather(m, 2, 2)), "all-gather: dimension 2 is not a dimension of f32[4,6]");  // shard_c1
  EXPECT_EQ(VXLA_ERROR(AllGather(m, 0, 0)), "all-gather: shard count 0 is below 1");                    // shard_c2
  EXPECT_EQ(VXLA_ERROR(ReduceScatter(m, ScalarComputation(kF32), 0, 3)),
            "reduce-scatter: dimension 0 of f32[4,6] does not split into 3");  // shard_c3
  EXPECT_EQ(VXLA_ERROR(AllGather(m, 0, INT64_MAX)),
            "all-gather: 9223372036854775807 times dimension 0 of f32[4,6] exceeds the limit of 2^63-1");  // shard_c4
}

TEST(InstructionConstraintsTest, ShapesAndOperandCounts) {
  EXPECT_EQ(Inferred(Opcode::kAdd, {kV}), "add: 1 operands, 2 needed");  // arity_c1
  EXPECT_EQ(Inferred(Opcode::kReduce, {kV, Shape(kF32)}, DimensionsAttributes{{0}}),
            "reduce: 0 called computations, 1 needed");                                                     // called_c1
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF32, {-2})}), "negate: size -2 of dimension 0 is negative");  // shape_c2
  EXPECT_EQ(
      Inferred(Opcode::kNegate, {Shape(kF32, {1LL << 32, 1LL << 32, 0})}),
      "negate: the product of the sizes above 0 of f32[4294967296,4294967296,0] exceeds the limit of 2^63-1");  // shape_c3
  EXPECT_EQ(
      Inferred(Opcode::kNegate, {Shape(kF64, {1LL << 61})}),
      "negate: f64[2305843009213693952] takes more than 17592186044416 bytes, the limit of an array");  // shape_c4
  EXPECT_EQ(Inferred(Opcode::kNegate, {Shape(kF32, std::vector<int64_t>(65, 1))}),
            "negate: an array of 65 dimensions, at most 64 are possible");  // shape_c5
  const Shape wide(kS8, {0, 1LL << 44});
  EXPECT_EQ(Inferred(Opcode::kConcatenate, {wide, wide}, DimensionsAttributes{{1}}),
            "concatenate: the size of dimension 1 exceeds the limit of 2^44");  // concatenate_c5
  EXPECT_EQ(Inferred(Opcode::kConstant, {}, ConstantAttributes{std::make_shared<const Literal>(kV)}, kM),
            "constant: a literal of f32[4] for f32[4,6]");                               // constant_c1
  EXPECT_EQ(Inferred(Opcode::kConditional, {Shape(kS32)}), "conditional: no branches");  // case_c1
  EXPECT_EQ(Inferred(Opcode::kBitcastConvert, {Shape(kF32, {3})}, {}, Shape(kF8E4M3FN)), "f8e4m3fn[3,4]");
}

TEST(InstructionConstraintsTest, ConvolutionLabels) {
  ConvolutionAttributes a;
  const Shape x(kF32, {1, 1, 4});
  EXPECT_EQ(Inferred(Opcode::kConvolution, {x, x}, a), "convolution: dim_labels are missing");  // convolution_c4
  a.dim_labels.emplace();
  a.dim_labels->input_spatial = {2};
  EXPECT_EQ(Inferred(Opcode::kConvolution, {x, x}, a),
            "convolution: dim_labels have 1, 0 and 0 spatial dimensions");  // convolution_c1
}

// Instructions over others than parameters.
struct Chain {
  Chain() : module("m"), main(module.AddComputation("main")) { module.set_entry(main); }
  std::string Infer(Opcode opcode, Instruction* operand, Attributes attributes) {
    const Result<Shape> shape = InferShape(*main->Add(opcode, {}, {operand}, std::move(attributes)));
    return shape.ok() ? shape->ToString() : shape.status().message();
  }
  Module module;
  Computation* main;
};

TEST(InstructionConstraintsTest, DonesAndTheirStarts) {
  Chain c;
  const Shape context = Shape::Tuple({kV, Shape(kU32), Shape::Token()});
  Instruction* token = c.main->Add(Opcode::kAfterAll, Shape::Token());
  Instruction* recv = c.main->Add(Opcode::kRecv, context, {token}, SendRecvAttributes{5, false});
  EXPECT_EQ(c.Infer(Opcode::kRecvDone, recv, SendRecvAttributes{5, false}), "(f32[4], token[])");
  EXPECT_EQ(c.Infer(Opcode::kRecvDone, recv, SendRecvAttributes{6, false}),
            "recv-done: channel_id 6 for the recv of channel_id 5");  // channel_c1
  EXPECT_EQ(c.Infer(Opcode::kRecvDone, token, SendRecvAttributes{}),
            "recv-done: operand 0 is after-all, recv needed");  // done_c1
  Instruction* empty = c.main->Add(Opcode::kRecv, Shape(), {token}, SendRecvAttributes{});
  EXPECT_EQ(c.Infer(Opcode::kRecvDone, empty, SendRecvAttributes{}),
            "recv-done: operand 0 () holds no data");  // recv_done_c1
  Instruction* start = c.main->Add(Opcode::kAllGatherStart, kV, {empty}, CollectiveAttributes{});
  EXPECT_EQ(c.Infer(Opcode::kAllGatherDone, start, DefaultAttributes(Opcode::kAllGatherDone)),
            "all-gather-done: operand 0 f32[4] has no element 1");  // done_c2
}

TEST(InstructionConstraintsTest, ComputationsWithoutRootOrParameter) {
  Module module("m");
  Computation* rootless = module.AddComputation("rootless");
  rootless->Add(Opcode::kParameter, kV, {}, ParameterAttributes{0});
  rootless->set_root(nullptr);
  Computation* gap = module.AddComputation("gap");
  gap->set_root(gap->Add(Opcode::kParameter, kV, {}, ParameterAttributes{1}));
  Computation* main = module.AddComputation("main");
  Instruction* x = main->Add(Opcode::kParameter, kV, {}, ParameterAttributes{0});
  const auto infer = [&](std::vector<Instruction*> operands, Computation* called) {
    return InferShape(*main->Add(Opcode::kCall, {}, std::move(operands), CallAttributes{}, {called}))
        .status()
        .message();
  };
  EXPECT_EQ(infer({x}, rootless), "call: computation rootless has no root");  // signature_c4
  EXPECT_EQ(infer({x, x}, gap), "call: computation gap has no parameter 0");  // signature_c2
}

TEST(InstructionConstraintsTest, TuplesOfTooManyParts) {
  Shape nested(kF32);
  for (int depth = 0; depth < 64; ++depth) nested = Shape::Tuple({nested});
  EXPECT_EQ(Inferred(Opcode::kTuple, {nested}), "tuple: more than 65536 elements or 64 levels");  // tuple_c1
}

}  // namespace
}  // namespace VXLA_NAMESPACE
