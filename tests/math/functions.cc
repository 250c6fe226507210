#include "tests/math/functions.h"

namespace VXLA_NAMESPACE {
namespace {

namespace sm = shader_math;

template <typename T>
T Negated(T x) {
  return -x;
}
template <typename T>
T Larger(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
}
template <typename T>
T Smaller(T x, T y) {
  return -Larger(-x, -y);
}
template <typename T>
T Sum(T x, T y) {
  return x + y;
}
template <typename T>
T Difference(T x, T y) {
  return x - y;
}
template <typename T>
T Product(T x, T y) {
  return x * y;
}
template <typename T>
T Quotient(T x, T y) {
  return x / y;
}
int MpfrLarger(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
    mpfr_set_nan(r);
    return 0;
  }
  if (mpfr_zero_p(x) && mpfr_zero_p(y)) return mpfr_set(r, mpfr_signbit(x) ? y : x, mode);
  return mpfr_max(r, x, y, mode);
}
int MpfrSmaller(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t mode) {
  if (mpfr_nan_p(x) || mpfr_nan_p(y)) {
    mpfr_set_nan(r);
    return 0;
  }
  if (mpfr_zero_p(x) && mpfr_zero_p(y)) return mpfr_set(r, mpfr_signbit(x) ? x : y, mode);
  return mpfr_min(r, x, y, mode);
}

#define ROW(name, library, exact) \
  { #name, sm::name##_f32, sm::name##_f64, library, library, exact }
#define ROW16(name, library, exact) \
  { #name, sm::name##_f32, sm::name##_f64, library, library, exact, sm::name##_f16 }

#define ROWODD(name, library, exact) \
  { #name, sm::name##_f32, sm::name##_f64, library, library, exact, sm::name##_f32_odd }

const UnaryFunction kUnary[] = {
    ROW16(exponential, std::exp, mpfr_exp),
    ROW16(exp2, std::exp2, mpfr_exp2),
    ROW16(exponential_minus_one, std::expm1, mpfr_expm1),
    ROW16(log, std::log, mpfr_log),
    ROW(log2, std::log2, mpfr_log2),
    ROW16(log_plus_one, std::log1p, mpfr_log1p),
    ROW16(logistic, LibraryLogistic, MpfrLogistic),
    ROW(tanh, std::tanh, mpfr_tanh),
    ROW16(sinh, std::sinh, mpfr_sinh),
    ROW16(cosh, std::cosh, mpfr_cosh),
    ROW16(asinh, std::asinh, mpfr_asinh),
    ROW16(acosh, std::acosh, mpfr_acosh),
    ROW(atanh, std::atanh, mpfr_atanh),
    ROW16(sine, std::sin, mpfr_sin),
    ROW16(cosine, std::cos, mpfr_cos),
    ROW16(tan, std::tan, mpfr_tan),
    ROW(asin, std::asin, mpfr_asin),
    ROW16(acos, std::acos, mpfr_acos),
    ROW16(atan, std::atan, mpfr_atan),
    ROW16(erf, std::erf, mpfr_erf),
    ROW16(erfc, std::erfc, mpfr_erfc),
    ROW16(erf_inv, LibraryErfInv, MpfrErfInv),
    ROW16(lgamma, LibraryLgamma, MpfrLgamma),
    ROW16(digamma, LibraryDigamma, MpfrDigamma),
    ROW(rsqrt, LibraryRsqrt, MpfrRsqrt),
    ROW16(cbrt, std::cbrt, mpfr_cbrt),
    ROW(sqrt, std::sqrt, mpfr_sqrt),
    ROW(floor, std::floor, MpfrFloor),
    ROW(ceil, std::ceil, MpfrCeil),
    ROW(truncate, std::trunc, MpfrTruncate),
    ROW(round_nearest_even, std::nearbyint, mpfr_rint),
    ROW(round_nearest_afz, std::round, MpfrRoundAfz),
    ROW(sign, LibrarySign, MpfrSign),
    ROW(abs, std::fabs, mpfr_abs),
    ROW(negate, Negated, mpfr_neg),
};

const BinaryFunction kBinary[] = {
    ROWODD(power, std::pow, mpfr_pow),
    ROWODD(atan2, std::atan2, mpfr_atan2),
    ROWODD(hypot, std::hypot, mpfr_hypot),
    ROW(remainder, std::fmod, mpfr_fmod),
    ROW(maximum, Larger, MpfrLarger),
    ROW(minimum, Smaller, MpfrSmaller),
    ROW(add, Sum, mpfr_add),
    ROW(subtract, Difference, mpfr_sub),
    ROW(multiply, Product, mpfr_mul),
    ROW(divide, Quotient, mpfr_div),
};
#undef ROW
#undef ROW16
#undef ROWODD

}  // namespace

std::span<const UnaryFunction> UnaryFunctions() { return kUnary; }
std::span<const BinaryFunction> BinaryFunctions() { return kBinary; }

std::span<const NarrowFormat> NarrowFormats() {
  static constexpr NarrowFormat kFormats[] = {
      {ElementType::kF16, sm::round_f16},
      {ElementType::kBF16, sm::round_bf16},
      {ElementType::kF8E5M2, sm::round_f8e5m2},
      {ElementType::kF8E4M3, sm::round_f8e4m3},
      {ElementType::kF8E4M3FN, sm::round_f8e4m3fn},
      {ElementType::kF8E3M4, sm::round_f8e3m4},
      {ElementType::kF8E4M3B11FNUZ, sm::round_f8e4m3b11fnuz},
      {ElementType::kF8E4M3FNUZ, sm::round_f8e4m3fnuz},
      {ElementType::kF8E5M2FNUZ, sm::round_f8e5m2fnuz},
      {ElementType::kF8E8M0FNU, sm::round_f8e8m0fnu},
      {ElementType::kF4E2M1FN, sm::round_f4e2m1fn},
      {ElementType::kF6E2M3FN, sm::round_f6e2m3fn},
      {ElementType::kF6E3M2FN, sm::round_f6e3m2fn},
  };
  return kFormats;
}

}  // namespace VXLA_NAMESPACE
