// The worked examples of the operation semantics: shapes, moving elements, products, reductions, with the document's
// numbers.
#include <cmath>

#include "core/builder/xla_names.h"
#include "core/ir/module.h"
#include "tests/spec/spec_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

const char* const kV =
    "f32[4,2,3]{{{10,11,12},{15,16,17}},{{20,21,22},{25,26,27}},{{30,31,32},{35,36,37}},"
    "{{40,41,42},{45,46,47}}}";
const char* const kRow24 = "10,11,12,15,16,17,20,21,22,25,26,27,30,31,32,35,36,37,40,41,42,45,46,47";
const char* const kB = "f32[4,3]{{0,1,2},{3,4,5},{6,7,8},{9,10,11}}";

TEST(BroadcastingExampleTest, VectorScalarAndCompositions) {
  Program p;
  const XlaOp m = p.Arg("s32[2,3]{{1,2,3},{4,5,6}}"), v = p.Arg("s32[3]{7,8,9}");
  EXPECT_EQ(p.Run(Add(m, v, {1})), "s32[2,3]{{8,10,12},{11,13,15}}");
  EXPECT_EQ(p.Run(Add(m, ConstantR0<int32_t>(p.b(), 7))), "s32[2,3]{{8,9,10},{11,12,13}}");
  const XlaOp zeros = p.Arg("s32[3,3]{{0,0,0},{0,0,0},{0,0,0}}");
  EXPECT_EQ(p.Run(Add(zeros, v, {1})), "s32[3,3]{{7,8,9},{7,8,9},{7,8,9}}");
  EXPECT_EQ(p.Run(Add(zeros, v, {0})), "s32[3,3]{{7,7,7},{8,8,8},{9,9,9}}");
  EXPECT_EQ(p.Run(Add(p.Arg("s32[4]{1,2,3,4}"), p.Arg("s32[1,2]{{5,6}}"), {0})), "s32[4,2]{{6,7},{7,8},{8,9},{9,10}}");
  const XlaOp cuboid = p.Arg("s32[4,3,1]{{{0},{10},{20}},{{30},{40},{50}},{{60},{70},{80}},{{90},{100},{110}}}");
  EXPECT_EQ(p.Run(Add(p.Arg("s32[1,2]{{1,2}}"), cuboid, {1, 2})),
            "s32[4,3,2]{{{1,2},{11,12},{21,22}},{{31,32},{41,42},{51,52}},{{61,62},{71,72},{81,82}},"
            "{{91,92},{101,102},{111,112}}}");
  EXPECT_EQ(p.Run(Mul(p.Arg("s32[2,1]{{2},{3}}"), p.Arg("s32[1,3]{{5,7,11}}"))), "s32[2,3]{{10,14,22},{15,21,33}}");
}

TEST(BroadcastExampleTest, ScalarBecomesAMatrix) {
  Program p;
  EXPECT_EQ(p.Run(Broadcast(p.Arg("f32[]2"), {2, 3})), "f32[2,3]{{2,2,2},{2,2,2}}");
  EXPECT_EQ(p.Run(Broadcast(p.Arg("f32[2]{1,2}"), {2})), "f32[2,2]{{1,2},{1,2}}");  // new dimensions on the left
  EXPECT_EQ(p.Run(BroadcastInDim(p.Arg("f32[2,1]{{1},{2}}"), {2, 2, 3}, {0, 2})),
            "f32[2,2,3]{{{1,1,1},{1,1,1}},{{2,2,2},{2,2,2}}}");
}

TEST(CollapseExampleTest, ThreeSetsOfDimensions) {
  Program p;
  const XlaOp v = p.Arg(kV);
  EXPECT_EQ(p.Run(Collapse(v, {0, 1, 2})), std::string("f32[24]{") + kRow24 + "}");
  EXPECT_EQ(p.Run(Collapse(v, {0, 1})),
            "f32[8,3]{{10,11,12},{15,16,17},{20,21,22},{25,26,27},{30,31,32},{35,36,37},{40,41,42},{45,46,47}}");
  EXPECT_EQ(p.Run(Collapse(v, {1, 2})),
            "f32[4,6]{{10,11,12,15,16,17},{20,21,22,25,26,27},{30,31,32,35,36,37},{40,41,42,45,46,47}}");
  Program q;
  EXPECT_EQ(ErrorOf(Collapse(q.Arg(kV), {1, 0})), "collapse: dimensions {1,0} are not consecutive ones of f32[4,2,3]");
  Program r;
  EXPECT_EQ(ErrorOf(Collapse(r.Arg(kV), {0, 2})), "collapse: dimensions {0,2} are not consecutive ones of f32[4,2,3]");
}

