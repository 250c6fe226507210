// f64 exponentials, logarithms, hyperbolic functions and powers. Method: every function is a sum hi + lo of two doubles
// good to about 2^-58 or better, rounded once by scale_f64 or by the last addition: at most 1 ulp (2 stated)
// (docs/reference/accuracy.md has what was measured). Polynomials are Chebyshev fits of the series' remainders.

// k = round((xh + xl) / ln 2); result + rl = xh + xl - k ln 2, |result| <= 0.35. |xh| <= 1600.
FN D reduce_ln2_f64(f64_t xh, f64_t xl, OUT(int) k, OUT(f64_t) rl) {
  D n = floor_plain_f64(add_f64(multiply_f64(xh, 1.4426950408889634lf), 0.5lf));
  k = to_int_f64(n);
  D h = subtract_f64(xh, multiply_f64(n, 0.6931471805592082lf));
  return fast_two_sum_f64(h, subtract_f64(xl, multiply_f64(n, 7.371002565167799e-13lf)), rl);
}
// (e^r - 1 - r - r^2/2) / r^3, 2^-56.8 absolute.
FN D exp_tail_f64(f64_t r) {
  D p = 2.091124353145679e-09lf;
  p = horner_f64(p, r, 2.5100395159429243e-08lf);
  p = horner_f64(p, r, 2.7557282955039673e-07lf);
  p = horner_f64(p, r, 2.7557268439678e-06lf);
  p = horner_f64(p, r, 2.480158731715384e-05lf);
  p = horner_f64(p, r, 0.00019841269863066696lf);
  p = horner_f64(p, r, 0.001388888888888655lf);
  p = horner_f64(p, r, 0.00833333333333006lf);
  p = horner_f64(p, r, 0.041666666666666664lf);
  p = horner_f64(p, r, 0.16666666666666669lf);
  return p;
}
// e^(r + rl) - 1 = result + lo, about 2^-59 relative, for |r| <= 0.36.
FN D expm1_reduced_f64(f64_t r, f64_t rl, OUT(f64_t) lo) {
  D e;
  D q = two_prod_f64(r, r, e);
  D t = add_f64(add_f64(multiply_f64(0.5lf, e), multiply_f64(multiply_f64(q, r), exp_tail_f64(r))),
                add_f64(rl, multiply_f64(r, rl)));
  D d;
  D h = fast_two_sum_f64(r, multiply_f64(0.5lf, q), d);
  return fast_two_sum_f64(h, add_f64(d, t), lo);
}
// e^(xh + xl) = (result + lo) * 2^k, about 2^-57; the argument is held within +-1600.
FN D exp_parts_f64(f64_t xh, f64_t xl, OUT(int) k, OUT(f64_t) lo) {
  D c = select_f64(compare_gt_f64(xh, 1600.0lf), 1600.0lf, compare_lt_f64(xh, -1600.0lf) ? -1600.0lf : xh);
  D rl;
  D r = reduce_ln2_f64(c, xl, k, rl);
  D p = add_f64(rl, multiply_f64(multiply_f64(r, r), add_f64(0.5lf, multiply_f64(r, exp_tail_f64(r)))));
  D e;
  D s = fast_two_sum_f64(1.0lf, r, e);
  return fast_two_sum_f64(s, add_f64(e, p), lo);
}
// <= 1 ulp.
FN D exponential_f64(f64_t x) {
  int k;
  D lo;
  D hi = exp_parts_f64(x, 0.0lf, k, lo);
  D r = scale_f64(hi, lo, k);
  return select_f64(is_nan_f64(x), nan_f64(), r);
}
// For x in [-50, 1600]: e^x = 2^k a, a = ah + al, and e^x - 1 = 2^k (result + lo), both about 2^-58 relative.
FN D expm1_parts_f64(f64_t x, OUT(int) k, OUT(f64_t) ah, OUT(f64_t) al, OUT(f64_t) lo) {
  D rl;
  D r = reduce_ln2_f64(x, 0.0lf, k, rl);
  D pl;
  D p = expm1_reduced_f64(r, rl, pl);
  D e;
  D a = fast_two_sum_f64(1.0lf, p, e);
  ah = fast_two_sum_f64(a, add_f64(e, pl), al);
  D u = select_f64(k > 60, 0.0lf, pow2_f64(-k));
  D d;
  D c = two_sum_f64(1.0lf, negate_f64(u), d);
  D g;
  D s = two_sum_f64(c, p, g);
  return fast_two_sum_f64(s, add_f64(g, add_f64(d, pl)), lo);
}
// <= 1 ulp.
FN D exponential_minus_one_f64(f64_t x) {
  D c = select_f64(compare_gt_f64(x, 800.0lf), 800.0lf, compare_gt_f64(x, -40.0lf) ? x : -40.0lf);
  int k;
  D ah;
  D al;
  D lo;
  D hi = expm1_parts_f64(c, k, ah, al, lo);
  D r = scale_f64(hi, lo, k);
  bool tiny = compare_lt_f64(magnitude_f64(x), 8.673617379884035e-19lf);
  return select_f64(is_nan_f64(x), nan_f64(), tiny ? x : r);
}
// 1 / (1 + e^-x); with z = e^-|x| = 2^k zh: 1 / (1 + z) or z / (1 + z). <= 1 ulp.
FN D logistic_f64(f64_t x) {
  int k;
  D zl;
  D zh = exp_parts_f64(negate_f64(magnitude_f64(x)), 0.0lf, k, zl);
  D u = select_f64(k < -60, 0.0lf, pow2_f64(k));
  D dl;
  D dh = fast_two_sum_f64(1.0lf, multiply_f64(zh, u), dl);
  bool negative = is_negative_f64(x);
  D lo;
  D hi = div_dd_f64(negative ? zh : 1.0lf, negative ? zl : 0.0lf, dh, add_f64(dl, multiply_f64(zl, u)), lo);
  D r = scale_f64(hi, lo, negative ? k : 0);
  return select_f64(is_nan_f64(x), nan_f64(), r);
}
// e / (e + 2) with e = e^(2|x|) - 1. <= 1 ulp.
FN D tanh_f64(f64_t x) {
  D m = magnitude_f64(x);
  D c = compare_lt_f64(m, 20.0lf) ? m : 20.0lf;
  int k;
  D ah;
  D al;
  D lo;
  D hi = expm1_parts_f64(add_f64(c, c), k, ah, al, lo);
  D u = pow2_f64(1 - k);
  D dl;
  D dh = two_sum_f64(hi, u, dl);
  D ql;
  D qh = div_dd_f64(hi, lo, dh, add_f64(dl, lo), ql);
  D r = add_f64(qh, ql);
  return select_f64(is_nan_f64(x), nan_f64(),
                    copysign_f64(select_f64(compare_lt_f64(m, 8.673617379884035e-19lf), m, r), x));
}
// (e + e / (e + 1)) / 2 with e = e^|x| - 1. <= 1 ulp.
FN D sinh_f64(f64_t x) {
  D m = magnitude_f64(x);
  D c = compare_lt_f64(m, 800.0lf) ? m : 800.0lf;
  int k;
  D ah;
  D al;
  D lo;
  D hi = expm1_parts_f64(c, k, ah, al, lo);
  D ql;
  D qh = div_dd_f64(hi, lo, ah, al, ql);
  D u = select_f64(k > 60, 0.0lf, pow2_f64(-k));
  D sl;
  D sh = add_dd_f64(hi, lo, multiply_f64(qh, u), multiply_f64(ql, u), sl);
  D r = scale_f64(sh, sl, k - 1);
  return select_f64(is_nan_f64(x), nan_f64(), copysign_f64(compare_lt_f64(m, 8.673617379884035e-19lf) ? m : r, x));
}
// (e^|x| + e^-|x|) / 2. <= 1 ulp.
FN D cosh_f64(f64_t x) {
  D m = magnitude_f64(x);
  D c = compare_lt_f64(m, 800.0lf) ? m : 800.0lf;
  int k;
  D al;
  D ah = exp_parts_f64(c, 0.0lf, k, al);
  D ql;
  D qh = div_dd_f64(1.0lf, 0.0lf, ah, al, ql);
  D u = select_f64(k > 30, 0.0lf, pow2_f64(-2 * k));
  D sl;
  D sh = add_dd_f64(ah, al, multiply_f64(qh, u), multiply_f64(ql, u), sl);
  D r = scale_f64(sh, sl, k - 1);
  return select_f64(is_nan_f64(x), nan_f64(), r);
}

