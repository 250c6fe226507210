// Modules built by every builder function verify, print, and parse back to an equal module.
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/infer/infer_test_support.h"
#include "tests/support/module_equal.h"

namespace VXLA_NAMESPACE {
namespace {

void ExpectRoundTrip(const XlaBuilder& builder) {
  const Result<XlaComputation> built = builder.Build();
  ASSERT_TRUE(built.ok()) << built.status().message();
  const Status verified = Verify(built->module());
  EXPECT_TRUE(verified.ok()) << verified.message();
  const std::string text = PrintHlo(built->module());
  const Result<std::unique_ptr<Module>> parsed = ParseHlo(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
  std::string difference;
  EXPECT_TRUE(Equal(built->module(), **parsed, &difference)) << difference << "\n" << text;
}

XlaComputation OneParameter(const Shape& shape, XlaOp (*body)(XlaOp)) {
  XlaBuilder builder("one");
  return *builder.Build(body(Parameter(&builder, 0, shape)));
}

TEST(BuilderTextTest, UnaryFunctions) {
  XlaBuilder builder("unary");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {2, 3}), "x");
  const XlaOp n = Parameter(&builder, 1, Shape(kS32, {0, 3}), "n");
  for (auto op : {Abs,   Acos,  Acosh, Asin, Asinh,    Atan, Atanh, Cbrt,     Ceil, Cos,    Cosh,   Erf,
                  Exp,   Expm1, Floor, Imag, IsFinite, Log,  Log1p, Logistic, Neg,  Real,   Round,  RoundNearestEven,
                  Rsqrt, Sign,  Sin,   Sinh, Sqrt,     Tan,  Tanh,  Copy,     Erfc, ErfInv, Lgamma, Digamma}) {
    EXPECT_TRUE(op(x).valid());
  }
  for (auto op : {Clz, Not, PopulationCount}) EXPECT_TRUE(op(n).valid());
  ConvertElementType(x, kBF16);
  BitcastConvertType(x, kU16);
  EXPECT_EQ(ReducePrecision(x, 10, 5).instruction()->attributes<ReducePrecisionAttributes>().mantissa_bits, 10);
  ExpectRoundTrip(builder);
}

TEST(BuilderTextTest, BinaryAndTernaryFunctions) {
  XlaBuilder builder("binary");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {2, 3}), "x");
  const XlaOp n = Parameter(&builder, 1, Shape(kS32, {3}), "n");
  for (auto op : {Add,          Atan2,        Complex,      Div,          Max,          Min,         Mul, Pow,
                  Rem,          Sub,          Eq,           Ne,           Ge,           Gt,          Le,  Lt,
                  EqTotalOrder, NeTotalOrder, GeTotalOrder, GtTotalOrder, LeTotalOrder, LtTotalOrder}) {
    EXPECT_TRUE(op(x, x, {}).valid());
  }
  for (auto op : {And, Or, Xor, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Mulhi})
    EXPECT_TRUE(op(n, n, {}).valid());
  Add(ConvertElementType(n, kF32), x, {1});
  Clamp(ConstantR0<float>(&builder, -1), x, ConstantScalar(&builder, kF32, 1));
  Select(Lt(x, x), x, ConstantR0<float>(&builder, 0));
  ExpectRoundTrip(builder);
}

TEST(BuilderTextTest, MovementFunctions) {
  XlaBuilder builder("movement");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {4, 8}), "x");
  const XlaOp i = Parameter(&builder, 1, Shape(kS32), "i");
  Iota(&builder, kU8, 5);
  ConstantR1<bool>(&builder, {true, false, true});
  ConstantR0<std::complex<double>>(&builder, {1.5, -0.0});
  ConstantLiteral(&builder, Literal::Tuple({Literal::Scalar(kF16, 2), Literal(Shape(kS4, {0}))}));
  Broadcast(x, {0, 2});
  BroadcastInDim(x, {4, 3, 8}, {0, 2});
  Reshape(x, {2, 16});
  Reshape(x, {1, 0}, {32});
  DynamicReshape(x, {i, i}, {8, 4}, {true, false});
  Collapse(x, {0, 1});
  Transpose(x, {1, 0});
  Slice(x, {1, 2}, {4, 8}, {2, 3});
  SliceInDim(x, 0, 4, 2, 1);
  Pad(x, ConstantR0<float>(&builder, 0), {{1, 2, 3}, {-1, 0, 0}});
  ConcatInDim(&builder, {x, x}, 1);
  Rev(x, {0});
  DynamicSlice(x, {i, i}, {2, 2});
  DynamicUpdateSlice(x, Slice(x, {0, 0}, {2, 2}), {i, i});
  GetDimensionSize(SetDimensionSize(x, i, 0), 0);
  GatherAttributes gather;
  gather.offset_dims = {1};
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  const XlaOp indices = Parameter(&builder, 2, Shape(kS32, {5, 1}), "indices");
  const XlaOp rows = Gather(x, indices, gather, {1, 8}, true);
  ScatterAttributes scatter;
  scatter.update_window_dims = {1};
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  Scatter({x}, indices, {rows}, ScalarComputation(kF32), scatter, false, true);
  ExpectRoundTrip(builder);
}