TEST(ReshapeExampleTest, InOrderAndOutOfOrder) {
  Program p;
  const XlaOp v = p.Arg(kV);
  EXPECT_EQ(p.Run(Reshape(v, {0, 1, 2}, {24})), std::string("f32[24]{") + kRow24 + "}");
  EXPECT_EQ(p.Run(Reshape(v, {0, 1, 2}, {8, 3})), p.Run(Collapse(v, {0, 1})));
  EXPECT_EQ(p.Run(Reshape(v, {1, 2, 0}, {24})),
            "f32[24]{10,20,30,40,11,21,31,41,12,22,32,42,15,25,35,45,16,26,36,46,17,27,37,47}");
  EXPECT_EQ(p.Run(Reshape(v, {1, 2, 0}, {8, 3})),
            "f32[8,3]{{10,20,30},{40,11,21},{31,41,12},{22,32,42},{15,25,35},{45,16,26},{36,46,17},{27,37,47}}");
  EXPECT_EQ(p.Run(Reshape(v, {1, 2, 0}, {2, 6, 2})),
            "f32[2,6,2]{{{10,20},{30,40},{11,21},{31,41},{12,22},{32,42}},{{15,25},{35,45},{16,26},{36,46},{17,27},"
            "{37,47}}}");
  EXPECT_EQ(p.Run(Reshape(p.Arg("f32[1,1]{{5}}"), {0, 1}, {})), "f32[]5");
  EXPECT_EQ(p.Run(Reshape(p.Arg("f32[]5"), {}, {1, 1})), "f32[1,1]{{5}}");
}

TEST(ConcatenateExampleTest, OneAndTwoDimensions) {
  Program p;
  EXPECT_EQ(p.Run(ConcatInDim(p.b(), {p.Arg("s32[2]{2,3}"), p.Arg("s32[2]{4,5}"), p.Arg("s32[2]{6,7}")}, 0)),
            "s32[6]{2,3,4,5,6,7}");
  EXPECT_EQ(p.Run(ConcatInDim(p.b(), {p.Arg("s32[3,2]{{1,2},{3,4},{5,6}}"), p.Arg("s32[1,2]{{7,8}}")}, 0)),
            "s32[4,2]{{1,2},{3,4},{5,6},{7,8}}");
}

TEST(ConvertExampleTest, IntegersBecomeFloats) {
  Program p;
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("s32[3]{0,1,2}"), F32)), "f32[3]{0,1,2}");
}

TEST(BitcastConvertExampleTest, TextOfTheDocument) {
  EXPECT_EQ(RunText("input = f32[2]{0} parameter(0)\n ROOT output = f16[2,2]{1,0} bitcast-convert(f32[2]{0} %input)",
                    {"f32[2]{1,2}"}),
            "f16[2,2]{{0,1.875},{0,2}}");
  EXPECT_EQ(
      RunText("input = f16[2,2]{1,0} parameter(0)\n ROOT output = f32[2]{0} bitcast-convert(f16[2,2]{1,0} %input)",
              {"f16[2,2]{{0,1.875},{0,2}}"}),
      "f32[2]{1,2}");
}

