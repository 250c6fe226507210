// The FFT of c128 and f64 against the discrete Fourier transform itself, in MPFR: every component is the exact one
// rounded once, whatever the kind and the length, so the reference needs no type wider than double.
#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/reference/arithmetic/double_double.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using Complex = std::complex<double>;

constexpr mpfr_prec_t kBits = 200;

struct Real {
  mpfr_t value;
  Real() {
    mpfr_init2(value, kBits);
    mpfr_set_zero(value, 1);
  }
  Real(const Real& other) : Real() { mpfr_set(value, other.value, MPFR_RNDN); }
  ~Real() { mpfr_clear(value); }
};

struct ExactComplex {
  Real re, im;
};

// cos and sin of 2 pi k / n for every k.
std::vector<ExactComplex> ExactRoots(int64_t n) {
  std::vector<ExactComplex> roots(static_cast<size_t>(n));
  Real angle;
  for (int64_t k = 0; k < n; ++k) {
    mpfr_const_pi(angle.value, MPFR_RNDN);
    mpfr_mul_si(angle.value, angle.value, 2 * k, MPFR_RNDN);
    mpfr_div_si(angle.value, angle.value, n, MPFR_RNDN);
    mpfr_sin_cos(roots[static_cast<size_t>(k)].im.value, roots[static_cast<size_t>(k)].re.value, angle.value,
                 MPFR_RNDN);
  }
  return roots;
}

// The sum over j of x[j] exp(sign 2 pi i j k / n), divided by `divisor`, for every k.
std::vector<ExactComplex> ExactTransform(const std::vector<Complex>& x, int sign, int64_t divisor) {
  const int64_t n = static_cast<int64_t>(x.size());
  const std::vector<ExactComplex> roots = ExactRoots(n);
  std::vector<ExactComplex> result(x.size());
  Real term;
  auto add = [&term](Real& sum, const Real& root, double factor) {
    mpfr_mul_d(term.value, root.value, factor, MPFR_RNDN);
    mpfr_add(sum.value, sum.value, term.value, MPFR_RNDN);
  };
  for (int64_t k = 0; k < n; ++k) {
    ExactComplex& sum = result[static_cast<size_t>(k)];
    for (int64_t j = 0; j < n; ++j) {
      const ExactComplex& root = roots[static_cast<size_t>(j * k % n)];
      const Complex value = x[static_cast<size_t>(j)];
      add(sum.re, root.re, value.real());
      add(sum.re, root.im, -sign * value.imag());
      add(sum.im, root.im, sign * value.real());
      add(sum.im, root.re, value.imag());
    }
    mpfr_div_si(sum.re.value, sum.re.value, divisor, MPFR_RNDN);
    mpfr_div_si(sum.im.value, sum.im.value, divisor, MPFR_RNDN);
  }
  return result;
}

// |got - exact| in units of `scale`.
double ErrorIn(double scale, double got, const Real& exact) {
  Real difference;
  mpfr_sub_d(difference.value, exact.value, got, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN)) / scale;
}

// Half a unit in the last place, and what twice double leaves of a sum of this size.
void ExpectRounded(double got, const Real& exact, double magnitude, const std::string& what) {
  const double want = mpfr_get_d(exact.value, MPFR_RNDN);
  const double unit = std::nextafter(std::fabs(want), kInf) - std::fabs(want);
  EXPECT_LE(ErrorIn(1, got, exact), 0.5000001 * unit + magnitude * 0x1p-98) << what << ": " << got << " for " << want;
}

std::string Line(const Shape& in, const Shape& out, const char* type, int64_t n) {
  return Entry("p = " + Text(in) + " parameter(0)\nROOT r = " + Text(out) + " fft(p), fft_type=" + type +
               ", fft_length={" + std::to_string(n) + "}");
}

double Magnitude(const std::vector<Complex>& x) {
  double sum = 0;
  for (const Complex v : x) sum += std::abs(v);
  return sum;
}

const std::vector<int64_t>& Lengths() {
  static const std::vector<int64_t> lengths = {1,  2,  3,  4,  7,   8,   12,  16,  31,  32,
                                               33, 37, 64, 97, 101, 128, 211, 243, 256, 509};
  return lengths;
}