TEST(BuilderTextTest, ProductsReductionsAndWindows) {
  XlaBuilder builder("compute");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32, {4, 4}), "x");
  const XlaOp zero = ConstantR0<float>(&builder, 0);
  const XlaComputation add = ScalarComputation(kF32), ge = ScalarComputation(kF32, Ge);
  Dot(x, x, nullptr, kF64);
  const PrecisionConfig highest{{PrecisionLevel::kHighest, PrecisionLevel::kHighest}};
  DotGeneral(x, x, {{1}, {0}, {}, {}}, &highest, kF32);
  DotAttributes ragged;
  ragged.lhs_contracting_dims = {1};
  ragged.rhs_contracting_dims = {1};
  ragged.lhs_ragged_dims = {0};
  ragged.rhs_group_dims = {0};
  RaggedDot(x, Broadcast(x, {2}), ConstantR1<int32_t>(&builder, {1, 3}), ragged);
  const XlaOp image = Parameter(&builder, 1, Shape(kF32, {2, 3, 8, 9}), "image");
  const XlaOp kernel = Parameter(&builder, 2, Shape(kF32, {6, 3, 3, 3}), "kernel");
  Conv(image, kernel, {1, 2}, Padding::kSame);
  ConvWithGeneralPadding(image, kernel, {1, 1}, {{-1, 0}, {1, 1}}, {2, 1}, {1, 2});
  Reduce(x, zero, add, {0});
  ReduceAll(x, zero, add);
  ReduceWindow(x, zero, add, {2, 2}, {1, 2}, Padding::kSame);
  ReduceWindowWithGeneralPadding({x}, {zero}, add, {2, 2}, {}, {2, 2}, {1, 3}, {{1, -1}, {0, 2}});
  SelectAndScatter(x, ge, {2, 2}, {2, 2}, Padding::kValid, Slice(x, {0, 0}, {2, 2}), zero, add);
  Sort({x}, ScalarComputation(kF32, Lt), -1, true);
  TopK(x, 2);
  Fft(x, FftType::kRfft, {4, 4});
  Cholesky(x, true);
  TriangularSolve(x, x, true, false, true, TransposeKind::kAdjoint);
  const XlaOp v = Parameter(&builder, 3, Shape(kF32, {4}), "v");
  BatchNormTraining(x, v, v, 0.001f, 1);
  BatchNormInference(x, v, v, v, v, 0.5f, 0);
  BatchNormGrad(x, v, v, v, x, 0.25f, 0);
  RngNormal(zero, zero, Shape(kF32, {3}));
  RngBernoulli(zero, Shape(kU32, {3}));
  RngBitGenerator(RngAlgorithm::kPhilox, Parameter(&builder, 4, Shape(kU64, {3}), "state"), Shape(kU8, {7}));
  ExpectRoundTrip(builder);
}

TEST(BuilderTextTest, ControlFlowCollectivesAndTransfers) {
  XlaBuilder builder("control");
  const Shape shape(kF32, {4, 6});
  const XlaOp x = Parameter(&builder, 0, shape, "x");
  const XlaComputation negate = OneParameter(shape, Neg), add = ScalarComputation(kF32);
  GetTupleElement(OptimizationBarrier(Tuple(&builder, {x, x})), 1);
  Call(&builder, negate, {x});
  CompositeCall(&builder, negate, {x}, "foo.bar", "{n = 1 : i32}", 2);
  Map(&builder, {x, x}, add, {0, 1});
  XlaBuilder more("more");
  Parameter(&more, 0, shape);
  ConstantR0<bool>(&more, false);
  While(*more.Build(), negate, x);
  Conditional(Parameter(&builder, 1, Shape(kPred), "p"), x, negate, x, OneParameter(shape, Exp));
  Conditional(Parameter(&builder, 2, Shape(kS32), "k"),
              std::vector<XlaComputation>{negate, negate, OneParameter(shape, Exp)}, {x, x, x});
  ReplicaGroups groups;
  groups.groups = {{0, 1}, {2, 3}};
  AllReduce(x, add, groups, 1);
  CrossReplicaSum(x);
  AllGather(x, 0, 2, groups);
  ReduceScatter(x, add, 1, 2, groups);
  AllToAll(x, 0, 1, 2, groups);
  CollectivePermute(x, {{0, 1}, {1, 0}}, 3);
  CollectiveBroadcast(x, groups);
  Add(ReplicaId(&builder), PartitionId(&builder));
  Infeed(&builder, Shape::Tuple({shape, Shape(kS8)}), "config");
  AfterAll(&builder, {Outfeed(x, shape, "feed"), Send(x, 5)});
  Recv(&builder, shape, 6);
  CustomCall(&builder, "target", {x}, Shape(kF64, {2}), "an \"opaque\" text", true);
  ExpectRoundTrip(builder);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
