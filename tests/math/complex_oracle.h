// What the complex functions should give at any pair of components: finite ones from MPFR with so many digits that
// nothing is lost beside the largest and the least numbers, infinities and NaN from C99 Annex G, or from the rule that
// docs/reference/accuracy.md states where that has none.
#pragma once

#include <string_view>

#include "tests/math/exact_complex.h"

namespace VXLA_NAMESPACE::complex_oracle {

// A component of which the sign is free is a zero or an infinity whose sign the standard leaves open.
struct Expected {
  Real x, y;
  bool x_free = false, y_free = false;
};

inline Real Inf() { return HUGE_VAL; }
inline Real Nan() { return std::nan(""); }
inline Real Signed(const Real& size, const Real& sign) { return Real::Of<mpfr_copysign>(size, sign); }
inline Real Half(const Real& a) { return a / 2; }
inline Real Pi() { return Real::Of<mpfr_atan>(1) * 4; }
inline Expected Neither() { return {Nan(), Nan()}; }
// Beyond this any exponential is out of each format's range; MPFR's own exponents end later.
inline Real Clamped(const Real& x) { return Real::Of<mpfr_abs>(x).Value() > 1e6 ? Signed(1e6, x) : x; }

inline Z RootOf(const Real& x, const Real& y) { return x.IsZero() && y.IsZero() ? Z{0, y} : ZSqrt({x, y}); }

// Each function below is given y >= +0, and x >= +0 where it is odd or even; the rest is symmetry.

inline Expected ExpOf(const Real& x, const Real& y) {
  if (y.IsFinite() && !y.IsZero()) {
    if (x.IsNan()) return Neither();
    const Real size = x.IsInf() ? (x.IsNegative() ? Real(0) : Inf()) : Exp(Clamped(x));
    return {x.IsInf() ? Signed(size, Cos(y)) : size * Cos(y), x.IsInf() ? Signed(size, Sin(y)) : size * Sin(y)};
  }
  if (y.IsZero())
    return {x.IsNan()                  ? Nan()
            : Exp(Clamped(x)).IsZero() ? Real(0)
            : x.IsInf()                ? (x.IsNegative() ? Real(0) : Inf())
                                       : Exp(Clamped(x)),
            y};
  if (!x.IsInf()) return Neither();
  return x.IsNegative() ? Expected{0, 0, true, true} : Expected{Inf(), Nan(), true};
}

inline Expected Expm1Of(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsZero()) return {Real::Of<mpfr_expm1>(Clamped(x)), y};
  if (!x.IsFinite() || !y.IsFinite()) {
    Expected e = ExpOf(x, y);
    if (x.IsInf() && x.IsNegative()) e.x = -1, e.x_free = false;
    return e;
  }
  const Real s = Sin(Half(y));
  return {Real::Of<mpfr_expm1>(Clamped(x)) * Cos(y) - s * s * 2, Exp(Clamped(x)) * Sin(y)};
}

inline Expected LogOf(const Real& x, const Real& y) {
  const Real angle = Real::Of<mpfr_atan2>(y, x);
  if (x.IsInf() || y.IsInf()) return {Inf(), angle};
  if (x.IsNan() || y.IsNan()) return Neither();
  return {Real::Of<mpfr_log>(Hypot(x, y)), angle};
}

inline Expected Log1pOf(const Real& x, const Real& y) {
  if (y.IsZero() && x.IsFinite() && !(x + 1).IsNegative()) return {Real::Of<mpfr_log1p>(x), y};
  return LogOf(x + 1, y);
}

inline Expected SqrtOf(const Real& x, const Real& y) {
  if (y.IsInf()) return {Inf(), Inf()};
  if (x.IsInf()) {
    if (!x.IsNegative()) return {Inf(), y.IsNan() ? y : Real(0)};
    return y.IsNan() ? Expected{Nan(), Inf(), false, true} : Expected{0, Inf()};
  }
  if (x.IsNan() || y.IsNan()) return Neither();
  const Z root = RootOf(x, y);
  return {root.x, root.y};
}

// 1 / sqrt(z).
inline Expected RsqrtOf(const Real& x, const Real& y) {
  if (x.IsInf() || y.IsInf()) return {0, -0.0, false, y.IsNan()};
  if (x.IsNan() || y.IsNan()) return Neither();
  if (x.IsZero() && y.IsZero()) return {Inf(), Nan()};
  const Z root = ZSqrt({x, y});
  const Real size = Hypot(x, y);
  return {root.x / size, -root.y / size};
}

