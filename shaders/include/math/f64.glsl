// f64 in the device's own double: bit access through pairs of words, exact sums and products (double-double arithmetic),
// + - * / and friends, rounding, comparison. The same functions as f32.glsl, line by line.

FN uint high_word_f64(double x) {
  return unpackDouble2x32(x).y;
}
FN uint low_word_f64(double x) {
  return unpackDouble2x32(x).x;
}
FN D from_words_f64(uint high, uint low) {
  return packDouble2x32(uvec2(low, high));
}
FN bool is_nan_f64(double x) {
  uvec2 w = unpackDouble2x32(x);
  uint h = w.y & 0x7fffffffu;
  return h > 0x7ff00000u || (h == 0x7ff00000u && w.x != 0u);
}
FN bool is_inf_f64(double x) {
  uvec2 w = unpackDouble2x32(x);
  return (w.y & 0x7fffffffu) == 0x7ff00000u && w.x == 0u;
}
FN bool is_negative_f64(double x) {
  return (high_word_f64(x) >> 31) != 0u;
}
FN D nan_f64() {
  return from_words_f64(0x7ff80000u, 0u);
}
FN D inf_f64() {
  return from_words_f64(0x7ff00000u, 0u);
}
// |x|, exact.
FN D magnitude_f64(double x) {
  uvec2 w = unpackDouble2x32(x);
  return from_words_f64(w.y & 0x7fffffffu, w.x);
}
// |x| with the sign of s, exact.
FN D copysign_f64(double x, double s) {
  uvec2 w = unpackDouble2x32(x);
  return from_words_f64((w.y & 0x7fffffffu) | (high_word_f64(s) & 0x80000000u), w.x);
}
// x with its sign flipped if s is negative, exact.
FN D flipsign_f64(double x, double s) {
  uvec2 w = unpackDouble2x32(x);
  return from_words_f64(w.y ^ (high_word_f64(s) & 0x80000000u), w.x);
}
// 2^k for -1022 <= k <= 1023.
FN D pow2_f64(int k) {
  return from_words_f64(uint(k + 1023) << 20, 0u);
}
// The leading 26 bits of the significand; the rest, x - head, has 27, so a product of two rests may lose its last bit, 2^-106 of
// the whole.
FN D head_f64(double x) {
  uvec2 w = unpackDouble2x32(x);
  return from_words_f64(w.y, w.x & 0xf8000000u);
}
// a + b = result + lo exactly (Knuth).
FN D two_sum_f64(double a, double b, OUT(double) lo) {
  D s = a + b;
  D bb = s - a;
  D e = (a - (s - bb)) + (b - bb);
  lo = e;
  return s;
}
// The same where |a| >= |b| or a = 0 (Dekker).
FN D fast_two_sum_f64(double a, double b, OUT(double) lo) {
  D s = a + b;
  D e = b - (s - a);
  lo = e;
  return s;
}
// a * b = result + lo to 2^-106, for |a*b| > 2^-916 (below, the low product would be denormal).
FN D two_prod_f64(double a, double b, OUT(double) lo) {
  D p = a * b;
  D ah = head_f64(a);
  D al = a - ah;
  D bh = head_f64(b);
  D bl = b - bh;
  D e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  lo = e;
  return p;
}
// (ah + al) * (bh + bl) to about 2^-102.
FN D mul_dd_f64(double ah, double al, double bh, double bl, OUT(double) lo) {
  D e;
  D p = two_prod_f64(ah, bh, e);
  D t = e + (ah * bl + al * bh);
  return fast_two_sum_f64(p, t, lo);
}
// (ah + al) + (bh + bl) to about 2^-102, barring cancellation.
FN D add_dd_f64(double ah, double al, double bh, double bl, OUT(double) lo) {
  D e;
  D s = two_sum_f64(ah, bh, e);
  D t = e + (al + bl);
  return fast_two_sum_f64(s, t, lo);
}
// (nh + nl) / (dh + dl) to about 2^-102; the residual correction makes it insensitive to a division that is off by some ulp.
FN D div_dd_f64(double nh, double nl, double dh, double dl, OUT(double) lo) {
  D q = nh / dh;
  D e;
  D p = two_prod_f64(q, dh, e);
  D r = (((nh - p) - e) + nl) - q * dl;
  D t = r / dh;
  return fast_two_sum_f64(q, t, lo);
}
// sqrt(h + l) to about 2^-102, for h > 0 in the middle of the range; 0 for 0.
FN D sqrt_dd_f64(double h, double l, OUT(double) lo) {
  D s = sqrt(h);
  D e;
  D p = two_prod_f64(s, s, e);
  D r = ((h - p) - e) + l;
  D t = h > 0.0lf ? r / (s + s) : 0.0lf;
  return fast_two_sum_f64(s, t, lo);
}
// |x| = result * 2^k with the result in [1, 2), for finite nonzero x, denormals too.
FN D frexp_f64(double x, OUT(int) k) {
  bool small = (high_word_f64(x) & 0x7fffffffu) < 0x00100000u;
  D y = small ? x * 18014398509481984.0lf : x;
  uvec2 w = unpackDouble2x32(y);
  k = int((w.y >> 20) & 0x7ffu) - (small ? 1077 : 1023);
  return from_words_f64(0x3ff00000u | (w.y & 0x000fffffu), w.x);
}
// (hi + lo) * 2^k rounded once, denormal results and overflow to infinity included; |hi| >= |lo|, a denormal sum
// is multiplied plainly. Denormals: adding
// hi + lo to c, whose unit is theirs, leaves their bits below c's exponent.
FN D scale_f64(double hi, double lo, int k) {
  D r = hi + lo;
  uvec2 w = unpackDouble2x32(r);
  uint sign = w.y & 0x80000000u;
  uint m = w.y & 0x7fffffffu;
  int e = int(m >> 20) + k;
  D c = pow2_f64(k > 0 ? -1022 : (k < -2000 ? 978 : -1022 - k));
  D d;
  D s = two_sum_f64(c, flipsign_f64(hi, r), d);
  D t = s + (d + flipsign_f64(lo, r));
  uvec2 v = unpackDouble2x32(t);
  D denormal = from_words_f64(sign | (v.y - high_word_f64(c)), v.x);
  D normal = from_words_f64(sign | uint(e << 20) | (m & 0x000fffffu), w.x);
  D inf = from_words_f64(sign | 0x7ff00000u, 0u);
  D zero = from_words_f64(sign, 0u);
  D plain = r * pow2_f64(k > 1023 ? 1023 : (k < -1022 ? -1022 : k));
  D v2 = e > 2046 ? inf : (e > 0 ? normal : (e < -60 ? zero : denormal));
  return m < 0x00100000u ? plain : (m > 0x7fefffffu ? r : v2);
}

