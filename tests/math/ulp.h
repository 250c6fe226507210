// Distance of a result from its exact value in units of the last place of the result's format, and test points.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace VXLA_NAMESPACE {

// Larger than any distance: NaN against number, wrong infinity, wrong sign of zero.
inline constexpr double kWrong = 1e30;

// exact is in a wider format; T is float or double. An overflow to infinity counts from the last finite value.
template <typename T, typename Wide>
double UlpError(T got, Wide exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : kWrong;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : kWrong;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : kWrong;
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(std::ilogb(exact), kLeast);
  const Wide unit = std::ldexp(Wide{1}, exponent - (std::numeric_limits<T>::digits - 1));
  return static_cast<double>(std::fabs((static_cast<Wide>(got) - exact) / unit));
}

template <typename T>
std::vector<T> SpecialValues() {
  using Limits = std::numeric_limits<T>;
  const T digits = std::ldexp(T{1}, Limits::digits);
  std::vector<T> values = {0,
                           1,
                           2,
                           3,
                           T(0.5),
                           T(1.5),
                           T(1e-10),
                           T(1e30),
                           T(88.7),
                           T(104),
                           T(709.7),
                           T(745.2),
                           Limits::infinity(),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           std::nextafter(Limits::min(), T{0}),
                           std::nextafter(T{1}, T{0}),
                           std::nextafter(T{1}, T{2}),
                           digits,
                           digits - 1,
                           digits + 2,
                           T(1e22),
                           T(0.78539816339744831),
                           T(1.5707963267948966)};
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  return values;
}

// Random points: all bit patterns, every size near 1, and the ranges in which the functions have their structure.
template <typename T>
class Points {
 public:
  explicit Points(uint64_t seed) : random_(seed) {}
  T Next() {
    const T unit = static_cast<T>(random_() >> 11) * T(0x1p-53);
    const T sign = (random_() & 1) != 0 ? T{1} : T{-1};
    switch (random_() % 5) {
      case 0:
        if constexpr (sizeof(T) == 4) {
          return std::bit_cast<float>(static_cast<uint32_t>(random_() >> 32));
        } else {
          return std::bit_cast<double>(random_());
        }
      case 1:
        return sign * std::ldexp(T{1} + unit, static_cast<int>(random_() % 60) - 45);
      case 2:
        return unit * 4 - 2;
      case 3:
        return sign * unit * (sizeof(T) == 4 ? 110 : 760);
      default:
        return sign * (T{1} + std::ldexp(unit, -static_cast<int>(random_() % 20)));
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace VXLA_NAMESPACE
