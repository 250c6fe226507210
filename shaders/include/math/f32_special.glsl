// f32 reciprocal square root, cube root, error function and length of a vector.

// 1/sqrt of the significand and one Newton step on its exact residual. <= 1 ulp (0.5001 measured).
FN F rsqrt_f32(float x) {
  bool ok = x > 0.0f && x < inf_f32();
  int k;
  F m = frexp_f32(ok ? x : 1.0f, k);
  bool odd = (k & 1) != 0;
  F a = odd ? m + m : m;
  F y = 1.0f / sqrt(a);
  F pl;
  F p = two_prod_f32(a, y, pl);
  F e;
  F g = two_prod_f32(p, y, e);
  F r = ((1.0f - g) - e) - pl * y;
  F v = scale_f32(y, 0.5f * y * r, -((odd ? k - 1 : k) >> 1));
  F zero = copysign_f32(inf_f32(), x);
  return ok ? v : (x == 0.0f ? zero : (x == inf_f32() ? 0.0f : nan_f32()));
}
// Two Newton steps in floats from a linear first guess and one on the exact residual. <= 1 ulp (0.5001 measured).
FN F cbrt_f32(float x) {
  bool ok = is_finite_f32(x) && x != 0.0f;
  int k;
  F m = frexp_f32(ok ? x : 1.0f, k);
  // k = 3 t + j with j in 0..2; a in [1, 8).
  int t = (k + 300) / 3 - 100;
  int j = k - 3 * t;
  F a = j == 0 ? m : (j == 1 ? 2.0f * m : 4.0f * m);
  F y = a < 2.82842708f ? 0.729f + 0.276f * a : 1.089f + 0.1142f * a;
  y = y - (y * y * y - a) / (3.0f * y * y);
  y = y - (y * y * y - a) / (3.0f * y * y);
  y = y - (y * y * y - a) / (3.0f * y * y);
  F ql;
  F q = two_prod_f32(y, y, ql);
  F cl;
  F c = two_prod_f32(q, y, cl);
  F r = ((a - c) - cl) - ql * y;
  F v = copysign_f32(scale_f32(y, r / (3.0f * q), t), x);
  return ok ? v : x;
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
  F t = (x - 2.0f) / (x + 2.0f);
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
  F f = frexp_f32(m < 1e-10f && m > 0.0f ? m : 1.0f, n);
  F tl;
  F t = two_prod_f32(f, 1.12837923f, tl);
  F tiny = m > 0.0f ? scale_f32(t, tl - f * 5.86353828e-08f, n) : 0.0f;
  F r = m < 1e-10f ? tiny : (m < 1.0f ? inner : outer);
  return is_nan_f32(x) ? nan_f32() : copysign_f32(m < 4.0f ? r : 1.0f, x);
}
// sqrt(x^2 + y^2) without overflow on the way, in two floats. <= 1 ulp.
FN F hypot_f32(float x, float y) {
  F a = magnitude_f32(x);
  F b = magnitude_f32(y);
  F h = a > b ? a : b;
  F l = a > b ? b : a;
  bool inf = is_inf_f32(x) || is_inf_f32(y);
  bool zero = h == 0.0f || inf || is_nan_f32(x) || is_nan_f32(y);
  int k;
  F m = frexp_f32(zero ? 1.0f : h, k);
  int kl;
  F ml = frexp_f32(zero || l == 0.0f ? 1.0f : l, kl);
  int d = k - kl;
  F n = d > 30 || l == 0.0f ? 0.0f : ml * pow2_f32(d > 30 ? 0 : -d);
  F pl;
  F p = two_prod_f32(m, m, pl);
  F ql;
  F q = two_prod_f32(n, n, ql);
  F sl;
  F s = add_dd_f32(p, pl, q, ql, sl);
  F rl;
  F r = sqrt_dd_f32(s, sl, rl);
  F v = scale_f32(r, rl, k);
  return inf ? inf_f32() : (is_nan_f32(x) || is_nan_f32(y) ? nan_f32() : (h == 0.0f ? 0.0f : v));
}