TEST(FftExactTest, ComplexBothWays) {
  for (const int64_t n : Lengths()) {
    const Literal x = Random(kC128, {n}, static_cast<uint32_t>(n));
    std::vector<Complex> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(x.GetComplex(i));
    for (const bool inverse : {false, true}) {
      const char* type = inverse ? "IFFT" : "FFT";
      const Literal r = RunText(Line(x.shape(), x.shape(), type, n), {x});
      const auto exact = ExactTransform(values, inverse ? 1 : -1, inverse ? n : 1);
      for (int64_t k = 0; k < n; ++k) {
        const std::string what = std::string(type) + " " + std::to_string(n) + " at " + std::to_string(k);
        ExpectRounded(r.GetComplex(k).real(), exact[static_cast<size_t>(k)].re, Magnitude(values), what);
        ExpectRounded(r.GetComplex(k).imag(), exact[static_cast<size_t>(k)].im, Magnitude(values), what);
      }
    }
  }
}

TEST(FftExactTest, RealBothWays) {
  for (const int64_t n : Lengths()) {
    const Shape half(kC128, {n / 2 + 1});
    const Literal x = Random(kF64, {n}, static_cast<uint32_t>(n));
    std::vector<Complex> values;
    for (int64_t i = 0; i < n; ++i) values.emplace_back(x.GetDouble(i));
    const Literal forward = RunText(Line(x.shape(), half, "RFFT", n), {x});
    const auto exact = ExactTransform(values, -1, 1);
    for (int64_t k = 0; k <= n / 2; ++k) {
      const std::string what = "RFFT " + std::to_string(n) + " at " + std::to_string(k);
      ExpectRounded(forward.GetComplex(k).real(), exact[static_cast<size_t>(k)].re, Magnitude(values), what);
      ExpectRounded(forward.GetComplex(k).imag(), exact[static_cast<size_t>(k)].im, Magnitude(values), what);
    }
    // The spectrum that the inverse takes for the given half: completed by symmetry, real at 0 and at n/2.
    const Literal y = Random(kC128, {n / 2 + 1}, static_cast<uint32_t>(n) + 1);
    std::vector<Complex> spectrum(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) {
      const Complex v = k <= n / 2 ? y.GetComplex(k) : std::conj(y.GetComplex(n - k));
      spectrum[static_cast<size_t>(k)] = 2 * k % n == 0 ? Complex(v.real()) : v;
    }
    const Literal backward = RunText(Line(y.shape(), x.shape(), "IRFFT", n), {y});
    const auto exact_back = ExactTransform(spectrum, 1, n);
    for (int64_t k = 0; k < n; ++k) {
      ExpectRounded(backward.GetDouble(k), exact_back[static_cast<size_t>(k)].re, Magnitude(spectrum),
                    "IRFFT " + std::to_string(n) + " at " + std::to_string(k));
    }
  }
}

// Double alone would lose every digit of the small line values beside the large ones that cancel.
TEST(FftExactTest, SumsThatCancel) {
  const int64_t n = 101;
  std::vector<Complex> values;
  Literal x(Shape(kC128, {n}));
  for (int64_t i = 0; i < n; ++i) {
    values.emplace_back((i % 2 ? -1e15 : 1e15) + static_cast<double>(i), i == 50 ? -1e-3 : 1e-5);
    x.SetComplex(i, values.back());
  }
  const Literal r = RunText(Line(x.shape(), x.shape(), "FFT", n), {x});
  const auto exact = ExactTransform(values, -1, 1);
  for (int64_t k = 0; k < n; ++k) {
    ExpectRounded(r.GetComplex(k).real(), exact[static_cast<size_t>(k)].re, Magnitude(values), std::to_string(k));
    ExpectRounded(r.GetComplex(k).imag(), exact[static_cast<size_t>(k)].im, Magnitude(values), std::to_string(k));
  }
}

