// Complex functions of the shader math against the C library's in a wider format, per component and in norm, and C99
// Annex G's special values.
#include <gtest/gtest.h>

#include <complex>
#include <string>

#include "backend/cpu/twin/shader_math.h"
#include "tests/math/ulp.h"

namespace VXLA_NAMESPACE {
namespace {

namespace sm = shader_math;

// T computes, Wide knows better.
template <typename T>
struct Traits;
template <>
struct Traits<float> {
  using Vector = sm::vec2;
  using Wide = double;
};
template <>
struct Traits<double> {
  using Vector = sm::dvec2;
  using Wide = long double;
};

template <typename T>
struct Unary {
  using Vector = typename Traits<T>::Vector;
  using Exact = std::complex<typename Traits<T>::Wide>;
  const char* name;
  Vector (*function)(Vector);
  Exact (*exact)(const Exact&);
  double component_bound;  // ulp; infinite where cancellation leaves only the norm's bound
  double norm_bound;       // units of 2^-24 or 2^-53 of |result|
};

template <typename T>
class ComplexPoints {
 public:
  explicit ComplexPoints(uint64_t seed) : random_(seed) {}
  T Next() {
    const T unit = static_cast<T>(random_() >> 11) * T(0x1p-53);
    const T sign = (random_() & 1) != 0 ? T{1} : T{-1};
    switch (random_() % 4) {
      case 0:
        return sign * std::ldexp(T{1} + unit, static_cast<int>(random_() % 60) - 30);
      case 1:
        return unit * 4 - 2;
      case 2:
        return unit * 20 - 10;
      default:
        return sign * (T{1} + std::ldexp(unit, -static_cast<int>(random_() % 16)));
    }
  }

 private:
  std::mt19937_64 random_;
};

template <typename Wide>
using C = std::complex<Wide>;

template <typename Wide>
C<Wide> ExactExpm1(const C<Wide>& z) {
  const Wide s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z).imag()};
}
template <typename Wide>
C<Wide> ExactLog1p(const C<Wide>& z) {
  const Wide x = z.real(), y = z.imag();
  if (std::hypot(x, y) > Wide(0.5)) return std::log(Wide{1} + z);
  return {std::log1p(x * (x + 2) + y * y) / 2, std::atan2(y, 1 + x)};
}
template <typename Wide>
C<Wide> ExactLogistic(const C<Wide>& z) {
  return z.real() < 0 ? std::exp(z) / (Wide{1} + std::exp(z)) : Wide{1} / (Wide{1} + std::exp(-z));
}
template <typename Wide>
C<Wide> ExactRsqrt(const C<Wide>& z) {
  return Wide{1} / std::sqrt(z);
}
template <typename Wide>
C<Wide> ExactSign(const C<Wide>& z) {
  const Wide h = std::hypot(z.real(), z.imag());
  return z == C<Wide>(0) ? z : C<Wide>(z.real() / h, z.imag() / h);
}

constexpr double kFree = 1e300;

template <typename T>
void CheckUnary(const Unary<T>& f) {
  using Wide = typename Traits<T>::Wide;
  double worst = 0, worst_norm = 0;
  T wx = 0, wy = 0, nx = 0, ny = 0;
  ComplexPoints<T> points(61);
  for (int i = 0; i < 100000; ++i) {
    const T x = points.Next(), y = points.Next();
    const auto got = f.function({x, y});
    const C<Wide> want = f.exact(C<Wide>(x, y));
    const double ulp = std::max(UlpError(got.x, want.real()), UlpError(got.y, want.imag()));
    if (ulp > worst) worst = ulp, wx = x, wy = y;
    const Wide size = std::hypot(want.real(), want.imag());
    if (!(size > std::numeric_limits<T>::min() && size < std::numeric_limits<T>::max() / 2)) continue;
    const Wide error = std::hypot(got.x - want.real(), got.y - want.imag()) / size;
    const double norm = static_cast<double>(std::ldexp(error, std::numeric_limits<T>::digits));
    if (!(norm <= worst_norm)) worst_norm = norm, nx = x, ny = y;
  }
  std::printf("%s_%s: %.3f ulp at (%.17g, %.17g), norm %.3f at (%.17g, %.17g)\n", f.name,
              sizeof(T) == 4 ? "c64" : "c128", worst, double(wx), double(wy), worst_norm, double(nx), double(ny));
  EXPECT_LE(worst, f.component_bound) << f.name << " at " << wx << ", " << wy;
  EXPECT_LE(worst_norm, f.norm_bound) << f.name << " at " << nx << ", " << ny;
}