// |z|^(1/3) at a third of the angle.
inline Expected CbrtOf(const Real& x, const Real& y) {
  if (x.IsZero() && y.IsZero()) return {0, 0, true};
  const Real third = Real::Of<mpfr_atan2>(y, x) / 3;
  if (x.IsInf() || y.IsInf()) {
    if (third.IsNan()) return {Inf(), Nan(), true};
    return {Inf(), third.IsZero() ? third : Inf()};
  }
  if (x.IsNan() || y.IsNan()) return Neither();
  const Real size = Real::Of<mpfr_cbrt>(Hypot(x, y));
  return {size * Cos(third), size * Sin(third)};
}

inline Expected SinhOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    const Real c = Clamped(x);
    return {Real::Of<mpfr_sinh>(c) * Cos(y), Real::Of<mpfr_cosh>(c) * Sin(y)};
  }
  if (x.IsZero()) return {0, Nan(), true};
  if (x.IsInf() && y.IsFinite()) return {Signed(Inf(), Cos(y)), y.IsZero() ? y : Signed(Inf(), Sin(y))};
  if (x.IsInf()) return {Inf(), Nan(), true};
  return {Nan(), y.IsZero() ? y : Nan()};
}

inline Expected CoshOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    const Real c = Clamped(x);
    return {Real::Of<mpfr_cosh>(c) * Cos(y), Real::Of<mpfr_sinh>(c) * Sin(y)};
  }
  if (x.IsZero()) return {Nan(), 0, false, true};
  if (x.IsInf() && y.IsFinite()) return {Signed(Inf(), Cos(y)), y.IsZero() ? y : Signed(Inf(), Sin(y))};
  if (x.IsInf()) return {Inf(), Nan(), y.IsInf()};
  return {Nan(), y.IsZero() ? y : Nan(), false, true};
}

inline Expected TanhOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    const Real c = Clamped(x), s = Real::Of<mpfr_sinh>(c), t = Cos(y), d = s * s + t * t;
    return {s * Real::Of<mpfr_cosh>(c) / d, Sin(y) * t / d};
  }
  if (x.IsInf())
    return y.IsFinite() ? Expected{1, y.IsZero() ? y : Signed(0, Sin(y) * Cos(y))} : Expected{1, 0, false, true};
  if (x.IsNan()) return {x, y.IsZero() ? y : Nan()};
  return {x.IsZero() ? x : Nan(), Nan()};
}

inline Expected AsinhOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    if (x.IsZero() && y.IsZero()) return {x, y};
    const Z sum = Z{x, y} + RootOf(x * x - y * y + 1, x * y * 2);
    const Real re = Real::Of<mpfr_log>(Hypot(sum.x, sum.y));
    // On the imaginary axis up to i the sum is of length 1, the root's last digit notwithstanding.
    return {x.IsZero() && y.Value() <= 1 ? x : re, Real::Of<mpfr_atan2>(sum.y, sum.x)};
  }
  if (x.IsInf()) return {x, y.IsNan() ? y : y.IsInf() ? Pi() / 4 : Real(0)};
  if (y.IsInf()) return x.IsNan() ? Expected{Inf(), Nan(), true} : Expected{Inf(), Pi() / 2};
  return {Nan(), x.IsNan() && y.IsZero() ? y : Nan()};
}

inline Expected AtanhOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    const Real left = Real(1) - x;
    return {Real::Of<mpfr_log1p>(x.IsZero() ? x : x * 4 / (left * left + y * y)) / 4,
            Real::Of<mpfr_atan2>(y * 2, left * (x + 1) - y * y) / 2};
  }
  if (y.IsInf()) return {0, Pi() / 2, x.IsNan()};
  if (x.IsInf()) return {0, y.IsNan() ? y : Pi() / 2};
  return {x.IsZero() ? x : Nan(), Nan()};
}

