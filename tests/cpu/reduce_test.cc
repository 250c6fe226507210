// Reduce: any dimensions, computations and numbers of arrays, against folds written out here.
#include <algorithm>
#include <cmath>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace reduce_test {

using ::testing::ElementsAre;
using enum ElementType;

std::string Reducer(const std::string& op, ElementType type) {
  const std::string t = Text(Shape(type));
  return "f {\n  x = " + t + " parameter(0)\n  y = " + t + " parameter(1)\n  ROOT r = " + t + " " + op + "(x, y)\n}\n";
}

Literal Reduce(const std::string& op, const Literal& x, double init, const std::vector<int64_t>& dimensions,
               int threads = 0) {
  const ElementType type = x.shape().element_type();
  std::vector<int64_t> kept;
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end()) kept.push_back(x.shape().dimension(d));
  }
  EvaluateOptions options;
  options.threads = threads;
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\ni = " + Text(Shape(type)) +
                           " parameter(1)\nROOT r = " + Text(Shape(type, kept)) + " reduce(p, i), dimensions={" +
                           JoinInts(dimensions) + "}, to_apply=f",
                       Reducer(op, type)),
                 {x, Literal::Scalar(type, init)}, options);
}

TEST(ReduceTest, SumsOverEverySetOfDimensions) {
  const std::vector<int64_t> sizes = {3, 4, 1, 5, 2};
  const Literal x = Random(kS32, sizes, 1);
  for (int mask = 0; mask < 32; ++mask) {
    std::vector<int64_t> dimensions, kept;
    for (int d = 0; d < 5; ++d) (mask >> d & 1 ? dimensions : kept).push_back(d);
    std::vector<int64_t> kept_sizes;
    for (int64_t d : kept) kept_sizes.push_back(sizes[static_cast<size_t>(d)]);
    std::vector<int64_t> want(static_cast<size_t>(CountOf(kept_sizes)), 7);
    for (int64_t i = 0; i < x.element_count(); ++i) {
      const std::vector<int64_t> index = IndexOf(i, sizes);
      std::vector<int64_t> at;
      for (int64_t d : kept) at.push_back(index[static_cast<size_t>(d)]);
      want[static_cast<size_t>(PositionOf(at, kept_sizes))] += x.GetInt(i);
    }
    for (int64_t& sum : want) sum = static_cast<int32_t>(sum);  // wraps round
    EXPECT_EQ(Integers(Reduce("add", x, 7, dimensions)), want) << mask;
  }
}

TEST(ReduceTest, EveryTypeAndCommutingOp) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const ElementType type = static_cast<ElementType>(t);
    if ((!IsInteger(type) && !IsFloating(type)) || type == kF8E8M0FNU) continue;
    const Literal x = Random(type, {3, 331}, 2, ArgumentFill::kFullRange);
    for (const std::string op : {"maximum", "minimum"}) {
      const double init = op == "maximum" ? -1 : 1;
      if (IsUnsigned(type) && init < 0) continue;
      const Literal y = Reduce(op, x, init, {1});
      for (int64_t r = 0; r < 3; ++r) {
        const bool max = op == "maximum";
        if (IsFloating(type)) {
          double want = init;
          for (int64_t i = 0; i < 331; ++i)
            want = max ? std::max(want, x.GetDouble(r * 331 + i)) : std::min(want, x.GetDouble(r * 331 + i));
          EXPECT_EQ(y.GetDouble(r), want) << op << " " << ElementTypeName(type);
        } else {
          const auto less = [&](int64_t a, int64_t b) {
            return IsUnsigned(type) ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
          };
          int64_t want = Literal::Scalar(type, init).GetInt(0);
          for (int64_t i = 0; i < 331; ++i)
            if (const int64_t value = x.GetInt(r * 331 + i); max != less(value, want)) want = value;
          EXPECT_EQ(y.GetInt(r), want) << op << " " << ElementTypeName(type);
        }
      }
    }
  }
}

TEST(ReduceTest, MaximumSpreadsNan) {
  EXPECT_THAT(Doubles(Reduce("maximum", Array(kF32, {2, 3}, {1, kNan, 2, 3, 4, 5}), -kInf, {1})),
              SameDoubles({kNan, 5}));
  EXPECT_THAT(Doubles(Reduce("maximum", Array(kF32, {2, 3}, {1, kNan, 2, 3, 4, 5}), -kInf, {0})),
              SameDoubles({3, kNan, 5}));
}

TEST(ReduceTest, LongF32SumsRoundOnce) {
  const int64_t n = (1 << 20) + 7;
  Literal x(Shape(kF32, {n}));
  std::span<float> values = x.mutable_data<float>();
  long double want = 0;
  for (int64_t i = 0; i < n; ++i) {
    values[static_cast<size_t>(i)] = 1.0f / static_cast<float>(i + 1);
    want += values[static_cast<size_t>(i)];
  }
  EXPECT_EQ(Reduce("add", x, 0, {0}).GetDouble(0), static_cast<float>(want));
}

TEST(ReduceTest, F64SumsAreCompensated) {
  for (int64_t n : {9, 3001, 300007}) {
    Literal x(Shape(kF64, {n}));
    for (int64_t i = 0; i < n; ++i) x.SetDouble(i, i == 0 ? 1e16 : i == n - 1 ? -1e16 : 1);
    EXPECT_EQ(Reduce("add", x, 0, {0}).GetDouble(0), static_cast<double>(n - 2)) << n;
  }
  EXPECT_THAT(Doubles(Reduce("add", Array(kF64, {3}, {kInf, 1, 2}), 0, {0})), ElementsAre(kInf));
}

