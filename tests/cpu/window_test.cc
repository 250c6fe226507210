// Reduce-window, select-and-scatter and convolution, against their definitions applied cell by cell.
#include <cmath>
#include <functional>
#include <optional>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace window_test {

using ::testing::ElementsAre;
using enum ElementType;

struct Dim {
  int64_t size = 1, stride = 1, low = 0, high = 0, base = 1, window = 1;
  bool reversed = false;
};

std::string Join(const std::vector<Dim>& dims, const std::function<std::string(const Dim&)>& text) {
  std::string joined;
  for (const Dim& d : dims) joined += (joined.empty() ? "" : "x") + text(d);
  return joined;
}

std::string WindowText(const std::vector<Dim>& w) {
  std::string text = "window={size=" + Join(w, [](const Dim& d) { return std::to_string(d.size); });
  text += " stride=" + Join(w, [](const Dim& d) { return std::to_string(d.stride); });
  text += " pad=" + Join(w, [](const Dim& d) { return std::to_string(d.low) + "_" + std::to_string(d.high); });
  text += " lhs_dilate=" + Join(w, [](const Dim& d) { return std::to_string(d.base); });
  text += " rhs_dilate=" + Join(w, [](const Dim& d) { return std::to_string(d.window); });
  text += " rhs_reversal=" + Join(w, [](const Dim& d) { return std::string(d.reversed ? "1" : "0"); });
  return text + "}";
}

int64_t OutputSize(const Dim& d, int64_t n) {
  const int64_t dilated = n == 0 ? 0 : (n - 1) * d.base + 1, padded = dilated + d.low + d.high;
  const int64_t window = (d.size - 1) * d.window + 1;
  return padded < window ? 0 : (padded - window) / d.stride + 1;
}

// The position in the array that output o reads at window position t, if there is one.
std::optional<int64_t> Reads(const Dim& d, int64_t n, int64_t o, int64_t t) {
  const int64_t at = o * d.stride + t * d.window - d.low;
  if (at < 0 || at % d.base != 0 || at / d.base >= n) return std::nullopt;
  return at / d.base;
}

void CheckSumWindow(const std::vector<int64_t>& sizes, const std::vector<Dim>& w, int64_t init) {
  const Literal x = Random(kS32, sizes, 1);
  std::vector<int64_t> out, window;
  for (size_t d = 0; d < sizes.size(); ++d) out.push_back(OutputSize(w[d], sizes[d])), window.push_back(w[d].size);
  const std::string text =
      Entry("p = " + Text(x.shape()) + " parameter(0)\ni = s32[] parameter(1)\nROOT r = " + Text(Shape(kS32, out)) +
                " reduce-window(p, i), " + WindowText(w) + ", to_apply=f",
            "f { x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT r = s32[] add(x, y) }\n");
  const Literal y = RunText(text, {x, Ints(kS32, {}, {init})});
  ASSERT_EQ(y.element_count(), CountOf(out));
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const std::vector<int64_t> o = IndexOf(i, out);
    int64_t want = init;
    for (int64_t t = 0; t < CountOf(window); ++t) {
      const std::vector<int64_t> tap = IndexOf(t, window);
      std::vector<int64_t> at;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (auto position = Reads(w[d], sizes[d], o[d], tap[d])) at.push_back(*position);
      }
      want += at.size() == sizes.size() ? x.GetInt(PositionOf(at, sizes)) : init;  // padding holds the initial value
    }
    ASSERT_EQ(y.GetInt(i), static_cast<int32_t>(want)) << text << " at " << i;
  }
}

TEST(ReduceWindowTest, WindowsStridesPaddingAndDilations) {
  CheckSumWindow({17}, {{.size = 3, .stride = 2, .low = 1, .high = 1}}, 0);
  CheckSumWindow({17}, {{.size = 3, .low = -2, .high = -1, .base = 2, .window = 2}}, 5);
  CheckSumWindow({7, 11}, {{.size = 2, .stride = 3, .low = 4}, {.size = 5, .high = 6, .window = 2}}, 1);
  CheckSumWindow({3, 5, 7, 2}, {{}, {.size = 3, .low = 1, .high = 1}, {.size = 2, .stride = 2, .base = 3}, {}}, 0);
  CheckSumWindow({4}, {{.size = 9}}, 0);
  CheckSumWindow({0, 3}, {{.size = 2, .low = 2, .high = 2}, {}}, 4);
}

TEST(ReduceWindowTest, RunningWindowsFromBothEndsAndWithInitialValuesThatCount) {
  CheckSumWindow({3, 50, 4}, {{}, {.size = 50, .low = 49}, {}}, 0);
  CheckSumWindow({3, 50, 4}, {{}, {.size = 50, .low = 49}, {}}, 2);
  CheckSumWindow({3, 50}, {{}, {.size = 50, .high = 49}}, 0);
  CheckSumWindow({50}, {{.size = 50, .high = 49}}, 3);
  CheckSumWindow({600, 3}, {{.size = 600, .low = 599}, {}}, 0);
}

