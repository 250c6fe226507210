// Functions that the C library has not, or not for several threads, in a type wide enough that one rounding of the
// result is nearly always correct.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace VXLA_NAMESPACE {

// log |gamma(x)| as the C library has it, which with glibc's own lgamma would also write a global (signgam): a race
// between the threads of the reference.
template <typename T>
T Lgamma(T x) {
#ifdef __GLIBC__
  int sign = 0;
  if constexpr (std::is_same_v<T, double>) {
    return ::lgamma_r(x, &sign);
  } else {
    return ::lgammal_r(x, &sign);
  }
#else
  return std::lgamma(x);
#endif
}

// The y with erf(y) = x, by Newton's method on erf, in the tails on log(erfc): convex, so each step stays on one side.
template <typename T>
T ErfInv(T x) {
  const T size = std::fabs(x);
  if (!(size <= 1)) return std::numeric_limits<T>::quiet_NaN();
  if (x == 0) return x;
  if (size == 1) return std::copysign(std::numeric_limits<T>::infinity(), x);
  const T half_root_pi = 1 / (2 * std::numbers::inv_sqrtpi_v<T>);
  const bool tail = size > T(0.5);
  const T rest = 1 - size;  // exact in the tail
  T y = tail ? std::sqrt(-std::log(rest)) : size * half_root_pi;
  for (int step = 0; step < 30; ++step) {
    const T slope = half_root_pi * std::exp(y * y);
    const T complement = std::erfc(y);
    const T change = tail ? (std::log(complement) - std::log(rest)) * complement * slope : (size - std::erf(y)) * slope;
    y += change;
    if (std::fabs(change) <= std::numeric_limits<T>::epsilon() * y) break;
  }
  return std::copysign(y, x);
}

// psi(x + d) - psi(x) for |d| < 1/2 and x > 1: proportional to d, so that next to the zero of psi no digit cancels.
// Sums of 1/(x + k) first, from y = x + 32 on the asymptotic series; powers of 1/y^2 differ by their quotients' sums.
template <typename T>
T DigammaDifference(T x, T d) {
  T sum = 0;
  for (int k = 31; k >= 0; --k) sum += 1 / ((x + d + k) * (x + k));
  const T y = x + 32, z = y + d;
  const T u = 1 / (y * y), v = 1 / (z * z);
  const T uv = -(y + z) * u * v;  // (v - u) / d
  const T powers = uv * (-T(1) / 12 + (u + v) / 120 - (u * u + u * v + v * v) / 252 +
                         (u * u * u + u * u * v + u * v * v + v * v * v) / 240);
  const T logarithm = d == 0 ? 1 / y : std::log1p(d / y) / d;
  return d * (sum + logarithm + 1 / (2 * y * z) + powers);
}

// The derivative of log Gamma; NaN at its poles and at -inf.
template <typename T>
T Digamma(T x) {
  if (std::isnan(x) || x == std::numeric_limits<T>::infinity()) return x;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<T>::quiet_NaN();
    // psi(1 - x) - psi(x) = pi cot(pi x), at the distance to the nearest pole.
    const T angle = std::numbers::pi_v<T> * (x - std::round(x));
    return Digamma(1 - x) - std::numbers::pi_v<T> / std::tan(angle);
  }
  const T zero = T(0x1.762d86356be3fp+0), zero_rest = T(9.549995429965697715e-17L);
  if (std::fabs(x - zero) < T(0.5)) return DigammaDifference(zero + zero_rest, (x - zero) - zero_rest);
  T sum = 0;
  for (; x < 32; x += 1) sum -= 1 / x;
  const T u = 1 / (x * x);
  const T series = u * (T(1) / 12 - u * (T(1) / 120 - u * (T(1) / 252 - u * (T(1) / 240 - u * (T(1) / 132)))));
  return sum + (std::log(x) - 1 / (2 * x) - series);
}

}  // namespace VXLA_NAMESPACE