TEST(DotGeneralExampleTest, ContractingAndBatchDimensions) {
  Program p;
  DotDimensionNumbers dnums;
  dnums.add_lhs_contracting_dimensions(1);
  dnums.add_rhs_contracting_dimensions(1);
  EXPECT_EQ(p.Run(DotGeneral(p.Arg("f32[2,3]{{1,2,3},{4,5,6}}"), p.Arg("f32[2,3]{{1,1,1},{2,2,2}}"), dnums)),
            "f32[2,2]{{6,12},{15,30}}");
  DotDimensionNumbers batch;
  batch.add_lhs_contracting_dimensions(2);
  batch.add_rhs_contracting_dimensions(1);
  batch.add_lhs_batch_dimensions(0);
  batch.add_rhs_batch_dimensions(0);
  const XlaOp lhs = p.Arg("f32[2,2,2]{{{1,2},{3,4}},{{5,6},{7,8}}}");
  const XlaOp rhs = p.Arg("f32[2,2,2]{{{1,0},{0,1}},{{1,0},{0,1}}}");
  EXPECT_EQ(p.Run(DotGeneral(lhs, rhs, batch)), "f32[2,2,2]{{{1,2},{3,4}},{{5,6},{7,8}}}");
  // [b0, b1, m, k] dot [b0, b1, k, n]
  DotDimensionNumbers two{{3}, {2}, {0, 1}, {0, 1}};
  EXPECT_EQ(p.Run(DotGeneral(Reshape(lhs, {2, 1, 2, 2}), Reshape(lhs, {2, 1, 2, 2}), two)),
            "f32[2,1,2,2]{{{{7,10},{15,22}}},{{{67,78},{91,106}}}}");
}

TEST(DynamicSliceExampleTest, OneAndTwoDimensions) {
  Program p;
  const XlaOp a = p.Arg("f32[5]{0,1,2,3,4}"), b = p.Arg(kB), two = p.Arg("s32[]2"), one = p.Arg("s32[]1");
  EXPECT_EQ(p.Run(DynamicSlice(a, {two}, {2})), "f32[2]{2,3}");
  EXPECT_EQ(p.Run(DynamicSlice(b, {two, one}, {2, 2})), "f32[2,2]{{7,8},{10,11}}");
  EXPECT_EQ(p.Run(DynamicSlice(b, p.Arg("s32[2]{2,1}"), {2, 2})), "f32[2,2]{{7,8},{10,11}}");
  EXPECT_EQ(p.Run(DynamicUpdateSlice(a, p.Arg("f32[2]{5,6}"), {two})), "f32[5]{0,1,5,6,4}");
  EXPECT_EQ(p.Run(DynamicUpdateSlice(b, p.Arg("f32[3,2]{{12,13},{14,15},{16,17}}"), {one, one})),
            "f32[4,3]{{0,1,2},{3,12,13},{6,14,15},{9,16,17}}");
}

TEST(SliceExampleTest, OneAndTwoDimensions) {
  Program p;
  EXPECT_EQ(p.Run(Slice(p.Arg("f32[5]{0,1,2,3,4}"), {2}, {4})), "f32[2]{2,3}");
  EXPECT_EQ(p.Run(Slice(p.Arg(kB), {2, 1}, {4, 3})), "f32[2,2]{{7,8},{10,11}}");
}

// Slices of [8,6] out of [16,11]: the value at [X, Y] is 11 X + Y.
Literal Numbered(int64_t rows, int64_t columns) {
  Literal literal{Shape(kS32, {rows, columns})};
  for (int64_t i = 0; i < rows * columns; ++i) literal.SetInt(i, i);
  return literal;
}

TEST(GatherExampleTest, FiveSlices) {
  Program p;
  GatherDimensionNumbers numbers;
  numbers.offset_dims = {1, 2};
  numbers.start_index_map = {0, 1};
  numbers.index_vector_dim = 1;
  const int64_t starts[5][2] = {{0, 0}, {8, 5}, {3, 2}, {1, 4}, {7, 0}};
  const XlaOp indices = p.Arg("s64[5,2]{{0,0},{8,5},{3,2},{1,4},{7,0}}");
  const Literal got = p.RunLiteral(Gather(p.Arg(Numbered(16, 11)), indices, numbers, {8, 6}));
  ASSERT_EQ(got.shape().ToString(), "s32[5,8,6]");
  for (int64_t i = 0; i < 5 * 8 * 6; ++i) {
    const int64_t g = i / 48, o0 = i / 6 % 8, o1 = i % 6;
    EXPECT_EQ(got.GetInt(i), (starts[g][0] + o0) * 11 + starts[g][1] + o1);
  }
}

