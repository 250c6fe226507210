// Complex numbers of many bits and the functions of them, by formulas over MPFR's real functions that lose no
// component.
#pragma once

#include "tests/math/exact.h"

namespace VXLA_NAMESPACE {

// A number of Real::bits bits with the operations that the formulas below are written in.
class Real {
 public:
  Real(double x = 0) : n_(bits) { mpfr_set_d(n_.value, x, MPFR_RNDN); }  // NOLINT(google-explicit-constructor)
  Real(const Real& other) : n_(bits) { mpfr_set(n_.value, other.n_.value, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(n_.value, other.n_.value, MPFR_RNDN);
    return *this;
  }
  template <int (*Function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
  static Real Of(const Real& a) {
    Real r;
    Function(r.n_.value, a.n_.value, MPFR_RNDN);
    return r;
  }
  template <int (*Function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)>
  static Real Of(const Real& a, const Real& b) {
    Real r;
    Function(r.n_.value, a.n_.value, b.n_.value, MPFR_RNDN);
    return r;
  }
  friend Real operator+(const Real& a, const Real& b) { return Of<mpfr_add>(a, b); }
  friend Real operator-(const Real& a, const Real& b) { return Of<mpfr_sub>(a, b); }
  friend Real operator*(const Real& a, const Real& b) { return Of<mpfr_mul>(a, b); }
  friend Real operator/(const Real& a, const Real& b) { return Of<mpfr_div>(a, b); }
  Real operator-() const { return Of<mpfr_neg>(*this); }
  bool IsNan() const { return mpfr_nan_p(n_.value) != 0; }
  bool IsInf() const { return mpfr_inf_p(n_.value) != 0; }
  bool IsFinite() const { return mpfr_number_p(n_.value) != 0; }
  bool IsZero() const { return mpfr_zero_p(n_.value) != 0; }
  bool IsNegative() const { return mpfr_signbit(n_.value) != 0; }
  double Value() const { return mpfr_get_d(n_.value, MPFR_RNDN); }
  const Number& number() const { return n_; }

  inline static int bits = 320;  // of numbers made from now on

 private:
  Number n_;
};

inline Real Exp(const Real& a) { return Real::Of<mpfr_exp>(a); }
inline Real Sin(const Real& a) { return Real::Of<mpfr_sin>(a); }
inline Real Cos(const Real& a) { return Real::Of<mpfr_cos>(a); }
inline Real Sqrt(const Real& a) { return Real::Of<mpfr_sqrt>(a); }
inline Real Hypot(const Real& a, const Real& b) { return Real::Of<mpfr_hypot>(a, b); }

struct Z {
  Real x, y;
  friend Z operator+(const Z& a, const Z& b) { return {a.x + b.x, a.y + b.y}; }
  friend Z operator-(const Z& a, const Z& b) { return {a.x - b.x, a.y - b.y}; }
  friend Z operator*(const Z& a, const Z& b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
  friend Z operator/(const Z& a, const Z& b) {
    const Real d = b.x * b.x + b.y * b.y;
    return {(a.x * b.x + a.y * b.y) / d, (a.y * b.x - a.x * b.y) / d};
  }
  Z operator-() const { return {-x, -y}; }
};

inline const Z kUnit = {1, 0};
inline Z TimesI(const Z& a) { return {-a.y, a.x}; }
inline Z ZExp(const Z& a) { return {Exp(a.x) * Cos(a.y), Exp(a.x) * Sin(a.y)}; }
inline Z ZLog(const Z& a) { return {Real::Of<mpfr_log>(Hypot(a.x, a.y)), Real::Of<mpfr_atan2>(a.y, a.x)}; }
inline Z ZSqrt(const Z& a) {
  const Real t = Sqrt((Real::Of<mpfr_abs>(a.x) + Hypot(a.x, a.y)) / 2), s = a.y / (t + t);
  if (!a.x.IsNegative()) return {t, s};
  return {Real::Of<mpfr_abs>(s), Real::Of<mpfr_copysign>(t, a.y)};
}
inline Z ZSinh(const Z& a) { return {Real::Of<mpfr_sinh>(a.x) * Cos(a.y), Real::Of<mpfr_cosh>(a.x) * Sin(a.y)}; }
inline Z ZCosh(const Z& a) { return {Real::Of<mpfr_cosh>(a.x) * Cos(a.y), Real::Of<mpfr_sinh>(a.x) * Sin(a.y)}; }
// Through sums of squares: sinh / cosh loses the imaginary part far out.
inline Z ZTanh(const Z& a) {
  const Real s = Real::Of<mpfr_sinh>(a.x), d = s * s + Cos(a.y) * Cos(a.y);
  return {s * Real::Of<mpfr_cosh>(a.x) / d, Sin(a.y) * Cos(a.y) / d};
}
inline Z ZAsinh(const Z& a) {
  // Odd, so that the sum has no cancellation.
  if (a.x.IsNegative()) return -ZAsinh(-a);
  return ZLog(a + ZSqrt(a * a + kUnit));
}
inline Z ZAsin(const Z& a) { return -TimesI(ZAsinh(TimesI(a))); }
inline Z ZAcosh(const Z& a) { return ZLog(a + ZSqrt(a + kUnit) * ZSqrt(a - kUnit)); }
inline Z ZAtanh(const Z& a) {
  const Z d = ZLog(kUnit + a) - ZLog(kUnit - a);
  return {d.x / 2, d.y / 2};
}

}  // namespace VXLA_NAMESPACE
