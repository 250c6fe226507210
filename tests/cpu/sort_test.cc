// Sort against std::stable_sort, topk, and random bits against the published test vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using enum ElementType;

std::string Compare(const std::string& type, const std::string& direction, const std::string& extra = {}) {
  return "f { a = " + type + "[] parameter(0)\n b = " + type +
         "[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=" + direction + extra + " }\n";
}

long double NumberAt(const Literal& x, int64_t at) {
  const ElementType type = x.shape().element_type();
  if (IsFloating(type)) return x.GetDouble(at);
  return IsSigned(type) ? static_cast<long double>(x.GetInt(at))
                        : static_cast<long double>(static_cast<uint64_t>(x.GetInt(at)));
}

TEST(SortTest, EachDimensionBothDirectionsEveryType) {
  for (ElementType type : {kS4, kS8, kU8, kS32, kU32, kS64, kU64, kBF16, kF16, kF32, kF64, kPred}) {
    for (int dimension = 0; dimension < 3; ++dimension) {
      for (const bool descending : {false, true}) {
        const std::vector<int64_t> sizes = {3, 41, 5};
        const Literal x = Random(type, sizes, 1, ArgumentFill::kFullRange);
        const std::string t = std::string(ElementTypeName(type));
        const Literal y = RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(x.shape()) +
                                            " sort(p), dimensions={" + std::to_string(dimension) + "}, to_apply=f",
                                        Compare(t, descending ? "GT" : "LT")),
                                  {x});
        for (int64_t i = 0; i < x.element_count(); ++i) {
          std::vector<int64_t> index = IndexOf(i, sizes);
          if (index[static_cast<size_t>(dimension)] != 0) continue;
          std::vector<long double> line, got;  // holds every integer too
          for (int64_t k = 0; k < sizes[static_cast<size_t>(dimension)]; ++k) {
            index[static_cast<size_t>(dimension)] = k;
            const int64_t at = PositionOf(index, sizes);
            line.push_back(NumberAt(x, at));
            got.push_back(NumberAt(y, at));
          }
          std::stable_sort(line.begin(), line.end(),
                           [&](long double a, long double b) { return descending ? a > b : a < b; });
          ASSERT_EQ(got, line) << t << " " << dimension;
        }
      }
    }
  }
}

TEST(SortTest, SortsSeveralArraysTogetherAndIsStable) {
  const int64_t n = 1009;
  Literal keys(Shape(kS32, {n})), order(Shape(kS32, {n}));
  for (int64_t i = 0; i < n; ++i) keys.SetInt(i, i * 7919 % 31), order.SetInt(i, i);
  const Literal y = RunText(
      Entry("k = s32[1009] parameter(0)\nv = s32[1009] parameter(1)\n"
            "ROOT r = (s32[1009], s32[1009]) sort(k, v), dimensions={0}, is_stable=true, to_apply=f",
            "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n"
            " ROOT r = pred[] compare(a, b), direction=LT }\n"),
      {keys, order});
  std::vector<int64_t> want(static_cast<size_t>(n));
  std::iota(want.begin(), want.end(), 0);
  std::stable_sort(want.begin(), want.end(), [&](int64_t a, int64_t b) { return keys.GetInt(a) < keys.GetInt(b); });
  EXPECT_EQ(Integers(y.tuple_elements()[1]), want);
}

TEST(SortTest, TotalOrderPutsNanByItsSign) {
  const Literal x = Array(kF32, {7}, {kNan, 1, -kInf, -0.0, 0.0, -std::fabs(kNan), kInf});
  const Literal y = RunText(Entry("p = f32[7] parameter(0)\nROOT r = f32[7] sort(p), dimensions={0}, to_apply=f",
                                  Compare("f32", "LT", ", type=TOTALORDER")),
                            {x});
  EXPECT_THAT(Doubles(y), SameDoubles({kNan, -kInf, -0.0, 0.0, 1, kInf, kNan}));
}

