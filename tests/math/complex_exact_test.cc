// Complex functions of the shader math against MPFR at 320 bits, both components within the bounds of
// core/numerics/accuracy.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "backend/cpu/twin/shader_math.h"
#include "core/numerics/accuracy.h"
#include "tests/math/exact_complex.h"

namespace VXLA_NAMESPACE {
namespace complex_exact_test {

namespace sm = shader_math;

struct Function {
  const char* name;
  sm::vec2 (*c64)(sm::vec2);
  sm::dvec2 (*c128)(sm::dvec2);
  Z (*exact)(const Z&);
};
#define FUNCTION(name, exact)                                                     \
  {                                                                               \
#name, sm::name##_c64, sm::name##_c128, [](const Z& z) -> Z { return exact; } \
  }

const Function kFunctions[] = {
    FUNCTION(exponential, ZExp(z)),
    FUNCTION(exponential_minus_one, ZExp(z) - kUnit),
    FUNCTION(log, ZLog(z)),
    FUNCTION(log_plus_one, ZLog(kUnit + z)),
    FUNCTION(sqrt, ZSqrt(z)),
    FUNCTION(rsqrt, kUnit / ZSqrt(z)),
    FUNCTION(cbrt, (ZExp({ZLog(z).x / 3, ZLog(z).y / 3}))),
    FUNCTION(sinh, ZSinh(z)),
    FUNCTION(cosh, ZCosh(z)),
    FUNCTION(tanh, ZTanh(z)),
    FUNCTION(sine, -TimesI(ZSinh(TimesI(z)))),
    FUNCTION(cosine, ZCosh(TimesI(z))),
    FUNCTION(tan, -TimesI(ZTanh(TimesI(z)))),
    FUNCTION(asinh, ZAsinh(z)),
    FUNCTION(acosh, ZAcosh(z)),
    FUNCTION(atanh, ZAtanh(z)),
    FUNCTION(asin, ZAsin(z)),
    FUNCTION(acos, (Z{Real::Of<mpfr_atan>(1) * 2, 0} - ZAsin(z))),
    FUNCTION(atan, -TimesI(ZAtanh(TimesI(z)))),
    FUNCTION(logistic, z.x.IsNegative() ? ZExp(z) / (kUnit + ZExp(z)) : kUnit / (kUnit + ZExp(-z))),
    FUNCTION(sign, (Z{z.x / Hypot(z.x, z.y), z.y / Hypot(z.x, z.y)})),
};

struct BinaryFunction {
  const char* name;
  sm::vec2 (*c64)(sm::vec2, sm::vec2);
  sm::dvec2 (*c128)(sm::dvec2, sm::dvec2);
  Z (*exact)(const Z&, const Z&);
};
#define BINARY(name, exact)                                                                   \
  {                                                                                           \
#name, sm::name##_c64, sm::name##_c128, [](const Z& z, const Z& w) -> Z { return exact; } \
  }

const BinaryFunction kBinaryFunctions[] = {
    BINARY(add, z + w),    BINARY(subtract, z - w),         BINARY(multiply, z* w),
    BINARY(divide, z / w), BINARY(power, ZExp(w* ZLog(z))),
};

// Components of every size about 1 and some far from it.
template <typename T>
class Components {
 public:
  explicit Components(uint64_t seed) : random_(seed) {}
  T Next(int octaves = 60) {
    const T unit = static_cast<T>(random_() >> 11) * T(0x1p-53);
    const T sign = (random_() & 1) != 0 ? T{1} : T{-1};
    switch (random_() % 5) {
      case 0:
        return sign * std::ldexp(T{1} + unit, static_cast<int>(random_() % octaves) - octaves / 2);
      case 1:
        return unit * 4 - 2;
      case 2:
        return unit * 20 - 10;
      case 3:
        return sign * T(0.78539816339744831) * static_cast<T>(random_() % 9);
      default:
        return sign * (T{1} + std::ldexp(unit, -static_cast<int>(random_() % 16)));
    }
  }

 private:
  std::mt19937_64 random_;
};

// Keeps the worst of the two distances of each kind.
template <typename T, typename Vector>
struct Worst {
  double ulp = 0, norm = 0;
  int outside = 0;