#define COMPLEX_TEST(name, exact, component, norm)                                                                  \
  TEST(ComplexTest, name) {                                                                                         \
    CheckUnary<float>(                                                                                              \
        {#name, sm::name##_c64, [](const C<double>& z) -> C<double> { return exact(z); }, component, norm});        \
    CheckUnary<double>({#name, sm::name##_c128, [](const C<long double>& z) -> C<long double> { return exact(z); }, \
                        component, norm});                                                                          \
  }

COMPLEX_TEST(exponential, std::exp, 1, 2)
COMPLEX_TEST(exponential_minus_one, ExactExpm1, kFree, 2)
COMPLEX_TEST(log, std::log, 1, 2)
COMPLEX_TEST(log_plus_one, ExactLog1p, kFree, 3)
COMPLEX_TEST(sqrt, std::sqrt, 1, 2)
COMPLEX_TEST(rsqrt, ExactRsqrt, 4, 3)
COMPLEX_TEST(sinh, std::sinh, 1, 2)
COMPLEX_TEST(cosh, std::cosh, 1, 2)
COMPLEX_TEST(tanh, std::tanh, 2, 2)
COMPLEX_TEST(sine, std::sin, 1, 2)
COMPLEX_TEST(cosine, std::cos, 1, 2)
COMPLEX_TEST(tan, std::tan, 2, 2)
COMPLEX_TEST(asinh, std::asinh, 5, 6)
COMPLEX_TEST(acosh, std::acosh, 5, 6)
COMPLEX_TEST(atanh, std::atanh, 5, 6)
COMPLEX_TEST(asin, std::asin, 5, 6)
COMPLEX_TEST(acos, std::acos, 5, 6)
COMPLEX_TEST(atan, std::atan, 5, 6)
COMPLEX_TEST(sign, ExactSign, 2.5, 3)

TEST(ComplexTest, LogisticLosesOnlyWhatItsPolesTake) {
  ComplexPoints<float> points(67);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const float x = points.Next(), y = points.Next();
    const sm::vec2 got = sm::logistic_c64({x, y});
    const C<double> z(x, y), want = ExactLogistic(z);
    const double distance = std::abs(1.0 + std::exp(C<double>(-std::fabs(x), y)));
    const double size = std::abs(want);
    if (size < 1e-37) continue;
    const double error = std::hypot(got.x - want.real(), got.y - want.imag()) / size * distance * 0x1p22;
    worst = std::max(worst, error);
  }
  EXPECT_LE(worst, 1);
}

TEST(ComplexTest, QuotientIsWithinOneUnitOfItsSize) {
  ComplexPoints<float> points(71);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const sm::vec2 a(points.Next(), points.Next()), b(points.Next(), points.Next());
    const sm::vec2 got = sm::divide_c64(a, b);
    const C<double> want = C<double>(a.x, a.y) / C<double>(b.x, b.y);
    worst = std::max({worst, UlpError(got.x, want.real()), UlpError(got.y, want.imag())});
  }
  EXPECT_LE(worst, 1);
}

TEST(ComplexTest, QuotientNeitherOverflowsNorUnderflowsOnTheWay) {
  const float big = 3e38f;
  EXPECT_EQ(sm::divide_c64({big, big}, {big, big}), sm::vec2(1, 0));
  EXPECT_EQ(sm::divide_c64({1e-40f, 0}, {1e-40f, 0}), sm::vec2(1, 0));
  EXPECT_EQ(sm::divide_c128({1e300, 1e300}, {1e300, 1e300}), sm::dvec2(1, 0));
}

TEST(ComplexTest, QuotientFollowsAnnexG) {
  const float inf = INFINITY;
  EXPECT_EQ(sm::divide_c64({1, 0}, {0, 0}).x, inf);
  EXPECT_TRUE(std::isnan(sm::divide_c64({0, 0}, {0, 0}).x));
  EXPECT_EQ(sm::divide_c64({1, 1}, {inf, 0}), sm::vec2(0, 0));
  EXPECT_EQ(sm::divide_c64({inf, 1}, {2, 0}).x, inf);
  EXPECT_TRUE(std::isnan(sm::divide_c64({inf, 1}, {inf, 0}).x));
}

