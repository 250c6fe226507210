// f64: bit access through pairs of words, exact sums and products (double-double arithmetic), + - * / and friends,
// rounding, comparison. The same functions as f32.glsl, line by line, over the device's own double or
// soft_double.glsl's.

#ifndef VXLA_EMULATE_F64
FN uvec2 unpack_f64(f64_t x) {
  return unpackDouble2x32(x);
}
FN D pack_f64(uvec2 words) {
  return packDouble2x32(words);
}
FN D from_words_f64(uint high, uint low) {
  return packDouble2x32(uvec2(low, high));
}
FN D from_int_f64(int a) {
  D r = double(a);
  return r;
}
FN D from_uint_f64(uint a) {
  D r = double(a);
  return r;
}
// high * 2^32 + low: two exact halves (each through int, which drivers agree on) and one rounding.
FN D from_unsigned_words_f64(uint high, uint low) {
  D h = double(int(high >> 16)) * 65536.0lf + double(int(high & 0xffffu));
  D l = double(int(low >> 16)) * 65536.0lf + double(int(low & 0xffffu));
  D r = h * 4294967296.0lf + l;
  return r;
}
// Truncated, for |a| < 2^31 + 1.
FN int to_int_f64(f64_t a) {
  return int(a);
}
FN D negate_f64(f64_t a) {
  D r = -a;
  return r;
}
FN D add_f64(f64_t a, f64_t b) {
  D r = a + b;
  return r;
}
FN D subtract_f64(f64_t a, f64_t b) {
  D r = a - b;
  return r;
}
FN D multiply_f64(f64_t a, f64_t b) {
  D r = a * b;
  return r;
}
#ifdef VXLA_CORRECT_F64
FN D divide_f64(f64_t a, f64_t b) {
  return pack_f64(quotient_words(unpack_f64(a), unpack_f64(b)));
}
// The root of a >= 0.
FN D sqrt_plain_f64(f64_t a) {
  return pack_f64(sqrt_words(unpack_f64(a)));
}
#else
FN D divide_f64(f64_t a, f64_t b) {
  D r = a / b;
  return r;
}
FN D sqrt_plain_f64(f64_t a) {
  D r = sqrt(a);
  return r;
}
#endif
// a * b + c, rounded twice: a step of Horner's scheme.
FN D horner_f64(f64_t a, f64_t b, f64_t c) {
  D r = a * b + c;
  return r;
}
// floor, but for the sign of a zero and NaN.
FN D floor_plain_f64(f64_t a) {
  D r = floor(a);
  return r;
}
FN bool compare_eq_f64(f64_t a, f64_t b) {
  return a == b;
}
FN bool compare_ne_f64(f64_t a, f64_t b) {
  return !(a == b);
}
FN bool compare_ge_f64(f64_t a, f64_t b) {
  return a >= b;
}
FN bool compare_gt_f64(f64_t a, f64_t b) {
  return a > b;
}
FN bool compare_le_f64(f64_t a, f64_t b) {
  return a <= b;
}
FN bool compare_lt_f64(f64_t a, f64_t b) {
  return a < b;
}
#endif
// The leading 26 bits of the significand, rounded; the rest, x - head, has 26 as well, so that products of the two are
// exact.
FN D head_f64(f64_t x) {
  uvec2 w = unpack_f64(x);
  uint low = w.x + 0x04000000u;
  return from_words_f64(w.y + (low < w.x ? 1u : 0u), low & 0xf8000000u);
}
#ifndef VXLA_EMULATE_F64
// a + b = result + lo exactly (Knuth).
FN D two_sum_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  D s = a + b;
  D bb = s - a;
  D e = (a - (s - bb)) + (b - bb);
  lo = e;
  return s;
}
// The same where |a| >= |b| or a = 0 (Dekker).
FN D fast_two_sum_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  D s = a + b;
  D e = b - (s - a);
  lo = e;
  return s;
}
// a * b = result + lo exactly, for |a|, |b|, |a*b| < 2^1023; lo is 0 for |a*b| < 2^-916, where it could be denormal.
FN D two_prod_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  D p = a * b;
  D ah = head_f64(a);
  D al = a - ah;
  D bh = head_f64(b);
  D bl = b - bh;
  D e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  lo = (unpackDouble2x32(p).y & 0x7fffffffu) < 0x06b00000u ? 0.0lf : e;
  return p;
}
FN c128_t complex_f64(f64_t re, f64_t im) {
  return dvec2(re, im);
}
#endif
// a b + c rounded once. In integers also where the device has f64: drivers split their own.
FN D fma_f64(f64_t a, f64_t b, f64_t c) {
  return pack_f64(fma_words(unpack_f64(a), unpack_f64(b), unpack_f64(c)));
}
FN uint high_word_f64(f64_t x) {
  return unpack_f64(x).y;
}
FN uint low_word_f64(f64_t x) {
  return unpack_f64(x).x;
}
FN bool is_nan_f64(f64_t x) {
  uvec2 w = unpack_f64(x);
  uint h = w.y & 0x7fffffffu;
  return or_pred(h > 0x7ff00000u, and_pred(h == 0x7ff00000u, w.x != 0u));
}
FN bool is_inf_f64(f64_t x) {
  uvec2 w = unpack_f64(x);
  return and_pred((w.y & 0x7fffffffu) == 0x7ff00000u, w.x == 0u);
}
FN bool is_negative_f64(f64_t x) {
  return (high_word_f64(x) >> 31) != 0u;
}
FN bool is_zero_f64(f64_t x) {
  uvec2 w = unpack_f64(x);
  return ((w.y & 0x7fffffffu) | w.x) == 0u;
}
FN D nan_f64() {
  return from_words_f64(0x7ff80000u, 0u);
}
FN D inf_f64() {
  return from_words_f64(0x7ff00000u, 0u);
}
// |x|, exact.
FN D magnitude_f64(f64_t x) {
  uvec2 w = unpack_f64(x);
  return from_words_f64(w.y & 0x7fffffffu, w.x);
}
// |x| with the sign of s, exact.
FN D copysign_f64(f64_t x, f64_t s) {
  uvec2 w = unpack_f64(x);
  return from_words_f64((w.y & 0x7fffffffu) | (high_word_f64(s) & 0x80000000u), w.x);
}
// x with its sign flipped if s is negative, exact.
FN D flipsign_f64(f64_t x, f64_t s) {
  uvec2 w = unpack_f64(x);
  return from_words_f64(w.y ^ (high_word_f64(s) & 0x80000000u), w.x);
}
// 2^k for -1022 <= k <= 1023.
FN D pow2_f64(int k) {
  return from_words_f64(uint(k + 1023) << 20, 0u);
}
// (ah + al) * (bh + bl) to about 2^-102.
FN D mul_dd_f64(f64_t ah, f64_t al, f64_t bh, f64_t bl, OUT(f64_t) lo) {
  D e;
  D p = two_prod_f64(ah, bh, e);
  D t = add_f64(e, add_f64(multiply_f64(ah, bl), multiply_f64(al, bh)));
  return fast_two_sum_f64(p, t, lo);
}
// Products of many factors in two doubles, as f32.glsl has them; plain below 2^-900.
FN c128_t ordered_pair_f64(c128_t a) {
  D lo;
  D hi = fast_two_sum_f64(a.x, a.y, lo);
  bool plain = (high_word_f64(hi) & 0x7fffffffu) - 0x07b00000u >= 0x78400000u;
  return complex_f64(select_f64(plain, a.x, hi), select_f64(plain, 0.0lf, lo));
}
FN c128_t multiply_pair_f64(c128_t a, c128_t b) {
  D e;
  D p = two_prod_f64(a.x, b.x, e);
  D t = add_f64(e, add_f64(multiply_f64(a.x, b.y), multiply_f64(a.y, b.x)));
  return ordered_pair_f64(complex_f64(p, t));
}
FN c128_t multiply_into_pair_f64(c128_t a, c128_t b) {
  D e;
  D p = two_prod_f64(a.x, b.x, e);
  return complex_f64(p, add_f64(multiply_f64(a.y, b.x), e));
}
// (ah + al) + (bh + bl) to about 2^-102, barring cancellation.
FN D add_dd_f64(f64_t ah, f64_t al, f64_t bh, f64_t bl, OUT(f64_t) lo) {
  D e;
  D s = two_sum_f64(ah, bh, e);
  D t = add_f64(e, add_f64(al, bl));
  return two_sum_f64(s, t, lo);
}
// (nh + nl) / (dh + dl) to about 2^-102.
FN D div_dd_f64(f64_t nh, f64_t nl, f64_t dh, f64_t dl, OUT(f64_t) lo) {
  D q = divide_f64(nh, dh);
  D e;
  D p = two_prod_f64(q, dh, e);
  D r = subtract_f64(add_f64(subtract_f64(subtract_f64(nh, p), e), nl), multiply_f64(q, dl));
  D t = divide_f64(r, dh);
  return fast_two_sum_f64(q, t, lo);
}
// sqrt(h + l) to about 2^-102, for h > 0 in the middle of the range; 0 for 0.
FN D sqrt_dd_f64(f64_t h, f64_t l, OUT(f64_t) lo) {
  D s = sqrt_plain_f64(h);
  D e;
  D p = two_prod_f64(s, s, e);
  D r = add_f64(subtract_f64(subtract_f64(h, p), e), l);
  D t = select_f64(compare_gt_f64(h, 0.0lf), divide_f64(r, add_f64(s, s)), 0.0lf);
  return fast_two_sum_f64(s, t, lo);
}
// |x| = result * 2^k with the result in [1, 2), for finite nonzero x, denormals too.
FN D frexp_f64(f64_t x, OUT(int) k) {
  bool small = (high_word_f64(x) & 0x7fffffffu) < 0x00100000u;
  D y = select_f64(small, multiply_f64(x, 18014398509481984.0lf), x);
  uvec2 w = unpack_f64(y);
  k = int((w.y >> 20) & 0x7ffu) - (small ? 1077 : 1023);
  return from_words_f64(0x3ff00000u | (w.y & 0x000fffffu), w.x);
}
// (hi + lo) * 2^k rounded once, denormal results and overflow to infinity included; |hi| >= |lo|, a denormal sum
// is multiplied plainly. Denormals: adding
// hi + lo to c, whose unit is theirs, leaves their bits below c's exponent.
FN D scale_f64(f64_t hi, f64_t lo, int k) {
  D r = add_f64(hi, lo);
  uvec2 w = unpack_f64(r);
  uint sign = w.y & 0x80000000u;
  uint m = w.y & 0x7fffffffu;
  int e = int(m >> 20) + k;
  D c = pow2_f64(select_i32(k > 0, -1022, select_i32(k < -2000, 978, -1022 - k)));
  D d;
  D s = two_sum_f64(c, flipsign_f64(hi, r), d);
  D t = add_f64(s, add_f64(d, flipsign_f64(lo, r)));
  uvec2 v = unpack_f64(t);
  D denormal = from_words_f64(sign | (v.y - high_word_f64(c)), v.x);
  D normal = from_words_f64(sign | uint(e << 20) | (m & 0x000fffffu), w.x);
  D inf = from_words_f64(sign | 0x7ff00000u, 0u);
  D zero = from_words_f64(sign, 0u);
  D plain = multiply_f64(r, pow2_f64(select_i32(k > 1023, 1023, k < -1022 ? -1022 : k)));
  D v2 = select_f64(e > 2046, inf, select_f64(e > 0, normal, e < -60 ? zero : denormal));
  return select_f64(m < 0x00100000u, plain, m > 0x7fefffffu ? r : v2);
}
FN D abs_f64(f64_t a) {
  return magnitude_f64(a);
}
FN D sqrt_f64(f64_t a) {
  D r = sqrt_plain_f64(a);
  return select_f64(or_pred(compare_lt_f64(a, 0.0lf), is_nan_f64(a)), nan_f64(), r);
}
// -1, -0, +0, 1 or NaN.
FN D sign_f64(f64_t a) {
  return select_f64(or_pred(is_nan_f64(a), compare_eq_f64(a, 0.0lf)), a, copysign_f64(1.0lf, a));
}
FN bool is_finite_f64(f64_t a) {
  return (high_word_f64(a) & 0x7fffffffu) < 0x7ff00000u;
}
// NaN if either is; -0 < +0.
FN D maximum_f64(f64_t a, f64_t b) {
  D equal = is_negative_f64(a) ? b : a;
  D r = select_f64(compare_gt_f64(a, b), a, compare_gt_f64(b, a) ? b : equal);
  return select_f64(or_pred(is_nan_f64(a), is_nan_f64(b)), nan_f64(), r);
}
FN D minimum_f64(f64_t a, f64_t b) {
  D equal = is_negative_f64(a) ? a : b;
  D r = select_f64(compare_lt_f64(a, b), a, compare_lt_f64(b, a) ? b : equal);
  return select_f64(or_pred(is_nan_f64(a), is_nan_f64(b)), nan_f64(), r);
}
// min(max(low, x), high): high where low > high.
FN D clamp_f64(f64_t low, f64_t x, f64_t high) {
  return minimum_f64(maximum_f64(low, x), high);
}
#ifndef VXLA_EMULATE_F64
// Exact: the truncated quotient's remainder with the sign of a, by long division of the significands, 24 bits a step.
FN D remainder_step_f64(f64_t r, f64_t b, f64_t bh, f64_t bl, f64_t scale) {
  D t = multiply_f64(r, scale);
  D q = floor_plain_f64(divide_f64(t, b));
  // Both differences are exact: q has at most 25 bits, bh and bl 26.
  D v = subtract_f64(subtract_f64(t, multiply_f64(q, bh)), multiply_f64(q, bl));
  D up = select_f64(compare_lt_f64(v, 0.0lf), add_f64(v, b), v);
  return select_f64(compare_ge_f64(up, b), subtract_f64(up, b), up);
}
FN D remainder_f64(f64_t a, f64_t b) {
  D x = magnitude_f64(a);
  D y = magnitude_f64(b);
  bool invalid = or_pred(or_pred(!is_finite_f64(a), is_nan_f64(b)), compare_eq_f64(y, 0.0lf));
  bool whole = or_pred(invalid, compare_lt_f64(x, y));
  int kx;
  int ky;
  D r = frexp_f64(whole ? 1.0lf : x, kx);
  D m = frexp_f64(whole ? 1.0lf : y, ky);
  D h = head_f64(m);
  D l = subtract_f64(m, h);
  r = select_f64(compare_ge_f64(r, m), subtract_f64(r, m), r);
  for (int d = kx - ky; d > 0; d -= 24) {
    r = remainder_step_f64(r, m, h, l, pow2_f64(d < 24 ? d : 24));
  }
  D v = scale_f64(r, 0.0lf, ky);
  return select_f64(invalid, nan_f64(), copysign_f64(whole ? x : v, a));
}
#endif
// floor and ceil come from the driver, exact everywhere that was measured; the sign of a zero result is put back.
FN D floor_f64(f64_t a) {
  D r = floor_plain_f64(a);
  return select_f64(is_nan_f64(a), a, select_f64(compare_eq_f64(r, 0.0lf), copysign_f64(0.0lf, a), r));
}
FN D ceil_f64(f64_t a) {
  return negate_f64(floor_f64(negate_f64(a)));
}
FN D truncate_f64(f64_t a) {
  return copysign_f64(floor_f64(magnitude_f64(a)), a);
}
// To the nearest integer, ties to even: adding and subtracting 2^52 rounds what is below 2^52.
FN D round_nearest_even_f64(f64_t a) {
  D m = magnitude_f64(a);
  D s = add_f64(m, 4503599627370496.0lf);
  D r = subtract_f64(s, 4503599627370496.0lf);
  return copysign_f64(select_f64(compare_lt_f64(m, 4503599627370496.0lf), r, m), a);
}
// Ties away from zero: the fraction decides, exactly.
FN D round_nearest_afz_f64(f64_t a) {
  D m = magnitude_f64(a);
  D t = floor_plain_f64(m);
  D r = select_f64(compare_ge_f64(subtract_f64(m, t), 0.5lf), add_f64(t, 1.0lf), t);
  return copysign_f64(select_f64(compare_lt_f64(m, 4503599627370496.0lf), r, m), a);
}
// Rounds to nearest even at the given exponent and mantissa width (results too small for a normal number become 0, as
// XLA has it), overflow to infinity, NaN kept, but infinity where no mantissa bit is left to tell it.
FN D reduce_precision_f64(f64_t a, int exponent_bits, int mantissa_bits) {
  uvec2 w = unpack_f64(a);
  uint sign = w.y & 0x80000000u;
  uint m = w.y & 0x7fffffffu;
  int drop = select_i32(mantissa_bits < 52, 52 - mantissa_bits, 0);
  bool far = drop > 31;
  uint s = uint(drop) & 31u;
  // Half of the last place that is kept, less what keeps a tie at an even one.
  uint even = 1u - (((far ? m : w.x) >> s) & 1u);
  uint unit = 1u << (uint(drop - 1) & 31u);
  bool high_half = drop > 32;
  uint half_low = select_u32(high_half || drop == 0, 0u, unit);
  uint half_high = high_half ? unit : 0u;
  uint less = drop == 0 ? 0u : even;
  uint low = half_low - less;
  uint l = w.x + low;
  uint h = m + (half_high - (half_low < less ? 1u : 0u)) + (l < low ? 1u : 0u);
  uint kept_low = select_u32(far, 0u, (l >> s) << s);
  uint kept_high = select_u32(far, (h >> s) << s, h);
  int e = int(kept_high >> 20) - 1023;
  bool narrow = exponent_bits < 11;
  int wide = select_i32(narrow, (1 << (uint(exponent_bits - 1) & 31u)) - 1, 1023);
  bool over = narrow && e > wide;
  bool under = narrow && e < 1 - wide;
  uint high = select_u32(over, 0x7ff00000u, under ? 0u : kept_high);
  D r = from_words_f64(sign | high, over || under ? 0u : kept_low);
  D nan = select_f64(mantissa_bits > 0, a, inf_f64());
  return select_f64(is_nan_f64(a), nan, r);
}
// -NaN < -inf < .. < -0 < +0 < .. < inf < NaN by the words of sign and magnitude.
FN bool total_less_f64(f64_t a, f64_t b) {
  uvec2 x = unpack_f64(a);
  uvec2 y = unpack_f64(b);
  uint xm = (x.y >> 31) != 0u ? 0xffffffffu : 0u;
  uint ym = (y.y >> 31) != 0u ? 0xffffffffu : 0u;
  uint xh = x.y ^ (xm | 0x80000000u);
  uint yh = y.y ^ (ym | 0x80000000u);
  return or_pred(xh < yh, and_pred(xh == yh, (x.x ^ xm) < (y.x ^ ym)));
}
FN bool compare_total_eq_f64(f64_t a, f64_t b) {
  uvec2 x = unpack_f64(a);
  uvec2 y = unpack_f64(b);
  return and_pred(x.x == y.x, x.y == y.y);
}
FN bool compare_total_ne_f64(f64_t a, f64_t b) {
  return !compare_total_eq_f64(a, b);
}
FN bool compare_total_ge_f64(f64_t a, f64_t b) {
  return !total_less_f64(a, b);
}
FN bool compare_total_gt_f64(f64_t a, f64_t b) {
  return total_less_f64(b, a);
}
FN bool compare_total_le_f64(f64_t a, f64_t b) {
  return !total_less_f64(b, a);
}
FN bool compare_total_lt_f64(f64_t a, f64_t b) {
  return total_less_f64(a, b);
}
FN D real_f64(f64_t a) {
  return a;
}
FN D imag_f64(f64_t a) {
  return 0.0lf;
}
