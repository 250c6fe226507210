// f32 logarithm of the gamma function and its derivative. Both are brought to an interval next to their zeros by
// recurrence, where a polynomial times the distance from the zero keeps its digits; above 8 the asymptotic series;
// below 0 the reflection formulas.

// sin(pi r) = sh + sl and cos(pi r) = ch + cl for |r| <= 1/2, relative 2^-31; the cosine from the sine of half the
// angle.
FN void sin_cos_pi_f32(float r, OUT(float) sh, OUT(float) sl, OUT(float) ch, OUT(float) cl) {
  F m = magnitude_f32(r);
  bool swap = m > 0.25f;
  F yl;
  F y = mul_dd_f32(swap ? 0.5f - m : m, 0.0f, 3.14159274f, -8.74227766e-08f, yl);
  F al;
  F a = sin_precise_f32(y, yl, al);
  F bl;
  F b = sin_precise_f32(0.5f * y, 0.5f * yl, bl);
  b = mul_dd_f32(b, bl, -2.0f * b, -2.0f * bl, bl);
  b = add_dd_f32(1.0f, 0.0f, b, bl, bl);
  sh = flipsign_f32(swap ? b : a, r);
  sl = flipsign_f32(swap ? bl : al, r);
  ch = swap ? a : b;
  cl = swap ? al : bl;
}
// log(h + l) = result + lo for h + l > 0 of moderate size, about 2^-34.
FN F log_dd_f32(float h, float l, OUT(float) lo) {
  int k;
  F f = log_split_f32(h, k);
  return log_precise_f32(f, l * pow2_f32(-k), k, lo);
}
// log gamma(2 + d) = result + lo for |d| <= 1/2: d times a polynomial (fitted to 2^-39), about 2^-31.
FN F lgamma_near_two_f32(float d, OUT(float) lo) {
  F q = 0.0205808077f + d * (-0.0073855333f + d * (0.0028905021f + d * (-0.00119305472f + d * (0.000509809179f
      + d * (-0.000220869828f + d * (9.8396973e-05f + d * (-5.2787218e-05f + d * 2.41545949e-05f)))))));
  F l;
  F p = mul_dd_f32(d, 0.0f, q, 9.04484543e-10f, l);
  p = add_dd_f32(-0.0673523024f, 9.37040556e-10f, p, l, l);
  p = mul_dd_f32(d, 0.0f, p, l, l);
  p = add_dd_f32(0.322467029f, 4.32880043e-09f, p, l, l);
  p = mul_dd_f32(d, 0.0f, p, l, l);
  p = add_dd_f32(0.422784328f, 6.63910171e-09f, p, l, l);
  return mul_dd_f32(d, 0.0f, p, l, lo);
}
// Stirling's series: log gamma(x) = (result + lo) 2^k for 8 <= x < infinity, scaled so that nothing overflows on the
// way. About 2^-31.
FN F lgamma_stirling_f32(float x, OUT(int) k, OUT(float) lo) {
  bool large = x > 1e9f;
  F c = large ? 9.31322575e-10f : 1.0f;
  k = large ? 30 : 0;
  int n;
  F f = log_split_f32(x, n);
  F ll;
  F l = log_precise_f32(f, 0.0f, n, ll);
  l = add_dd_f32(l, ll, -1.0f, 0.0f, ll);
  F hl;
  F h = two_sum_f32(x * c, -0.5f * c, hl);
  F pl;
  F p = mul_dd_f32(h, hl, l, ll, pl);
  F i = divide_f32(1.0f, large ? 1e9f : x);
  F z = i * i;
  F series = i * (0.0833333358f + z * (-0.00277777785f + z * (0.000793650805f + z * -0.00059523809f)));
  return add_dd_f32(p, pl, 0.418938547f * c, (series - 1.41681449e-08f) * c, lo);
}
// log gamma(x) = result + lo for 2^-27 <= x < 8: log gamma(2 + d) less the logarithm of x or of x (1 + x), plus that of
// (x - 1) (x - 2) .. down to [1.5, 2.5).
FN F lgamma_shifted_f32(float x, OUT(float) lo) {
  int n = int(floor(x + 0.5f)) - 2;
  F e;
  F u = two_sum_f32(1.0f, x, e);
  F pl;
  F p = n < -1 ? mul_dd_f32(x, 0.0f, u, e, pl) : x;
  pl = n < -1 ? pl : 0.0f;
  F ql = 0.0f;
  F q = 1.0f;
  for (int i = 1; i <= 6; ++i) {
    q = mul_dd_f32(q, ql, i <= n ? x - float(i) : 1.0f, 0.0f, ql);
  }
  F ll;
  F l = log_dd_f32(n < 0 ? p : q, n < 0 ? pl : ql, ll);
  F gl;
  F g = lgamma_near_two_f32(n < -1 ? x : x - float(n + 2), gl);
  return add_dd_f32(n < 0 ? -l : l, n < 0 ? -ll : ll, g, gl, lo);
}
// log |gamma(x)|; below 0, log(pi / |x sin(pi x)|) - log gamma(-x). Infinite at 0, -1, -2 .. <= 2 ulp, and 2^-28
// absolute next to the zeros below 0.
FN F lgamma_f32(float x) {
  F m = magnitude_f32(x);
  bool left = is_negative_f32(x);
  bool pole = is_inf_f32(x) || is_zero_f32(x) || (left && m >= 1.0f && floor(m) == m);
  bool tiny = m < 1.49011612e-08f;
  F a = tiny || pole || is_nan_f32(x) ? 1.0f : m;
  F sl;
  F s = lgamma_shifted_f32(a < 8.0f ? a : 1.0f, sl);
  int k;
  F gl;
  F g = lgamma_stirling_f32(a < 8.0f ? 8.0f : a, k, gl);
  k = a < 8.0f ? 0 : k;
  g = a < 8.0f ? s : g;
  gl = a < 8.0f ? sl : gl;
  F wh;
  F wl;
  F ch;
  F cl;
  F b = left && !tiny && !pole ? a : 0.5f;
  sin_cos_pi_f32(b - round_nearest_even_f32(b), wh, wl, ch, cl);
  F ql;
  F q = mul_dd_f32(b, 0.0f, magnitude_f32(wh), flipsign_f32(wl, wh), ql);
  F ll;
  F l = log_dd_f32(q, ql, ll);
  l = add_dd_f32(1.14472985f, 3.31730092e-08f, -l, -ll, ll);
  l = add_dd_f32(l, ll, -g, -gl, ll);
  // Tiny arguments: -log m.
  int n;
  F f = log_split_f32(tiny && !pole ? m : 1.0f, n);
  F tl;
  F t = log_reduced_f32(f, 0.0f, n, tl);
  F r = left ? l + ll : scale_f32(g, gl, k);
  F v = tiny ? -(t + tl) : r;
  return is_nan_f32(x) ? nan_f32() : (pole ? inf_f32() : v);
}

