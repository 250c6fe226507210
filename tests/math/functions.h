// Every function of one and two arguments of the shader math with its oracles, as the tests run through them.
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "backend/cpu/twin/shader_math.h"
#include "core/numerics/accuracy.h"
#include "tests/math/exact.h"

namespace VXLA_NAMESPACE {

struct UnaryFunction {
  const char* name;  // its row of core/numerics/accuracy.h, or one that is exact
  float (*f32)(float);
  double (*f64)(double);
  double (*wide)(double);             // good to some units of 2^-53
  long double (*wider)(long double);  // good to some units of 2^-64
  ExactUnary exact;
  float (*f16)(float) = nullptr;  // in place of f32 on f16 arguments
};

struct BinaryFunction {
  const char* name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  double (*wide)(double, double);
  long double (*wider)(long double, long double);
  ExactBinary exact;
  float (*odd)(float, float) = nullptr;  // in place of f32 on narrow arguments
};

// Floats of 16 bits and less.
struct NarrowFormat {
  ElementType type;
  float (*round)(float);
};
std::span<const NarrowFormat> NarrowFormats();

// The bound of core/numerics/accuracy.h; functions without a row there are exact.
inline UlpBound StatedBound(const char* name, ElementType type) {
  const auto rows = AccuracyFunctions();
  return std::ranges::binary_search(rows, std::string_view(name)) ? AccuracyOfFunction(name, type) : UlpBound{};
}

std::span<const UnaryFunction> UnaryFunctions();
std::span<const BinaryFunction> BinaryFunctions();

// For names of parameterised tests.
template <typename Info>
std::string FunctionName(const Info& info) {
  return info.param.name;
}

}  // namespace VXLA_NAMESPACE