  void Note(const Vector& got, const Z& want, const UlpBound& bound, const std::string& at) {
    const Real size = Hypot(want.x, want.y);
    const double unit = std::numeric_limits<T>::epsilon() * size.Value();
    if (!(size.Value() < std::numeric_limits<T>::max() / 2) || size.Value() < std::numeric_limits<T>::min() * 0x1p30)
      return;
    bool within = true;
    for (int part = 0; part < 2; ++part) {
      const T g = part == 0 ? got.x : got.y;
      const Real& w = part == 0 ? want.x : want.y;
      const double distance = Distance(g, w.number()), error = std::fabs((Real(g) - w).Value());
      ulp = std::max(ulp, distance);
      norm = std::max(norm, error / unit);
      // The exact zeros of the formulas have no sign of their own.
      if (w.Value() == 0 && g == 0) continue;
      within = within && (distance <= bound.ulp || error <= bound.absolute || error <= bound.norm * unit);
    }
    if (within || outside++ > 2) return;
    ADD_FAILURE() << fmt::format("{} is ({:a}, {:a}), should be ({:a}, {:a})", at, got.x, got.y, want.x.Value(),
                                 want.y.Value());
  }
};

constexpr int kSamples = 10000;

template <typename T, typename Vector>
void CheckOne(const char* name, Vector (*function)(Vector), Z (*exact)(const Z&), ElementType type) {
  const UlpBound bound = AccuracyOfFunction(name, type);
  Worst<T, Vector> worst;
  Components<T> components(static_cast<uint64_t>(name[0]) + 31);
  for (int i = 0; i < kSamples; ++i) {
    const T x = components.Next(), y = components.Next();
    if (x == 0 || y == 0) continue;  // on the cuts signs of zero decide; the tables of special values have them
    worst.Note(function({x, y}), exact({x, y}), bound, fmt::format("{}({:a}, {:a})", name, x, y));
  }
  std::printf("%s %s: %.3f ulp, norm %.3f\n", name, sizeof(T) == 4 ? "c64" : "c128", worst.ulp, worst.norm);
  EXPECT_EQ(worst.outside, 0) << name;
}

template <typename T, typename Vector>
void CheckTwo(const char* name, Vector (*function)(Vector, Vector), Z (*exact)(const Z&, const Z&), ElementType type) {
  const bool power = std::string_view(name) == "power";
  const UlpBound bound = AccuracyOfFunction(name, type);
  Worst<T, Vector> worst;
  Components<T> components(static_cast<uint64_t>(name[0]) + 37);
  for (int i = 0; i < kSamples; ++i) {
    const T x = components.Next(power ? 12 : 60), y = components.Next(power ? 12 : 60);
    const T u = components.Next(power ? 4 : 60), v = components.Next(power ? 4 : 60);
    const double size = std::hypot(u, v) * std::hypot(std::log(std::hypot(x, y)), std::atan2(y, x));
    if (y == 0 || (u == 0 && v == 0) || (power && size > 64)) continue;
    worst.Note(function({x, y}, {u, v}), exact({x, y}, {u, v}), bound,
               fmt::format("{}({:a}, {:a}; {:a}, {:a})", name, x, y, u, v));
  }
  // Beyond, in proportion: next to the real axis the size and the angle of z^w have a component of w each.
  for (int i = 0; power && i < kSamples; ++i) {
    const T x = 2 + std::fabs(components.Next(4)), y = components.Next(4) * T{0x1p-90};
    const T u = components.Next(2), v = components.Next(sizeof(T) == 4 ? 27 : 56);
    const double factor = PowerNormFactor(std::complex<double>(x, y), std::complex<double>(u, v));
    if (y == 0 || factor == 1) continue;
    UlpBound grown = bound;
    grown.norm *= factor;
    worst.Note(function({x, y}, {u, v}), exact({x, y}, {u, v}), grown,
               fmt::format("{}({:a}, {:a}; {:a}, {:a})", name, x, y, u, v));
  }
  std::printf("%s %s: %.3f ulp, norm %.3f\n", name, sizeof(T) == 4 ? "c64" : "c128", worst.ulp, worst.norm);
  EXPECT_EQ(worst.outside, 0) << name;
}

class ComplexExactTest : public testing::TestWithParam<Function> {};
TEST_P(ComplexExactTest, StaysWithinItsBound) {
  const Function& f = GetParam();
  CheckOne<float>(f.name, f.c64, f.exact, ElementType::kC64);
  CheckOne<double>(f.name, f.c128, f.exact, ElementType::kC128);
}
INSTANTIATE_TEST_SUITE_P(All, ComplexExactTest, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

class ComplexBinaryExactTest : public testing::TestWithParam<BinaryFunction> {};
TEST_P(ComplexBinaryExactTest, StaysWithinItsBound) {
  const BinaryFunction& f = GetParam();
  CheckTwo<float>(f.name, f.c64, f.exact, ElementType::kC64);
  CheckTwo<double>(f.name, f.c128, f.exact, ElementType::kC128);
}
INSTANTIATE_TEST_SUITE_P(All, ComplexBinaryExactTest, testing::ValuesIn(kBinaryFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace complex_exact_test
}  // namespace VXLA_NAMESPACE
