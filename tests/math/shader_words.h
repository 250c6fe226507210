// What the text of shaders/include/math takes from GLSL, for tests that compile it once more in a namespace of their
// own.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <glm/vec2.hpp>
#include <random>

#include "backend/cpu/twin/shader_math.h"

namespace VXLA_NAMESPACE::shader_words {

using uint = uint32_t;
using glm::uvec2;
using glm::vec2;
inline uint floatBitsToUint(float x) { return std::bit_cast<uint>(x); }
inline int floatBitsToInt(float x) { return std::bit_cast<int>(x); }
inline float uintBitsToFloat(uint x) { return std::bit_cast<float>(x); }
inline bool isnan(float x) { return x != x; }
inline int findMSB(uint x) { return x == 0 ? -1 : 31 - __builtin_clz(x); }
inline int findLSB(uint x) { return x == 0 ? -1 : __builtin_ctz(x); }
inline float min(float a, float b) { return b < a ? b : a; }
inline float max(float a, float b) { return a < b ? b : a; }
inline int bitCount(uint x) { return __builtin_popcount(x); }
inline void umulExtended(uint a, uint b, uint& high, uint& low) {
  const uint64_t p = uint64_t{a} * b;
  high = static_cast<uint>(p >> 32);
  low = static_cast<uint>(p);
}
using shader_math::and_pred;
using shader_math::or_pred;
using std::floor;
using std::fma;
using std::max;
using std::min;

// Off by up to so many units in the last place.
inline float Spoilt(float x, int units) {
  static std::minstd_rand random(5);
  const int off = static_cast<int>(random() % static_cast<unsigned>(2 * units + 1)) - units;
  return x == 0 || !std::isfinite(x) ? x : std::bit_cast<float>(std::bit_cast<int>(x) + off);
}

}  // namespace VXLA_NAMESPACE::shader_words