TEST(GatherExampleTest, IndicesOfTwoBatchDimensions) {
  Program p;
  GatherDimensionNumbers numbers;
  numbers.offset_dims = {2, 3};
  numbers.start_index_map = {0, 1};
  numbers.index_vector_dim = 2;
  Literal starts{Shape(kS64, {4, 5, 2})};
  for (int64_t i = 0; i < 20; ++i) {
    starts.SetInt(2 * i, i % 9);
    starts.SetInt(2 * i + 1, i % 6);
  }
  const Literal got = p.RunLiteral(Gather(p.Arg(Numbered(16, 11)), p.Arg(starts), numbers, {8, 6}));
  ASSERT_EQ(got.shape().ToString(), "s32[4,5,8,6]");
  for (int64_t i = 0; i < 20 * 48; ++i) {
    const int64_t g = i / 48, o0 = i / 6 % 8, o1 = i % 6;
    EXPECT_EQ(got.GetInt(i), (g % 9 + o0) * 11 + g % 6 + o1);
  }
}

TEST(GatherExampleTest, RowsAsInGatherNd) {
  Program p;
  GatherDimensionNumbers numbers;
  numbers.offset_dims = {2};
  numbers.collapsed_slice_dims = {0};
  numbers.start_index_map = {0};
  numbers.index_vector_dim = 2;
  EXPECT_EQ(p.Run(Gather(p.Arg(kB), p.Arg("s32[2,1,1]{{{3}},{{1}}}"), numbers, {1, 3})),
            "f32[2,1,3]{{{9,10,11}},{{3,4,5}}}");
}

TEST(GetTupleElementExampleTest, IndexesATuple) {
  Program p;
  const XlaOp t = Tuple(p.b(), {p.Arg("f32[10]{0,1,2,3,4,5,6,7,8,9}"), p.Arg("s32[]5")});
  EXPECT_EQ(p.Run(GetTupleElement(t, 1)), "s32[]5");
}

TEST(IotaExampleTest, AlongEachDimension) {
  Program p;
  EXPECT_EQ(p.Run(Iota(p.b(), Shape(S32, {4, 8}), 0)),
            "s32[4,8]{{0,0,0,0,0,0,0,0},{1,1,1,1,1,1,1,1},{2,2,2,2,2,2,2,2},{3,3,3,3,3,3,3,3}}");
  EXPECT_EQ(p.Run(Iota(p.b(), Shape(S32, {4, 8}), 1)),
            "s32[4,8]{{0,1,2,3,4,5,6,7},{0,1,2,3,4,5,6,7},{0,1,2,3,4,5,6,7},{0,1,2,3,4,5,6,7}}");
}

TEST(MapExampleTest, ThreeOperandsAndAParameter) {
  XlaBuilder body("body");
  std::vector<XlaOp> x;
  for (int64_t i = 0; i < 4; ++i) x.push_back(Parameter(&body, i, Shape(S32)));
  const XlaComputation computation = *body.Build(Add(Mul(Add(x[0], x[1]), x[2]), x[3]));
  Program p;
  const XlaOp op1 = p.Arg("s32[3]{1,2,3}"), op2 = p.Arg("s32[3]{4,5,6}"), op3 = p.Arg("s32[3]{10,100,1000}");
  EXPECT_EQ(p.Run(Map(p.b(), {op1, op2, op3}, computation, {0}, {p.Arg("s32[]7")})), "s32[3]{57,707,9007}");
}

