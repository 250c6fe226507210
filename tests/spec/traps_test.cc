// The points of the specification that are easy to get wrong, one test each, numbered as in the inventory of traps:
// arithmetic, shapes and control (the collectives and dynamic sizes are in traps_machines_test.cc).
#include <limits>

#include "tests/spec/spec_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

TEST(TrapTest, Trap01_ClampTakesMinOperandMaxAndMaxWins) {
  Program p;
  const XlaOp x = p.Arg("s32[3]{-1, 5, 9}");
  EXPECT_EQ(p.Run(Clamp(ConstantR0<int32_t>(p.b(), 0), x, ConstantR0<int32_t>(p.b(), 6))), "s32[3]{0,5,6}");
  EXPECT_EQ(RunText("a=s32[] parameter(0)\n b=s32[] parameter(1)\n c=s32[] parameter(2)\n ROOT r=s32[] clamp(a,b,c)",
                    {"s32[]-5", "s32[]-1", "s32[]-3"}),
            "s32[]-3");
  Program q;  // min > max: min(max(a, x), b) is b
  EXPECT_EQ(q.Run(Clamp(q.Arg("f32[]5"), q.Arg("f32[3]{7, 4, 1}"), q.Arg("f32[]3"))), "f32[3]{3,3,3}");
}

TEST(TrapTest, Trap02_BatchNormGradDividesAndOrdersScaleBeforeOffset) {
  Program p;  // x - mean is -1 -1 1 1, the biased variance 1
  const XlaOp x = p.Arg("f32[4,1]{{0},{0},{2},{2}}");
  const XlaOp scale = p.Arg("f32[1]{2}"), one = p.Arg("f32[1]{1}"), offset = p.Arg("f32[1]{10}");
  const XlaOp grad = p.Arg("f32[4,1]{{1},{0},{0},{0}}");
  EXPECT_EQ(p.Run(BatchNormGrad(x, scale, one, one, grad, 0, 1)), "(f32[4,1]{{1},{-1},{0},{0}},f32[1]{-1},f32[1]{1})");
  EXPECT_EQ(p.Run(BatchNormTraining(x, scale, offset, 0, 1)), "(f32[4,1]{{8},{8},{12},{12}},f32[1]{1},f32[1]{1})");
  EXPECT_EQ(p.Run(BatchNormInference(x, scale, offset, one, p.Arg("f32[1]{3}"), 1, 1)),
            "f32[4,1]{{9},{9},{11},{11}}");  // 2 * (x - 1) / sqrt(3 + 1) + 10
}

TEST(TrapTest, Trap03_DynamicSlicesClampEveryDimensionAlsoTheFirst) {
  Program p;
  const XlaOp a = p.Arg("f32[5]{0,1,2,3,4}");
  EXPECT_EQ(p.Run(DynamicSlice(a, {p.Arg("s32[]9")}, {2})), "f32[2]{3,4}");
  EXPECT_EQ(p.Run(DynamicSlice(a, {p.Arg("s32[]-3")}, {2})), "f32[2]{0,1}");
  EXPECT_EQ(p.Run(DynamicUpdateSlice(a, p.Arg("f32[2]{7,8}"), {p.Arg("s32[]4")})), "f32[5]{0,1,2,7,8}");
  const XlaOp b = p.Arg("f32[4,3]{{0,1,2},{3,4,5},{6,7,8},{9,10,11}}");
  EXPECT_EQ(p.Run(DynamicSlice(b, p.Arg("s32[2]{9,-1}"), {2, 2})), "f32[2,2]{{6,7},{9,10}}");  // the rank-1 form
  EXPECT_EQ(p.Run(DynamicUpdateSlice(b, p.Arg("f32[1,2]{{-1,-2}}"), p.Arg("u8[2]{255,255}"))),
            "f32[4,3]{{0,1,2},{3,4,5},{6,7,8},{9,-1,-2}}");
  EXPECT_EQ(RunText("a = f32[5] parameter(0)\n i = s64[] parameter(1)\n ROOT r = f32[2] dynamic-slice(a, i), "
                    "dynamic_slice_sizes={2}",
                    {"f32[5]{0,1,2,3,4}", "s64[]9223372036854775807"}),
            "f32[2]{3,4}");
}

