// Conversions and bitcasts with a 64-bit side, and between real and complex carriers. Floats to integers: truncated,
// saturated, NaN gives 0. Everything else is correctly rounded. Narrowing f64 works on the words, since drivers fold
// double(float(x)) away.

FN D convert_f64_f64(f64_t a) {
  return a;
}
FN i64_t convert_i64_i64(i64_t a) {
  return a;
}
FN u64_t convert_u64_u64(u64_t a) {
  return a;
}
// f32 to f64 through the words, denormals too.
FN D convert_f32_f64(float a) {
  uint b = floatBitsToUint(a);
  uint m = b & 0x7fffffffu;
  uint h = select_u32(m > 0x7f7fffffu, (m >> 3) | 0x7ff00000u, (m >> 3) + 0x38000000u);
  // A denormal is normal in f64: its leading bit goes to the exponent.
  int top = findMSB(m);
  uint s = m << uint((23 - top) & 31);
  uint g = (uint(874 + top) << 20) | ((s & 0x007fffffu) >> 3);
  bool small = m < 0x00800000u;
  uint high = select_u32(m == 0u, 0u, small ? g : h);
  return from_words_f64(high | (b & 0x80000000u), (small ? s : m) << 29);
}
// The bits of |a| cut to f32 and, in rest, what was cut off as a fraction of the last unit in 32 bits with a sticky
// last bit.
FN uint narrow_bits_f64(f64_t a, OUT(uint) rest) {
  uvec2 w = unpack_f64(a);
  uint m = ((w.y & 0x000fffffu) << 3) | (w.x >> 29);
  uint r = w.x << 3;
  int e = int((w.y >> 20) & 0x7ffu) - 896;
  uint s = uint(select_i32(e > 0, 0, select_i32(e < -30, 31, 1 - e)));
  uint full = m | 0x00800000u;
  uint cut = select_u32(s == 0u, r, (full << ((32u - s) & 31u)) | (r != 0u ? 1u : 0u));
  // Far below the least denormal only the sticky bit is left (and nothing for 0).
  bool gone = e < -25;
  bool zero = and_pred((w.y & 0x7fffffffu) == 0u, w.x == 0u);
  rest = select_u32(gone, zero ? 0u : 1u, cut);
  return select_u32(e > 0, (uint(e) << 23) | m, select_u32(gone, 0u, full >> s));
}
// To nearest even.
FN F convert_f64_f32(f64_t a) {
  uint rest;
  uint b = narrow_bits_f64(a, rest);
  uint r = b + (or_pred(rest > 0x80000000u, and_pred(rest == 0x80000000u, (b & 1u) != 0u)) ? 1u : 0u);
  uint v = compare_gt_f64(magnitude_f64(a), 3.4028235677973366e38lf) || r > 0x7f800000u ? 0x7f800000u : r;
  uint s = high_word_f64(a) & 0x80000000u;
  return select_f32(is_nan_f64(a), nan_f32(), uintBitsToFloat(v | s));
}
// To odd: cut, the last bit set if anything was cut off, so that rounding to a narrower format afterwards rounds once.
FN F convert_f64_f32_odd(f64_t a) {
  uint rest;
  uint b = narrow_bits_f64(a, rest);
  uint r = b | (rest != 0u ? 1u : 0u);
  uint v = select_u32(is_inf_f64(a), 0x7f800000u,
                      compare_ge_f64(magnitude_f64(a), 3.4028236692093846e38lf) ? 0x7f7fffffu : r);
  uint s = high_word_f64(a) & 0x80000000u;
  return select_f32(is_nan_f64(a), nan_f32(), uintBitsToFloat(v | s));
}
FN int convert_f64_i32(f64_t a) {
  bool in_range = and_pred(compare_gt_f64(a, -2147483649.0lf), compare_lt_f64(a, 2147483648.0lf));
  int r = to_int_f64(in_range ? a : 0.0lf);
  return select_i32(in_range, r,
                    select_i32(compare_ge_f64(a, 2147483648.0lf), 0x7fffffff,
                               select_i32(compare_lt_f64(a, 0.0lf), -2147483647 - 1, 0)));
}
FN uint convert_f64_u32(f64_t a) {
  bool in_range = and_pred(compare_gt_f64(a, 0.0lf), compare_lt_f64(a, 4294967296.0lf));
  bool upper = compare_ge_f64(a, 2147483648.0lf);
  D v = select_f64(in_range, select_f64(upper, subtract_f64(a, 2147483648.0lf), a), 0.0lf);
  uint r = uint(to_int_f64(v)) + (upper ? 0x80000000u : 0u);
  return select_u32(in_range, r, compare_ge_f64(a, 4294967296.0lf) ? 0xffffffffu : 0u);
}
FN int convert_f64_int_saturate(f64_t a, int low, int high) {
  int r = convert_f64_i32(a);
  return select_i32(r < low, low, r > high ? high : r);
}
FN uint convert_f64_uint_saturate(f64_t a, uint high) {
  uint r = convert_f64_u32(a);
  return r > high ? high : r;
}
// 0 <= a < 2^64, truncated.
FN u64_t truncate_words_f64(f64_t a) {
  uvec2 w = unpack_f64(a);
  int e = int((w.y >> 20) & 0x7ffu) - 1075;
  u64_t m = from_words_u64((w.y & 0x000fffffu) | 0x00100000u, w.x);
  u64_t up = shl_u64(m, uint(e < 0 ? 0 : e) & 63u);
  u64_t down = shr_u64(m, uint(select_i32(e > 0, 0, select_i32(e < -63, 63, -e))));
  return e < 0 ? down : up;
}
FN u64_t convert_f64_u64(f64_t a) {
  bool positive = compare_gt_f64(a, 0.0lf);
  bool below = compare_lt_f64(a, 18446744073709551616.0lf);
  u64_t r = truncate_words_f64(a);
  u64_t limit = from_words_u64(positive ? 0xffffffffu : 0u, positive ? 0xffffffffu : 0u);
  return positive && below ? r : limit;
}
FN i64_t convert_f64_i64(f64_t a) {
  bool negative = is_negative_f64(a);
  bool in_range = compare_lt_f64(magnitude_f64(a), 9223372036854775808.0lf);
  i64_t r = convert_u64_i64(signed_u64(truncate_words_f64(a), negative));
  uint ones = or_pred(negative, is_nan_f64(a)) ? 0u : 0xffffffffu;
  i64_t limit = from_words_i64(select_u32(is_nan_f64(a), 0u, negative ? 0x80000000u : 0x7fffffffu), ones);
  return in_range ? r : limit;
}
// f32 to 64-bit integers on the significand, so that no double is needed.
FN u64_t convert_f32_u64(float a) {
  uint b = floatBitsToUint(a);
  int e = int((b >> 23) & 0xffu) - 150;
  uint m = (b & 0x007fffffu) | 0x00800000u;
  u64_t up = shl_u64(convert_u32_u64(m), uint(select_i32(e < 0, 0, e > 40 ? 40 : e)));
  u64_t down = convert_u32_u64(m >> uint(select_i32(e < -24, 24, select_i32(e < 0, -e, 0))));
  u64_t v = e < 0 ? down : up;
  bool in_range = a > 0.0f && a < 18446744073709551616.0f;
  uint limit = a > 1.0f ? 0xffffffffu : 0u;
  u64_t far = from_words_u64(limit, limit);
  return in_range ? v : far;
}
FN i64_t convert_f32_i64(float a) {
  bool negative = is_negative_f32(a);
  u64_t m = convert_f32_u64(magnitude_f32(a));
  u64_t limit = from_words_u64(negative ? 0x80000000u : 0x7fffffffu, negative ? 0u : 0xffffffffu);
  return convert_u64_i64(signed_u64(minimum_u64(m, limit), negative));
}
// The top 31 bits with a sticky last bit are rounded once by the 32-bit conversion.
FN F convert_u64_f32(u64_t a) {
  int z = int(low_word_u64(count_leading_zeros_u64(a)));
  uint s = uint(select_i32(z < 33, 33 - z, 0));
  uint head = low_word_u64(shr_u64(a, s));
  bool exact = compare_eq_u64(shl_u64(convert_u32_u64(head), s), a);
  F r = convert_u32_f32(head | (exact ? 0u : 1u)) * pow2_f32(int(s));
  return r;
}
FN F convert_i64_f32(i64_t a) {
  F m = convert_u64_f32(magnitude_i64(a));
  return select_f32(is_negative_i64(a), -m, m);
}
FN F convert_u64_f32_odd(u64_t a) {
  int z = int(low_word_u64(count_leading_zeros_u64(a)));
  uint s = uint(select_i32(z < 40, 40 - z, 0));
  uint head = low_word_u64(shr_u64(a, s));
  bool exact = compare_eq_u64(shl_u64(convert_u32_u64(head), s), a);
  F r = float(int(head | (exact ? 0u : 1u))) * pow2_f32(int(s));
  return r;
}
FN F convert_i64_f32_odd(i64_t a) {
  F m = convert_u64_f32_odd(magnitude_i64(a));
  return select_f32(is_negative_i64(a), -m, m);
}
FN D convert_u32_f64(uint a) {
  return from_unsigned_words_f64(0u, a);
}
FN D convert_i32_f64(int a) {
  return from_int_f64(a);
}
FN D convert_u64_f64(u64_t a) {
  return from_unsigned_words_f64(high_word_u64(a), low_word_u64(a));
}
FN D convert_i64_f64(i64_t a) {
  D m = convert_u64_f64(magnitude_i64(a));
  return select_f64(is_negative_i64(a), negate_f64(m), m);
}
FN D convert_pred_f64(bool a) {
  return a ? 1.0lf : 0.0lf;
}
// NaN is not 0.
FN bool convert_f64_pred(f64_t a) {
  return !compare_eq_f64(a, 0.0lf);
}
FN u64_t bitcast_f64_u64(f64_t a) {
  return pack_u64(unpack_f64(a));
}
FN i64_t bitcast_f64_i64(f64_t a) {
  return pack_i64(unpack_f64(a));
}
FN D bitcast_u64_f64(u64_t a) {
  return pack_f64(unpack_u64(a));
}
FN D bitcast_i64_f64(i64_t a) {
  return pack_f64(unpack_i64(a));
}
FN i64_t bitcast_u64_i64(u64_t a) {
  return convert_u64_i64(a);
}
FN u64_t bitcast_i64_u64(i64_t a) {
  return convert_i64_u64(a);
}
FN u64_t convert_i32_u64(int a) {
  return convert_i64_u64(convert_i32_i64(a));
}
FN i64_t convert_u32_i64(uint a) {
  return from_words_i64(0u, a);
}
FN int convert_i64_i32(i64_t a) {
  return int(low_word_i64(a));
}
FN uint convert_i64_u32(i64_t a) {
  return low_word_i64(a);
}
FN int convert_u64_i32(u64_t a) {
  return int(low_word_u64(a));
}
FN uint convert_u64_u32(u64_t a) {
  return low_word_u64(a);
}
FN i64_t convert_pred_i64(bool a) {
  return convert_i32_i64(a ? 1 : 0);
}
FN bool convert_i64_pred(i64_t a) {
  return !is_zero_i64(a);
}
FN u64_t convert_pred_u64(bool a) {
  return convert_u32_u64(a ? 1u : 0u);
}
FN bool convert_u64_pred(u64_t a) {
  return !is_zero_u64(a);
}
// Rounded once from f64.
FN F round_from_f64_f16(f64_t a) {
  return round_f16(convert_f64_f32_odd(a));
}
FN F round_from_f64_bf16(f64_t a) {
  return round_bf16(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e5m2(f64_t a) {
  return round_f8e5m2(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3(f64_t a) {
  return round_f8e4m3(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3fn(f64_t a) {
  return round_f8e4m3fn(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e3m4(f64_t a) {
  return round_f8e3m4(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3b11fnuz(f64_t a) {
  return round_f8e4m3b11fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e4m3fnuz(f64_t a) {
  return round_f8e4m3fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e5m2fnuz(f64_t a) {
  return round_f8e5m2fnuz(convert_f64_f32_odd(a));
}
FN F round_from_f64_f8e8m0fnu(f64_t a) {
  return round_f8e8m0fnu(convert_f64_f32_odd(a));
}
FN F round_from_f64_f4e2m1fn(f64_t a) {
  return round_f4e2m1fn(convert_f64_f32_odd(a));
}
FN F round_from_f64_f6e2m3fn(f64_t a) {
  return round_f6e2m3fn(convert_f64_f32_odd(a));
}
FN F round_from_f64_f6e3m2fn(f64_t a) {
  return round_f6e3m2fn(convert_f64_f32_odd(a));
}
// Conversions between the complex carriers and the 64-bit ones.

FN c128_t convert_c128_c128(c128_t a) {
  return a;
}
FN c128_t convert_c64_c128(vec2 a) {
  return complex_f64(convert_f32_f64(a.x), convert_f32_f64(a.y));
}
FN vec2 convert_c128_c64(c128_t a) {
  return vec2(convert_f64_f32(a.x), convert_f64_f32(a.y));
}
FN c128_t convert_f32_c128(float a) {
  return complex_f64(convert_f32_f64(a), 0.0lf);
}
FN F convert_c128_f32(c128_t a) {
  return convert_f64_f32(a.x);
}
FN c128_t convert_f64_c128(f64_t a) {
  return complex_f64(convert_f64_f64(a), 0.0lf);
}
FN D convert_c128_f64(c128_t a) {
  return convert_f64_f64(a.x);
}
FN c128_t convert_i32_c128(int a) {
  return complex_f64(convert_i32_f64(a), 0.0lf);
}
FN int convert_c128_i32(c128_t a) {
  return convert_f64_i32(a.x);
}
FN c128_t convert_u32_c128(uint a) {
  return complex_f64(convert_u32_f64(a), 0.0lf);
}
FN uint convert_c128_u32(c128_t a) {
  return convert_f64_u32(a.x);
}
FN c128_t convert_i64_c128(i64_t a) {
  return complex_f64(convert_i64_f64(a), 0.0lf);
}
FN i64_t convert_c128_i64(c128_t a) {
  return convert_f64_i64(a.x);
}
FN c128_t convert_u64_c128(u64_t a) {
  return complex_f64(convert_u64_f64(a), 0.0lf);
}
FN u64_t convert_c128_u64(c128_t a) {
  return convert_f64_u64(a.x);
}
FN c128_t convert_pred_c128(bool a) {
  return complex_f64(convert_pred_f64(a), 0.0lf);
}
FN bool convert_c128_pred(c128_t a) {
  return or_pred(convert_f64_pred(a.x), convert_f64_pred(a.y));
}
FN vec2 convert_f64_c64(f64_t a) {
  return vec2(convert_f64_f32(a), 0.0f);
}
FN D convert_c64_f64(vec2 a) {
  return convert_f32_f64(a.x);
}
FN vec2 convert_i64_c64(i64_t a) {
  return vec2(convert_i64_f32(a), 0.0f);
}
FN i64_t convert_c64_i64(vec2 a) {
  return convert_f32_i64(a.x);
}
FN vec2 convert_u64_c64(u64_t a) {
  return vec2(convert_u64_f32(a), 0.0f);
}
FN u64_t convert_c64_u64(vec2 a) {
  return convert_f32_u64(a.x);
}