TEST(ReduceExampleTest, MatrixAndCuboid) {
  Program p;
  const XlaOp zero = ConstantR0<float>(p.b(), 0), m = p.Arg("f32[2,3]{{1,2,3},{4,5,6}}");
  EXPECT_EQ(p.Run(Reduce(m, zero, Scalar(F32), {0})), "f32[3]{5,7,9}");
  EXPECT_EQ(p.Run(Reduce(m, zero, Scalar(F32), {1})), "f32[2]{6,15}");
  const XlaOp c = Broadcast(m, {4});
  EXPECT_EQ(p.Run(Reduce(c, zero, Scalar(F32), {0})), "f32[2,3]{{4,8,12},{16,20,24}}");
  EXPECT_EQ(p.Run(Reduce(c, zero, Scalar(F32), {2})), "f32[4,2]{{6,15},{6,15},{6,15},{6,15}}");
  EXPECT_EQ(p.Run(Reduce(c, zero, Scalar(F32), {0, 1})), "f32[3]{20,28,36}");
  EXPECT_EQ(p.Run(Reduce(c, zero, Scalar(F32), {0, 1, 2})), "f32[]84");
}

TEST(ReduceExampleTest, VariadicMaximumAndItsIndex) {
  XlaBuilder f("f");  // f(max, argmax, value, index)
  const XlaOp max = Parameter(&f, 0, Shape(F32)), argmax = Parameter(&f, 1, Shape(S32));
  const XlaOp value = Parameter(&f, 2, Shape(F32)), index = Parameter(&f, 3, Shape(S32));
  const XlaOp take = Ge(value, max);
  const XlaComputation computation = *f.Build(Tuple(&f, {Select(take, value, max), Select(take, index, argmax)}));
  Program p;
  const XlaOp v = p.Arg("f32[6]{3,1,4,1,5,2}");
  EXPECT_EQ(p.Run(Reduce(p.b(), {v, Iota(p.b(), S32, 6)},
                         {ConstantLiteral(p.b(), LiteralUtil::MinValue(F32)), ConstantR0<int32_t>(p.b(), -1)},
                         computation, {0})),
            "(f32[]5,s32[]4)");
}

TEST(ReduceWindowExampleTest, MaximumOfDisjointWindows) {
  XlaComputation max;
  {
    XlaBuilder builder("max");
    const XlaOp y = Parameter(&builder, 0, ShapeUtil::MakeShape(F32, {}), "y");
    const XlaOp x = Parameter(&builder, 1, ShapeUtil::MakeShape(F32, {}), "x");
    Max(y, x);
    max = builder.Build().value();
  }
  Program p;
  const XlaOp input = p.Arg("f32[4,6]{{1,2,3,4,5,6},{7,9,8,12,11,10},{-1,-2,-3,-4,-5,-6},{-7,-8,-9,-10,-11,-3}}");
  EXPECT_EQ(p.Run(ReduceWindow(input, /*init_val=*/ConstantLiteral(p.b(), LiteralUtil::MinValue(F32)), max,
                               /*window_dimensions=*/{2, 3}, /*window_stride_dimensions=*/{2, 3}, Padding::kValid)),
            "f32[2,2]{{9,12},{-1,-3}}");
  // Stride 1 beside stride 2.
  EXPECT_EQ(p.Run(ReduceWindow(input, ConstantLiteral(p.b(), LiteralUtil::MinValue(F32)), max, {4, 3}, {1, 1},
                               Padding::kValid)),
            "f32[1,4]{{9,12,12,12}}");
}

TEST(SelectExampleTest, ArraysScalarPredAndTuples) {
  Program p;
  const XlaOp v1 = p.Arg("s32[4]{1,2,3,4}"), v2 = p.Arg("s32[4]{100,200,300,400}");
  EXPECT_EQ(p.Run(Select(p.Arg("pred[4]{1,0,0,1}"), v1, v2)), "s32[4]{1,200,300,4}");
  const XlaOp yes = p.Arg("pred[]true");
  EXPECT_EQ(p.Run(Select(yes, v1, v2)), "s32[4]{1,2,3,4}");
  EXPECT_EQ(p.Run(Select(yes, Tuple(p.b(), {v1, v2}), Tuple(p.b(), {v2, v1}))),
            "(s32[4]{1,2,3,4},s32[4]{100,200,300,400})");
}

