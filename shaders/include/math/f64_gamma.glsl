// f64 logarithm of the gamma function and its derivative. Both are brought to an interval next to their zeros by
// recurrence, where a polynomial times the distance from the zero keeps its digits; above 12 the asymptotic series;
// below 0 the reflection formulas.

// sin(pi r) = sh + sl and cos(pi r) = ch + cl for |r| <= 1/2, relative 2^-62; the cosine from the sine of half the
// angle.
FN void sin_cos_pi_f64(f64_t r, OUT(f64_t) sh, OUT(f64_t) sl, OUT(f64_t) ch, OUT(f64_t) cl) {
  D m = magnitude_f64(r);
  bool swap = compare_gt_f64(m, 0.25lf);
  D yl;
  D y =
      mul_dd_f64(select_f64(swap, subtract_f64(0.5lf, m), m), 0.0lf, 3.141592653589793lf, 1.2246467991473532e-16lf, yl);
  D al;
  D a = sin_precise_f64(y, yl, al);
  D bl;
  D b = sin_precise_f64(multiply_f64(0.5lf, y), multiply_f64(0.5lf, yl), bl);
  b = mul_dd_f64(b, bl, multiply_f64(-2.0lf, b), multiply_f64(-2.0lf, bl), bl);
  b = add_dd_f64(1.0lf, 0.0lf, b, bl, bl);
  sh = flipsign_f64(swap ? b : a, r);
  sl = flipsign_f64(swap ? bl : al, r);
  ch = swap ? a : b;
  cl = swap ? al : bl;
}
// log(h + l) = result + lo for h + l > 0 of moderate size, about 2^-63.
FN D log_dd_f64(f64_t h, f64_t l, OUT(f64_t) lo) {
  int k;
  D f = log_split_f64(h, k);
  return log_precise_f64(f, multiply_f64(l, pow2_f64(-k)), k, lo);
}
// log gamma(2 + d) = result + lo for |d| <= 1/2: d times a polynomial (fitted to 2^-66), about 2^-60.
FN D lgamma_near_two_f64(f64_t d, OUT(f64_t) lo) {
  D q = -3.085985478390577e-08lf;
  q = horner_f64(q, d, 6.472569840064724e-08lf);
  q = horner_f64(q, d, -9.558178101635195e-08lf);
  q = horner_f64(q, d, 2.0193835401136915e-07lf);
  q = horner_f64(q, d, -4.508168225446838e-07lf);
  q = horner_f64(q, d, 9.584207048594987e-07lf);
  q = horner_f64(q, d, -2.0389077825677104e-06lf);
  q = horner_f64(q, d, 4.374223481082048e-06lf);
  q = horner_f64(q, d, -9.439526202058818e-06lf);
  q = horner_f64(q, d, 2.0507291996563825e-05lf);
  q = horner_f64(q, d, -4.4926233820610826e-05lf);
  q = horner_f64(q, d, 9.94575066878814e-05lf);
  q = horner_f64(q, d, -0.00022315475858818615lf);
  q = horner_f64(q, d, 0.0005096695250241955lf);
  q = horner_f64(q, d, -0.0011927539116998527lf);
  q = horner_f64(q, d, 0.0028905103307344045lf);
  q = horner_f64(q, d, -0.007385551028674025lf);
  q = horner_f64(q, d, 0.02058080842778463lf);
  D l;
  D p = mul_dd_f64(d, 0.0lf, q, 7.434917102712321e-19lf, l);
  p = add_dd_f64(-0.06735230105319809lf, -6.866272839416534e-18lf, p, l, l);
  p = mul_dd_f64(d, 0.0lf, p, l, l);
  p = add_dd_f64(0.3224670334241132lf, 1.492173008894894e-17lf, p, l, l);
  p = mul_dd_f64(d, 0.0lf, p, l, l);
  p = add_dd_f64(0.42278433509846713lf, 4.942915152430645e-18lf, p, l, l);
  return mul_dd_f64(d, 0.0lf, p, l, lo);
}
// Stirling's series: log gamma(x) = (result + lo) 2^k for 12 <= x < infinity, scaled so that nothing overflows on the
// way. About 2^-60.
FN D lgamma_stirling_f64(f64_t x, OUT(int) k, OUT(f64_t) lo) {
  bool large = compare_gt_f64(x, 1e18lf);
  D c = large ? 8.673617379884035e-19lf : 1.0lf;
  k = large ? 60 : 0;
  int n;
  D f = log_split_f64(x, n);
  D ll;
  D l = log_precise_f64(f, 0.0lf, n, ll);
  l = add_dd_f64(l, ll, -1.0lf, 0.0lf, ll);
  D hl;
  D h = two_sum_f64(multiply_f64(x, c), multiply_f64(-0.5lf, c), hl);
  D pl;
  D p = mul_dd_f64(h, hl, l, ll, pl);
  D i = divide_f64(1.0lf, large ? 1e18lf : x);
  D z = multiply_f64(i, i);
  D series = -0.029550653594771242lf;
  series = horner_f64(series, z, 0.00641025641025641lf);
  series = horner_f64(series, z, -0.0019175269175269176lf);
  series = horner_f64(series, z, 0.0008417508417508417lf);
  series = horner_f64(series, z, -0.0005952380952380953lf);
  series = horner_f64(series, z, 0.0007936507936507937lf);
  series = horner_f64(series, z, -0.002777777777777778lf);
  series = horner_f64(series, z, 0.08333333333333333lf);
  series = add_f64(multiply_f64(i, series), 1.6728209650585413e-17lf);
  return add_dd_f64(p, pl, multiply_f64(0.4189385332046727lf, c), multiply_f64(series, c), lo);
}
// log gamma(x) = result + lo for 2^-57 <= x < 12: log gamma(2 + d) less the logarithm of x or of x (1 + x), plus that
// of (x - 1) (x - 2) .. down to [1.5, 2.5).
FN D lgamma_shifted_f64(f64_t x, OUT(f64_t) lo) {
  int n = to_int_f64(floor_plain_f64(add_f64(x, 0.5lf))) - 2;
  D e;
  D u = two_sum_f64(1.0lf, x, e);
  D pl;
  D p = select_f64(n < -1, mul_dd_f64(x, 0.0lf, u, e, pl), x);
  pl = n < -1 ? pl : 0.0lf;
  D ql = 0.0lf;
  D q = 1.0lf;
  for (int i = 1; i <= 10; ++i) {
    q = mul_dd_f64(q, ql, select_f64(i <= n, subtract_f64(x, from_int_f64(i)), 1.0lf), 0.0lf, ql);
  }
  D ll;
  D l = log_dd_f64(n < 0 ? p : q, n < 0 ? pl : ql, ll);
  D gl;
  D g = lgamma_near_two_f64(select_f64(n < -1, x, subtract_f64(x, from_int_f64(n + 2))), gl);
  return add_dd_f64(select_f64(n < 0, negate_f64(l), l), select_f64(n < 0, negate_f64(ll), ll), g, gl, lo);
}
// log |gamma(x)|; below 0, log(pi / |x sin(pi x)|) - log gamma(-x). Infinite at 0, -1, -2 .. <= 2 ulp, and 2^-58
// absolute next to the zeros below 0.
FN D lgamma_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool left = is_negative_f64(x);
  bool pole =
      or_pred(or_pred(is_inf_f64(x), compare_eq_f64(m, 0.0lf)), and_pred(left, compare_eq_f64(floor_plain_f64(m), m)));
  bool tiny = compare_lt_f64(m, 1.3877787807814457e-17lf);
  D a = or_pred(tiny || pole, is_nan_f64(x)) ? 1.0lf : m;
  D sl;
  D s = lgamma_shifted_f64(compare_lt_f64(a, 12.0lf) ? a : 1.0lf, sl);
  int k;
  D gl;
  D g = lgamma_stirling_f64(compare_lt_f64(a, 12.0lf) ? 12.0lf : a, k, gl);
  k = compare_lt_f64(a, 12.0lf) ? 0 : k;
  g = compare_lt_f64(a, 12.0lf) ? s : g;
  gl = compare_lt_f64(a, 12.0lf) ? sl : gl;
  D wh;
  D wl;
  D ch;
  D cl;
  D b = left && !tiny && !pole ? a : 0.5lf;
  sin_cos_pi_f64(subtract_f64(b, round_nearest_even_f64(b)), wh, wl, ch, cl);
  D ql;
  D q = mul_dd_f64(b, 0.0lf, magnitude_f64(wh), flipsign_f64(wl, wh), ql);
  D ll;
  D l = log_dd_f64(q, ql, ll);
  l = add_dd_f64(1.1447298858494002lf, 1.0265951162707826e-17lf, negate_f64(l), negate_f64(ll), ll);
  l = add_dd_f64(l, ll, negate_f64(g), negate_f64(gl), ll);
  // Tiny arguments: -log m.
  int n;
  D f = log_split_f64(and_pred(tiny, compare_gt_f64(m, 0.0lf)) ? m : 1.0lf, n);
  D tl;
  D t = log_reduced_f64(f, 0.0lf, n, tl);
  D r = select_f64(left, add_f64(l, ll), scale_f64(g, gl, k));
  D v = select_f64(tiny, negate_f64(add_f64(t, tl)), r);
  return select_f64(is_nan_f64(x), nan_f64(), select_f64(pole, inf_f64(), v));
}

