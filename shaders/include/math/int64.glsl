// 64-bit integers, by the rules of int32.glsl. Needs GL_EXT_shader_explicit_arithmetic_types_int64.

FN int64_t add_i64(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) + uint64_t(b));
}
FN int64_t subtract_i64(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) - uint64_t(b));
}
FN int64_t multiply_i64(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}
FN int64_t negate_i64(int64_t a) {
  return int64_t(uint64_t(0) - uint64_t(a));
}
FN int64_t not_i64(int64_t a) {
  return ~a;
}
FN int64_t and_i64(int64_t a, int64_t b) {
  return a & b;
}
FN int64_t or_i64(int64_t a, int64_t b) {
  return a | b;
}
FN int64_t xor_i64(int64_t a, int64_t b) {
  return a ^ b;
}
FN int64_t maximum_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}
FN int64_t minimum_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}
// high where low > high.
FN int64_t clamp_i64(int64_t low, int64_t x, int64_t high) {
  return minimum_i64(maximum_i64(low, x), high);
}
FN bool compare_eq_i64(int64_t a, int64_t b) {
  return a == b;
}
FN bool compare_ne_i64(int64_t a, int64_t b) {
  return a != b;
}
FN bool compare_ge_i64(int64_t a, int64_t b) {
  return a >= b;
}
FN bool compare_gt_i64(int64_t a, int64_t b) {
  return a > b;
}
FN bool compare_le_i64(int64_t a, int64_t b) {
  return a <= b;
}
FN bool compare_lt_i64(int64_t a, int64_t b) {
  return a < b;
}
// The least value stays itself.
FN int64_t abs_i64(int64_t a) {
  return a < int64_t(0) ? negate_i64(a) : a;
}
// |a| as unsigned, right for the least value too.
FN uint64_t magnitude_i64(int64_t a) {
  return uint64_t(a < int64_t(0) ? negate_i64(a) : a);
}
FN int64_t sign_i64(int64_t a) {
  return a < int64_t(0) ? int64_t(-1) : (a > int64_t(0) ? int64_t(1) : int64_t(0));
}
// Towards zero; -1 for b = 0; the least value for least / -1. On magnitudes, since drivers differ on signed division.
FN int64_t divide_i64(int64_t a, int64_t b) {
  uint64_t m = magnitude_i64(b);
  uint64_t q = magnitude_i64(a) / (m == uint64_t(0) ? uint64_t(1) : m);
  int64_t r = int64_t((a < int64_t(0)) != (b < int64_t(0)) ? uint64_t(0) - q : q);
  return b == int64_t(0) ? int64_t(-1) : r;
}
// The sign of a; a for b = 0; 0 for least % -1.
FN int64_t remainder_i64(int64_t a, int64_t b) {
  uint64_t m = magnitude_i64(b);
  uint64_t r = magnitude_i64(a) % (m == uint64_t(0) ? uint64_t(1) : m);
  int64_t v = int64_t(a < int64_t(0) ? uint64_t(0) - r : r);
  return b == int64_t(0) ? a : v;
}
// 0 from the width on (a negative count is a large one).
FN int64_t shift_left_i64(int64_t a, int64_t b) {
  return uint64_t(b) < 64ul ? int64_t(uint64_t(a) << uint(uint64_t(b) & 63ul)) : int64_t(0);
}
// 0 from the width on.
FN int64_t shift_right_logical_i64(int64_t a, int64_t b) {
  return uint64_t(b) < 64ul ? int64_t(uint64_t(a) >> uint(uint64_t(b) & 63ul)) : int64_t(0);
}
// The sign from the width on.
FN int64_t shift_right_arithmetic_i64(int64_t a, int64_t b) {
  return a >> uint(uint64_t(b) < 64ul ? uint64_t(b) : 63ul);
}
FN int64_t popcnt_i64(int64_t a) {
  return int64_t(bitCount(uint(uint64_t(a) >> 32u)) + bitCount(uint(uint64_t(a))));
}
FN int64_t count_leading_zeros_i64(int64_t a) {
  uint h = uint(uint64_t(a) >> 32u);
  return int64_t(h != 0u ? 31 - findMSB(h) : 63 - findMSB(uint(uint64_t(a))));
}
FN uint64_t add_u64(uint64_t a, uint64_t b) {
  return a + b;
}
FN uint64_t subtract_u64(uint64_t a, uint64_t b) {
  return a - b;
}
FN uint64_t multiply_u64(uint64_t a, uint64_t b) {
  return a * b;
}
FN uint64_t negate_u64(uint64_t a) {
  return uint64_t(0) - a;
}
FN uint64_t not_u64(uint64_t a) {
  return ~a;
}
FN uint64_t and_u64(uint64_t a, uint64_t b) {
  return a & b;
}
FN uint64_t or_u64(uint64_t a, uint64_t b) {
  return a | b;
}
FN uint64_t xor_u64(uint64_t a, uint64_t b) {
  return a ^ b;
}
FN uint64_t maximum_u64(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}
FN uint64_t minimum_u64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}
// high where low > high.
FN uint64_t clamp_u64(uint64_t low, uint64_t x, uint64_t high) {
  return minimum_u64(maximum_u64(low, x), high);
}
FN bool compare_eq_u64(uint64_t a, uint64_t b) {
  return a == b;
}
FN bool compare_ne_u64(uint64_t a, uint64_t b) {
  return a != b;
}
FN bool compare_ge_u64(uint64_t a, uint64_t b) {
  return a >= b;
}
FN bool compare_gt_u64(uint64_t a, uint64_t b) {
  return a > b;
}
FN bool compare_le_u64(uint64_t a, uint64_t b) {
  return a <= b;
}
FN bool compare_lt_u64(uint64_t a, uint64_t b) {
  return a < b;
}
FN uint64_t abs_u64(uint64_t a) {
  return a;
}
FN uint64_t sign_u64(uint64_t a) {
  return a == uint64_t(0) ? uint64_t(0) : uint64_t(1);
}
// All ones for b = 0.
FN uint64_t divide_u64(uint64_t a, uint64_t b) {
  return b == uint64_t(0) ? 0xfffffffffffffffful : a / (b == uint64_t(0) ? uint64_t(1) : b);
}
// a for b = 0.
FN uint64_t remainder_u64(uint64_t a, uint64_t b) {
  return b == uint64_t(0) ? a : a % (b == uint64_t(0) ? uint64_t(1) : b);
}
// 0 from the width on (a negative count is a large one).
FN uint64_t shift_left_u64(uint64_t a, uint64_t b) {
  return b < 64ul ? a << uint(b & 63ul) : uint64_t(0);
}
// 0 from the width on.
FN uint64_t shift_right_logical_u64(uint64_t a, uint64_t b) {
  return b < 64ul ? a >> uint(b & 63ul) : uint64_t(0);
}
// The sign from the width on.
FN uint64_t shift_right_arithmetic_u64(uint64_t a, uint64_t b) {
  return uint64_t(int64_t(a) >> uint(b < 64ul ? b : 63ul));
}
FN uint64_t popcnt_u64(uint64_t a) {
  return uint64_t(bitCount(uint(a >> 32u)) + bitCount(uint(a)));
}
FN uint64_t count_leading_zeros_u64(uint64_t a) {
  uint h = uint(a >> 32u);
  return uint64_t(h != 0u ? 31 - findMSB(h) : 63 - findMSB(uint(a)));
}
// By squaring, modulo 2^64.
FN uint64_t power_u64(uint64_t a, uint64_t b) {
  uint64_t r = uint64_t(1);
  uint64_t x = a;
  uint64_t e = b;
  for (int i = 0; i < 64 && e != uint64_t(0); ++i) {
    r = (e & uint64_t(1)) != uint64_t(0) ? r * x : r;
    x = x * x;
    e = e >> 1u;
  }
  return r;
}
// By squaring; a negative exponent gives 0 but for bases 1 and -1, as XLA's.
FN int64_t power_i64(int64_t a, int64_t b) {
  int64_t r = int64_t(power_u64(uint64_t(a), uint64_t(b < int64_t(0) ? int64_t(0) : b)));
  int64_t unit = (b & int64_t(1)) != int64_t(0) ? a : int64_t(1);
  int64_t inverse = a == int64_t(1) || a == int64_t(-1) ? unit : int64_t(0);
  return b < int64_t(0) ? inverse : r;
}
// The high half of the product, from 32-bit digits.
FN uint64_t mulhi_u64(uint64_t a, uint64_t b) {
  uint64_t al = a & 0xfffffffful;
  uint64_t ah = a >> 32u;
  uint64_t bl = b & 0xfffffffful;
  uint64_t bh = b >> 32u;
  uint64_t mid = ah * bl + ((al * bl) >> 32u);
  uint64_t low = al * bh + (mid & 0xfffffffful);
  return ah * bh + (mid >> 32u) + (low >> 32u);
}
FN int64_t mulhi_i64(int64_t a, int64_t b) {
  uint64_t h = mulhi_u64(uint64_t(a), uint64_t(b));
  return int64_t(h - (a < int64_t(0) ? uint64_t(b) : uint64_t(0)) - (b < int64_t(0) ? uint64_t(a) : uint64_t(0)));
}
