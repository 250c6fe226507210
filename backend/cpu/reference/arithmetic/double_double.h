// DoubleDouble: a number kept as the sum of two doubles, about 106 bits (T. J. Dekker, "A floating-point technique for
// extending the available precision", Numer. Math. 18, 1971). For f64 results that must be rounded once: it needs no
// type wider than double, which not every compiler has. Infinities and NaN are as in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/cpu/reference/arithmetic/twofold.h"

namespace VXLA_NAMESPACE {

struct DoubleDouble {
  double high = 0, low = 0;  // |low| is at most half a unit in the last place of high

  DoubleDouble() = default;
  DoubleDouble(double x) : high(x) {}
  DoubleDouble(double h, double l) : high(h), low(l) {}
  explicit operator double() const { return high; }
};

namespace double_double_internal {

// The exact sum of two doubles; without an error term where that has no meaning.
inline DoubleDouble Sum(double a, double b) {
  const double sum = a + b;
  const double kept = sum - a;
  const double error = (a - (sum - kept)) + (b - kept);
  return std::isfinite(error) ? DoubleDouble(sum, error) : DoubleDouble(sum);
}
// The same for |a| >= |b|.
inline DoubleDouble OrderedSum(double a, double b) {
  const double sum = a + b;
  const double error = b - (sum - a);
  return std::isfinite(error) ? DoubleDouble(sum, error) : DoubleDouble(sum);
}

inline double ProductError(double product, double a, double b) {
  const Halves<double> x(a), y(b);
  return ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
}
}  // namespace double_double_internal

// The product of two doubles, exact unless its error is a subnormal number. Factors beyond 2^996, whose halves
// overflow, are taken smaller on the way.
inline DoubleDouble ExactProduct(double a, double b) {
  using double_double_internal::ProductError;
  const double product = a * b;
  double error = ProductError(product, a, b);
  if (std::isfinite(error)) return {product, error};
  if (!std::isfinite(product)) return product;
  constexpr double kDown = 0x1p-64, kUp = 0x1p64;
  const double x = std::fabs(a) > std::fabs(b) ? a * kDown : a, y = std::fabs(a) > std::fabs(b) ? b : b * kDown;
  error = ProductError(product * kDown, x, y) * kUp;
  return {product, error};
}

inline DoubleDouble TimesPowerOfTwo(DoubleDouble a, int exponent) {
  return {std::ldexp(a.high, exponent), std::ldexp(a.low, exponent)};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  using namespace double_double_internal;
  const DoubleDouble high = Sum(a.high, b.high), low = Sum(a.low, b.low);
  const DoubleDouble sum = OrderedSum(high.high, high.low + low.high);
  return OrderedSum(sum.high, sum.low + low.low);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  using namespace double_double_internal;
  const DoubleDouble product = ExactProduct(a.high, b.high);
  if (!std::isfinite(product.high)) return product.high;  // the other products may be infinite too, of other signs
  return OrderedSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  using namespace double_double_internal;
  const double first = a.high / b.high;
  if (!std::isfinite(first) || std::isinf(b.high)) return first;
  // The quotient times the divisor may be beyond the range where the dividend is next to its end.
  if (std::fabs(a.high) > 0x1p1000) return TimesPowerOfTwo(TimesPowerOfTwo(a, -64) / b, 64);
  const DoubleDouble rest = a - b * first;
  const double second = rest.high / b.high;
  const double third = (rest - b * second).high / b.high;
  return OrderedSum(first, second) + third;
}
inline DoubleDouble& operator+=(DoubleDouble& a, DoubleDouble b) { return a = a + b; }

// One step of Newton's iteration from the root in double.
inline DoubleDouble Sqrt(DoubleDouble a) {
  const double root = std::sqrt(a.high);
  if (root == 0 || !std::isfinite(root)) return root;
  const DoubleDouble rest = a - ExactProduct(root, root);
  return double_double_internal::OrderedSum(root, rest.high / (2 * root));
}

// The cosine and the sine of 2 pi k / n, for 0 <= k < n < 2^60.
struct CosineSine {
  DoubleDouble cosine, sine;
};
CosineSine OfTurn(int64_t k, int64_t n);

}  // namespace VXLA_NAMESPACE
