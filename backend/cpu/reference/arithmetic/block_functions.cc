// Transcendental and rounding functions on blocks. f32 and narrower are computed in double, f64 in long double, so the
// one rounding at the store makes nearly all results correctly rounded. Complex functions are C99's, Annex G included.
#include <cmath>
#include <limits>

#include "backend/cpu/reference/arithmetic/block_ops.h"
#include "backend/cpu/reference/arithmetic/special_functions.h"
#include "backend/cpu/reference/arithmetic/twofold.h"

namespace VXLA_NAMESPACE {
namespace {

using WideComplex = std::complex<long double>;

template <typename F>
Result<BlockOp> Real(const Instruction& instruction, F f) {
  const ElementType type = OperandType(instruction);
  if (!IsFloating(type)) return UndefinedFor(instruction);
  if (type == ElementType::kF64) {
    return UnaryLoop<double>([f](double x) { return static_cast<double>(f(static_cast<long double>(x))); });
  }
  return UnaryLoop<double>([f](double x) { return f(x); });
}

template <typename F>
Result<BlockOp> RealOrComplex(const Instruction& instruction, F f) {
  const ElementType type = OperandType(instruction);
  if (type == ElementType::kC64) return UnaryLoop<ComplexDouble>([f](ComplexDouble z) { return f(z); });
  if (type == ElementType::kC128)
    return UnaryLoop<ComplexDouble>([f](ComplexDouble z) { return ComplexDouble(f(WideComplex(z))); });
  return Real(instruction, f);
}

// Exact or correctly rounded in double already; a second rounding could only do harm.
template <typename F>
Result<BlockOp> RealInDouble(const Instruction& instruction, F f) {
  if (!IsFloating(OperandType(instruction))) return UndefinedFor(instruction);
  return UnaryLoop<double>(f);
}

template <typename T>
T Log1p(T x) {
  return std::log1p(x);
}
// |1 + z|^2 - 1 = 2x + x^2 + y^2 keeps small z; the sum is exact to twice double, since it may cancel. Close to -1,
// where 1 + x is exact, its square is what would be lost.
template <typename T>
std::complex<T> Log1p(std::complex<T> z) {
  const double x = static_cast<double>(z.real()), y = static_cast<double>(z.imag());  // elements are doubles at most
  if (!std::isfinite(x) || !std::isfinite(y) || std::fabs(x) + std::fabs(y) > 4) return std::log(T(1) + z);
  const long double radius = std::hypot(1 + static_cast<long double>(x), static_cast<long double>(y));
  const T angle = static_cast<T>(std::atan2(static_cast<long double>(y), 1 + static_cast<long double>(x)));
  if (radius < 0.5) return {static_cast<T>(std::log(radius)), angle};
  TwofoldSum<double> square{2 * x, 0};
  AddProduct(square, Halves<double>(x), Halves<double>(x));
  AddProduct(square, Halves<double>(y), Halves<double>(y));
  const long double excess = static_cast<long double>(square.sum) + square.error;
  return {static_cast<T>(std::log1p(excess) / 2), angle};
}

template <typename T>
T Expm1(T x) {
  return std::expm1(x);
}
// exp(x)(cos y + i sin y) - 1 = expm1(x) cos y - 2 sin^2(y/2) + i exp(x) sin y
template <typename T>
std::complex<T> Expm1(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (!std::isfinite(x) || !std::isfinite(y)) return std::exp(z) - T(1);
  if (y == 0) return {std::expm1(x), y};
  const T s = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * s * s, std::exp(x) * std::sin(y)};
}

template <typename T>
T Reciprocal(T x) {
  return 1 / x;
}
// The quotient's formula would lose the sign of a zero imaginary part.
template <typename T>
std::complex<T> Reciprocal(std::complex<T> z) {
  if (z.imag() == 0 && z.real() != 0 && !std::isnan(z.real())) return {1 / z.real(), -z.imag()};
  return T(1) / z;
}

template <typename T>
T Cbrt(T x) {
  return std::cbrt(x);
}
template <typename T>
std::complex<T> Cbrt(std::complex<T> z) {
  if (z == std::complex<T>(0)) return z;
  if (z.imag() == 0 && z.real() > 0) return {std::cbrt(z.real()), z.imag()};
  const T angle = std::arg(z);
  if (!std::isinf(z.real()) && !std::isinf(z.imag())) {
    const T radius = std::cbrt(std::abs(z));  // NaN too, which std::polar must not be given
    return {radius * std::cos(angle / 3), radius * std::sin(angle / 3)};
  }
  // Not as products with a cosine and a sine, which may be 0: an infinity of any angle but 0 has two infinite parts.
  const T infinity = std::numeric_limits<T>::infinity();
  return {infinity, std::isnan(angle) || angle == 0 ? angle : std::copysign(infinity, angle)};
}

// Odd where C99 leaves the infinity's sign open: beside an imaginary part that is not finite.
template <typename T>
T Sinh(T x) {
  return std::sinh(x);
}
template <typename T>
std::complex<T> Sinh(std::complex<T> z) {
  const std::complex<T> r = std::sinh(z);
  if (!std::isinf(z.real()) || std::isfinite(z.imag())) return r;
  return {std::copysign(r.real(), z.real()), r.imag()};
}
template <typename T>
T Sin(T x) {
  return std::sin(x);
}
template <typename T>
std::complex<T> Sin(std::complex<T> z) {  // -i sinh(iz)
  const std::complex<T> r = Sinh(std::complex<T>(-z.imag(), z.real()));
  return {r.imag(), -r.real()};
}

}  // namespace