TEST(TrapTest, Trap04_GatherClampsStartsAndImpliesATrailingIndexDimension) {
  Program p;
  GatherDimensionNumbers numbers;
  numbers.offset_dims = {1};
  numbers.start_index_map = {0};
  numbers.index_vector_dim = 1;  // the rank of the indices
  EXPECT_EQ(p.Run(Gather(p.Arg("f32[5]{0,1,2,3,4}"), p.Arg("s32[3]{-2,9,3}"), numbers, {2})),
            "f32[3,2]{{0,1},{3,4},{3,4}}");
  GatherDimensionNumbers batched;
  batched.operand_batching_dims = batched.start_indices_batching_dims = {0};
  batched.collapsed_slice_dims = batched.start_index_map = {1};
  batched.index_vector_dim = 2;
  EXPECT_EQ(p.Run(Gather(p.Arg("f32[2,3]{{1,2,3},{4,5,6}}"), p.Arg("s32[2,2]{{2,0},{1,7}}"), batched, {1, 1})),
            "f32[2,2]{{3,1},{5,6}}");
}

TEST(TrapTest, Trap05_ScatterSkipsSingleElementsAndPassesTheCurrentValueFirst) {
  Program p;
  ScatterDimensionNumbers numbers;
  numbers.update_window_dims = {1};
  numbers.scatter_dims_to_operand_dims = {0};
  numbers.index_vector_dim = 1;
  const XlaOp operand = p.Arg("f32[5]{10,20,30,40,50}"), updates = p.Arg("f32[2,2]{{1,2},{3,4}}");
  EXPECT_EQ(p.Run(Scatter(operand, p.Arg("s32[2]{4,-1}"), updates, Scalar(kF32, Sub), numbers)),
            "f32[5]{6,20,30,40,49}");  // 4 at 0, 1 at 4; 2 at 5 and 3 at -1 are skipped
  ScatterDimensionNumbers batched;
  batched.input_batching_dims = batched.scatter_indices_batching_dims = {0};
  batched.inserted_window_dims = batched.scatter_dims_to_operand_dims = {1};
  batched.index_vector_dim = 1;
  EXPECT_EQ(p.Run(Scatter(p.Arg("s32[2,3]{{1,2,3},{4,5,6}}"), p.Arg("s32[2,1]{{2},{0}}"), p.Arg("s32[2]{100,200}"),
                          Scalar(kS32), batched)),
            "s32[2,3]{{1,2,103},{204,5,6}}");
}

TEST(TrapTest, Trap06_SortInterleavesItsParametersAndReduceDoesNot) {
  Program p;
  XlaBuilder first("first");  // compares parameters 0 and 1, which are the two values of operand 0
  const XlaOp x = Parameter(&first, 0, Shape(kS32)), y = Parameter(&first, 1, Shape(kS32));
  for (int64_t i : {2, 3}) Parameter(&first, i, Shape(kF32));
  const XlaComputation comparator = *first.Build(Gt(x, y));
  EXPECT_EQ(p.Run(Sort({p.Arg("s32[2,3]{{2,3,1},{5,4,6}}"), p.Arg("f32[2,3]{{20,30,10},{50,40,60}}")}, comparator)),
            "(s32[2,3]{{3,2,1},{6,5,4}},f32[2,3]{{30,20,10},{60,50,40}})");
  XlaBuilder sums("sums");  // accumulators 0 and 1, values 2 and 3: a sum and a product
  const XlaOp s = Parameter(&sums, 0, Shape(kF32)), m = Parameter(&sums, 1, Shape(kF32));
  const XlaOp v = Parameter(&sums, 2, Shape(kF32)), w = Parameter(&sums, 3, Shape(kF32));
  const XlaComputation both = *sums.Build(Tuple(&sums, {Add(s, v), Mul(m, w)}));
  const XlaOp values = p.Arg("f32[3]{2,3,5}"), factors = p.Arg("f32[3]{7,11,13}");
  EXPECT_EQ(
      p.Run(Reduce(p.b(), {values, factors}, {ConstantR0<float>(p.b(), 0), ConstantR0<float>(p.b(), 1)}, both, {0})),
      "(f32[]10,f32[]1001)");
}

