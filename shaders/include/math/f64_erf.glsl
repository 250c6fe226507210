// f64 powers and logarithms of base 2, the complementary error function and the inverse of the error function.

// 2^x: the fraction times ln 2 in two doubles. <= 1 ulp.
FN D exp2_f64(f64_t x) {
  D c = select_f64(compare_gt_f64(x, 1200.0lf), 1200.0lf, compare_lt_f64(x, -1200.0lf) ? -1200.0lf : x);
  D n = floor_plain_f64(add_f64(c, 0.5lf));
  D rl;
  D r = mul_dd_f64(subtract_f64(c, n), 0.0lf, 0.6931471805599453lf, 2.3190468138462996e-17lf, rl);
  D p = add_f64(rl, multiply_f64(multiply_f64(r, r), add_f64(0.5lf, multiply_f64(r, exp_tail_f64(r)))));
  D e;
  D s = fast_two_sum_f64(1.0lf, r, e);
  D v = scale_f64(s, add_f64(e, p), to_int_f64(n));
  return select_f64(is_nan_f64(x), nan_f64(), v);
}
// log(m) / ln 2 + k for x = m 2^k, m in [0.707, 1.414], in two doubles; exact at powers of two. <= 1 ulp.
FN D log2_f64(f64_t x) {
  bool ok = and_pred(compare_gt_f64(x, 0.0lf), compare_lt_f64(x, inf_f64()));
  int k;
  D f = log_split_f64(ok ? x : 1.0lf, k);
  D ll;
  D l = log_reduced_f64(f, 0.0lf, 0, ll);
  D ql;
  D q = mul_dd_f64(l, ll, 1.4426950408889634lf, 2.0355273740931033e-17lf, ql);
  D e;
  D s = two_sum_f64(from_int_f64(k), q, e);
  D r = add_f64(s, add_f64(e, ql));
  return select_f64(ok, r, log_special_f64(x, r));
}
// (1 + 2x) e^(x^2) erfc(x) = result + lo for 0.45 <= x <= 27.5: Shepherd and Laframboise's form in t = (x - 2) / (x +
// 2), the leading terms in two doubles. About 2^-58.
FN D erfc_scaled_f64(f64_t x, OUT(f64_t) lo) {
  D dl;
  D d = two_sum_f64(x, 2.0lf, dl);
  D nl;
  D n = two_sum_f64(x, -2.0lf, nl);
  D tl;
  D t = div_dd_f64(n, nl, d, dl, tl);
  D q = 2.3461889342458785e-08lf;
  q = horner_f64(q, t, -8.634811433993706e-08lf);
  q = horner_f64(q, t, -3.108523379094031e-08lf);
  q = horner_f64(q, t, 2.903233554181138e-07lf);
  q = horner_f64(q, t, 1.5493781860196422e-07lf);
  q = horner_f64(q, t, -3.929804539279715e-07lf);
  q = horner_f64(q, t, -8.087877085288041e-07lf);
  q = horner_f64(q, t, -6.209007122610496e-07lf);
  q = horner_f64(q, t, 1.474203515005579e-06lf);
  q = horner_f64(q, t, 5.1973841092201255e-06lf);
  q = horner_f64(q, t, 3.7256240877891816e-06lf);
  q = horner_f64(q, t, -1.348679614604152e-05lf);
  q = horner_f64(q, t, -3.642774745571114e-05lf);
  q = horner_f64(q, t, -1.5107722022962015e-06lf);
  q = horner_f64(q, t, 0.00015103999159910358lf);
  q = horner_f64(q, t, 0.00020636730647251365lf);
  q = horner_f64(q, t, -0.0004543409250399821lf);
  q = horner_f64(q, t, -0.001456813953676248lf);
  q = horner_f64(q, t, 0.0012713389724090007lf);
  q = horner_f64(q, t, 0.008722653876023237lf);
  q = horner_f64(q, t, -0.008034015082666905lf);
  q = horner_f64(q, t, -0.05422000099204577lf);
  q = horner_f64(q, t, 0.1640512800334462lf);
  D l;
  D p = mul_dd_f64(t, tl, q, 7.060312118928466e-18lf, l);
  p = add_dd_f64(-0.1660303976152893lf, 9.569853140956699e-18lf, p, l, l);
  p = mul_dd_f64(t, tl, p, l, l);
  p = add_dd_f64(-0.09276382658574603lf, 1.4016353859069767e-18lf, p, l, l);
  p = mul_dd_f64(t, tl, p, l, l);
  return add_dd_f64(1.2769783815525286lf, 8.942927048067093e-17lf, p, l, lo);
}
// erfc(x) = (result + lo) 2^k for 0.45 <= x <= 27.5. About 2^-56.
FN D erfc_tail_f64(f64_t x, OUT(int) k, OUT(f64_t) lo) {
  D wl;
  D w = two_prod_f64(x, x, wl);
  D gl;
  D g = exp_parts_f64(negate_f64(w), negate_f64(wl), k, gl);
  D sl;
  D s = erfc_scaled_f64(x, sl);
  D nl;
  D n = mul_dd_f64(g, gl, s, sl, nl);
  D dl;
  D d = two_sum_f64(1.0lf, add_f64(x, x), dl);
  return div_dd_f64(n, nl, d, dl, lo);
}
// 1 - erf(x) up to 1/2, then the tail, 2 less the tail on the left. <= 1 ulp.
FN D erfc_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool left = is_negative_f64(x);
  D il;
  D ih = erf_inner_f64(and_pred(compare_ge_f64(m, 1e-17lf), compare_lt_f64(m, 0.5lf)) ? m : 0.5lf, il);
  D e;
  D h = two_sum_f64(1.0lf, select_f64(left, ih, negate_f64(ih)), e);
  D inner = add_f64(h, add_f64(e, select_f64(left, il, negate_f64(il))));
  D c = select_f64(compare_lt_f64(m, 0.5lf), 0.5lf, compare_lt_f64(m, 27.5lf) ? m : 27.5lf);
  int k;
  D tl;
  D t = erfc_tail_f64(c, k, tl);
  D u = select_f64(k < -60, 0.0lf, pow2_f64(k));
  D d;
  D g = two_sum_f64(2.0lf, multiply_f64(negate_f64(t), u), d);
  D outer = select_f64(left, add_f64(g, subtract_f64(d, multiply_f64(tl, u))), scale_f64(t, tl, k));
  D r = select_f64(compare_lt_f64(m, 1e-17lf), 1.0lf, compare_lt_f64(m, 0.5lf) ? inner : outer);
  return select_f64(is_nan_f64(x), nan_f64(), r);
}
// A guess of erf_inv(x) for 0 <= x < 1: near 0 in x^2, 2^-25; from 1/2 on in sqrt(-log(1 - x)), 2^-20.
FN D erf_inv_guess_f64(f64_t x) {
  D z = multiply_f64(x, x);
  D near = 0.10576953582554961lf;
  near = horner_f64(near, z, 0.046829443683973945lf);
  near = horner_f64(near, z, 0.08915779631614389lf);
  near = horner_f64(near, z, 0.12739196105708647lf);
  near = horner_f64(near, z, 0.23201738616502476lf);
  near = horner_f64(near, z, 0.8862269119787042lf);
  near = multiply_f64(x, near);
  D s = sqrt_plain_f64(negate_f64(log_f64(subtract_f64(1.0lf, x))));
  D far = -4.705963436639162e-09lf;
  far = horner_f64(far, s, 2.4846693227672555e-07lf);
  far = horner_f64(far, s, -6.0144827980969135e-06lf);
  far = horner_f64(far, s, 8.845420328455887e-05lf);
  far = horner_f64(far, s, -0.0008829283695347516lf);
  far = horner_f64(far, s, 0.0063282165003337495lf);
  far = horner_f64(far, s, -0.033594489939981216lf);
  far = horner_f64(far, s, 0.1342510294669305lf);
  far = horner_f64(far, s, -0.4060099139244876lf);
  far = horner_f64(far, s, 0.9244676670396772lf);
  far = horner_f64(far, s, -1.5544992011251297lf);
  far = horner_f64(far, s, 1.8394139149367896lf);
  far = horner_f64(far, s, -0.31897242165539313lf);
  far = horner_f64(far, s, 0.0461318410825541lf);
  return compare_lt_f64(x, 0.5lf) ? near : far;
}
// One step of Halley's method on erf, or on erfc where 1 - |x| says more. Infinite at 1, NaN beyond. <= 2 ulp (0.51
// measured).
FN D erf_inv_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool tiny = compare_lt_f64(m, 1e-10lf);
  D a = or_pred(tiny, !compare_lt_f64(m, 1.0lf)) ? 0.25lf : m;
  D y = erf_inv_guess_f64(a);
  bool near = compare_lt_f64(a, 0.5lf);
  D il;
  D ih = erf_inner_f64(near ? y : 0.5lf, il);
  int k;
  D tl;
  D t = erfc_tail_f64(near ? 0.5lf : y, k, tl);
  D u = pow2_f64(k);
  D f = select_f64(near, subtract_f64(subtract_f64(a, ih), il),
                   add_f64(subtract_f64(multiply_f64(t, u), subtract_f64(1.0lf, a)), multiply_f64(tl, u)));
  int n;
  D gl;
  D g = exp_parts_f64(multiply_f64(y, y), 0.0lf, n, gl);
  D step = multiply_f64(f, multiply_f64(multiply_f64(0.886226925452758lf, g), pow2_f64(n)));
  D v = add_f64(y, divide_f64(step, subtract_f64(1.0lf, multiply_f64(y, step))));
  // Below 10^-10 sqrt(pi) / 2 times x, from the significand so that denormals are rounded once.
  int e;
  D s = frexp_f64(and_pred(tiny, compare_gt_f64(m, 0.0lf)) ? m : 1.0lf, e);
  D pl;
  D p = two_prod_f64(s, 0.886226925452758lf, pl);
  D small = select_f64(compare_gt_f64(m, 0.0lf),
                       scale_f64(p, subtract_f64(pl, multiply_f64(s, 3.8332932499128993e-17lf)), e), 0.0lf);
  D r = select_f64(tiny, small, select_f64(compare_eq_f64(m, 1.0lf), inf_f64(), v));
  return select_f64(compare_le_f64(m, 1.0lf), copysign_f64(r, x), nan_f64());
}
