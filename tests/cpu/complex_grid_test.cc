// Complex functions of the reference and of the shader math at every pair of special and ordinary components, against
// MPFR and Annex G's words (tests/math/complex_oracle.h).
#include "tests/support/complex_grid.h"

#include <cmath>
#include <limits>

#include "backend/cpu/twin/shader_evaluator.h"
#include "core/mlir/importer/importer.h"
#include "core/numerics/accuracy.h"
#include "tests/cpu/cpu_test_support.h"
#include "tests/math/complex_oracle.h"

namespace VXLA_NAMESPACE::testing {
namespace complex_grid_test {

using enum ElementType;
using complex_oracle::Expected;
using complex_oracle::Signed;

// The least numbers squared beside 1 keep all of their digits.
struct Digits {
  explicit Digits(ElementType type) : before(Real::bits) { Real::bits = type == kC64 ? 700 : 2500; }
  ~Digits() { Real::bits = before; }
  int before;
};

Literal Run(const Module& module, const std::vector<Literal>& arguments, bool as_shaders) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  auto result = as_shaders ? EvaluateAsShaders(module, pointers, {}) : Evaluate(module, pointers);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(*result) : Literal();
}

// What is beyond the type's range either way is compared as what it rounds to, where its sign is free.
template <typename T>
bool PartAgrees(T got, const Real& want, bool free, const UlpBound& bound, const Real& size) {
  using Limits = std::numeric_limits<T>;
  if (free && !want.IsNan()) {
    const double magnitude = std::fabs(want.Value());
    if (magnitude > double{Limits::max()} && std::isinf(got)) return true;
    if (magnitude < double{Limits::denorm_min()} && std::fabs(got) <= Limits::denorm_min()) return true;
  }
  if (Distance(got, want.number()) <= bound.ulp) return true;
  if (std::isnan(got) || want.IsNan() || want.IsInf()) return false;
  const Real unit = Real::Of<mpfr_max>(size * double{Limits::epsilon()}, double{Limits::denorm_min()});
  // Infinite where a bound of the number's size leaves the range.
  if (std::isinf(got)) return size.IsFinite() && (unit * bound.norm).Value() > double{Limits::max()};
  const Real error = Real::Of<mpfr_abs>(Real(got) - want);
  return error.Value() <= bound.absolute || (size.IsFinite() && !(unit * bound.norm - error).IsNegative());
}

template <typename T>
bool Agrees(std::complex<double> got, const Expected& want, const UlpBound& bound) {
  const Real size = Hypot(want.x, want.y);
  return PartAgrees(static_cast<T>(got.real()), want.x, want.x_free, bound, size) &&
         PartAgrees(static_cast<T>(got.imag()), want.y, want.y_free, bound, size);
}

bool Agrees(ElementType type, std::complex<double> got, const Expected& want, const UlpBound& bound) {
  return type == kC64 ? Agrees<float>(got, want, bound) : Agrees<double>(got, want, bound);
}

std::string Text(const Expected& e) { return fmt::format("({:.17g}, {:.17g})", e.x.Value(), e.y.Value()); }

void CheckUnary(const complex_oracle::Function& f, ElementType type) {
  const Digits digits(type);
  const std::vector<std::complex<double>> grid = ComplexGrid(type);
  std::string op;
  for (const std::string_view name : kComplexUnary) {
    if (name.substr(name.find('.') + 1) == f.name) op = name;
  }
  auto module = mlir::ParseStablehlo(ComplexProgram(op, type, static_cast<int64_t>(grid.size()), 1));
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<Literal> arguments;
  arguments.push_back(ComplexArray(type, grid));
  const Literal reference = Run(**module, arguments, false), shaders = Run(**module, arguments, true);
  const UlpBound bound = f.name == "square" ? UlpBound{2, 0, 0} : AccuracyOfFunction(f.name, type);
  int wrong = 0;
  for (size_t i = 0; i < grid.size(); ++i) {
    const Expected want = complex_oracle::ValueOf(f, grid[i].real(), grid[i].imag());
    for (const Literal* got : {&reference, &shaders}) {
      const std::complex<double> value = got->GetComplex(static_cast<int64_t>(i));
      if (Agrees(type, value, want, bound) || wrong++ > 40) continue;
      ADD_FAILURE() << fmt::format("{} {} {}({:.9g}, {:.9g}) is ({:.17g}, {:.17g}), should be {}",
                                   got == &reference ? "reference" : "shaders", ElementTypeName(type), f.name,
                                   grid[i].real(), grid[i].imag(), value.real(), value.imag(), Text(want));
    }
  }
  EXPECT_EQ(wrong, 0);
}

// How a cell of a function of two arguments is judged.
using C = std::complex<double>;
Z Exact(C a) { return {a.real(), a.imag()}; }
bool IsFinite(C a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); }
bool Same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }
template <typename T>
bool SameParts(std::complex<T> a, C b) {
  return Same(static_cast<double>(a.real()), b.real()) && Same(static_cast<double>(a.imag()), b.imag());
}