// As jax.numpy.cumsum of a long vector is lowered: nothing may grow with the square of the length.
TEST(ReduceWindowTest, ARunningSumOfAMillionElements) {
  const int64_t n = 1000003;
  const std::string computation = "f { x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT r = s32[] add(x, y) }\n";
  const Literal y =
      RunText(Entry("p = s32[1000003] iota(), iota_dimension=0\ni = s32[] constant(0)\n"
                    "ROOT r = s32[1000003] reduce-window(p, i), window={size=1000003 pad=1000002_0}, to_apply=f",
                    computation),
              {});
  EXPECT_EQ(y.GetInt(n - 1), static_cast<int32_t>(n * (n - 1) / 2));
  const Literal coarse =
      RunText(Entry("p = s32[1000003] iota(), iota_dimension=0\ni = s32[] constant(0)\n"
                    "ROOT r = s32[2] reduce-window(p, i), window={size=1000000 stride=2 pad=0_-1}, to_apply=f",
                    computation),
              {});
  EXPECT_THAT(Integers(coarse),
              ElementsAre(static_cast<int32_t>(499999500000), static_cast<int32_t>(499999500000 + 2000000)));
}

TEST(ReduceWindowTest, TheDocumentsExampleOfSamePadding) {
  const Literal y = RunText(Entry("p = s32[5] parameter(0)\ni = s32[] constant(0)\n"
                                  "ROOT r = s32[3] reduce-window(p, i), window={size=3 stride=2 pad=1_1}, to_apply=f",
                                  "f { x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT r = s32[] add(x, y) }\n"),
                            {Ints(kS32, {5}, {10000, 1000, 100, 10, 1})});
  EXPECT_THAT(Integers(y), ElementsAre(11000, 1110, 11));
}

TEST(ReduceWindowTest, VariadicMaximumWithItsPosition) {
  const char computation[] = R"(
f {
  a = f32[] parameter(0)
  ai = s32[] parameter(1)
  b = f32[] parameter(2)
  bi = s32[] parameter(3)
  ge = pred[] compare(a, b), direction=GE
  v = f32[] select(ge, a, b)
  i = s32[] select(ge, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
)";
  const Literal y =
      RunText(Entry("p = f32[6] parameter(0)\nk = s32[6] iota(), iota_dimension=0\nv = f32[] constant(-inf)\n"
                    "z = s32[] constant(-1)\nROOT r = (f32[3], s32[3]) reduce-window(p, k, v, z), "
                    "window={size=2 stride=2}, to_apply=f",
                    computation),
              {Array(kF32, {6}, {1, 2, 4, 3, 5, 5})});
  EXPECT_THAT(Doubles(y.tuple_elements()[0]), ElementsAre(2, 4, 5));
  EXPECT_THAT(Integers(y.tuple_elements()[1]), ElementsAre(1, 2, 4));
}

// Maps x -> a x + p, composed: the earlier element is the computation's first argument from whichever end it runs.
TEST(ReduceWindowTest, RunningFromTheEndKeepsTheOrderOfElements) {
  const char computation[] = R"(
f {
  a = s32[] parameter(0)
  p = s32[] parameter(1)
  b = s32[] parameter(2)
  q = s32[] parameter(3)
  m = s32[] multiply(a, b)
  t = s32[] multiply(b, p)
  s = s32[] add(t, q)
  ROOT r = (s32[], s32[]) tuple(m, s)
}
)";
  const Literal y =
      RunText(Entry("x = s32[3] parameter(0)\ny = s32[3] parameter(1)\ni = s32[] constant(1)\nz = s32[] constant(0)\n"
                    "ROOT r = (s32[3], s32[3]) reduce-window(x, y, i, z), window={size=3 pad=0_2}, to_apply=f",
                    computation),
              {Ints(kS32, {3}, {2, 3, 5}), Ints(kS32, {3}, {1, 1, 1})});
  EXPECT_THAT(Integers(y.tuple_elements()[0]), ElementsAre(30, 15, 5));
  EXPECT_THAT(Integers(y.tuple_elements()[1]), ElementsAre(21, 6, 1));
}

