// The transcendental functions against MPFR at 240 bits: f32 and narrower correctly rounded but for near-ties, f64
// within 0.51 ulp.
#include <mpfr.h>

#include <cmath>
#include <complex>
#include <random>

#include "core/data/float_formats.h"
#include "tests/cpu/cpu_test_support.h"
#include "tests/math/exact.h"

namespace VXLA_NAMESPACE::testing {
namespace functions_test {

using enum ElementType;

class Big {
 public:
  Big() { mpfr_init2(value_, 240); }
  explicit Big(double x) : Big() { mpfr_set_d(value_, x, MPFR_RNDN); }
  Big(const Big&) = delete;
  ~Big() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

using MpfrUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

int Rsqrt(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) { return mpfr_rec_sqrt(out, x, round); }
int Logistic(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round) {
  mpfr_neg(out, x, round);
  mpfr_exp(out, out, round);
  mpfr_add_ui(out, out, 1, round);
  return mpfr_ui_div(out, 1, out, round);
}

struct Function {
  const char* op;
  MpfrUnary oracle;
  double low, high;
};

const Function kFunctions[] = {
    {"exponential", mpfr_exp, -80, 80},
    {"exponential-minus-one", mpfr_expm1, -20, 80},
    {"log", mpfr_log, 1e-30, 1e5},
    {"log-plus-one", mpfr_log1p, -0.999, 1e4},
    {"sine", mpfr_sin, -1e4, 1e4},
    {"cosine", mpfr_cos, -1e4, 1e4},
    {"tan", mpfr_tan, -1e3, 1e3},
    {"sinh", mpfr_sinh, -80, 80},
    {"cosh", mpfr_cosh, -80, 80},
    {"tanh", mpfr_tanh, -9, 9},
    {"asin", mpfr_asin, -1, 1},
    {"acos", mpfr_acos, -1, 1},
    {"atan", mpfr_atan, -1e3, 1e3},
    {"asinh", mpfr_asinh, -1e5, 1e5},
    {"acosh", mpfr_acosh, 1, 1e5},
    {"atanh", mpfr_atanh, -0.9999, 0.9999},
    {"erf", mpfr_erf, -4, 4},
    {"cbrt", mpfr_cbrt, -1e6, 1e6},
    {"sqrt", mpfr_sqrt, 0, 1e9},
    {"rsqrt", Rsqrt, 1e-6, 1e9},
    {"logistic", Logistic, -30, 30},
    {"erfc", mpfr_erfc, -5, 9},
    {"erf-inv", MpfrErfInv, -0.99999, 0.99999},
    {"lgamma", MpfrLgamma, -2.4, 60},
    {"digamma", MpfrDigamma, 0.01, 50},
    {"digamma", MpfrDigamma, 1.3, 1.6},
};

// |got - exact| in units of the last place of the result's type at `got`.
double UlpError(ElementType type, double got, mpfr_ptr exact) {
  const FloatFormat& format = FormatOf(type);
  int exponent = 0;
  std::frexp(got == 0 ? MaxFinite(type) * 0 + 1e-300 : got, &exponent);
  const int unit = std::max(exponent - 1, 1 - format.bias) - format.mantissa_bits;
  Big error;
  mpfr_sub_d(error.get(), exact, got, MPFR_RNDN);
  mpfr_abs(error.get(), error.get(), MPFR_RNDN);
  mpfr_mul_2si(error.get(), error.get(), -unit, MPFR_RNDN);
  return mpfr_get_d(error.get(), MPFR_RNDN);
}

Literal Apply(const std::string& op, const Literal& x) {
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(x.shape()) + " " + op + "(p)"),
                 {x});
}

Literal Samples(ElementType type, const Function& f, int64_t count) {
  std::mt19937_64 engine(7);
  Literal x(Shape(type, {count}));
  for (int64_t i = 0; i < count; ++i) {
    const double u = static_cast<double>(engine() >> 11) * 0x1p-53;
    // Half of them spread over the magnitudes, half over the range.
    double value = f.low + u * (f.high - f.low);
    if (i % 2 == 0 && f.low < 0) value *= std::ldexp(1.0, -static_cast<int>(engine() % 20));
    x.SetDouble(i, value);
  }
  return x;
}

void CheckAgainstMpfr(ElementType type, const Function& f, int64_t count, double bound) {
  const Literal x = Samples(type, f, count), y = Apply(f.op, x);
  double worst = 0;
  int64_t where = 0;
  for (int64_t i = 0; i < count; ++i) {
    Big argument(x.GetDouble(i)), exact;
    f.oracle(exact.get(), argument.get(), MPFR_RNDN);
    const double e = mpfr_get_d(exact.get(), MPFR_RNDN);
    // Beyond the type's range (or rounded inputs beyond the function's) only the class can agree.
    if (!std::isfinite(e) || std::fabs(e) > MaxFinite(type)) continue;
    const double error = UlpError(type, y.GetDouble(i), exact.get());
    if (!(error <= worst)) worst = error, where = i;
  }
  EXPECT_LE(worst, bound) << f.op << " " << ElementTypeName(type) << " at " << x.GetDouble(where) << ": "
                          << y.GetDouble(where);
}

TEST(FunctionsTest, F32IsCorrectlyRounded) {
  for (const Function& f : kFunctions) CheckAgainstMpfr(kF32, f, 1009, 0.5000001);
}

TEST(FunctionsTest, F64IsWithinAHalfUlpAndALittle) {
  for (const Function& f : kFunctions) CheckAgainstMpfr(kF64, f, 1009, 0.51);
}

TEST(FunctionsTest, NarrowFloatsAreCorrectlyRounded) {
  for (ElementType type : {kF16, kBF16}) {
    for (const Function& f : kFunctions) CheckAgainstMpfr(type, f, 331, 0.5000001);
  }
}

TEST(FunctionsTest, SpecialValues) {
  auto at = [](const char* op, double x) { return Apply(op, Array(kF32, {1}, {x})).GetDouble(0); };
  EXPECT_EQ(at("exponential", -kInf), 0);
  EXPECT_EQ(at("exponential", kInf), kInf);
  EXPECT_TRUE(std::isnan(at("log", -1)));
  EXPECT_EQ(at("log", 0), -kInf);
  EXPECT_TRUE(std::isnan(at("sine", kInf)));
  EXPECT_EQ(at("rsqrt", 0), kInf);
  EXPECT_TRUE(std::signbit(at("sqrt", -0.0)));
  EXPECT_EQ(at("logistic", -kInf), 0);
  EXPECT_EQ(at("tanh", kInf), 1);
  EXPECT_EQ(at("erf", -kInf), -1);
  EXPECT_EQ(at("erfc", -kInf), 2);
  EXPECT_EQ(at("erfc", kInf), 0);
  EXPECT_EQ(at("erf-inv", -1), -kInf);
  EXPECT_TRUE(std::isnan(at("erf-inv", 1.5)));
  EXPECT_TRUE(std::signbit(at("erf-inv", -0.0)));
  EXPECT_EQ(at("lgamma", -kInf), kInf);
  EXPECT_EQ(at("lgamma", -3), kInf);
  EXPECT_TRUE(std::isnan(at("digamma", -3)));
  EXPECT_EQ(at("digamma", kInf), kInf);
}

TEST(FunctionsTest, PowerAndAtan2AgainstMpfr) {
  std::mt19937_64 engine(3);
  const int64_t count = 1009;
  for (ElementType type : {kF32, kF64}) {
    Literal a(Shape(type, {count})), b(Shape(type, {count}));
    for (int64_t i = 0; i < count; ++i) {
      a.SetDouble(i, static_cast<double>(engine() >> 11) * 0x1p-50);
      b.SetDouble(i, static_cast<double>(engine() >> 11) * 0x1p-49 - 8);
    }
    const std::string shape = Text(a.shape());
    for (const std::string op : {"power", "atan2"}) {
      const Literal y = RunText(Entry("a = " + shape + " parameter(0)\nb = " + shape +
                                      " parameter(1)\nROOT r = " + shape + " " + op + "(a, b)"),
                                {a, b});
      double worst = 0;
      for (int64_t i = 0; i < count; ++i) {
        Big x(a.GetDouble(i)), z(b.GetDouble(i));
        (op == "power" ? mpfr_pow : mpfr_atan2)(x.get(), x.get(), z.get(), MPFR_RNDN);
        worst = std::max(worst, UlpError(type, y.GetDouble(i), x.get()));
      }
      EXPECT_LE(worst, type == kF32 ? 0.5000001 : 0.51) << op;
    }
  }
}

TEST(FunctionsTest, ComplexFunctionsSatisfyTheirDefinitions) {
  const Literal z = Random(kC128, {97}, 5);
  const Literal log = Apply("log", z), exp = Apply("exponential", log), sqrt = Apply("sqrt", z),
                tanh = Apply("tanh", z), expm1 = Apply("exponential-minus-one", z), log1p = Apply("log-plus-one", z),
                logistic = Apply("logistic", z);
  for (int64_t i = 0; i < 97; ++i) {
    const std::complex<double> x = z.GetComplex(i);
    EXPECT_LT(std::abs(exp.GetComplex(i) - x), 1e-15);
    EXPECT_LT(std::abs(sqrt.GetComplex(i) * sqrt.GetComplex(i) - x), 1e-15);
    EXPECT_LT(std::abs(tanh.GetComplex(i) - std::tanh(x)), 1e-14);
    EXPECT_LT(std::abs(expm1.GetComplex(i) - (std::exp(x) - 1.0)), 1e-14);
    EXPECT_LT(std::abs(log1p.GetComplex(i) - std::log(1.0 + x)), 1e-14);
    EXPECT_LT(std::abs(logistic.GetComplex(i) - 1.0 / (1.0 + std::exp(-x))), 1e-14);
  }
}

TEST(FunctionsTest, ComplexFunctionsKeepSmallArguments) {
  Literal z(Shape(kC64, {1}));
  z.SetComplex(0, {1e-12, 2e-12});
  EXPECT_NEAR(Apply("log-plus-one", z).GetComplex(0).real(), 1e-12, 1e-19);
  EXPECT_NEAR(Apply("exponential-minus-one", z).GetComplex(0).imag(), 2e-12, 1e-19);
}

}  // namespace functions_test
}  // namespace VXLA_NAMESPACE::testing