// The derivative of log gamma at z = zh + zl in [1, 2] as result + lo: the distance from its zero times a polynomial in
// z - 1.5 (fitted to 2^-60), about 2^-59.
FN D digamma_near_zero_f64(f64_t zh, f64_t zl, OUT(f64_t) lo) {
  D t = subtract_f64(zh, 1.5lf);
  D q = -8.153978973309418e-05lf;
  q = horner_f64(q, t, 0.00012230983055406747lf);
  q = horner_f64(q, t, -6.11554261750751e-05lf);
  q = horner_f64(q, t, 9.173383289174792e-05lf);
  q = horner_f64(q, t, -0.0002178682145501451lf);
  q = horner_f64(q, t, 0.0003268068044141764lf);
  q = horner_f64(q, t, -0.0004599625144612576lf);
  q = horner_f64(q, t, 0.0006899717801166841lf);
  q = horner_f64(q, t, -0.001042261556504223lf);
  q = horner_f64(q, t, 0.0015635679757533885lf);
  q = horner_f64(q, t, -0.002344650082351321lf);
  q = horner_f64(q, t, 0.0035180800751066694lf);
  q = horner_f64(q, t, -0.00528001782089874lf);
  q = horner_f64(q, t, 0.007927024067961237lf);
  q = horner_f64(q, t, -0.011908215172584002lf);
  q = horner_f64(q, t, 0.017907248195969127lf);
  q = horner_f64(q, t, -0.02697579684427536lf);
  q = horner_f64(q, t, 0.04076083394462657lf);
  q = horner_f64(q, t, -0.06192213327165706lf);
  q = horner_f64(q, t, 0.09498872445283lf);
  D l;
  D p = mul_dd_f64(t, zl, q, 4.714233266368575e-18lf, l);
  p = add_dd_f64(-0.14840492305391761lf, -2.832457376410324e-18lf, p, l, l);
  p = mul_dd_f64(t, zl, p, l, l);
  p = add_dd_f64(0.24054248424078736lf, -4.339580862911177e-18lf, p, l, l);
  p = mul_dd_f64(t, zl, p, l, l);
  p = add_dd_f64(-0.42362742128146047lf, -2.5922750428264427e-17lf, p, l, l);
  p = mul_dd_f64(t, zl, p, l, l);
  p = add_dd_f64(0.9510558760318328lf, 4.292118102788199e-17lf, p, l, l);
  D dl;
  D d = two_sum_f64(subtract_f64(zh, 1.4616321449683622lf), subtract_f64(zl, 9.549995429965697e-17lf), dl);
  return mul_dd_f64(d, subtract_f64(dl, 2.89392992820415e-33lf), p, l, lo);
}
// The asymptotic series for x >= 12, about 2^-60.
FN D digamma_asymptotic_f64(f64_t x, OUT(f64_t) lo) {
  int k;
  D f = log_split_f64(x, k);
  D ll;
  D l = log_precise_f64(f, 0.0lf, k, ll);
  // Beyond 10^18 the series no longer shows.
  D c = compare_gt_f64(x, 1e18lf) ? 1e18lf : x;
  D hl;
  D h = div_dd_f64(0.5lf, 0.0lf, c, 0.0lf, hl);
  D z = multiply_f64(multiply_f64(4.0lf, h), h);
  D series = -0.4432598039215686lf;
  series = horner_f64(series, z, 0.08333333333333333lf);
  series = horner_f64(series, z, -0.021092796092796094lf);
  series = horner_f64(series, z, 0.007575757575757576lf);
  series = horner_f64(series, z, -0.004166666666666667lf);
  series = horner_f64(series, z, 0.003968253968253968lf);
  series = horner_f64(series, z, -0.008333333333333333lf);
  series = horner_f64(series, z, 0.08333333333333333lf);
  series = multiply_f64(z, series);
  return add_dd_f64(l, ll, negate_f64(h), subtract_f64(negate_f64(hl), series), lo);
}
// For 2^-70 <= x < 12: at z in [1, 2], plus 1/z + 1/(z + 1) .. in one fraction, or less 1/x.
FN D digamma_shifted_f64(f64_t x, OUT(f64_t) lo) {
  bool below = compare_lt_f64(x, 1.0lf);
  int n = select_i32(below, 0, to_int_f64(floor_plain_f64(x)) - 1);
  D zl;
  D z = two_sum_f64(x, select_f64(below, 1.0lf, negate_f64(from_int_f64(n))), zl);
  D al = 0.0lf;
  D a = below ? -1.0lf : 0.0lf;
  D bl = 0.0lf;
  D b = below ? x : 1.0lf;
  for (int i = 1; i <= 10; ++i) {
    bool used = i <= n;
    D g = subtract_f64(x, from_int_f64(i));
    D pl;
    D p = mul_dd_f64(a, al, used ? g : 1.0lf, 0.0lf, pl);
    a = add_dd_f64(p, pl, used ? b : 0.0lf, used ? bl : 0.0lf, al);
    b = mul_dd_f64(b, bl, used ? g : 1.0lf, 0.0lf, bl);
  }
  D ql;
  D q = div_dd_f64(a, al, b, bl, ql);
  D pl;
  D p = digamma_near_zero_f64(z, zl, pl);
  return add_dd_f64(p, pl, q, ql, lo);
}
// Below 0, the value at -x, plus 1/|x|, less pi cot(pi x). NaN at 0, -1, -2 .. and at -infinity, as XLA has it. <= 2
// ulp, and 2^-56 absolute next to the zeros below 0.
FN D digamma_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool left = is_negative_f64(x);
  bool pole = or_pred(compare_eq_f64(m, 0.0lf), and_pred(left, compare_eq_f64(floor_plain_f64(m), m)));
  bool tiny = compare_lt_f64(m, 8.470329472543003e-22lf);
  D a = or_pred(tiny || pole, !is_finite_f64(x)) ? 1.0lf : m;
  D sl;
  D s = digamma_shifted_f64(compare_lt_f64(a, 12.0lf) ? a : 1.0lf, sl);
  D gl;
  D g = digamma_asymptotic_f64(compare_lt_f64(a, 12.0lf) ? 12.0lf : a, gl);
  g = compare_lt_f64(a, 12.0lf) ? s : g;
  gl = compare_lt_f64(a, 12.0lf) ? sl : gl;
  D wh;
  D wl;
  D ch;
  D cl;
  D b = left && !tiny && !pole ? a : 0.5lf;
  sin_cos_pi_f64(subtract_f64(b, round_nearest_even_f64(b)), wh, wl, ch, cl);
  D ql;
  D q = div_dd_f64(ch, cl, wh, wl, ql);
  q = mul_dd_f64(q, ql, 3.141592653589793lf, 1.2246467991473532e-16lf, ql);
  D il;
  D i = div_dd_f64(1.0lf, 0.0lf, b, 0.0lf, il);
  q = add_dd_f64(i, il, q, ql, ql);
  q = add_dd_f64(g, gl, q, ql, ql);
  // Tiny arguments: -1/x.
  int k;
  D f = frexp_f64(and_pred(tiny, compare_gt_f64(m, 0.0lf)) ? m : 1.0lf, k);
  D tl;
  D t = div_dd_f64(1.0lf, 0.0lf, f, 0.0lf, tl);
  D v = flipsign_f64(scale_f64(negate_f64(t), negate_f64(tl), -k), x);
  D r = select_f64(tiny, v, select_f64(left, add_f64(q, ql), add_f64(g, gl)));
  return select_f64(is_nan_f64(x) || pole, nan_f64(), is_inf_f64(x) ? x : r);
}
