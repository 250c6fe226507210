// Bounded dynamic dimensions: every op family sees the live elements only, and results carry their sizes.
#include "core/numerics/literal_compare.h"
#include "core/sizes/live_sizes.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSum[] = "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n";
constexpr char kMax[] = "top {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b)\n}\n";
constexpr char kGe[] =
    "ge {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE\n}\n";
constexpr char kLess[] =
    "less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT\n}\n";

// 1, 2, 3 ... in an array that is given with its live sizes; the bounds are those of the parameter.
Literal Counting(const std::vector<int64_t>& sizes) {
  std::vector<double> values;
  for (int64_t i = 0; i < CountOf(sizes); ++i) values.push_back(static_cast<double>(i + 1));
  return Array(kF32, sizes, values);
}

struct Live {
  std::vector<int64_t> sizes;
  std::vector<double> values;
  friend bool operator==(const Live&, const Live&) = default;
};
void PrintTo(const Live& live, std::ostream* out) {
  *out << "sizes " << ::testing::PrintToString(live.sizes) << " values " << ::testing::PrintToString(live.values);
}

Live LiveOf(const Literal& literal) { return {LiveSizes(literal), Doubles(CutToLiveSizes(literal))}; }

Live RunLive(const std::string& lines, const std::vector<Literal>& arguments, const std::string& computations = {}) {
  return LiveOf(RunText(Entry(lines, computations), arguments));
}

std::string MessageOf(const std::string& lines, const std::vector<Literal>& arguments,
                      const std::string& computations = {}) {
  const Result<Literal> result = TryRun(Entry(lines, computations), arguments);
  return result.ok() ? "it ran" : std::string(result.status().message());
}

// The specification's example: a sum of 10 elements, then of 5 and of 6.
TEST(SetDimensionSizeTest, TheDocumentsExample) {
  const std::string text = Entry(
      "v = f32[10] constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})\n five = s32[] constant(5)\n six = s32[] constant(6)\n"
      " zero = f32[] constant(0)\n one = f32[] constant(1)\n"
      " v5 = f32[<=10] set-dimension-size(v, five), dimensions={0}\n"
      " v6 = f32[<=10] set-dimension-size(v, six), dimensions={0}\n"
      " sum5 = f32[] reduce(v5, zero), dimensions={0}, to_apply=sum\n"
      " product5 = f32[] reduce(v5, one), dimensions={0}, to_apply=product\n"
      " sum6 = f32[] reduce(v6, zero), dimensions={0}, to_apply=sum\n"
      " ROOT r = (f32[], f32[], f32[]) tuple(sum5, product5, sum6)",
      std::string(kSum) +
          "product {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] multiply(a, b)\n}\n");
  const Literal result = RunText(text, {});
  EXPECT_EQ(result.tuple_elements()[0].GetDouble(0), 15);
  EXPECT_EQ(result.tuple_elements()[1].GetDouble(0), 120);
  EXPECT_EQ(result.tuple_elements()[2].GetDouble(0), 21);
}

TEST(SetDimensionSizeTest, ALargerSizeBringsTheElementsBack) {
  const Live live = RunLive(
      "p = f32[4] parameter(0)\n two = s32[] constant(2)\n four = s32[] constant(4)\n"
      " a = f32[<=4] set-dimension-size(p, two), dimensions={0}\n"
      " ROOT b = f32[<=4] set-dimension-size(a, four), dimensions={0}",
      {Counting({4})});
  EXPECT_EQ(live, (Live{{4}, {1, 2, 3, 4}}));
}

TEST(SetDimensionSizeTest, RejectsSizesBeyondTheBound) {
  const std::string lines =
      "p = f32[4] parameter(0)\n n = s32[] parameter(1)\n ROOT a = f32[<=4] set-dimension-size(p, n), dimensions={0}";
  for (int64_t size : {5, -1}) {
    EXPECT_THAT(MessageOf(lines, {Counting({4}), Ints(kS32, {}, {size})}),
                HasSubstr("set-dimension-size: size " + std::to_string(size) +
                          " is not in 0 to 4, the bound of dimension 0 of f32[4]"));
  }
}