TEST(SelectAndScatterExampleTest, AnElementSelectedTwiceTakesBoth) {
  Program p;
  const XlaOp operand = p.Arg("f32[4,5]{{7,2,5,3,8},{3,8,9,3,4},{1,5,7,5,6},{0,6,2,10,2}}");
  EXPECT_EQ(p.Run(SelectAndScatter(operand, Scalar(F32, Ge), {2, 3}, {2, 2}, Padding::kValid,
                                   p.Arg("f32[2,2]{{2,6},{3,1}}"), ConstantR0<float>(p.b(), 0), Scalar(F32))),
            "f32[4,5]{{0,0,0,0,0},{0,0,8,0,0},{0,0,3,0,0},{0,0,0,1,0}}");
}

TEST(SortExampleTest, ThreeOperandsByTheFirst) {
  XlaBuilder compare("compare");
  std::vector<XlaOp> x;
  const ElementType types[] = {S32, S32, F32};
  for (int64_t i = 0; i < 6; ++i) x.push_back(Parameter(&compare, i, Shape(types[i / 2])));
  const XlaComputation less = *compare.Build(Lt(x[0], x[1]));
  Program p;
  EXPECT_EQ(p.Run(Sort({p.Arg("s32[2]{3,1}"), p.Arg("s32[2]{42,50}"), p.Arg("f32[2]{-3,1.1}")}, less)),
            "(s32[2]{1,3},s32[2]{50,42},f32[2]{1.1,-3})");
  // The older document's form, and each row or each column of a matrix.
  EXPECT_EQ(p.Run(Sort(p.Arg("f32[5]{3,-0,nan,0,-inf}"))), "f32[5]{-inf,-0,0,3,nan}");
  const XlaOp m = p.Arg("s32[2,2]{{4,3},{1,2}}");
  EXPECT_EQ(p.Run(Sort({m}, Scalar(S32, Lt), 0)), "s32[2,2]{{1,2},{4,3}}");
  EXPECT_EQ(p.Run(Sort({m}, Scalar(S32, Lt), 1)), "s32[2,2]{{3,4},{1,2}}");
}

TEST(ReversePadTransposeExampleTest, IndicesAsDefined) {
  Program p;
  const XlaOp m = p.Arg("s32[2,3]{{1,2,3},{4,5,6}}");
  EXPECT_EQ(p.Run(Rev(m, {1})), "s32[2,3]{{3,2,1},{6,5,4}}");
  EXPECT_EQ(p.Run(Rev(m, {0, 1})), "s32[2,3]{{6,5,4},{3,2,1}}");
  const XlaOp zero = ConstantR0<int32_t>(p.b(), 0);
  EXPECT_EQ(p.Run(Pad(m, zero, {{0, 0, 0}, {0, 0, 0}})), p.Run(m));
  EXPECT_EQ(p.Run(Pad(m, zero, {{1, 0, 1}, {0, 1, 0}})), "s32[4,4]{{0,0,0,0},{1,2,3,0},{0,0,0,0},{4,5,6,0}}");
}

// The pseudo-code of a two-dimensional convolution, as written.
TEST(ConvolutionExampleTest, PseudoCodeWithPaddingAndStride) {
  const int batch = 2, in = 3, out = 5, height = 7, width = 6, kernel_y = 3, kernel_x = 2;
  const int stride_y = 2, stride_x = 1, pad_y[] = {1, 2}, pad_x[] = {2, 0};
  Literal input{Shape(F32, {batch, in, height, width})}, kernel{Shape(F32, {out, in, kernel_y, kernel_x})};
  for (int64_t i = 0; i < input.element_count(); ++i) input.SetDouble(i, static_cast<double>(i * 7 % 13) - 6);
  for (int64_t i = 0; i < kernel.element_count(); ++i) kernel.SetDouble(i, static_cast<double>(i * 5 % 11) - 5);
  Program p;
  const Literal got = p.RunLiteral(ConvWithGeneralPadding(p.Arg(input), p.Arg(kernel), {stride_y, stride_x},
                                                          {{pad_y[0], pad_y[1]}, {pad_x[0], pad_x[1]}}));
  const int64_t rows = (height + pad_y[0] + pad_y[1] - kernel_y) / stride_y + 1;
  const int64_t columns = width + pad_x[0] + pad_x[1] - kernel_x + 1;
  ASSERT_EQ(got.shape(), Shape(F32, {batch, out, rows, columns}));
  for (int64_t at = 0; at < got.element_count(); ++at) {
    const int64_t ox = at % columns, oy = at / columns % rows, oz = at / columns / rows % out,
                  b = at / columns / rows / out;
    double value = 0;
    for (int64_t iz = 0; iz < in; ++iz) {
      for (int64_t ky = 0; ky < kernel_y; ++ky) {
        for (int64_t kx = 0; kx < kernel_x; ++kx) {
          const int64_t iy = oy * stride_y + ky - pad_y[0], ix = ox * stride_x + kx - pad_x[0];
          if (iy < 0 || iy >= height || ix < 0 || ix >= width) continue;
          value += input.GetDouble(((b * in + iz) * height + iy) * width + ix) *
                   kernel.GetDouble(((oz * in + iz) * kernel_y + ky) * kernel_x + kx);
        }
      }
    }
    EXPECT_EQ(got.GetDouble(at), value) << at;
  }
  // SAME keeps the size at stride 1.
  EXPECT_EQ(Conv(p.Arg(input), p.Arg(kernel), {1, 1}, Padding::kSame).shape(), Shape(F32, {batch, out, height, width}));
}

