// The scalar arithmetic of the shaders (shaders/include/math) as C++ functions, bit for bit what a kernel computes.
// Names and rules: shaders/include/math/prelude.glsl; accuracy: docs/reference/accuracy.md. The declarations are made
// from that text when the project is built (tools/declare_shader_math.cmake).
//
// With VXLA_SHADER_MATH_EMULATED defined, the same functions over the emulated 64-bit types, in namespace
// shader_math_emulated (shader_math_emulated.h).
#if !defined(VXLA_SHADER_MATH_H_) || defined(VXLA_SHADER_MATH_EMULATED)

#include <cstdint>
#include <glm/vec2.hpp>
#include <glm/vec4.hpp>

#ifdef VXLA_SHADER_MATH_EMULATED
#define VXLA_SHADER_MATH_NAMESPACE shader_math_emulated
#else
#define VXLA_SHADER_MATH_H_
#define VXLA_SHADER_MATH_NAMESPACE shader_math
#endif

namespace VXLA_NAMESPACE::VXLA_SHADER_MATH_NAMESPACE {

using uint = uint32_t;
using glm::dvec2;
using glm::uvec2;
using glm::uvec4;
using glm::vec2;
// The names that the shaders have for the 64-bit types (types64.glsl). Constructors, as clang before 16 makes no
// aggregate by T(x, y).
#ifdef VXLA_SHADER_MATH_EMULATED
struct i64_t {
  i64_t() = default;
  constexpr i64_t(uint low, uint high) : x(low), y(high) {}
  uint x, y;  // low, high
};
struct u64_t {
  u64_t() = default;
  constexpr u64_t(uint low, uint high) : x(low), y(high) {}
  uint x, y;
};
struct f64_t {
  f64_t() = default;
  constexpr f64_t(uint low, uint high) : x(low), y(high) {}
  uint x, y;
};
struct c128_t {
  c128_t() = default;
  constexpr c128_t(f64_t real, f64_t imaginary) : x(real), y(imaginary) {}
  f64_t x, y;
};
#else
using i64_t = int64_t;
using u64_t = uint64_t;
using f64_t = double;
using c128_t = dvec2;
#endif

#include "generated/shader_math_declarations.h"

}  // namespace VXLA_NAMESPACE::VXLA_SHADER_MATH_NAMESPACE

#undef VXLA_SHADER_MATH_NAMESPACE
#endif