FN D abs_f64(double a) {
  return magnitude_f64(a);
}
FN D negate_f64(double a) {
  uvec2 w = unpackDouble2x32(a);
  return from_words_f64(w.y ^ 0x80000000u, w.x);
}
FN D add_f64(double a, double b) {
  D r = a + b;
  return r;
}
FN D subtract_f64(double a, double b) {
  D r = a - b;
  return r;
}
FN D multiply_f64(double a, double b) {
  D r = a * b;
  return r;
}
FN D divide_f64(double a, double b) {
  D r = a / b;
  return r;
}
FN D sqrt_f64(double a) {
  D r = sqrt(a);
  return a < 0.0lf || is_nan_f64(a) ? nan_f64() : r;
}
// -1, -0, +0, 1 or NaN.
FN D sign_f64(double a) {
  return is_nan_f64(a) || a == 0.0lf ? a : copysign_f64(1.0lf, a);
}
FN bool is_finite_f64(double a) {
  return (high_word_f64(a) & 0x7fffffffu) < 0x7ff00000u;
}
// NaN if either is; -0 < +0.
FN D maximum_f64(double a, double b) {
  D equal = is_negative_f64(a) ? b : a;
  D r = a > b ? a : (b > a ? b : equal);
  return is_nan_f64(a) || is_nan_f64(b) ? nan_f64() : r;
}
FN D minimum_f64(double a, double b) {
  D equal = is_negative_f64(a) ? a : b;
  D r = a < b ? a : (b < a ? b : equal);
  return is_nan_f64(a) || is_nan_f64(b) ? nan_f64() : r;
}
// min(max(low, x), high): high where low > high.
FN D clamp_f64(double low, double x, double high) {
  return minimum_f64(maximum_f64(low, x), high);
}
// Exact: the truncated quotient's remainder with the sign of a, by long division of the significands, 24 bits a step.
FN D remainder_step_f64(double r, double b, double bh, double bl, double scale) {
  D t = r * scale;
  D q = floor(t / b);
  // Both differences are exact: q has at most 25 bits, bh 26 and bl 27.
  D v = (t - q * bh) - q * bl;
  D up = v < 0.0lf ? v + b : v;
  return up >= b ? up - b : up;
}
FN D remainder_f64(double a, double b) {
  D x = magnitude_f64(a);
  D y = magnitude_f64(b);
  bool invalid = !is_finite_f64(a) || is_nan_f64(b) || y == 0.0lf;
  bool whole = invalid || x < y;
  int kx;
  int ky;
  D r = frexp_f64(whole ? 1.0lf : x, kx);
  D m = frexp_f64(whole ? 1.0lf : y, ky);
  D h = head_f64(m);
  D l = m - h;
  r = r >= m ? r - m : r;
  for (int d = kx - ky; d > 0; d -= 24) {
    r = remainder_step_f64(r, m, h, l, pow2_f64(d < 24 ? d : 24));
  }
  D v = copysign_f64(scale_f64(r, 0.0lf, ky), a);
  return invalid ? nan_f64() : (whole ? a : v);
}