Result<BlockOp> MakeExp(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::exp(x); });
}
Result<BlockOp> MakeExpm1(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Expm1(x); });
}
Result<BlockOp> MakeLog(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::log(x); });
}
Result<BlockOp> MakeLog1p(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Log1p(x); });
}
Result<BlockOp> MakeSin(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Sin(x); });
}
Result<BlockOp> MakeCos(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::cos(x); });
}
Result<BlockOp> MakeTan(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::tan(x); });
}
Result<BlockOp> MakeSinh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Sinh(x); });
}
Result<BlockOp> MakeCosh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::cosh(x); });
}
Result<BlockOp> MakeTanh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::tanh(x); });
}
Result<BlockOp> MakeAsin(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::asin(x); });
}
Result<BlockOp> MakeAcos(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::acos(x); });
}
Result<BlockOp> MakeAtan(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::atan(x); });
}
Result<BlockOp> MakeAsinh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::asinh(x); });
}
Result<BlockOp> MakeAcosh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::acosh(x); });
}
Result<BlockOp> MakeAtanh(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return std::atanh(x); });
}
Result<BlockOp> MakeCbrt(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Cbrt(x); });
}
Result<BlockOp> MakeErf(const Instruction& i) {
  return Real(i, [](auto x) { return std::erf(x); });
}
Result<BlockOp> MakeErfc(const Instruction& i) {
  return Real(i, [](auto x) { return std::erfc(x); });
}
Result<BlockOp> MakeErfInv(const Instruction& i) {
  return Real(i, [](auto x) { return ErfInv(x); });
}
Result<BlockOp> MakeLgamma(const Instruction& i) {
  return Real(i, [](auto x) { return Lgamma(x); });
}
Result<BlockOp> MakeDigamma(const Instruction& i) {
  return Real(i, [](auto x) { return Digamma(x); });
}
Result<BlockOp> MakeRsqrt(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Reciprocal(std::sqrt(x)); });
}
Result<BlockOp> MakeLogistic(const Instruction& i) {
  return RealOrComplex(i, [](auto x) { return Reciprocal(decltype(x)(1) + std::exp(-x)); });
}

// The root of -inf + NaN i is NaN with an infinite part of either sign by C, which glibc takes from the NaN. A NaN's
// sign is whatever made it: the part is positive, as it is on devices.
template <typename T>
std::complex<T> ComplexRoot(std::complex<T> z) {
  if (std::isinf(z.real()) && std::isnan(z.imag())) z.imag(std::numeric_limits<T>::quiet_NaN());
  return std::sqrt(z);
}

Result<BlockOp> MakeSqrt(const Instruction& i) {
  if (IsComplex(OperandType(i))) {
    return RealOrComplex(i, [](auto x) {
      if constexpr (std::is_arithmetic_v<decltype(x)>) {
        return std::sqrt(x);
      } else {
        return ComplexRoot(x);
      }
    });
  }
  return RealInDouble(i, [](double x) { return std::sqrt(x); });
}
Result<BlockOp> MakeCeil(const Instruction& i) {
  return RealInDouble(i, [](double x) { return std::ceil(x); });
}
Result<BlockOp> MakeFloor(const Instruction& i) {
  return RealInDouble(i, [](double x) { return std::floor(x); });
}
Result<BlockOp> MakeRoundNearestAfz(const Instruction& i) {
  return RealInDouble(i, [](double x) { return std::round(x); });
}
Result<BlockOp> MakeRoundNearestEven(const Instruction& i) {
  return RealInDouble(i, [](double x) { return std::nearbyint(x); });
}

}  // namespace VXLA_NAMESPACE
