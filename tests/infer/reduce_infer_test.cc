#include "tests/infer/infer_test_support.h"

namespace VXLA_NAMESPACE {
namespace reduce_infer_test {

const Shape kF = Shape(kF32, {4, 8});

DotAttributes Dims(IntList lhs_batch, IntList lhs_contracting, IntList rhs_batch, IntList rhs_contracting) {
  DotAttributes attributes;
  attributes.lhs_batch_dims = std::move(lhs_batch);
  attributes.lhs_contracting_dims = std::move(lhs_contracting);
  attributes.rhs_batch_dims = std::move(rhs_batch);
  attributes.rhs_contracting_dims = std::move(rhs_contracting);
  return attributes;
}

TEST(DotInferTest, OrdersBatchThenFreeDimensions) {
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, Shape(kF32, {8, 3})}, Dims({}, {1}, {}, {0})), "f32[4,3]");
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kF32, {5, 2, 3, 7}), Shape(kF32, {7, 11, 2})}, Dims({1}, {3}, {2}, {0})),
            "f32[2,5,3,11]");
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kF32, {3}), Shape(kF32, {3})}, Dims({}, {0}, {}, {0})), "f32[]");
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kF32, {3, 0}), Shape(kF32, {0, 5})}, Dims({}, {1}, {}, {0})), "f32[3,5]");
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kF32, {2}), Shape(kF32, {3})}, Dims({}, {}, {}, {})), "f32[2,3]");
}

TEST(DotInferTest, TakesThePreferredTypeFromTheStatedShape) {
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kBF16, {2}), Shape(kBF16, {2})}, Dims({}, {0}, {}, {0}), Shape(kF32)),
            "f32[]");
  EXPECT_EQ(Inferred(Opcode::kDot, {Shape(kS8, {2}), Shape(kS8, {2})}, Dims({}, {0}, {}, {0}), Shape(kS32)), "s32[]");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({}, {1}, {}, {1}), Shape(kS32)),
            "dot: a result of s32 from operands of f32");
}

TEST(DotInferTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, Shape(kS32, {8})}, Dims({}, {1}, {}, {0})),
            "dot: f32 and s32 are not of one kind");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({}, {1}, {}, {0})),
            "dot: contracting dimension 1 of f32[4,8] and 0 of f32[4,8] differ in size");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({0}, {}, {1}, {})),
            "dot: batch dimension 0 of f32[4,8] and 1 of f32[4,8] differ in size");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({}, {0, 1}, {}, {0})),
            "dot: 2 contracting dimensions of lhs, 1 of rhs");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({0}, {}, {}, {})), "dot: 1 batch dimensions of lhs, 0 of rhs");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({}, {2}, {}, {0})),
            "dot: lhs_batch_dims and lhs_contracting_dims 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Inferred(Opcode::kDot, {kF, kF}, Dims({1}, {1}, {1}, {0})),
            "dot: lhs_batch_dims and lhs_contracting_dims {1,1} names 1 twice");
}

TEST(DotInferTest, BuilderDotContractsTheSecondOfLhsWithTheFirstOfRhs) {
  XlaBuilder builder("dot");
  const XlaOp vector = Parameter(&builder, 0, Shape(kF32, {8}));
  const XlaOp matrix = Parameter(&builder, 1, kF);
  EXPECT_EQ(ShapeOrError(Dot(vector, vector)), "f32[]");
  EXPECT_EQ(ShapeOrError(Dot(matrix, vector)), "f32[4]");
  EXPECT_EQ(ShapeOrError(Dot(matrix, Transpose(matrix, {1, 0}), nullptr, kF64)), "f64[4,4]");
  EXPECT_EQ(ShapeOrError(DotGeneral(matrix, matrix, {{1}, {1}, {0}, {0}})), "f32[4]");
  EXPECT_EQ(ShapeOrError(Dot(Parameter(&builder, 2, Shape(kF32)), vector)), "dot: f32[] has no dimension to contract");
}

TEST(RaggedDotInferTest, HasThreeModes) {
  const Shape groups(kS32, {3});
  DotAttributes rows = Dims({}, {1}, {}, {1});
  rows.lhs_ragged_dims = {0};
  rows.rhs_group_dims = {0};
  EXPECT_EQ(Inferred(Opcode::kRaggedDot, {Shape(kF32, {11, 5}), Shape(kF32, {3, 5, 7}), groups}, rows), "f32[11,7]");
  DotAttributes contracting = Dims({}, {1}, {}, {0});
  contracting.lhs_ragged_dims = {1};
  EXPECT_EQ(Inferred(Opcode::kRaggedDot, {Shape(kF32, {11, 5}), Shape(kF32, {5, 7}), groups}, contracting),
            "f32[3,11,7]");
  rows.rhs_group_dims = {};
  EXPECT_EQ(Inferred(Opcode::kRaggedDot, {Shape(kF32, {11, 5}), Shape(kF32, {3, 5, 7}), groups}, rows),
            "ragged-dot: 0 group dimensions of rhs, 1 needed");
}