TEST(ReduceWindowTest, RunningLogSumExpIsAccurate) {
  const char computation[] = R"(
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  d = f32[] subtract(a, b)
  nan = pred[] compare(d, d), direction=NE
  s = f32[] add(a, b)
  m = f32[] maximum(a, b)
  abs = f32[] abs(d)
  n = f32[] negate(abs)
  e = f32[] exponential(n)
  l = f32[] log-plus-one(e)
  r = f32[] add(m, l)
  ROOT x = f32[] select(nan, s, r)
}
)";
  const int64_t n = 3001;
  const Literal x = Random(kF32, {n}, 3);
  const Literal y = RunText(Entry("p = f32[3001] parameter(0)\ni = f32[] constant(-inf)\n"
                                  "ROOT r = f32[3001] reduce-window(p, i), window={size=3001 pad=3000_0}, to_apply=f",
                                  computation),
                            {x});
  long double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += std::exp(static_cast<long double>(x.GetDouble(i)));
    ASSERT_NEAR(y.GetDouble(i), static_cast<double>(std::log(sum)), 1e-6 + 1e-7 * std::fabs(y.GetDouble(i))) << i;
  }
}

std::string SelectAndScatter(const std::string& shapes_and_window, const std::string& type) {
  return Entry(shapes_and_window, "ge { a = " + type + "[] parameter(0)\n b = " + type +
                                      "[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n"
                                      "sum { a = " +
                                      type + "[] parameter(0)\n b = " + type + "[] parameter(1)\n ROOT r = " + type +
                                      "[] add(a, b) }\n");
}

TEST(SelectAndScatterTest, TiesGoToTheFirstAndOverlapsAdd) {
  const std::string lines =
      "x = {0}[5] parameter(0)\ns = {0}[3] parameter(1)\ni = {0}[] constant(1)\n"
      "ROOT r = {0}[5] select-and-scatter(x, s, i), window={size=3}, select=ge, scatter=sum";
  for (const std::string type : {"f32", "s32"}) {
    std::string text = lines;
    for (size_t at; (at = text.find("{0}")) != std::string::npos;) text.replace(at, 3, type);
    const ElementType t = type == "f32" ? kF32 : kS32;
    const Literal y =
        RunText(SelectAndScatter(text, type), {Array(t, {5}, {1, 5, 5, 2, 9}), Array(t, {3}, {10, 20, 30})});
    // windows [1 5 5] -> 1, [5 5 2] -> 1, [5 2 9] -> 4
    std::vector<double> got;
    for (int64_t i = 0; i < 5; ++i) got.push_back(t == kF32 ? y.GetDouble(i) : static_cast<double>(y.GetInt(i)));
    EXPECT_THAT(got, ElementsAre(1, 31, 1, 1, 31));
  }
}

TEST(SelectAndScatterTest, PaddingIsNeverSelected) {
  const Literal y =
      RunText(SelectAndScatter("x = f32[4] parameter(0)\ns = f32[3] parameter(1)\ni = f32[] constant(0)\n"
                               "ROOT r = f32[4] select-and-scatter(x, s, i), window={size=2 stride=2 pad=1_1}, "
                               "select=ge, scatter=sum",
                               "f32"),
              {Array(kF32, {4}, {-5, -4, -3, -2}), Array(kF32, {3}, {1, 2, 3})});
  EXPECT_THAT(Doubles(y), ElementsAre(1, 0, 2, 3));
}

struct ConvCase {
  std::vector<int64_t> input, kernel;  // [batch, spatial..., feature], [spatial..., input feature, output feature]
  std::vector<Dim> window;
  int64_t feature_groups = 1, batch_groups = 1;
};

// The sum for one output cell, by the definition.
double ConvolutionAt(const ConvCase& c, const Literal& x, const Literal& k, const std::vector<int64_t>& o) {
  const size_t rank = c.window.size();
  std::vector<int64_t> taps;
  for (const Dim& d : c.window) taps.push_back(d.size);
  const int64_t features = c.kernel[rank], outputs = c.kernel[rank + 1];
  const int64_t group = o[rank + 1] / (outputs / (c.feature_groups * c.batch_groups));
  const int64_t batch = c.batch_groups > 1 ? group * (c.input[0] / c.batch_groups) + o[0] : o[0];
  const int64_t first = c.feature_groups > 1 ? group * features : 0;
  double sum = 0;
  for (int64_t t = 0; t < CountOf(taps); ++t) {
    const std::vector<int64_t> tap = IndexOf(t, taps);
    std::vector<int64_t> at{batch}, kernel_at;
    for (size_t d = 0; d < rank; ++d) {
      if (auto position = Reads(c.window[d], c.input[d + 1], o[d + 1], tap[d])) at.push_back(*position);
      kernel_at.push_back(c.window[d].reversed ? taps[d] - 1 - tap[d] : tap[d]);
    }
    if (at.size() != rank + 1) continue;
    for (int64_t f = 0; f < features; ++f) {
      std::vector<int64_t> a = at, b = kernel_at;
      a.push_back(first + f);
      b.push_back(f), b.push_back(o[rank + 1]);
      sum += x.GetDouble(PositionOf(a, c.input)) * k.GetDouble(PositionOf(b, c.kernel));
    }
  }
  return sum;
}

