// Every kind of FFT against FFTW: rank 1 to 3, primes included, batches before the transformed axes, both precisions.
#include <fftw3.h>

#include <cmath>
#include <complex>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using ::testing::HasSubstr;
using Complex = std::complex<double>;
using Sizes = std::vector<int64_t>;

struct Case {
  Sizes batch, length;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {{}, {1}},        {{}, {2}},         {{3}, {3}},           {{}, {4}},       {{2}, {5}},
      {{}, {7}},        {{}, {12}},        {{}, {16}},           {{}, {31}},      {{}, {33}},
      {{}, {37}},       {{}, {64}},        {{}, {97}},           {{2, 2}, {101}}, {{}, {243}},
      {{}, {256}},      {{}, {1009}},      {{}, {2310}},         {{}, {1, 1}},    {{}, {2, 3}},
      {{3}, {5, 8}},    {{}, {13, 37}},    {{}, {64, 41}},       {{2}, {1, 7}},   {{}, {2, 3, 5}},
      {{2}, {4, 1, 6}}, {{}, {7, 11, 13}}, {{1, 2}, {8, 3, 37}}, {{}, {1, 1, 1}}};
  return cases;
}

Sizes Join(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Sizes Halved(Sizes length) {
  length.back() = length.back() / 2 + 1;
  return length;
}

Result<Literal> TryFft(const Literal& x, const std::string& type, const Sizes& length, const Shape& out) {
  return TryRun(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(out) + " fft(p), fft_type=" + type +
                      ", fft_length={" + JoinInts(length) + "}"),
                {x});
}

Literal Fft(const Literal& x, const std::string& type, const Sizes& length, const Shape& out) {
  Result<Literal> r = TryFft(x, type, length, out);
  EXPECT_TRUE(r.ok()) << r.status().message();
  return r.ok() ? *std::move(r) : Literal(out);
}

std::vector<int> Ints32(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

// Batch by batch through one of FFTW's transforms; `run` makes and executes the plan on the two arrays.
template <typename In, typename Out, typename F>
std::vector<Out> EachBatch(const std::vector<In>& x, int64_t in, int64_t out, F&& run) {
  std::vector<Out> all;
  for (size_t at = 0; at < x.size(); at += static_cast<size_t>(in)) {
    std::vector<In> one(x.begin() + static_cast<int64_t>(at), x.begin() + static_cast<int64_t>(at) + in);
    std::vector<Out> result(static_cast<size_t>(out));
    fftw_plan plan = run(one.data(), result.data());
    // Planning with FFTW_ESTIMATE leaves the input alone; the inverse real transform destroys its copy.
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    all.insert(all.end(), result.begin(), result.end());
  }
  return all;
}

fftw_complex* C(Complex* x) { return reinterpret_cast<fftw_complex*>(x); }

std::vector<Complex> ComplexValues(const Literal& x) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < x.element_count(); ++i) values.push_back(x.GetComplex(i));
  return values;
}

// The root mean square error allowed, relative to that of the exact result: a few units in the last place.
template <typename T>
void ExpectClose(const Literal& got, const std::vector<T>& want, double scale, const std::string& what) {
  ASSERT_EQ(got.element_count(), static_cast<int64_t>(want.size())) << what;
  double error = 0, norm = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double e = std::abs(got.GetComplex(static_cast<int64_t>(i)) - Complex(want[i]) * scale);
    error += e * e, norm += std::norm(Complex(want[i]) * scale);
    worst = std::max(worst, e);
  }
  const bool single = RealPart(got.shape().element_type()) == kF32;
  // Single precision is computed in double: only the rounding of the result is left. FFTW's own error is in the other.
  const double unit = single ? 0x1p-24 : 8 * 0x1p-53;
  EXPECT_LE(std::sqrt(error), unit * std::sqrt(norm) + 1e-300) << what;
  EXPECT_LE(worst, 16 * unit * std::sqrt(norm / static_cast<double>(want.size())) + 1e-300) << what;
}

std::string Name(const Case& c, ElementType type) {
  return "batch " + JoinInts(c.batch) + " length " + JoinInts(c.length) + " " + std::string(ElementTypeName(type));
}