std::string Reduced(std::vector<Shape> operands, IntList dimensions, ElementType computation_type = kF32) {
  return Inferred(Opcode::kReduce, std::move(operands), DimensionsAttributes{std::move(dimensions)}, {},
                  {ScalarComputation(computation_type)});
}

TEST(ReduceInferTest, RemovesTheDimensions) {
  EXPECT_EQ(Reduced({Shape(kF32, {2, 3, 5}), Shape(kF32)}, {2, 0}), "f32[3]");
  EXPECT_EQ(Reduced({Shape(kF32, {2, 3}), Shape(kF32)}, {}), "f32[2,3]");
  EXPECT_EQ(Reduced({Shape(kF32, {0, 3}), Shape(kF32)}, {0, 1}), "f32[]");
}

TEST(ReduceInferTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Reduced({kF, Shape(kF32)}, {2}), "reduce: dimensions 2 is not a dimension of f32[4,8]");
  EXPECT_EQ(Reduced({kF, Shape(kF32)}, {1, 1}), "reduce: dimensions {1,1} names 1 twice");
  EXPECT_EQ(Reduced({kF, Shape(kS32)}, {1}), "reduce: operand 1 is of s32, operand 0 of f32");
  EXPECT_EQ(Reduced({kF, kF}, {1}), "reduce: operand 1 is f32[4,8], not a scalar");
  EXPECT_EQ(Reduced({kF, kF, Shape(kF32)}, {1}), "reduce: 3 operands are not N arrays and N initial values");
  EXPECT_EQ(Reduced({kF}, {1}), "reduce: 1 operands, at least 2 needed");
  EXPECT_EQ(Reduced({kF, Shape(kF32, {4, 7}), Shape(kF32), Shape(kF32)}, {1}),
            "reduce: operand 1 f32[4,7] and operand 0 f32[4,8] differ in their dimensions");
}

TEST(ReduceInferTest, ChecksTheComputationsSignature) {
  EXPECT_EQ(Reduced({kF, Shape(kF32)}, {1}, kS32), "reduce: parameter 0 of computation scalar is s32[], f32[] needed");
  EXPECT_EQ(Reduced({kF, kF, Shape(kF32), Shape(kF32)}, {1}), "reduce: computation scalar has 2 parameters, 4 needed");
  EXPECT_EQ(Inferred(Opcode::kReduce, {kF, Shape(kF32)}, DimensionsAttributes{{1}}, {}, {ScalarComputation(kF32, Lt)}),
            "reduce: computation scalar returns pred[], f32[] needed");
  EXPECT_EQ(Inferred(Opcode::kReduce, {kF, Shape(kF32)}, DimensionsAttributes{{1}}),
            "reduce: 0 called computations, 1 needed");
}

TEST(ReduceInferTest, VariadicFormTakesAccumulatorsThenValues) {
  XlaBuilder arg_max("arg_max");
  const XlaOp m = Parameter(&arg_max, 0, Shape(kF32)), i = Parameter(&arg_max, 1, Shape(kS32));
  const XlaOp v = Parameter(&arg_max, 2, Shape(kF32)), j = Parameter(&arg_max, 3, Shape(kS32));
  const XlaOp first = Ge(m, v);
  Tuple(&arg_max, {Select(first, m, v), Select(first, i, j)});
  XlaBuilder builder("main");
  const XlaOp x = Parameter(&builder, 0, kF);
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  const XlaOp zero_index = ConstantR0<int32_t>(&builder, 0);
  const XlaOp indices = Iota(&builder, Shape(kS32, {4, 8}), 1);
  EXPECT_EQ(ShapeOrError(Reduce(&builder, {x, indices}, {zero, zero_index}, *arg_max.Build(), {1})),
            "(f32[4], s32[4])");
}

std::string Windowed(const Shape& shape, Window window) {
  return Inferred(Opcode::kReduceWindow, {shape, Shape(shape.element_type())}, WindowAttributes{std::move(window)}, {},
                  {ScalarComputation(shape.element_type())});
}

TEST(ReduceWindowInferTest, CountsPositions) {
  EXPECT_EQ(Windowed(Shape(kF32, {4, 6}), {{.size = 2, .stride = 2}, {.size = 3, .stride = 3}}), "f32[2,2]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 3, .stride = 2, .pad_low = 1, .pad_high = 1}}), "f32[3]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 3, .lhs_dilate = 2, .rhs_dilate = 3}}), "f32[3]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 2, .pad_low = -2, .pad_high = -1}}), "f32[1]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 2, .pad_low = -9}}), "f32[0]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 7}}), "f32[0]");
  EXPECT_EQ(Windowed(Shape(kF32, {0}), {{.size = 2, .pad_low = 3}}), "f32[2]");
  EXPECT_EQ(Windowed(Shape(kF32), {}), "f32[]");
}

