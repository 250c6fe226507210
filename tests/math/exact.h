// Exact values for the math tests: the functions in the C library's wider formats, and in MPFR where those cannot
// decide.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/math/ulp.h"

namespace VXLA_NAMESPACE {

// An MPFR number that frees itself.
struct Number {
  explicit Number(int bits) { mpfr_init2(value, bits); }
  explicit Number(double x) {
    mpfr_init2(value, 53);
    mpfr_set_d(value, x, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(value); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  mpfr_t value;
};

using ExactUnary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using ExactBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

// As UlpError, of an exact value that MPFR holds.
template <typename T>
double Distance(T got, const Number& exact) {
  using Limits = std::numeric_limits<T>;
  if (mpfr_nan_p(exact.value) || std::isnan(got)) return (mpfr_nan_p(exact.value) != 0) == std::isnan(got) ? 0 : kWrong;
  // Infinite where the exact value rounds to it.
  Number limit(64);
  mpfr_set_d(limit.value, Limits::max(), MPFR_RNDN);
  mpfr_add_d(limit.value, limit.value, std::ldexp(1.0, Limits::max_exponent - Limits::digits - 1), MPFR_RNDN);
  const bool overflows = mpfr_cmpabs(exact.value, limit.value) >= 0, negative = mpfr_signbit(exact.value) != 0;
  if (overflows || std::isinf(got)) return overflows && std::isinf(got) && std::signbit(got) == negative ? 0 : kWrong;
  if (mpfr_zero_p(exact.value)) return got == 0 && std::signbit(got) == negative ? 0 : kWrong;
  const int exponent = std::max(static_cast<int>(mpfr_get_exp(exact.value)) - 1, Limits::min_exponent - 1);
  Number difference(200);
  mpfr_sub_d(difference.value, exact.value, got, MPFR_RNDN);
  mpfr_mul_2si(difference.value, difference.value, Limits::digits - 1 - exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

// What MPFR does not have itself, with C99's and XLA's special values.
inline int MpfrRsqrt(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (!mpfr_zero_p(x)) return mpfr_rec_sqrt(r, x, mode);
  mpfr_set_inf(r, mpfr_signbit(x) != 0 ? -1 : 1);
  return 0;
}
inline int MpfrLogistic(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  mpfr_neg(r, x, mode);
  mpfr_exp(r, r, mode);
  mpfr_add_ui(r, r, 1, mode);
  return mpfr_ui_div(r, 1, r, mode);
}
inline int MpfrRoundAfz(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_round(r, x); }
inline int MpfrFloor(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_floor(r, x); }
inline int MpfrCeil(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_ceil(r, x); }
inline int MpfrTruncate(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_trunc(r, x); }
inline int MpfrSign(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (mpfr_nan_p(x) || mpfr_zero_p(x)) return mpfr_set(r, x, mode);
  return mpfr_set_si(r, mpfr_sgn(x), mode);
}
inline int MpfrLgamma(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  int sign = 0;
  return mpfr_lgamma(r, &sign, x, mode);
}
// NaN at 0 and at -infinity too, as XLA's client library has it.
inline int MpfrDigamma(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t mode) {
  if (!mpfr_zero_p(x)) return mpfr_digamma(r, x, mode);
  mpfr_set_nan(r);
  return 0;
}

// In the C library's T, to a few units in T's last place.
template <typename T>
T LibraryLogistic(T x) {
  return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
template <typename T>
T LibraryRsqrt(T x) {
  return 1 / std::sqrt(x);
}
template <typename T>
T LibrarySign(T x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(T{1}, x);
}
// log|gamma|; the C library writes a global sign, which no thread here reads.
template <typename T>
T LibraryLgamma(T x) {
  return std::lgamma(x);
}
// The recurrence up to 16, then the asymptotic series in Bernoulli numbers; below 0 the reflection formula.
template <typename T>
T LibraryDigamma(T x) {
  if (std::isnan(x) || x == -std::numeric_limits<T>::infinity()) return std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(x)) return x;
  if (x <= 0) {
    const T fraction = x - std::nearbyint(x);
    if (fraction == 0) return std::numeric_limits<T>::quiet_NaN();
    const T pi = static_cast<T>(3.14159265358979323846264338327950288L);
    return LibraryDigamma(1 - x) - pi / std::tan(pi * fraction);
  }
  T sum = 0;
  for (; x < 16; x += 1) sum -= 1 / x;
  const T z = 1 / (x * x);
  const T series =
      z *
      (T(1) / 12 -
       z * (T(1) / 120 -
            z * (T(1) / 252 -
                 z * (T(1) / 240 - z * (T(1) / 132 - z * (T(691) / 32760 - z * (T(1) / 12 - z * T(3617) / 8160)))))));
  return sum + (std::log(x) - T(0.5) / x - series);
}
// Halley steps on erf, or on erfc where 1 - |y| keeps more, from a rough rational guess.
template <typename T>
T LibraryErfInv(T y) {
  const T m = std::fabs(y);
  if (!(m < 1))
    return m == 1 ? std::copysign(std::numeric_limits<T>::infinity(), y) : std::numeric_limits<T>::quiet_NaN();
  if (m == 0) return y;
  const T root_pi = static_cast<T>(1.77245385090551602729816748334114518L);
  if (m < T(1e-7)) return y * (root_pi / 2) * (1 + root_pi * root_pi / 12 * m * m);
  // Winitzki's approximation, 2 parts in a thousand.
  const T l = std::log1p(-m * m), a = T(0.147), b = 2 / (T(3.14159265358979L) * a) + l / 2;
  T x = std::sqrt(std::sqrt(b * b - l / a) - b);
  for (int i = 0; i < 4; ++i) {
    const T f = m < T(0.5) ? std::erf(x) - m : (1 - m) - std::erfc(x);
    const T step = f * (root_pi / 2) * std::exp(x * x);
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}
// Newton steps in MPFR from the long double value.
inline int MpfrErfInv(mpfr_ptr r, mpfr_srcptr y, mpfr_rnd_t mode) {
  const long double start = LibraryErfInv(mpfr_get_ld(y, MPFR_RNDN));
  mpfr_set_ld(r, start, mode);
  if (start == 0 || !std::isfinite(start)) return 0;
  const int bits = static_cast<int>(mpfr_get_prec(r)) + 64;
  Number x(bits), f(bits), slope(bits), rest(bits);
  mpfr_set_ld(x.value, start, mode);
  mpfr_ui_sub(rest.value, 1, y, mode);
  const bool upper = start > 0.5L;
  for (int i = 0; i < 3; ++i) {
    if (upper) {
      mpfr_erfc(f.value, x.value, mode);
      mpfr_sub(f.value, rest.value, f.value, mode);
    } else {
      mpfr_erf(f.value, x.value, mode);
      mpfr_sub(f.value, f.value, y, mode);
    }
    mpfr_sqr(slope.value, x.value, mode);
    mpfr_exp(slope.value, slope.value, mode);
    mpfr_mul(f.value, f.value, slope.value, mode);
    mpfr_const_pi(slope.value, mode);
    mpfr_sqrt(slope.value, slope.value, mode);
    mpfr_mul(f.value, f.value, slope.value, mode);
    mpfr_div_ui(f.value, f.value, 2, mode);
    mpfr_sub(x.value, x.value, f.value, mode);
  }
  return mpfr_set(r, x.value, mode);
}

}  // namespace VXLA_NAMESPACE
