// f32 reciprocal square root, cube root, error functions and their inverse, length of a vector.

// Of what is not a finite number above 0.
FN F special_rsqrt_f32(float x) {
  F zero = copysign_f32(inf_f32(), x);
  return is_zero_f32(x) ? zero : (x == inf_f32() ? 0.0f : nan_f32());
}
// Correctly rounded: 1/sqrt of the significand and one step on its exact residual r, with the square of it too.
FN F rsqrt_anything_f32(float x) {
  bool ok = is_positive_f32(x);
  int k;
  F a = take_fours_f32(ok ? x : 1.0f, k);
  F y = divide_middle_f32(1.0f, sqrt_middle_f32(a));
  F pl;
  F p = two_prod_f32(a, y, pl);
  F e;
  F g = two_prod_f32(p, y, e);
  F r = ((1.0f - g) - e) - pl * y;
  F v = scale_normal_f32(y, 0.5f * y * (r + 0.75f * (r * r)), -k);
  return ok ? v : special_rsqrt_f32(x);
}
// The same where fma rounds once: a step from the device's own, and one from that. Tests: all significands, from guesses
// up to 4 units off. The ends of the range as those of sqrt_plain_f32.
FN F rsqrt_f32(float x) {
  F y;
  #ifdef VXLA_FUSED_F32
  bool far = floatBitsToUint(x) - 0x21000000u >= 0x3d800000u;
  bool ok = is_positive_f32(x);
  F a = x;
  int k = 0;
  if (far) a = take_fours_f32(ok ? x : 1.0f, k);
  F guess = inversesqrt(a);
  F half_guess = 0.5f * guess;
  y = fma(half_guess, fma(-(a * guess), guess, 1.0f), guess);
  F p = a * y;
  F pl = fma(a, y, -p);
  F r = fma(-pl, y, fma(-p, y, 1.0f));
  y = fma(0.5f * y, fma(0.75f * r, r, r), y);
  if (far) {
    F scaled = uintBitsToFloat(floatBitsToUint(y) - (uint(k) << 23));
    y = ok ? scaled : special_rsqrt_f32(x);
  }
  #else
  y = rsqrt_anything_f32(x);
  #endif
  return y;
}
// Two Newton steps in floats from a linear first guess and one on the exact residual. <= 1 ulp (0.5001 measured).
FN F cbrt_f32(float x) {
  bool ok = is_finite_f32(x) && !is_zero_f32(x);
  int k;
  F m = frexp_f32(ok ? x : 1.0f, k);
  // k = 3 t + j with j in 0..2; a in [1, 8).
  int t = (k + 300) / 3 - 100;
  int j = k - 3 * t;
  F a = j == 0 ? m : (j == 1 ? 2.0f * m : 4.0f * m);
  F y = a < 2.82842708f ? 0.729f + 0.276f * a : 1.089f + 0.1142f * a;
  y = y - divide_middle_f32(y * y * y - a, 3.0f * y * y);
  y = y - divide_middle_f32(y * y * y - a, 3.0f * y * y);
  y = y - divide_middle_f32(y * y * y - a, 3.0f * y * y);
  F ql;
  F q = two_prod_f32(y, y, ql);
  F cl;
  F c = two_prod_f32(q, y, cl);
  F r = ((a - c) - cl) - ql * y;
  F v = scale_normal_f32(y, divide_middle_f32(r, 3.0f * q), t);
  return copysign_f32(ok ? v : magnitude_f32(x), x);
}
// (erf(x) / x - 2 / sqrt(pi) (1 - z / 3)) / z^2 for z = x^2 <= 1, 2^-30.6.
FN F erf_tail_f32(float z) {
  F p = 0.112837918f + z * (-0.0268661268f + z * (0.00522346888f + z * (-0.000852630008f
      + z * (0.000116180971f + z * -1.07944707e-05f))));
  return p;
}
// erf(x) for 2^-33 <= x <= 1 as result + lo: the constant and linear terms of the series in z = x^2 in two floats.
FN F erf_inner_f32(float x, OUT(float) lo) {
  F zl;
  F z = two_prod_f32(x, x, zl);
  F ul;
  F u = mul_dd_f32(z, zl, -0.376126379f, -1.02571942e-08f, ul);
  F vl;
  F v = add_dd_f32(1.12837923f, -5.86353828e-08f, u, ul + z * z * erf_tail_f32(z), vl);
  return mul_dd_f32(x, 0.0f, v, vl, lo);
}
// e^(x^2) erfc(x) for 1 <= x <= 4 in t = (x - 2) / (x + 2), 2^-32.9.
FN F erfcx_f32(float x) {
  F t = divide_middle_f32(x - 2.0f, x + 2.0f);
  F p = 0.255395681f + t * (-0.427185833f + t * (0.241658211f + t * (-0.0789785236f + t * (0.00373214134f
      + t * (0.00699485559f + t * (-0.000836589956f + t * -0.000944159634f))))));
  return p;
}
// A series up to 1, then 1 - e^(-x^2) erfcx(x), 1 from 4 on. <= 1 ulp.
FN F erf_f32(float x) {
  F m = magnitude_f32(x);
  F c = m < 4.0f ? m : 4.0f;
  F il;
  F ih = erf_inner_f32(c < 1e-10f ? 0.5f : (c < 1.0f ? c : 1.0f), il);
  F inner = ih + il;
  F b = c < 1.0f ? 1.0f : c;
  F wl;
  F w = two_prod_f32(b, b, wl);
  int k;
  F gl;
  F g = exp_parts_f32(-w, -wl, k, gl);
  F outer = 1.0f - (g + gl) * pow2_f32(k) * erfcx_f32(b);
  // Below 2^-33 the product with 2 / sqrt(pi), from the significand so that denormals are rounded once.
  int n;
  F f = frexp_f32(m < 1e-10f && !is_zero_f32(x) ? m : 1.0f, n);
  F tl;
  F t = two_prod_f32(f, 1.12837923f, tl);
  F tiny = is_zero_f32(x) ? 0.0f : scale_f32(t, tl - f * 5.86353828e-08f, n);
  F r = m < 1e-10f ? tiny : (m < 1.0f ? inner : outer);
  return is_nan_f32(x) ? nan_f32() : copysign_f32(m < 4.0f ? r : 1.0f, x);
}
// As exponential_by_fma_f32 is of that: polynomials below 1, x + x p(x^2) (2^-29.4), and above, 1 + q(x - 2.25) (2^-30.8);
// from 3.93 on it is 1. <= 1 ulp.
FN F erf_by_fma_f32(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F m = magnitude_f32(x);
  F u = m * m;
  F p = fma(fma(fma(7.80935807e-05f, u, -0.000799832982f), u, 0.00518719153f), u, -0.0268533528f);
  p = fma(fma(fma(p, u, 0.112835787f), u, -0.37612626f), u, 0.128379166f);
  F t = (m < 3.93f ? m : 3.93f) - 2.25f;
  F q = fma(fma(fma(-3.56741708e-07f, t, 2.2232457e-06f), t, -1.93501251e-06f), t, -1.95049452e-05f);
  q = fma(fma(fma(fma(q, t, 6.48291898e-05f), t, -1.58186795e-05f), t, -0.000367975852f), t, 0.00100282044f);
  q = fma(fma(fma(fma(q, t, -0.000671781949f), t, -0.00290576555f), t, 0.0106582176f), t, -0.0190830827f);
  q = fma(fma(fma(fma(q, t, 0.0217244644f), t, -0.016070243f), t, 0.00714232307f), t, -0.00146271626f);
  F r = copysign_f32(m < 1.0f ? fma(m, p, m) : 1.0f + q, x);
  v = is_nan_f32(x) ? nan_f32() : r;
  #else
  v = erf_f32(x);
  #endif
  return v;
}
// (1 + 2x) e^(x^2) erfc(x) = result + lo for 0.45 <= x <= 10.3: Shepherd and Laframboise's form in t = (x - 2) / (x +
// 2), the leading terms in two floats. About 2^-29.
FN F erfc_scaled_f32(float x, OUT(float) lo) {
  F dl;
  F d = two_sum_f32(x, 2.0f, dl);
  F nl;
  F n = two_sum_f32(x, -2.0f, nl);
  F tl;
  F t = div_dd_f32(n, nl, d, dl, tl);
  F q = 0.164051235f + t * (-0.0542197637f + t * (-0.00803324208f + t * (0.00872049667f + t * (0.00126501068f
      + t * (-0.00144828507f + t * (-0.000429500593f + t * (0.000192731139f + t * 0.000103986815f)))))));
  F l;
  F p = mul_dd_f32(t, tl, q, 6.0733778e-09f, l);
  p = add_dd_f32(-0.166030407f, -4.52305034e-11f, p, l, l);
  p = mul_dd_f32(t, tl, p, l, l);
  p = add_dd_f32(-0.0927638263f, 1.99751368e-10f, p, l, l);
  p = mul_dd_f32(t, tl, p, l, l);
  return add_dd_f32(1.27697837f, 8.0845961e-09f, p, l, lo);
}
// erfc(x) = (result + lo) 2^k for 0.45 <= x <= 10.3. About 2^-27.
FN F erfc_tail_f32(float x, OUT(int) k, OUT(float) lo) {
  F wl;
  F w = two_prod_f32(x, x, wl);
  F gl;
  F g = exp_parts_f32(-w, -wl, k, gl);
  F sl;
  F s = erfc_scaled_f32(x, sl);
  F nl;
  F n = mul_dd_f32(g, gl, s, sl, nl);
  F dl;
  F d = two_sum_f32(1.0f, x + x, dl);
  return div_dd_f32(n, nl, d, dl, lo);
}
// 1 - erf(x) up to 1/2, then the tail, 2 less the tail on the left. <= 1 ulp.
FN F erfc_f32(float x) {
  F m = magnitude_f32(x);
  bool left = is_negative_f32(x);
  F il;
  F ih = erf_inner_f32(m >= 1e-10f && m < 0.5f ? m : 0.5f, il);
  F e;
  F h = two_sum_f32(1.0f, left ? ih : -ih, e);
  F inner = h + (e + (left ? il : -il));
  F c = m < 0.5f ? 0.5f : (m < 10.3f ? m : 10.3f);
  int k;
  F tl;
  F t = erfc_tail_f32(c, k, tl);
  F u = k < -60 ? 0.0f : pow2_f32(k);
  F d;
  F g = two_sum_f32(2.0f, -t * u, d);
  F outer = left ? g + (d - tl * u) : scale_f32(t, tl, k);
  F r = m < 1e-10f ? 1.0f : (m < 0.5f ? inner : outer);
  return is_nan_f32(x) ? nan_f32() : r;
}
// A guess of erf_inv(x) for 0 <= x < 1: near 0 in x^2, 2^-17; from 1/2 on in sqrt(-log(1 - x)), 2^-14.
FN F erf_inv_guess_f32(float x) {
  F z = x * x;
  F near = x * (0.886223257f + z * (0.232461452f + z * (0.11925099f + z * 0.133169889f)));
  F s = sqrt_plain_f32(-log_f32(1.0f - x));
  F far = -0.0387223549f + s * (0.0846062154f + s * (1.01433897f + s * (-0.592789829f + s * (0.208518803f
      + s * (-0.044102408f + s * (0.00516596064f + s * -0.000257502455f))))));
  return x < 0.5f ? near : far;
}
// One step of Halley's method on erf, or on erfc where 1 - |x| says more. Infinite at 1, NaN beyond. <= 2 ulp (0.51
// measured).
FN F erf_inv_f32(float x) {
  F m = magnitude_f32(x);
  bool tiny = m < 1e-10f;
  F a = tiny || !(m < 1.0f) ? 0.25f : m;
  F y = erf_inv_guess_f32(a);
  bool near = a < 0.5f;
  F il;
  F ih = erf_inner_f32(near ? y : 0.5f, il);
  int k;
  F tl;
  F t = erfc_tail_f32(near ? 0.5f : y, k, tl);
  F u = pow2_f32(k);
  F f = near ? (a - ih) - il : (t * u - (1.0f - a)) + tl * u;
  int n;
  F gl;
  F g = exp_parts_f32(y * y, 0.0f, n, gl);
  F step = f * (0.886226952f * g * pow2_f32(n));
  F v = y + divide_middle_f32(step, 1.0f - y * step);
  // Below 2^-33 sqrt(pi) / 2 times x, from the significand so that denormals are rounded once.
  int e;
  F s = frexp_f32(tiny && !is_zero_f32(x) ? m : 1.0f, e);
  F pl;
  F p = two_prod_f32(s, 0.886226952f, pl);
  F small = is_zero_f32(x) ? 0.0f : scale_f32(p, pl - s * 2.66231996e-08f, e);
  F r = tiny ? small : (m == 1.0f ? inf_f32() : v);
  return m <= 1.0f ? copysign_f32(r, x) : nan_f32();
}
// sqrt(x^2 + y^2) = (result + lo) 2^k without overflow on the way, for finite x and y, not both 0.
FN F hypot_parts_f32(float x, float y, OUT(int) k, OUT(float) lo) {
  F a = magnitude_f32(x);
  F b = magnitude_f32(y);
  bool more = compare_gt_f32(a, b);
  F h = more ? a : b;
  F l = more ? b : a;
  bool zero = is_zero_f32(h) || !is_finite_f32(x) || !is_finite_f32(y);
  F m = frexp_f32(zero ? 1.0f : h, k);
  int kl;
  F ml = frexp_f32(zero || is_zero_f32(l) ? 1.0f : l, kl);
  int d = k - kl;
  F n = d > 30 || is_zero_f32(l) ? 0.0f : ml * pow2_f32(d > 30 ? 0 : -d);
  F pl;
  F p = two_prod_f32(m, m, pl);
  F ql;
  F q = two_prod_f32(n, n, ql);
  F sl;
  F s = add_dd_f32(p, pl, q, ql, sl);
  return sqrt_dd_f32(s, sl, lo);
}
// What the length is for zeros, infinities and NaN; r elsewhere.
FN F hypot_special_f32(float x, float y, float r) {
  bool inf = is_inf_f32(x) || is_inf_f32(y);
  bool zero = is_zero_f32(x) && is_zero_f32(y);
  return inf ? inf_f32() : (either_nan_f32(x, y) ? nan_f32() : (zero ? 0.0f : r));
}
// <= 1 ulp.
FN F hypot_f32(float x, float y) {
  int k;
  F lo;
  F hi = hypot_parts_f32(x, y, k, lo);
  return hypot_special_f32(x, y, scale_f32(hi, lo, k));
}