// Kahan's, in which no sum cancels.
inline Expected AcosOf(const Real& x, const Real& y) {
  if (x.IsFinite() && y.IsFinite()) {
    const Z p = RootOf(Real(1) - x, -y), q = RootOf(x + 1, y);
    return {Real::Of<mpfr_atan2>(p.x, q.x) * 2, Real::Of<mpfr_asinh>(q.x * p.y - q.y * p.x)};
  }
  if (y.IsInf()) return {x.IsNan() ? x : x.IsInf() ? Pi() / 4 * (x.IsNegative() ? 3 : 1) : Pi() / 2, -Inf()};
  if (x.IsInf()) {
    if (y.IsNan()) return {Nan(), Inf(), false, true};
    return {x.IsNegative() ? Pi() : Real(0), -Inf()};
  }
  return {x.IsZero() ? Pi() / 2 : Nan(), Nan()};
}

// i acos(z) or -i acos(z), whichever has a real part that is not negative.
inline Expected AcoshOf(const Real& x, const Real& y) {
  const Expected a = AcosOf(x, y);
  if (y.IsNan() && x.IsZero()) return {Nan(), a.x, false, true};
  return {Real::Of<mpfr_abs>(a.y), a.x};
}

// 1 / (1 + e^-z).
inline Expected LogisticOf(const Real& x, const Real& y) {
  if (x.IsNan() || (!x.IsInf() && !y.IsFinite())) return Neither();
  const bool left = x.IsNegative();
  if (x.IsInf() && !y.IsFinite()) return {left ? 0 : 1, 0, left, true};
  const Real sine = y.IsZero() ? y : Sin(y);
  if (x.IsInf()) return {left ? Signed(0, Cos(y)) : Real(1), Signed(0, sine)};
  const Real u = Exp(left ? Clamped(x) : -Clamped(x)), uc = u * Cos(y), us = u * sine;
  const Real d = (uc + 1) * (uc + 1) + us * us;
  return {(left ? uc + u * u : uc + 1) / d, us / d};
}

// z / |z|: beside an infinity what is finite gives 0.
inline Expected SignOf(const Real& x, const Real& y) {
  if (x.IsZero() && y.IsZero()) return {x, y};
  const Real size = Hypot(x, y);
  return {x / size, y / size};
}

inline Expected SquareOf(const Real& x, const Real& y) {
  const Real product = x * y;
  return {(x - y) * (x + y), product + product};
}

enum class Symmetry { kConjugate, kOdd, kEven };

struct Function {
  std::string_view name;  // CHLO's, where StableHLO has none; otherwise StableHLO's
  Symmetry symmetry;
  Expected (*value)(const Real& x, const Real& y);
  bool turned = false;  // of i z, divided by i where odd: sine and its kind
};

inline const Function kFunctions[] = {
    {"exponential", Symmetry::kConjugate, ExpOf},
    {"exponential_minus_one", Symmetry::kConjugate, Expm1Of},
    {"log", Symmetry::kConjugate, LogOf},
    {"log_plus_one", Symmetry::kConjugate, Log1pOf},
    {"logistic", Symmetry::kConjugate, LogisticOf},
    {"sqrt", Symmetry::kConjugate, SqrtOf},
    {"rsqrt", Symmetry::kConjugate, RsqrtOf},
    {"cbrt", Symmetry::kConjugate, CbrtOf},
    {"sign", Symmetry::kOdd, SignOf},
    {"tanh", Symmetry::kOdd, TanhOf},
    {"sine", Symmetry::kOdd, SinhOf, true},
    {"cosine", Symmetry::kEven, CoshOf, true},
    {"tan", Symmetry::kOdd, TanhOf, true},
    {"sinh", Symmetry::kOdd, SinhOf},
    {"cosh", Symmetry::kEven, CoshOf},
    {"asin", Symmetry::kOdd, AsinhOf, true},
    {"acos", Symmetry::kConjugate, AcosOf},
    {"atan", Symmetry::kOdd, AtanhOf, true},
    {"asinh", Symmetry::kOdd, AsinhOf},
    {"acosh", Symmetry::kConjugate, AcoshOf},
    {"atanh", Symmetry::kOdd, AtanhOf},
    {"square", Symmetry::kEven, SquareOf},
};

// By the symmetries, which hold for zeros of either sign, NaN having none.
inline Expected ValueOf(const Function& function, double x, double y) {
  if (function.value == SignOf && x == 0 && y == 0) return {0, 0};  // of either zero, as the specification has it
  // i z = -y + i x; sine = -i sinh(i z), so the parts change places and no sign is left: all is odd in each.
  if (function.turned) std::swap(x, y);
  const bool x_sign = std::signbit(x) && function.symmetry != Symmetry::kConjugate, y_sign = std::signbit(y);
  Expected e = function.value(x_sign ? -x : x, y_sign ? -y : y);
  const bool even = function.symmetry == Symmetry::kEven;
  if (x_sign && !even) e.x = -e.x;
  if (even ? x_sign != y_sign : y_sign) e.y = -e.y;
  if (!function.turned) return e;
  if (even) return {e.x, -e.y, e.x_free, e.y_free};
  return {e.y, e.x, e.y_free, e.x_free};
}

