// f32: bit access, comparison, exact sums and products (double-float arithmetic), + - * / and friends, rounding. No
// double, no 64-bit integers. Denormal results of scaling are rounded once, in integers.

// Compilers may take isnan for false, unless they are told to keep NaN and a probe found that they do.
FN bool is_nan_f32(float x) {
  bool r;
  #ifdef VXLA_NATIVE_NAN
  r = isnan(x);
  #else
  r = (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
  #endif
  return r;
}
FN bool is_inf_f32(float x) {
  return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
FN bool is_negative_f32(float x) {
  return (floatBitsToUint(x) >> 31) != 0u;
}
FN bool is_zero_f32(float x) {
  return (floatBitsToUint(x) & 0x7fffffffu) == 0u;
}
// Finite and above 0.
FN bool is_positive_f32(float x) {
  return floatBitsToUint(x) - 1u < 0x7f7fffffu;
}
FN F nan_f32() {
  return uintBitsToFloat(0x7fc00000u);
}
FN F inf_f32() {
  return uintBitsToFloat(0x7f800000u);
}
// |x|, exact.
FN F magnitude_f32(float x) {
  return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}
// |x| with the sign of s, exact. What is chosen between is chosen before: with AVX-512, LLVM 22 (lavapipe of Mesa 26) makes
// something else of `c ? s : copysign(x, s)` and of `c ? x : copysign(x, s)`.
FN F copysign_f32(float x, float s) {
  return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(s) & 0x80000000u));
}
// x with its sign flipped if s is negative, exact.
FN F flipsign_f32(float x, float s) {
  return uintBitsToFloat(floatBitsToUint(x) ^ (floatBitsToUint(s) & 0x80000000u));
}
// Comparisons are those of integers: a device may take the denormals that it compares for zeros. The order of the
// numbers, -0 being 0; NaN has its place beyond the infinities.
FN int order_f32(float a) {
  int b = floatBitsToInt(a);
  return b < 0 ? int(0x80000000u - uint(b)) : b;
}
// Neither is NaN.
FN bool ordered_f32(float a, float b) {
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  bool first = x <= 0x7f800000u;
  bool second = y <= 0x7f800000u;
  return first && second;
}
FN bool compare_eq_f32(float a, float b) {
  bool equal = order_f32(a) == order_f32(b);
  bool ordered = ordered_f32(a, b);
  return equal && ordered;
}
FN bool compare_ne_f32(float a, float b) {
  return !compare_eq_f32(a, b);
}
FN bool compare_lt_f32(float a, float b) {
  bool less = order_f32(a) < order_f32(b);
  bool ordered = ordered_f32(a, b);
  return less && ordered;
}
FN bool compare_gt_f32(float a, float b) {
  return compare_lt_f32(b, a);
}
FN bool compare_le_f32(float a, float b) {
  bool at_most = order_f32(a) <= order_f32(b);
  bool ordered = ordered_f32(a, b);
  return at_most && ordered;
}
FN bool compare_ge_f32(float a, float b) {
  return compare_le_f32(b, a);
}
// -NaN < -inf < .. < -0 < +0 < .. < inf < NaN as integers.
FN int total_order_f32(float a) {
  int b = floatBitsToInt(a);
  return b < 0 ? b ^ 0x7fffffff : b;
}
FN bool compare_total_eq_f32(float a, float b) {
  return total_order_f32(a) == total_order_f32(b);
}
FN bool compare_total_ne_f32(float a, float b) {
  return total_order_f32(a) != total_order_f32(b);
}
FN bool compare_total_ge_f32(float a, float b) {
  return total_order_f32(a) >= total_order_f32(b);
}
FN bool compare_total_gt_f32(float a, float b) {
  return total_order_f32(a) > total_order_f32(b);
}
FN bool compare_total_le_f32(float a, float b) {
  return total_order_f32(a) <= total_order_f32(b);
}
FN bool compare_total_lt_f32(float a, float b) {
  return total_order_f32(a) < total_order_f32(b);
}
// 2^k for -126 <= k <= 127.
FN F pow2_f32(int k) {
  return uintBitsToFloat(uint(k + 127) << 23);
}
// a / b and the root of a as the device has them, which Vulkan lets be 2.5 ulp off (roots more): first guesses that
// integers correct, for normal numbers. Tests put worse ones in their place.
#ifndef VXLA_OWN_GUESSES
FN F quotient_guess_f32(float a, float b) {
  F r = a / b;
  return r;
}
FN F root_guess_f32(float a) {
  F r = sqrt(a);
  return r;
}
#endif
// The significand of a magnitude's bits with its leading bit (a denormal's too) at bit 23, and the exponent field to
// match.
FN uint significand_f32(uint m, OUT(int) e) {
  bool small = m < 0x00800000u;
  int s = small ? 23 - findMSB(m | 1u) : 0;
  e = small ? 1 - s : int(m >> 23);
  return ((m << uint(s)) & 0x007fffffu) | 0x00800000u;
}
// sign | t * 2^(e - 153) rounded to nearest even, denormal results and overflow included; t in [2^26, 2^27), its last
// bit sticky.
FN F round_significand_f32(uint sign, int e, uint t) {
  uint below = uint(min(max(1 - e, 0), 26));
  uint drop = below + 3u;
  uint q = (t + ((4u << below) - 1u + ((t >> drop) & 1u))) >> drop;
  uint v = q + (uint(max(e - 1, 0)) << 23);
  return uintBitsToFloat(sign | min(v, 0x7f800000u));
}
// Either is zero, infinite or NaN.
FN bool special_operands_f32(float a, float b) {
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  return max(x - 1u, y - 1u) >= 0x7f7fffffu;
}
// a / b where either is: no number where both are zero or infinite, else infinity or zero, as the larger one has it.
FN F special_quotient_f32(float a, float b) {
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  bool no_number = max(x, y) > 0x7f800000u;
  bool nan = no_number || x == y;
  return uintBitsToFloat(nan ? 0x7fc00000u : sign | (x > y ? 0x7f800000u : 0u));
}
// The quotient of two significands of 24 bits, t * 2^-26, or t * 2^-27 where mx < my, with t in [2^26, 2^27), its last
// bit sticky: 26 bits from a guess good to 2^-19, put right by the exact rest in integers, which also tells which side
// of a tie it lies on.
FN uint divide_significands_f32(uint mx, uint my) {
  // 1 / my, and n / my in [2^25, 2^26) for n = mx * 2^25 or mx * 2^26. A whole number of 24 bits is the fraction of its
  // float.
  F inverse = quotient_guess_f32(1.0f, uintBitsToFloat(my + 0x4a800000u));
  F guess = uintBitsToFloat(mx + (mx < my ? 0x57800000u : 0x57000000u)) * inverse;
  // Modulo 2^32; the guess is within 127 units, so the rest fits a signed word.
  uint q = uint(int(guess));
  int r = int((mx << (mx < my ? 26u : 25u)) - q * my);
  int d = int(floor(float(r) * inverse));
  q += uint(d);
  r -= d * int(my);
  // d is the floor or next to it, and above it only where something is left: the rest lies above -my and below 2 my.
  q += (r >= int(my) ? 1u : 0u) + uint(r >> 31);
  bool exact = r == 0 || r == int(my);
  return (q << 1) | (exact ? 0u : 1u);
}
// a / b correctly rounded for other operands, on any device. Denormals as IEEE 754 has them.
FN F quotient_by_integers_f32(float a, float b) {
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  int ex;
  uint mx = significand_f32(x, ex);
  int ey;
  uint my = significand_f32(y, ey);
  return round_significand_f32(sign, ex - ey + (mx < my ? 126 : 127), divide_significands_f32(mx, my));
}
FN F corrected_divide_f32(float a, float b) {
  F q = quotient_by_integers_f32(a, b);
  return special_operands_f32(a, b) ? special_quotient_f32(a, b) : q;
}
// The root of what is not a finite number above 0: NaN for what is below 0, -0 for -0.
FN F special_root_f32(float a) {
  bool same = is_zero_f32(a) || floatBitsToUint(a) == 0x7f800000u;
  return same ? a : nan_f32();
}
// That of a finite number above 0 likewise: 25 bits of it and the exact rest. Roots are never ties.
FN F root_by_integers_f32(float a) {
  uint x = floatBitsToUint(a);
  int e;
  uint m = significand_f32(x, e);
  bool odd = (e & 1) == 0;
  uint n = m << (odd ? 1u : 0u);
  F guess = root_guess_f32(uintBitsToFloat((m & 0x007fffffu) | (odd ? 0x40000000u : 0x3f800000u)));
  uint q = uint(int(guess * 16777216.0f));
  int r = int((n << 25) - q * q);
  int d = int(floor(quotient_guess_f32(float(r), guess * 33554432.0f)));
  r -= d * int((q << 1) + uint(d));
  q += uint(d);
  bool under = r < 0;
  bool over = r > int(q << 1);
  q += (over ? 1u : 0u) - (under ? 1u : 0u);
  uint v = ((q + 1u) >> 1) + (uint(((e + (odd ? -128 : -127)) >> 1) + 126) << 23);
  return uintBitsToFloat(v);
}
FN F corrected_sqrt_f32(float a) {
  F r = root_by_integers_f32(a);
  return is_positive_f32(a) ? r : special_root_f32(a);
}
// |x| = result * 2^k with the result in [1, 2), for finite nonzero x, denormals too.
FN F frexp_f32(float x, OUT(int) k) {
  uint b = floatBitsToUint(x) & 0x7fffffffu;
  bool small = b < 0x00800000u;
  int s = small ? 23 - findMSB(b | 1u) : 0;
  k = (small ? 1 - s : int(b >> 23)) - 127;
  return uintBitsToFloat(0x3f800000u | ((b << uint(s)) & 0x007fffffu));
}
// x > 0 as a number in [1, 4), times 4^k.
FN F take_fours_f32(float x, OUT(int) k) {
  int e;
  F m = frexp_f32(x, e);
  k = e >> 1;
  return (e & 1) != 0 ? m + m : m;
}
// a / b, and the root of a >= 0, correctly rounded: the device's own where it is measured to be
// (backend/vulkan/device/probes/division.h). All other text divides by these.
#ifdef VXLA_CORRECT_F32
// 1 / b, correctly rounded but for what the next one's comment says; b as it asks for.
FN F inverse_middle_f32(float b) {
  F r;
  #ifdef VXLA_FUSED_F32
  F guess = quotient_guess_f32(1.0f, b);
  F rest = fma(-b, guess, 1.0f) + 9.094947e-13f;
  r = fma(rest, guess, guess);
  #else
  r = quotient_by_integers_f32(1.0f, b);
  #endif
  return r;
}
// For operands in the middle of the range, and quotients that are normal numbers: a numerator of -0 gives a zero of
// either sign, and one that may leave a denormal (the rest of a sum in two numbers) a zero or about the quotient.
// Where fma rounds once, the quotient of a guess is put right twice by the exact rest that fma leaves (Markstein,
// IA-64 and Elementary Functions, 2000, ch. 8): no rest is denormal there. `second` is off by half a unit and 2^-19
// of one at most. Where B is b's significand as a whole number of 24 bits, no quotient lies nearer to a tie than 1 /
// 2B units, so the last step lands on the right side of it if |b inverse - 1| < 1 / (B + 1). Rounding keeps to that,
// but the step to the inverse falls short by the square of the guess's error, 2^-42 of it at most, which would leave
// inverses of significands of (nearly) all ones below the tie that they lie above: 2^-40 more than that is added. The
// guess may be 4 units off. Tests: each significand as a divisor, from each of these guesses, of what leaves
// quotients next to a tie.
FN F divide_middle_f32(float a, float b) {
  F q;
  #ifdef VXLA_FUSED_F32
  F inverse = inverse_middle_f32(b);
  F first = a * inverse;
  F second = fma(fma(-b, first, a), inverse, first);
  q = fma(fma(-b, second, a), inverse, second);
  #else
  // As quotient_by_integers_f32, without what denormals take.
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
  uint mx = (x & 0x007fffffu) | 0x00800000u;
  uint my = (y & 0x007fffffu) | 0x00800000u;
  uint t = divide_significands_f32(mx, my);
  uint rounded = (t + (3u + ((t >> 3) & 1u))) >> 3;
  // The exponent, less 1, in place: x's less y's and 126, or 125.
  uint v = rounded + (((x & 0x7f800000u) - (y & 0x7f800000u)) + (mx < my ? 0x3e800000u : 0x3f000000u));
  q = uintBitsToFloat(sign | (x + 0x3f000000u < max(y, 0x3f800000u) ? 0u : v));
  #endif
  return q;
}
// At least 0x7b000000 (backend/vulkan/codegen/passes/group_divisions.cc asks, too) where an operand is out of the middle:
// exponents below 66, 189 and more.
FN uint far_f32(float a) {
  return (floatBitsToUint(a) << 1) - 0x42000000u;
}
// The rest of divide_f32, where an operand is out of the middle (group_divisions.cc writes it apart): zeros,
// infinities and NaN are common in data, and no lane waits for the integers because of them.
FN F special_or_f32(float a, float b, float q) {
  return special_operands_f32(a, b) ? special_quotient_f32(a, b) : q;
}
FN bool leaves_middle_f32(float a, float b) {
  bool special = special_operands_f32(a, b);
  return !special && max(far_f32(a), far_f32(b)) >= 0x7b000000u;
}
FN F divide_f32(float a, float b) {
  #ifdef VXLA_FUSED_F32
  F q = divide_middle_f32(a, b);
  if (max(far_f32(a), far_f32(b)) >= 0x7b000000u) {
    q = special_or_f32(a, b, q);
    if (leaves_middle_f32(a, b)) q = quotient_by_integers_f32(a, b);
  }
  #else
  F q = corrected_divide_f32(a, b);
  #endif
  return q;
}
// The same of a root: a zero gives NaN. Tests: all significands, from guesses up to 4 units off.
FN F sqrt_middle_f32(float a) {
  F r;
  #ifdef VXLA_FUSED_F32
  F guess = inversesqrt(a);
  F root = a * guess;
  F half_inverse = 0.5f * guess;
  F rest = fma(-half_inverse, root, 0.5f);
  half_inverse = fma(half_inverse, rest, half_inverse);
  root = fma(root, rest, root);
  r = fma(fma(-root, root, a), half_inverse, root);
  #else
  r = corrected_sqrt_f32(a);
  #endif
  return r;
}
// Out of the middle of the range powers of 4 are taken out before and their roots put back.
FN F sqrt_plain_f32(float a) {
  F r;
  #ifdef VXLA_FUSED_F32
  bool far = floatBitsToUint(a) - 0x21000000u >= 0x3d800000u;
  bool ok = is_positive_f32(a);
  F m = a;
  int k = 0;
  if (far) m = take_fours_f32(ok ? a : 1.0f, k);
  r = sqrt_middle_f32(m);
  if (far) {
    F scaled = uintBitsToFloat(floatBitsToUint(r) + (uint(k) << 23));
    r = ok ? scaled : special_root_f32(a);
  }
  #else
  r = sqrt_middle_f32(a);
  #endif
  return r;
}
// NaN for negative numbers and NaN.
FN F sqrt_f32(float a) {
  return sqrt_plain_f32(a);
}
#else
FN F inverse_middle_f32(float b) {
  F r = 1.0f / b;
  return r;
}
FN F divide_middle_f32(float a, float b) {
  F r = a / b;
  return r;
}
FN F divide_f32(float a, float b) {
  F r = a / b;
  return r;
}
FN F sqrt_middle_f32(float a) {
  F r = sqrt(a);
  return r;
}
FN F sqrt_plain_f32(float a) {
  F r = sqrt(a);
  return r;
}
FN F sqrt_f32(float a) {
  F r = sqrt_plain_f32(a);
  bool below = is_negative_f32(a) && !is_zero_f32(a);
  return below || is_nan_f32(a) ? nan_f32() : r;
}
#endif
// The leading 12 bits of the significand; the rest, x - head, has 12 bits too, so products of halves are exact.
FN F head_f32(float x) {
  return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
}
// a + b = result + lo exactly (Knuth).
FN F two_sum_f32(float a, float b, OUT(float) lo) {
  F s = a + b;
  F bb = s - a;
  F e = (a - (s - bb)) + (b - bb);
  lo = e;
  return s;
}
// The same where |a| >= |b| or a = 0 (Dekker).
FN F fast_two_sum_f32(float a, float b, OUT(float) lo) {
  F s = a + b;
  F e = b - (s - a);
  lo = e;
  return s;
}
// a * b = result + lo exactly, for |a*b| > 2^-78 (below, the low product would be denormal; with these, above 2^-102).
FN F two_prod_f32(float a, float b, OUT(float) lo) {
  F p = a * b;
  #ifdef VXLA_FUSED_F32
  F e = fma(a, b, -p);
  #else
  F ah = head_f32(a);
  F al = a - ah;
  F bh = head_f32(b);
  F bl = b - bh;
  F e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  #endif
  lo = e;
  return p;
}
// (ah + al) * (bh + bl) to about 2^-45.
FN F mul_dd_f32(float ah, float al, float bh, float bl, OUT(float) lo) {
  F e;
  F p = two_prod_f32(ah, bh, e);
  F t = e + (ah * bl + al * bh);
  return fast_two_sum_f32(p, t, lo);
}
// (ah + al) + (bh + bl) to about 2^-45, barring cancellation.
FN F add_dd_f32(float ah, float al, float bh, float bl, OUT(float) lo) {
  F e;
  F s = two_sum_f32(ah, bh, e);
  F t = e + (al + bl);
  return fast_two_sum_f32(s, t, lo);
}
// (nh + nl) / (dh + dl) to about 2^-44, in the middle of the range.
FN F div_dd_f32(float nh, float nl, float dh, float dl, OUT(float) lo) {
  F q = divide_middle_f32(nh, dh);
  F e;
  F p = two_prod_f32(q, dh, e);
  F r = (((nh - p) - e) + nl) - q * dl;
  F t = divide_middle_f32(r, dh);
  return fast_two_sum_f32(q, t, lo);
}
// sqrt(h + l) to about 2^-44, for h > 0 in the middle of the range; 0 for 0.
FN F sqrt_dd_f32(float h, float l, OUT(float) lo) {
  F s = sqrt_plain_f32(h);
  F e;
  F p = two_prod_f32(s, s, e);
  F r = ((h - p) - e) + l;
  F t = divide_middle_f32(r, h > 0.0f ? s + s : 1.0f);
  return fast_two_sum_f32(s, t, lo);
}
// The bits of m * 2^k rounded once, denormal results and overflow to infinity included: m of a normal number above 0,
// from which `outward` was left out, less than half a unit.
FN uint scale_bits_f32(uint m, float outward, int k) {
  int e = int(m >> 23) + k;
  // What was left out decides ties of the denormal rounding: one quarter unit up or down.
  uint t = ((m & 0x007fffffu) | 0x00800000u) << 2;
  t = outward > 0.0f ? t + 1u : (outward < 0.0f ? t - 1u : t);
  int shift = (e < -24 ? 26 : (e > 0 ? 1 : 1 - e)) + 2;
  uint q = t >> uint(shift);
  uint d = (t + ((1u << uint(shift - 1)) - 1u) + (q & 1u)) >> uint(shift);
  uint n = e > 254 ? 0x7f800000u : uint(e << 23) | (m & 0x007fffffu);
  return e > 0 ? n : d;
}
// (hi + lo) * 2^k rounded once; |hi| >= |lo|. A denormal sum is multiplied plainly.
FN F scale_anything_f32(float hi, float lo, int k) {
  F r = hi + lo;
  F rest = (hi - r) + lo;
  uint b = floatBitsToUint(r);
  uint sign = b & 0x80000000u;
  uint m = b & 0x7fffffffu;
  uint v = scale_bits_f32(m, flipsign_f32(rest, r), k);
  F plain = r * pow2_f32(k > 127 ? 127 : (k < -126 ? -126 : k));
  return m < 0x00800000u ? plain : uintBitsToFloat(sign | (m > 0x7f7fffffu ? m : v));
}
// Where the sum and the result are known to be normal numbers.
FN F scale_normal_f32(float hi, float lo, int k) {
  F sum = hi + lo;
  return uintBitsToFloat(floatBitsToUint(sum) + (uint(k) << 23));
}
// GPUs branch around the rest where the sum and the result are normal numbers.
FN F scale_f32(float hi, float lo, int k) {
  F r;
  #ifdef VXLA_FUSED_F32
  F sum = hi + lo;
  uint b = floatBitsToUint(sum);
  uint e = (b >> 23) & 0xffu;
  r = uintBitsToFloat(b + (uint(k) << 23));
  if (max(e - 1u, e + uint(k) - 1u) >= 254u) r = scale_anything_f32(hi, lo, k);
  #else
  r = scale_anything_f32(hi, lo, k);
  #endif
  return r;
}
// The same of a sum between 1/2 and 2, as exponentials have it.
FN F scale_near_one_f32(float hi, float lo, int k) {
  F r = hi + lo;
  F rest = (hi - r) + lo;
  uint m = floatBitsToUint(r);
  F v;
  #ifdef VXLA_FUSED_F32
  v = uintBitsToFloat(m + (uint(k) << 23));
  if (uint(k + 125) > 251u) v = uintBitsToFloat(scale_bits_f32(m, rest, k));
  #else
  v = uintBitsToFloat(scale_bits_f32(m, rest, k));
  #endif
  return v;
}