TEST(ReduceTest, ComplexSums) {
  const Literal x = Random(kC128, {5000}, 4);
  std::complex<long double> want = 0;
  for (int64_t i = 0; i < 5000; ++i) want += std::complex<long double>(x.GetComplex(i));
  const Literal y = RunText(Entry("p = c128[5000] parameter(0)\ni = c128[] constant((0, 0))\n"
                                  "ROOT r = c128[] reduce(p, i), dimensions={0}, to_apply=f",
                                  Reducer("add", kC128)),
                            {x});
  EXPECT_EQ(y.GetComplex(0), std::complex<double>(want));
}

TEST(ReduceTest, EmptyReductionsGiveTheInitialValue) {
  EXPECT_THAT(Doubles(Reduce("add", Literal(Shape(kF32, {2, 0})), 5, {1})), ElementsAre(5, 5));
  EXPECT_EQ(Reduce("add", Literal(Shape(kF32, {0, 3})), 5, {1}).element_count(), 0);
  EXPECT_THAT(Doubles(Reduce("add", Array(kF32, {2}, {1, 2}), 5, {})), ElementsAre(6, 7));
}

const char kArgMax[] = R"(
argmax {
  a = f32[] parameter(0)
  ai = s32[] parameter(1)
  b = f32[] parameter(2)
  bi = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  ne = pred[] compare(a, a), direction=NE
  better = pred[] or(gt, ne)
  eq = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(ai, bi), direction=LT
  tie = pred[] and(eq, earlier)
  pick = pred[] or(better, tie)
  v = f32[] select(better, a, b)
  i = s32[] select(pick, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
)";

TEST(ReduceTest, VariadicArgmaxOfLongAndShortLines) {
  for (int64_t n : {1, 7, 100, 5003}) {
    Literal x = Random(kF32, {3, n}, 6);
    for (int64_t i = 0; i < 3 * n; ++i) x.SetDouble(i, std::round(x.GetDouble(i) * 8));  // ties
    const std::string shape = std::to_string(n) + "]";
    const Literal y =
        RunText(Entry("p = f32[3," + shape + " parameter(0)\nk = s32[3," + shape + " iota(), iota_dimension=1\n" +
                          "v = f32[] constant(-inf)\nz = s32[] constant(0)\n"
                          "ROOT r = (f32[3], s32[3]) reduce(p, k, v, z), dimensions={1}, to_apply=argmax",
                      kArgMax),
                {x});
    for (int64_t r = 0; r < 3; ++r) {
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i) {
        if (x.GetDouble(r * n + i) > x.GetDouble(r * n + best)) best = i;
      }
      EXPECT_EQ(y.tuple_elements()[1].GetInt(r), best) << n;
      EXPECT_EQ(y.tuple_elements()[0].GetDouble(r), x.GetDouble(r * n + best));
    }
  }
}

TEST(ReduceTest, ComputationsThatDoNotCommuteKeepTheOrder) {
  // f(x, y) = x if x is not zero, else y: the first number that is not zero.
  const char first[] = R"(
first {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  z = s32[] constant(0)
  ne = pred[] compare(x, z), direction=NE
  ROOT r = s32[] select(ne, x, y)
}
)";
  for (int64_t n : {5, 4099}) {
    Literal x(Shape(kS32, {n}));
    for (int64_t i = 3; i < n; ++i) x.SetInt(i, i);
    const Literal y = RunText(Entry("p = s32[" + std::to_string(n) +
                                        "] parameter(0)\nz = s32[] constant(0)\n"
                                        "ROOT r = s32[] reduce(p, z), dimensions={0}, to_apply=first",
                                    first),
                              {x});
    EXPECT_EQ(y.GetInt(0), 3);
  }
}

TEST(ReduceTest, ComputationsWithOpsThatAreNotElementwise) {
  const char computation[] = R"(
two { p = f32[] parameter(0)
  ROOT r = f32[] multiply(p, p) }
three { p = f32[] parameter(0)
  ROOT r = f32[] add(p, p) }
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  c = pred[] compare(x, y), direction=LT
  k = f32[] conditional(c, y, x), true_computation=two, false_computation=three
  ROOT r = f32[] add(x, k)
}
)";
  const Literal y = RunText(Entry("p = f32[2,3] parameter(0)\nz = f32[] constant(0)\n"
                                  "ROOT r = f32[2] reduce(p, z), dimensions={1}, to_apply=f",
                                  computation),
                            {Array(kF32, {2, 3}, {1, 2, 3, 3, 1, 1})});
  auto f = [](double x, double y) { return x + (x < y ? y * y : x + x); };
  EXPECT_THAT(Doubles(y), ElementsAre(f(f(f(0, 1), 2), 3), f(f(f(0, 3), 1), 1)));
}

TEST(ReduceTest, TheThreadCountDoesNotChangeABit) {
  const Literal x = Random(kF32, {(1 << 19) + 3}, 8);
  EXPECT_EQ(Reduce("add", x, 0, {0}, 1), Reduce("add", x, 0, {0}, 2));
}

}  // namespace reduce_test
}  // namespace VXLA_NAMESPACE::testing
