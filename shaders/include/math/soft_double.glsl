// IEEE binary64 over pairs of 32-bit words (x low, y high), for devices without it, or whose own division is not
// correctly rounded (the part before VXLA_EMULATE_F64): what f64.glsl says with the device's own. To nearest even with
// denormals, signed zeros and infinities; NaN is 7ff80000 00000000. Few branches: software drivers pay for them.

FN D select_f64(bool condition, f64_t a, f64_t b) {
  return condition ? a : b;
}
// h:l shifted right by s < 64, what is lost or-ed into the last bit.
FN uvec2 shift_sticky_words(uint h, uint l, uint s) {
  uint n = s & 31u;
  bool far = s > 31u;
  uint gone = far ? l : 0u;
  uint wl = far ? h : l;
  uint wh = far ? 0u : h;
  uint lost = gone | ((wl << 1) << (31u - n));
  uint low = (wl >> n) | ((wh << 1) << (31u - n));
  return uvec2(low | (lost != 0u ? 1u : 0u), wh >> n);
}
// h:l shifted left by s < 64.
FN uvec2 shift_left_words(uint h, uint l, uint s) {
  uint n = s & 31u;
  bool far = s > 31u;
  uint a = l << n;
  uint b = (h << n) | ((l >> 1) >> (31u - n));
  return uvec2(far ? 0u : a, far ? a : b);
}
// The zeros in front of h:l; 64 for 0.
FN uint leading_zeros_words(uint h, uint l) {
  int a = 31 - findMSB(h);
  int b = 63 - findMSB(l);
  return uint(h != 0u ? a : b);
}
// sign | h:l * 2^(e - 1086) rounded, for e >= 1 and bit 63 set, or e = 1: to nearest even by the last 11 bits; infinity
// from e = 2047 on.
FN uvec2 pack_words(uint sign, int e, uint h, uint l) {
  uint low = (l >> 11) | (h << 21);
  uint high = (h >> 11) + (uint(e - 1) << 20);
  uint up = (l & 0x7ffu) + (low & 1u) > 0x400u ? 1u : 0u;
  uint low1 = low + up;
  uint high1 = high + (low1 < up ? 1u : 0u);
  bool inf = high1 >= 0x7ff00000u;
  return uvec2(inf ? 0u : low1, sign | (inf ? 0x7ff00000u : high1));
}
// The same for every e, bit 63 set: denormal results are shifted first.
FN uvec2 round_words(uint sign, int e, uint h, uint l) {
  int s = 1 - e;
  uint count = uint(select_i32(s < 0, 0, s > 63 ? 63 : s));
  uvec2 m = shift_sticky_words(h, l, count);
  return pack_words(sign, e < 1 ? 1 : e, m.y, m.x);
}
// The significand of a finite number with its leading bit (a denormal's too) at bit 63, and the exponent field to
// match.
FN uvec2 significand_words(uvec2 a, OUT(int) e) {
  uint field = (a.y >> 20) & 0x7ffu;
  uint top = field != 0u ? 0x80000000u : 0u;
  uint h = ((a.y & 0x000fffffu) << 11) | (a.x >> 21) | top;
  uint l = a.x << 11;
  uint n = leading_zeros_words(h, l) & 63u;
  e = int(field == 0u ? 1u : field) - int(n);
  return shift_left_words(h, l, n);
}
// The product of two significands, the leading word first.
FN void product_words(uvec2 a, uvec2 b, OUT(uint) p3, OUT(uint) p2, OUT(uint) p1, OUT(uint) p0) {
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
  uint s1 = h0 + l1;
  uint t1 = s1 + l2;
  uint c1 = (s1 < h0 ? 1u : 0u) + (t1 < s1 ? 1u : 0u);
  uint s2 = l3 + h1;
  uint t2 = s2 + h2;
  uint u2 = t2 + c1;
  uint c2 = (s2 < l3 ? 1u : 0u) + (t2 < s2 ? 1u : 0u) + (u2 < t2 ? 1u : 0u);
  p3 = h3 + c2;
  p2 = u2;
  p1 = t1;
  p0 = l0;
}
// Four words, leading first, shifted right by s < 128, what is lost or-ed into the last bit.
FN void shift_sticky_quad(uint s, uint a3, uint a2, uint a1, uint a0, OUT(uint) b3, OUT(uint) b2, OUT(uint) b1,
                          OUT(uint) b0) {
  bool two = (s & 64u) != 0u;
  bool one = (s & 32u) != 0u;
  uint c3 = two ? 0u : a3;
  uint c2 = two ? 0u : a2;
  uint c1 = two ? a3 : a1;
  uint c0 = two ? a2 : a0;
  uint lost2 = select_u32(two, a1 | a0, 0u);
  uint d3 = one ? 0u : c3;
  uint d2 = one ? c3 : c2;
  uint d1 = one ? c2 : c1;
  uint d0 = one ? c1 : c0;
  uint lost1 = one ? c0 : 0u;
  uint n = s & 31u;
  uint back = 31u - n;
  uint lost = lost2 | lost1 | ((d0 << 1) << back);
  b3 = d3 >> n;
  b2 = (d2 >> n) | ((d3 << 1) << back);
  b1 = (d1 >> n) | ((d2 << 1) << back);
  b0 = (d0 >> n) | ((d1 << 1) << back) | (lost != 0u ? 1u : 0u);
}
// The leading 64 of four words from their first set bit on, with a sticky last bit, and the zeros before it (128 for
// 0).
FN uvec2 leading_words(uint a3, uint a2, uint a1, uint a0, OUT(uint) zeros) {
  bool two = (a3 | a2) == 0u;
  uint c3 = two ? a1 : a3;
  uint c2 = two ? a0 : a2;
  uint c1 = two ? 0u : a1;
  uint c0 = two ? 0u : a0;
  uint z = leading_zeros_words(c3, c2);
  uvec2 m = shift_left_words(c3, c2, z & 63u);
  // The lower half, to be shifted as far: its leading bits follow.
  uvec2 f = shift_left_words(c1, c0, z & 63u);
  uint s = 64u - z;
  uint n = s & 31u;
  bool far = s > 31u;
  uint gh = c1 >> n;
  uint gl = (c0 >> n) | ((c1 << 1) << (31u - n));
  bool none = z == 0u || z > 63u;
  uint l = select_u32(none, 0u, far ? gh : gl);
  uint h = none || far ? 0u : gh;
  zeros = z + (two ? 64u : 0u);
  return uvec2(m.x | l | ((f.x | f.y) != 0u ? 1u : 0u), m.y | h);
}
// a b + c rounded once for finite numbers: both summands in 128 bits, from bit 126 on.
FN uvec2 fma_finite_words(uvec2 a, uvec2 b, uvec2 c) {
  int ea;
  uvec2 ma = significand_words(a, ea);
  int eb;
  uvec2 mb = significand_words(b, eb);
  int ec;
  uvec2 mc = significand_words(c, ec);
  uint p3;
  uint p2;
  uint p1;
  uint p0;
  product_words(ma, mb, p3, p2, p1, p0);
  bool p_zero = (p3 | p2) == 0u;
  bool c_zero = (mc.x | mc.y) == 0u;
  int ep = ea + eb - 1022;
  // x is the summand of the larger exponent, y the other one.
  bool swap = or_pred(p_zero, !c_zero && ec > ep);
  int e = swap ? ec : ep;
  int d = select_i32(swap, ec - ep, ep - ec);
  bool apart = p_zero || c_zero || d > 126;
  uint x3 = select_u32(swap, mc.y, p3);
  uint x2 = select_u32(swap, mc.x, p2);
  uint x1 = swap ? 0u : p1;
  uint x0 = swap ? 0u : p0;
  uint y3;
  uint y2;
  uint y1;
  uint y0;
  shift_sticky_quad(select_u32(apart, 127u, uint(d + 1)), select_u32(swap, p3, mc.y), select_u32(swap, p2, mc.x),
                    swap ? p1 : 0u, swap ? p0 : 0u, y3, y2, y1, y0);
  uint sign_p = (a.y ^ b.y) & 0x80000000u;
  uint sign_c = c.y & 0x80000000u;
  uint sign = swap ? sign_c : sign_p;
  uint minus = sign_p == sign_c ? 0u : 0xffffffffu;
  // x / 2 + y, or x / 2 + ~y + 1.
  uint t0 = ((x0 >> 1) | (x1 << 31));
  uint t1 = ((x1 >> 1) | (x2 << 31));
  uint t2 = ((x2 >> 1) | (x3 << 31));
  uint t3 = x3 >> 1;
  uint n0 = (y0 ^ minus) - minus;
  uint k0 = n0 < (minus & 1u) ? 1u : 0u;
  uint n1 = (y1 ^ minus) + k0;
  uint k1 = n1 < k0 ? 1u : 0u;
  uint n2 = (y2 ^ minus) + k1;
  uint k2 = n2 < k1 ? 1u : 0u;
  uint n3 = (y3 ^ minus) + k2;
  uint s0 = t0 + n0;
  uint c0 = s0 < t0 ? 1u : 0u;
  uint q1 = t1 + n1;
  uint s1 = q1 + c0;
  uint c1 = (q1 < t1 ? 1u : 0u) + (s1 < c0 ? 1u : 0u);
  uint q2 = t2 + n2;
  uint s2 = q2 + c1;
  uint c2 = (q2 < t2 ? 1u : 0u) + (s2 < c1 ? 1u : 0u);
  uint s3 = t3 + n3 + c2;
  // Below zero y was the larger.
  uint flip = minus & uint(int(s3) >> 31);
  uint r0 = (s0 ^ flip) - flip;
  uint j0 = r0 < (flip & 1u) ? 1u : 0u;
  uint r1 = (s1 ^ flip) + j0;
  uint j1 = r1 < j0 ? 1u : 0u;
  uint r2 = (s2 ^ flip) + j1;
  uint r3 = (s3 ^ flip) + (r2 < j1 ? 1u : 0u);
  uint z;
  uvec2 m = leading_words(r3, r2, r1, r0, z);
  bool zero = (r3 | r2 | r1 | r0) == 0u;
  uvec2 r = round_words(sign ^ (flip & 0x80000000u), e + 1 - int(z), m.y, m.x);
  uint zero_sign = sign_p & sign_c;
  return uvec2(select_u32(zero, 0u, r.x), select_u32(zero, zero_sign, r.y));
}
// With C's special values.
FN uvec2 fma_words(uvec2 a, uvec2 b, uvec2 c) {
  uvec2 r = fma_finite_words(a, b, c);
  uint am = (a.y & 0x7fffffffu) | (a.x != 0u ? 1u : 0u);
  uint bm = (b.y & 0x7fffffffu) | (b.x != 0u ? 1u : 0u);
  uint cm = (c.y & 0x7fffffffu) | (c.x != 0u ? 1u : 0u);
  uint sign = (a.y ^ b.y) & 0x80000000u;
  bool p_inf = am == 0x7ff00000u || bm == 0x7ff00000u;
  bool c_inf = cm == 0x7ff00000u;
  bool no_product = and_pred(p_inf, am == 0u || bm == 0u);
  bool opposed = and_pred(p_inf && c_inf, sign != (c.y & 0x80000000u));
  bool nan = am > 0x7ff00000u || bm > 0x7ff00000u || cm > 0x7ff00000u || no_product || opposed;
  uint inf = select_u32(p_inf, sign, c.y & 0x80000000u) | 0x7ff00000u;
  bool special = nan || p_inf || c_inf;
  return uvec2(select_u32(special, 0u, r.x), select_u32(special, nan ? 0x7ff80000u : inf, r.y));
}
// A digit of n <= 18 bits of r 2^n / d, from below, for r < 3d and d of 53 bits; the rest is below 3d again.
FN uint divide_digit_words(uvec2 r, uvec2 d, float inverse, uint n, OUT(uvec2) rest) {
  F scale = uintBitsToFloat((n + 129u) << 23);
  int q = int(float(int((r.y << 1) | (r.x >> 31))) * inverse * scale);
  uint digit = uint(q > 0 ? q - 1 : 0);
  uint h;
  uint l;
  umulExtended(digit, d.x, h, l);
  uint rl = r.x << n;
  uint rh = (r.y << n) | ((r.x >> 1) >> (31u - n));
  rest = uvec2(rl - l, rh - (h + digit * d.y) - (rl < l ? 1u : 0u));
  return digit;
}
// The significand of a / b with leading bit 63 or 62 and a sticky last bit, from three digits and two corrections.
FN uvec2 divide_words(uvec2 a, uvec2 b) {
  uvec2 d = uvec2((b.x >> 11) | (b.y << 21), b.y >> 11);
  F inverse = quotient_guess_f32(1.0f, float(int((d.y << 3) | (d.x >> 29))));
  uvec2 r0;
  uint q0 = divide_digit_words(uvec2((a.x >> 11) | (a.y << 21), a.y >> 11), d, inverse, 18u, r0);
  uvec2 r1;
  uint q1 = divide_digit_words(r0, d, inverse, 18u, r1);
  uvec2 r2;
  uint q2 = divide_digit_words(r1, d, inverse, 18u, r2);
  uint l1 = (q1 << 18) + q2;
  uint h1 = (q0 << 4) + (q1 >> 14) + (l1 < q2 ? 1u : 0u);
  bool low_a = r2.x < d.x;
  bool more = select_pred(r2.y == d.y, !low_a, r2.y > d.y);
  uint tl = select_u32(more, r2.x - d.x, r2.x);
  uint th = select_u32(more, r2.y - d.y - (low_a ? 1u : 0u), r2.y);
  bool low_b = tl < d.x;
  bool twice = select_pred(th == d.y, !low_b, th > d.y);
  uint ul = select_u32(twice, tl - d.x, tl);
  uint uh = select_u32(twice, th - d.y - (low_b ? 1u : 0u), th);
  uint add = (more ? 1u : 0u) + (twice ? 1u : 0u);
  uint l2 = l1 + add;
  uint h2 = h1 + (l2 < add ? 1u : 0u);
  uint sticky = (ul | uh) != 0u ? 1u : 0u;
  return uvec2((l2 << 9) | sticky, (h2 << 9) | (l2 >> 23));
}
// a / b correctly rounded.
FN uvec2 quotient_words(uvec2 a, uvec2 b) {
  int ea;
  uvec2 ma = significand_words(a, ea);
  int eb;
  uvec2 mb = significand_words(b, eb);
  uvec2 q = divide_words(ma, mb);
  bool below = q.y < 0x80000000u;
  uint qh = select_u32(below, (q.y << 1) | (q.x >> 31), q.y);
  uint ql = select_u32(below, (q.x << 1) | (q.x & 1u), q.x);
  uint sign = (a.y ^ b.y) & 0x80000000u;
  uvec2 r = round_words(sign, ea - eb + (below ? 1022 : 1023), qh, ql);
  uint am = a.y & 0x7fffffffu;
  uint bm = b.y & 0x7fffffffu;
  bool a_zero = (am | a.x) == 0u;
  bool b_zero = (bm | b.x) == 0u;
  bool a_inf = am >= 0x7ff00000u;
  bool b_inf = bm >= 0x7ff00000u;
  uint an = am | (a.x != 0u ? 1u : 0u);
  uint bn = bm | (b.x != 0u ? 1u : 0u);
  bool nan = or_pred(or_pred(an > 0x7ff00000u || bn > 0x7ff00000u, a_zero && b_zero), a_inf && b_inf);
  bool inf = a_inf || b_zero;
  bool zero = a_zero || b_inf;
  uint special_high = select_u32(nan, 0x7ff80000u, sign | (inf ? 0x7ff00000u : 0u));
  bool special = inf || zero || nan;
  return uvec2(select_u32(special, 0u, r.x), select_u32(special, special_high, r.y));
}
// r - q (s 2^19 + q), the rest of a root s 2^18 + q whose first digits s left r, already shifted.
FN uvec2 root_rest_words(uvec2 r, uvec2 s, uint q) {
  uint dl = (s.x << 19) + q;
  uint dh = (s.y << 19) | (s.x >> 13);
  uint h;
  uint l;
  umulExtended(q, dl, h, l);
  return uvec2(r.x - l, r.y - (h + q * (dh + (dl < q ? 1u : 0u))) - (r.x < l ? 1u : 0u));
}
// A unit more of the root s if the rest r allows.
FN uvec2 root_correct_words(uvec2 s, uvec2 r, OUT(uvec2) rest) {
  uint dl = (s.x << 1) | 1u;
  uint dh = (s.y << 1) | (s.x >> 31);
  bool low = r.x < dl;
  bool more = select_pred(r.y == dh, !low, r.y > dh);
  uint tl = r.x - dl;
  uint th = r.y - dh - (low ? 1u : 0u);
  rest = uvec2(select_u32(more, tl, r.x), select_u32(more, th, r.y));
  uint l = s.x + (more ? 1u : 0u);
  return uvec2(l, s.y + (l < s.x ? 1u : 0u));
}
// The root of the 53-bit m times 2^54, or 2^55 if odd, in 54 bits at bit 63 and a sticky last bit: 18 bits, then two
// digits of 18.
FN uvec2 root_words(uvec2 m, bool odd) {
  uint one = odd ? 1u : 0u;
  uint ml = m.x << one;
  uint mh = (m.y << one) | select_u32(odd, m.x >> 31, 0u);
  F root = root_guess_f32(float(int((mh << 2) | (ml >> 30)))) * 64.0f;
  uint s0 = uint(int(root - 0.25f));
  uint r0 = ((ml >> 18) | (mh << 14)) - s0 * s0;
  uint v = ml & 0x3ffffu;
  uint xh = (r0 << 4) | (v >> 14);
  // The digit's own square is left out of the estimate: up to 1.8 too much.
  int a = int(quotient_guess_f32(float(int(xh)), float(int(s0))) * 8192.0f);
  uint q1 = uint(a > 3 ? a - 3 : 0);
  uvec2 r1 = root_rest_words(uvec2(v << 18, xh), uvec2(s0, 0u), q1);
  uint l1 = (s0 << 18) + q1;
  uint h1 = (s0 >> 14) + (l1 < q1 ? 1u : 0u);
  F n = float(int((r1.y << 16) | (r1.x >> 16)));
  int b = int(quotient_guess_f32(n, float(int((h1 << 20) | (l1 >> 12)))) * 2097152.0f);
  uint q2 = uint(b > 1 ? b - 1 : 0);
  uvec2 r2 = root_rest_words(uvec2(0u, r1.x << 4), uvec2(l1, h1), q2);
  uint l2 = (l1 << 18) + q2;
  uvec2 s2 = uvec2(l2, (h1 << 18) + (l1 >> 14) + (l2 < q2 ? 1u : 0u));
  uvec2 r3;
  uvec2 s3 = root_correct_words(s2, r2, r3);
  uvec2 r4;
  uvec2 s4 = root_correct_words(s3, r3, r4);
  uvec2 r5;
  uvec2 s5 = root_correct_words(s4, r4, r5);
  uint sticky = (r5.x | r5.y) != 0u ? 1u : 0u;
  return uvec2((s5.x << 10) | sticky, (s5.y << 10) | (s5.x >> 22));
}
// The root of a correctly rounded; NaN below 0.
FN uvec2 sqrt_words(uvec2 a) {
  int e;
  uvec2 m = significand_words(a, e);
  int k = e - 1023;
  uvec2 s = root_words(uvec2((m.x >> 11) | (m.y << 21), m.y >> 11), (k & 1) != 0);
  uvec2 r = pack_words(0u, (k >> 1) + 1023, s.y, s.x);
  uint am = a.y & 0x7fffffffu;
  bool zero = (am | a.x) == 0u;
  uint an = am | (a.x != 0u ? 1u : 0u);
  bool nan = or_pred(an > 0x7ff00000u, (a.y >> 31) != 0u && !zero);
  bool special = nan || zero || am == 0x7ff00000u;
  uint special_high = select_u32(nan, 0x7ff80000u, a.y);
  return uvec2(select_u32(special, 0u, r.x), select_u32(special, special_high, r.y));
}
#ifdef VXLA_EMULATE_F64
FN uvec2 unpack_f64(f64_t x) {
  return uvec2(x.x, x.y);
}
FN D pack_f64(uvec2 words) {
  return f64_t(words.x, words.y);
}
FN D from_words_f64(uint high, uint low) {
  return f64_t(low, high);
}
FN c128_t complex_f64(f64_t re, f64_t im) {
  return c128_t(re, im);
}
FN D from_uint_f64(uint a) {
  uint n = uint(31 - findMSB(a));
  uint m = a << (n & 31u);
  uint high = (m >> 11) + ((1053u - n) << 20);
  return f64_t(m << 21, a == 0u ? 0u : high);
}
FN D from_int_f64(int a) {
  D m = from_uint_f64(select_u32(a < 0, 0u - uint(a), uint(a)));
  return f64_t(m.x, m.y | (uint(a) & 0x80000000u));
}
FN D from_unsigned_words_f64(uint high, uint low) {
  uint n = leading_zeros_words(high, low);
  uvec2 m = shift_left_words(high, low, n & 63u);
  uvec2 r = pack_words(0u, 1086 - int(n), m.y, m.x);
  bool zero = (high | low) == 0u;
  return f64_t(r.x, select_u32(zero, 0u, r.y));
}
// Truncated, for |a| < 2^31 + 1.
FN int to_int_f64(f64_t a) {
  int s = 1054 - int((a.y >> 20) & 0x7ffu);
  uint m = 0x80000000u | ((a.y & 0x000fffffu) << 11) | (a.x >> 21);
  uint v = select_u32(s > 31, 0u, m >> (uint(s) & 31u));
  uint minus = 0u - v;
  return int((a.y >> 31) != 0u ? minus : v);
}
FN D negate_f64(f64_t a) {
  return f64_t(a.x, a.y ^ 0x80000000u);
}
FN D add_f64(f64_t a, f64_t b) {
  uint am = a.y & 0x7fffffffu;
  uint bm = b.y & 0x7fffffffu;
  bool less = am < bm;
  bool low_less = a.x < b.x;
  bool same = am == bm;
  bool swap = same ? low_less : less;
  // |x| >= |y|.
  uint xh = select_u32(swap, b.y, a.y);
  uint xl = select_u32(swap, b.x, a.x);
  uint yh = select_u32(swap, a.y, b.y);
  uint yl = select_u32(swap, a.x, b.x);
  uint sign = xh & 0x80000000u;
  uint minus = uint(int(xh ^ yh) >> 31);
  uint ex = (xh >> 20) & 0x7ffu;
  uint ey = (yh >> 20) & 0x7ffu;
  // Both at bit 62, ten bits below the significand; y shifted to x's exponent.
  uint e1 = ex == 0u ? 1u : ex;
  uint e2 = ey == 0u ? 1u : ey;
  uint d = e1 - e2;
  uint mh = ((xh & 0x000fffffu) << 10) | (xl >> 22) | (ex != 0u ? 0x40000000u : 0u);
  uint ml = xl << 10;
  uint nh = ((yh & 0x000fffffu) << 10) | (yl >> 22) | (ey != 0u ? 0x40000000u : 0u);
  uvec2 n = shift_sticky_words(nh, yl << 10, d > 63u ? 63u : d);
  // Two's complement for a difference.
  uint kl = (n.x ^ minus) - minus;
  uint kh = (n.y ^ minus) + (kl < (minus & 1u) ? 1u : 0u);
  uint sl = ml + kl;
  uint sh = mh + kh + (sl < ml ? 1u : 0u);
  uint z = leading_zeros_words(sh, sl);
  uint c = z < e1 ? z : e1;
  uvec2 m = shift_left_words(sh, sl, c & 63u);
  uvec2 r = pack_words(sign, int(e1 + 1u - c), m.y, m.x);
  bool zero = (sh | sl) == 0u;
  bool gone = zero && minus != 0u;
  bool special = ex == 0x7ffu;
  bool nan = or_pred(((xh & 0x000fffffu) | xl) != 0u, minus != 0u && ey == 0x7ffu);
  uint rl = select_u32(gone || special, 0u, r.x);
  uint rh = select_u32(gone, 0u, r.y);
  uint special_high = nan ? 0x7ff80000u : xh;
  return f64_t(rl, special ? special_high : rh);
}
FN D subtract_f64(f64_t a, f64_t b) {
  return add_f64(a, f64_t(b.x, b.y ^ 0x80000000u));
}
// The significand of a times that of b, bit 63 set, with a sticky last bit.
FN uvec2 multiply_words(uvec2 a, uvec2 b, OUT(uint) zeros, OUT(uint) rest1, OUT(uint) rest0) {
  uint fa = (a.y >> 20) & 0x7ffu;
  uint fb = (b.y >> 20) & 0x7ffu;
  uint ah = ((a.y & 0x000fffffu) << 11) | (a.x >> 21) | (fa != 0u ? 0x80000000u : 0u);
  uint bh = ((b.y & 0x000fffffu) << 11) | (b.x >> 21) | (fb != 0u ? 0x80000000u : 0u);
  uint p3;
  uint p2;
  uint p1;
  uint p0;
  product_words(uvec2(a.x << 11, ah), uvec2(b.x << 11, bh), p3, p2, p1, p0);
  uint z = leading_zeros_words(p3, p2);
  bool far = z > 31u;
  uint w3 = far ? p2 : p3;
  uint w2 = far ? p1 : p2;
  uint w1 = far ? p0 : p1;
  uint w0 = far ? 0u : p0;
  uint n = z & 31u;
  uint back = 31u - n;
  uint h = (w3 << n) | ((w2 >> 1) >> back);
  uint l = (w2 << n) | ((w1 >> 1) >> back);
  zeros = z;
  rest1 = (w1 << n) | ((w0 >> 1) >> back);
  rest0 = w0 << n;
  return uvec2(l, h);
}
// r where a * b is a finite number other than 0; zero, infinity or NaN elsewhere.
FN D multiply_special_f64(f64_t a, f64_t b, uvec2 r, bool zero) {
  uint sign = (a.y ^ b.y) & 0x80000000u;
  uint am = a.y & 0x7fffffffu;
  uint bm = b.y & 0x7fffffffu;
  bool special = am >= 0x7ff00000u || bm >= 0x7ff00000u;
  uint az = am | a.x;
  uint bz = bm | b.x;
  uint an = am | (a.x != 0u ? 1u : 0u);
  uint bn = bm | (b.x != 0u ? 1u : 0u);
  bool nan = an > 0x7ff00000u || bn > 0x7ff00000u || az == 0u || bz == 0u;
  uint special_high = select_u32(nan, 0x7ff80000u, sign | 0x7ff00000u);
  uint high = select_u32(zero, sign, r.y);
  return f64_t(select_u32(special || zero, 0u, r.x), special ? special_high : high);
}
FN D multiply_f64(f64_t a, f64_t b) {
  uint z;
  uint r1;
  uint r0;
  uvec2 m = multiply_words(uvec2(a.x, a.y), uvec2(b.x, b.y), z, r1, r0);
  uint fa = (a.y >> 20) & 0x7ffu;
  uint fb = (b.y >> 20) & 0x7ffu;
  int e = int(fa == 0u ? 1u : fa) + int(fb == 0u ? 1u : fb) - 1022 - int(z);
  uint sticky = (r1 | r0) != 0u ? 1u : 0u;
  uvec2 r = round_words((a.y ^ b.y) & 0x80000000u, e, m.y, m.x | sticky);
  return multiply_special_f64(a, b, r, z > 63u);
}
FN D horner_f64(f64_t a, f64_t b, f64_t c) {
  return add_f64(multiply_f64(a, b), c);
}
FN D divide_f64(f64_t a, f64_t b) {
  uvec2 q = quotient_words(uvec2(a.x, a.y), uvec2(b.x, b.y));
  return f64_t(q.x, q.y);
}
// Exact: the rest of a long division of the significands, 18 bits a step, with the sign of a.
FN D remainder_f64(f64_t a, f64_t b) {
  int ea;
  uvec2 ma = significand_words(uvec2(a.x, a.y), ea);
  int eb;
  uvec2 mb = significand_words(uvec2(b.x, b.y), eb);
  uvec2 d = uvec2((mb.x >> 11) | (mb.y << 21), mb.y >> 11);
  uvec2 r = uvec2((ma.x >> 11) | (ma.y << 21), ma.y >> 11);
  F inverse = quotient_guess_f32(1.0f, float(int((d.y << 3) | (d.x >> 29))));
  uint am = a.y & 0x7fffffffu;
  uint bm = b.y & 0x7fffffffu;
  bool b_zero = (bm | b.x) == 0u;
  bool whole = or_pred(or_pred(bm > am, and_pred(bm == am, b.x > a.x)), (am | a.x) == 0u);
  uint bn = bm | (b.x != 0u ? 1u : 0u);
  bool nan = am >= 0x7ff00000u || bn > 0x7ff00000u || b_zero;
  int n = select_i32(whole || nan, 0, ea - eb);
  for (; n > 17; n -= 18) {
    uvec2 t = r;
    divide_digit_words(t, d, inverse, 18u, r);
  }
  uvec2 u;
  divide_digit_words(r, d, inverse, uint(n), u);
  bool low1 = u.x < d.x;
  bool more1 = select_pred(u.y == d.y, !low1, u.y > d.y);
  uint vl = select_u32(more1, u.x - d.x, u.x);
  uint vh = select_u32(more1, u.y - d.y - (low1 ? 1u : 0u), u.y);
  bool low2 = vl < d.x;
  bool more2 = select_pred(vh == d.y, !low2, vh > d.y);
  uint wl = select_u32(more2, vl - d.x, vl);
  uint wh = select_u32(more2, vh - d.y - (low2 ? 1u : 0u), vh);
  uint z = leading_zeros_words(wh, wl);
  uvec2 m = shift_left_words(wh, wl, z & 63u);
  uint sign = a.y & 0x80000000u;
  uvec2 v = round_words(sign, eb + 11 - int(z), m.y, m.x);
  bool zero = (wh | wl) == 0u;
  uint xl = select_u32(whole, a.x, select_u32(zero, 0u, v.x));
  uint xh = select_u32(whole, a.y, select_u32(zero, sign, v.y));
  return f64_t(nan ? 0u : xl, nan ? 0x7ff80000u : xh);
}
FN D sqrt_plain_f64(f64_t a) {
  uvec2 r = sqrt_words(uvec2(a.x, a.y));
  return f64_t(r.x, r.y);
}
FN D floor_plain_f64(f64_t a) {
  int e = int((a.y >> 20) & 0x7ffu) - 1023;
  uint k = uint(select_i32(e < 0, 0, e > 52 ? 52 : e));
  // The bits below 1.
  uint low = select_u32(k < 20u, 0xffffffffu, select_u32(k > 51u, 0u, 0xffffffffu >> ((k - 20u) & 31u)));
  uint high = select_u32(k < 20u, 0x000fffffu >> (k & 31u), 0u);
  bool negative = (a.y >> 31) != 0u;
  uint l = a.x + (negative ? low : 0u);
  uint h = a.y + (negative ? high : 0u) + (l < a.x ? 1u : 0u);
  bool zero = ((a.y & 0x7fffffffu) | a.x) == 0u;
  bool small = e < 0;
  uint minus_one = select_u32(zero, a.y, 0xbff00000u);
  uint small_high = negative ? minus_one : 0u;
  return f64_t(select_u32(small, 0u, l & ~low), select_u32(small, small_high, h & ~high));
}
FN bool unordered_f64(f64_t a, f64_t b) {
  uint an = (a.y & 0x7fffffffu) | (a.x != 0u ? 1u : 0u);
  uint bn = (b.y & 0x7fffffffu) | (b.x != 0u ? 1u : 0u);
  return an > 0x7ff00000u || bn > 0x7ff00000u;
}
// a < b for numbers: by the words of sign and magnitude, zeros being equal.
FN bool below_f64(f64_t a, f64_t b) {
  uint as = uint(int(a.y) >> 31);
  uint bs = uint(int(b.y) >> 31);
  uint ah = a.y ^ (as | 0x80000000u);
  uint bh = b.y ^ (bs | 0x80000000u);
  bool high = ah < bh;
  bool low = (a.x ^ as) < (b.x ^ bs);
  bool same = ah == bh;
  bool less = same ? low : high;
  bool zeros = (((a.y | b.y) & 0x7fffffffu) | a.x | b.x) == 0u;
  return less && !zeros;
}
FN bool compare_eq_f64(f64_t a, f64_t b) {
  bool same = ((a.x ^ b.x) | (a.y ^ b.y)) == 0u;
  bool zeros = (((a.y | b.y) & 0x7fffffffu) | a.x | b.x) == 0u;
  bool equal = same || zeros;
  bool unordered = unordered_f64(a, b);
  return equal && !unordered;
}
FN bool compare_ne_f64(f64_t a, f64_t b) {
  return !compare_eq_f64(a, b);
}
FN bool compare_lt_f64(f64_t a, f64_t b) {
  bool less = below_f64(a, b);
  bool unordered = unordered_f64(a, b);
  return less && !unordered;
}
FN bool compare_gt_f64(f64_t a, f64_t b) {
  return compare_lt_f64(b, a);
}
FN bool compare_le_f64(f64_t a, f64_t b) {
  bool greater = below_f64(b, a);
  bool unordered = unordered_f64(a, b);
  return !greater && !unordered;
}
FN bool compare_ge_f64(f64_t a, f64_t b) {
  return compare_le_f64(b, a);
}
// a + b - s for s = a + b rounded, exact; zero where there is no error. In units of the smaller number's last place all
// terms are integers modulo 2^64, as the error is below 2^63 of them (or is the smaller number itself).
FN D sum_error_f64(f64_t a, f64_t b, f64_t s, f64_t zero) {
  uint am = a.y & 0x7fffffffu;
  uint bm = b.y & 0x7fffffffu;
  bool less = am < bm;
  bool low_less = a.x < b.x;
  bool same = am == bm;
  bool swap = same ? low_less : less;
  uint xh = select_u32(swap, b.y, a.y);
  uint xl = select_u32(swap, b.x, a.x);
  uint yh = select_u32(swap, a.y, b.y);
  uint yl = select_u32(swap, a.x, b.x);
  uint fx = (xh >> 20) & 0x7ffu;
  uint fy = (yh >> 20) & 0x7ffu;
  uint fs = (s.y >> 20) & 0x7ffu;
  uint ex = fx == 0u ? 1u : fx;
  uint ey = fy == 0u ? 1u : fy;
  uint es = fs == 0u ? 1u : fs;
  uint d = ex - ey;
  uvec2 mx = shift_left_words((xh & 0x000fffffu) | (fx != 0u ? 0x00100000u : 0u), xl, d & 63u);
  uvec2 ms = shift_left_words((s.y & 0x000fffffu) | (fs != 0u ? 0x00100000u : 0u), s.x, (es - ey) & 63u);
  uint minus = uint(int(xh ^ yh) >> 31);
  uint my = (yh & 0x000fffffu) | (fy != 0u ? 0x00100000u : 0u);
  uint nl = (yl ^ minus) - minus;
  uint nh = (my ^ minus) + (nl < (minus & 1u) ? 1u : 0u);
  uint tl = mx.x + nl;
  uint th = mx.y + nh + (tl < nl ? 1u : 0u);
  uint rl = tl - ms.x;
  uint rh = th - ms.y - (tl < ms.x ? 1u : 0u);
  uint flip = uint(int(rh) >> 31);
  uint vl = (rl ^ flip) - flip;
  uint vh = (rh ^ flip) + (vl < (flip & 1u) ? 1u : 0u);
  uint z = leading_zeros_words(vh, vl);
  uvec2 v = shift_left_words(vh, vl, z & 63u);
  uvec2 e = round_words((xh ^ flip) & 0x80000000u, int(ey) + 11 - int(z), v.y, v.x);
  bool far = d > 62u;
  uint el = select_u32(far, yl, e.x);
  uint eh = select_u32(far, yh, e.y);
  bool none = select_u32(far, yl | (yh & 0x7fffffffu), vl | vh) == 0u;
  bool exact = none || es < ey;
  bool special = fs == 0x7ffu;
  uint kl = select_u32(exact, zero.x, el);
  uint kh = select_u32(exact, zero.y, eh);
  return f64_t(special ? 0u : kl, special ? 0x7ff80000u : kh);
}
FN D two_sum_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  D s = add_f64(a, b);
  lo = sum_error_f64(a, b, s, f64_t(0u, 0u));
  return s;
}
// With the native one's lo where that is no error: b - 0 of an exact sum, -s of one that overflows.
FN D fast_two_sum_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  D s = add_f64(a, b);
  bool minus_zero = and_pred(b.y == 0x80000000u, b.x == 0u);
  D e = sum_error_f64(a, b, s, f64_t(0u, minus_zero ? 0x80000000u : 0u));
  bool finite_a = (a.y & 0x7fffffffu) < 0x7ff00000u;
  bool finite_b = (b.y & 0x7fffffffu) < 0x7ff00000u;
  bool overflow = (s.y & 0x7fffffffu) == 0x7ff00000u && finite_a && finite_b;
  lo = f64_t(e.x, select_u32(overflow, s.y ^ 0x80000000u, e.y));
  return s;
}
FN D two_prod_f64(f64_t a, f64_t b, OUT(f64_t) lo) {
  uint z;
  uint r1;
  uint r0;
  uvec2 m = multiply_words(uvec2(a.x, a.y), uvec2(b.x, b.y), z, r1, r0);
  uint fa = (a.y >> 20) & 0x7ffu;
  uint fb = (b.y >> 20) & 0x7ffu;
  int e = int(fa == 0u ? 1u : fa) + int(fb == 0u ? 1u : fb) - 1022 - int(z);
  uint sign = (a.y ^ b.y) & 0x80000000u;
  uint ml = m.x | ((r1 | r0) != 0u ? 1u : 0u);
  uvec2 r = round_words(sign, e, m.y, ml);
  // What is below the last bit kept, of 75 bits, or what was added above it; the last 22 bits are 0.
  bool up = (ml & 0x7ffu) + ((m.x >> 11) & 1u) > 0x400u;
  uint flip = up ? 0xffffffffu : 0u;
  uint w0 = (r0 ^ flip) - flip;
  uint c0 = w0 < (flip & 1u) ? 1u : 0u;
  uint w1 = (r1 ^ flip) + c0;
  uint w2 = ((m.x ^ flip) & 0x7ffu) + (w1 < c0 ? 1u : 0u);
  uint h = (w2 << 21) | (w1 >> 11);
  uint l = (w1 << 21) | (w0 >> 11);
  uint n = leading_zeros_words(h, l);
  uvec2 v = shift_left_words(h, l, n & 63u);
  uvec2 t = round_words(sign ^ (flip & 0x80000000u), e - 53 - int(n), v.y, v.x);
  D p = multiply_special_f64(a, b, r, z > 63u);
  bool exact = or_pred((h | l) == 0u, (p.y & 0x7fffffffu) < 0x06b00000u);
  bool special = (p.y & 0x7ff00000u) == 0x7ff00000u;
  uint tl = select_u32(exact, 0u, t.x);
  uint th = select_u32(exact, 0u, t.y);
  lo = f64_t(special ? 0u : tl, special ? 0x7ff80000u : th);
  return p;
}
#endif
