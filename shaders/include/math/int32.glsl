// 32-bit integers and pred, and the narrow integers that travel in them. Exact. XLA's rules where GLSL has none: x / 0
// is all ones, x % 0 = x, least / -1 = least, shifts by the width or more give 0 or the sign. Arithmetic is unsigned
// underneath, so it wraps on every driver and in C++. A narrow result is wrapped by wrap_<t>, which also makes s8's
// -128 / -1 right.

// The same value, which a driver that folds zeros (VXLA_UNKNOWN_ZERO) knows nothing of: floats are made of it.
FN uint unknown_u32(uint a) {
  #ifdef VXLA_UNKNOWN_ZERO
  return a ^ VXLA_UNKNOWN_ZERO;
  #else
  return a;
  #endif
}
FN int unknown_i32(int a) {
  return int(unknown_u32(uint(a)));
}
FN bool unknown_pred(bool a) {
  #ifdef VXLA_UNKNOWN_ZERO
  return a != (VXLA_UNKNOWN_ZERO != 0u);
  #else
  return a;
  #endif
}
FN int add_i32(int a, int b) {
  return int(uint(a) + uint(b));
}
FN int subtract_i32(int a, int b) {
  return int(uint(a) - uint(b));
}
FN int multiply_i32(int a, int b) {
  return int(uint(a) * uint(b));
}
FN int negate_i32(int a) {
  return int(uint(0) - uint(a));
}
FN int not_i32(int a) {
  return ~a;
}
FN int and_i32(int a, int b) {
  return a & b;
}
FN int or_i32(int a, int b) {
  return a | b;
}
FN int xor_i32(int a, int b) {
  return a ^ b;
}
FN int maximum_i32(int a, int b) {
  return a > b ? a : b;
}
FN int minimum_i32(int a, int b) {
  return a < b ? a : b;
}
// high where low > high.
FN int clamp_i32(int low, int x, int high) {
  return minimum_i32(maximum_i32(low, x), high);
}
FN bool compare_eq_i32(int a, int b) {
  return a == b;
}
FN bool compare_ne_i32(int a, int b) {
  return a != b;
}
FN bool compare_ge_i32(int a, int b) {
  return a >= b;
}
FN bool compare_gt_i32(int a, int b) {
  return a > b;
}
FN bool compare_le_i32(int a, int b) {
  return a <= b;
}
FN bool compare_lt_i32(int a, int b) {
  return a < b;
}
// The least value stays itself.
FN int abs_i32(int a) {
  return a < int(0) ? negate_i32(a) : a;
}
// |a| as unsigned, right for the least value too.
FN uint magnitude_i32(int a) {
  return uint(a < int(0) ? negate_i32(a) : a);
}
FN int sign_i32(int a) {
  return a < int(0) ? int(-1) : (a > int(0) ? int(1) : int(0));
}
// Towards zero; -1 for b = 0; the least value for least / -1. On magnitudes, since drivers differ on signed division.
FN int divide_i32(int a, int b) {
  uint m = magnitude_i32(b);
  uint q = magnitude_i32(a) / (m == uint(0) ? uint(1) : m);
  int r = int((a < int(0)) != (b < int(0)) ? uint(0) - q : q);
  return b == int(0) ? int(-1) : r;
}
// The sign of a; a for b = 0; 0 for least % -1.
FN int remainder_i32(int a, int b) {
  uint m = magnitude_i32(b);
  uint r = magnitude_i32(a) % (m == uint(0) ? uint(1) : m);
  int v = int(a < int(0) ? uint(0) - r : r);
  return b == int(0) ? a : v;
}
// 0 from the width on (a negative count is a large one).
FN int shift_left_i32(int a, int b) {
  return uint(b) < 32u ? int(uint(a) << uint(uint(b) & 31u)) : int(0);
}
// 0 from the width on.
FN int shift_right_logical_i32(int a, int b) {
  return uint(b) < 32u ? int(uint(a) >> uint(uint(b) & 31u)) : int(0);
}
// The sign from the width on.
FN int shift_right_arithmetic_i32(int a, int b) {
  return a >> uint(uint(b) < 32u ? uint(b) : 31u);
}
// 0 from the width on (a negative count is a large one).
FN int shift_left_i32_width(int a, int b, int bits) {
  return uint(b) < uint(bits) ? int(uint(a) << uint(uint(b) & 31u)) : int(0);
}
// 0 from the width on. The result of a narrow signed value still has to be wrapped.
FN int shift_right_logical_i32_width(int a, int b, int bits) {
  return uint(b) < uint(bits) ? int((uint(a) & (0xffffffffu >> uint(32 - bits))) >> uint(uint(b) & 31u)) : int(0);
}
// The sign from the width on.
FN int shift_right_arithmetic_i32_width(int a, int b, int bits) {
  return a >> uint(uint(b) < uint(bits) ? uint(b) : 31u);
}
FN int popcnt_i32(int a) {
  return int(bitCount(uint(a)));
}
FN int count_leading_zeros_i32(int a) {
  return int(31 - findMSB(uint(a)));
}
FN int count_leading_zeros_i32_width(int a, int bits) {
  return int(bits - 1 - findMSB(uint(a) & (0xffffffffu >> uint(32 - bits))));
}
FN int popcnt_i32_width(int a, int bits) {
  return int(bitCount(uint(a) & (0xffffffffu >> uint(32 - bits))));
}
FN uint add_u32(uint a, uint b) {
  return a + b;
}
FN uint subtract_u32(uint a, uint b) {
  return a - b;
}
FN uint multiply_u32(uint a, uint b) {
  return a * b;
}
FN uint negate_u32(uint a) {
  return uint(0) - a;
}
FN uint not_u32(uint a) {
  return ~a;
}
FN uint and_u32(uint a, uint b) {
  return a & b;
}
FN uint or_u32(uint a, uint b) {
  return a | b;
}
FN uint xor_u32(uint a, uint b) {
  return a ^ b;
}
FN uint maximum_u32(uint a, uint b) {
  return a > b ? a : b;
}
FN uint minimum_u32(uint a, uint b) {
  return a < b ? a : b;
}
// high where low > high.
FN uint clamp_u32(uint low, uint x, uint high) {
  return minimum_u32(maximum_u32(low, x), high);
}
FN bool compare_eq_u32(uint a, uint b) {
  return a == b;
}
FN bool compare_ne_u32(uint a, uint b) {
  return a != b;
}
FN bool compare_ge_u32(uint a, uint b) {
  return a >= b;
}
FN bool compare_gt_u32(uint a, uint b) {
  return a > b;
}
FN bool compare_le_u32(uint a, uint b) {
  return a <= b;
}
FN bool compare_lt_u32(uint a, uint b) {
  return a < b;
}
FN uint abs_u32(uint a) {
  return a;
}
FN uint sign_u32(uint a) {
  return a == uint(0) ? uint(0) : uint(1);
}
// All ones for b = 0.
FN uint divide_u32(uint a, uint b) {
  return b == uint(0) ? 0xffffffffu : a / (b == uint(0) ? uint(1) : b);
}
// a for b = 0.
FN uint remainder_u32(uint a, uint b) {
  return b == uint(0) ? a : a % (b == uint(0) ? uint(1) : b);
}
// 0 from the width on (a negative count is a large one).
FN uint shift_left_u32(uint a, uint b) {
  return b < 32u ? a << uint(b & 31u) : uint(0);
}
// 0 from the width on.
FN uint shift_right_logical_u32(uint a, uint b) {
  return b < 32u ? a >> uint(b & 31u) : uint(0);
}
// The sign from the width on.
FN uint shift_right_arithmetic_u32(uint a, uint b) {
  return uint(int(a) >> uint(b < 32u ? b : 31u));
}
// 0 from the width on (a negative count is a large one).
FN uint shift_left_u32_width(uint a, uint b, int bits) {
  return b < uint(bits) ? a << uint(b & 31u) : uint(0);
}
// 0 from the width on.
FN uint shift_right_logical_u32_width(uint a, uint b, int bits) {
  return b < uint(bits) ? a >> uint(b & 31u) : uint(0);
}
// The sign from the width on.
FN uint shift_right_arithmetic_u32_width(uint a, uint b, int bits) {
  int s = int(a << uint(32 - bits)) >> uint(32 - bits);
  return uint(s >> uint(b < uint(bits) ? b : 31u)) & (0xffffffffu >> uint(32 - bits));
}
FN uint popcnt_u32(uint a) {
  return uint(bitCount(a));
}
FN uint count_leading_zeros_u32(uint a) {
  return uint(31 - findMSB(a));
}
FN uint count_leading_zeros_u32_width(uint a, int bits) {
  return uint(bits - 1 - findMSB(a & (0xffffffffu >> uint(32 - bits))));
}
FN uint popcnt_u32_width(uint a, int bits) {
  return uint(bitCount(a & (0xffffffffu >> uint(32 - bits))));
}
// By squaring, modulo 2^32.
FN uint power_u32(uint a, uint b) {
  uint r = uint(1);
  uint x = a;
  uint e = b;
  for (int i = 0; i < 32 && e != uint(0); ++i) {
    r = (e & uint(1)) != uint(0) ? r * x : r;
    x = x * x;
    e = e >> 1u;
  }
  return r;
}
// By squaring; a negative exponent gives 0 but for bases 1 and -1, as XLA's.
FN int power_i32(int a, int b) {
  int r = int(power_u32(uint(a), uint(b < int(0) ? int(0) : b)));
  int unit = (b & int(1)) != int(0) ? a : int(1);
  int inverse = a == int(1) || a == int(-1) ? unit : int(0);
  return b < int(0) ? inverse : r;
}
// The high word of the product.
FN uint mulhi_u32(uint a, uint b) {
  uint h;
  uint l;
  umulExtended(a, b, h, l);
  return h;
}
FN int mulhi_i32(int a, int b) {
  uint h = mulhi_u32(uint(a), uint(b));
  return int(h - (a < 0 ? uint(b) : 0u) - (b < 0 ? uint(a) : 0u));
}
// The high half of the double-width product of narrow values (at most 16 bits, or 32).
FN int mulhi_i32_width(int a, int b, int bits) {
  return bits == 32 ? mulhi_i32(a, b) : (a * b) >> uint(bits);
}
FN uint mulhi_u32_width(uint a, uint b, int bits) {
  return bits == 32 ? mulhi_u32(a, b) : (a * b) >> uint(bits & 31);
}
// The low 1 bits, sign extended.
FN int wrap_s1(int a) {
  return int(uint(a) << 31u) >> 31;
}
FN uint wrap_u1(uint a) {
  return a & 0x1u;
}
// The low 2 bits, sign extended.
FN int wrap_s2(int a) {
  return int(uint(a) << 30u) >> 30;
}
FN uint wrap_u2(uint a) {
  return a & 0x3u;
}
// The low 4 bits, sign extended.
FN int wrap_s4(int a) {
  return int(uint(a) << 28u) >> 28;
}
FN uint wrap_u4(uint a) {
  return a & 0xfu;
}
// The low 8 bits, sign extended.
FN int wrap_s8(int a) {
  return int(uint(a) << 24u) >> 24;
}
FN uint wrap_u8(uint a) {
  return a & 0xffu;
}
// The low 16 bits, sign extended.
FN int wrap_s16(int a) {
  return int(uint(a) << 16u) >> 16;
}
FN uint wrap_u16(uint a) {
  return a & 0xffffu;
}
FN bool not_pred(bool a) {
  return !a;
}
FN bool and_pred(bool a, bool b) {
  return a && b;
}
FN bool or_pred(bool a, bool b) {
  return a || b;
}
FN bool xor_pred(bool a, bool b) {
  return a != b;
}
FN bool add_pred(bool a, bool b) {
  return a || b;
}
FN bool multiply_pred(bool a, bool b) {
  return a && b;
}
FN bool maximum_pred(bool a, bool b) {
  return a || b;
}
FN bool minimum_pred(bool a, bool b) {
  return a && b;
}
FN bool clamp_pred(bool low, bool x, bool high) {
  return (low || x) && high;
}
FN bool compare_eq_pred(bool a, bool b) {
  return a == b;
}
FN bool compare_ne_pred(bool a, bool b) {
  return a != b;
}
FN bool compare_ge_pred(bool a, bool b) {
  return a || !b;
}
FN bool compare_gt_pred(bool a, bool b) {
  return a && !b;
}
FN bool compare_le_pred(bool a, bool b) {
  return !a || b;
}
FN bool compare_lt_pred(bool a, bool b) {
  return !a && b;
}