// The formulas of the three batch norm operations for a 4-dimensional array, in double precision.
TEST(BatchNormExampleTest, Formulas) {
  const int64_t m = 3, w = 2, h = 5, features = 2, count = m * w * h;
  const double epsilon = 0.001;
  const Shape shape(kF64, {m, w, h, features}), vector(kF64, {features});
  Literal x{shape}, dy{shape};
  for (int64_t i = 0; i < x.element_count(); ++i) {
    x.SetDouble(i, std::sin(static_cast<double>(i)) * 3);
    dy.SetDouble(i, std::cos(2.0 * static_cast<double>(i)));
  }
  const double scale[] = {1.5, -2}, offset[] = {0.25, 7};
  const auto at = [&](const Literal& a, int64_t i, int64_t l) { return a.GetDouble(i * features + l); };
  Program p;
  const XlaOp operand = p.Arg(x), gamma = p.Arg("f64[2]{1.5,-2}"), beta = p.Arg("f64[2]{0.25,7}"), grad = p.Arg(dy);
  const Literal trained = p.RunLiteral(BatchNormTraining(operand, gamma, beta, static_cast<float>(epsilon), 3));
  const XlaOp mean = p.Arg(trained.tuple_elements()[1]), variance = p.Arg(trained.tuple_elements()[2]);
  const Literal inferred =
      p.RunLiteral(BatchNormInference(operand, gamma, beta, mean, variance, static_cast<float>(epsilon), 3));
  const Literal grads =
      p.RunLiteral(BatchNormGrad(operand, gamma, mean, variance, grad, static_cast<float>(epsilon), 3));
  const double eps = static_cast<float>(epsilon);
  for (int64_t l = 0; l < features; ++l) {
    double mu = 0, sigma2 = 0, c = 0, d = 0, d_gamma = 0;
    for (int64_t i = 0; i < count; ++i) mu += at(x, i, l) / count;
    for (int64_t i = 0; i < count; ++i) sigma2 += std::pow(at(x, i, l) - mu, 2) / count;
    for (int64_t i = 0; i < count; ++i) {
      c += at(dy, i, l) * (at(x, i, l) - mu) / (sigma2 + eps) / count;
      d += at(dy, i, l) / count;
      d_gamma += at(dy, i, l) * (at(x, i, l) - mu) / std::sqrt(sigma2 + eps);
    }
    EXPECT_NEAR(trained.tuple_elements()[1].GetDouble(l), mu, 1e-12);
    EXPECT_NEAR(trained.tuple_elements()[2].GetDouble(l), sigma2, 1e-12);
    EXPECT_NEAR(grads.tuple_elements()[1].GetDouble(l), d_gamma, 1e-12);
    EXPECT_NEAR(grads.tuple_elements()[2].GetDouble(l), d * count, 1e-12);
    for (int64_t i = 0; i < count; ++i) {
      const double y = scale[l] * (at(x, i, l) - mu) / std::sqrt(sigma2 + eps) + offset[l];
      EXPECT_NEAR(at(trained.tuple_elements()[0], i, l), y, 1e-12);
      EXPECT_NEAR(at(inferred, i, l), y, 1e-12);
      EXPECT_NEAR(at(grads.tuple_elements()[0], i, l),
                  scale[l] / std::sqrt(sigma2 + eps) * (at(dy, i, l) - d - c * (at(x, i, l) - mu)), 1e-12);
    }
  }
}