// ---- of two arguments

// z / w of finite numbers, w not 0.
inline Expected QuotientOf(const Z& z, const Z& w) {
  const Z q = z / w;
  return {q.x, q.y, q.x.IsZero(), q.y.IsZero()};
}

// Annex G's rules (G.5.1) where a part is infinite or NaN, or w is 0: an infinity over a number is one, a number over
// an infinity 0, anything but 0 over 0 infinite, all else NaN. Parts as its program has them, without the divisor's
// square; a NaN beside an infinite part of w has no sign, nor then what it decides.
inline Expected SpecialQuotientOf(const Z& z, const Z& w) {
  const bool z_finite = z.x.IsFinite() && z.y.IsFinite(), w_finite = w.x.IsFinite() && w.y.IsFinite();
  const auto boxed = [](const Real& x) { return Signed(x.IsInf() ? 1 : 0, x); };
  const auto parts = [](const Z& a, const Z& b) { return Z{a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y}; };
  if (w.x.IsZero() && w.y.IsZero()) return {Signed(Inf(), w.x) * z.x, Signed(Inf(), w.x) * z.y};
  if ((z.x.IsInf() || z.y.IsInf()) && w_finite) {
    const Z plain = parts(z, w), infinities = parts({boxed(z.x), boxed(z.y)}, w);
    if (!plain.x.IsNan() || !plain.y.IsNan()) return {plain.x, plain.y};
    return {Inf() * infinities.x, Inf() * infinities.y};
  }
  if ((w.x.IsInf() || w.y.IsInf()) && z_finite) {
    const Z q = parts(z, {boxed(w.x), boxed(w.y)});
    const bool nan = w.x.IsNan() || w.y.IsNan();
    return {Real(0) * q.x, Real(0) * q.y, nan, nan};
  }
  return Neither();
}

// w log z, by the plain product where a part is infinite or NaN. An infinite w meets log z as the type has it, 0
// below half of its least number.
inline Z PhaseOf(const Z& z, const Z& w, double least) {
  Real size = Real::Of<mpfr_log>(Hypot(z.x, z.y));
  Real angle = Real::Of<mpfr_atan2>(z.y, z.x);
  if (!w.x.IsFinite() || !w.y.IsFinite()) {
    if (2 * std::fabs(size.Value()) < least) size = Signed(0, size);
    if (2 * std::fabs(angle.Value()) < least) angle = Signed(0, angle);
  }
  return {w.x * size - w.y * angle, w.x * angle + w.y * size};
}

// e^(w log z); 1 where w is 0, and of z = 0: 0, NaN, or infinite at no angle, by the sign of Re w.
inline Expected PowerOf(const Z& z, const Z& w, double least) {
  if (w.x.IsZero() && w.y.IsZero()) return {1, 0, false, true};
  if (z.x.IsNan() || z.y.IsNan() || w.x.IsNan() || w.y.IsNan()) return Neither();
  if (z.x.IsZero() && z.y.IsZero()) {
    if (w.y.IsInf() || w.x.IsZero()) return Neither();
    return w.x.IsNegative() ? Expected{Inf(), Nan()} : Expected{0, 0, true, true};
  }
  const Z phase = PhaseOf(z, w, least);
  Expected e = ExpOf(phase.x, Real::Of<mpfr_abs>(phase.y));
  if (phase.y.IsNegative()) e.y = -e.y;
  return e;
}

// -i log((x + i y) / sqrt(x^2 + y^2)) of finite numbers.
inline Expected Atan2Of(const Z& y, const Z& x) {
  const Z squares = x * x + y * y, root = RootOf(squares.x, squares.y);
  const Z n = {x.x - y.y, x.y + y.x};
  if (root.x.IsZero() && root.y.IsZero()) return Neither();
  const Z l = ZLog(n / root);
  return {l.y, -l.x, true, true};
}

}  // namespace VXLA_NAMESPACE::complex_oracle