TEST(FftExactTest, HugeTinyAndInfiniteValues) {
  for (const double scale : {1e306, 1e300, 0x1p-1030}) {
    Literal x(Shape(kC128, {37}));
    std::vector<Complex> values;
    for (int64_t i = 0; i < 37; ++i) {
      values.emplace_back(scale * static_cast<double>(i % 5 - 2), scale * static_cast<double>(i % 3));
      x.SetComplex(i, values.back());
    }
    const Literal r = RunText(Line(x.shape(), x.shape(), "FFT", 37), {x});
    const auto exact = ExactTransform(values, -1, 1);
    for (int64_t k = 0; k < 37; ++k) {
      ExpectRounded(r.GetComplex(k).real(), exact[static_cast<size_t>(k)].re, 1e2 * scale + 0x1p-970,
                    std::to_string(k));
    }
  }
  Literal x(Shape(kC128, {2, 6}));
  for (int64_t i = 0; i < 12; ++i) x.SetComplex(i, 1);
  x.SetComplex(2, kInf);
  const Literal r = RunText(Line(x.shape(), x.shape(), "FFT", 6), {x});
  for (int64_t i = 0; i < 6; ++i) EXPECT_FALSE(std::isfinite(r.GetComplex(i).real())) << i;
  for (int64_t i = 6; i < 12; ++i) EXPECT_EQ(r.GetComplex(i), Complex(i == 6 ? 6 : 0)) << i;
}

TEST(DoubleDoubleTest, ArithmeticKeepsTwiceTheBits) {
  const DoubleDouble third = DoubleDouble(1) / 3.0, root = Sqrt(DoubleDouble(2));
  EXPECT_EQ((third * 3.0).high, 1);
  EXPECT_LE(std::fabs((third * 3.0 - 1.0).high), 0x1p-104);
  EXPECT_LE(std::fabs((root * root - 2.0).high), 0x1p-103);
  EXPECT_EQ((DoubleDouble(1) + 0x1p-80 - 1.0).high, 0x1p-80);
  EXPECT_EQ((DoubleDouble(kInf) + 1.0).high, kInf);
  EXPECT_EQ((DoubleDouble(1) / 0.0).high, kInf);
  EXPECT_EQ((DoubleDouble(1) / kInf).high, 0);
  EXPECT_EQ(Sqrt(DoubleDouble(kInf)).high, kInf);
  EXPECT_EQ(Sqrt(DoubleDouble(0)).high, 0);
  EXPECT_TRUE(std::isnan(Sqrt(DoubleDouble(-1)).high));
  EXPECT_TRUE(std::isnan((DoubleDouble(kInf) - kInf).high));
}

// Beyond the range as in double, whatever the low parts are; and up to its end with all digits.
TEST(DoubleDoubleTest, ProductsAndQuotientsLeaveTheRangeAsInDouble) {
  const DoubleDouble large(0x1p1000, -0x1p940), tiny(0x1p-1000, 0x1p-1060);
  EXPECT_EQ((large * large).high, HUGE_VAL);
  EXPECT_EQ((large * DoubleDouble(-0x1p1000, 0x1p945)).high, -HUGE_VAL);
  EXPECT_EQ((large / tiny).high, HUGE_VAL);
  EXPECT_EQ((-large / tiny).high, -HUGE_VAL);
  const double most = std::numeric_limits<double>::max();
  for (const double divisor : {3.0, 0.7, 1.1, 1e300}) {
    const DoubleDouble quotient = DoubleDouble(most) / divisor;
    EXPECT_EQ(quotient.high, most / divisor) << divisor;
    EXPECT_TRUE(std::isfinite(quotient.low)) << divisor;
  }
}

TEST(DoubleDoubleTest, TurnsAreExactToTwiceDouble) {
  for (const int64_t n : {1, 2, 4, 7, 8, 97, 1 << 20}) {
    for (int64_t k = 0; k < n; k += std::max<int64_t>(1, n / 97)) {
      const CosineSine got = OfTurn(k, n);
      Real angle, cosine, sine;
      mpfr_const_pi(angle.value, MPFR_RNDN);
      mpfr_mul_si(angle.value, angle.value, 2 * k, MPFR_RNDN);
      mpfr_div_si(angle.value, angle.value, n, MPFR_RNDN);
      mpfr_sin_cos(sine.value, cosine.value, angle.value, MPFR_RNDN);
      mpfr_sub_d(cosine.value, cosine.value, got.cosine.high, MPFR_RNDN);
      mpfr_sub_d(sine.value, sine.value, got.sine.high, MPFR_RNDN);
      EXPECT_LE(ErrorIn(1, got.cosine.low, cosine), 0x1p-101) << k << " of " << n;
      EXPECT_LE(ErrorIn(1, got.sine.low, sine), 0x1p-101) << k << " of " << n;
    }
  }
  EXPECT_EQ(OfTurn(1, 4).cosine.high, 0);
  EXPECT_EQ(OfTurn(1, 2).cosine.high, -1);
  EXPECT_EQ(OfTurn(3, 4).sine.high, -1);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