FN F abs_f32(float a) {
  return magnitude_f32(a);
}
FN F negate_f32(float a) {
  return uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u);
}
FN F add_f32(float a, float b) {
  F r = a + b;
  return r;
}
FN F subtract_f32(float a, float b) {
  F r = a - b;
  return r;
}
FN F multiply_f32(float a, float b) {
  F r = a * b;
  return r;
}
// -1, -0, +0, 1 or NaN.
FN F sign_f32(float a) {
  bool keep = is_nan_f32(a) || is_zero_f32(a);
  return copysign_f32(keep ? magnitude_f32(a) : 1.0f, a);
}
FN bool is_finite_f32(float a) {
  return (floatBitsToUint(a) & 0x7fffffffu) < 0x7f800000u;
}
FN bool either_nan_f32(float a, float b) {
  bool r;
  #ifdef VXLA_NATIVE_NAN
  r = isnan(a) || isnan(b);
  #else
  r = max(floatBitsToUint(a) & 0x7fffffffu, floatBitsToUint(b) & 0x7fffffffu) > 0x7f800000u;
  #endif
  return r;
}
// NaN if either is; -0 < +0. As integers numbers have their order, and those below zero the opposite one.
FN F maximum_f32(float a, float b) {
  int most = max(floatBitsToInt(a), floatBitsToInt(b));
  uint least = min(floatBitsToUint(a), floatBitsToUint(b));
  F r = uintBitsToFloat(most < 0 ? least : uint(most));
  return either_nan_f32(a, b) ? nan_f32() : r;
}
FN F minimum_f32(float a, float b) {
  uint most = max(floatBitsToUint(a), floatBitsToUint(b));
  uint least = min(floatBitsToUint(a), floatBitsToUint(b));
  F r = uintBitsToFloat(int(most) < 0 ? most : least);
  return either_nan_f32(a, b) ? nan_f32() : r;
}
// min(max(low, x), high): high where low > high.
FN F clamp_f32(float low, float x, float high) {
  return minimum_f32(maximum_f32(low, x), high);
}
// Exact: the truncated quotient's remainder with the sign of a, by long division of the significands, 8 bits a step.
FN F remainder_f32(float a, float b) {
  uint x = floatBitsToUint(a) & 0x7fffffffu;
  uint y = floatBitsToUint(b) & 0x7fffffffu;
  bool invalid = x >= 0x7f800000u || y > 0x7f800000u || y == 0u;
  bool whole = invalid || x < y;
  int kx;
  int ky;
  F fx = frexp_f32(whole ? 1.0f : a, kx);
  F fy = frexp_f32(whole ? 1.0f : b, ky);
  uint mx = (floatBitsToUint(fx) & 0x007fffffu) | 0x00800000u;
  uint my = (floatBitsToUint(fy) & 0x007fffffu) | 0x00800000u;
  uint r = mx % my;
  for (int d = kx - ky; d > 0; d -= 8) {
    r = (r << uint(d < 8 ? d : 8)) % my;
  }
  F v = scale_f32(float(r), 0.0f, ky - 23);
  return invalid ? nan_f32() : copysign_f32(whole ? uintBitsToFloat(x) : v, a);
}