TEST(SortTest, ComparatorsWithLogicOfBothSidesAndBrokenOnes) {
  // by a descending, then by b ascending
  const char two_keys[] = R"(
f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(c, d), direction=LT
  both = pred[] and(eq, lt)
  ROOT r = pred[] or(gt, both)
}
)";
  const int64_t n = 331;
  const Literal a = Random(kS32, {n}, 4), b = Random(kF32, {n}, 5);
  const Literal y = RunText(Entry("a = s32[331] parameter(0)\nb = f32[331] parameter(1)\n"
                                  "ROOT r = (s32[331], f32[331]) sort(a, b), dimensions={0}, to_apply=f",
                                  two_keys),
                            {a, b});
  std::vector<std::pair<int64_t, double>> want, got;
  for (int64_t i = 0; i < n; ++i) {
    want.emplace_back(-a.GetInt(i), b.GetDouble(i));
    got.emplace_back(-y.tuple_elements()[0].GetInt(i), y.tuple_elements()[1].GetDouble(i));
  }
  std::sort(want.begin(), want.end());
  EXPECT_EQ(got, want);
  // A comparator that is always true is no order, yet some permutation comes out.
  const Literal z =
      RunText(Entry("p = f32[331] parameter(0)\nROOT r = f32[331] sort(p), dimensions={0}, to_apply=f",
                    "f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] constant(true) }\n"),
              {b});
  EXPECT_THAT(Doubles(z), ::testing::UnorderedElementsAreArray(Doubles(b)));
}

TEST(SortTest, KeysThroughBitcastsAsXlaWritesThem) {
  const char computation[] = R"(
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  z = s32[] constant(0)
  m = s32[] constant(2147483647)
  i = s32[] bitcast-convert(a)
  j = s32[] bitcast-convert(b)
  x = s32[] xor(m, i)
  y = s32[] xor(m, j)
  c = pred[] compare(i, z), direction=LT
  d = pred[] compare(j, z), direction=LT
  k = s32[] select(c, x, i)
  l = s32[] select(d, y, j)
  ROOT r = pred[] compare(l, k), direction=GT
}
)";
  const Literal x = Random(kF32, {1, 773}, 6);
  const Literal y = RunText(
      Entry("p = f32[1,773] parameter(0)\nROOT r = f32[1,773] sort(p), dimensions={1}, to_apply=f", computation), {x});
  std::vector<double> want = Doubles(x);
  std::sort(want.begin(), want.end());
  EXPECT_EQ(Doubles(y), want);
}

TEST(SortTest, KeysFromOpsThatAreNotElementwise) {
  // |a| < |b| by branches, which run on the evaluator.
  const char computation[] = R"(
same { p = f32[] parameter(0)
  ROOT r = f32[] copy(p) }
flip { p = f32[] parameter(0)
  ROOT r = f32[] negate(p) }
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  z = f32[] constant(0)
  c = pred[] compare(a, z), direction=LT
  d = pred[] compare(b, z), direction=LT
  x = f32[] conditional(c, a, a), true_computation=flip, false_computation=same
  y = f32[] conditional(d, b, b), true_computation=flip, false_computation=same
  ROOT r = pred[] compare(x, y), direction=LT
}
)";
  const Literal x = Random(kF32, {103}, 9);
  const Literal y = RunText(
      Entry("p = f32[103] parameter(0)\nROOT r = f32[103] sort(p), dimensions={0}, to_apply=f", computation), {x});
  std::vector<double> want = Doubles(x);
  std::stable_sort(want.begin(), want.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  EXPECT_EQ(Doubles(y), want);
}

TEST(SortTest, EmptyAndSingleLines) {
  const std::string comparator = Compare("f32", "LT");
  EXPECT_EQ(
      RunText(Entry("p = f32[0,3] parameter(0)\nROOT r = f32[0,3] sort(p), dimensions={0}, to_apply=f", comparator),
              {Literal(Shape(kF32, {0, 3}))})
          .element_count(),
      0);
  EXPECT_THAT(
      Doubles(RunText(Entry("p = f32[1] parameter(0)\nROOT r = f32[1] sort(p), dimensions={0}, to_apply=f", comparator),
                      {Array(kF32, {1}, {5})})),
      ElementsAre(5));
}

