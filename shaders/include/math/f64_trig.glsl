// f64 trigonometric functions and their inverses. Arguments beyond pi/4 are reduced by Payne and Hanek's method in
// integers, so every finite argument is right; the inverse functions share one two-double arc tangent.

// Words i .. i + 6 of 2/pi behind 96 zero bits, by selects: drivers copy a constant array for each access.
FN void two_over_pi_f64(int i, OUT(uint) w0, OUT(uint) w1, OUT(uint) w2, OUT(uint) w3, OUT(uint) w4, OUT(uint) w5,
                         OUT(uint) w6) {
  bool b5 = (i & 32) != 0;
  uint t5x0 = b5 ? 0x9e5fea2du : 0u;
  uint t5x1 = b5 ? 0x7527bac7u : 0u;
  uint t5x2 = b5 ? 0xebe5f17bu : 0u;
  uint t5x3 = b5 ? 0x3d0739f7u : 0xa2f9836eu;
  uint t5x4 = b5 ? 0x8a5292eau : 0x4e441529u;
  uint t5x5 = b5 ? 0x6bfb5fb1u : 0xfc2757d1u;
  uint t5x6 = b5 ? 0x1f8d5d08u : 0xf534ddc0u;
  bool b4 = (i & 16) != 0;
  uint t4x0 = b4 ? 0xb129a73eu : t5x0;
  uint t4x1 = b4 ? 0xe88235f5u : t5x1;
  uint t4x2 = b4 ? 0x2ebb4484u : t5x2;
  uint t4x3 = b4 ? 0xe99c7026u : t5x3;
  uint t4x4 = b4 ? 0xb45f7e41u : t5x4;
  uint t4x5 = b4 ? 0x3991d639u : t5x5;
  uint t4x6 = b4 ? 0x835339f4u : t5x6;
  uint t4x7 = b4 ? 0x9c845f8bu : 0xdb629599u;
  uint t4x8 = b4 ? 0xbdf9283bu : 0x3c439041u;
  uint t4x9 = b4 ? 0x1ff897ffu : 0xfe5163abu;
  uint t4x10 = b4 ? 0xde05980fu : 0xdebbc561u;
  uint t4x11 = b4 ? 0xef2f118bu : 0xb7246e3au;
  uint t4x12 = b4 ? 0x5a0a6d1fu : 0x424dd2e0u;
  uint t4x13 = b4 ? 0x6d367ecfu : 0x06492eeau;
  uint t4x14 = b4 ? 0x27cb09b7u : 0x09d1921cu;
  uint t4x15 = b4 ? 0x4f463f66u : 0xfe1deb1cu;
  uint t4x16 = b4 ? 0x9e5fea2du : 0xb129a73eu;
  uint t4x17 = b4 ? 0x7527bac7u : 0xe88235f5u;
  uint t4x18 = b4 ? 0xebe5f17bu : 0x2ebb4484u;
  uint t4x19 = b4 ? 0x3d0739f7u : 0xe99c7026u;
  uint t4x20 = b4 ? 0x8a5292eau : 0xb45f7e41u;
  uint t4x21 = b4 ? 0x6bfb5fb1u : 0x3991d639u;
  bool b3 = (i & 8) != 0;
  uint t3x0 = b3 ? t4x8 : t4x0;
  uint t3x1 = b3 ? t4x9 : t4x1;
  uint t3x2 = b3 ? t4x10 : t4x2;
  uint t3x3 = b3 ? t4x11 : t4x3;
  uint t3x4 = b3 ? t4x12 : t4x4;
  uint t3x5 = b3 ? t4x13 : t4x5;
  uint t3x6 = b3 ? t4x14 : t4x6;
  uint t3x7 = b3 ? t4x15 : t4x7;
  uint t3x8 = b3 ? t4x16 : t4x8;
  uint t3x9 = b3 ? t4x17 : t4x9;
  uint t3x10 = b3 ? t4x18 : t4x10;
  uint t3x11 = b3 ? t4x19 : t4x11;
  uint t3x12 = b3 ? t4x20 : t4x12;
  uint t3x13 = b3 ? t4x21 : t4x13;
  bool b2 = (i & 4) != 0;
  uint t2x0 = b2 ? t3x4 : t3x0;
  uint t2x1 = b2 ? t3x5 : t3x1;
  uint t2x2 = b2 ? t3x6 : t3x2;
  uint t2x3 = b2 ? t3x7 : t3x3;
  uint t2x4 = b2 ? t3x8 : t3x4;
  uint t2x5 = b2 ? t3x9 : t3x5;
  uint t2x6 = b2 ? t3x10 : t3x6;
  uint t2x7 = b2 ? t3x11 : t3x7;
  uint t2x8 = b2 ? t3x12 : t3x8;
  uint t2x9 = b2 ? t3x13 : t3x9;
  bool b1 = (i & 2) != 0;
  uint t1x0 = b1 ? t2x2 : t2x0;
  uint t1x1 = b1 ? t2x3 : t2x1;
  uint t1x2 = b1 ? t2x4 : t2x2;
  uint t1x3 = b1 ? t2x5 : t2x3;
  uint t1x4 = b1 ? t2x6 : t2x4;
  uint t1x5 = b1 ? t2x7 : t2x5;
  uint t1x6 = b1 ? t2x8 : t2x6;
  uint t1x7 = b1 ? t2x9 : t2x7;
  bool b0 = (i & 1) != 0;
  uint t0x0 = b0 ? t1x1 : t1x0;
  uint t0x1 = b0 ? t1x2 : t1x1;
  uint t0x2 = b0 ? t1x3 : t1x2;
  uint t0x3 = b0 ? t1x4 : t1x3;
  uint t0x4 = b0 ? t1x5 : t1x4;
  uint t0x5 = b0 ? t1x6 : t1x5;
  uint t0x6 = b0 ? t1x7 : t1x6;
  w0 = t0x0;
  w1 = t0x1;
  w2 = t0x2;
  w3 = t0x3;
  w4 = t0x4;
  w5 = t0x5;
  w6 = t0x6;
}
// a * b + c + d = high * 2^32 + result.
FN uint multiply_add_words_f64(uint a, uint b, uint c, uint d, OUT(uint) high) {
  uint h;
  uint l;
  umulExtended(a, b, h, l);
  uint s = l + c;
  uint t = s + d;
  high = h + (s < c ? 1u : 0u) + (t < d ? 1u : 0u);
  return t;
}
// Bits shift .. shift + 31 of the words a, b, counted from a's top.
FN uint window_f64(uint a, uint b, uint shift) {
  return (a << shift) | ((b >> 1) >> (31u - shift));
}
// The fraction f0:f1:f2:f3 / 2^128 below 1/2 times pi/2 as result + tail; at most 63 leading zeros matter.
FN D fraction_to_radians_f64(uint f0, uint f1, uint f2, uint f3, OUT(f64_t) tail) {
  bool low = f0 == 0u;
  uint a = low ? f1 : f0;
  uint b = low ? f2 : f1;
  uint c = low ? f3 : f2;
  uint d = low ? 0u : f3;
  uint z = uint(31 - findMSB(a | 1u));
  D v0 = multiply_f64(from_uint_f64(window_f64(a, b, z)), 2.3283064365386963e-10lf);
  D v1 = multiply_f64(from_uint_f64(window_f64(b, c, z)), 5.421010862427522e-20lf);
  D v2 = multiply_f64(from_uint_f64(window_f64(c, d, z)), 1.262177448353619e-29lf);
  D vl;
  D vh = fast_two_sum_f64(v0, v1, vl);
  D pl;
  D p = mul_dd_f64(vh, add_f64(vl, v2), 1.5707963267948966lf, 6.123233995736766e-17lf, pl);
  D s = pow2_f64(-int(z) - (low ? 32 : 0));
  tail = multiply_f64(pl, s);
  return multiply_f64(p, s);
}
// The words of m * 2/pi modulo 4 for m >= pi/4, the top two bits being the quadrant.
FN void multiply_two_over_pi_f64(f64_t m, OUT(uint) r0, OUT(uint) r1, OUT(uint) r2, OUT(uint) r3) {
  uvec2 b = unpack_f64(m);
  uint m1 = 0x80000000u | ((b.y & 0x000fffffu) << 11) | (b.x >> 21);
  uint m0 = b.x << 11;
  int start = int(b.y >> 20) - 992;
  int i = start >> 5;
  uint s = uint(start) & 31u;
  uint p0;
  uint p1;
  uint p2;
  uint p3;
  uint p4;
  uint p5;
  uint p6;
  two_over_pi_f64(i, p0, p1, p2, p3, p4, p5, p6);
  uint w0 = window_f64(p0, p1, s);
  uint w1 = window_f64(p1, p2, s);
  uint w2 = window_f64(p2, p3, s);
  uint w3 = window_f64(p3, p4, s);
  uint w4 = window_f64(p4, p5, s);
  uint w5 = window_f64(p5, p6, s);
  uint c;
  uint low = multiply_add_words_f64(m0, w4, 0u, 0u, c);
  uint a3 = multiply_add_words_f64(m0, w3, c, 0u, c);
  uint a2 = multiply_add_words_f64(m0, w2, c, 0u, c);
  uint a1 = multiply_add_words_f64(m0, w1, c, 0u, c);
  uint a0 = m0 * w0 + c;
  low = multiply_add_words_f64(m1, w5, low, 0u, c);
  r3 = multiply_add_words_f64(m1, w4, c, a3, c);
  r2 = multiply_add_words_f64(m1, w3, c, a2, c);
  r1 = multiply_add_words_f64(m1, w2, c, a1, c);
  r0 = m1 * w1 + c + a0;
}
// x = q pi/2 + result + tail, |result| <= pi/4; q modulo 4. x finite; beyond pi/4 relative 2^-62 even next to multiples
// of pi/2.
FN D reduce_pi_f64(f64_t x, OUT(int) q, OUT(f64_t) tail) {
  D m = magnitude_f64(x);
  bool small = compare_le_f64(m, 0.7853981633974483lf);
  uint r0;
  uint r1;
  uint r2;
  uint r3;
  multiply_two_over_pi_f64(small ? 1.0lf : m, r0, r1, r2, r3);
  uint f0 = window_f64(r0, r1, 2u);
  uint f1 = window_f64(r1, r2, 2u);
  uint f2 = window_f64(r2, r3, 2u);
  uint f3 = r3 << 2;
  bool up = (f0 >> 31) != 0u;
  // Complement of the fraction: the lost last unit is far below what is used.
  D tl;
  D t = fraction_to_radians_f64(select_u32(up, ~f0, f0), select_u32(up, ~f1, f1), select_u32(up, ~f2, f2),
                                select_u32(up, ~f3, f3), tl);
  int n = int(r0 >> 30) + (up ? 1 : 0);
  bool flip = up != is_negative_f64(x);
  q = select_i32(small, 0, select_i32(is_negative_f64(x), -n, n) & 3);
  tail = select_f64(small, 0.0lf, select_f64(flip, negate_f64(tl), tl));
  return select_f64(small, x, select_f64(flip, negate_f64(t), t));
}
// (sin r - r) / r^3 for z = r^2 <= (pi/4)^2, 2^-77.
FN D sin_tail_f64(f64_t z) {
  D p = 2.791242229090309e-15lf;
  p = horner_f64(p, z, -7.646961311710078e-13lf);
  p = horner_f64(p, z, 1.605904278076985e-10lf);
  p = horner_f64(p, z, -2.5052108382388815e-08lf);
  p = horner_f64(p, z, 2.75573192239811e-06lf);
  p = horner_f64(p, z, -0.00019841269841269839lf);
  p = horner_f64(p, z, 0.008333333333333333lf);
  p = horner_f64(p, z, -0.16666666666666666lf);
  return p;
}
// (cos r - 1 + r^2/2) / r^4, 2^-81.
FN D cos_tail_f64(f64_t z) {
  D p = -1.5518099807987152e-16lf;
  p = horner_f64(p, z, 4.7793760797086676e-14lf);
  p = horner_f64(p, z, -1.1470745069454793e-11lf);
  p = horner_f64(p, z, 2.0876756986340885e-09lf);
  p = horner_f64(p, z, -2.7557319223983495e-07lf);
  p = horner_f64(p, z, 2.4801587301587298e-05lf);
  p = horner_f64(p, z, -0.001388888888888889lf);
  p = horner_f64(p, z, 0.041666666666666664lf);
  return p;
}
// sin(r + rl) = result + lo.
FN D sin_reduced_f64(f64_t r, f64_t rl, OUT(f64_t) lo) {
  D z = multiply_f64(r, r);
  D t = add_f64(multiply_f64(multiply_f64(r, z), sin_tail_f64(z)),
                multiply_f64(rl, subtract_f64(1.0lf, multiply_f64(0.5lf, z))));
  lo = t;
  return r;
}
// The same to about 2^-60, for the tangent.
FN D sin_precise_f64(f64_t r, f64_t rl, OUT(f64_t) lo) {
  D zl;
  D z = two_prod_f64(r, r, zl);
  D cl;
  D c = mul_dd_f64(z, zl, r, 0.0lf, cl);
  D wl;
  D w = mul_dd_f64(c, cl, -0.16666666666666666lf, -9.25185853854297e-18lf, wl);
  D poly = 2.791242229090309e-15lf;
  poly = horner_f64(poly, z, -7.646961311710078e-13lf);
  poly = horner_f64(poly, z, 1.605904278076985e-10lf);
  poly = horner_f64(poly, z, -2.5052108382388815e-08lf);
  poly = horner_f64(poly, z, 2.75573192239811e-06lf);
  poly = horner_f64(poly, z, -0.00019841269841269839lf);
  poly = horner_f64(poly, z, 0.008333333333333333lf);
  D g = multiply_f64(z, poly);
  D t = add_f64(multiply_f64(c, g), multiply_f64(rl, subtract_f64(1.0lf, multiply_f64(0.5lf, z))));
  D e;
  D s = fast_two_sum_f64(r, w, e);
  return fast_two_sum_f64(s, add_f64(e, add_f64(wl, t)), lo);
}
// cos(r + rl) = result + lo.
FN D cos_reduced_f64(f64_t r, f64_t rl, OUT(f64_t) lo) {
  D e;
  D z = two_prod_f64(r, r, e);
  D d;
  D s = fast_two_sum_f64(1.0lf, multiply_f64(-0.5lf, z), d);
  D t = subtract_f64(subtract_f64(multiply_f64(multiply_f64(z, z), cos_tail_f64(z)), multiply_f64(r, rl)),
                     multiply_f64(0.5lf, e));
  lo = add_f64(d, t);
  return s;
}
// sin(q pi/2 + r + rl) = result + lo; with q + 1 for q, the cosine.
FN D circular_f64(f64_t r, f64_t rl, int q, OUT(f64_t) lo) {
  D sl;
  D sh = sin_reduced_f64(r, rl, sl);
  D cl;
  D ch = cos_reduced_f64(r, rl, cl);
  bool odd = (q & 1) != 0;
  bool minus = (q & 2) != 0;
  D hi = odd ? ch : sh;
  D l = odd ? cl : sl;
  lo = select_f64(minus, negate_f64(l), l);
  return select_f64(minus, negate_f64(hi), hi);
}
// <= 1 ulp for every finite x.
FN D sine_f64(f64_t x) {
  bool ok = is_finite_f64(x);
  bool tiny = compare_lt_f64(magnitude_f64(x), 8.673617379884035e-19lf);
  int q;
  D rl;
  D r = reduce_pi_f64(ok ? x : 1.0lf, q, rl);
  D lo;
  D hi = circular_f64(r, rl, q, lo);
  D v = add_f64(hi, lo);
  return select_f64(ok, tiny ? x : v, nan_f64());
}
// <= 1 ulp for every finite x.
FN D cosine_f64(f64_t x) {
  bool ok = is_finite_f64(x);
  int q;
  D rl;
  D r = reduce_pi_f64(ok ? x : 1.0lf, q, rl);
  D lo;
  D hi = circular_f64(r, rl, q + 1, lo);
  D v = add_f64(hi, lo);
  return select_f64(ok, v, nan_f64());
}
// sin / cos in two doubles. <= 1 ulp for every finite x.
FN D tan_f64(f64_t x) {
  bool ok = is_finite_f64(x);
  bool tiny = compare_lt_f64(magnitude_f64(x), 8.673617379884035e-19lf);
  int q;
  D rl;
  D r = reduce_pi_f64(ok && !tiny ? x : 1.0lf, q, rl);
  D sl;
  D sh = sin_precise_f64(r, rl, sl);
  D cl;
  D ch = cos_reduced_f64(r, rl, cl);
  ch = fast_two_sum_f64(ch, cl, cl);
  bool odd = (q & 1) != 0;
  D lo;
  D hi = div_dd_f64(select_f64(odd, negate_f64(ch), sh), select_f64(odd, negate_f64(cl), sl), odd ? sh : ch,
                    odd ? sl : cl, lo);
  D v = add_f64(hi, lo);
  return select_f64(ok, tiny ? x : v, nan_f64());
}

