// f32 exponentials, logarithms, hyperbolic functions and powers. Method: every function is a sum hi + lo of two floats
// good to about 2^-29 or better, rounded once by scale_f32 or by the last addition: at most 1 ulp
// (docs/reference/accuracy.md has what was measured). Polynomials are Chebyshev fits of the series' remainders.

// k = round((xh + xl) / ln 2); result + rl = xh + xl - k ln 2, |result| <= 0.35. |xh| < 200.
FN F reduce_ln2_f32(float xh, float xl, OUT(int) k, OUT(float) rl) {
  F n = floor(xh * 1.44269502f + 0.5f);
  k = int(n);
  F h = xh - n * 0.693145752f;
  return fast_two_sum_f32(h, xl - n * 1.42860677e-06f, rl);
}
// The same of xh alone.
FN F reduce_ln2_plain_f32(float xh, OUT(int) k, OUT(float) rl) {
  F n = floor(xh * 1.44269502f + 0.5f);
  k = int(n);
  F h = xh - n * 0.693145752f;
  return fast_two_sum_f32(h, n * -1.42860677e-06f, rl);
}
// (e^r - 1 - r - r^2/2) / r^3, 2^-26.9 absolute.
FN F exp_tail_f32(float r) {
  F p = 0.166666672f + r * (0.0416665561f + r * (0.00833332073f + r * (0.0013926191f + r * 0.000198827067f)));
  return p;
}
// e^(r + rl) - 1 = result + lo, about 2^-30 relative, for |r| <= 0.36.
FN F expm1_reduced_f32(float r, float rl, OUT(float) lo) {
  F e;
  F q = two_prod_f32(r, r, e);
  F t = (0.5f * e + q * r * exp_tail_f32(r)) + (rl + r * rl);
  F d;
  F h = fast_two_sum_f32(r, 0.5f * q, d);
  return fast_two_sum_f32(h, d + t, lo);
}
// x within +-200; of NaN anything.
FN F hold_exponent_f32(float x) {
  F c;
  #ifdef VXLA_FUSED_F32
  c = min(max(x, -200.0f), 200.0f);
  #else
  c = x > 200.0f ? 200.0f : (x < -200.0f ? -200.0f : x);
  #endif
  return c;
}
// e^(r + rl) = result + lo, about 2^-28, for |r| <= 0.36.
FN F exp_sum_f32(float r, float rl, OUT(float) lo) {
  F p = rl + r * r * (0.5f + r * exp_tail_f32(r));
  F e;
  F s = fast_two_sum_f32(1.0f, r, e);
  return fast_two_sum_f32(s, e + p, lo);
}
// e^(xh + xl) = (result + lo) * 2^k, about 2^-28; the argument is held within +-200, and NaN is the caller's affair.
FN F exp_parts_f32(float xh, float xl, OUT(int) k, OUT(float) lo) {
  F c = hold_exponent_f32(xh);
  F rl;
  F r = reduce_ln2_f32(c, xl, k, rl);
  return exp_sum_f32(r, rl, lo);
}
// <= 1 ulp.
FN F exponential_f32(float x) {
  int k;
  F rl;
  F lo;
  F r = reduce_ln2_plain_f32(hold_exponent_f32(x), k, rl);
  F hi = exp_sum_f32(r, rl, lo);
  F v = scale_near_one_f32(hi, lo, k);
  return is_nan_f32(x) ? nan_f32() : v;
}
// The same within +-87, where the result is a normal number, and below -104, where it is nothing.
FN F exponential_middle_f32(float x) {
  bool vanishes = x < -104.0f;
  int k;
  F rl;
  F r = reduce_ln2_plain_f32(vanishes ? 0.0f : x, k, rl);
  F lo;
  F hi = exp_sum_f32(r, rl, lo);
  return vanishes ? 0.0f : scale_normal_f32(hi, lo, k);
}
// Above 0x42ae0000, which is 87.0 (backend/vulkan/codegen/passes/group_divisions.cc asks), where x is out of that; NaN is.
FN uint far_exponent_f32(float x) {
  return x < -104.0f ? 0u : floatBitsToUint(x) & 0x7fffffffu;
}
FN bool leaves_exponents_f32(float x) {
  return far_exponent_f32(x) > 0x42ae0000u;
}
// (e^r - 1) / r where fma rounds once, x = k ln 2 + r within +-110: a polynomial of degree 5, 2^-28.2 of e^r. The last
// bits of `k` are the exponent's, those above belong to 2^23 + 2^22.
FN F slope_by_fma_f32(float x, OUT(float) r, OUT(uint) k) {
  F t = fma(x, 1.44269502f, 12582912.0f);
  F n = t - 12582912.0f;
  r = fma(n, -1.42860677e-06f, fma(n, -0.693145752f, x));
  k = floatBitsToUint(t);
  return fma(fma(fma(fma(fma(0.0013814535f, r, 0.008368746f), r, 0.041668393f), r, 0.16666521f), r, 0.49999994f), r, 1.0f);
}
// Not the bits of exponential_f32, but a third of its instructions; where multiply-adds are not fused it is that. x is
// anything. <= 1 ulp.
FN F exponential_by_fma_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F r;
  uint k;
  F w = slope_by_fma_f32(min(max(x, -110.0f), 110.0f), r, k);
  uint h = k >> 1;
  v = fma(w, r, 1.0f) * uintBitsToFloat((h << 23) + 0x3f800000u) * uintBitsToFloat(((k - h) << 23) + 0x3f800000u);
  #else
  v = exponential_f32(x);
  #endif
  return is_nan_f32(x) ? nan_f32() : v;
}
// The same of x <= 0, what attention weighs by, and NaN: 2^64 times as much is a normal number.
FN F exponential_weight_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F r;
  uint k;
  F w = slope_by_fma_f32(max(x, -110.0f), r, k);
  v = fma(w, r, 1.0f) * uintBitsToFloat((k << 23) + 0x5f800000u) * 5.42101086e-20f;
  #else
  v = exponential_f32(x);
  #endif
  return is_nan_f32(x) ? nan_f32() : v;
}
// e^x for x <= 0, and NaN, of weights that are rounded to 16 bits: relative within 2^-22 - x 2^-25; 0 below -87.68. A
// polynomial of degree 5 of what is left of x log2(e), whose integer stands in the last bits of `t`.
FN F exponential_of_16_bits_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F c = x < -88.02f ? -88.02f : x;
  F t = fma(c, 1.44269502f, 12582912.0f);
  F n = t - 12582912.0f;
  F r = fma(c, 1.44269502f, -n);
  F p = fma(fma(fma(fma(0.00132645911f, r, 0.00967161916f), r, 0.0555073507f), r, 0.240222409f), r, 0.693147004f);
  v = fma(p, r, 1.0f) * uintBitsToFloat((floatBitsToUint(t) << 23) + 0x3f800000u);
  #else
  v = exponential_f32(x);
  #endif
  return v;
}
// 2^x: the fraction times ln 2 in two floats. <= 1 ulp.
FN F exp2_f32(float x) {
  F c = x > 200.0f ? 200.0f : (x < -200.0f ? -200.0f : x);
  F n = floor(c + 0.5f);
  F rl;
  F r = mul_dd_f32(c - n, 0.0f, 0.693147182f, -1.90465421e-09f, rl);
  F p = rl + r * r * (0.5f + r * exp_tail_f32(r));
  F e;
  F s = fast_two_sum_f32(1.0f, r, e);
  F v = scale_near_one_f32(s, e + p, int(n));
  return is_nan_f32(x) ? nan_f32() : v;
}
// For x in [-40, 200]: e^x = 2^k a, a = ah + al, and e^x - 1 = 2^k (result + lo), both about 2^-29 relative.
FN F expm1_parts_f32(float x, OUT(int) k, OUT(float) ah, OUT(float) al, OUT(float) lo) {
  F rl;
  F r = reduce_ln2_f32(x, 0.0f, k, rl);
  F pl;
  F p = expm1_reduced_f32(r, rl, pl);
  F e;
  F a = fast_two_sum_f32(1.0f, p, e);
  ah = fast_two_sum_f32(a, e + pl, al);
  F u = k > 60 ? 0.0f : pow2_f32(-k);
  F d;
  F c = two_sum_f32(1.0f, -u, d);
  F g;
  F s = two_sum_f32(c, p, g);
  return fast_two_sum_f32(s, g + (d + pl), lo);
}
// <= 1 ulp.
FN F exponential_minus_one_f32(float x) {
  F c = x > 200.0f ? 200.0f : (x > -20.0f ? x : -20.0f);
  int k;
  F ah;
  F al;
  F lo;
  F hi = expm1_parts_f32(c, k, ah, al, lo);
  F r = scale_f32(hi, lo, k);
  bool tiny = magnitude_f32(x) < 9.31322575e-10f;
  return is_nan_f32(x) ? nan_f32() : (tiny ? x : r);
}
// 1 / (1 + e^-x); with z = e^-|x| = 2^k zh: 1 / (1 + z) or z / (1 + z). <= 1 ulp.
FN F logistic_f32(float x) {
  int k;
  F zl;
  F zh = exp_parts_f32(-magnitude_f32(x), 0.0f, k, zl);
  F u = k < -60 ? 0.0f : pow2_f32(k);
  F dl;
  F dh = fast_two_sum_f32(1.0f, zh * u, dl);
  bool negative = is_negative_f32(x);
  F lo;
  F hi = div_dd_f32(negative ? zh : 1.0f, negative ? zl : 0.0f, dh, dl + zl * u, lo);
  F r = scale_f32(hi, lo, negative ? k : 0);
  return is_nan_f32(x) ? nan_f32() : r;
}
// As exponential_by_fma_f32 is of that: 1 / s, and e / s below 0, of s = 1 + e and e = e^-|x|, all in two floats. <= 1 ulp.
FN F logistic_by_fma_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  bool negative = is_negative_f32(x);
  F r;
  uint k;
  F w = slope_by_fma_f32(max(-magnitude_f32(x), -110.0f), r, k);
  F eh = fma(w, r, 1.0f);
  F el = fma(w, r, 1.0f - eh);
  F power = uintBitsToFloat((k << 23) + 0x5f800000u);
  F e = eh * power * 5.42101086e-20f;
  F s = 1.0f + e;
  F i = inverse_middle_f32(s);
  F il = fma(s - 1.0f - e, i, fma(-s, i, 1.0f)) * i;
  F a = negative ? eh : 1.0f;
  F hi = a * i;
  F lo = fma(a, i, -hi) + fma(a, il, (negative ? el : 0.0f) * i);
  v = (hi + lo) * (negative ? power : 1.84467441e+19f) * 5.42101086e-20f;
  #else
  v = logistic_f32(x);
  #endif
  return is_nan_f32(x) ? nan_f32() : v;
}
// (1 - u + p) / (1 + u + p) for e^(2|x|) = 2^k e^r, u = 2^-k and p = e^r - 1. What the quotient t leaves of the numerator
// is exact but for 2^-12 of it, as products of heads are, and is multiplied by the reciprocal that gave t. <= 1 ulp.
FN F tanh_f32(float x) {
  F m = magnitude_f32(x);
  F c = m < 10.0f ? m : 10.0f;
  int k;
  F rl;
  F r = reduce_ln2_f32(c + c, 0.0f, k, rl);
  F q = r * r;
  F d;
  F s = fast_two_sum_f32(r, 0.5f * q, d);
  F pl;
  F p = fast_two_sum_f32(s, d + (q * r * exp_tail_f32(r) + (rl + r * rl)), pl);
  F u = pow2_f32(-k);
  F below = 1.0f - u;
  F above = 1.0f + u;
  F e;
  F nh = fast_two_sum_f32(below, p, e);
  F nl = e + (pl + ((1.0f - below) - u));
  F f;
  F dh = fast_two_sum_f32(above, p, f);
  F dl = f + (pl + ((1.0f - above) + u));
  F i = divide_middle_f32(1.0f, dh);
  F t = nh * i;
  F head = head_f32(dh);
  F th = head_f32(t);
  F rest = ((nh - th * head) - (t - th) * head) + (nl - t * ((dh - head) + dl));
  F v = t + rest * i;
  return is_nan_f32(x) ? nan_f32() : copysign_f32(m < 9.31322575e-10f ? m : v, x);
}
// As exponential_by_fma_f32 is of that: (1 - e) / (1 + e) of e = e^-2|x|, both in two floats; next to 0 a polynomial,
// 2^-27.8. <= 1 ulp.
FN F tanh_by_fma_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F m = magnitude_f32(x);
  F e = exponential_weight_f32(-2.0f * m);
  F n = 1.0f - e;
  F d = 1.0f + e;
  F i = inverse_middle_f32(d);
  F q = n * i;
  F rest = fma(-d, q, n) + fma(q, d - 1.0f - e, 1.0f - n - e);
  F u = m * m;
  F p = fma(fma(fma(fma(-0.00570498267f, u, 0.0206390843f), u, -0.0537397154f), u, 0.133314416f), u, -0.333332807f);
  F r = copysign_f32(m < 0.625f ? fma(m * u, p, m) : fma(rest, i, q), x);
  v = is_nan_f32(x) ? nan_f32() : r;
  #else
  v = tanh_f32(x);
  #endif
  return v;
}
// (e + e / (e + 1)) / 2 with e = e^|x| - 1. <= 1 ulp.
FN F sinh_f32(float x) {
  F m = magnitude_f32(x);
  F c = m < 100.0f ? m : 100.0f;
  int k;
  F ah;
  F al;
  F lo;
  F hi = expm1_parts_f32(c, k, ah, al, lo);
  F ql;
  F qh = div_dd_f32(hi, lo, ah, al, ql);
  F u = k > 60 ? 0.0f : pow2_f32(-k);
  F sl;
  F sh = add_dd_f32(hi, lo, qh * u, ql * u, sl);
  F r = scale_f32(sh, sl, k - 1);
  return is_nan_f32(x) ? nan_f32() : copysign_f32(m < 9.31322575e-10f ? m : r, x);
}
// (e^|x| + e^-|x|) / 2. <= 1 ulp.
FN F cosh_f32(float x) {
  F m = magnitude_f32(x);
  F c = m < 100.0f ? m : 100.0f;
  int k;
  F al;
  F ah = exp_parts_f32(c, 0.0f, k, al);
  F ql;
  F qh = div_dd_f32(1.0f, 0.0f, ah, al, ql);
  F u = k > 30 ? 0.0f : pow2_f32(-2 * k);
  F sl;
  F sh = add_dd_f32(ah, al, qh * u, ql * u, sl);
  F r = scale_f32(sh, sl, k - 1);
  return is_nan_f32(x) ? nan_f32() : r;
}

