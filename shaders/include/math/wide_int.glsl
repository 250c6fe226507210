// 64-bit integers over pairs of 32-bit words (x low, y high), for devices without them: what int64.glsl says with the
// device's own. No branches and no integer division, both of which software drivers are slow at.

FN i64_t select_i64(bool condition, i64_t a, i64_t b) {
  return condition ? a : b;
}
FN u64_t select_u64(bool condition, u64_t a, u64_t b) {
  return condition ? a : b;
}
#ifdef VXLA_EMULATE_I64
FN uint high_word_i64(i64_t a) {
  return a.y;
}
FN uint low_word_i64(i64_t a) {
  return a.x;
}
FN i64_t from_words_i64(uint high, uint low) {
  return i64_t(low, high);
}
FN uint high_word_u64(u64_t a) {
  return a.y;
}
FN uint low_word_u64(u64_t a) {
  return a.x;
}
FN u64_t from_words_u64(uint high, uint low) {
  return u64_t(low, high);
}
FN i64_t convert_u64_i64(u64_t a) {
  return i64_t(a.x, a.y);
}
FN u64_t convert_i64_u64(i64_t a) {
  return u64_t(a.x, a.y);
}
FN i64_t convert_i32_i64(int a) {
  return i64_t(uint(a), uint(a >> 31));
}
FN u64_t convert_u32_u64(uint a) {
  return u64_t(a, 0u);
}
FN bool is_negative_i64(i64_t a) {
  return a.y >= 0x80000000u;
}
FN bool is_zero_i64(i64_t a) {
  return (a.x | a.y) == 0u;
}
FN bool is_zero_u64(u64_t a) {
  return (a.x | a.y) == 0u;
}
FN u64_t add_u64(u64_t a, u64_t b) {
  uint l = a.x + b.x;
  return u64_t(l, a.y + b.y + (l < a.x ? 1u : 0u));
}
FN u64_t subtract_u64(u64_t a, u64_t b) {
  return u64_t(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}
FN u64_t multiply_u64(u64_t a, u64_t b) {
  uint h;
  uint l;
  umulExtended(a.x, b.x, h, l);
  return u64_t(l, h + a.x * b.y + a.y * b.x);
}
FN u64_t negate_u64(u64_t a) {
  return u64_t(0u - a.x, ~a.y + (a.x == 0u ? 1u : 0u));
}
FN u64_t not_u64(u64_t a) {
  return u64_t(~a.x, ~a.y);
}
FN u64_t and_u64(u64_t a, u64_t b) {
  return u64_t(a.x & b.x, a.y & b.y);
}
FN u64_t or_u64(u64_t a, u64_t b) {
  return u64_t(a.x | b.x, a.y | b.y);
}
FN u64_t xor_u64(u64_t a, u64_t b) {
  return u64_t(a.x ^ b.x, a.y ^ b.y);
}
FN bool compare_eq_u64(u64_t a, u64_t b) {
  return ((a.x ^ b.x) | (a.y ^ b.y)) == 0u;
}
FN bool compare_ne_u64(u64_t a, u64_t b) {
  return ((a.x ^ b.x) | (a.y ^ b.y)) != 0u;
}
FN bool compare_lt_u64(u64_t a, u64_t b) {
  bool high = a.y < b.y;
  bool low = a.x < b.x;
  bool same = a.y == b.y;
  return same ? low : high;
}
FN bool compare_gt_u64(u64_t a, u64_t b) {
  return compare_lt_u64(b, a);
}
FN bool compare_le_u64(u64_t a, u64_t b) {
  return !compare_lt_u64(b, a);
}
FN bool compare_ge_u64(u64_t a, u64_t b) {
  return !compare_lt_u64(a, b);
}
// Counts below 64.
FN u64_t shl_u64(u64_t a, uint count) {
  uint n = count & 31u;
  bool far = count > 31u;
  uint l = a.x << n;
  uint h = (a.y << n) | ((a.x >> 1) >> (31u - n));
  return u64_t(far ? 0u : l, far ? l : h);
}
FN u64_t shr_u64(u64_t a, uint count) {
  uint n = count & 31u;
  bool far = count > 31u;
  uint h = a.y >> n;
  uint l = (a.x >> n) | ((a.y << 1) << (31u - n));
  return u64_t(far ? h : l, far ? 0u : h);
}
FN i64_t sar_i64(i64_t a, uint count) {
  uint n = count & 31u;
  bool far = count > 31u;
  uint sign = uint(int(a.y) >> 31);
  uint h = uint(int(a.y) >> n);
  uint l = (a.x >> n) | ((a.y << 1) << (31u - n));
  return i64_t(far ? h : l, far ? sign : h);
}
FN u64_t mulhi_u64(u64_t a, u64_t b) {
  uint h0;
  uint l0;
  umulExtended(a.x, b.x, h0, l0);
  uint h1;
  uint l1;
  umulExtended(a.x, b.y, h1, l1);
  uint h2;
  uint l2;
  umulExtended(a.y, b.x, h2, l2);
  uint h3;
  uint l3;
  umulExtended(a.y, b.y, h3, l3);
  uint s = h0 + l1;
  uint t = s + l2;
  uint carry = (s < h0 ? 1u : 0u) + (t < s ? 1u : 0u);
  return add_u64(u64_t(l3, h3), add_u64(u64_t(h1, 0u), u64_t(h2 + carry, h2 + carry < carry ? 1u : 0u)));
}
// Through int, since drivers differ on unsigned words above 2^31; the value's nearest float.
FN F near_word_u64(uint a) {
  F h = float(int(a >> 16)) * 65536.0f;
  F r = h + float(int(a & 0xffffu));
  return r;
}
FN F near_u64(u64_t a) {
  F r = near_word_u64(a.y) * 4294967296.0f + near_word_u64(a.x);
  return r;
}
// The whole part of 0 <= a < 2^64.
FN u64_t whole_u64(float a) {
  uint b = floatBitsToUint(a);
  int e = int(b >> 23) - 150;
  uint m = (b & 0x007fffffu) | 0x00800000u;
  uint right = uint(select_i32(e < -31, 31, select_i32(e < 0, -e, 0)));
  return shl_u64(u64_t(m >> right, 0u), uint(e < 0 ? 0 : e) & 63u);
}
// A quotient from below, one part in 2^19 short at most, and what is left of a: four of them leave less than 2b.
FN u64_t quotient_step_u64(u64_t a, u64_t b, float inverse, OUT(u64_t) rest) {
  u64_t q = whole_u64(near_u64(a) * inverse);
  rest = subtract_u64(a, multiply_u64(q, b));
  return q;
}
// Of b other than 0.
FN u64_t quotient_u64(u64_t a, u64_t b, OUT(u64_t) rest) {
  F inverse = quotient_guess_f32(0.99999905f, near_u64(b));
  u64_t r0;
  u64_t q0 = quotient_step_u64(a, b, inverse, r0);
  u64_t r1;
  u64_t q1 = quotient_step_u64(r0, b, inverse, r1);
  u64_t r2;
  u64_t q2 = quotient_step_u64(r1, b, inverse, r2);
  u64_t r3;
  u64_t q3 = quotient_step_u64(r2, b, inverse, r3);
  u64_t q = add_u64(add_u64(q0, q1), add_u64(q2, q3));
  u64_t less = subtract_u64(r3, b);
  bool once_more = compare_ge_u64(r3, b);
  rest = once_more ? less : r3;
  return add_u64(q, u64_t(once_more ? 1u : 0u, 0u));
}
FN i64_t add_i64(i64_t a, i64_t b) {
  uint l = a.x + b.x;
  return i64_t(l, a.y + b.y + (l < a.x ? 1u : 0u));
}
FN i64_t subtract_i64(i64_t a, i64_t b) {
  return i64_t(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}
FN i64_t multiply_i64(i64_t a, i64_t b) {
  uint h;
  uint l;
  umulExtended(a.x, b.x, h, l);
  return i64_t(l, h + a.x * b.y + a.y * b.x);
}
FN i64_t negate_i64(i64_t a) {
  return i64_t(0u - a.x, ~a.y + (a.x == 0u ? 1u : 0u));
}
FN i64_t not_i64(i64_t a) {
  return i64_t(~a.x, ~a.y);
}
FN i64_t and_i64(i64_t a, i64_t b) {
  return i64_t(a.x & b.x, a.y & b.y);
}
FN i64_t or_i64(i64_t a, i64_t b) {
  return i64_t(a.x | b.x, a.y | b.y);
}
FN i64_t xor_i64(i64_t a, i64_t b) {
  return i64_t(a.x ^ b.x, a.y ^ b.y);
}
FN bool compare_eq_i64(i64_t a, i64_t b) {
  return ((a.x ^ b.x) | (a.y ^ b.y)) == 0u;
}
FN bool compare_ne_i64(i64_t a, i64_t b) {
  return ((a.x ^ b.x) | (a.y ^ b.y)) != 0u;
}
FN bool compare_lt_i64(i64_t a, i64_t b) {
  bool high = int(a.y) < int(b.y);
  bool low = a.x < b.x;
  bool same = a.y == b.y;
  return same ? low : high;
}
FN bool compare_gt_i64(i64_t a, i64_t b) {
  return compare_lt_i64(b, a);
}
FN bool compare_le_i64(i64_t a, i64_t b) {
  return !compare_lt_i64(b, a);
}
FN bool compare_ge_i64(i64_t a, i64_t b) {
  return !compare_lt_i64(a, b);
}
#endif