// floor and ceil come from the driver, exact everywhere that was measured; the sign of a zero result is put back.
FN D floor_f64(double a) {
  D r = floor(a);
  return is_nan_f64(a) ? a : (r == 0.0lf ? copysign_f64(r, a) : r);
}
FN D ceil_f64(double a) {
  return negate_f64(floor_f64(negate_f64(a)));
}
FN D truncate_f64(double a) {
  return copysign_f64(floor_f64(magnitude_f64(a)), a);
}
// To the nearest integer, ties to even: adding and subtracting 2^52 rounds what is below 2^52.
FN D round_nearest_even_f64(double a) {
  D m = magnitude_f64(a);
  D s = m + 4503599627370496.0lf;
  D r = s - 4503599627370496.0lf;
  return m < 4503599627370496.0lf ? copysign_f64(r, a) : a;
}
// Ties away from zero: the fraction decides, exactly.
FN D round_nearest_afz_f64(double a) {
  D m = magnitude_f64(a);
  D t = floor(m);
  D r = (m - t) >= 0.5lf ? t + 1.0lf : t;
  return m < 4503599627370496.0lf ? copysign_f64(r, a) : a;
}
// Rounds to nearest even at the given exponent and mantissa width (results too small for a normal number become 0, as XLA has
// it), overflow to infinity, NaN kept.
FN D reduce_precision_f64(double a, int exponent_bits, int mantissa_bits) {
  D x = magnitude_f64(a);
  bool regular = x > 0.0lf && is_finite_f64(a);
  int k;
  D m = frexp_f64(regular ? x : 1.0lf, k);
  // Denormals have their unit at a fixed place.
  int base = k < -1022 ? -1022 : k;
  D f = m * pow2_f64(k - base);
  int wide = exponent_bits < 11 ? (1 << (exponent_bits - 1)) - 1 : 1023;
  D c = pow2_f64(mantissa_bits < 52 ? 52 - mantissa_bits : 0);
  D s = f + c;
  D r = mantissa_bits < 52 ? s - c : f;
  // The unit is c's only while the sum stays below 2c: with no mantissa bits ties go by the exponent's parity instead.
  bool coarse = mantissa_bits == 0;
  D g = f > 1.5lf || (f == 1.5lf && (base & 1) == 0) ? 2.0lf : 1.0lf;
  D v = coarse ? g : r;
  int e = base + (v >= 2.0lf ? 1 : 0);
  D scaled = scale_f64(v, 0.0lf, base);
  D w = e > wide ? inf_f64() : (exponent_bits < 11 && (e < 1 - wide || v < 1.0lf) ? 0.0lf : scaled);
  return regular ? copysign_f64(w, a) : a;
}

FN bool compare_eq_f64(double a, double b) {
  return a == b;
}
FN bool compare_ne_f64(double a, double b) {
  return !(a == b);
}
FN bool compare_ge_f64(double a, double b) {
  return a >= b;
}
FN bool compare_gt_f64(double a, double b) {
  return a > b;
}
FN bool compare_le_f64(double a, double b) {
  return a <= b;
}
FN bool compare_lt_f64(double a, double b) {
  return a < b;
}
// -NaN < -inf < .. < -0 < +0 < .. < inf < NaN by the words of sign and magnitude.
FN bool total_less_f64(double a, double b) {
  uvec2 x = unpackDouble2x32(a);
  uvec2 y = unpackDouble2x32(b);
  uint xm = (x.y >> 31) != 0u ? 0xffffffffu : 0u;
  uint ym = (y.y >> 31) != 0u ? 0xffffffffu : 0u;
  uint xh = x.y ^ (xm | 0x80000000u);
  uint yh = y.y ^ (ym | 0x80000000u);
  return xh < yh || (xh == yh && (x.x ^ xm) < (y.x ^ ym));
}
FN bool compare_total_eq_f64(double a, double b) {
  uvec2 x = unpackDouble2x32(a);
  uvec2 y = unpackDouble2x32(b);
  return x.x == y.x && x.y == y.y;
}
FN bool compare_total_ne_f64(double a, double b) {
  return !compare_total_eq_f64(a, b);
}
FN bool compare_total_ge_f64(double a, double b) {
  return !total_less_f64(a, b);
}
FN bool compare_total_gt_f64(double a, double b) {
  return total_less_f64(b, a);
}
FN bool compare_total_le_f64(double a, double b) {
  return !total_less_f64(b, a);
}
FN bool compare_total_lt_f64(double a, double b) {
  return total_less_f64(a, b);
}
FN D real_f64(double a) {
  return a;
}
FN D imag_f64(double a) {
  return 0.0lf;
}
FN dvec2 complex_f64(double re, double im) {
  return dvec2(re, im);
}