TEST(TrapTest, Trap07_ReduceWindowSamePadsTheHighSideMoreAndHolesAreInit) {
  Program p;
  const XlaOp x = p.Arg("f32[5]{10000,1000,100,10,1}");
  const XlaOp init = ConstantR0<float>(p.b(), std::numeric_limits<float>::max());
  EXPECT_EQ(p.Run(ReduceWindow(x, init, Scalar(kF32, Min), {3}, {2}, Padding::kValid)), "f32[2]{100,1}");
  EXPECT_EQ(p.Run(ReduceWindow(x, init, Scalar(kF32, Min), {3}, {2}, Padding::kSame)), "f32[3]{1000,10,1}");
  // A total padding of 1 goes to the high side.
  EXPECT_EQ(p.Run(ReduceWindow(x, ConstantR0<float>(p.b(), 0), Scalar(kF32), {2}, {1}, Padding::kSame)),
            "f32[5]{11000,1100,110,11,1}");
  // Holes of the base are the initial value, not zero.
  const XlaOp low = ConstantR0<float>(p.b(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(p.Run(ReduceWindowWithGeneralPadding(p.Arg("f32[2]{-1,-2}"), low, Scalar(kF32, Max), {2}, {1}, {2}, {1},
                                                 {{0, 0}})),
            "f32[2]{-1,-2}");
}

TEST(TrapTest, Trap08_ReduceStartsFromInitAlsoOfNothing) {
  Program p;
  const XlaOp x = p.Arg("f32[4]{10,11,12,13}");
  EXPECT_EQ(p.Run(Reduce(x, ConstantR0<float>(p.b(), 0), Scalar(kF32), {0})), "f32[]46");
  EXPECT_EQ(p.Run(Reduce(x, ConstantR0<float>(p.b(), 1), Scalar(kF32, Mul), {0})), "f32[]17160");
  EXPECT_EQ(p.Run(Reduce(p.Arg("f32[0,2]{}"), ConstantR0<float>(p.b(), 1), Scalar(kF32, Mul), {0})), "f32[2]{1,1}");
}

XlaComputation Times(double factor) {
  XlaBuilder builder("times");
  const XlaOp x = Parameter(&builder, 0, Shape(kF32));
  return *builder.Build(Mul(x, ConstantScalar(&builder, kF32, factor)));
}

TEST(TrapTest, Trap09_ConditionalOutOfRangeRunsTheLastBranch) {
  for (const auto& [index, expected] : std::vector<std::pair<std::string, std::string>>{{"0", "f32[]20"},
                                                                                        {"1", "f32[]300"},
                                                                                        {"2", "f32[]4000"},
                                                                                        {"3", "f32[]4000"},
                                                                                        {"-1", "f32[]4000"},
                                                                                        {"-2147483648", "f32[]4000"},
                                                                                        {"2147483647", "f32[]4000"}}) {
    Program p;
    const XlaOp i = p.Arg("s32[]" + index), two = p.Arg("f32[]2"), three = p.Arg("f32[]3"), four = p.Arg("f32[]4");
    EXPECT_EQ(p.Run(Conditional(i, {Times(10), Times(100), Times(1000)}, {two, three, four})), expected) << index;
  }
  for (const auto& [pred, expected] :
       std::vector<std::pair<std::string, std::string>>{{"true", "f32[]20"}, {"false", "f32[]300"}}) {
    Program p;
    EXPECT_EQ(p.Run(Conditional(p.Arg("pred[]" + pred), p.Arg("f32[]2"), Times(10), p.Arg("f32[]3"), Times(100))),
              expected);
  }
}

TEST(TrapTest, Trap10_BatchGroupsSplitTheBatchAndTheKernelsOutputs) {
  Program p;
  const XlaOp kernel = p.Arg("f32[2,1,1]{{{10}},{{100}}}");
  const XlaOp batch = p.Arg("f32[2,1,1]{{{3}},{{5}}}"), features = p.Arg("f32[1,2,1]{{{3},{5}}}");
  EXPECT_EQ(p.Run(ConvWithGeneralPadding(batch, kernel, {1}, {{0, 0}}, {}, {}, 1, 2)), "f32[1,2,1]{{{30},{500}}}");
  EXPECT_EQ(p.Run(ConvWithGeneralPadding(features, kernel, {1}, {{0, 0}}, {}, {}, 2, 1)), "f32[1,2,1]{{{30},{500}}}");
  Program q;
  EXPECT_EQ(ErrorOf(ConvWithGeneralPadding(q.Arg("f32[2,2,1]{{{3},{4}},{{5},{6}}}"), q.Arg("f32[2,1,1]{{{1}},{{2}}}"),
                                           {1}, {{0, 0}}, {}, {}, 2, 2)),
            "convolution: feature_group_count 2 and batch_group_count 2 are both above 1");
}

TEST(TrapTest, Trap11_ConvolutionDoesNotFlipAndPadsTheDilatedBase) {
  Program p;
  const XlaOp x = p.Arg("f32[1,1,3]{{{1,2,3}}}"), kernel = p.Arg("f32[1,1,2]{{{1,10}}}");
  EXPECT_EQ(p.Run(Conv(x, kernel, {1}, Padding::kValid)), "f32[1,1,2]{{{21,32}}}");
  ConvolutionDimensions numbers;
  numbers.kernel_output_feature = 0;
  numbers.kernel_input_feature = 1;
  numbers.input_spatial = numbers.kernel_spatial = numbers.output_spatial = {2};
  EXPECT_EQ(p.Run(ConvGeneralDilated(x, kernel, {1}, {{0, 0}}, {}, {}, numbers, 1, 1, nullptr, {}, {true})),
            "f32[1,1,2]{{{12,23}}}");
  // 1 0 2 0 3, then the first element goes.
  EXPECT_EQ(p.Run(ConvWithGeneralPadding(x, p.Arg("f32[1,1,1]{{{1}}}"), {1}, {{-1, 0}}, {2}, {1})),
            "f32[1,1,4]{{{0,2,0,3}}}");
  EXPECT_EQ(
      RunText("a = f32[1,3,1] parameter(0)\n k = f32[2,1,1] parameter(1)\n ROOT r = f32[2,1,1] convolution(a, k), "
              "window={size=2}, dim_labels=b0f_0io->0bf",
              {"f32[1,3,1]{{{1},{2},{3}}}", "f32[2,1,1]{{{1}},{{10}}}"}),
      "f32[2,1,1]{{{21}},{{32}}}");
}

TEST(TrapTest, Trap12_PadPutsInteriorBeforeEdges) {
  Program p;
  const XlaOp x = p.Arg("f32[3]{1,2,3}"), nine = p.Arg("f32[]9");
  EXPECT_EQ(p.Run(Pad(x, nine, {{-1, 2, 1}})), "f32[6]{9,2,9,3,9,9}");
  EXPECT_EQ(p.Run(Pad(x, nine, {{-2, -2, 1}})), "f32[1]{2}");
  Program q;
  EXPECT_EQ(ErrorOf(Pad(q.Arg("f32[3]{1,2,3}"), q.Arg("f32[]9"), {{0, 0, -1}})),
            "pad: interior padding -1 of dimension 0 is negative");
}

TEST(TrapTest, Trap13_RoundTiesAwayFromZeroAndSignKeepsZeroAndNan) {
  Program p;
  const XlaOp x = p.Arg("f32[6]{0.5,-0.5,1.5,2.5,-2.5,0.49999997}");
  EXPECT_EQ(p.Run(Round(x)), "f32[6]{1,-1,2,3,-3,0}");
  EXPECT_EQ(p.Run(RoundNearestEven(x)), "f32[6]{0,-0,2,2,-2,0}");
  EXPECT_EQ(p.Run(Sign(p.Arg("f32[6]{-0,0,nan,-3,inf,-inf}"))), "f32[6]{-0,0,nan,-1,1,-1}");
  EXPECT_EQ(p.Run(Sign(p.Arg("s32[3]{-7,0,9}"))), "s32[3]{-1,0,1}");
}

TEST(TrapTest, Trap14_RemainderTakesTheDividendsSignAndDivisionByZeroIsAllOnes) {
  for (const char* type : {"s8", "s16", "s32", "s64"}) {
    const std::string min = std::string(type) == "s8"    ? "-128"
                            : std::string(type) == "s16" ? "-32768"
                            : std::string(type) == "s32" ? "-2147483648"
                                                         : "-9223372036854775808";
    const std::string n = std::string(type) + "[6]";
    Program p;
    const XlaOp x = p.Arg(n + "{7,-7,7,0," + min + "," + min + "}"), y = p.Arg(n + "{-3,3,0,0,-1,0}");
    EXPECT_EQ(p.Run(Div(x, y)), n + "{-2,-2,-1,-1," + min + ",-1}");
    EXPECT_EQ(p.Run(Rem(x, y)), n + "{1,-1,7,0,0," + min + "}");
  }
  for (const auto& [type, ones] : std::vector<std::pair<std::string, std::string>>{
           {"u8", "255"}, {"u16", "65535"}, {"u32", "4294967295"}, {"u64", "18446744073709551615"}}) {
    Program p;
    const XlaOp x = p.Arg(type + "[3]{7,0," + ones + "}"), y = p.Arg(type + "[3]{3,0,0}");
    EXPECT_EQ(p.Run(Div(x, y)), type + "[3]{2," + ones + "," + ones + "}");
    EXPECT_EQ(p.Run(Rem(x, y)), type + "[3]{1,0," + ones + "}");
  }
  Program p;
  const XlaOp x = p.Arg("f32[5]{-7.5,7.5,1,-0,5}"), y = p.Arg("f32[5]{2,-2,0,3,inf}");
  EXPECT_EQ(p.Run(Rem(x, y)), "f32[5]{-1.5,1.5,nan,-0,5}");
}

TEST(TrapTest, Trap15_CompareTotalOrder) {
  Program p;
  const XlaOp x = p.Arg("f32[6]{-nan,-inf,-0,0,nan,1}"), y = p.Arg("f32[6]{-inf,-1,0,-0,nan,nan}");
  EXPECT_EQ(p.Run(Eq(x, y)), "pred[6]{0,0,1,1,0,0}");
  EXPECT_EQ(p.Run(Ne(x, y)), "pred[6]{1,1,0,0,1,1}");
  EXPECT_EQ(p.Run(Lt(x, y)), "pred[6]{0,1,0,0,0,0}");
  EXPECT_EQ(p.Run(Ge(x, y)), "pred[6]{0,0,1,1,0,0}");
  EXPECT_EQ(p.Run(LtTotalOrder(x, y)), "pred[6]{1,1,1,0,0,1}");
  EXPECT_EQ(p.Run(EqTotalOrder(x, y)), "pred[6]{0,0,0,0,1,0}");
  EXPECT_EQ(p.Run(GtTotalOrder(x, y)), "pred[6]{0,0,0,1,0,0}");
  EXPECT_EQ(p.Run(LeTotalOrder(x, y)), "pred[6]{1,1,1,0,1,1}");
  EXPECT_EQ(p.Run(GeTotalOrder(x, y)), "pred[6]{0,0,0,1,1,0}");
  EXPECT_EQ(p.Run(NeTotalOrder(x, y)), "pred[6]{1,1,1,1,0,1}");
  EXPECT_EQ(RunText("a = f32[2] parameter(0)\n b = f32[2] parameter(1)\n ROOT r = pred[2] compare(a,b), direction=LT, "
                    "type=TOTALORDER",
                    {"f32[2]{-0,0}", "f32[2]{0,-0}"}),
            "pred[2]{1,0}");
}

TEST(TrapTest, Trap16_ConversionsTruncateSaturateAndSendNanToZero) {
  Program p;
  const XlaOp x = p.Arg("f32[7]{1.9,-1.9,1e20,-1e20,nan,inf,-inf}");
  EXPECT_EQ(p.Run(ConvertElementType(x, kS32)), "s32[7]{1,-1,2147483647,-2147483648,0,2147483647,-2147483648}");
  EXPECT_EQ(p.Run(ConvertElementType(x, kS8)), "s8[7]{1,-1,127,-128,0,127,-128}");
  EXPECT_EQ(p.Run(ConvertElementType(x, kU8)), "u8[7]{1,0,255,0,0,255,0}");
  EXPECT_EQ(p.Run(ConvertElementType(x, kU32)), "u32[7]{1,0,4294967295,0,0,4294967295,0}");
  EXPECT_EQ(p.Run(ConvertElementType(x, kS64)),
            "s64[7]{1,-1,9223372036854775807,-9223372036854775808,0,9223372036854775807,-9223372036854775808}");
  EXPECT_EQ(p.Run(ConvertElementType(p.Arg("s32[3]{300,-1,128}"), kS8)), "s8[3]{44,-1,-128}");  // integers wrap
  // f16's precision: ties to even, overflow to infinity; more bits than f32 has change nothing.
  const XlaOp y = p.Arg("f32[5]{2049,2051,65519,65520,nan}");
  EXPECT_EQ(p.Run(ReducePrecision(y, /*mantissa_bits=*/10, /*exponent_bits=*/5)), "f32[5]{2048,2052,65504,inf,nan}");
  EXPECT_EQ(p.Run(ReducePrecision(y, 40, 15)), "f32[5]{2049,2051,65519,65520,nan}");
}

TEST(TrapTest, Trap17_BitcastConvertChangesTheLastDimension) {
  Program p;
  EXPECT_EQ(p.Run(BitcastConvertType(p.Arg("u32[2]{66051,4278190335}"), kU8)), "u8[2,4]{{3,2,1,0},{255,0,0,255}}");
  EXPECT_EQ(p.Run(BitcastConvertType(p.Arg("u16[2,2]{{1,2},{3,4}}"), kU32)), "u32[2]{131073,262147}");
  EXPECT_EQ(p.Run(BitcastConvertType(p.Arg("f32[]1"), kF16)), "f16[2]{0,1.875}");
  EXPECT_EQ(p.Run(BitcastConvertType(p.Arg("s32[1]{1065353216}"), kF32)), "f32[1]{1}");
}

TEST(TrapTest, Trap18_TransposeTakesResultDimensionFromPermutation) {
  Program p;
  const XlaOp x = p.Arg("s32[1,2,3]{{{1,2,3},{4,5,6}}}");
  EXPECT_EQ(p.Run(Transpose(x, {1, 2, 0})), "s32[2,3,1]{{{1},{2},{3}},{{4},{5},{6}}}");
  EXPECT_EQ(p.Run(Transpose(x, {2, 0, 1})), "s32[3,1,2]{{{1,4}},{{2,5}},{{3,6}}}");
  // The same as Reshape(operand, permutation, ...).
  EXPECT_EQ(p.Run(Reshape(x, {2, 0, 1}, {3, 1, 2})), "s32[3,1,2]{{{1,4}},{{2,5}},{{3,6}}}");
}

// JAX's generator: threefry2x32 in twenty rounds of integer operations, not the op.
TEST(TrapTest, Trap19_UnrolledThreefryIsBitExact) {
  Program p;
  const XlaOp key0 = p.Arg("u32[]0"), key1 = p.Arg("u32[]0");
  XlaOp x = p.Arg("u32[2]{0,4294967295}"), y = p.Arg("u32[2]{0,4294967295}");
  auto constant = [&](uint32_t value) { return ConstantR0<uint32_t>(p.b(), value); };
  const XlaOp key2 = Xor(Xor(key0, key1), constant(0x1BD11BDA));
  const XlaOp keys[] = {key0, key1, key2};
  const uint32_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x = Add(x, key0);
  y = Add(y, key1);
  for (uint32_t group = 0; group < 5; ++group) {
    for (const uint32_t r : rotations[group % 2]) {
      x = Add(x, y);
      y = Xor(Or(ShiftLeft(y, constant(r)), ShiftRightLogical(y, constant(32 - r))), x);
    }
    x = Add(x, keys[(group + 1) % 3]);
    y = Add(Add(y, keys[(group + 2) % 3]), constant(group + 1));
  }
  // The known answer of Random123 for the zero counter.
  EXPECT_EQ(p.Run(Slice(ConcatInDim(p.b(), {x, y}, 0), {0}, {3}, {2})), "u32[2]{1797259609,2579123966}");
  // The op's states.
  for (const auto& [algorithm, state] :
       std::vector<std::pair<RngAlgorithm, std::string>>{{RngAlgorithm::kThreeFry, "u64[2]{1,2}"},
                                                         {RngAlgorithm::kPhilox, "u64[3]{1,2,3}"},
                                                         {RngAlgorithm::kPhilox, "u64[2]{1,2}"}}) {
    Program q;
    const Literal both = q.RunLiteral(RngBitGenerator(algorithm, q.Arg(state), Shape(kU32, {5})));
    EXPECT_NE(both.tuple_elements()[0], Value(state)) << "the state advances";
    Program again;
    EXPECT_EQ(again.RunLiteral(RngBitGenerator(algorithm, again.Arg(state), Shape(kU32, {5}))), both);
  }
}

TEST(TrapTest, Trap23_IotaOfFloatsConvertsIntegersAndImagOfARealIsZero) {
  Program p;
  EXPECT_EQ(p.Run(Slice(Iota(p.b(), kBF16, 260), {255}, {260})), "bf16[5]{255,256,256,258,2.6e+02}");
  EXPECT_EQ(p.Run(Iota(p.b(), Shape(kC64, {2, 2}), 1)), "c64[2,2]{{(0,0),(1,0)},{(0,0),(1,0)}}");
  EXPECT_EQ(p.Run(Iota(p.b(), Shape(kF32, {0, 3}), 1)), "f32[0,3]{}");
  const XlaOp x = p.Arg("f32[2]{-3,nan}");
  EXPECT_EQ(p.Run(Imag(x)), "f32[2]{0,0}");
  EXPECT_EQ(p.Run(Real(x)), "f32[2]{-3,nan}");
}

TEST(TrapTest, Trap24_RealTransformsHalveAndRestoreTheLastDimension) {
  Program p;
  const XlaOp x = p.Arg("f32[5]{1,2,3,4,5}"), y = p.Arg("f32[4]{1,2,3,4}");
  EXPECT_EQ(p.RunLiteral(Fft(x, FftType::kRfft, {5})).shape().ToString(), "c64[3]");
  const XlaOp spectrum = Fft(y, FftType::kRfft, {4});
  EXPECT_EQ(p.Run(spectrum), "c64[3]{(10,0),(-2,2),(-2,0)}");
  EXPECT_EQ(p.Run(Round(Fft(spectrum, FftType::kIrfft, {4}))), "f32[4]{1,2,3,4}");
  EXPECT_EQ(p.Run(Round(Fft(Fft(x, FftType::kRfft, {5}), FftType::kIrfft, {5}))), "f32[5]{1,2,3,4,5}");
  // Three halved values are those of four or of five: the length decides.
  EXPECT_EQ(Fft(Fft(x, FftType::kRfft, {5}), FftType::kIrfft, {4}).shape().ToString(), "f32[4]");
  // Two axes, the innermost: of a constant only the first is not zero.
  EXPECT_EQ(p.Run(Fft(p.Arg("c64[1,2,2]{{{(1,0),(1,0)},{(1,0),(1,0)}}}"), FftType::kFft, {2, 2})),
            "c64[1,2,2]{{{(4,0),(0,0)},{(0,0),(0,0)}}}");
}

TEST(TrapTest, Trap25_TheOtherTriangleAndAUnitDiagonalAreNotRead) {
  Program p;
  const XlaOp lower = p.Arg("f32[2,2]{{4,nan},{2,5}}"), upper = p.Arg("f32[2,2]{{4,2},{nan,5}}");
  const XlaOp keep_low = p.Arg("pred[2,2]{{1,0},{1,1}}"), keep_high = p.Arg("pred[2,2]{{1,1},{0,1}}");
  const XlaOp zero = p.Arg("f32[2,2]{{0,0},{0,0}}");
  EXPECT_EQ(p.Run(Select(keep_low, Cholesky(lower, true), zero)), "f32[2,2]{{2,0},{1,2}}");
  EXPECT_EQ(p.Run(Select(keep_high, Cholesky(upper, false), zero)), "f32[2,2]{{2,1},{0,2}}");
  const XlaOp b = p.Arg("f32[2,1]{{8},{14}}");
  EXPECT_EQ(p.Run(TriangularSolve(lower, b, true, true, false, TransposeKind::kNoTranspose)), "f32[2,1]{{2},{2}}");
  EXPECT_EQ(
      p.Run(TriangularSolve(p.Arg("f32[2,2]{{nan,nan},{2,nan}}"), b, true, true, true, TransposeKind::kNoTranspose)),
      "f32[2,1]{{8},{-2}}");
  // op(a) x = b with a transposed, and x op(a) = b.
  EXPECT_EQ(p.Run(TriangularSolve(lower, b, true, true, false, TransposeKind::kTranspose)), "f32[2,1]{{0.6},{2.8}}");
  EXPECT_EQ(p.Run(TriangularSolve(lower, p.Arg("f32[1,2]{{8,10}}"), false, true, false, TransposeKind::kNoTranspose)),
            "f32[1,2]{{1,2}}");
}

TEST(TrapTest, Trap26_MapTakesDimensionsOrStaticOperands) {
  Program p;
  const XlaOp x = p.Arg("s32[2,2]{{1,2},{3,4}}");
  EXPECT_EQ(p.Run(Map(p.b(), {x, x}, Scalar(kS32, Mul), {0, 1})), "s32[2,2]{{1,4},{9,16}}");
  EXPECT_EQ(p.Run(Map(p.b(), {x}, Scalar(kS32, Sub), {0, 1}, {p.Arg("s32[]10")})), "s32[2,2]{{-9,-8},{-7,-6}}");
  EXPECT_EQ(RunText("HloModule m\nadd { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a,b) }\n"
                    "ENTRY e { x = s32[2] parameter(0)\n ROOT r = s32[2] map(x, x), to_apply=add }",
                    {"s32[2]{1,2}"}),
            "s32[2]{2,4}");
  Program q;
  const XlaOp call = CustomCall(q.b(), "f", {}, Shape(kF32), "", /*has_side_effect=*/true);
  EXPECT_TRUE(call.instruction()->attributes<CustomCallAttributes>().custom_call_has_side_effect);
  EXPECT_TRUE(HasSideEffect(*call.instruction()));
}

TEST(TrapTest, Trap27_WhileNestsAndSlicesMayBeEmpty) {
  // Outer: five times; inner: adds 1 three times.
  EXPECT_EQ(RunText(R"(HloModule m
under3 { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
count { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  u = s32[] add(t, one)
  ROOT r = (s32[], s32[]) tuple(j, u) }
under5 { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT }
outer { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  zero = s32[] constant(0)
  inner = (s32[], s32[]) tuple(zero, t)
  done = (s32[], s32[]) while(inner), condition=under3, body=count
  total = s32[] get-tuple-element(done), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], s32[]) tuple(j, total) }
ENTRY e { x = (s32[], s32[]) parameter(0)
  ROOT r = (s32[], s32[]) while(x), condition=under5, body=outer })",
                    {"(s32[], s32[])(0, 100)"}),
            "(s32[]5,s32[]115)");
  Program p;
  EXPECT_EQ(p.Run(Slice(p.Arg("f32[2,3]{{1,2,3},{4,5,6}}"), {1, 3}, {1, 3})), "f32[0,0]{}");
  EXPECT_EQ(p.Run(Add(Slice(p.Arg("f32[3]{1,2,3}"), {2}, {2}), p.Arg("f32[0]{}"))), "f32[0]{}");
}

