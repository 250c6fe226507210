// rng, rng-get-and-update-state and stochastic-convert: ranges, seeds, streams, and rounding by chance.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/data/float_formats.h"
#include "tests/cpu/replica_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

std::string Rng(ElementType type, int64_t count, const std::string& low, const std::string& high,
                const std::string& distribution = "rng_uniform") {
  const std::string t(ElementTypeName(type));
  return Entry(
      fmt::format("a = {0}[] constant({1})\nb = {0}[] constant({2})\nROOT r = {0}[{3}] rng(a, b), distribution={4}", t,
                  low, high, count, distribution));
}

TEST(RngTest, UniformStaysInTheHalfOpenInterval) {
  for (ElementType type : {kF64, kF32, kF16, kBF16, kF8E5M2, kF8E4M3FN}) {
    const std::vector<double> values = Doubles(RunText(Rng(type, 4001, "-3", "1.5"), {}));
    double sum = 0;
    for (double x : values) {
      ASSERT_GE(x, -3);
      ASSERT_LT(x, 1.5) << ElementTypeName(type);
      sum += x;
    }
    EXPECT_NEAR(sum / 4001, -0.75, 0.2) << ElementTypeName(type);
  }
}

TEST(RngTest, UniformIntegersTakeEveryValue) {
  for (ElementType type : {kS8, kU8, kS16, kU16, kS32, kU32, kS64, kU64}) {
    const bool is_signed = IsSigned(type);
    const std::vector<int64_t> values =
        Integers(RunText(Rng(type, 500, is_signed ? "-2" : "3", is_signed ? "5" : "10"), {}));
    const std::set<int64_t> seen(values.begin(), values.end());
    EXPECT_EQ(seen.size(), 7u) << ElementTypeName(type);
    EXPECT_EQ(*seen.begin(), is_signed ? -2 : 3);
    EXPECT_EQ(*seen.rbegin(), is_signed ? 4 : 9);
  }
  for (int64_t x : Integers(RunText(Rng(kU64, 50, "18446744073709551600", "18446744073709551615"), {}))) {
    EXPECT_TRUE(x >= -16 && x < -1) << x;
  }
  EXPECT_THAT(Integers(RunText(Rng(kPred, 3, "false", "true"), {})), ElementsAre(0, 0, 0));
}

TEST(RngTest, AnEmptyIntervalGivesItsLowEnd) {
  EXPECT_THAT(Integers(RunText(Rng(kS32, 2, "5", "5"), {})), ElementsAre(5, 5));
  EXPECT_THAT(Integers(RunText(Rng(kS32, 2, "5", "-1"), {})), ElementsAre(5, 5));
  EXPECT_THAT(Doubles(RunText(Rng(kF32, 2, "2", "1"), {})), ElementsAre(2, 2));
}

TEST(RngTest, NormalHasItsMeanAndDeviation) {
  for (ElementType type : {kF64, kF32, kBF16}) {
    const std::vector<double> values = Doubles(RunText(Rng(type, 20011, "10", "3", "rng_normal"), {}));
    double sum = 0, squares = 0;
    for (double x : values) {
      sum += x;
      squares += (x - 10) * (x - 10);
    }
    EXPECT_NEAR(sum / 20011, 10, 0.1);
    EXPECT_NEAR(std::sqrt(squares / 20011), 3, 0.1);
  }
}

TEST(RngTest, TheSeedDecidesAndRunsRepeat) {
  EvaluateOptions seven;
  seven.seed = 7;
  const std::string text = Rng(kF32, 31, "0", "1");
  const Literal a = RunText(text, {}), b = RunText(text, {}), c = RunText(text, {}, seven);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  EvaluateOptions one_thread;
  one_thread.threads = 1;
  EXPECT_TRUE(RunText(Rng(kF32, 70001, "0", "1"), {}) == RunText(Rng(kF32, 70001, "0", "1"), {}, one_thread));
}

TEST(RngTest, InstructionsIterationsAndDevicesDrawDifferently) {
  const std::string computations =
      "c { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(4)\n"
      " ROOT r = pred[] compare(i, n), direction=LT }\n"
      "b { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[4] "
      "get-tuple-element(s), index=1\n"
      " one = s32[] constant(1)\n j = s32[] add(i, one)\n l = f32[] constant(0)\n h = f32[] constant(1)\n"
      " u = f32[1] rng(l, h), distribution=rng_uniform\n v = f32[3] slice(x), slice={[1:4]}\n y = f32[4] "
      "concatenate(v, u), dimensions={0}\n"
      " ROOT r = (s32[], f32[4]) tuple(j, y) }\n";
  const auto r = RunReplicas(
      Entry("z = s32[] constant(0)\nl = f32[] constant(0)\nh = f32[] constant(1)\n"
            "x = f32[4] broadcast(l), dimensions={}\ns = (s32[], f32[4]) tuple(z, x)\n"
            "w = (s32[], f32[4]) while(s), condition=c, body=b\na = f32[4] get-tuple-element(w), index=1\n"
            "p = f32[4] rng(l, h), distribution=rng_uniform\nq = f32[4] rng(l, h), distribution=rng_uniform\n"
            "ROOT all = f32[12] concatenate(a, p, q), dimensions={0}",
            computations),
      {2, 1}, {{}});
  std::set<double> seen;
  for (const Literal& one : r) {
    for (double x : Doubles(one)) seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 24u);
}

