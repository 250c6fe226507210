// The random ops: ThreeFry and Philox against Random123, distributions by Kolmogorov and Smirnov's test and by moments.
#include <Random123/philox.h>
#include <Random123/threefry.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/builder/builder.h"
#include "core/ir/module.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;

Literal Bits(const std::string& algorithm, const std::vector<uint64_t>& state, const Shape& shape) {
  const int64_t n = static_cast<int64_t>(state.size());
  const std::string s = Text(Shape(kU64, {n}));
  return RunText(Entry("s = " + s + " parameter(0)\nROOT r = (" + s + ", " + Text(shape) +
                       ") rng-bit-generator(s), algorithm=" + algorithm),
                 {Ints(kU64, {n}, {state.begin(), state.end()})});
}

TEST(Random123Test, ThreeFryWordByWord) {
  std::mt19937_64 engine(1);
  for (int round = 0; round < 20; ++round) {
    const uint64_t key = engine();
    const uint64_t counter = round % 2 ? engine() : ~uint64_t{0} - 3;  // half of them carry into the upper word
    const int64_t pairs = 1 + round % 7;
    const Literal r = Bits("rng_three_fry", {key, counter}, Shape(kU32, {2 * pairs}));
    for (int64_t i = 0; i < pairs; ++i) {
      const uint64_t at = counter + static_cast<uint64_t>(i);
      const threefry2x32_ctr_t c{{static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32)}};
      const threefry2x32_key_t k{{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
      const threefry2x32_ctr_t want = threefry2x32(c, k);
      ASSERT_EQ(r.tuple_elements()[1].GetInt(2 * i), want.v[0]);
      ASSERT_EQ(r.tuple_elements()[1].GetInt(2 * i + 1), want.v[1]);
    }
    EXPECT_EQ(static_cast<uint64_t>(r.tuple_elements()[0].GetInt(1)), counter + static_cast<uint64_t>(pairs));
  }
}

TEST(Random123Test, PhiloxWordByWord) {
  std::mt19937_64 engine(2);
  for (int round = 0; round < 20; ++round) {
    const uint64_t key = engine(), low = round % 2 ? engine() : ~uint64_t{0} - 1, high = engine();
    const int64_t words = 1 + 3 * round;
    const Literal r = Bits("rng_philox", {key, low, high}, Shape(kU32, {words}));
    for (int64_t i = 0; i < words; ++i) {
      const uint64_t at = low + static_cast<uint64_t>(i / 4), carried = high + (at < low);
      const philox4x32_ctr_t c{{static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32),
                                static_cast<uint32_t>(carried), static_cast<uint32_t>(carried >> 32)}};
      const philox4x32_key_t k{{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
      ASSERT_EQ(r.tuple_elements()[1].GetInt(i), philox4x32(c, k).v[i % 4]) << round << " " << i;
    }
  }
}

// The largest distance between the empirical distribution and cdf, times the root of the sample size: beyond 1.95 with
// probability 0.001.
template <typename F>
double KolmogorovSmirnov(std::vector<double> x, F&& cdf) {
  std::ranges::sort(x);
  const double n = static_cast<double>(x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(x[i]), before = static_cast<double>(i) / n, after = static_cast<double>(i + 1) / n;
    worst = std::max({worst, std::fabs(f - before), std::fabs(after - f)});
  }
  return worst * std::sqrt(n);
}

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

Moments MomentsOf(const std::vector<double>& x) {
  Moments m;
  const double n = static_cast<double>(x.size());
  for (double v : x) m.mean += v / n;
  double third = 0, fourth = 0;
  for (double v : x) {
    const double d = v - m.mean;
    m.variance += d * d / n, third += d * d * d / n, fourth += d * d * d * d / n;
  }
  m.skewness = third / std::pow(m.variance, 1.5);
  m.kurtosis = fourth / (m.variance * m.variance);
  return m;
}

// How one element follows another: the correlation of neighbours.
double SerialCorrelation(const std::vector<double>& x) {
  const Moments m = MomentsOf(x);
  double sum = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) sum += (x[i] - m.mean) * (x[i + 1] - m.mean);
  return sum / (static_cast<double>(x.size() - 1) * m.variance);
}

constexpr int64_t kSamples = 100003;

std::vector<double> Draw(ElementType type, const std::string& a, const std::string& b, const std::string& distribution,
                         uint64_t seed) {
  EvaluateOptions options;
  options.seed = seed;
  const std::string t(ElementTypeName(type));
  return Doubles(RunText(Entry("a = " + t + "[] constant(" + a + ")\nb = " + t + "[] constant(" + b + ")\nROOT r = " +
                               Text(Shape(type, {kSamples})) + " rng(a, b), distribution=" + distribution),
                         {}, options));
}

TEST(DistributionTest, UniformByKolmogorovSmirnovAndMoments) {
  for (ElementType type : {kF32, kF64}) {
    for (uint64_t seed : {0, 1, 12345}) {
      const std::vector<double> x = Draw(type, "-2", "3", "rng_uniform", seed);
      EXPECT_LT(KolmogorovSmirnov(x, [](double v) { return (v + 2) / 5; }), 1.95) << seed;
      const Moments m = MomentsOf(x);
      EXPECT_NEAR(m.mean, 0.5, 0.02);
      EXPECT_NEAR(m.variance, 25.0 / 12, 0.03);
      EXPECT_NEAR(m.skewness, 0, 0.03);
      EXPECT_NEAR(m.kurtosis, 1.8, 0.03);
      EXPECT_NEAR(SerialCorrelation(x), 0, 4 / std::sqrt(kSamples));
    }
  }
}

TEST(DistributionTest, NormalByKolmogorovSmirnovAndMoments) {
  for (ElementType type : {kF32, kF64}) {
    for (uint64_t seed : {0, 1, 12345}) {
      const std::vector<double> x = Draw(type, "1", "2", "rng_normal", seed);
      EXPECT_LT(KolmogorovSmirnov(x, [](double v) { return NormalCdf((v - 1) / 2); }), 1.95) << seed;
      const Moments m = MomentsOf(x);
      EXPECT_NEAR(m.mean, 1, 0.03);
      EXPECT_NEAR(m.variance, 4, 0.08);
      EXPECT_NEAR(m.skewness, 0, 0.04);
      EXPECT_NEAR(m.kurtosis, 3, 0.08);
      EXPECT_NEAR(SerialCorrelation(x), 0, 4 / std::sqrt(kSamples));
    }
  }
}

TEST(DistributionTest, IntegersByChiSquare) {
  EvaluateOptions options;
  for (uint64_t seed : {0, 7}) {
    options.seed = seed;
    const Literal r =
        RunText(Entry("a = s32[] constant(-3)\nb = s32[] constant(10)\nROOT r = " + Text(Shape(kS32, {kSamples})) +
                      " rng(a, b), distribution=rng_uniform"),
                {}, options);
    std::vector<double> counts(13);
    for (int64_t i : Integers(r)) ++counts.at(static_cast<size_t>(i + 3));
    const double expected = kSamples / 13.0;
    double chi_square = 0;
    for (double count : counts) chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 32.9);  // 12 degrees of freedom, probability 0.001
  }
}