template <typename T>
bool IsSum(C a, C b, C got) {
  return SameParts(std::complex<T>(a) + std::complex<T>(b), got);
}
template <typename T>
bool IsDifference(C a, C b, C got) {
  return SameParts(std::complex<T>(a) - std::complex<T>(b), got);
}

// p + q where both products are in T's range, within 1.5 units of their sizes; else what T's own numbers give.
template <typename T>
bool IsSumOfProducts(double a, double b, double c, double d, double got) {
  const T p = static_cast<T>(a) * static_cast<T>(b), q = static_cast<T>(c) * static_cast<T>(d), plain = p + q;
  if (!std::isfinite(p) || !std::isfinite(q)) return Same(static_cast<double>(plain), got);
  const Real x = Real(a) * b, y = Real(c) * d, sum = x + y;
  if (Distance(static_cast<T>(got), sum.number()) <= 1) return true;
  if (sum.IsZero()) return Same(static_cast<double>(plain), got);
  const double size = std::fabs(x.Value()) + std::fabs(y.Value());
  const double error = std::fabs((Real(got) - sum).Value());
  return error <= 0.75 * std::numeric_limits<T>::epsilon() * size + 1.5 * double{std::numeric_limits<T>::denorm_min()};
}
template <typename T>
bool IsProduct(C a, C b, C got) {
  return IsSumOfProducts<T>(a.real(), b.real(), -a.imag(), b.imag(), got.real()) &&
         IsSumOfProducts<T>(a.real(), b.imag(), a.imag(), b.real(), got.imag());
}

template <typename T>
ElementType TypeOf() {
  return sizeof(T) == 4 ? kC64 : kC128;
}
template <typename T>
bool IsQuotient(C a, C b, C got) {
  if (!IsFinite(a) || !IsFinite(b) || b == C(0))
    return Agrees<T>(got, complex_oracle::SpecialQuotientOf(Exact(a), Exact(b)), {});
  return Agrees<T>(got, complex_oracle::QuotientOf(Exact(a), Exact(b)), AccuracyOfFunction("divide", TypeOf<T>()));
}

// The phase has a sign and a size as long as its rounding leaves a turn's worth.
template <typename T>
bool IsPower(C a, C b, C got) {
  constexpr double kLeast = std::numeric_limits<T>::denorm_min();
  Expected want = complex_oracle::PowerOf(Exact(a), Exact(b), kLeast);
  UlpBound bound = AccuracyOfFunction("power", TypeOf<T>());
  if (IsFinite(a) && IsFinite(b) && a != C(0)) {
    const Z phase = complex_oracle::PhaseOf(Exact(a), Exact(b), kLeast);
    const double size = Hypot(phase.x, phase.y).Value();
    bound.norm *= std::max(1.0, size / 64);
    want.x_free = want.y_free = size > 1e4;
    // A phase beyond the range is no phase: e^(x + i inf).
    if (std::fabs(phase.y.Value()) > std::numeric_limits<T>::max() && std::isnan(got.imag())) {
      const double length = Exp(complex_oracle::Clamped(phase.x)).Value();
      // Next to the largest number either, as the logarithm is rounded.
      const double ratio = length / std::numeric_limits<T>::max();
      return std::isinf(got.real()) ? ratio > 0.999 : std::isnan(got.real()) && ratio < 1.001;
    }
  }
  return Agrees<T>(got, want, bound);
}

