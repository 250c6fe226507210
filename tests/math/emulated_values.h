// Operands for the tests of emulated 64-bit types, native and emulated.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "backend/cpu/twin/shader_math.h"
#include "backend/cpu/twin/shader_math_emulated.h"
#include "tests/math/ulp.h"

namespace VXLA_NAMESPACE {

namespace native = shader_math;
namespace emulated = shader_math_emulated;

// Integers with runs of ones and zeros, small ones, and the edges of words: carries happen.
class Words {
 public:
  explicit Words(uint64_t seed) : random_(seed) {}
  uint64_t Next() {
    const uint64_t r = random_();
    const unsigned s = r % 64, t = (r >> 6) % 64;
    switch ((r >> 12) % 8) {
      case 0:
        return random_();
      case 1:
        return random_() >> s;
      case 2:
        return ~(random_() >> s);
      case 3:
        return (uint64_t{1} << s) - (r >> 20) % 3;
      case 4:
        return (~uint64_t{0} << s) ^ (uint64_t{1} << t);
      case 5:
        return (random_() << 32) | (static_cast<uint32_t>(r >> 20) >> s % 32);
      case 6:
        return (r >> 20) % 130;
      default:
        return uint64_t{0} - (r >> 20) % 5;
    }
  }
  double Double() {
    const uint64_t r = random_();
    switch (r % 8) {
      case 0:
        return special_[(r >> 8) % special_.size()];
      case 1:
        return std::bit_cast<double>(random_());
      case 2:  // Denormals and their neighbours.
        return std::bit_cast<double>((Next() & 0x801fffffffffffff));
      default: {  // Moderate exponents, so that operands meet; few or many bits set.
        const uint64_t exponent = r % 8 < 5 ? 1023 + (r >> 8) % 130 - 65 : 1023 + (r >> 8) % 6 - 3;
        return std::bit_cast<double>((r & (uint64_t{1} << 63)) | (exponent << 52) | (Next() & 0xfffffffffffff));
      }
    }
  }

 private:
  std::mt19937_64 random_;
  std::vector<double> special_ = SpecialValues<double>();
};

template <typename T>
T Make(Words& words) {
  if constexpr (std::is_same_v<T, double>) {
    return words.Double();
  } else if constexpr (std::is_same_v<T, float>) {
    const uint64_t w = words.Next();
    return w % 3 == 0 ? static_cast<float>(words.Double()) : std::bit_cast<float>(static_cast<uint32_t>(w));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(words.Next());
  } else if constexpr (std::is_same_v<T, native::vec2>) {
    const float x = Make<float>(words), y = Make<float>(words);
    return {x, y};
  } else {
    const double x = words.Double(), y = words.Double();
    return {x, y};
  }
}

inline emulated::f64_t Words64(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

template <typename To, typename From>
To Pass(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, emulated::f64_t>) {
    return Words64(x);
  } else if constexpr (std::is_same_v<To, emulated::c128_t>) {
    return {Words64(x.x), Words64(x.y)};
  } else {
    return {static_cast<uint32_t>(x), static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32)};
  }
}

}  // namespace VXLA_NAMESPACE
