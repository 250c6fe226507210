// c128 as c128_t (re, im), on the f64 functions: complex.glsl in these words.

FN bool less_f64(f64_t a, f64_t b) {
  return compare_lt_f64(a, b);
}
FN bool more_f64(f64_t a, f64_t b) {
  return compare_gt_f64(a, b);
}
FN bool at_most_f64(f64_t a, f64_t b) {
  return compare_le_f64(a, b);
}
#define COMPLEX c128_t
#define REAL D
#define PART f64_t
#define L(number) number##lf
#define RE(name) name##_f64
#define CX(name) name##_c128
#define EXPONENT_LIMIT 1600.0lf
#define EXPM1_LIMIT 700.0lf
#define EXPM1_FLOOR 40.0lf
#define LOG1P_LIMIT 1073741824.0lf
#define LOG1P_TINY 3.6734198463196485e-40lf
#define FAR 1152921504606846976.0lf
#define TINY 8.673617379884035e-19lf
#define SMALL 3.872591914849318e-121lf
#define LARGE 8.452712498170644e270lf
#define UNIT 1.1102230246251565e-16lf
#define PI_LOW 1.2246467991473532e-16lf
#define THIRD_LOW -1.850371707708594e-17lf
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