template <typename T>
bool IsAngle(C y, C x, C got) {
  if (!IsFinite(y) || !IsFinite(x)) return std::isnan(got.real()) && std::isnan(got.imag());
  const Expected want = complex_oracle::Atan2Of(Exact(y), Exact(x));
  if (want.x.IsNan()) return !IsFinite(got);
  const UlpBound bound = AccuracyOfFunction("atan2", TypeOf<T>());
  if (Agrees<T>(got, want, bound)) return true;
  // The logarithm of -1 has two signs; and next to the root's cut the other root will do, half a turn away.
  Expected other = want;
  other.x = -want.x;
  const double half_turn = 3.141592653589793;
  if (std::fabs(std::fabs(want.x.Value()) - half_turn) < 1e-6 && Agrees<T>(got, other, bound)) return true;
  const Z squares = Exact(x) * Exact(x) + Exact(y) * Exact(y);
  if (!squares.x.IsNegative()) return false;
  if (std::fabs((squares.y / squares.x).Value()) > 4 * double{std::numeric_limits<T>::epsilon()}) return false;
  other.x = want.x - Signed(complex_oracle::Pi(), want.x);
  if (Agrees<T>(got, other, bound)) return true;
  other.x = want.x + Signed(complex_oracle::Pi(), want.x);
  return Agrees<T>(got, other, bound);
}

struct BinaryFunction {
  std::string_view op;
  bool (*c64)(C a, C b, C got);
  bool (*c128)(C a, C b, C got);
};
const BinaryFunction kBinaryFunctions[] = {
    {"stablehlo.add", IsSum<float>, IsSum<double>},
    {"stablehlo.subtract", IsDifference<float>, IsDifference<double>},
    {"stablehlo.multiply", IsProduct<float>, IsProduct<double>},
    {"stablehlo.divide", IsQuotient<float>, IsQuotient<double>},
    {"stablehlo.power", IsPower<float>, IsPower<double>},
    {"stablehlo.atan2", IsAngle<float>, IsAngle<double>},
};

void CheckBinary(const BinaryFunction& f, ElementType type) {
  const Digits digits(type);
  const std::vector<Literal> arguments = ComplexPairs(type);
  auto module = mlir::ParseStablehlo(ComplexProgram(f.op, type, arguments[0].element_count(), 2));
  ASSERT_TRUE(module.ok()) << module.status().message();
  const Literal reference = Run(**module, arguments, false), shaders = Run(**module, arguments, true);
  int wrong = 0;
  for (int64_t i = 0; i < arguments[0].element_count(); ++i) {
    const C a = arguments[0].GetComplex(i), b = arguments[1].GetComplex(i);
    for (const Literal* got : {&reference, &shaders}) {
      const C value = got->GetComplex(i);
      if ((type == kC64 ? f.c64 : f.c128)(a, b, value) || wrong++ > 40) continue;
      ADD_FAILURE() << fmt::format("{} {} {} of ({:.9g}, {:.9g}) and ({:.9g}, {:.9g}) is ({:.17g}, {:.17g})",
                                   got == &reference ? "reference" : "shaders", ElementTypeName(type), f.op, a.real(),
                                   a.imag(), b.real(), b.imag(), value.real(), value.imag());
    }
  }
  EXPECT_EQ(wrong, 0);
}

class ComplexPairsGridTest : public ::testing::TestWithParam<BinaryFunction> {};
TEST_P(ComplexPairsGridTest, EachPairOfNumbersGivesItsValue) {
  CheckBinary(GetParam(), kC64);
  CheckBinary(GetParam(), kC128);
}
INSTANTIATE_TEST_SUITE_P(All, ComplexPairsGridTest, ::testing::ValuesIn(kBinaryFunctions), [](const auto& info) {
  return std::string(info.param.op.substr(info.param.op.find('.') + 1));
});

class ComplexGridTest : public ::testing::TestWithParam<complex_oracle::Function> {};
TEST_P(ComplexGridTest, EachPairOfComponentsGivesItsValue) {
  CheckUnary(GetParam(), kC64);
  CheckUnary(GetParam(), kC128);
}
INSTANTIATE_TEST_SUITE_P(All, ComplexGridTest, ::testing::ValuesIn(complex_oracle::kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace complex_grid_test
}  // namespace VXLA_NAMESPACE::testing