TEST(TrapTest, Trap28_DotContractsTheSecondOfLhsWithTheFirstOfRhs) {
  Program p;
  EXPECT_EQ(p.Run(Dot(p.Arg("f32[3]{1,2,3}"), p.Arg("f32[3]{4,5,6}"))), "f32[]32");
  const XlaOp m = p.Arg("f32[2,3]{{1,2,3},{4,5,6}}");
  EXPECT_EQ(p.Run(Dot(m, p.Arg("f32[3]{1,10,100}"))), "f32[2]{321,654}");
  EXPECT_EQ(p.Run(Dot(m, p.Arg("f32[3,1]{{1},{10},{100}}"))), "f32[2,1]{{321},{654}}");
  // Rank 3: dimension 1 of lhs, not its last one.
  EXPECT_EQ(p.Run(Dot(p.Arg("f32[1,2,3]{{{1,2,3},{4,5,6}}}"), p.Arg("f32[2]{1,10}"))), "f32[1,3]{{41,52,63}}");
}

TEST(TrapTest, Trap29_TheBuilderBroadcastsAndTextDoesNot) {
  Program p;
  const XlaOp row = p.Arg("f32[1,2]{{5,6}}"), vector = p.Arg("f32[4]{1,2,3,4}");
  EXPECT_EQ(p.Run(Add(vector, row, {0})), "f32[4,2]{{6,7},{7,8},{8,9},{9,10}}");
  EXPECT_EQ(p.Run(Lt(row, Reshape(vector, {4, 1}))), "pred[4,2]{{0,0},{0,0},{0,0},{0,0}}");
  EXPECT_EQ(Refusal("a = f32[2,3] parameter(0)\n b = f32[3] parameter(1)\n ROOT r = f32[2,3] add(a, b)"),
            "add: operand 0 f32[2,3] and operand 1 f32[3] differ in their dimensions");
  EXPECT_EQ(Refusal("a = f32[2,3] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[2,3] add(a, b)"),
            "add: operand 0 f32[2,3] and operand 1 f32[] differ in their dimensions");
  EXPECT_EQ(Refusal("a = f32[2,1] parameter(0)\n b = f32[2,3] parameter(1)\n ROOT r = f32[2,3] add(a, b)"),
            "add: operand 0 f32[2,1] and operand 1 f32[2,3] differ in their dimensions");
}

TEST(TrapTest, Trap30_SelectAndScatterGivesTiesToTheFirstAndNeverSelectsPadding) {
  Program p;
  const XlaOp x = p.Arg("f32[4]{7,7,7,7}"), zero = ConstantR0<float>(p.b(), 0);
  EXPECT_EQ(
      p.Run(SelectAndScatter(x, Scalar(kF32, Ge), {2}, {2}, Padding::kValid, p.Arg("f32[2]{1,2}"), zero, Scalar(kF32))),
      "f32[4]{1,0,2,0}");
  EXPECT_EQ(
      p.Run(SelectAndScatter(x, Scalar(kF32, Gt), {2}, {2}, Padding::kValid, p.Arg("f32[2]{1,2}"), zero, Scalar(kF32))),
      "f32[4]{0,1,0,2}");
  // Negative values beside padding, which counts as neither zero nor the initial value.
  EXPECT_EQ(p.Run(SelectAndScatterWithGeneralPadding(p.Arg("f32[3]{-5,-6,-7}"), Scalar(kF32, Ge), {2}, {2}, {{1, 0}},
                                                     p.Arg("f32[2]{1,2}"), zero, Scalar(kF32))),
            "f32[3]{1,2,0}");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
