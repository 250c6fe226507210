// Functions of two narrow floats (16 bits and less, held in f32), for results that are rounded to the narrow type
// afterwards: f32 "to odd", that is cut off, the last bit set if anything was cut. Rounding that once more gives the
// correctly rounded result, where the nearest f32 may be a tie although the function's value is not. Arguments have at
// most 11 bits of significand; values are found to about 2^-43 in two floats, and ties (12 bits) are told exactly.

// (hi + lo) * 2^k to odd; |hi| >= |lo|, the sum 0 or normal. Infinity from 2^128 on.
FN F scale_odd_f32(float hi, float lo, int k) {
  F r = hi + lo;
  F rest = (hi - r) + lo;
  uint b = floatBitsToUint(r) & 0x7fffffffu;
  bool inward = is_negative_f32(rest) != is_negative_f32(r);
  uint m = rest == 0.0f ? b : (b - (inward ? 1u : 0u)) | 1u;
  int e = int(m >> 23) + k;
  uint t = (m & 0x007fffffu) | 0x00800000u;
  uint shift = uint(e > 0 ? 0 : (e < -24 ? 25 : 1 - e));
  uint cut = t & ((1u << shift) - 1u);
  uint d = (t >> shift) | (cut != 0u ? 1u : 0u);
  uint n = e > 254 ? 0x7f800000u : uint(e << 23) | (m & 0x007fffffu);
  return copysign_f32(uintBitsToFloat(m == 0u ? 0u : (e > 0 ? n : d)), r);
}