TEST(GetDimensionSizeTest, GivesTheLiveSize) {
  const std::string lines = "p = f32[<=5,3] parameter(0)\n ROOT a = s32[] get-dimension-size(p), dimensions={";
  EXPECT_THAT(Integers(RunText(Entry(lines + "0}"), {Counting({2, 3})})), ElementsAre(2));
  EXPECT_THAT(Integers(RunText(Entry(lines + "1}"), {Counting({2, 3})})), ElementsAre(3));
}

TEST(DynamicReshapeTest, TakesItsSizesFromOperands) {
  const std::string lines =
      "p = f32[<=6] parameter(0)\n a = s32[] parameter(1)\n b = s32[] constant(2)\n"
      " ROOT r = f32[<=3,2] dynamic-reshape(p, a, b)";
  EXPECT_EQ(RunLive(lines, {Counting({4}), Ints(kS32, {}, {2})}), (Live{{2, 2}, {1, 2, 3, 4}}));
  EXPECT_EQ(RunLive(lines, {Counting({0}), Ints(kS32, {}, {0})}), (Live{{0, 2}, {}}));
  EXPECT_THAT(MessageOf(lines, {Counting({4}), Ints(kS32, {}, {3})}),
              HasSubstr("dynamic-reshape: 4 live elements cannot become f32[3,2]"));
  EXPECT_THAT(MessageOf(lines, {Counting({4}), Ints(kS32, {}, {4})}),
              HasSubstr("dynamic-reshape: size 4 does not fit dimension 0 of f32[<=3,2]"));
}

TEST(DynamicDimensionsTest, ElementwiseSizesMustAgree) {
  const std::string lines = "p = f32[<=5] parameter(0)\n q = f32[<=5] parameter(1)\n ROOT r = f32[<=5] add(p, q)";
  EXPECT_EQ(RunLive(lines, {Counting({3}), Counting({3})}), (Live{{3}, {2, 4, 6}}));
  EXPECT_EQ(RunLive(lines, {Counting({0}), Counting({0})}), (Live{{0}, {}}));
  EXPECT_EQ(RunLive(lines, {Counting({5}), Counting({5})}), (Live{{5}, {2, 4, 6, 8, 10}}));
  EXPECT_THAT(MessageOf(lines, {Counting({3}), Counting({5})}),
              HasSubstr("add: dimension 0 of operand 0 has the live size 3, dimension 0 of operand 1 has 5"));
}

TEST(DynamicDimensionsTest, StaticOperandsBesideDynamicOnesAreCut) {
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n q = f32[4] parameter(1)\n ROOT r = f32[<=4] multiply(p, q)",
                    {Counting({2}), Counting({4})}),
            (Live{{2}, {1, 4}}));
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n z = f32[] constant(2)\n t = f32[] constant(3)\n"
                    " ROOT r = f32[<=4] clamp(z, p, t)",
                    {Counting({4})}),
            (Live{{4}, {2, 2, 3, 3}}));
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n q = f32[4] parameter(1)\n"
                    " c = pred[<=4] compare(p, q), direction=GT\n ROOT r = f32[<=4] select(c, p, q)",
                    {Array(kF32, {3}, {5, 0, 7}), Counting({4})}),
            (Live{{3}, {5, 2, 7}}));
}

TEST(DynamicDimensionsTest, BroadcastKeepsTheSizeOfItsDimension) {
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n ROOT r = f32[2,<=4] broadcast(p), dimensions={1}", {Counting({3})}),
            (Live{{2, 3}, {1, 2, 3, 1, 2, 3}}));
}

