// Conversions and bitcasts between the 32-bit carriers f32, i32, u32 and pred. Floats to integers: truncated,
// saturated, NaN gives 0. Integers to floats: correctly rounded.

FN F convert_f32_f32(float a) {
  return a;
}
FN int convert_i32_i32(int a) {
  return a;
}
FN uint convert_u32_u32(uint a) {
  return a;
}
FN bool convert_pred_pred(bool a) {
  return a;
}
FN int convert_f32_i32(float a) {
  bool in_range = a > -2147483648.0f && a < 2147483648.0f;
  int r = int(in_range ? a : 0.0f);
  return in_range ? r : (a >= 2147483648.0f ? 0x7fffffff : (a <= -2147483648.0f ? -2147483647 - 1 : 0));
}
FN uint convert_f32_u32(float a) {
  bool in_range = a > 0.0f && a < 4294967296.0f;
  bool upper = a >= 2147483648.0f;
  // Through int, since drivers differ on what a conversion to unsigned does above 2^31.
  F v = in_range ? (upper ? a - 2147483648.0f : a) : 0.0f;
  uint r = uint(int(v)) + (upper ? 0x80000000u : 0u);
  return in_range ? r : (a >= 4294967296.0f ? 0xffffffffu : 0u);
}
// For narrow integers: saturated to [low, high].
FN int convert_f32_int_saturate(float a, int low, int high) {
  int r = convert_f32_i32(a);
  return r < low ? low : (r > high ? high : r);
}
FN uint convert_f32_uint_saturate(float a, uint high) {
  uint r = convert_f32_u32(a);
  return r > high ? high : r;
}
// Two exact halves and one rounding.
FN F convert_u32_f32(uint a) {
  F high = float(int(a >> 16)) * 65536.0f;
  F low = float(int(a & 0xffffu));
  F r = high + low;
  return r;
}
FN F convert_i32_f32(int a) {
  F m = convert_u32_f32(a < 0 ? 0u - uint(a) : uint(a));
  return a < 0 ? -m : m;
}
// To odd: cut to 24 bits, the last one set if anything was cut off, so that rounding to a narrower format afterwards
// rounds once.
FN F convert_u32_f32_odd(uint a) {
  int z = findMSB(a) - 23;
  uint s = uint(z < 0 ? 0 : z);
  uint cut = a & ((1u << s) - 1u);
  F r = float(int((a >> s) | (cut != 0u ? 1u : 0u))) * pow2_f32(int(s));
  return r;
}
FN F convert_i32_f32_odd(int a) {
  F m = convert_u32_f32_odd(a < 0 ? 0u - uint(a) : uint(a));
  return a < 0 ? -m : m;
}
FN uint convert_i32_u32(int a) {
  return uint(a);
}
FN int convert_u32_i32(uint a) {
  return int(a);
}
FN F convert_pred_f32(bool a) {
  return a ? 1.0f : 0.0f;
}
FN int convert_pred_i32(bool a) {
  return a ? 1 : 0;
}
FN uint convert_pred_u32(bool a) {
  return a ? 1u : 0u;
}
// NaN is not 0.
FN bool convert_f32_pred(float a) {
  return (floatBitsToUint(a) & 0x7fffffffu) != 0u;
}
FN bool convert_i32_pred(int a) {
  return a != 0;
}
FN bool convert_u32_pred(uint a) {
  return a != 0u;
}
FN uint bitcast_f32_u32(float a) {
  return floatBitsToUint(a);
}
FN int bitcast_f32_i32(float a) {
  return floatBitsToInt(a);
}
FN F bitcast_u32_f32(uint a) {
  return uintBitsToFloat(a);
}
FN F bitcast_i32_f32(int a) {
  return intBitsToFloat(a);
}
FN int bitcast_u32_i32(uint a) {
  return int(a);
}
FN uint bitcast_i32_u32(int a) {
  return uint(a);
}
// Conversions from and to c64: reals get a zero imaginary part, and the real part is what a real carrier receives.
// Exact or as the real conversions are.

FN vec2 convert_c64_c64(vec2 a) {
  return a;
}
FN vec2 convert_f32_c64(float a) {
  return vec2(convert_f32_f32(a), 0.0f);
}
FN F convert_c64_f32(vec2 a) {
  return convert_f32_f32(a.x);
}
FN vec2 convert_i32_c64(int a) {
  return vec2(convert_i32_f32(a), 0.0f);
}
FN int convert_c64_i32(vec2 a) {
  return convert_f32_i32(a.x);
}
FN vec2 convert_u32_c64(uint a) {
  return vec2(convert_u32_f32(a), 0.0f);
}
FN uint convert_c64_u32(vec2 a) {
  return convert_f32_u32(a.x);
}
FN vec2 convert_pred_c64(bool a) {
  return vec2(convert_pred_f32(a), 0.0f);
}
FN bool convert_c64_pred(vec2 a) {
  return convert_f32_pred(a.x) || convert_f32_pred(a.y);
}