// The builder's function gives ones with the probability of its mean.
TEST(DistributionTest, BernoulliHasItsMean) {
  for (float mean : {0.0f, 0.25f, 0.9f, 1.0f}) {
    XlaBuilder b("bernoulli");
    RngBernoulli(ConstantR0<float>(&b, mean), Shape(kU32, {kSamples}));
    Result<XlaComputation> computation = b.Build();
    ASSERT_TRUE(computation.ok()) << computation.status().message();
    const Result<Literal> r = Evaluate(computation->module(), {});
    ASSERT_TRUE(r.ok()) << r.status().message();
    double ones = 0;
    for (int64_t i : Integers(*r)) {
      ASSERT_TRUE(i == 0 || i == 1);
      ones += static_cast<double>(i);
    }
    const double deviation = std::sqrt(mean * (1 - mean) / kSamples);
    EXPECT_NEAR(ones / kSamples, mean, 4 * deviation + 1e-12);
  }
}

TEST(DistributionTest, GeneratorBitsAreFairAndUniform) {
  for (const std::string algorithm : {"rng_three_fry", "rng_philox", "rng_default"}) {
    const Literal r = Bits(algorithm, {42, 0}, Shape(kU32, {kSamples}));
    std::vector<double> x, bits(32);
    for (int64_t i : Integers(r.tuple_elements()[1])) {
      x.push_back(static_cast<double>(i) / 4294967296.0);
      for (size_t b = 0; b < 32; ++b) bits[b] += static_cast<double>(i >> b & 1) / kSamples;
    }
    EXPECT_LT(KolmogorovSmirnov(x, [](double v) { return v; }), 1.95) << algorithm;
    EXPECT_NEAR(SerialCorrelation(x), 0, 4 / std::sqrt(kSamples)) << algorithm;
    for (double share : bits) EXPECT_NEAR(share, 0.5, 4 * 0.5 / std::sqrt(kSamples)) << algorithm;
    const Moments m = MomentsOf(x);
    EXPECT_NEAR(m.mean, 0.5, 0.004);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.002);
    EXPECT_NEAR(m.kurtosis, 1.8, 0.03);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