TEST(WhileExampleTest, AThousandSumsOfAConstantVector) {
  const Shape state = Shape::Tuple({Shape(S32), Shape(F32, {10})});
  XlaBuilder condition("condition");
  Lt(GetTupleElement(Parameter(&condition, 0, state), 0), ConstantR0<int32_t>(&condition, 1000));
  XlaBuilder body("body");
  const XlaOp result = Parameter(&body, 0, state);
  const XlaOp constant_vector = ConstantR1<float>(&body, std::vector<float>(10, 0.125f));
  Tuple(&body, {Add(GetTupleElement(result, 0), ConstantR0<int32_t>(&body, 1)),
                Add(GetTupleElement(result, 1), constant_vector)});
  Program p;
  const XlaOp init = Tuple(p.b(), {ConstantR0<int32_t>(p.b(), 0), Broadcast(ConstantR0<float>(p.b(), 0), {10})});
  EXPECT_EQ(p.Run(While(*condition.Build(), *body.Build(), init)),
            "(s32[]1000,f32[10]{125,125,125,125,125,125,125,125,125,125})");
}

TEST(ConditionalExampleTest, BranchesByAddressAsXlaTakesThem) {
  auto times = [](double factor) {
    XlaBuilder builder("times");
    return *builder.Build(Mul(Parameter(&builder, 0, Shape(F32)), ConstantScalar(&builder, F32, factor)));
  };
  const XlaComputation ten = times(10), hundred = times(100);
  Program p;
  const XlaOp index = p.Arg("s32[]1"), two = p.Arg("f32[]2"), three = p.Arg("f32[]3");
  EXPECT_EQ(p.Run(Conditional(index, {&ten, &hundred}, {two, three})), "f32[]300");
}

TEST(CompositeCallExampleTest, TextOfTheDocument) {
  EXPECT_EQ(RunText(R"(HloModule m
computation { x = f32[] parameter(0)
  ROOT r = f32[] add(x, x) }
ENTRY e { cst = f32[] parameter(0)
  ROOT r = f32[] call(f32[] %cst), to_apply=%computation, is_composite=true,
frontend_attributes={
composite.name="foo.bar",
composite.attributes={n = 1 : i32, tensor = dense<1> : tensor<i32>},
composite.version="1"
} })",
                    {"f32[]3"}),
            "f32[]6");
}

TEST(OptimizationBarrierExampleTest, PassesValuesThrough) {
  Program p;
  EXPECT_EQ(p.Run(OptimizationBarrier(Tuple(p.b(), {p.Arg("f32[2]{1,2}"), p.Arg("pred[]true")}))),
            "(f32[2]{1,2},pred[]true)");
}

TEST(SignExampleTest, CasesOfTheDefinition) {
  Program p;
  EXPECT_EQ(p.Run(Sign(p.Arg("f64[5]{-2,-0,nan,0,5}"))), "f64[5]{-1,-0,nan,0,1}");
}

TEST(FftExampleTest, ForwardInverseAndCascade) {
  Program p;
  const XlaOp x = p.Arg("c64[4]{(1,0),(0,0),(0,0),(0,0)}");
  EXPECT_EQ(p.Run(Fft(x, FftType::kFft, {4})), "c64[4]{(1,0),(1,0),(1,0),(1,0)}");
  EXPECT_EQ(p.Run(Abs(Fft(Fft(x, FftType::kFft, {4}), FftType::kIfft, {4}))), "f32[4]{1,0,0,0}");
  EXPECT_EQ(p.Run(Fft(p.Arg("f32[2,2]{{1,0},{0,0}}"), FftType::kRfft, {2, 2})),
            "c64[2,2]{{(1,0),(1,0)},{(1,0),(1,0)}}");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