// (2 atanh(s) - 2 s) / s^3 for z = s^2 <= 0.0295, 2^-29.7.
FN F log_tail_f32(float z) {
  F p = 0.666666687f + z * (0.400001228f + z * (0.285508126f + z * 0.233306959f));
  return p;
}
// k ln 2 + log(1 + f + fl) = result + lo for 1 + f in [0.7, 1.42]: 2 atanh(s), s = f / (2 + f). About 2^-29 relative.
FN F log_reduced_f32(float f, float fl, int k, OUT(float) lo) {
  F dl;
  F dh = fast_two_sum_f32(2.0f, f, dl);
  F sl;
  F s = div_dd_f32(f, fl, dh, dl + fl, sl);
  F z = s * s;
  F n = float(k);
  F e;
  F h = fast_two_sum_f32(n * 0.693145752f, s + s, e);
  F t = e + (sl + sl) + z * s * log_tail_f32(z) + n * 1.42860677e-06f;
  return fast_two_sum_f32(h, t, lo);
}
// The same to about 2^-35, for powers: the cubic term in two floats as well.
FN F log_precise_f32(float f, float fl, int k, OUT(float) lo) {
  F dl;
  F dh = fast_two_sum_f32(2.0f, f, dl);
  F sl;
  F s = div_dd_f32(f, fl, dh, dl + fl, sl);
  F zl;
  F z = mul_dd_f32(s, sl, s, sl, zl);
  F cl;
  F c = mul_dd_f32(z, zl, s, sl, cl);
  F q = z * (0.400000155f + z * (0.285622329f + z * 0.230483234f));
  F tl;
  F t = mul_dd_f32(c, cl, 0.666666687f, q - 1.98682155e-08f, tl);
  F n = float(k);
  F e;
  F h = fast_two_sum_f32(n * 0.693145752f, s + s, e);
  F d;
  F g = two_sum_f32(h, t, d);
  F rest = d + (e + (tl + (sl + sl))) + (n * 1.42860677e-06f + n * 5.49792315e-14f);
  return fast_two_sum_f32(g, rest, lo);
}
// The significand of x in [0.707, 1.414] less 1, and its exponent; x > 0 and finite.
FN F log_split_f32(float x, OUT(int) k) {
  int e;
  F m = frexp_f32(x, e);
  bool high = m > 1.41421354f;
  k = high ? e + 1 : e;
  return (high ? 0.5f * m : m) - 1.0f;
}
// log(1 + xh + xl) = result + lo for 1 + xh + xl > 0, xh < 2^60; extra is added to the exponent. About 2^-29 relative.
FN F log1p_dd_f32(float xh, float xl, OUT(float) lo) {
  F e;
  F u = two_sum_f32(1.0f, xh, e);
  int k;
  F f = log_split_f32(u, k);
  F s = k > 60 ? 0.0f : pow2_f32(-k);
  F gl;
  F g = two_sum_f32(f, (e + xl) * s, gl);
  return log_reduced_f32(g, gl, k, lo);
}
// What log gives at 0, at infinity, below 0 and for NaN; r elsewhere.
FN F log_special_f32(float x, float r) {
  F s = is_zero_f32(x) ? -inf_f32() : (is_negative_f32(x) || is_nan_f32(x) ? nan_f32() : r);
  return x == inf_f32() ? x : s;
}
// <= 1 ulp.
FN F log_f32(float x) {
  bool ok = is_positive_f32(x);
  int k;
  F f = log_split_f32(ok ? x : 1.0f, k);
  F lo;
  F hi = log_reduced_f32(f, 0.0f, k, lo);
  F r = hi + lo;
  return ok ? r : log_special_f32(x, r);
}
// log(m) / ln 2 + k for x = m 2^k, m in [0.707, 1.414], in two floats; exact at powers of two. <= 1 ulp.
FN F log2_f32(float x) {
  bool ok = is_positive_f32(x);
  int k;
  F f = log_split_f32(ok ? x : 1.0f, k);
  F ll;
  F l = log_reduced_f32(f, 0.0f, 0, ll);
  F ql;
  F q = mul_dd_f32(l, ll, 1.44269502f, 1.92596303e-08f, ql);
  F e;
  F s = two_sum_f32(float(k), q, e);
  F r = s + (e + ql);
  return ok ? r : log_special_f32(x, r);
}
// <= 1 ulp.
FN F log_plus_one_f32(float x) {
  bool tiny = magnitude_f32(x) < 9.31322575e-10f;
  bool huge = x > 1e18f;
  bool ok = x > -1.0f && x < inf_f32() && !tiny;
  F c = ok ? x : 1.0f;
  F e;
  F u = huge ? c : two_sum_f32(1.0f, c, e);
  e = huge ? 0.0f : e;
  int k;
  F f = log_split_f32(u, k);
  F gl;
  F g = two_sum_f32(f, e * (huge ? 0.0f : pow2_f32(-k)), gl);
  F lo;
  F hi = log_reduced_f32(g, gl, k, lo);
  F r = hi + lo;
  return ok ? r : (tiny ? x : log_special_f32(x == -1.0f ? 0.0f : x, r));
}
// log(x + sqrt(x^2 + 1)) = log(1 + (x + x^2 / (1 + sqrt(x^2 + 1)))); beyond 2^30, log(2x). <= 1 ulp.
FN F asinh_f32(float x) {
  F m = magnitude_f32(x);
  bool big = m > 1.07374182e9f;
  bool tiny = m < 9.31322575e-10f;
  F c = big || tiny || is_nan_f32(x) ? 1.0f : m;
  F wl;
  F w = two_prod_f32(c, c, wl);
  F zl;
  F z = add_dd_f32(1.0f, 0.0f, w, wl, zl);
  F sl;
  F s = sqrt_dd_f32(z, zl, sl);
  F dl;
  F d = add_dd_f32(1.0f, 0.0f, s, sl, dl);
  F ql;
  F q = div_dd_f32(w, wl, d, dl, ql);
  F tl;
  F t = add_dd_f32(c, 0.0f, q, ql, tl);
  F lo;
  F hi = log1p_dd_f32(t, tl, lo);
  F r = hi + lo;
  int k;
  F f = log_split_f32(big && is_finite_f32(x) ? m : 1.0f, k);
  F bl;
  F bh = log_reduced_f32(f, 0.0f, k + 1, bl);
  F b = is_inf_f32(x) ? m : bh + bl;
  F v = big ? b : r;
  return is_nan_f32(x) ? nan_f32() : copysign_f32(tiny ? m : v, x);
}
// log(1 + (t + sqrt(t (t + 2)))), t = x - 1; beyond 2^30, log(2x). <= 1 ulp.
FN F acosh_f32(float x) {
  bool big = x > 1.07374182e9f;
  bool ok = x >= 1.0f && !big;
  F tl;
  F t = two_sum_f32(ok ? x : 1.0f, -1.0f, tl);
  F ul;
  F u = add_dd_f32(t, tl, 2.0f, 0.0f, ul);
  F pl;
  F p = mul_dd_f32(t, tl, u, ul, pl);
  F sl;
  F s = sqrt_dd_f32(p, pl, sl);
  F vl;
  F v = add_dd_f32(t, tl, s, sl, vl);
  F lo;
  F hi = log1p_dd_f32(v, vl, lo);
  F r = hi + lo;
  int k;
  F f = log_split_f32(big && is_finite_f32(x) ? x : 1.0f, k);
  F bl;
  F bh = log_reduced_f32(f, 0.0f, k + 1, bl);
  F b = is_inf_f32(x) ? x : bh + bl;
  return ok ? r : (big ? b : nan_f32());
}
// log(1 + 2x / (1 - x)) / 2. <= 1 ulp.
FN F atanh_f32(float x) {
  F m = magnitude_f32(x);
  bool tiny = m < 9.31322575e-10f;
  bool ok = m < 1.0f && !tiny;
  F c = ok ? m : 0.5f;
  F dl;
  F d = two_sum_f32(1.0f, -c, dl);
  F ql;
  F q = div_dd_f32(c + c, 0.0f, d, dl, ql);
  F lo;
  F hi = log1p_dd_f32(q, ql, lo);
  F r = ok ? 0.5f * (hi + lo) : (tiny ? m : inf_f32());
  return m <= 1.0f ? copysign_f32(r, x) : nan_f32();
}
// 0: y is no integer, or 0; 1: an odd integer; 2: an even one (every number of 2^24 or more).
FN int integer_kind_f32(float y) {
  F m = magnitude_f32(y);
  F h = 0.5f * m;
  bool whole = m >= 1.0f && floor(m) == m;
  bool even = floor(h) == h;
  return m >= 16777216.0f ? 2 : (whole ? (even ? 2 : 1) : 0);
}
// |x|^y for finite x other than 0 and finite y: e^(y log|x|) with the logarithm to 2^-35. <= 1 ulp.
FN F power_magnitude_f32(float x, float y) {
  int k;
  F f = log_split_f32(x, k);
  F ll;
  F l = log_precise_f32(f, 0.0f, k, ll);
  // |y| beyond 2^36 sends every |x| but 1 to 0 or infinity, and 2^-40 sends all to 1.
  F m = magnitude_f32(y);
  F c = copysign_f32(m > 6.87194767e10f ? 6.87194767e10f : (m < 9.09494702e-13f ? 0.0f : m), y);
  F pl;
  F p = mul_dd_f32(c, 0.0f, l, ll, pl);
  bool outside = magnitude_f32(p) > 200.0f;
  F rl;
  int e;
  F r = reduce_ln2_f32(outside ? copysign_f32(200.0f, p) : p, outside ? 0.0f : pl, e, rl);
  F ql;
  F q = expm1_reduced_f32(r, rl, ql);
  F d;
  F s = fast_two_sum_f32(1.0f, q, d);
  return scale_f32(s, d + ql, e);
}
FN bool power_regular_f32(float x, float y) {
  return !is_zero_f32(x) && is_finite_f32(x) && is_finite_f32(y);
}
// x^y, given r = |x|^y where x and y are regular. C99 Annex F's special values: 1 for y = 0 and for x = 1, and for x =
// -1 with infinite y.
FN F power_special_f32(float x, float y, float r) {
  F m = magnitude_f32(x);
  int kind = integer_kind_f32(y);
  bool regular = power_regular_f32(x, y);
  // 0, infinity and infinite y: towards 0 or infinity.
  bool grows = (m > 1.0f) != is_negative_f32(y);
  F limit = is_inf_f32(y) && m == 1.0f ? 1.0f : (grows ? inf_f32() : 0.0f);
  F v = regular ? r : limit;
  F sign = kind == 1 && is_negative_f32(x) ? negate_f32(v) : v;
  bool nan = either_nan_f32(x, y) || (is_negative_f32(x) && regular && kind == 0);
  bool one = is_zero_f32(y) || x == 1.0f;
  return one ? 1.0f : (nan ? nan_f32() : sign);
}
// <= 1 ulp.
FN F power_f32(float x, float y) {
  bool regular = power_regular_f32(x, y);
  return power_special_f32(x, y, power_magnitude_f32(regular ? magnitude_f32(x) : 1.0f, regular ? y : 0.0f));
}
