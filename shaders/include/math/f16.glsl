// Functions of f16 arguments whose f32 result is, at a few arguments, exactly a tie between two f16 although the exact
// value is not: rounding twice would go the wrong way there. <op>_f16(x) is <op>_f32(x), moved one place off the tie at
// those arguments, so that round_f16 of it is correctly rounded for every f16 x. Functions without such arguments have
// no <op>_f16 (core/ir/opcode.h: kF16Variant; tests/math checks every function at every f16).

// r one place further from 0, or nearer to it.
FN F off_tie_f32(float r, bool further, bool nearer) {
  return uintBitsToFloat(floatBitsToUint(r) + (further ? 1u : 0u) - (nearer ? 1u : 0u));
}
FN F exponential_f16(float x) {
  uint b = floatBitsToUint(x);
  bool nearer = b == 0x3bef2000u || b == 0x3cb9e000u;
  return off_tie_f32(exponential_f32_narrow(x), false, nearer);
}
FN F exp2_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(exp2_f32(x), b == 0x3a38a000u, false);
}
FN F exponential_minus_one_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(exponential_minus_one_f32(x), b == 0x3a350000u, false);
}
FN F log_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(log_f32_narrow(x), false, b == 0x3baf0000u);
}
FN F log_plus_one_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(log_plus_one_f32(x), b == 0x3bc06000u, b == 0xbbbfa000u);
}
FN F logistic_f16(float x) {
  uint b = floatBitsToUint(x);
  bool further = b == 0xbac00000u || b == 0xbb600000u || b == 0xbbb00000u || b == 0xbbf00000u;
  bool nearer = b == 0x3b400000u || b == 0x3be00000u || b == 0x3c300000u;
  return off_tie_f32(logistic_f32_narrow(x), further, nearer);
}
FN F sinh_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(sinh_f32(x), m == 0x401e4000u, false);
}
FN F cosh_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(cosh_f32(x), m == 0x3d000000u, false);
}
FN F asinh_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(asinh_f32(x), m == 0x3e57a000u, m == 0x4163e000u);
}
FN F acosh_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(acosh_f32(x), b == 0x3f9c8000u, false);
}
FN F sine_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(sine_f32(x), m == 0x3e566000u, m == 0x43960000u);
}
FN F cosine_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(cosine_f32(x), m == 0x3d6f8000u, false);
}
FN F tan_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  bool further = m == 0x3d128000u || m == 0x46e94000u;
  return off_tie_f32(tan_f32(x), further, m == 0x42bda000u);
}
FN F acos_f16(float x) {
  uint b = floatBitsToUint(x);
  bool further = b == 0xb6960000u || b == 0xbf0e8000u;
  return off_tie_f32(acos_f32(x), further, b == 0xbd95e000u);
}
FN F atan_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  bool further = m == 0x3ce8a000u || m == 0x3e56a000u || m == 0x40cdc000u;
  return off_tie_f32(atan_f32(x), further, false);
}
FN F erf_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(erf_f32_narrow(x), false, m == 0x3ac24000u);
}
FN F erfc_f16(float x) {
  uint b = floatBitsToUint(x);
  return off_tie_f32(erfc_f32(x), b == 0xb9e2e000u, b == 0x3962e000u);
}
FN F erf_inv_f16(float x) {
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  return off_tie_f32(erf_inv_f32(x), false, m == 0x3f4e4000u);
}
FN F lgamma_f16(float x) {
  uint b = floatBitsToUint(x);
  bool further = b == 0x398cc000u || b == 0xc2626000u;
  return off_tie_f32(lgamma_f32(x), further, b == 0x4010e000u);
}
FN F digamma_f16(float x) {
  uint b = floatBitsToUint(x);
  bool further = b == 0x3ac9c000u || b == 0x452a0000u || b == 0xbedc6000u || b == 0xc17c4000u;
  bool nearer = b == 0x39150000u || b == 0x3b61c000u || b == 0x3bc98000u || b == 0x45d12000u || b == 0xb81f8000u ||
      b == 0xbdbf0000u;
  return off_tie_f32(digamma_f32(x), further, nearer);
}
FN F cbrt_f16(float x) {
  // The tie 1.0101000100010 comes back every third exponent.
  uint m = floatBitsToUint(x) & 0x7fffffffu;
  bool further = (m & 0x007fffffu) == 0x002a2000u && (m >> 23) % 3u == 2u;
  return off_tie_f32(cbrt_f32(x), further, false);
}
