// The arguments that complex functions are tried at, every pair of special and ordinary components, and the programs
// that try them: one for each function, the whole grid in one dispatch.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE::testing {

// Of both signs: zero, the least number, the least normal one, the root of that, small, ordinary, where exponentials
// leave the range, the root of the largest, the largest, infinity; and one NaN. `few`: for every pair of pairs.
template <typename T>
std::vector<double> ComplexGridComponents(bool few) {
  using Limits = std::numeric_limits<T>;
  const bool wide = sizeof(T) == 8;
  std::vector<T> sizes = {0, Limits::denorm_min(), 1, T(2.5), Limits::max(), Limits::infinity()};
  if (!few) {
    const T more[] = {Limits::min(),
                      std::nextafter(Limits::min(), T{0}),
                      std::sqrt(Limits::min()),
                      Limits::epsilon(),
                      T(0.3),
                      std::nextafter(T{1}, T{0}),
                      std::nextafter(T{1}, T{2}),
                      T(1.5707963267948966),
                      T(3.1415926535897932),
                      wide ? T(709.9) : T(88.9),
                      wide ? T(745.5) : T(103.5),
                      std::sqrt(Limits::max()),
                      Limits::max() / 2};
    sizes.insert(sizes.end(), std::begin(more), std::end(more));
  }
  std::vector<double> components;
  for (const T size : sizes) components.insert(components.end(), {size, -size});
  components.push_back(std::nan(""));
  return components;
}

inline std::vector<std::complex<double>> ComplexGrid(ElementType type, bool few = false) {
  const std::vector<double> components =
      type == ElementType::kC64 ? ComplexGridComponents<float>(few) : ComplexGridComponents<double>(few);
  std::vector<std::complex<double>> grid;
  for (const double x : components) {
    for (const double y : components) grid.emplace_back(x, y);
  }
  return grid;
}

inline Literal ComplexArray(ElementType type, const std::vector<std::complex<double>>& values) {
  Literal array(Shape(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) array.SetComplex(static_cast<int64_t>(i), values[i]);
  return array;
}

// All pairs of the few.
inline std::vector<Literal> ComplexPairs(ElementType type) {
  const std::vector<std::complex<double>> few = ComplexGrid(type, true);
  std::vector<std::complex<double>> left, right;
  for (const auto& a : few) {
    for (const auto& b : few) left.push_back(a), right.push_back(b);
  }
  std::vector<Literal> arrays;
  arrays.push_back(ComplexArray(type, left));
  arrays.push_back(ComplexArray(type, right));
  return arrays;
}

inline constexpr std::string_view kComplexUnary[] = {
    "stablehlo.exponential",
    "stablehlo.exponential_minus_one",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.logistic",
    "stablehlo.sqrt",
    "stablehlo.rsqrt",
    "stablehlo.cbrt",
    "stablehlo.sign",
    "stablehlo.tanh",
    "stablehlo.sine",
    "stablehlo.cosine",
    "stablehlo.tan",
    "stablehlo.negate",
    "chlo.sinh",
    "chlo.cosh",
    "chlo.tan",
    "chlo.asin",
    "chlo.acos",
    "chlo.atan",
    "chlo.asinh",
    "chlo.acosh",
    "chlo.atanh",
    "chlo.square",
    "chlo.conj",
};
inline constexpr std::string_view kComplexToReal[] = {"stablehlo.abs", "stablehlo.real", "stablehlo.imag"};
inline constexpr std::string_view kComplexBinary[] = {
    "stablehlo.add",   "stablehlo.subtract", "stablehlo.multiply", "stablehlo.divide",
    "stablehlo.power", "stablehlo.atan2",    "stablehlo.maximum",  "stablehlo.minimum",
};

// A StableHLO program of one operation on `operands` arrays of `count` elements.
inline std::string ComplexProgram(std::string_view op, ElementType type, int64_t count, int operands) {
  const std::string part = type == ElementType::kC64 ? "f32" : "f64";
  const std::string tensor = fmt::format("tensor<{}xcomplex<{}>>", count, part);
  const bool real = op == "stablehlo.abs" || op == "stablehlo.real" || op == "stablehlo.imag";
  const std::string result = real ? fmt::format("tensor<{}x{}>", count, part) : tensor;
  return fmt::format(
      "func.func @main(%a: {0}{1}) -> {2} {{\n  %r = \"{3}\"(%a{4}) : ({0}{5}) -> {2}\n  return %r : {2}\n}}\n", tensor,
      operands == 2 ? ", %b: " + tensor : "", result, op, operands == 2 ? ", %b" : "",
      operands == 2 ? ", " + tensor : "");
}

}  // namespace VXLA_NAMESPACE::testing
