#include "tests/math_exhaustive/batches.h"

#include <bit>
#include <glm/vec2.hpp>

#include "backend/cpu/twin/shader_math.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wattributes"

// The C library's vector versions are called from loops once the compiler knows that they exist; glibc declares them
// for -ffast-math only, which would change our own arithmetic.
#if defined(__x86_64__) && defined(__GLIBC__)
#define VECTOR_LIBRARY(name) extern "C" double name(double) noexcept __attribute__((__simd__("notinbranch")));
#define VECTOR_LIBRARY2(name) extern "C" double name(double, double) noexcept __attribute__((__simd__("notinbranch")));
VECTOR_LIBRARY(exp)
VECTOR_LIBRARY(exp2)
VECTOR_LIBRARY(expm1)
VECTOR_LIBRARY(log)
VECTOR_LIBRARY(log2)
VECTOR_LIBRARY(log1p)
VECTOR_LIBRARY(sin)
VECTOR_LIBRARY(cos)
VECTOR_LIBRARY(tan)
VECTOR_LIBRARY(sinh)
VECTOR_LIBRARY(cosh)
VECTOR_LIBRARY(tanh)
VECTOR_LIBRARY(asin)
VECTOR_LIBRARY(acos)
VECTOR_LIBRARY(atan)
VECTOR_LIBRARY(asinh)
VECTOR_LIBRARY(acosh)
VECTOR_LIBRARY(atanh)
VECTOR_LIBRARY(cbrt)
VECTOR_LIBRARY(erf)
VECTOR_LIBRARY(erfc)
VECTOR_LIBRARY2(pow)
VECTOR_LIBRARY2(atan2)
VECTOR_LIBRARY2(hypot)
#undef VECTOR_LIBRARY
#undef VECTOR_LIBRARY2
#define CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define CLONES
#endif

namespace VXLA_NAMESPACE::exhaustive {
namespace text {

using uint = uint32_t;
using glm::uvec2;
using glm::vec2;
using std::max;
using std::min;

static inline __attribute__((always_inline)) uint floatBitsToUint(float x) { return std::bit_cast<uint>(x); }
static inline __attribute__((always_inline)) int floatBitsToInt(float x) { return std::bit_cast<int>(x); }
static inline __attribute__((always_inline)) float uintBitsToFloat(uint x) { return std::bit_cast<float>(x); }
static inline __attribute__((always_inline)) int findMSB(uint x) { return x == 0 ? -1 : 31 - __builtin_clz(x); }
static inline __attribute__((always_inline)) void umulExtended(uint a, uint b, uint& high, uint& low) {
  const uint64_t p = uint64_t{a} * b;
  high = static_cast<uint>(p >> 32);
  low = static_cast<uint>(p);
}
static inline __attribute__((always_inline)) float sqrt(float x) { return __builtin_sqrtf(x); }
static inline __attribute__((always_inline)) float floor(float x) { return __builtin_floorf(x); }

// clang-format off
// NOLINTBEGIN(bugprone-suspicious-include)
#include "shaders/include/math/prelude.glsl"
#undef FN
#define FN static inline __attribute__((always_inline))
#include "shaders/include/math/f32.glsl"
#include "shaders/include/math/f32_exp_log.glsl"
#include "shaders/include/math/f32_trig.glsl"
#include "shaders/include/math/f32_special.glsl"
#include "shaders/include/math/f32_gamma.glsl"
// NOLINTEND
// clang-format on

}  // namespace text

namespace {

// Ours_<name> and Oracle_<name>.
#define OURS(name)                                                       \
  CLONES void Ours_##name(const float* x, const float*, float* result) { \
    for (int i = 0; i < kBlock; ++i) result[i] = text::name##_f32(x[i]); \
  }
#define ORACLE(name, expression)                                               \
  CLONES void Oracle_##name(const float* from, const float*, double* result) { \
    for (int i = 0; i < kBlock; ++i) {                                         \
      const double x = from[i];                                                \
      result[i] = expression;                                                  \
    }                                                                          \
  }
#define BOTH(name, expression) OURS(name) ORACLE(name, expression)
#define BOTH2(name, expression)                                                \
  CLONES void Ours_##name(const float* x, const float* y, float* result) {     \
    for (int i = 0; i < kBlock; ++i) result[i] = text::name##_f32(x[i], y[i]); \
  }                                                                            \
  CLONES void Oracle_##name(const float* a, const float* b, double* result) {  \
    for (int i = 0; i < kBlock; ++i) {                                         \
      const double x = a[i], y = b[i];                                         \
      result[i] = expression;                                                  \
    }                                                                          \
  }