// floor and ceil come from the driver, exact everywhere that was measured; below 1 the sign decides.
FN F floor_f32(float a) {
  F r = floor(a);
  F small = is_negative_f32(a) && !is_zero_f32(a) ? -1.0f : copysign_f32(0.0f, a);
  return is_nan_f32(a) ? a : (magnitude_f32(a) < 1.0f ? small : r);
}
FN F ceil_f32(float a) {
  return negate_f32(floor_f32(negate_f32(a)));
}
FN F truncate_f32(float a) {
  return copysign_f32(floor_f32(magnitude_f32(a)), a);
}
// To the nearest integer, ties to even: adding and subtracting 2^23 rounds what is below 2^23.
FN F round_nearest_even_f32(float a) {
  F m = magnitude_f32(a);
  F s = m + 8388608.0f;
  F r = s - 8388608.0f;
  return copysign_f32(m < 8388608.0f ? r : m, a);
}
// Ties away from zero: the fraction decides, exactly.
FN F round_nearest_afz_f32(float a) {
  F m = magnitude_f32(a);
  F t = floor(m);
  F r = (m - t) >= 0.5f ? t + 1.0f : t;
  return copysign_f32(m < 8388608.0f ? r : m, a);
}
// Rounds to nearest even at the given exponent and mantissa width (results too small for a normal number become 0, as
// XLA has it), overflow to infinity, NaN kept, but infinity where no mantissa bit is left to tell it.
FN F reduce_precision_f32(float a, int exponent_bits, int mantissa_bits) {
  uint b = floatBitsToUint(a);
  uint sign = b & 0x80000000u;
  uint m = b & 0x7fffffffu;
  int drop = mantissa_bits < 23 ? 23 - mantissa_bits : 0;
  uint lsb = (m >> uint(drop)) & 1u;
  uint bias = drop > 0 ? (1u << uint(drop - 1)) - 1u + lsb : 0u;
  uint r = ((m + bias) >> uint(drop)) << uint(drop);
  int wide = (1 << (exponent_bits - 1)) - 1;
  bool narrow = exponent_bits < 8;
  uint e = r >> 23;
  bool over = narrow && int(e) > 127 + wide;
  bool under = narrow && int(e) < 128 - wide;
  uint v = over ? 0x7f800000u : (under ? 0u : r);
  return m > 0x7f800000u ? (mantissa_bits > 0 ? a : inf_f32()) : uintBitsToFloat(sign | v);
}

