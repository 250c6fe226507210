// Conversions and bitcasts with a 64-bit side, and between real and complex carriers. Floats to integers: truncated, saturated,
// NaN gives 0. Everything else is correctly rounded. Narrowing f64 works on the words, since drivers fold double(float(x)) away.

FN D convert_f64_f64(double a) {
  return a;
}
FN int64_t convert_i64_i64(int64_t a) {
  return a;
}
FN uint64_t convert_u64_u64(uint64_t a) {
  return a;
}
// f32 to f64 through the words, denormals too.
FN D convert_f32_f64(float a) {
  uint b = floatBitsToUint(a);
  uint m = b & 0x7fffffffu;
  bool small = m < 0x00800000u;
  // A denormal is an integer times 2^-149.
  D d = double(m) * 1.401298464324817e-45lf;
  uint h = m > 0x7f7fffffu ? (m >> 3) | 0x7ff00000u : (m >> 3) + 0x38000000u;
  D n = from_words_f64(h | (b & 0x80000000u), m << 29);
  return small ? copysign_f64(d, from_words_f64(b & 0x80000000u, 0u)) : n;
}
// The bits of |a| cut to f32 and, in rest, what was cut off as a fraction of the last unit in 32 bits with a sticky last bit.
FN uint narrow_bits_f64(double a, OUT(uint) rest) {
  uvec2 w = unpackDouble2x32(a);
  uint m = ((w.y & 0x000fffffu) << 3) | (w.x >> 29);
  uint r = w.x << 3;
  int e = int((w.y >> 20) & 0x7ffu) - 896;
  uint s = uint(e > 0 ? 0 : (e < -30 ? 31 : 1 - e));
  uint full = m | 0x00800000u;
  uint cut = s == 0u ? r : (full << (32u - s)) | (r != 0u ? 1u : 0u);
  // Far below the least denormal only the sticky bit is left (and nothing for 0).
  bool gone = e < -25;
  bool zero = (w.y & 0x7fffffffu) == 0u && w.x == 0u;
  rest = gone ? (zero ? 0u : 1u) : cut;
  return e > 0 ? (uint(e) << 23) | m : (gone ? 0u : full >> s);
}
// To nearest even.
FN F convert_f64_f32(double a) {
  uint rest;
  uint b = narrow_bits_f64(a, rest);
  uint r = b + (rest > 0x80000000u || (rest == 0x80000000u && (b & 1u) != 0u) ? 1u : 0u);
  uint v = magnitude_f64(a) > 3.4028235677973366e38lf || r > 0x7f800000u ? 0x7f800000u : r;
  uint s = high_word_f64(a) & 0x80000000u;
  return is_nan_f64(a) ? nan_f32() : uintBitsToFloat(v | s);
}
// To odd: cut, the last bit set if anything was cut off, so that rounding to a narrower format afterwards rounds once.
FN F convert_f64_f32_odd(double a) {
  uint rest;
  uint b = narrow_bits_f64(a, rest);
  uint r = b | (rest != 0u ? 1u : 0u);
  uint v = is_inf_f64(a) ? 0x7f800000u : (magnitude_f64(a) >= 3.4028236692093846e38lf ? 0x7f7fffffu : r);
  uint s = high_word_f64(a) & 0x80000000u;
  return is_nan_f64(a) ? nan_f32() : uintBitsToFloat(v | s);
}
FN int convert_f64_i32(double a) {
  bool in_range = a > -2147483649.0lf && a < 2147483648.0lf;
  int r = int(in_range ? a : 0.0lf);
  return in_range ? r : (a >= 2147483648.0lf ? 0x7fffffff : (a < 0.0lf ? -2147483647 - 1 : 0));
}
FN uint convert_f64_u32(double a) {
  bool in_range = a > 0.0lf && a < 4294967296.0lf;
  bool upper = a >= 2147483648.0lf;
  D v = in_range ? (upper ? a - 2147483648.0lf : a) : 0.0lf;
  uint r = uint(int(v)) + (upper ? 0x80000000u : 0u);
  return in_range ? r : (a >= 4294967296.0lf ? 0xffffffffu : 0u);
}
FN int convert_f64_int_saturate(double a, int low, int high) {
  int r = convert_f64_i32(a);
  return r < low ? low : (r > high ? high : r);
}
FN uint convert_f64_uint_saturate(double a, uint high) {
  uint r = convert_f64_u32(a);
  return r > high ? high : r;
}
// 0 <= a < 2^64, truncated.
FN uint64_t truncate_words_f64(double a) {
  D h = floor(a * 2.3283064365386963e-10lf);
  D l = a - h * 4294967296.0lf;
  return (uint64_t(convert_f64_u32(h)) << 32u) | uint64_t(convert_f64_u32(l));
}
FN uint64_t convert_f64_u64(double a) {
  bool in_range = a > 0.0lf && a < 18446744073709551616.0lf;
  uint64_t r = truncate_words_f64(in_range ? a : 0.0lf);
  return in_range ? r : (a >= 18446744073709551616.0lf ? 0xfffffffffffffffful : uint64_t(0));
}
FN int64_t convert_f64_i64(double a) {
  bool in_range = a > -9223372036854775808.0lf && a < 9223372036854775808.0lf;
  uint64_t m = truncate_words_f64(in_range ? magnitude_f64(a) : 0.0lf);
  int64_t r = int64_t(a < 0.0lf ? uint64_t(0) - m : m);
  int64_t far = is_nan_f64(a) ? int64_t(0) : int64_t(a < 0.0lf ? 0x8000000000000000ul : 0x7ffffffffffffffful);
  return in_range ? r : far;
}
// f32 to 64-bit integers on the significand, so that no double is needed.
FN uint64_t convert_f32_u64(float a) {
  uint b = floatBitsToUint(a);
  int e = int((b >> 23) & 0xffu) - 150;
  uint64_t m = uint64_t((b & 0x007fffffu) | 0x00800000u);
  uint64_t v = e < 0 ? m >> uint(e < -24 ? 24 : -e) : m << uint(e > 40 ? 40 : e);
  bool in_range = a > 0.0f && a < 18446744073709551616.0f;
  return in_range ? v : (a > 1.0f ? 0xfffffffffffffffful : uint64_t(0));
}
FN int64_t convert_f32_i64(float a) {
  uint64_t m = convert_f32_u64(magnitude_f32(a));
  uint64_t limit = is_negative_f32(a) ? 0x8000000000000000ul : 0x7ffffffffffffffful;
  uint64_t c = m > limit ? limit : m;
  return int64_t(is_negative_f32(a) ? uint64_t(0) - c : c);
}
// The top 31 bits with a sticky last bit are rounded once by the 32-bit conversion.
FN F convert_u64_f32(uint64_t a) {
  int z = int(count_leading_zeros_u64(a));
  uint s = uint(z < 33 ? 33 - z : 0);
  uint64_t cut = a & ((uint64_t(1) << s) - uint64_t(1));
  uint v = uint(a >> s) | (cut != uint64_t(0) ? 1u : 0u);
  F r = convert_u32_f32(v) * pow2_f32(int(s));
  return r;
}
FN F convert_i64_f32(int64_t a) {
  F m = convert_u64_f32(magnitude_i64(a));
  return a < int64_t(0) ? -m : m;
}
FN F convert_u64_f32_odd(uint64_t a) {
  int z = int(count_leading_zeros_u64(a));
  uint s = uint(z < 40 ? 40 - z : 0);
  uint64_t cut = a & ((uint64_t(1) << s) - uint64_t(1));
  F r = float(int(uint(a >> s) | (cut != uint64_t(0) ? 1u : 0u))) * pow2_f32(int(s));
  return r;
}
FN F convert_i64_f32_odd(int64_t a) {
  F m = convert_u64_f32_odd(magnitude_i64(a));
  return a < int64_t(0) ? -m : m;
}
FN D convert_u32_f64(uint a) {
  D r = double(int(a >> 16)) * 65536.0lf + double(int(a & 0xffffu));
  return r;
}
FN D convert_i32_f64(int a) {
  D r = double(a);
  return r;
}
// Two exact halves and one rounding.
FN D convert_u64_f64(uint64_t a) {
  D r = convert_u32_f64(uint(a >> 32u)) * 4294967296.0lf + convert_u32_f64(uint(a));
  return r;
}
FN D convert_i64_f64(int64_t a) {
  D m = convert_u64_f64(magnitude_i64(a));
  return a < int64_t(0) ? -m : m;
}
FN D convert_pred_f64(bool a) {
  return a ? 1.0lf : 0.0lf;
}
// NaN is not 0.
FN bool convert_f64_pred(double a) {
  return !(a == 0.0lf);
}
FN uint64_t bitcast_f64_u64(double a) {
  uvec2 w = unpackDouble2x32(a);
  return (uint64_t(w.y) << 32u) | uint64_t(w.x);
}
FN int64_t bitcast_f64_i64(double a) {
  return int64_t(bitcast_f64_u64(a));
}
FN D bitcast_u64_f64(uint64_t a) {
  return from_words_f64(uint(a >> 32u), uint(a));
}
FN D bitcast_i64_f64(int64_t a) {
  return bitcast_u64_f64(uint64_t(a));
}
FN int64_t bitcast_u64_i64(uint64_t a) {
  return int64_t(a);
}
FN uint64_t bitcast_i64_u64(int64_t a) {
  return uint64_t(a);
}
FN int64_t convert_i32_i64(int a) {
  return int64_t(a);
}
FN uint64_t convert_i32_u64(int a) {
  return uint64_t(int64_t(a));
}
FN int64_t convert_u32_i64(uint a) {
  return int64_t(a);
}
FN uint64_t convert_u32_u64(uint a) {
  return uint64_t(a);
}
FN int convert_i64_i32(int64_t a) {
  return int(uint(uint64_t(a)));
}
FN uint convert_i64_u32(int64_t a) {
  return uint(uint64_t(a));
}
FN uint64_t convert_i64_u64(int64_t a) {
  return uint64_t(a);
}
FN int convert_u64_i32(uint64_t a) {
  return int(uint(a));
}
FN uint convert_u64_u32(uint64_t a) {
  return uint(a);
}
FN int64_t convert_u64_i64(uint64_t a) {
  return int64_t(a);
}
FN int64_t convert_pred_i64(bool a) {
  return int64_t(a ? 1 : 0);
}
FN bool convert_i64_pred(int64_t a) {
  return a != int64_t(0);
}
FN uint64_t convert_pred_u64(bool a) {
  return uint64_t(a ? 1 : 0);
}
FN bool convert_u64_pred(uint64_t a) {
  return a != uint64_t(0);
}
// Rounded once from f64.
FN F round_from_f64_f16(double a) {
  return round_f16(convert_f64_f32_odd(a));
}
FN F round_from_f64_bf16(double a) {
  return round_bf16(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e5m2(double a) {
  return round_f8e5m2(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3(double a) {
  return round_f8e4m3(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3fn(double a) {
  return round_f8e4m3fn(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e3m4(double a) {
  return round_f8e3m4(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3b11fnuz(double a) {
  return round_f8e4m3b11fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3fnuz(double a) {
  return round_f8e4m3fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e5m2fnuz(double a) {
  return round_f8e5m2fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e8m0fnu(double a) {
  return round_f8e8m0fnu(convert_f64_f32_odd(a));
}
FN F round_from_f64_f4e2m1fn(double a) {
  return round_f4e2m1fn(convert_f64_f32_odd(a));
}
// Conversions between the complex carriers and the 64-bit ones.

FN dvec2 convert_c128_c128(dvec2 a) {
  return a;
}
FN dvec2 convert_c64_c128(vec2 a) {
  return dvec2(convert_f32_f64(a.x), convert_f32_f64(a.y));
}
FN vec2 convert_c128_c64(dvec2 a) {
  return vec2(convert_f64_f32(a.x), convert_f64_f32(a.y));
}
FN dvec2 convert_f32_c128(float a) {
  return dvec2(convert_f32_f64(a), 0.0lf);
}
FN F convert_c128_f32(dvec2 a) {
  return convert_f64_f32(a.x);
}
FN dvec2 convert_f64_c128(double a) {
  return dvec2(convert_f64_f64(a), 0.0lf);
}
FN D convert_c128_f64(dvec2 a) {
  return convert_f64_f64(a.x);
}
FN dvec2 convert_i32_c128(int a) {
  return dvec2(convert_i32_f64(a), 0.0lf);
}
FN int convert_c128_i32(dvec2 a) {
  return convert_f64_i32(a.x);
}
FN dvec2 convert_u32_c128(uint a) {
  return dvec2(convert_u32_f64(a), 0.0lf);
}
FN uint convert_c128_u32(dvec2 a) {
  return convert_f64_u32(a.x);
}
FN dvec2 convert_i64_c128(int64_t a) {
  return dvec2(convert_i64_f64(a), 0.0lf);
}
FN int64_t convert_c128_i64(dvec2 a) {
  return convert_f64_i64(a.x);
}
FN dvec2 convert_u64_c128(uint64_t a) {
  return dvec2(convert_u64_f64(a), 0.0lf);
}
FN uint64_t convert_c128_u64(dvec2 a) {
  return convert_f64_u64(a.x);
}
FN dvec2 convert_pred_c128(bool a) {
  return dvec2(convert_pred_f64(a), 0.0lf);
}
FN bool convert_c128_pred(dvec2 a) {
  return convert_f64_pred(a.x) || convert_f64_pred(a.y);
}
FN vec2 convert_f64_c64(double a) {
  return vec2(convert_f64_f32(a), 0.0f);
}
FN D convert_c64_f64(vec2 a) {
  return convert_f32_f64(a.x);
}
FN vec2 convert_i64_c64(int64_t a) {
  return vec2(convert_i64_f32(a), 0.0f);
}
FN int64_t convert_c64_i64(vec2 a) {
  return convert_f32_i64(a.x);
}
FN vec2 convert_u64_c64(uint64_t a) {
  return vec2(convert_u64_f32(a), 0.0f);
}
FN uint64_t convert_c64_u64(vec2 a) {
  return convert_f32_u64(a.x);
}