BOTH(exponential, ::exp(x))
BOTH(exponential_minus_one, ::expm1(x))
BOTH(log, ::log(x))
BOTH(log_plus_one, ::log1p(x))
// e^-|x| never overflows.
BOTH(logistic, (x < 0 ? ::exp(x < 0 ? x : -x) : 1.0) / (1 + ::exp(x < 0 ? x : -x)))
BOTH(sine, ::sin(x))
BOTH(cosine, ::cos(x))
BOTH(tan, ::tan(x))
BOTH(sinh, ::sinh(x))
BOTH(cosh, ::cosh(x))
BOTH(tanh, ::tanh(x))
BOTH(asin, ::asin(x))
BOTH(acos, ::acos(x))
BOTH(atan, ::atan(x))
BOTH(asinh, ::asinh(x))
BOTH(acosh, ::acosh(x))
BOTH(atanh, ::atanh(x))
BOTH(sqrt, __builtin_sqrt(x))
BOTH(rsqrt, 1 / __builtin_sqrt(x))
BOTH(cbrt, ::cbrt(x))
BOTH(erf, ::erf(x))
BOTH(exp2, ::exp2(x))
BOTH(log2, ::log2(x))
BOTH(erfc, ::erfc(x))
BOTH(erf_inv, LibraryErfInv(x))
BOTH(lgamma, LibraryLgamma(x))
BOTH(digamma, LibraryDigamma(static_cast<long double>(x)))
BOTH2(power, ::pow(x, y))
BOTH2(atan2, ::atan2(x, y))
BOTH2(hypot, ::hypot(x, y))
BOTH2(divide, x / y)
BOTH(corrected_sqrt, __builtin_sqrt(x))
BOTH2(corrected_divide, x / y)

#define UNARY(name, exact, symmetry) \
  { #name, #name, Ours_##name, Oracle_##name, shader_math::name##_f32, nullptr, exact, nullptr, Symmetry::symmetry }
#define BINARY(name, row, exact) \
  { #name, #row, Ours_##name, Oracle_##name, nullptr, shader_math::name##_f32, nullptr, exact, Symmetry::kNone }

const Batch kBatches[] = {
    UNARY(exponential, mpfr_exp, kNone),
    UNARY(exponential_minus_one, mpfr_expm1, kNone),
    UNARY(log, mpfr_log, kNone),
    UNARY(log_plus_one, mpfr_log1p, kNone),
    UNARY(logistic, MpfrLogistic, kNone),
    UNARY(sine, mpfr_sin, kOdd),
    UNARY(cosine, mpfr_cos, kEven),
    UNARY(tan, mpfr_tan, kOdd),
    UNARY(sinh, mpfr_sinh, kOdd),
    UNARY(cosh, mpfr_cosh, kEven),
    UNARY(tanh, mpfr_tanh, kOdd),
    UNARY(asin, mpfr_asin, kOdd),
    UNARY(acos, mpfr_acos, kNone),
    UNARY(atan, mpfr_atan, kOdd),
    UNARY(asinh, mpfr_asinh, kOdd),
    UNARY(acosh, mpfr_acosh, kNone),
    UNARY(atanh, mpfr_atanh, kOdd),
    UNARY(sqrt, mpfr_sqrt, kNone),
    UNARY(rsqrt, MpfrRsqrt, kNone),
    UNARY(cbrt, mpfr_cbrt, kOdd),
    UNARY(erf, mpfr_erf, kOdd),
    UNARY(exp2, mpfr_exp2, kNone),
    UNARY(log2, mpfr_log2, kNone),
    UNARY(erfc, mpfr_erfc, kNone),
    UNARY(erf_inv, MpfrErfInv, kOdd),
    UNARY(lgamma, MpfrLgamma, kNone),
    UNARY(digamma, MpfrDigamma, kNone),
    {"corrected_sqrt", "sqrt", Ours_corrected_sqrt, Oracle_corrected_sqrt, shader_math::corrected_sqrt_f32, nullptr,
     mpfr_sqrt, nullptr, Symmetry::kNone},
    BINARY(power, power, mpfr_pow),
    BINARY(atan2, atan2, mpfr_atan2),
    BINARY(hypot, hypot, mpfr_hypot),
    BINARY(divide, divide, mpfr_div),
    BINARY(corrected_divide, divide, mpfr_div),
};

}  // namespace

std::span<const Batch> Batches() { return kBatches; }

CLONES uint64_t Errors(const float* got, const double* exact, uint64_t* error, uint64_t* most) {
  uint64_t largest = 0, inexact = 0;
  constexpr uint64_t kWrongBits = std::bit_cast<uint64_t>(kWrong), kMagnitude = ~(uint64_t{1} << 63),
                     kInf = uint64_t{0x7ff} << 52;
  for (int i = 0; i < kBlock; ++i) {
    const double e = exact[i], g = got[i], r = static_cast<double>(static_cast<float>(e));
    const uint64_t be = std::bit_cast<uint64_t>(e), bg = std::bit_cast<uint64_t>(g), br = std::bit_cast<uint64_t>(r);
    const uint64_t me = be & kMagnitude, mg = bg & kMagnitude;
    // 1 / unit of the exact value's binade: 2^(23 - exponent).
    const uint64_t exponent = me >> 52 < 897 ? 897 : me >> 52;
    const double scale = std::bit_cast<double>((uint64_t{2046} + 23 - exponent) << 52);
    const uint64_t distance = std::bit_cast<uint64_t>((g - e) * scale) & kMagnitude;
    const bool nan = me > kInf || mg > kInf;
    const uint64_t nan_error = me > kInf && mg > kInf ? 0 : kWrongBits;
    // Infinities and zeros must be the exact value's, sign included.
    const bool special = (br & kMagnitude) == kInf || mg == kInf || me == 0;
    const uint64_t special_error = br == bg ? 0 : kWrongBits;
    const uint64_t result = nan ? nan_error : (special ? special_error : distance);
    error[i] = result;
    largest = result > largest ? result : largest;
    inexact += result != 0 && br != bg ? 1 : 0;
  }
  *most = largest;
  return inexact;
}

}  // namespace VXLA_NAMESPACE::exhaustive