// The derivative of log gamma at z = zh + zl in [1, 2] as result + lo: the distance from its zero times a polynomial in
// z - 1.5 (fitted to 2^-32), about 2^-30.
FN F digamma_near_zero_f32(float zh, float zl, OUT(float) lo) {
  F t = zh - 1.5f;
  F q = 0.0949889198f + t * (-0.0619127713f + t * (0.0407545939f + t * (-0.0271018352f + t * (0.0179912616f
      + t * (-0.0110962279f + t * (0.00738577684f + t * (-0.00769679062f + t * 0.00512908306f)))))));
  F l;
  F p = mul_dd_f32(t, zl, q, 1.62906733e-09f, l);
  p = add_dd_f32(-0.148405224f, 5.53135449e-09f, p, l, l);
  p = mul_dd_f32(t, zl, p, l, l);
  p = add_dd_f32(0.240542486f, -3.83489107e-09f, p, l, l);
  p = mul_dd_f32(t, zl, p, l, l);
  p = add_dd_f32(-0.423627406f, -1.22738433e-08f, p, l, l);
  p = mul_dd_f32(t, zl, p, l, l);
  p = add_dd_f32(0.951055884f, -8.32943403e-09f, p, l, l);
  F dl;
  F d = two_sum_f32(zh - 1.46163213f, zl - 1.24381501e-08f, dl);
  return mul_dd_f32(d, dl + 1.26544644e-16f, p, l, lo);
}
// The asymptotic series for x >= 8, about 2^-30.
FN F digamma_asymptotic_f32(float x, OUT(float) lo) {
  int k;
  F f = log_split_f32(x, k);
  F ll;
  F l = log_precise_f32(f, 0.0f, k, ll);
  // Beyond 10^9 the series no longer shows.
  F c = x > 1e9f ? 1e9f : x;
  F hl;
  F h = div_dd_f32(0.5f, 0.0f, c, 0.0f, hl);
  F z = 4.0f * h * h;
  F series = z * (0.0833333358f + z * (-0.00833333377f + z * (0.0039682542f + z * -0.00416666688f)));
  return add_dd_f32(l, ll, -h, -hl - series, lo);
}
// For 2^-40 <= x < 8: at z in [1, 2], plus 1/z + 1/(z + 1) .. in one fraction, or less 1/x.
FN F digamma_shifted_f32(float x, OUT(float) lo) {
  bool below = x < 1.0f;
  int n = below ? 0 : int(floor(x)) - 1;
  F zl;
  F z = two_sum_f32(x, below ? 1.0f : -float(n), zl);
  F al = 0.0f;
  F a = below ? -1.0f : 0.0f;
  F bl = 0.0f;
  F b = below ? x : 1.0f;
  for (int i = 1; i <= 6; ++i) {
    bool used = i <= n;
    F g = x - float(i);
    F pl;
    F p = mul_dd_f32(a, al, used ? g : 1.0f, 0.0f, pl);
    a = add_dd_f32(p, pl, used ? b : 0.0f, used ? bl : 0.0f, al);
    b = mul_dd_f32(b, bl, used ? g : 1.0f, 0.0f, bl);
  }
  F ql;
  F q = div_dd_f32(a, al, b, bl, ql);
  F pl;
  F p = digamma_near_zero_f32(z, zl, pl);
  return add_dd_f32(p, pl, q, ql, lo);
}
// Below 0, the value at -x, plus 1/|x|, less pi cot(pi x). NaN at 0, -1, -2 .. and at -infinity, as XLA has it. <= 2
// ulp, and 2^-26 absolute next to the zeros below 0.
FN F digamma_f32(float x) {
  F m = magnitude_f32(x);
  bool left = is_negative_f32(x);
  bool pole = is_zero_f32(x) || (left && m >= 1.0f && floor(m) == m);
  bool tiny = m < 9.09494702e-13f;
  F a = tiny || pole || !is_finite_f32(x) ? 1.0f : m;
  F sl;
  F s = digamma_shifted_f32(a < 8.0f ? a : 1.0f, sl);
  F gl;
  F g = digamma_asymptotic_f32(a < 8.0f ? 8.0f : a, gl);
  g = a < 8.0f ? s : g;
  gl = a < 8.0f ? sl : gl;
  F wh;
  F wl;
  F ch;
  F cl;
  F b = left && !tiny && !pole ? a : 0.5f;
  sin_cos_pi_f32(b - round_nearest_even_f32(b), wh, wl, ch, cl);
  F ql;
  F q = div_dd_f32(ch, cl, wh, wl, ql);
  q = mul_dd_f32(q, ql, 3.14159274f, -8.74227766e-08f, ql);
  F il;
  F i = div_dd_f32(1.0f, 0.0f, b, 0.0f, il);
  q = add_dd_f32(i, il, q, ql, ql);
  q = add_dd_f32(g, gl, q, ql, ql);
  // Tiny arguments: -1/x.
  int k;
  F f = frexp_f32(tiny && !pole ? m : 1.0f, k);
  F tl;
  F t = div_dd_f32(1.0f, 0.0f, f, 0.0f, tl);
  F v = flipsign_f32(scale_f32(-t, -tl, -k), x);
  F r = tiny ? v : (left ? q + ql : g + gl);
  return is_nan_f32(x) || pole ? nan_f32() : (is_inf_f32(x) ? x : r);
}