TEST(TopKTest, LargestAndSmallestWithTiesToTheFirst) {
  const Literal x = Array(kF32, {2, 5}, {1, 5, 3, 5, -2, kNan, 0, -0.0, kInf, -kInf});
  const Literal y =
      RunText(Entry("p = f32[2,5] parameter(0)\nROOT r = (f32[2,3], s32[2,3]) topk(p), k=3, largest=true"), {x});
  EXPECT_THAT(Doubles(y.tuple_elements()[0]), SameDoubles({5, 5, 3, kNan, kInf, 0}));
  EXPECT_THAT(Integers(y.tuple_elements()[1]), ElementsAre(1, 3, 2, 0, 3, 1));
  const Literal z = RunText(Entry("p = u8[4] parameter(0)\nROOT r = (u8[2], s32[2]) topk(p), k=2, largest=false"),
                            {Ints(kU8, {4}, {200, 7, 9, 7})});
  EXPECT_THAT(Integers(z.tuple_elements()[0]), ElementsAre(7, 7));
  EXPECT_THAT(Integers(z.tuple_elements()[1]), ElementsAre(1, 3));
}

Literal RandomBits(const std::string& algorithm, const std::vector<int64_t>& state, const Shape& shape) {
  const int64_t n = static_cast<int64_t>(state.size());
  const std::string s = Text(Shape(kU64, {n}));
  return RunText(Entry("s = " + s + " parameter(0)\nROOT r = (" + s + ", " + Text(shape) +
                       ") rng-bit-generator(s), algorithm=" + algorithm),
                 {Ints(kU64, {n}, state)});
}

TEST(RngBitGeneratorTest, ThreeFryMatchesThePublishedVectors) {
  // Random123's known answers for threefry2x32 with 20 rounds.
  Literal r = RandomBits("rng_three_fry", {0, 0}, Shape(kU32, {2}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0x6b200159, 0x99ba4efe));
  r = RandomBits("rng_three_fry", {-1, -1}, Shape(kU32, {2}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0x1cb996fc, 0xbb002be7));
  r = RandomBits("rng_three_fry", {0x0370734413198a2e, static_cast<int64_t>(0x85a308d3243f6a88)}, Shape(kU32, {2}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0xc4923a9c, 0x483df7a0));
  EXPECT_THAT(Integers(r.tuple_elements()[0]),
              ElementsAre(0x0370734413198a2e, static_cast<int64_t>(0x85a308d3243f6a89)));
}

TEST(RngBitGeneratorTest, PhiloxMatchesThePublishedVectors) {
  Literal r = RandomBits("rng_philox", {0, 0, 0}, Shape(kU32, {4}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  r = RandomBits("rng_philox", {-1, -1, -1}, Shape(kU32, {4}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Integers(r.tuple_elements()[0]), ElementsAre(-1, 0, 0));  // the counter's carry
  r = RandomBits("rng_philox", {0x299f31d0a4093822, static_cast<int64_t>(0x85a308d3243f6a88), 0x0370734413198a2e},
                 Shape(kU32, {4}));
  EXPECT_THAT(Integers(r.tuple_elements()[1]), ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RngBitGeneratorTest, WidthsAndShapes) {
  const Literal words = RandomBits("rng_three_fry", {5, 9}, Shape(kU32, {6}));
  const Literal bytes = RandomBits("rng_three_fry", {5, 9}, Shape(kU8, {6}));
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(bytes.tuple_elements()[1].GetInt(i), words.tuple_elements()[1].GetInt(i) & 0xff);
  const Literal wide = RandomBits("rng_three_fry", {5, 9}, Shape(kU64, {3}));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(wide.tuple_elements()[1].GetInt(i),
              words.tuple_elements()[1].GetInt(2 * i) | words.tuple_elements()[1].GetInt(2 * i + 1) << 32);
  }
  // The counter moves by one a pair of words; scalars and empty arrays included.
  EXPECT_EQ(RandomBits("rng_three_fry", {5, 9}, Shape(kU32)).tuple_elements()[0].GetInt(1), 10);
  EXPECT_EQ(RandomBits("rng_three_fry", {5, 9}, Shape(kU32, {0})).tuple_elements()[0].GetInt(1), 9);
  EXPECT_EQ(RandomBits("rng_three_fry", {5, 9}, Shape(kU32, {3, 5})).tuple_elements()[0].GetInt(1), 9 + 9);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