// (2 atanh(s) - 2 s) / s^3 for z = s^2 <= 0.0295, 2^-65.9.
FN D log_tail_f64(f64_t z) {
  D p = 0.11882288224392816lf;
  p = horner_f64(p, z, 0.11688091528492221lf);
  p = horner_f64(p, z, 0.13335640103032692lf);
  p = horner_f64(p, z, 0.15384575099197934lf);
  p = horner_f64(p, z, 0.18181818594078525lf);
  p = horner_f64(p, z, 0.22222222219855842lf);
  p = horner_f64(p, z, 0.2857142857143537lf);
  p = horner_f64(p, z, 0.3999999999999999lf);
  p = horner_f64(p, z, 0.6666666666666666lf);
  return p;
}
// k ln 2 + log(1 + f + fl) = result + lo for 1 + f in [0.7, 1.42]: 2 atanh(s), s = f / (2 + f). About 2^-58 relative.
FN D log_reduced_f64(f64_t f, f64_t fl, int k, OUT(f64_t) lo) {
  D dl;
  D dh = fast_two_sum_f64(2.0lf, f, dl);
  D sl;
  D s = div_dd_f64(f, fl, dh, add_f64(dl, fl), sl);
  D z = multiply_f64(s, s);
  D n = from_int_f64(k);
  D e;
  D h = fast_two_sum_f64(multiply_f64(n, 0.6931471805592082lf), add_f64(s, s), e);
  D t = add_f64(add_f64(add_f64(e, add_f64(sl, sl)), multiply_f64(multiply_f64(z, s), log_tail_f64(z))), multiply_f64(n,
      7.371002565167799e-13lf));
  return fast_two_sum_f64(h, t, lo);
}
// The same to about 2^-64, for powers: the cubic term in two doubles as well.
FN D log_precise_f64(f64_t f, f64_t fl, int k, OUT(f64_t) lo) {
  D dl;
  D dh = fast_two_sum_f64(2.0lf, f, dl);
  D sl;
  D s = div_dd_f64(f, fl, dh, add_f64(dl, fl), sl);
  D zl;
  D z = mul_dd_f64(s, sl, s, sl, zl);
  D cl;
  D c = mul_dd_f64(z, zl, s, sl, cl);
  D poly = 0.1076255742243467lf;
  poly = horner_f64(poly, z, 0.10456312591863509lf);
  poly = horner_f64(poly, z, 0.11766813776093919lf);
  poly = horner_f64(poly, z, 0.13333296519288762lf);
  poly = horner_f64(poly, z, 0.1538461576136296lf);
  poly = horner_f64(poly, z, 0.181818181796556lf);
  poly = horner_f64(poly, z, 0.22222222222228435lf);
  poly = horner_f64(poly, z, 0.28571428571428564lf);
  poly = horner_f64(poly, z, 0.4lf);
  D q = multiply_f64(z, poly);
  D tl;
  D t = mul_dd_f64(c, cl, 0.6666666666666666lf, add_f64(q, 3.700743415417188e-17lf), tl);
  D n = from_int_f64(k);
  D e;
  D h = fast_two_sum_f64(multiply_f64(n, 0.6931471805592082lf), add_f64(s, s), e);
  D d;
  D g = two_sum_f64(h, t, d);
  D rest = add_f64(add_f64(d, add_f64(e, add_f64(tl, add_f64(sl, sl)))),
                   add_f64(multiply_f64(n, 7.371002565167799e-13lf), multiply_f64(n, 1.94704509238075e-31lf)));
  return fast_two_sum_f64(g, rest, lo);
}
// The significand of x in [0.707, 1.414] less 1, and its exponent; x > 0 and finite.
FN D log_split_f64(f64_t x, OUT(int) k) {
  int e;
  D m = frexp_f64(x, e);
  bool high = compare_gt_f64(m, 1.4142135623730951lf);
  k = select_i32(high, e + 1, e);
  return subtract_f64(select_f64(high, multiply_f64(0.5lf, m), m), 1.0lf);
}
// log(1 + xh + xl) = result + lo for 1 + xh + xl > 0, xh < 2^60; extra is added to the exponent. About 2^-58 relative.
FN D log1p_dd_f64(f64_t xh, f64_t xl, OUT(f64_t) lo) {
  D e;
  D u = two_sum_f64(1.0lf, xh, e);
  int k;
  D f = log_split_f64(u, k);
  D s = select_f64(k > 60, 0.0lf, pow2_f64(-k));
  D gl;
  D g = two_sum_f64(f, multiply_f64(add_f64(e, xl), s), gl);
  return log_reduced_f64(g, gl, k, lo);
}
// What log gives at 0, at infinity, below 0 and for NaN; r elsewhere.
FN D log_special_f64(f64_t x, f64_t r) {
  D s = select_f64(compare_eq_f64(x, 0.0lf), negate_f64(inf_f64()),
                   select_f64(or_pred(compare_lt_f64(x, 0.0lf), is_nan_f64(x)), nan_f64(), r));
  return compare_eq_f64(x, inf_f64()) ? x : s;
}
// <= 1 ulp.
FN D log_f64(f64_t x) {
  bool ok = and_pred(compare_gt_f64(x, 0.0lf), compare_lt_f64(x, inf_f64()));
  int k;
  D f = log_split_f64(ok ? x : 1.0lf, k);
  D lo;
  D hi = log_reduced_f64(f, 0.0lf, k, lo);
  D r = add_f64(hi, lo);
  return select_f64(ok, r, log_special_f64(x, r));
}
// <= 1 ulp.
FN D log_plus_one_f64(f64_t x) {
  bool tiny = compare_lt_f64(magnitude_f64(x), 8.673617379884035e-19lf);
  bool huge = compare_gt_f64(x, 1e18lf);
  bool ok = and_pred(compare_gt_f64(x, -1.0lf), compare_lt_f64(x, inf_f64())) && !tiny;
  D c = ok ? x : 1.0lf;
  D e;
  D u = select_f64(huge, c, two_sum_f64(1.0lf, c, e));
  e = huge ? 0.0lf : e;
  int k;
  D f = log_split_f64(u, k);
  D gl;
  D g = two_sum_f64(f, multiply_f64(e, select_f64(huge, 0.0lf, pow2_f64(-k))), gl);
  D lo;
  D hi = log_reduced_f64(g, gl, k, lo);
  D r = add_f64(hi, lo);
  return select_f64(ok, r, select_f64(tiny, x, log_special_f64(compare_eq_f64(x, -1.0lf) ? 0.0lf : x, r)));
}
// log(x + sqrt(x^2 + 1)) = log(1 + (x + x^2 / (1 + sqrt(x^2 + 1)))); beyond 2^30, log(2x). <= 1 ulp.
FN D asinh_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool big = compare_gt_f64(m, 1073741824.0lf);
  bool tiny = compare_lt_f64(m, 8.673617379884035e-19lf);
  D c = or_pred(big || tiny, is_nan_f64(x)) ? 1.0lf : m;
  D wl;
  D w = two_prod_f64(c, c, wl);
  D zl;
  D z = add_dd_f64(1.0lf, 0.0lf, w, wl, zl);
  D sl;
  D s = sqrt_dd_f64(z, zl, sl);
  D dl;
  D d = add_dd_f64(1.0lf, 0.0lf, s, sl, dl);
  D ql;
  D q = div_dd_f64(w, wl, d, dl, ql);
  D tl;
  D t = add_dd_f64(c, 0.0lf, q, ql, tl);
  D lo;
  D hi = log1p_dd_f64(t, tl, lo);
  D r = add_f64(hi, lo);
  int k;
  D f = log_split_f64(and_pred(big, is_finite_f64(x)) ? m : 1.0lf, k);
  D bl;
  D bh = log_reduced_f64(f, 0.0lf, k + 1, bl);
  D b = select_f64(is_inf_f64(x), m, add_f64(bh, bl));
  D v = big ? b : r;
  return select_f64(is_nan_f64(x), nan_f64(), copysign_f64(tiny ? m : v, x));
}
// log(1 + (t + sqrt(t (t + 2)))), t = x - 1; beyond 2^30, log(2x). <= 1 ulp.
FN D acosh_f64(f64_t x) {
  bool big = compare_gt_f64(x, 1073741824.0lf);
  bool ok = compare_ge_f64(x, 1.0lf) && !big;
  D tl;
  D t = two_sum_f64(ok ? x : 1.0lf, -1.0lf, tl);
  D ul;
  D u = add_dd_f64(t, tl, 2.0lf, 0.0lf, ul);
  D pl;
  D p = mul_dd_f64(t, tl, u, ul, pl);
  D sl;
  D s = sqrt_dd_f64(p, pl, sl);
  D vl;
  D v = add_dd_f64(t, tl, s, sl, vl);
  D lo;
  D hi = log1p_dd_f64(v, vl, lo);
  D r = add_f64(hi, lo);
  int k;
  D f = log_split_f64(and_pred(big, is_finite_f64(x)) ? x : 1.0lf, k);
  D bl;
  D bh = log_reduced_f64(f, 0.0lf, k + 1, bl);
  D b = select_f64(is_inf_f64(x), x, add_f64(bh, bl));
  return select_f64(ok, r, select_f64(big, b, nan_f64()));
}
// log(1 + 2x / (1 - x)) / 2. <= 1 ulp.
FN D atanh_f64(f64_t x) {
  D m = magnitude_f64(x);
  bool tiny = compare_lt_f64(m, 8.673617379884035e-19lf);
  bool ok = compare_lt_f64(m, 1.0lf) && !tiny;
  D c = ok ? m : 0.5lf;
  D dl;
  D d = two_sum_f64(1.0lf, negate_f64(c), dl);
  D ql;
  D q = div_dd_f64(add_f64(c, c), 0.0lf, d, dl, ql);
  D lo;
  D hi = log1p_dd_f64(q, ql, lo);
  D r = select_f64(ok, multiply_f64(0.5lf, add_f64(hi, lo)), select_f64(tiny, m, inf_f64()));
  return select_f64(compare_le_f64(m, 1.0lf), copysign_f64(r, x), nan_f64());
}
// 0: y is no integer; 1: an odd integer; 2: an even one (every number of 2^53 or more).
FN int integer_kind_f64(f64_t y) {
  D m = magnitude_f64(y);
  D h = multiply_f64(0.5lf, m);
  bool whole = compare_eq_f64(floor_plain_f64(m), m);
  bool even = compare_eq_f64(floor_plain_f64(h), h);
  return select_i32(compare_ge_f64(m, 9007199254740992.0lf), 2, select_i32(whole, even ? 2 : 1, 0));
}
// |x|^y for finite x other than 0 and finite y: e^(y log|x|) with the logarithm to 2^-64. <= 1 ulp.
FN D power_magnitude_f64(f64_t x, f64_t y) {
  int k;
  D f = log_split_f64(x, k);
  D ll;
  D l = log_precise_f64(f, 0.0lf, k, ll);
  // |y| beyond 2^66 sends every |x| but 1 to 0 or infinity, and 2^-64 sends all to 1.
  D m = magnitude_f64(y);
  D c = copysign_f64(select_f64(compare_gt_f64(m, 7.378697629483821e19lf), 7.378697629483821e19lf, compare_lt_f64(m,
      5.421010862427522e-20lf) ? 0.0lf : m), y);
  D pl;
  D p = mul_dd_f64(c, 0.0lf, l, ll, pl);
  bool outside = compare_gt_f64(magnitude_f64(p), 800.0lf);
  D rl;
  int e;
  D r = reduce_ln2_f64(select_f64(outside, copysign_f64(800.0lf, p), p), outside ? 0.0lf : pl, e, rl);
  D ql;
  D q = expm1_reduced_f64(r, rl, ql);
  D d;
  D s = fast_two_sum_f64(1.0lf, q, d);
  return scale_f64(s, add_f64(d, ql), e);
}
// C99 Annex F's special values: 1 for y = 0 and for x = 1, and for x = -1 with infinite y. <= 1 ulp.
FN D power_f64(f64_t x, f64_t y) {
  D m = magnitude_f64(x);
  int kind = integer_kind_f64(y);
  bool regular = and_pred(and_pred(compare_gt_f64(m, 0.0lf), is_finite_f64(x)), is_finite_f64(y));
  D r = power_magnitude_f64(regular ? m : 1.0lf, regular ? y : 0.0lf);
  // 0, infinity and infinite y: towards 0 or infinity.
  bool grows = select_pred(is_inf_f64(y), compare_gt_f64(m, 1.0lf) != compare_lt_f64(y, 0.0lf), compare_gt_f64(m,
      1.0lf) == compare_gt_f64(y, 0.0lf));
  D limit = select_f64(and_pred(is_inf_f64(y), compare_eq_f64(m, 1.0lf)), 1.0lf, select_f64(grows, inf_f64(), 0.0lf));
  D v = regular ? r : limit;
  D sign = select_f64(and_pred(kind == 1, is_negative_f64(x)), negate_f64(v), v);
  bool nan = or_pred(or_pred(is_nan_f64(x), is_nan_f64(y)),
                     and_pred(and_pred(compare_lt_f64(x, 0.0lf), is_finite_f64(x)) && kind == 0, is_finite_f64(y)));
  bool one = or_pred(compare_eq_f64(y, 0.0lf), compare_eq_f64(x, 1.0lf));
  return select_f64(one, 1.0lf, select_f64(nan, nan_f64(), sign));
}