// (atan q - q + q^3/3) / q^5 for z = q^2 <= tan(pi/8)^2.
FN D atan_part_f64(f64_t z) {
  D p = 0.016284375050043393lf;
  p = horner_f64(p, z, -0.03456931506332609lf);
  p = horner_f64(p, z, 0.045515447340221615lf);
  p = horner_f64(p, z, -0.05230443640686948lf);
  p = horner_f64(p, z, 0.05878927554473807lf);
  p = horner_f64(p, z, -0.0666642476020052lf);
  p = horner_f64(p, z, 0.07692296368042296lf);
  p = horner_f64(p, z, -0.09090908753259112lf);
  p = horner_f64(p, z, 0.11111111105150588lf);
  p = horner_f64(p, z, -0.14285714285659779lf);
  p = horner_f64(p, z, 0.19999999999999804lf);
  return p;
}
// That times z.
FN D atan_rest_f64(f64_t z) {
  return multiply_f64(z, atan_part_f64(z));
}
// (atan q - q) / q^3 for z = q^2 <= tan(pi/8)^2, 2^-59.6.
FN D atan_tail_f64(f64_t z) {
  return horner_f64(atan_part_f64(z), z, -0.3333333333333333lf);
}
// atan((nh + nl) / (dh + dl)) = result + lo for n, d >= 0 of moderate size, not both 0: the quotient is brought below
// tan(pi/8) by swapping and by atan t = pi/4 + atan((t - 1) / (t + 1)). About 2^-58 relative.
FN D atan_quotient_f64(f64_t nh, f64_t nl, f64_t dh, f64_t dl, OUT(f64_t) lo) {
  bool swap = compare_gt_f64(nh, dh);
  D ah = swap ? dh : nh;
  D al = swap ? dl : nl;
  D bh = swap ? nh : dh;
  D bl = swap ? nl : dl;
  bool turn = compare_gt_f64(ah, multiply_f64(0.41421356237309503lf, bh));
  D ml;
  D mh = add_dd_f64(ah, al, negate_f64(bh), negate_f64(bl), ml);
  D pl;
  D ph = add_dd_f64(ah, al, bh, bl, pl);
  D ql;
  D q = div_dd_f64(turn ? mh : ah, turn ? ml : al, turn ? ph : bh, turn ? pl : bl, ql);
  D z = multiply_f64(q, q);
  D tail = add_f64(ql, multiply_f64(multiply_f64(q, z), atan_tail_f64(z)));
  // swap: pi/2 - (base + q); the base is 0 or pi/4.
  D ch = select_f64(swap, turn ? 0.7853981633974483lf : 1.5707963267948966lf, turn ? 0.7853981633974483lf : 0.0lf);
  D cl = select_f64(swap, turn ? 3.061616997868383e-17lf : 6.123233995736766e-17lf,
                    turn ? 3.061616997868383e-17lf : 0.0lf);
  D e;
  D h = two_sum_f64(ch, select_f64(swap, negate_f64(q), q), e);
  return fast_two_sum_f64(h, add_f64(e, add_f64(cl, select_f64(swap, negate_f64(tail), tail))), lo);
}
// The angle in [0, pi/2] as hi + lo, turned into the half plane of negative x and given y's sign.
FN D place_angle_f64(f64_t hi, f64_t lo, bool left, f64_t y) {
  D e;
  D h = two_sum_f64(3.141592653589793lf, negate_f64(hi), e);
  D turned = add_f64(h, add_f64(e, subtract_f64(1.2246467991473532e-16lf, lo)));
  D r = select_f64(left, turned, add_f64(hi, lo));
  return copysign_f64(r, y);
}
// The quotient is formed from the significands, so nothing overflows and denormal results are rounded once. C99 special
// values.
// <= 1 ulp.
FN D atan2_f64(f64_t y, f64_t x) {
  D my = magnitude_f64(y);
  D mx = magnitude_f64(x);
  bool both_inf = and_pred(is_inf_f64(y), is_inf_f64(x));
  bool y_zero = or_pred(compare_eq_f64(my, 0.0lf), is_inf_f64(x) && !both_inf);
  bool x_zero = or_pred(compare_eq_f64(mx, 0.0lf), is_inf_f64(y) && !both_inf);
  bool special = y_zero || x_zero || both_inf;
  int ky;
  D fy = frexp_f64(special ? 1.0lf : my, ky);
  int kx;
  D fx = frexp_f64(special ? 1.0lf : mx, kx);
  int d = ky - kx;
  // Very small quotients are the angle itself; very large ones are as good as infinite.
  bool tiny = d < -30;
  int g = select_i32(d > 70, 70, d < -70 ? -70 : d);
  D n = select_f64(y_zero, 0.0lf, select_f64(x_zero, 1.0lf, select_f64(special, 1.0lf, multiply_f64(fy, pow2_f64(g)))));
  D m = select_f64(y_zero, 1.0lf, select_f64(x_zero, 0.0lf, special ? 1.0lf : fx));
  D lo;
  D hi = atan_quotient_f64(n, 0.0lf, m, 0.0lf, lo);
  bool left = is_negative_f64(x);
  D r = place_angle_f64(hi, lo, left, y);
  D ql;
  D q = div_dd_f64(fy, 0.0lf, fx, 0.0lf, ql);
  D t = copysign_f64(scale_f64(q, ql, d), y);
  D v = !special && tiny && !left ? t : r;
  return select_f64(or_pred(is_nan_f64(x), is_nan_f64(y)), nan_f64(), v);
}
// <= 1 ulp.
FN D atan_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool tiny = compare_lt_f64(m, 8.673617379884035e-19lf);
  D n = select_f64(tiny, 1.0lf, compare_gt_f64(m, 1e20lf) ? 1e20lf : m);
  D lo;
  D hi = atan_quotient_f64(n, 0.0lf, 1.0lf, 0.0lf, lo);
  D r = add_f64(hi, lo);
  return select_f64(is_nan_f64(x), nan_f64(), copysign_f64(tiny ? m : r, x));
}
// sqrt(1 - x^2) = result + lo for 0 <= x <= 1, from (1 - x) (1 + x).
FN D cathetus_f64(f64_t x, OUT(f64_t) lo) {
  D al;
  D a = two_sum_f64(1.0lf, negate_f64(x), al);
  D bl;
  D b = two_sum_f64(1.0lf, x, bl);
  D pl;
  D p = mul_dd_f64(a, al, b, bl, pl);
  return sqrt_dd_f64(p, pl, lo);
}
// atan(x / sqrt(1 - x^2)). <= 1 ulp.
FN D asin_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool tiny = compare_lt_f64(m, 8.673617379884035e-19lf);
  bool ok = compare_le_f64(m, 1.0lf);
  D c = ok && !tiny ? m : 0.5lf;
  D sl;
  D s = cathetus_f64(c, sl);
  D lo;
  D hi = atan_quotient_f64(c, 0.0lf, s, sl, lo);
  D r = add_f64(hi, lo);
  return select_f64(ok, copysign_f64(tiny ? m : r, x), nan_f64());
}
// atan(sqrt(1 - x^2) / x). <= 1 ulp.
FN D acos_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool ok = compare_le_f64(m, 1.0lf);
  D c = select_f64(ok, compare_lt_f64(m, 8.673617379884035e-19lf) ? 0.0lf : m, 0.5lf);
  D sl;
  D s = cathetus_f64(c, sl);
  D lo;
  D hi = atan_quotient_f64(s, sl, c, 0.0lf, lo);
  D r = place_angle_f64(hi, lo, is_negative_f64(x), 1.0lf);
  return select_f64(ok, r, nan_f64());
}