TEST(ComplexTest, ProductIsThePlainOne) {
  EXPECT_EQ(sm::multiply_c64({1, 2}, {3, 4}), sm::vec2(-5, 10));
  EXPECT_EQ(sm::multiply_c128({1, 2}, {3, -4}), sm::dvec2(11, 2));
}

TEST(ComplexTest, PowerIsExactAtTheEdgesAndCloseElsewhere) {
  EXPECT_EQ(sm::power_c64({0, 0}, {0, 0}), sm::vec2(1, 0));
  EXPECT_EQ(sm::power_c64({0, 0}, {2, 1}), sm::vec2(0, 0));
  EXPECT_EQ(sm::power_c64({3, 4}, {0, 0}), sm::vec2(1, 0));
  ComplexPoints<float> points(73);
  std::mt19937_64 random(79);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const float x = points.Next(), y = points.Next();
    const float u = static_cast<float>(random() >> 40) * 0x1p-22f - 2,
                v = static_cast<float>(random() >> 40) * 0x1p-22f - 2;
    const C<double> log = std::log(C<double>(x, y)) * C<double>(u, v), want = std::exp(log);
    const sm::vec2 got = sm::power_c64({x, y}, {u, v});
    const double size = std::abs(want);
    if (size < 1e-37 || size > 1e38) continue;
    const double error = std::hypot(got.x - want.real(), got.y - want.imag()) / size;
    // The phase is rounded once in f32 and multiplied by |w|.
    worst = std::max(worst, error / (0x1p-23 + std::hypot(u, v) * 0x1p-22));
  }
  EXPECT_LE(worst, 1);
}

// Equal, both NaN, or zeros whose sign Annex G leaves open.
void ExpectComponent(float got, double want, bool sign_open) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << got;
  } else if (std::isinf(want) || want == 0) {
    EXPECT_EQ(sign_open ? std::fabs(got) : got, sign_open ? std::fabs(want) : want);
    if (sign_open) return;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << got;
  } else {
    EXPECT_NEAR(got, want, std::fabs(want) * 0x1p-21);
  }
}

struct Special {
  const char* name;
  sm::vec2 (*function)(sm::vec2);
  C<double> (*exact)(const C<double>&);
};

const Special kSpecial[] = {
    {"exp", sm::exponential_c64, std::exp<double>},
    {"log", sm::log_c64, std::log<double>},
    {"sqrt", sm::sqrt_c64, std::sqrt<double>},
    {"sinh", sm::sinh_c64, std::sinh<double>},
    {"cosh", sm::cosh_c64, std::cosh<double>},
    {"tanh", sm::tanh_c64, std::tanh<double>},
    {"sin", sm::sine_c64, std::sin<double>},
    {"cos", sm::cosine_c64, std::cos<double>},
    {"tan", sm::tan_c64, std::tan<double>},
    {"asinh", sm::asinh_c64, [](const C<double>& z) { return std::asinh(z); }},
    {"acosh", sm::acosh_c64, [](const C<double>& z) { return std::acosh(z); }},
    {"atanh", sm::atanh_c64, [](const C<double>& z) { return std::atanh(z); }},
    {"asin", sm::asin_c64, [](const C<double>& z) { return std::asin(z); }},
    {"acos", sm::acos_c64, [](const C<double>& z) { return std::acos(z); }},
    {"atan", sm::atan_c64, [](const C<double>& z) { return std::atan(z); }},
};

class ComplexSpecialTest : public testing::TestWithParam<Special> {};

TEST_P(ComplexSpecialTest, FollowsAnnexG) {
  const float values[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN};
  for (float x : values) {
    for (float y : values) {
      SCOPED_TRACE(testing::Message() << GetParam().name << "(" << x << ", " << y << ")");
      const sm::vec2 got = GetParam().function({x, y});
      const C<double> want = GetParam().exact(C<double>(x, y));
      // Where the other component is NaN or the argument's angle is none, the standard leaves signs open.
      const bool open = std::isnan(want.real()) || std::isnan(want.imag()) || !std::isfinite(x) || !std::isfinite(y);
      ExpectComponent(got.x, want.real(), open);
      ExpectComponent(got.y, want.imag(), open);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ComplexSpecialTest, testing::ValuesIn(kSpecial),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace VXLA_NAMESPACE