FN F real_f32(float a) {
  return a;
}
FN F imag_f32(float a) {
  return 0.0f;
}
FN vec2 complex_f32(float re, float im) {
  return vec2(re, im);
}

// Sums of --accumulation wide: x + y of a value in two floats, x the value rounded to f32. Good to about 2^-45 of the
// larger magnitude. What is not finite has no remainder.
FN vec2 add_wide_f32(vec2 a, vec2 b) {
  F e;
  F s = two_sum_f32(a.x, b.x, e);
  F t = e + (a.y + b.y);
  F lo;
  F hi = fast_two_sum_f32(s, t, lo);
  return is_finite_f32(hi) ? vec2(hi, lo) : vec2(s, 0.0f);
}
// a.x * b.x exactly, but for remainders below 2^-149 and products beyond the range. A device that flushes denormals may
// lose a part of a factor, which the other one makes large: more than half a unit of the product is no remainder, nor is
// what an infinity or NaN leaves.
FN vec2 multiply_wide_f32(vec2 a, vec2 b) {
  F lo;
  F p = two_prod_f32(a.x, b.x, lo);
  return vec2(p, magnitude_f32(lo) < magnitude_f32(p) * 1.1920929e-7f ? lo : 0.0f);
}
// Products of many factors in two floats, x + y. In order, x is that rounded to f32; zero, not finite or below 2^-100,
// where remainders lose digits: x as it is, without a remainder.
FN vec2 ordered_pair_f32(vec2 a) {
  F lo;
  F hi = fast_two_sum_f32(a.x, a.y, lo);
  bool plain = (floatBitsToUint(hi) & 0x7fffffffu) - 0x0d800000u >= 0x72000000u;
  return plain ? vec2(a.x, 0.0f) : vec2(hi, lo);
}
// a * b, good to about 2^-45 where they are in order, else but for the product of both remainders.
FN vec2 multiply_pair_f32(vec2 a, vec2 b) {
  F e;
  F p = two_prod_f32(a.x, b.x, e);
  F t = e + (a.x * b.y + a.y * b.x);
  return ordered_pair_f32(vec2(p, t));
}
// a * b.x, not put in order: some thousand of these add up to a remainder of a few thousand units.
FN vec2 multiply_into_pair_f32(vec2 a, vec2 b) {
  F e;
  F p = two_prod_f32(a.x, b.x, e);
  F t = a.y * b.x + e;
  return vec2(p, magnitude_f32(p) < 7.8886091e-31f ? 0.0f : t);
}
