// f32 trigonometric functions and their inverses. Arguments beyond pi/4 are reduced by Payne and Hanek's method in
// integers, so every finite argument is right; the inverse functions share one two-float arc tangent.

// Words i .. i + 3 of 2/pi behind 64 zero bits, by selects: drivers copy a constant array for each access.
FN void two_over_pi_f32(int i, OUT(uint) w0, OUT(uint) w1, OUT(uint) w2, OUT(uint) w3) {
  bool b2 = (i & 4) != 0;
  uint t2x0 = b2 ? 0xfc2757d1u : 0u;
  uint t2x1 = b2 ? 0xf534ddc0u : 0u;
  uint t2x2 = b2 ? 0xdb629599u : 0xa2f9836eu;
  uint t2x3 = b2 ? 0x3c439041u : 0x4e441529u;
  bool b1 = (i & 2) != 0;
  uint t1x0 = b1 ? t2x2 : t2x0;
  uint t1x1 = b1 ? t2x3 : t2x1;
  uint t1x2 = b1 ? 0xfc2757d1u : t2x2;
  uint t1x3 = b1 ? 0xf534ddc0u : t2x3;
  uint t1x4 = b1 ? 0xdb629599u : 0xfc2757d1u;
  bool b0 = (i & 1) != 0;
  uint t0x0 = b0 ? t1x1 : t1x0;
  uint t0x1 = b0 ? t1x2 : t1x1;
  uint t0x2 = b0 ? t1x3 : t1x2;
  uint t0x3 = b0 ? t1x4 : t1x3;
  w0 = t0x0;
  w1 = t0x1;
  w2 = t0x2;
  w3 = t0x3;
}
// The signed fraction (hi:lo) / 2^64, hi's top bit 0, times pi/2 as result + tail.
FN F fraction_to_radians_f32(uint hi, uint lo, OUT(float) tail) {
  bool low = hi == 0u;
  uint a = low ? lo : hi;
  uint b = low ? 0u : lo;
  int z = 31 - findMSB(a | 1u);
  uint h = z == 0 ? a : (a << uint(z)) | (b >> uint(32 - z));
  uint l = b << uint(z);
  F vh = float(h >> 8) * 5.96046448e-08f;
  F vl = float(((h & 0xffu) << 16) | (l >> 16)) * 3.55271368e-15f;
  F pl;
  F p = mul_dd_f32(vh, vl, 1.57079637f, -4.37113883e-08f, pl);
  F s = pow2_f32(-z - (low ? 32 : 0));
  tail = pl * s;
  return p * s;
}
// x = q pi/2 + result + tail, |result| <= pi/4; q modulo 4. x finite; beyond pi/4 relative 2^-30 even next to multiples
// of pi/2.
FN F reduce_pi_f32(float x, OUT(int) q, OUT(float) tail) {
  F m = magnitude_f32(x);
  bool small = m <= 0.785398185f;
  uint b = floatBitsToUint(small ? 1.0f : m);
  uint mant = ((b & 0x007fffffu) | 0x00800000u) << 8;
  // m = mant 2^(e - 8); the window starts two bits above the units of m * 2/pi.
  int start = int(b >> 23) - 150 - 8 - 2 + 64;
  int i = start >> 5;
  uint s = uint(start) & 31u;
  uint w0;
  uint w1;
  uint w2;
  uint w3;
  two_over_pi_f32(i, w0, w1, w2, w3);
  uint r = 31u - s;
  uint a0 = (w0 << s) | ((w1 >> 1) >> r);
  uint a1 = (w1 << s) | ((w2 >> 1) >> r);
  uint a2 = (w2 << s) | ((w3 >> 1) >> r);
  uint h1;
  uint l1;
  umulExtended(mant, a1, h1, l1);
  uint h2;
  uint l2;
  umulExtended(mant, a2, h2, l2);
  uint mid = l1 + h2;
  uint top = mant * a0 + h1 + (mid < h2 ? 1u : 0u);
  uint fh = (top << 2) | (mid >> 30);
  uint fl = mid << 2;
  bool up = (fh >> 31) != 0u;
  uint nl = 0u - fl;
  uint nh = ~fh + (fl == 0u ? 1u : 0u);
  F tl;
  F t = fraction_to_radians_f32(up ? nh : fh, up ? nl : fl, tl);
  int n = int(top >> 30) + (up ? 1 : 0);
  bool flip = up != is_negative_f32(x);
  q = small ? 0 : (is_negative_f32(x) ? -n : n) & 3;
  tail = small ? 0.0f : (flip ? -tl : tl);
  return small ? x : (flip ? -t : t);
}
// (sin r - r) / r^3 for z = r^2 <= (pi/4)^2, 2^-35.
FN F sin_tail_f32(float z) {
  F p = -0.166666672f + z * (0.00833333191f + z * (-0.00019840087f + z * 2.7249896e-06f));
  return p;
}
// (cos r - 1 + r^2/2) / r^4, 2^-38.
FN F cos_tail_f32(float z) {
  F p = 0.0416666679f + z * (-0.00138888881f + z * (2.48005999e-05f + z * -2.73009334e-07f));
  return p;
}
// sin(r + rl) = result + lo.
FN F sin_reduced_f32(float r, float rl, OUT(float) lo) {
  F z = r * r;
  F t = r * z * sin_tail_f32(z) + rl * (1.0f - 0.5f * z);
  lo = t;
  return r;
}
// The same to about 2^-31, for the tangent.
FN F sin_precise_f32(float r, float rl, OUT(float) lo) {
  F zl;
  F z = two_prod_f32(r, r, zl);
  F cl;
  F c = mul_dd_f32(z, zl, r, 0.0f, cl);
  F wl;
  F w = mul_dd_f32(c, cl, -0.166666672f, 4.96705354e-09f, wl);
  F t = c * (z * (0.00833333191f + z * (-0.00019840087f + z * 2.7249896e-06f))) + rl * (1.0f - 0.5f * z);
  F e;
  F s = fast_two_sum_f32(r, w, e);
  return fast_two_sum_f32(s, e + (wl + t), lo);
}
// cos(r + rl) = result + lo.
FN F cos_reduced_f32(float r, float rl, OUT(float) lo) {
  F e;
  F z = two_prod_f32(r, r, e);
  F d;
  F s = fast_two_sum_f32(1.0f, -0.5f * z, d);
  F t = z * z * cos_tail_f32(z) - r * rl - 0.5f * e;
  lo = d + t;
  return s;
}
// sin(q pi/2 + r + rl) = result + lo; with q + 1 for q, the cosine.
FN F circular_f32(float r, float rl, int q, OUT(float) lo) {
  F sl;
  F sh = sin_reduced_f32(r, rl, sl);
  F cl;
  F ch = cos_reduced_f32(r, rl, cl);
  bool odd = (q & 1) != 0;
  bool minus = (q & 2) != 0;
  F hi = odd ? ch : sh;
  F l = odd ? cl : sl;
  lo = minus ? -l : l;
  return minus ? -hi : hi;
}
// <= 1 ulp for every finite x.
FN F sine_f32(float x) {
  bool ok = is_finite_f32(x);
  bool tiny = magnitude_f32(x) < 9.31322575e-10f;
  int q;
  F rl;
  F r = reduce_pi_f32(ok ? x : 1.0f, q, rl);
  F lo;
  F hi = circular_f32(r, rl, q, lo);
  F v = hi + lo;
  return ok ? (tiny ? x : v) : nan_f32();
}
// <= 1 ulp for every finite x.
FN F cosine_f32(float x) {
  bool ok = is_finite_f32(x);
  int q;
  F rl;
  F r = reduce_pi_f32(ok ? x : 1.0f, q, rl);
  F lo;
  F hi = circular_f32(r, rl, q + 1, lo);
  F v = hi + lo;
  return ok ? v : nan_f32();
}
// sin / cos in two floats. <= 1 ulp for every finite x.
FN F tan_f32(float x) {
  bool ok = is_finite_f32(x);
  bool tiny = magnitude_f32(x) < 9.31322575e-10f;
  int q;
  F rl;
  F r = reduce_pi_f32(ok && !tiny ? x : 1.0f, q, rl);
  F sl;
  F sh = sin_precise_f32(r, rl, sl);
  F cl;
  F ch = cos_reduced_f32(r, rl, cl);
  ch = fast_two_sum_f32(ch, cl, cl);
  bool odd = (q & 1) != 0;
  F lo;
  F hi = div_dd_f32(odd ? -ch : sh, odd ? -cl : sl, odd ? sh : ch, odd ? sl : cl, lo);
  F v = hi + lo;
  return ok ? (tiny ? x : v) : nan_f32();
}

