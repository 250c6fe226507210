// 64-bit integers, by the rules of int32.glsl: the device's own here, pairs of words in wide_int.glsl, and what both
// share.

#ifndef VXLA_EMULATE_I64
FN uint high_word_i64(i64_t a) {
  return uint(u64_t(a) >> 32u);
}
FN uint low_word_i64(i64_t a) {
  return uint(u64_t(a));
}
FN i64_t from_words_i64(uint high, uint low) {
  return i64_t((u64_t(high) << 32u) | u64_t(low));
}
FN i64_t add_i64(i64_t a, i64_t b) {
  return i64_t(u64_t(a) + u64_t(b));
}
FN i64_t subtract_i64(i64_t a, i64_t b) {
  return i64_t(u64_t(a) - u64_t(b));
}
FN i64_t multiply_i64(i64_t a, i64_t b) {
  return i64_t(u64_t(a) * u64_t(b));
}
FN i64_t negate_i64(i64_t a) {
  return i64_t(u64_t(0) - u64_t(a));
}
FN i64_t not_i64(i64_t a) {
  return ~a;
}
FN i64_t and_i64(i64_t a, i64_t b) {
  return a & b;
}
FN i64_t or_i64(i64_t a, i64_t b) {
  return a | b;
}
FN i64_t xor_i64(i64_t a, i64_t b) {
  return a ^ b;
}
FN bool compare_eq_i64(i64_t a, i64_t b) {
  return a == b;
}
FN bool compare_ne_i64(i64_t a, i64_t b) {
  return a != b;
}
FN bool compare_ge_i64(i64_t a, i64_t b) {
  return a >= b;
}
FN bool compare_gt_i64(i64_t a, i64_t b) {
  return a > b;
}
FN bool compare_le_i64(i64_t a, i64_t b) {
  return a <= b;
}
FN bool compare_lt_i64(i64_t a, i64_t b) {
  return a < b;
}
FN uint high_word_u64(u64_t a) {
  return uint(u64_t(a) >> 32u);
}
FN uint low_word_u64(u64_t a) {
  return uint(u64_t(a));
}
FN u64_t from_words_u64(uint high, uint low) {
  return u64_t((u64_t(high) << 32u) | u64_t(low));
}
FN u64_t add_u64(u64_t a, u64_t b) {
  return a + b;
}
FN u64_t subtract_u64(u64_t a, u64_t b) {
  return a - b;
}
FN u64_t multiply_u64(u64_t a, u64_t b) {
  return a * b;
}
FN u64_t negate_u64(u64_t a) {
  return u64_t(0) - a;
}
FN u64_t not_u64(u64_t a) {
  return ~a;
}
FN u64_t and_u64(u64_t a, u64_t b) {
  return a & b;
}
FN u64_t or_u64(u64_t a, u64_t b) {
  return a | b;
}
FN u64_t xor_u64(u64_t a, u64_t b) {
  return a ^ b;
}
FN bool compare_eq_u64(u64_t a, u64_t b) {
  return a == b;
}
FN bool compare_ne_u64(u64_t a, u64_t b) {
  return a != b;
}
FN bool compare_ge_u64(u64_t a, u64_t b) {
  return a >= b;
}
FN bool compare_gt_u64(u64_t a, u64_t b) {
  return a > b;
}
FN bool compare_le_u64(u64_t a, u64_t b) {
  return a <= b;
}
FN bool compare_lt_u64(u64_t a, u64_t b) {
  return a < b;
}
// Counts below 64.
FN u64_t shl_u64(u64_t a, uint count) {
  return a << count;
}
FN u64_t shr_u64(u64_t a, uint count) {
  return a >> count;
}
FN i64_t sar_i64(i64_t a, uint count) {
  return a >> count;
}
// Of b other than 0.
FN u64_t quotient_u64(u64_t a, u64_t b, OUT(u64_t) rest) {
  u64_t q = a / b;
  rest = a - q * b;
  return q;
}
// The high half of the product, from 32-bit digits.
FN u64_t mulhi_u64(u64_t a, u64_t b) {
  u64_t al = a & 0xfffffffful;
  u64_t ah = a >> 32u;
  u64_t bl = b & 0xfffffffful;
  u64_t bh = b >> 32u;
  u64_t mid = ah * bl + ((al * bl) >> 32u);
  u64_t low = al * bh + (mid & 0xfffffffful);
  return ah * bh + (mid >> 32u) + (low >> 32u);
}
FN i64_t convert_u64_i64(u64_t a) {
  return i64_t(a);
}
FN u64_t convert_i64_u64(i64_t a) {
  return u64_t(a);
}
// By words: Mesa 22.3 compares what it extended itself with a constant as if both were unsigned.
FN i64_t convert_i32_i64(int a) {
  return from_words_i64(uint(a >> 31), uint(a));
}
FN u64_t convert_u32_u64(uint a) {
  return u64_t(a);
}
FN bool is_negative_i64(i64_t a) {
  return a < i64_t(0);
}
FN bool is_zero_i64(i64_t a) {
  return a == i64_t(0);
}
FN bool is_zero_u64(u64_t a) {
  return a == u64_t(0);
}
#endif
// unknown_u32 of 64 bits.
FN i64_t unknown_i64(i64_t a) {
  #ifdef VXLA_UNKNOWN_ZERO
  return xor_i64(a, from_words_i64(VXLA_UNKNOWN_ZERO, 0u));
  #else
  return a;
  #endif
}
FN u64_t unknown_u64(u64_t a) {
  #ifdef VXLA_UNKNOWN_ZERO
  return xor_u64(a, from_words_u64(VXLA_UNKNOWN_ZERO, 0u));
  #else
  return a;
  #endif
}
FN uvec2 unpack_i64(i64_t a) {
  return uvec2(low_word_i64(a), high_word_i64(a));
}
FN uvec2 unpack_u64(u64_t a) {
  return uvec2(low_word_u64(a), high_word_u64(a));
}
FN i64_t pack_i64(uvec2 words) {
  return from_words_i64(words.y, words.x);
}
FN u64_t pack_u64(uvec2 words) {
  return from_words_u64(words.y, words.x);
}
// |a| as unsigned, right for the least value too.
FN u64_t magnitude_i64(i64_t a) {
  i64_t m = negate_i64(a);
  return convert_i64_u64(is_negative_i64(a) ? m : a);
}
// a, negated if asked.
FN u64_t signed_u64(u64_t a, bool negative) {
  u64_t m = negate_u64(a);
  return negative ? m : a;
}
FN i64_t maximum_i64(i64_t a, i64_t b) {
  return compare_gt_i64(a, b) ? a : b;
}
FN i64_t minimum_i64(i64_t a, i64_t b) {
  return compare_lt_i64(a, b) ? a : b;
}
// high where low > high.
FN i64_t clamp_i64(i64_t low, i64_t x, i64_t high) {
  return minimum_i64(maximum_i64(low, x), high);
}
// The least value stays itself.
FN i64_t abs_i64(i64_t a) {
  return convert_u64_i64(magnitude_i64(a));
}
FN i64_t sign_i64(i64_t a) {
  return convert_i32_i64(select_i32(is_negative_i64(a), -1, is_zero_i64(a) ? 0 : 1));
}
// Towards zero; -1 for b = 0; the least value for least / -1. On magnitudes, since drivers differ on signed division.
FN i64_t divide_i64(i64_t a, i64_t b) {
  bool by_zero = is_zero_i64(b);
  u64_t one = convert_u32_u64(1u);
  u64_t m = magnitude_i64(b);
  u64_t rest;
  u64_t q = quotient_u64(magnitude_i64(a), by_zero ? one : m, rest);
  i64_t r = convert_u64_i64(signed_u64(q, is_negative_i64(a) != is_negative_i64(b)));
  i64_t minus = convert_i32_i64(-1);
  return by_zero ? minus : r;
}
// The sign of a; a for b = 0; 0 for least % -1.
FN i64_t remainder_i64(i64_t a, i64_t b) {
  bool by_zero = is_zero_i64(b);
  u64_t one = convert_u32_u64(1u);
  u64_t m = magnitude_i64(b);
  u64_t r;
  quotient_u64(magnitude_i64(a), by_zero ? one : m, r);
  i64_t v = convert_u64_i64(signed_u64(r, is_negative_i64(a)));
  return by_zero ? a : v;
}
// 0 from the width on (a negative count is a large one).
FN i64_t shift_left_i64(i64_t a, i64_t b) {
  uint n = low_word_i64(b);
  bool fits = high_word_i64(b) == 0u && n < 64u;
  i64_t r = convert_u64_i64(shl_u64(convert_i64_u64(a), n & 63u));
  i64_t zero = from_words_i64(0u, 0u);
  return fits ? r : zero;
}
// 0 from the width on.
FN i64_t shift_right_logical_i64(i64_t a, i64_t b) {
  uint n = low_word_i64(b);
  bool fits = high_word_i64(b) == 0u && n < 64u;
  i64_t r = convert_u64_i64(shr_u64(convert_i64_u64(a), n & 63u));
  i64_t zero = from_words_i64(0u, 0u);
  return fits ? r : zero;
}
// The sign from the width on.
FN i64_t shift_right_arithmetic_i64(i64_t a, i64_t b) {
  uint n = low_word_i64(b);
  bool fits = high_word_i64(b) == 0u && n < 64u;
  return sar_i64(a, fits ? n : 63u);
}
FN i64_t popcnt_i64(i64_t a) {
  return from_words_i64(0u, uint(bitCount(high_word_i64(a)) + bitCount(low_word_i64(a))));
}
FN i64_t count_leading_zeros_i64(i64_t a) {
  uint h = high_word_i64(a);
  int low = 63 - findMSB(low_word_i64(a));
  int high = 31 - findMSB(h);
  return from_words_i64(0u, uint(h != 0u ? high : low));
}
FN u64_t maximum_u64(u64_t a, u64_t b) {
  return compare_gt_u64(a, b) ? a : b;
}
FN u64_t minimum_u64(u64_t a, u64_t b) {
  return compare_lt_u64(a, b) ? a : b;
}
// high where low > high.
FN u64_t clamp_u64(u64_t low, u64_t x, u64_t high) {
  return minimum_u64(maximum_u64(low, x), high);
}
FN u64_t abs_u64(u64_t a) {
  return a;
}
FN u64_t sign_u64(u64_t a) {
  return convert_u32_u64(is_zero_u64(a) ? 0u : 1u);
}
// All ones for b = 0.
FN u64_t divide_u64(u64_t a, u64_t b) {
  bool by_zero = is_zero_u64(b);
  u64_t one = convert_u32_u64(1u);
  u64_t rest;
  u64_t q = quotient_u64(a, by_zero ? one : b, rest);
  u64_t ones = from_words_u64(0xffffffffu, 0xffffffffu);
  return by_zero ? ones : q;
}
// a for b = 0.
FN u64_t remainder_u64(u64_t a, u64_t b) {
  bool by_zero = is_zero_u64(b);
  u64_t one = convert_u32_u64(1u);
  u64_t r;
  quotient_u64(a, by_zero ? one : b, r);
  return by_zero ? a : r;
}
// 0 from the width on (a negative count is a large one).
FN u64_t shift_left_u64(u64_t a, u64_t b) {
  uint n = low_word_u64(b);
  bool fits = high_word_u64(b) == 0u && n < 64u;
  u64_t r = shl_u64(a, n & 63u);
  u64_t zero = from_words_u64(0u, 0u);
  return fits ? r : zero;
}
// 0 from the width on.
FN u64_t shift_right_logical_u64(u64_t a, u64_t b) {
  uint n = low_word_u64(b);
  bool fits = high_word_u64(b) == 0u && n < 64u;
  u64_t r = shr_u64(a, n & 63u);
  u64_t zero = from_words_u64(0u, 0u);
  return fits ? r : zero;
}
// The sign from the width on.
FN u64_t shift_right_arithmetic_u64(u64_t a, u64_t b) {
  uint n = low_word_u64(b);
  bool fits = high_word_u64(b) == 0u && n < 64u;
  return convert_i64_u64(sar_i64(convert_u64_i64(a), fits ? n : 63u));
}
FN u64_t popcnt_u64(u64_t a) {
  return from_words_u64(0u, uint(bitCount(high_word_u64(a)) + bitCount(low_word_u64(a))));
}
FN u64_t count_leading_zeros_u64(u64_t a) {
  uint h = high_word_u64(a);
  int low = 63 - findMSB(low_word_u64(a));
  int high = 31 - findMSB(h);
  return from_words_u64(0u, uint(h != 0u ? high : low));
}
// By squaring, modulo 2^64.
FN u64_t power_u64(u64_t a, u64_t b) {
  u64_t r = convert_u32_u64(1u);
  u64_t x = a;
  u64_t e = b;
  for (int i = 0; i < 64 && !is_zero_u64(e); ++i) {
    u64_t p = multiply_u64(r, x);
    r = (low_word_u64(e) & 1u) != 0u ? p : r;
    x = multiply_u64(x, x);
    e = shr_u64(e, 1u);
  }
  return r;
}
// By squaring; a negative exponent gives 0 but for bases 1 and -1, as XLA's.
FN i64_t power_i64(i64_t a, i64_t b) {
  bool negative = is_negative_i64(b);
  i64_t zero = convert_i32_i64(0);
  i64_t one = convert_i32_i64(1);
  i64_t r = convert_u64_i64(power_u64(convert_i64_u64(a), convert_i64_u64(negative ? zero : b)));
  i64_t unit = (low_word_i64(b) & 1u) != 0u ? a : one;
  bool has_inverse = or_pred(compare_eq_i64(a, one), compare_eq_i64(a, convert_i32_i64(-1)));
  i64_t inverse = has_inverse ? unit : zero;
  return negative ? inverse : r;
}
FN i64_t mulhi_i64(i64_t a, i64_t b) {
  u64_t x = convert_i64_u64(a);
  u64_t y = convert_i64_u64(b);
  u64_t zero = convert_u32_u64(0u);
  u64_t h = mulhi_u64(x, y);
  u64_t m = subtract_u64(h, is_negative_i64(a) ? y : zero);
  return convert_u64_i64(subtract_u64(m, is_negative_i64(b) ? x : zero));
}
