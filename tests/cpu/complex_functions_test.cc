// The reference's complex functions against MPFR at 320 bits, component by component.
#include <cmath>
#include <limits>
#include <random>

#include "tests/cpu/cpu_test_support.h"
#include "tests/math/exact_complex.h"

namespace VXLA_NAMESPACE::testing {
namespace complex_functions_test {

using enum ElementType;
using Exact = Z (*)(const Z&);

struct Function {
  const char* op;
  Exact exact;
};

const Function kFunctions[] = {
    {"exponential", [](const Z& z) { return ZExp(z); }},
    {"exponential-minus-one", [](const Z& z) { return ZExp(z) - kUnit; }},
    {"log", [](const Z& z) { return ZLog(z); }},
    {"log-plus-one", [](const Z& z) { return ZLog(kUnit + z); }},
    {"sqrt", [](const Z& z) { return ZSqrt(z); }},
    {"rsqrt", [](const Z& z) { return kUnit / ZSqrt(z); }},
    {"sinh", [](const Z& z) { return ZSinh(z); }},
    {"cosh", [](const Z& z) { return ZCosh(z); }},
    {"tanh", [](const Z& z) { return ZTanh(z); }},
    {"sine", [](const Z& z) { return -TimesI(ZSinh(TimesI(z))); }},
    {"cosine", [](const Z& z) { return ZCosh(TimesI(z)); }},
    {"tan", [](const Z& z) { return -TimesI(ZTanh(TimesI(z))); }},
    {"asinh", [](const Z& z) { return ZAsinh(z); }},
    {"acosh", [](const Z& z) { return ZAcosh(z); }},
    {"atanh", [](const Z& z) { return ZAtanh(z); }},
    {"asin", [](const Z& z) { return ZAsin(z); }},
    {"atan", [](const Z& z) { return -TimesI(ZAtanh(TimesI(z))); }},
    {"logistic",
     [](const Z& z) { return z.x.IsNegative() ? ZExp(z) / (kUnit + ZExp(z)) : kUnit / (kUnit + ZExp(-z)); }},
};

// Components about 1, from small to moderate; never zero, where the sign of a cut would decide.
Literal Samples(ElementType type, int64_t count) {
  std::mt19937_64 engine(17);
  Literal z(Shape(type, {count}));
  auto next = [&] {
    const double unit = static_cast<double>(engine() >> 11) * 0x1p-53, sign = engine() & 1 ? 1 : -1;
    switch (engine() % 3) {
      case 0:
        return sign * std::ldexp(1 + unit, static_cast<int>(engine() % 40) - 30);
      case 1:
        return sign * (unit * 9 + 0.001);
      default:
        return sign * (1 + std::ldexp(unit, -static_cast<int>(engine() % 12)));
    }
  };
  for (int64_t i = 0; i < count; ++i) {
    const double x = next();
    z.SetComplex(i, {x, next()});
  }
  return z;
}

// The worst distance of a component in its own ulps, or of the number in those of its magnitude if that is less.
template <typename T>
double WorstUlp(const Literal& z, const Literal& got, Exact exact, int64_t& where) {
  double worst = 0;
  for (int64_t i = 0; i < z.element_count(); ++i) {
    const Z want = exact({z.GetComplex(i).real(), z.GetComplex(i).imag()});
    const double size = Hypot(want.x, want.y).Value();
    if (!(size < std::numeric_limits<T>::max() / 2) || size < std::numeric_limits<T>::min() * 0x1p30) continue;
    for (int part = 0; part < 2; ++part) {
      const T g = static_cast<T>(part == 0 ? got.GetComplex(i).real() : got.GetComplex(i).imag());
      const Real& w = part == 0 ? want.x : want.y;
      const double component = Distance(g, w.number());
      const double error = std::fabs((Real(g) - w).Value()) / (std::numeric_limits<T>::epsilon() * size);
      // A component that is lost in the other one's rounding counts by the magnitude, at 2^10 times the price.
      const double distance = std::min(component, error * 1024);
      if (distance > worst) worst = distance, where = i;
    }
  }
  return worst;
}

void Check(const Function& f, ElementType type, double bound) {
  const Literal z = Samples(type, 701);
  const std::string s = Text(z.shape());
  const Literal got = RunText(Entry("z = " + s + " parameter(0)\nROOT r = " + s + " " + f.op + "(z)"), {z});
  int64_t where = 0;
  const double worst =
      type == kC64 ? WorstUlp<float>(z, got, f.exact, where) : WorstUlp<double>(z, got, f.exact, where);
  EXPECT_LE(worst, bound) << f.op << " " << ElementTypeName(type) << " of " << z.GetComplex(where) << ": "
                          << got.GetComplex(where);
}

TEST(ComplexFunctionsTest, C64IsCorrectlyRounded) {
  for (const Function& f : kFunctions) Check(f, kC64, 0.51);
}

TEST(ComplexFunctionsTest, C128IsWithinAHalfUlpAndALittle) {
  for (const Function& f : kFunctions) Check(f, kC128, 0.75);
}

}  // namespace complex_functions_test
}  // namespace VXLA_NAMESPACE::testing