TEST(ReduceWindowInferTest, RejectsWindowsBelowOne) {
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 0}}), "reduce-window: window size 0 of dimension 0 is below 1");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.stride = 0}}), "reduce-window: window stride 0 of dimension 0 is below 1");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.lhs_dilate = -1}}),
            "reduce-window: base dilation -1 of dimension 0 is below 1");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.rhs_dilate = 0}}),
            "reduce-window: window dilation 0 of dimension 0 is below 1");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {}), "reduce-window: window has 0 entries for the 1 dimensions of f32[5]");
}

TEST(ReduceWindowInferTest, IsExactForHostileSizes) {
  const int64_t most = int64_t{1} << 44;
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = INT64_MAX, .rhs_dilate = INT64_MAX}}),
            "reduce-window: 9223372036854775807 in the window's dimension 0 exceeds the limit of 2^44");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.pad_low = INT64_MIN, .pad_high = INT64_MAX}}),
            "reduce-window: -9223372036854775808 in the window's dimension 0 exceeds the limit of 2^44");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = most, .rhs_dilate = most}}),
            "reduce-window: the padded or dilated size of dimension 0 exceeds the limit of 2^61");
  EXPECT_EQ(Windowed(Shape(kF32, {most / 4}), {{.lhs_dilate = most}}),
            "reduce-window: the padded or dilated size of dimension 0 exceeds the limit of 2^61");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.pad_low = -most, .pad_high = -most}}), "f32[0]");
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.size = 1, .stride = most, .lhs_dilate = most}}), "f32[5]");
}

TEST(ReduceWindowInferTest, RejectsReversalAndComputationsOfOtherTypes) {
  EXPECT_EQ(Windowed(Shape(kF32, {5}), {{.reversal = true}}), "reduce-window: a reversed window has no meaning here");
  EXPECT_EQ(Inferred(Opcode::kReduceWindow, {Shape(kF32, {5}), Shape(kF32)}, WindowAttributes{{{.size = 2}}}, {},
                     {ScalarComputation(kS32)}),
            "reduce-window: parameter 0 of computation scalar is s32[], f32[] needed");
}

TEST(ReduceWindowInferTest, SamePaddingGivesTheLargerHalfToTheHighEnd) {
  XlaBuilder builder("same");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {5}));
  const XlaOp y = Parameter(&builder, 1, Shape(kF32, {4}));
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  auto window_of = [](XlaOp op) { return op.instruction()->attributes<WindowAttributes>().window[0]; };
  const XlaOp a = ReduceWindow(x, zero, ScalarComputation(kF32), {3}, {2}, Padding::kSame);
  EXPECT_EQ(ShapeOrError(a), "f32[3]");
  EXPECT_EQ(window_of(a), (WindowDimension{.size = 3, .stride = 2, .pad_low = 1, .pad_high = 1}));
  const XlaOp b = ReduceWindow(y, zero, ScalarComputation(kF32), {2}, {1}, Padding::kSame);
  EXPECT_EQ(ShapeOrError(b), "f32[4]");
  EXPECT_EQ(window_of(b), (WindowDimension{.size = 2, .stride = 1, .pad_low = 0, .pad_high = 1}));
  EXPECT_EQ(ShapeOrError(ReduceWindow(x, zero, ScalarComputation(kF32), {3}, {2}, Padding::kValid)), "f32[2]");
  EXPECT_EQ(ShapeOrError(ReduceWindow(x, zero, ScalarComputation(kF32), {3, 3}, {2}, Padding::kSame)),
            "reduce-window: a window of 2 dimensions and 1 strides for 1 dimensions");
}

TEST(SelectAndScatterInferTest, SourceHasTheShapeOfTheWindows) {
  const Window window{{.size = 2, .stride = 2}, {.size = 3, .stride = 3}};
  auto infer = [&](const Shape& source, const XlaComputation& select) {
    return Inferred(Opcode::kSelectAndScatter, {Shape(kF32, {4, 6}), source, Shape(kF32)}, WindowAttributes{window}, {},
                    {select, ScalarComputation(kF32)});
  };
  EXPECT_EQ(infer(Shape(kF32, {2, 2}), ScalarComputation(kF32, Ge)), "f32[4,6]");
  EXPECT_EQ(infer(Shape(kF32, {2, 3}), ScalarComputation(kF32, Ge)),
            "select-and-scatter: source f32[2,3] is not f32[2,2], the windows' shape");
  EXPECT_EQ(infer(Shape(kF32, {2, 2}), ScalarComputation(kF32)),
            "select-and-scatter: computation scalar returns f32[], pred[] needed");
}

}  // namespace reduce_infer_test
}  // namespace VXLA_NAMESPACE