// atan(n / m) = result + lo in [0, pi/2], about 2^-45, for n, m >= 0 of at most 13 bits, not both 0 and within 2^41 of
// each other: the quotient, below 1, less a multiple of 1/4 whose angle is known, and the series.
FN F atan_ratio_f32(float n, float m, OUT(float) lo) {
  bool swap = n > m;
  F a = swap ? m : n;
  F b = swap ? n : m;
  bool c1 = a > 0.125f * b;
  bool c2 = a > 0.375f * b;
  bool c3 = a > 0.625f * b;
  bool c4 = a > 0.875f * b;
  F c = c4 ? 1.0f : (c3 ? 0.75f : (c2 ? 0.5f : (c1 ? 0.25f : 0.0f)));
  F ch = c4 ? 0.785398185f : (c3 ? 0.643501103f : (c2 ? 0.463647604f : (c1 ? 0.244978666f : 0.0f)));
  F cl = c4 ? -2.18556941e-08f : (c3 ? 5.86893734e-09f : (c2 ? 5.01215869e-09f : (c1 ? -3.17867777e-09f : 0.0f)));
  F cb = c * b;
  F ca = c * a;
  F ul;
  F u = two_sum_f32(a, -cb, ul);
  F vl;
  F v = two_sum_f32(b, ca, vl);
  F ql;
  F q = div_dd_f32(u, ul, v, vl, ql);
  F zl;
  F z = mul_dd_f32(q, ql, q, ql, zl);
  F s = z * (0.111111112f + z * (-0.0909090936f + z * (0.0769230798f + z * (-0.0666666701f + z * 0.0588235296f))));
  F l;
  F p = add_dd_f32(-0.142857149f, 6.386212e-09f, s, 0.0f, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = add_dd_f32(0.200000003f, -2.98023228e-09f, p, l, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = add_dd_f32(-0.333333343f, 9.93410776e-09f, p, l, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = mul_dd_f32(p, l, q, ql, l);
  p = add_dd_f32(q, ql, p, l, l);
  p = add_dd_f32(ch, cl, p, l, l);
  F tl;
  F t = add_dd_f32(1.57079637f, -4.37113883e-08f, -p, -l, tl);
  lo = swap ? tl : l;
  return swap ? t : p;
}
// As atan2_f32 for narrow y and x.
FN F atan2_f32_odd(float y, float x) {
  F m;
  F fy;
  F fx;
  int d;
  bool special;
  F n = atan2_ratio_f32(y, x, m, fy, fx, d, special);
  bool left = is_negative_f32(x);
  bool tiny = d < -30 && !special && !left;
  F al;
  F a = atan_ratio_f32(n, m, al);
  F tl;
  F t = add_dd_f32(3.14159274f, -8.74227766e-08f, -a, -al, tl);
  F hi = left ? t : a;
  F lo = left ? tl : al;
  // Tiny quotients are the angle itself, or a little more than it.
  F ql;
  F q = div_dd_f32(fy, 0.0f, fx, 0.0f, ql);
  F less = ql == 0.0f ? -9.09494702e-13f : ql;
  F r = copysign_f32(scale_odd_f32(tiny ? q : hi, tiny ? less : lo, tiny ? d : 0), y);
  return either_nan_f32(x, y) ? nan_f32() : r;
}

// log(1 + f) / ln 2 = result + lo for 1 + f in [0.7, 1.42], f of at most 12 bits, about 2^-46: the series of 2 atanh(f
// / (2 + f)).
FN F log2_precise_f32(float f, OUT(float) lo) {
  F dl;
  F d = fast_two_sum_f32(2.0f, f, dl);
  F sl;
  F s = div_dd_f32(f, 0.0f, d, dl, sl);
  F zl;
  F z = mul_dd_f32(s, sl, s, sl, zl);
  F t = z * (0.111111112f +
             z * (0.0909090936f + z * (0.0769230798f + z * (0.0666666701f + z * (0.0588235296f + z * 0.0526315793f)))));
  F l;
  F p = add_dd_f32(0.142857149f, -6.386212e-09f, t, 0.0f, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = add_dd_f32(0.200000003f, -2.98023228e-09f, p, l, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = add_dd_f32(0.333333343f, -9.93410776e-09f, p, l, l);
  p = mul_dd_f32(p, l, z, zl, l);
  p = mul_dd_f32(p, l, s, sl, l);
  p = add_dd_f32(s, sl, p, l, l);
  return mul_dd_f32(p, l, 2.88539004f, 3.85192607e-08f, lo);
}
// 2^(r + rl) = result + lo for |r| <= 0.51, about 2^-46: the series of e^t.
FN F exp2_precise_f32(float r, float rl, OUT(float) lo) {
  F tl;
  F t = mul_dd_f32(r, rl, 0.693147182f, -1.90465421e-09f, tl);
  F u = t * (0.000198412701f + t * (2.48015876e-05f + t * (2.75573188e-06f + t * (2.755732e-07f + t * (2.50521079e-08f
      + t * (2.08767559e-09f + t * 1.60590444e-10f))))));
  F l;
  F p = add_dd_f32(0.00138888892f, -3.36310944e-11f, u, 0.0f, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = add_dd_f32(0.00833333377f, -4.34617203e-10f, p, l, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = add_dd_f32(0.0416666679f, -1.24176347e-09f, p, l, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = add_dd_f32(0.166666672f, -4.96705388e-09f, p, l, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = add_dd_f32(0.5f, 0.0f, p, l, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = mul_dd_f32(p, l, t, tl, l);
  p = add_dd_f32(t, tl, p, l, l);
  return add_dd_f32(1.0f, 0.0f, p, l, lo);
}
// The odd factor of a normal number's significand.
FN uint odd_part_f32(float x) {
  uint m = (floatBitsToUint(x) & 0x007fffffu) | 0x00800000u;
  return m >> uint(findMSB(m & (0u - m)));
}
// Whether x^y is t times a power of two, of which x^y is known to be within 2^-36; x and t of at most 12 bits. It can
// be for powers of two and for 4 y = n whole below 64 (3^8 has more than 11 bits, so no x but those has an eighth
// root); then x^n = t^4 for the odd factors, here modulo 2^32.
FN bool is_power_f32(float x, float y, float t) {
  F q = 4.0f * y;
  bool whole = q >= 1.0f && q < 64.0f && floor(q) == q;
  uint n = uint(int(whole ? q : 0.0f));
  uint a = odd_part_f32(x);
  uint p = (n & 1u) != 0u ? a : 1u;
  a *= a;
  p *= (n & 2u) != 0u ? a : 1u;
  a *= a;
  p *= (n & 4u) != 0u ? a : 1u;
  a *= a;
  p *= (n & 8u) != 0u ? a : 1u;
  a *= a;
  p *= (n & 16u) != 0u ? a : 1u;
  a *= a;
  p *= (n & 32u) != 0u ? a : 1u;
  uint b = odd_part_f32(t);
  b *= b;
  return whole && p == b * b;
}
// x^y for narrow finite x > 0 and finite y: 2^(y k + y log2 m) for x = m 2^k.
FN F power_magnitude_f32_odd(float x, float y) {
  int k;
  F f = log_split_f32(x, k);
  F ll;
  F l = log2_precise_f32(f, ll);
  // |y| beyond 2^36 sends every |x| but 1 to 0 or infinity, and 2^-40 sends all to 1.
  F m = magnitude_f32(y);
  F c = copysign_f32(m > 6.87194767e10f ? 6.87194767e10f : (m < 9.09494702e-13f ? 0.0f : m), y);
  F whole = c * float(k);
  F pl;
  F p = mul_dd_f32(c, 0.0f, l, ll, pl);
  F e;
  F s = two_sum_f32(whole, p, e);
  bool outside = magnitude_f32(s) > 200.0f;
  F v = outside ? copysign_f32(200.0f, s) : s;
  F n = floor(v + 0.5f);
  F rest = v - n;
  F rl;
  F r = two_sum_f32(rest, outside ? 0.0f : e + pl, rl);
  F gl;
  F g = exp2_precise_f32(r, rl, gl);
  // The nearest number of 12 bits, which is the only one that may be a tie.
  F t = uintBitsToFloat((floatBitsToUint(g) + 0x800u) & 0xfffff000u);
  F off = (g - t) + gl;
  bool exact = magnitude_f32(off) < 1.45519152e-11f && is_power_f32(1.0f + f, c, t);
  return scale_odd_f32(exact ? t : g, exact ? 0.0f : gl, int(n));
}
// As power_f32 for narrow x and y.
FN F power_f32_odd(float x, float y) {
  bool regular = power_regular_f32(x, y);
  return power_special_f32(x, y, power_magnitude_f32_odd(regular ? magnitude_f32(x) : 1.0f, regular ? y : 0.0f));
}
// As hypot_f32 for narrow x and y.
FN F hypot_f32_odd(float x, float y) {
  int k;
  F lo;
  F hi = hypot_parts_f32(x, y, k, lo);
  return hypot_special_f32(x, y, scale_odd_f32(hi, lo, k));
}
