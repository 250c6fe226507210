// c64 as vec2 (re, im), on the f32 functions: complex.glsl in these words.

// The device's own comparisons, which may take denormals for zeros: with bounds that are normal numbers.
FN bool less_f32(float a, float b) {
  return a < b;
}
FN bool more_f32(float a, float b) {
  return a > b;
}
FN bool at_most_f32(float a, float b) {
  return a <= b;
}
// (atan q - q + q^3/3) / q^5 times z = q^2, as in atan_tail_f32.
FN F atan_rest_f32(float z) {
  F p = z * (0.199999779f + z * (-0.142841503f + z * (0.110713549f + z * (-0.0862459838f + z * 0.0504793748f))));
  return p;
}
#define COMPLEX vec2
#define REAL F
#define PART float
#define L(number) number##f
#define RE(name) name##_f32
#define CX(name) name##_c64
#define EXPONENT_LIMIT 400.0f
#define EXPM1_LIMIT 80.0f
#define EXPM1_FLOOR 20.0f
#define LOG1P_LIMIT 1024.0f
#define LOG1P_TINY 1.08420217e-19f
#define FAR 1.07374182e9f
#define TINY 9.31322575e-10f
#define SMALL 8.67361738e-19f
#define LARGE 1.26765060e30f
#define UNIT 5.96046448e-08f
#define PI_LOW -8.74227766e-08f
#define THIRD_LOW 9.93410776e-09f
#include "shaders/include/math/complex.glsl"
#undef COMPLEX
#undef REAL
#undef PART
#undef L
#undef RE
#undef CX
#undef EXPONENT_LIMIT
#undef EXPM1_LIMIT
#undef EXPM1_FLOOR
#undef LOG1P_LIMIT
#undef LOG1P_TINY
#undef FAR
#undef TINY
#undef SMALL
#undef LARGE
#undef UNIT
#undef PI_LOW
#undef THIRD_LOW
