// The shader arithmetic (shaders/include/math) compiled as C++: the same text, the same bits.
#include "backend/cpu/twin/shader_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <glm/glm.hpp>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifdef VXLA_SHADER_MATH_EMULATED
namespace VXLA_NAMESPACE::shader_math_emulated {
namespace {

using D = f64_t;

constexpr f64_t operator""_lf(long double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(value));
  return {static_cast<uint>(bits), static_cast<uint>(bits >> 32)};
}
// Of literals: elsewhere the shaders call negate_f64.
constexpr f64_t operator-(f64_t literal) { return {literal.x, literal.y ^ 0x80000000u}; }
#else
namespace VXLA_NAMESPACE::shader_math {
namespace {

using glm::packDouble2x32;
using D = f64_t;

constexpr double operator""_lf(long double value) { return static_cast<double>(value); }
#endif

inline uint floatBitsToUint(float x) { return std::bit_cast<uint>(x); }
inline int floatBitsToInt(float x) { return std::bit_cast<int>(x); }
inline float uintBitsToFloat(uint x) { return std::bit_cast<float>(x); }
inline float intBitsToFloat(int x) { return std::bit_cast<float>(x); }
inline uvec2 unpackDouble2x32(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  return uvec2(static_cast<uint>(bits), static_cast<uint>(bits >> 32));
}
inline int findMSB(uint x) { return x == 0 ? -1 : 31 - __builtin_clz(x); }
inline int bitCount(uint x) { return __builtin_popcount(x); }
inline void umulExtended(uint a, uint b, uint& high, uint& low) {
  const uint64_t p = uint64_t{a} * b;
  high = static_cast<uint>(p >> 32);
  low = static_cast<uint>(p);
}
using std::max;
using std::min;
inline float sqrt(float x) { return std::sqrt(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline float floor(float x) { return std::floor(x); }
inline double floor(double x) { return std::floor(x); }

}  // namespace

#include "generated/shader_math_definitions.h"  // the files' text in the order of prelude.glsl

}  // namespace vxla::shader_math or shader_math_emulated