TEST(DynamicDimensionsTest, ReshapeCollapsesAndSplitsLiveElements) {
  EXPECT_EQ(RunLive("p = f32[<=4,2] parameter(0)\n ROOT r = f32[<=8] reshape(p)", {Counting({3, 2})}),
            (Live{{6}, {1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(RunLive("p = f32[2,<=4] parameter(0)\n ROOT r = f32[<=8] reshape(p)", {Counting({2, 3})}),
            (Live{{6}, {1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(RunLive("p = f32[<=8] parameter(0)\n ROOT r = f32[<=4,2,1] reshape(p)", {Counting({6})}),
            (Live{{3, 2, 1}, {1, 2, 3, 4, 5, 6}}));
  EXPECT_EQ(RunLive("p = f32[<=2,3,<=2] parameter(0)\n ROOT r = f32[1,<=6,<=2] reshape(p)", {Counting({1, 3, 1})}),
            (Live{{1, 3, 1}, {1, 2, 3}}));
  EXPECT_THAT(MessageOf("p = f32[<=8] parameter(0)\n ROOT r = f32[<=4,2] reshape(p)", {Counting({5})}),
              HasSubstr("reshape: 5 live elements of f32[<=8] do not fill f32[<=4,2]"));
  EXPECT_THAT(MessageOf("p = f32[<=8] parameter(0)\n ROOT r = f32[<=4,<=2] reshape(p)", {Counting({5})}),
              HasSubstr("reshape: dimensions 0 and 1 of f32[<=4,<=2] are dynamic and come from the same dimensions of "
                        "f32[<=8]: use dynamic-reshape"));
}

TEST(DynamicDimensionsTest, SlicesStopAtTheLiveSize) {
  const std::string lines = "p = f32[<=7] parameter(0)\n ROOT r = ";
  EXPECT_EQ(RunLive(lines + "f32[<=7] slice(p), slice={[0:7]}", {Counting({3})}), (Live{{3}, {1, 2, 3}}));
  EXPECT_EQ(RunLive(lines + "f32[<=3] slice(p), slice={[1:7:2]}", {Counting({4})}), (Live{{2}, {2, 4}}));
  EXPECT_EQ(RunLive(lines + "f32[<=3] slice(p), slice={[4:7]}", {Counting({3})}), (Live{{0}, {}}));
  EXPECT_EQ(RunLive(lines + "f32[1] slice(p), slice={[2:3]}", {Counting({3})}), (Live{{1}, {3}}));
}

TEST(DynamicDimensionsTest, PadConcatenateReverseTranspose) {
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n z = f32[] constant(9)\n ROOT r = f32[<=9] pad(p, z), padding=1_1_1",
                    {Counting({2})}),
            (Live{{5}, {9, 1, 9, 2, 9}}));
  EXPECT_EQ(RunLive("p = f32[<=3] parameter(0)\n q = f32[2] parameter(1)\n"
                    " ROOT r = f32[<=8] concatenate(p, q, p), dimensions={0}",
                    {Counting({2}), Array(kF32, {2}, {7, 8})}),
            (Live{{6}, {1, 2, 7, 8, 1, 2}}));
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n ROOT r = f32[<=4] reverse(p), dimensions={0}", {Counting({3})}),
            (Live{{3}, {3, 2, 1}}));
  EXPECT_EQ(
      RunLive("p = f32[<=4,2] parameter(0)\n ROOT r = f32[2,<=4] transpose(p), dimensions={1,0}", {Counting({3, 2})}),
      (Live{{2, 3}, {1, 3, 5, 2, 4, 6}}));
}

TEST(DynamicDimensionsTest, ConvertAndBitsKeepTheSizes) {
  const Literal r = RunText(Entry("p = f32[<=4] parameter(0)\n c = s32[<=4] convert(p)\n"
                                  " b = u32[<=4] bitcast-convert(c)\n ROOT r = u32[<=4] copy(b)"),
                            {Counting({2})});
  EXPECT_EQ(r.dynamic_size(0), 2);
  EXPECT_THAT(Integers(CutToLiveSizes(r)), ElementsAre(1, 2));
}

TEST(DynamicDimensionsTest, ReductionsIgnoreThePadding) {
  EXPECT_EQ(RunLive("p = f32[<=4,3] parameter(0)\n z = f32[] constant(0)\n"
                    " ROOT r = f32[3] reduce(p, z), dimensions={0}, to_apply=sum",
                    {Counting({2, 3})}, kSum),
            (Live{{3}, {5, 7, 9}}));
  EXPECT_EQ(RunLive("p = f32[<=4,3] parameter(0)\n z = f32[] constant(0)\n"
                    " ROOT r = f32[<=4] reduce(p, z), dimensions={1}, to_apply=sum",
                    {Counting({2, 3})}, kSum),
            (Live{{2}, {6, 15}}));
  // Nothing lives: the initial value is left.
  EXPECT_EQ(RunLive("p = f32[<=4] parameter(0)\n z = f32[] constant(-5)\n"
                    " ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=top",
                    {Counting({0})}, kMax),
            (Live{{}, {-5}}));
}

TEST(DynamicDimensionsTest, WindowsEndWithTheLiveElements) {
  // Windows of 2 with one cell of padding behind the live elements, not behind the bound.
  EXPECT_EQ(RunLive("p = f32[<=6] parameter(0)\n z = f32[] constant(0)\n"
                    " ROOT r = f32[<=6] reduce-window(p, z), window={size=2 pad=0_1}, to_apply=sum",
                    {Counting({4})}, kSum),
            (Live{{4}, {3, 5, 7, 4}}));
  EXPECT_EQ(RunLive("p = f32[<=6] parameter(0)\n s = f32[<=3] parameter(1)\n z = f32[] constant(0)\n"
                    " ROOT r = f32[<=6] select-and-scatter(p, s, z), window={size=2 stride=2}, select=ge, scatter=sum",
                    {Array(kF32, {4}, {1, 5, 7, 2}), Array(kF32, {2}, {10, 20})}, std::string(kSum) + kGe),
            (Live{{4}, {0, 10, 20, 0}}));
}

TEST(DynamicDimensionsTest, DotIgnoresThePaddingOfContractedDimensions) {
  EXPECT_EQ(RunLive("p = f32[2,<=4] parameter(0)\n q = f32[<=4,2] parameter(1)\n"
                    " ROOT r = f32[2,2] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                    {Counting({2, 3}), Counting({3, 2})}),
            (Live{{2, 2}, {22, 28, 49, 64}}));
  EXPECT_EQ(RunLive("p = f32[<=4,2] parameter(0)\n q = f32[2,1] parameter(1)\n"
                    " ROOT r = f32[<=4,1] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                    {Counting({3, 2}), Counting({2, 1})}),
            (Live{{3, 1}, {5, 11, 17}}));
  EXPECT_THAT(MessageOf("p = f32[2,<=4] parameter(0)\n q = f32[<=4,2] parameter(1)\n"
                        " ROOT r = f32[2,2] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                        {Counting({2, 3}), Counting({4, 2})}),
              HasSubstr("dot: dimension 1 of operand 0 has the live size 3, dimension 0 of operand 1 has 4"));
}

TEST(DynamicDimensionsTest, ConvolutionOverLiveBatchAndSpace) {
  // Two of three images, four of five columns; a kernel of ones sums neighbours.
  EXPECT_EQ(RunLive("p = f32[<=3,<=5,1] parameter(0)\n k = f32[2,1,1] parameter(1)\n"
                    " ROOT r = f32[<=3,<=5,1] convolution(p, k), window={size=2 pad=0_1}, dim_labels=b0f_0io->b0f",
                    {Counting({2, 4, 1}), Array(kF32, {2, 1, 1}, {1, 1})}),
            (Live{{2, 4, 1}, {3, 5, 7, 4, 11, 13, 15, 8}}));
}

TEST(DynamicDimensionsTest, SortAndTopkSeeTheLiveElements) {
  EXPECT_EQ(RunLive("p = f32[<=5] parameter(0)\n ROOT r = f32[<=5] sort(p), dimensions={0}, to_apply=less",
                    {Array(kF32, {3}, {3, -1, 2})}, kLess),
            (Live{{3}, {-1, 2, 3}}));
  EXPECT_EQ(RunLive("p = f32[<=5] parameter(0)\n t = (f32[2], s32[2]) topk(p), k=2, largest=false\n"
                    " ROOT r = f32[2] get-tuple-element(t), index=0",
                    {Array(kF32, {3}, {3, 1, 2})}),
            (Live{{2}, {1, 2}}));
}

TEST(DynamicDimensionsTest, GatherClampsToTheLiveRowsAndScatterSkipsTheOthers) {
  const std::string gather =
      "p = f32[<=4,2] parameter(0)\n i = s32[<=3] parameter(1)\n"
      " ROOT r = f32[<=3,2] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
      " index_vector_dim=1, slice_sizes={1,2}";
  EXPECT_EQ(RunLive(gather, {Counting({2, 2}), Ints(kS32, {2}, {0, 3})}), (Live{{2, 2}, {1, 2, 3, 4}}));
  const std::string scatter =
      "p = f32[<=4] parameter(0)\n i = s32[3] parameter(1)\n u = f32[3] parameter(2)\n"
      " ROOT r = f32[<=4] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0},"
      " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum";
  EXPECT_EQ(RunLive(scatter, {Counting({2}), Ints(kS32, {3}, {1, 3, 0}), Array(kF32, {3}, {10, 20, 30})}, kSum),
            (Live{{2}, {31, 12}}));
}

TEST(DynamicDimensionsTest, DynamicSlicesStayWithinTheLiveElements) {
  EXPECT_EQ(RunLive("p = f32[<=5] parameter(0)\n i = s32[] parameter(1)\n"
                    " ROOT r = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={2}",
                    {Counting({3}), Ints(kS32, {}, {4})}),
            (Live{{2}, {2, 3}}));
  EXPECT_EQ(RunLive("p = f32[5] parameter(0)\n u = f32[<=3] parameter(1)\n i = s32[] constant(1)\n"
                    " ROOT r = f32[5] dynamic-update-slice(p, u, i)",
                    {Counting({5}), Array(kF32, {2}, {8, 9})}),
            (Live{{5}, {1, 8, 9, 4, 5}}));
}

TEST(DynamicDimensionsTest, BatchNormalisationOverTheLiveBatch) {
  const Literal r =
      RunText(Entry("p = f32[<=5,1] parameter(0)\n s = f32[1] parameter(1)\n o = f32[1] parameter(2)\n"
                    " ROOT r = (f32[<=5,1], f32[1], f32[1]) batch-norm-training(p, s, o), epsilon=0, feature_index=1"),
              {Array(kF32, {2, 1}, {1, 3}), Array(kF32, {1}, {1}), Array(kF32, {1}, {0})});
  EXPECT_EQ(LiveOf(r.tuple_elements()[0]), (Live{{2, 1}, {-1, 1}}));
  EXPECT_EQ(r.tuple_elements()[1].GetDouble(0), 2);
  EXPECT_EQ(r.tuple_elements()[2].GetDouble(0), 1);
}

TEST(DynamicDimensionsTest, SizesPassThroughControlFlow) {
  // Each round drops an element until two are left.
  const std::string computations =
      "cond {\n s = f32[<=5] parameter(0)\n n = s32[] get-dimension-size(s), dimensions={0}\n two = s32[] constant(2)\n"
      " ROOT r = pred[] compare(n, two), direction=GT\n}\n"
      "body {\n s = f32[<=5] parameter(0)\n n = s32[] get-dimension-size(s), dimensions={0}\n one = s32[] constant(1)\n"
      " m = s32[] subtract(n, one)\n ROOT r = f32[<=5] set-dimension-size(s, m), dimensions={0}\n}\n"
      "twice {\n s = f32[<=5] parameter(0)\n ROOT r = f32[<=5] add(s, s)\n}\n"
      "same {\n s = f32[<=5] parameter(0)\n ROOT r = f32[<=5] negate(s)\n}\n";
  EXPECT_EQ(RunLive("p = f32[<=5] parameter(0)\n w = f32[<=5] while(p), condition=cond, body=body\n"
                    " c = f32[<=5] call(w), to_apply=twice\n f = f32[<=5] fusion(c), kind=kLoop, calls=twice\n"
                    " b = pred[] constant(true)\n t = (f32[<=5], pred[]) tuple(f, b)\n"
                    " g = f32[<=5] get-tuple-element(t), index=0\n"
                    " ROOT r = f32[<=5] conditional(b, g, g), true_computation=same, false_computation=twice",
                    {Counting({4})}, computations),
            (Live{{2}, {-4, -8}}));
}

TEST(DynamicDimensionsTest, AStaticShapeCannotHoldFewerElements) {
  EXPECT_THAT(MessageOf("p = f32[<=4] parameter(0)\n ROOT r = f32[4] negate(p)", {Counting({3})}),
              HasSubstr("negate: the stated shape f32[4] should be f32[<=4]"));
  const std::string lines =
      "p = f32[<=4] parameter(0)\n n = s32[] get-dimension-size(p), dimensions={0}\n"
      " ROOT r = f32[4] set-dimension-size(p, n), dimensions={0}";
  EXPECT_THAT(MessageOf(lines, {Counting({3})}),
              HasSubstr("set-dimension-size: dimension 0 of f32[4] comes out with the live size 3"));
  EXPECT_EQ(RunLive(lines, {Counting({4})}), (Live{{4}, {1, 2, 3, 4}}));
}

TEST(DynamicDimensionsTest, AStaticParameterTakesNoFewerElements) {
  Literal three(RunText(Entry("ROOT p = f32[<=4] parameter(0)"), {Counting({3})}));
  EXPECT_THAT(MessageOf("ROOT p = f32[4] parameter(0)", {three}),
              HasSubstr("argument 0 is f32[<=4], but parameter 0 of e is f32[4]"));
  three.set_dynamic_size(0, 4);
  EXPECT_EQ(RunLive("ROOT p = f32[4] parameter(0)", {three}).sizes, std::vector<int64_t>{4});
}

TEST(DynamicDimensionsTest, AnArrayOfASmallerBoundFitsALargerOne) {
  Literal two(RunText(Entry("ROOT p = f32[<=3] parameter(0)"), {Counting({2})}));
  EXPECT_EQ(RunLive("p = f32[<=5] parameter(0)\n ROOT r = f32[<=5] negate(p)", {two}), (Live{{2}, {-1, -2}}));
}

// A value that is static and as wide as the bound is dynamic from where the text says so: it then agrees or it is an
// error.
TEST(DynamicDimensionsTest, ValuesTakeTheFlagsThatAreStated) {
  const std::string lines =
      "p = f32[4] parameter(0)\n q = f32[<=4] parameter(1)\n t = (f32[<=4]) tuple(p)\n"
      " g = f32[<=4] get-tuple-element(t), index=0\n ROOT r = f32[<=4] add(g, q)";
  EXPECT_EQ(RunLive(lines, {Counting({4}), Counting({4})}), (Live{{4}, {2, 4, 6, 8}}));
  EXPECT_THAT(MessageOf(lines, {Counting({4}), Counting({3})}),
              HasSubstr("add: dimension 0 of operand 0 has the live size 4, dimension 0 of operand 1 has 3"));
}

TEST(DynamicDimensionsTest, TopkNeedsKLiveElements) {
  EXPECT_THAT(MessageOf("p = f32[<=5] parameter(0)\n ROOT t = (f32[2], s32[2]) topk(p), k=2", {Counting({1})}),
              HasSubstr("topk: k 2 is not in 0 to 1, dimension 0 of f32[1]"));
}

// As XLA's programs have it: positions from an iota as wide as the bound, sorted along with keys that live in part.
TEST(DynamicDimensionsTest, AStaticOperandOfASortKeepsWhatLiesBeyond) {
  const std::string less2 =
      "less2 {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
      " ROOT r = pred[] compare(a, b), direction=LT\n}\n";
  const Literal r =
      RunText(Entry("p = f32[<=5] parameter(0)\n i = s32[5] iota(), iota_dimension=0\n"
                    " ROOT t = (f32[<=5], s32[5]) sort(p, i), dimensions={0}, is_stable=true, to_apply=less2",
                    less2),
              {Array(kF32, {3}, {3, 1, 2})});
  EXPECT_EQ(LiveOf(r.tuple_elements()[0]), (Live{{3}, {1, 2, 3}}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(1, 2, 0, 3, 4));
}

TEST(DynamicDimensionsTest, ScalesMustCutTheLiveElementsIntoBlocks) {
  const std::string lines =
      "a = f8e4m3fn[2,<=96] parameter(0)\n b = f8e4m3fn[5,<=96] parameter(1)\n s = f8e8m0fnu[2,3] parameter(2)\n"
      " t = f8e8m0fnu[5,3] parameter(3)\n"
      " ROOT r = f32[2,5] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}";
  auto ones = [](ElementType type, const std::vector<int64_t>& sizes) {
    return Array(type, sizes, std::vector<double>(static_cast<size_t>(CountOf(sizes)), 1));
  };
  const Literal s = ones(kF8E8M0FNU, {2, 3}), t = ones(kF8E8M0FNU, {5, 3});
  // Static scales are cut to the blocks that live.
  EXPECT_EQ(RunLive(lines, {ones(kF8E4M3FN, {2, 64}), ones(kF8E4M3FN, {5, 64}), s, t}).values,
            std::vector<double>(10, 64));
  EXPECT_THAT(MessageOf(lines, {ones(kF8E4M3FN, {2, 40}), ones(kF8E4M3FN, {5, 40}), s, t}),
              HasSubstr("scaled-dot: dimension 1 of operand 0 has the live size 40, dimension 1 of operand 2 has 1 "
                        "scales for 32 each"));
}

TEST(DynamicDimensionsTest, ScansCountTheLiveSteps) {
  const std::string step =
      "step {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n c = f32[] parameter(2)\n"
      " p = f32[] multiply(x, y)\n s = f32[] add(p, c)\n ROOT r = (f32[], f32[]) tuple(s, s)\n}\n";
  const std::string lines =
      "a = f32[<=5] parameter(0)\n b = f32[<=5] parameter(1)\n z = f32[] constant(1)\n"
      " t = (f32[<=5], f32[]) scan(a, b, z), dimensions={0}, num_carries=1, to_apply=step\n"
      " ROOT r = f32[<=5] get-tuple-element(t), index=0";
  EXPECT_EQ(RunLive(lines, {Counting({3}), Counting({3})}, step), (Live{{3}, {2, 6, 15}}));
  EXPECT_EQ(RunLive(lines, {Counting({0}), Counting({0})}, step), (Live{{0}, {}}));
  EXPECT_THAT(MessageOf(lines, {Counting({3}), Counting({2})}, step),
              HasSubstr("dimension 0 of operand 0 has the live size 3, of operand 1 2"));
}

TEST(DynamicDimensionsTest, ArgumentsFitTheirBounds) {
  const std::string lines = "p = f32[<=4,2] parameter(0)\n ROOT r = f32[<=4,2] negate(p)";
  EXPECT_THAT(MessageOf(lines, {Counting({5, 2})}),
              HasSubstr("argument 0 is f32[5,2], but parameter 0 of e is f32[<=4,2]"));
  EXPECT_THAT(MessageOf(lines, {Counting({4, 1})}),
              HasSubstr("argument 0 is f32[4,1], but parameter 0 of e is f32[<=4,2]"));
  Literal whole(RunText(Entry(lines), {Counting({3, 2})}).shape());
  whole.set_dynamic_size(0, 1);
  whole.SetDouble(1, 7);
  EXPECT_EQ(RunLive(lines, {whole}), (Live{{1, 2}, {-0.0, -7}}));
}

TEST(DynamicDimensionsTest, LinearAlgebraOnTheLiveCorner) {
  EXPECT_EQ(RunLive("p = f32[<=3,<=3] parameter(0)\n ROOT r = f32[<=3,<=3] cholesky(p), lower=true",
                    {Array(kF32, {2, 2}, {4, 0, 2, 5})}),
            (Live{{2, 2}, {2, 0, 1, 2}}));
  EXPECT_EQ(RunLive("a = f32[<=3,<=3] parameter(0)\n b = f32[<=3,1] parameter(1)\n"
                    " ROOT r = f32[<=3,1] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false,"
                    " transpose_a=NO_TRANSPOSE",
                    {Array(kF32, {2, 2}, {2, 0, 1, 2}), Array(kF32, {2, 1}, {4, 4})}),
            (Live{{2, 1}, {2, 1}}));
}

TEST(LiveSizesTest, CutsAndPadsAnyRank) {
  Shape bounded(kF32, {2, 3, 4});
  bounded.set_dynamic_dimension(0, true);
  bounded.set_dynamic_dimension(2, true);
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 3, 4}, {1, 3, 2}, {2, 3, 0}, {0, 3, 4}}) {
    const Literal dense = Counting(sizes);
    const Literal padded = PadToBounds(dense, bounded);
    EXPECT_EQ(LiveSizes(padded), sizes);
    EXPECT_EQ(padded.element_count(), 24);
    EXPECT_EQ(CutToLiveSizes(padded), dense);
  }
}

TEST(LiveSizesTest, ToleranceThatFollowsMagnitudesIsReadAtTheLiveElements) {
  Shape bounded(kF32, {2, 4});
  bounded.set_dynamic_dimension(1, true);
  const Literal expected = PadToBounds(Array(kF32, {2, 2}, {1, 1, 1, 1}), bounded);
  const Literal actual = PadToBounds(Array(kF32, {2, 2}, {1, 1, 1, 1.5}), bounded);
  const Literal magnitudes = PadToBounds(Array(kF32, {2, 2}, {0, 0, 0, 1}), bounded);
  Tolerance tolerance;
  tolerance.magnitudes = &magnitudes;
  tolerance.magnitude_factor = 1;
  EXPECT_TRUE(Compare(actual, expected, tolerance).agrees());
  EXPECT_FALSE(Compare(expected, actual, Tolerance{}).agrees());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