// (atan q - q) / q^3 for z = q^2 <= tan(pi/8)^2, 2^-30.8.
FN F atan_tail_f32(float z) {
  F p = -0.333333343f
      + z * (0.199999779f + z * (-0.142841503f + z * (0.110713549f + z * (-0.0862459838f + z * 0.0504793748f))));
  return p;
}
// atan((nh + nl) / (dh + dl)) = result + lo for n, d >= 0 of moderate size, not both 0: the quotient is brought below
// tan(pi/8) by swapping and by atan t = pi/4 + atan((t - 1) / (t + 1)). About 2^-29 relative.
FN F atan_quotient_f32(float nh, float nl, float dh, float dl, OUT(float) lo) {
  bool swap = nh > dh;
  F ah = swap ? dh : nh;
  F al = swap ? dl : nl;
  F bh = swap ? nh : dh;
  F bl = swap ? nl : dl;
  bool turn = ah > 0.414213568f * bh;
  F ml;
  F mh = add_dd_f32(ah, al, -bh, -bl, ml);
  F pl;
  F ph = add_dd_f32(ah, al, bh, bl, pl);
  F ql;
  F q = div_dd_f32(turn ? mh : ah, turn ? ml : al, turn ? ph : bh, turn ? pl : bl, ql);
  F z = q * q;
  F tail = ql + q * z * atan_tail_f32(z);
  // swap: pi/2 - (base + q); the base is 0 or pi/4.
  F ch = swap ? (turn ? 0.785398185f : 1.57079637f) : (turn ? 0.785398185f : 0.0f);
  F cl = swap ? (turn ? -2.18556941e-08f : -4.37113883e-08f) : (turn ? -2.18556941e-08f : 0.0f);
  F e;
  F h = two_sum_f32(ch, swap ? -q : q, e);
  return fast_two_sum_f32(h, e + (cl + (swap ? -tail : tail)), lo);
}
// The angle in [0, pi/2] as hi + lo, turned into the half plane of negative x and given y's sign.
FN F place_angle_f32(float hi, float lo, bool left, float y) {
  F e;
  F h = two_sum_f32(3.14159274f, -hi, e);
  F turned = h + (e + (-8.74227766e-08f - lo));
  F r = left ? turned : hi + lo;
  return copysign_f32(r, y);
}
// The n of n / m, whose arc tangent is |y|'s and |x|'s angle: from the significands, so nothing overflows. |y / x| is
// fy / fx 2^d; special if one is zero or infinite.
FN F atan2_ratio_f32(float y, float x, OUT(float) m, OUT(float) fy, OUT(float) fx, OUT(int) d, OUT(bool) special) {
  F my = magnitude_f32(y);
  F mx = magnitude_f32(x);
  bool both_inf = is_inf_f32(y) && is_inf_f32(x);
  bool y_zero = is_zero_f32(y) || (is_inf_f32(x) && !both_inf);
  bool x_zero = is_zero_f32(x) || (is_inf_f32(y) && !both_inf);
  special = y_zero || x_zero || both_inf;
  int ky;
  fy = frexp_f32(special ? 1.0f : my, ky);
  int kx;
  fx = frexp_f32(special ? 1.0f : mx, kx);
  d = ky - kx;
  int g = d > 40 ? 40 : (d < -40 ? -40 : d);
  m = y_zero ? 1.0f : (x_zero ? 0.0f : (special ? 1.0f : fx));
  return y_zero ? 0.0f : (x_zero ? 1.0f : (special ? 1.0f : fy * pow2_f32(g)));
}
// Denormal results are rounded once. C99 special values. <= 1 ulp.
FN F atan2_f32(float y, float x) {
  F m;
  F fy;
  F fx;
  int d;
  bool special;
  F n = atan2_ratio_f32(y, x, m, fy, fx, d, special);
  // Very small quotients are the angle itself; very large ones are as good as infinite.
  bool tiny = d < -30;
  F lo;
  F hi = atan_quotient_f32(n, 0.0f, m, 0.0f, lo);
  bool left = is_negative_f32(x);
  F r = place_angle_f32(hi, lo, left, y);
  F ql;
  F q = div_dd_f32(fy, 0.0f, fx, 0.0f, ql);
  F t = copysign_f32(scale_f32(q, ql, d), y);
  F v = !special && tiny && !left ? t : r;
  return either_nan_f32(x, y) ? nan_f32() : v;
}
// <= 1 ulp.
FN F atan_f32(float x) {
  F m = magnitude_f32(x);
  bool tiny = m < 9.31322575e-10f;
  F n = tiny ? 1.0f : (m > 1e12f ? 1e12f : m);
  F lo;
  F hi = atan_quotient_f32(n, 0.0f, 1.0f, 0.0f, lo);
  F r = hi + lo;
  return is_nan_f32(x) ? nan_f32() : copysign_f32(tiny ? m : r, x);
}
// sqrt(1 - x^2) = result + lo for 0 <= x <= 1, from (1 - x) (1 + x).
FN F cathetus_f32(float x, OUT(float) lo) {
  F al;
  F a = two_sum_f32(1.0f, -x, al);
  F bl;
  F b = two_sum_f32(1.0f, x, bl);
  F pl;
  F p = mul_dd_f32(a, al, b, bl, pl);
  return sqrt_dd_f32(p, pl, lo);
}
// atan(x / sqrt(1 - x^2)). <= 1 ulp.
FN F asin_f32(float x) {
  F m = magnitude_f32(x);
  bool tiny = m < 9.31322575e-10f;
  bool ok = m <= 1.0f;
  F c = ok && !tiny ? m : 0.5f;
  F sl;
  F s = cathetus_f32(c, sl);
  F lo;
  F hi = atan_quotient_f32(c, 0.0f, s, sl, lo);
  F r = hi + lo;
  return ok ? copysign_f32(tiny ? m : r, x) : nan_f32();
}
// atan(sqrt(1 - x^2) / x). <= 1 ulp.
FN F acos_f32(float x) {
  F m = magnitude_f32(x);
  bool ok = m <= 1.0f;
  F c = ok ? (m < 9.31322575e-10f ? 0.0f : m) : 0.5f;
  F sl;
  F s = cathetus_f32(c, sl);
  F lo;
  F hi = atan_quotient_f32(s, sl, c, 0.0f, lo);
  F r = place_angle_f32(hi, lo, is_negative_f32(x), 1.0f);
  return ok ? r : nan_f32();
}