TEST(FftwTest, ComplexBothWays) {
  for (const Case& c : Cases()) {
    for (ElementType type : {kC64, kC128}) {
      const Literal x = Random(type, Join(c.batch, c.length), static_cast<uint32_t>(CountOf(c.length)));
      const int64_t n = CountOf(c.length);
      const std::vector<int> dims = Ints32(c.length);
      auto transform = [&](int sign) {
        return EachBatch<Complex, Complex>(ComplexValues(x), n, n, [&](Complex* in, Complex* out) {
          return fftw_plan_dft(static_cast<int>(dims.size()), dims.data(), C(in), C(out), sign, FFTW_ESTIMATE);
        });
      };
      ExpectClose(Fft(x, "FFT", c.length, x.shape()), transform(FFTW_FORWARD), 1, "FFT " + Name(c, type));
      ExpectClose(Fft(x, "IFFT", c.length, x.shape()), transform(FFTW_BACKWARD), 1.0 / static_cast<double>(n),
                  "IFFT " + Name(c, type));
    }
  }
}

TEST(FftwTest, RealForward) {
  for (const Case& c : Cases()) {
    for (ElementType type : {kF32, kF64}) {
      const Literal x = Random(type, Join(c.batch, c.length), 5);
      const Shape out(type == kF32 ? kC64 : kC128, Join(c.batch, Halved(c.length)));
      const std::vector<int> dims = Ints32(c.length);
      const auto want = EachBatch<double, Complex>(
          Doubles(x), CountOf(c.length), CountOf(Halved(c.length)), [&](double* in, Complex* result) {
            return fftw_plan_dft_r2c(static_cast<int>(dims.size()), dims.data(), in, C(result), FFTW_ESTIMATE);
          });
      ExpectClose(Fft(x, "RFFT", c.length, out), want, 1, "RFFT " + Name(c, type));
    }
  }
}

// Half spectra of real arrays, as the inverse expects them: FFTW's own forward transform makes them.
TEST(FftwTest, RealInverse) {
  for (const Case& c : Cases()) {
    for (ElementType type : {kC64, kC128}) {
      const Literal x = Random(kF64, Join(c.batch, c.length), 6);
      const int64_t n = CountOf(c.length), half = CountOf(Halved(c.length));
      const std::vector<int> dims = Ints32(c.length);
      const int rank = static_cast<int>(dims.size());
      std::vector<Complex> spectrum = EachBatch<double, Complex>(Doubles(x), n, half, [&](double* in, Complex* out) {
        return fftw_plan_dft_r2c(rank, dims.data(), in, C(out), FFTW_ESTIMATE);
      });
      Literal y(Shape(type, Join(c.batch, Halved(c.length))));
      for (size_t i = 0; i < spectrum.size(); ++i) {
        y.SetComplex(static_cast<int64_t>(i), spectrum[i]);
        spectrum[i] = y.GetComplex(static_cast<int64_t>(i));
      }
      const auto want = EachBatch<Complex, double>(spectrum, half, n, [&](Complex* in, double* out) {
        return fftw_plan_dft_c2r(rank, dims.data(), C(in), out, FFTW_ESTIMATE);
      });
      const Shape out(RealPart(type), Join(c.batch, c.length));
      ExpectClose(Fft(y, "IRFFT", c.length, out), want, 1.0 / static_cast<double>(n), "IRFFT " + Name(c, type));
    }
  }
}

TEST(FftwTest, EmptyBatchesAndLengths) {
  EXPECT_EQ(Fft(Literal(Shape(kC64, {0, 5})), "FFT", {5}, Shape(kC64, {0, 5})).element_count(), 0);
  EXPECT_EQ(Fft(Literal(Shape(kF32, {0, 4, 6})), "RFFT", {4, 6}, Shape(kC64, {0, 4, 4})).element_count(), 0);
  EXPECT_EQ(Fft(Literal(Shape(kC128, {3, 0})), "IFFT", {0}, Shape(kC128, {3, 0})).element_count(), 0);
  EXPECT_THAT(TryFft(Literal(Shape(kC64, {5})), "FFT", {7}, Shape(kC64, {7})).status().message(),
              HasSubstr("fft: dimension 0 of c64[5] should be 7 for fft_length 7"));
}

TEST(FftwTest, InfinityAndNanSpreadOverTheirLineOnly) {
  Literal x(Shape(kC64, {2, 6}));
  for (int64_t i = 0; i < 12; ++i) x.SetComplex(i, 1);
  x.SetComplex(2, kNan);
  const Literal y = Fft(x, "FFT", {6}, x.shape());
  for (int64_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(y.GetComplex(i).real()));
  for (int64_t i = 6; i < 12; ++i) EXPECT_LT(std::abs(y.GetComplex(i) - Complex(i == 6 ? 6 : 0)), 1e-15);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