void CheckConvolution(const ConvCase& c) {
  const Literal x = Random(kF32, c.input, 1), k = Random(kF32, c.kernel, 2);
  const size_t rank = c.window.size();
  std::vector<int64_t> out{c.input[0] / c.batch_groups};
  std::string labels;
  for (size_t d = 0; d < rank; ++d) out.push_back(OutputSize(c.window[d], c.input[d + 1])), labels += std::to_string(d);
  out.push_back(c.kernel[rank + 1]);
  const std::string text = Entry("x = " + Text(x.shape()) + " parameter(0)\nk = " + Text(k.shape()) +
                                 " parameter(1)\nROOT r = " + Text(Shape(kF32, out)) + " convolution(x, k), " +
                                 (rank ? WindowText(c.window) + ", " : "") + "dim_labels=b" + labels + "f_" + labels +
                                 "io->b" + labels + "f, feature_group_count=" + std::to_string(c.feature_groups) +
                                 ", batch_group_count=" + std::to_string(c.batch_groups));
  const Literal y = RunText(text, {x, k});
  ASSERT_EQ(y.element_count(), CountOf(out));
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const double want = ConvolutionAt(c, x, k, IndexOf(i, out));
    ASSERT_NEAR(y.GetDouble(i), want, 1e-6 * (1 + std::fabs(want))) << text << " at " << i;
  }
}

TEST(ConvolutionTest, WindowsOfEveryKind) {
  CheckConvolution({{2, 9, 3}, {3, 3, 5}, {{.size = 3, .stride = 2, .low = 1, .high = 1}}});
  CheckConvolution({{2, 7, 8, 3}, {3, 2, 3, 5}, {{.size = 3, .low = 1, .high = 1}, {.size = 2, .window = 3}}});
  CheckConvolution({{1, 5, 6, 2},
                    {3, 3, 2, 7},
                    {{.size = 3, .low = 2, .high = 2, .base = 2}, {.size = 3, .low = -1, .high = -2, .base = 3}}});
  CheckConvolution(
      {{1, 5, 5, 2}, {3, 3, 2, 2}, {{.size = 3, .reversed = true}, {.size = 3, .low = 1, .reversed = true}}});
  CheckConvolution({{2, 3, 4, 5, 2}, {2, 2, 2, 2, 3}, {{.size = 2}, {.size = 2}, {.size = 2, .stride = 2}}});
  CheckConvolution({{3, 4}, {4, 5}, {}});
}

TEST(ConvolutionTest, FeatureAndBatchGroups) {
  CheckConvolution({{2, 6, 6}, {3, 2, 9}, {{.size = 3}}, 3, 1});
  CheckConvolution({{2, 6, 7}, {3, 1, 14}, {{.size = 3, .low = 1, .high = 1}}, 7, 1});
  CheckConvolution({{6, 6, 2}, {3, 2, 9}, {{.size = 3}}, 1, 3});
}

TEST(ConvolutionTest, OtherDimensionOrders) {
  // bf0 with oi0 to 0bf: the same numbers as b0f with 0io to b0f.
  const Literal x = Random(kF32, {2, 3, 7}, 1), k = Random(kF32, {5, 3, 2}, 2);
  const Literal y = RunText(Entry("x = f32[2,3,7] parameter(0)\nk = f32[5,3,2] parameter(1)\n"
                                  "ROOT r = f32[6,2,5] convolution(x, k), window={size=2}, dim_labels=bf0_oi0->0bf"),
                            {x, k});
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const std::vector<int64_t> o = IndexOf(i, {6, 2, 5});
    double want = 0;
    for (int64_t f = 0; f < 3; ++f) {
      for (int64_t t = 0; t < 2; ++t) {
        want +=
            x.GetDouble(PositionOf({o[1], f, o[0] + t}, {2, 3, 7})) * k.GetDouble(PositionOf({o[2], f, t}, {5, 3, 2}));
      }
    }
    ASSERT_NEAR(y.GetDouble(i), want, 1e-6);
  }
}

TEST(ConvolutionTest, IntegersAndF64AndEmptyOutputs) {
  const Literal y = RunText(Entry("x = s8[1,3,1] parameter(0)\nk = s8[2,1,1] parameter(1)\n"
                                  "ROOT r = s32[1,2,1] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f"),
                            {Ints(kS8, {1, 3, 1}, {100, 100, -3}), Ints(kS8, {2, 1, 1}, {100, 2})});
  EXPECT_THAT(Integers(y), ElementsAre(10200, 9994));
  CheckConvolution({{1, 2, 1}, {5, 1, 1}, {{.size = 5}}});
}

}  // namespace window_test
}  // namespace VXLA_NAMESPACE::testing