TEST(RngTest, RefusedInsideAScalarRegion) {
  EXPECT_THAT(TryRun(Entry("p = f32[3] parameter(0)\nROOT r = f32[3] map(p), dimensions={0}, to_apply=m",
                           "m { x = f32[] parameter(0)\n z = f32[] constant(0)\n ROOT s = f32[] rng(z, x), "
                           "distribution=rng_uniform }\n"),
                     {Array(kF32, {3}, {1, 2, 3})})
                  .status()
                  .message(),
              HasSubstr("rng s: not inside a computation that is applied element by element"));
}

TEST(RngGetAndUpdateStateTest, GivesTheOldStateAndAddsDelta) {
  EvaluateOptions options;
  options.seed = ~uint64_t{0} - 1;
  const Literal r = RunText(
      Entry("a = u64[2] rng-get-and-update-state(), delta=3\nb = u64[2] rng-get-and-update-state(), delta=4096\n"
            "c = u64[2] rng-get-and-update-state(), delta=1\nROOT r = u64[6] concatenate(a, b, c), dimensions={0}"),
      {}, options);
  EXPECT_THAT(Integers(r), ElementsAre(-2, 0, 1, 1, 4097, 1));
}

// ---- stochastic-convert

Literal Stochastic(ElementType from, ElementType to, const std::vector<double>& values,
                   const std::vector<double>& fractions) {
  const ElementType random = BitWidth(from) == 64 ? kU64 : BitWidth(from) == 32 ? kU32 : kU16;
  const auto n = static_cast<int64_t>(values.size());
  Literal bits(Shape(random, {n}));
  for (int64_t i = 0; i < n; ++i) {
    bits.SetInt(
        i, static_cast<int64_t>(static_cast<uint64_t>(std::ldexp(fractions[static_cast<size_t>(i)], BitWidth(from)))));
  }
  return RunText(Entry(fmt::format(
                     "a = {0}[{3}] parameter(0)\nb = {1}[{3}] parameter(1)\nROOT r = {2}[{3}] stochastic-convert(a, b)",
                     ElementTypeName(from), ElementTypeName(random), ElementTypeName(to), n)),
                 {Array(from, {n}, values), bits});
}

TEST(StochasticConvertTest, RoundsAwayFromZeroIfTheRandomNumberIsBelowTheFraction) {
  EXPECT_THAT(Integers(Stochastic(kF32, kS8, {2.25, 2.25, -2.25, -2.25, 3, -3, 0.5}, {0.2, 0.3, 0.2, 0.3, 0, 0, 0.5})),
              ElementsAre(3, 2, -3, -2, 3, -3, 0));
  EXPECT_THAT(Integers(Stochastic(kF64, kU16, {7.999, 0.001}, {0.9, 0.0005})), ElementsAre(8, 1));
}

TEST(StochasticConvertTest, SaturatesAndSendsNanToZero) {
  EXPECT_THAT(Integers(Stochastic(kF32, kS8, {127.5, -128.5, kInf, -kInf, kNan, 300}, {0, 0, 0, 0, 0, 0})),
              ElementsAre(127, -128, 127, -128, 0, 127));
  EXPECT_THAT(Integers(Stochastic(kF32, kU8, {-0.5, 255.5}, {0, 0})), ElementsAre(0, 255));
}

TEST(StochasticConvertTest, FloatsGoToOneOfTheirNeighbours) {
  // bf16 around 1: the step is 2^-7.
  EXPECT_THAT(Doubles(Stochastic(kF32, kBF16, {1 + 0x1p-9, 1 + 0x1p-9, -1 - 0x1p-9, 1}, {0.2, 0.3, 0.2, 0})),
              ElementsAre(1 + 0x1p-7, 1, -1 - 0x1p-7, 1));
  EXPECT_THAT(Doubles(Stochastic(kF32, kF8E4M3FN, {1000, -1000, 449, kInf}, {0, 0, 0, 0})),
              SameDoubles({448, -448, 448, kNan}));
  EXPECT_THAT(Doubles(Stochastic(kF32, kF16, {0x1p-26, 0x1p-26, 1e6}, {0.2, 0.3, 0})), ElementsAre(0x1p-24, 0, 65504));
}

TEST(StochasticConvertTest, TheMeanIsTheNumber) {
  const int64_t n = 30011;
  const Literal r = RunText(
      Entry(fmt::format("x = f32[] constant(2.3)\nxs = f32[{0}] broadcast(x), dimensions={{}}\n"
                        "z = u32[] constant(0)\nm = u32[] constant(4294967295)\n"
                        "b = u32[{0}] rng(z, m), distribution=rng_uniform\nROOT r = s32[{0}] stochastic-convert(xs, b)",
                        n)),
      {});
  double sum = 0;
  for (int64_t i : Integers(r)) sum += static_cast<double>(i);
  EXPECT_NEAR(sum / static_cast<double>(n), 2.3, 0.02);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
