// f64 reciprocal square root, cube root, error function and length of a vector.

// 1/sqrt of the significand and one Newton step on its exact residual. <= 1 ulp (0.5001 measured).
FN D rsqrt_f64(f64_t x) {
  bool ok = and_pred(compare_gt_f64(x, 0.0lf), compare_lt_f64(x, inf_f64()));
  int k;
  D m = frexp_f64(ok ? x : 1.0lf, k);
  bool odd = (k & 1) != 0;
  D a = select_f64(odd, add_f64(m, m), m);
  D y = divide_f64(1.0lf, sqrt_plain_f64(a));
  D pl;
  D p = two_prod_f64(a, y, pl);
  D e;
  D g = two_prod_f64(p, y, e);
  D r = subtract_f64(subtract_f64(subtract_f64(1.0lf, g), e), multiply_f64(pl, y));
  D v = scale_f64(y, multiply_f64(multiply_f64(0.5lf, y), r), -(select_i32(odd, k - 1, k) >> 1));
  D zero = copysign_f64(inf_f64(), x);
  return select_f64(
      ok, v, select_f64(compare_eq_f64(x, 0.0lf), zero, select_f64(compare_eq_f64(x, inf_f64()), 0.0lf, nan_f64())));
}
// Two Newton steps in doubles from a linear first guess and one on the exact residual. <= 1 ulp (0.5001 measured).
FN D cbrt_f64(f64_t x) {
  bool ok = and_pred(is_finite_f64(x), compare_ne_f64(x, 0.0lf));
  int k;
  D m = frexp_f64(ok ? x : 1.0lf, k);
  // k = 3 t + j with j in 0..2; a in [1, 8).
  int t = (k + 3000) / 3 - 1000;
  int j = k - 3 * t;
  D a = select_f64(j == 0, m, select_f64(j == 1, multiply_f64(2.0lf, m), multiply_f64(4.0lf, m)));
  D y = select_f64(compare_lt_f64(a, 2.8284271247461903lf), add_f64(0.729lf, multiply_f64(0.276lf, a)), add_f64(1.089lf,
      multiply_f64(0.1142lf, a)));
  y = subtract_f64(
      y, divide_f64(subtract_f64(multiply_f64(multiply_f64(y, y), y), a), multiply_f64(multiply_f64(3.0lf, y), y)));
  y = subtract_f64(
      y, divide_f64(subtract_f64(multiply_f64(multiply_f64(y, y), y), a), multiply_f64(multiply_f64(3.0lf, y), y)));
  y = subtract_f64(
      y, divide_f64(subtract_f64(multiply_f64(multiply_f64(y, y), y), a), multiply_f64(multiply_f64(3.0lf, y), y)));
  D ql;
  D q = two_prod_f64(y, y, ql);
  D cl;
  D c = two_prod_f64(q, y, cl);
  D r = subtract_f64(subtract_f64(subtract_f64(a, c), cl), multiply_f64(ql, y));
  D v = scale_f64(y, divide_f64(r, multiply_f64(3.0lf, q)), t);
  return copysign_f64(ok ? v : magnitude_f64(x), x);
}
// (erf(x) / x - 2 / sqrt(pi) (1 - z / 3)) / z^2 for z = x^2 <= 1, 2^-64.6.
FN D erf_tail_f64(f64_t z) {
  D p = -4.522861168380474e-12lf;
  p = horner_f64(p, z, 8.887813922333539e-11lf);
  p = horner_f64(p, z, -1.221270779380522e-09lf);
  p = horner_f64(p, z, 1.47999028118823e-08lf);
  p = horner_f64(p, z, -1.6365390452609332e-07lf);
  p = horner_f64(p, z, 1.64620954048274e-06lf);
  p = horner_f64(p, z, -1.4925649835998543e-05lf);
  p = horner_f64(p, z, 0.0001205533297264887lf);
  p = horner_f64(p, z, -0.0008548327023356362lf);
  p = horner_f64(p, z, 0.005223977625441682lf);
  p = horner_f64(p, z, -0.026866170645131242lf);
  p = horner_f64(p, z, 0.11283791670955126lf);
  return p;
}
// erf(x) for 2^-33 <= x <= 1 as result + lo: the constant and linear terms of the series in z = x^2 in two doubles.
FN D erf_inner_f64(f64_t x, OUT(f64_t) lo) {
  D zl;
  D z = two_prod_f64(x, x, zl);
  D ul;
  D u = mul_dd_f64(z, zl, -0.37612638903183754lf, 1.3391897206030649e-17lf, ul);
  D vl;
  D v = add_dd_f64(1.1283791670955126lf, 1.533545961316588e-17lf, u, add_f64(ul, multiply_f64(multiply_f64(z, z),
      erf_tail_f64(z))), vl);
  return mul_dd_f64(x, 0.0lf, v, vl, lo);
}
// e^(x^2) erfc(x) for 1 <= x <= 6 in t = (x - 2) / (x + 2), 2^-68.2.
FN D erfcx_f64(f64_t x) {
  D t = divide_f64(subtract_f64(x, 2.0lf), add_f64(x, 2.0lf));
  D p = 1.892763506249027e-07lf;
  p = horner_f64(p, t, -1.632065834667942e-07lf);
  p = horner_f64(p, t, -5.494144104124559e-07lf);
  p = horner_f64(p, t, -3.9035732044924444e-07lf);
  p = horner_f64(p, t, 1.1995052231035317e-06lf);
  p = horner_f64(p, t, 3.7443735332653078e-06lf);
  p = horner_f64(p, t, 1.393439667993715e-06lf);
  p = horner_f64(p, t, -1.3960863250756434e-05lf);
  p = horner_f64(p, t, -2.758046502798232e-05lf);
  p = horner_f64(p, t, 2.7524819609205997e-05lf);
  p = horner_f64(p, t, 0.000174361235301249lf);
  p = horner_f64(p, t, 4.355563777487973e-05lf);
  p = horner_f64(p, t, -0.0009819770302602721lf);
  p = horner_f64(p, t, -0.0008471432520133931lf);
  p = horner_f64(p, t, 0.006997461739294057lf);
  p = horner_f64(p, t, 0.0037328924043450165lf);
  p = horner_f64(p, t, -0.07897858101573312lf);
  p = horner_f64(p, t, 0.24165819424246635lf);
  p = horner_f64(p, t, -0.4271858474139584lf);
  p = horner_f64(p, t, 0.25539567631050575lf);
  return p;
}
// A series up to 1, then 1 - e^(-x^2) erfcx(x), 1 from 6 on. <= 1 ulp.
FN D erf_f64(f64_t x) {
  D m = magnitude_f64(x);
  D c = compare_lt_f64(m, 6.0lf) ? m : 6.0lf;
  D il;
  D ih = erf_inner_f64(select_f64(compare_lt_f64(c, 1e-10lf), 0.5lf, compare_lt_f64(c, 1.0lf) ? c : 1.0lf), il);
  D inner = add_f64(ih, il);
  D b = compare_lt_f64(c, 1.0lf) ? 1.0lf : c;
  D wl;
  D w = two_prod_f64(b, b, wl);
  int k;
  D gl;
  D g = exp_parts_f64(negate_f64(w), negate_f64(wl), k, gl);
  D outer = subtract_f64(1.0lf, multiply_f64(multiply_f64(add_f64(g, gl), pow2_f64(k)), erfcx_f64(b)));
  // Below 2^-33 the product with 2 / sqrt(pi), from the significand so that denormals are rounded once.
  int n;
  D f = frexp_f64(and_pred(compare_lt_f64(m, 1e-10lf), compare_gt_f64(m, 0.0lf)) ? m : 1.0lf, n);
  D tl;
  D t = two_prod_f64(f, 1.1283791670955126lf, tl);
  D tiny = select_f64(compare_gt_f64(m, 0.0lf), scale_f64(t, add_f64(tl, multiply_f64(f, 1.533545961316588e-17lf)), n),
                      0.0lf);
  D r = select_f64(compare_lt_f64(m, 1e-10lf), tiny, compare_lt_f64(m, 1.0lf) ? inner : outer);
  return select_f64(is_nan_f64(x), nan_f64(), copysign_f64(compare_lt_f64(m, 6.0lf) ? r : 1.0lf, x));
}
// sqrt(x^2 + y^2) without overflow on the way, in two doubles. <= 1 ulp.
FN D hypot_f64(f64_t x, f64_t y) {
  D a = magnitude_f64(x);
  D b = magnitude_f64(y);
  D h = compare_gt_f64(a, b) ? a : b;
  D l = compare_gt_f64(a, b) ? b : a;
  bool inf = or_pred(is_inf_f64(x), is_inf_f64(y));
  bool zero = or_pred(or_pred(compare_eq_f64(h, 0.0lf) || inf, is_nan_f64(x)), is_nan_f64(y));
  int k;
  D m = frexp_f64(zero ? 1.0lf : h, k);
  int kl;
  D ml = frexp_f64(or_pred(zero, compare_eq_f64(l, 0.0lf)) ? 1.0lf : l, kl);
  int d = k - kl;
  D n = select_f64(or_pred(d > 60, compare_eq_f64(l, 0.0lf)), 0.0lf,
                   multiply_f64(ml, pow2_f64(select_i32(d > 60, 0, -d))));
  D pl;
  D p = two_prod_f64(m, m, pl);
  D ql;
  D q = two_prod_f64(n, n, ql);
  D sl;
  D s = add_dd_f64(p, pl, q, ql, sl);
  D rl;
  D r = sqrt_dd_f64(s, sl, rl);
  D v = scale_f64(r, rl, k);
  return select_f64(inf, inf_f64(),
                    select_f64(or_pred(is_nan_f64(x), is_nan_f64(y)), nan_f64(), compare_eq_f64(h, 0.0lf) ? 0.0lf : v));
}
