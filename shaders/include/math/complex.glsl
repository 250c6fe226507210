// Complex functions, written once and included by c64.glsl and c128.glsl, which say what these macros are:
//   COMPLEX the type, REAL and PART its components' type (of locals and results, of parameters), L(1.5) a literal
//   RE(name) a function of the components, CX(name) of complex numbers
// Bounds are per component unless said otherwise; special values are C99 Annex G's but for the product, which is the
// plain one, as in XLA. Formulas: Kahan, "Branch cuts for complex elementary functions". In two numbers means
// unevaluated sums of two.

FN COMPLEX CX(select)(bool condition, COMPLEX a, COMPLEX b) {
  return RE(complex)(RE(select)(condition, a.x, b.x), RE(select)(condition, a.y, b.y));
}
FN REAL CX(real)(COMPLEX a) {
  return a.x;
}
FN REAL CX(imag)(COMPLEX a) {
  return a.y;
}
FN COMPLEX CX(conjugate)(COMPLEX a) {
  return RE(complex)(a.x, RE(negate)(a.y));
}
FN COMPLEX CX(swap)(COMPLEX a) {
  return RE(complex)(a.y, a.x);
}
FN bool CX(is_zero)(COMPLEX a) {
  return and_pred(RE(is_zero)(a.x), RE(is_zero)(a.y));
}
FN bool CX(has_inf)(COMPLEX a) {
  return or_pred(RE(is_inf)(a.x), RE(is_inf)(a.y));
}
FN bool CX(has_nan)(COMPLEX a) {
  return or_pred(RE(is_nan)(a.x), RE(is_nan)(a.y));
}
FN bool CX(is_finite)(COMPLEX a) {
  return and_pred(RE(is_finite)(a.x), RE(is_finite)(a.y));
}
FN bool CX(compare_eq)(COMPLEX a, COMPLEX b) {
  return and_pred(RE(compare_eq)(a.x, b.x), RE(compare_eq)(a.y, b.y));
}
FN bool CX(compare_ne)(COMPLEX a, COMPLEX b) {
  return !and_pred(RE(compare_eq)(a.x, b.x), RE(compare_eq)(a.y, b.y));
}
FN COMPLEX CX(add)(COMPLEX a, COMPLEX b) {
  REAL re = RE(add)(a.x, b.x);
  REAL im = RE(add)(a.y, b.y);
  return RE(complex)(re, im);
}
FN COMPLEX CX(subtract)(COMPLEX a, COMPLEX b) {
  REAL re = RE(subtract)(a.x, b.x);
  REAL im = RE(subtract)(a.y, b.y);
  return RE(complex)(re, im);
}
FN COMPLEX CX(negate)(COMPLEX a) {
  return RE(complex)(RE(negate)(a.x), RE(negate)(a.y));
}
// Plain products: each component within 1.5 UNIT (|a.x b.x| + |a.y b.y|), likewise crosswise.
FN COMPLEX CX(multiply)(COMPLEX a, COMPLEX b) {
  REAL re = RE(subtract)(RE(multiply)(a.x, b.x), RE(multiply)(a.y, b.y));
  REAL im = RE(add)(RE(multiply)(a.x, b.y), RE(multiply)(a.y, b.x));
  return RE(complex)(re, im);
}
// |a|. <= 1 ulp.
FN REAL CX(abs)(COMPLEX a) {
  return RE(hypot)(a.x, a.y);
}
// a.x b.x + s a.y b.y = result + lo to about 2^-102 (f32: 2^-45) of the larger product.
FN REAL RE(dot_dd)(PART ax, PART bx, PART ay, PART by, OUT(PART) lo) {
  REAL pl;
  REAL p = RE(two_prod)(ax, bx, pl);
  REAL ql;
  REAL q = RE(two_prod)(ay, by, ql);
  return RE(add_dd)(p, pl, q, ql, lo);
}
// The exponent of the larger component; 0 for 0 and where a component is not finite.
FN int CX(exponent)(COMPLEX a) {
  REAL x = RE(magnitude)(a.x);
  REAL y = RE(magnitude)(a.y);
  REAL m = RE(select)(RE(compare_gt)(x, y), x, y);
  bool zero = RE(is_zero)(m);
  int k;
  RE(frexp)(zero ? L(1.0) : m, k);
  return CX(is_finite)(a) ? k : 0;
}
// x 2^k, rounded once; x itself where it is 0, infinite or NaN.
FN REAL RE(shift)(PART x, int k) {
  bool ok = and_pred(RE(is_finite)(x), !RE(is_zero)(x));
  int e;
  REAL m = RE(frexp)(ok ? x : L(1.0), e);
  REAL r = RE(scale)(m, L(0.0), e + k);
  return RE(copysign)(ok ? r : RE(magnitude)(x), x);
}
// 1 or -1 of an infinity, else 0 of x's sign; not of a NaN's, which drivers differ on.
FN REAL RE(infinite_sign)(PART x) {
  return RE(copysign)(RE(is_inf)(x) ? L(1.0) : L(0.0), RE(is_nan)(x) ? L(0.0) : x);
}
// a / b where b is 0 or something is infinite or NaN: C99's rules.
FN COMPLEX CX(divide_special)(COMPLEX a, COMPLEX b) {
  REAL inf = RE(inf)();
  REAL s = RE(copysign)(inf, b.x);
  COMPLEX by_zero = RE(complex)(RE(multiply)(s, a.x), RE(multiply)(s, a.y));
  REAL ax = RE(infinite_sign)(a.x);
  REAL ay = RE(infinite_sign)(a.y);
  // An infinity that the plain formula finds stays; where it finds none, the infinite components count alone. A finite
  // component is as good as 0 beside an infinite one, and overflows with no divisor.
  REAL gx = RE(is_finite)(a.x) ? RE(copysign)(L(0.0), a.x) : a.x;
  REAL gy = RE(is_finite)(a.y) ? RE(copysign)(L(0.0), a.y) : a.y;
  COMPLEX plain = RE(complex)(RE(add)(RE(multiply)(gx, b.x), RE(multiply)(gy, b.y)),
                              RE(subtract)(RE(multiply)(gy, b.x), RE(multiply)(gx, b.y)));
  COMPLEX infinities = RE(complex)(RE(multiply)(inf, RE(add)(RE(multiply)(ax, b.x), RE(multiply)(ay, b.y))),
                                   RE(multiply)(inf, RE(subtract)(RE(multiply)(ay, b.x), RE(multiply)(ax, b.y))));
  COMPLEX grown = CX(select)(and_pred(RE(is_nan)(plain.x), RE(is_nan)(plain.y)), infinities, plain);
  REAL bx = RE(infinite_sign)(b.x);
  REAL by = RE(infinite_sign)(b.y);
  // Not as products with 0: drivers take those for 0 whatever the sign.
  COMPLEX shrunk = RE(complex)(RE(copysign)(L(0.0), RE(add)(RE(multiply)(a.x, bx), RE(multiply)(a.y, by))),
                               RE(copysign)(L(0.0), RE(subtract)(RE(multiply)(a.y, bx), RE(multiply)(a.x, by))));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  bool zero = and_pred(CX(is_zero)(b), !and_pred(RE(is_nan)(a.x), RE(is_nan)(a.y)));
  return CX(select)(zero, by_zero,
                    CX(select)(and_pred(CX(has_inf)(a), CX(is_finite)(b)), grown,
                               and_pred(CX(has_inf)(b), CX(is_finite)(a)) ? shrunk : nan));
}
// div_dd of a numerator that may be tiny: it is brought to the middle of the range, for which div_dd holds, and back.
FN REAL RE(div_tiny_dd)(PART nh, PART nl, PART dh, PART dl, OUT(PART) lo) {
  bool tiny = RE(less)(RE(magnitude)(nh), SMALL);
  REAL up = RE(select)(tiny, RE(pow2)(88), L(1.0));
  REAL down = RE(select)(tiny, RE(pow2)(-88), L(1.0));
  REAL ql;
  REAL q = RE(div_dd)(RE(multiply)(nh, up), RE(multiply)(nl, up), dh, dl, ql);
  lo = RE(multiply)(ql, down);
  return RE(multiply)(q, down);
}
// a conj(b) / |b|^2, both scaled by powers of two, sums in two numbers. <= 1 ulp but where the products cancel to 2^-48
// (f32: 2^-20) of their size, and there CANCEL of the quotient.
FN COMPLEX CX(divide)(COMPLEX a, COMPLEX b) {
  bool regular = and_pred(and_pred(CX(is_finite)(a), CX(is_finite)(b)), !CX(is_zero)(b));
  int ka = CX(exponent)(a);
  int kb = CX(exponent)(b);
  REAL ax = RE(shift)(a.x, -ka);
  REAL ay = RE(shift)(a.y, -ka);
  REAL bx = RE(shift)(RE(select)(regular, b.x, L(1.0)), select_i32(regular, -kb, 0));
  REAL by = RE(shift)(RE(select)(regular, b.y, L(0.0)), select_i32(regular, -kb, 0));
  REAL dl;
  REAL d = RE(dot_dd)(bx, bx, by, by, dl);
  REAL rl;
  REAL r = RE(dot_dd)(ax, bx, ay, by, rl);
  REAL il;
  REAL i = RE(dot_dd)(ay, bx, RE(negate)(ax), by, il);
  REAL ul;
  REAL u = RE(div_tiny_dd)(r, rl, d, dl, ul);
  REAL vl;
  REAL v = RE(div_tiny_dd)(i, il, d, dl, vl);
  COMPLEX q = RE(complex)(RE(scale)(u, ul, ka - kb), RE(scale)(v, vl, ka - kb));
  return CX(select)(regular, q, CX(divide_special)(a, b));
}
// (ah + al) (bh + bl) 2^k rounded once; a tiny b counts as exact and is brought to size first, so that nothing falls
// below the least number on the way.
FN REAL RE(product)(PART ah, PART al, PART bh, PART bl, int k) {
  bool tiny = and_pred(RE(less)(RE(magnitude)(bh), SMALL), !RE(is_zero)(bh));
  int e;
  REAL m = RE(flipsign)(RE(frexp)(tiny ? bh : L(1.0), e), bh);
  REAL lo;
  REAL hi = RE(mul_dd)(ah, al, tiny ? m : bh, tiny ? L(0.0) : bl, lo);
  return RE(scale)(hi, lo, k + (tiny ? e : 0));
}
// x (h + l) 2^k rounded once, for any finite x.
FN REAL RE(scaled_product)(PART x, PART h, PART l, int k) {
  bool zero = RE(is_zero)(x);
  int e;
  REAL m = RE(frexp)(zero ? L(1.0) : x, e);
  REAL r = RE(flipsign)(RE(product)(m, L(0.0), h, l, k + e), x);
  return RE(select)(zero, RE(copysign)(L(0.0), RE(flipsign)(x, h)), r);
}
// a / |a|, 0 without signs for 0; beside an infinity a finite component gives 0. <= 1 ulp.
FN COMPLEX CX(sign)(COMPLEX a) {
  bool ok = and_pred(CX(is_finite)(a), !CX(is_zero)(a));
  int k = CX(exponent)(a);
  REAL x = RE(shift)(RE(select)(ok, a.x, L(1.0)), select_i32(ok, -k, 0));
  REAL y = RE(shift)(RE(select)(ok, a.y, L(0.0)), select_i32(ok, -k, 0));
  REAL pl;
  REAL p = RE(dot_dd)(x, x, y, y, pl);
  REAL hl;
  REAL h = RE(sqrt_dd)(p, pl, hl);
  REAL rl;
  REAL r = RE(div_dd)(L(1.0), L(0.0), h, hl, rl);
  REAL re = RE(scaled_product)(RE(select)(ok, a.x, L(1.0)), r, rl, -k);
  REAL im = RE(scaled_product)(RE(select)(ok, a.y, L(0.0)), r, rl, -k);
  bool inf = CX(has_inf)(a);
  COMPLEX special = RE(complex)(RE(select)(inf && RE(is_finite)(a.x), RE(copysign)(L(0.0), a.x), RE(nan)()),
      RE(select)(inf && RE(is_finite)(a.y), RE(copysign)(L(0.0), a.y), RE(nan)()));
  return CX(select)(ok, RE(complex)(re, im), CX(is_zero)(a) ? RE(complex)(L(0.0), L(0.0)) : special);
}
// sin and cos of x + xl in two numbers each, for finite x and xl.
FN void RE(sin_cos)(PART x, PART xl, OUT(PART) sh, OUT(PART) sl, OUT(PART) ch, OUT(PART) cl) {
  int q;
  REAL t;
  REAL u = RE(reduce_pi)(x, q, t);
  REAL v = xl;
  if (RE(less)(L(0.125), RE(magnitude)(xl))) {  // no small angle: reduced as well, and then their sum
    int p;
    REAL vt;
    v = RE(reduce_pi)(xl, p, vt);
    REAL e;
    REAL sum = RE(two_sum)(u, v, e);
    int n;
    REAL nt;
    u = RE(reduce_pi)(sum, n, nt);
    v = RE(add)(e, vt);
    t = RE(add)(t, nt);
    q = q + p + n;
  }
  REAL rl;
  REAL r = RE(two_sum)(u, RE(add)(t, v), rl);
  REAL al;
  REAL ah = RE(sin_precise)(r, rl, al);
  REAL bl;
  REAL b = RE(cos_reduced)(r, rl, bl);
  REAL bt;
  REAL bh = RE(fast_two_sum)(b, bl, bt);
  bool odd = (q & 1) != 0;
  REAL s = (q & 2) != 0 ? -L(1.0) : L(1.0);
  REAL c = ((q + 1) & 2) != 0 ? -L(1.0) : L(1.0);
  sh = RE(flipsign)(odd ? bh : ah, s);
  sl = RE(flipsign)(odd ? bt : al, s);
  ch = RE(flipsign)(odd ? ah : bh, c);
  cl = RE(flipsign)(odd ? al : bt, c);
}
// sinh and cosh of |x| as (s, c) 2^(k - 1) in two numbers each; |x| beyond EXPONENT_LIMIT counts as that.
FN void RE(sinh_cosh)(PART x, OUT(int) k, OUT(PART) sh, OUT(PART) sl, OUT(PART) ch, OUT(PART) cl) {
  REAL m = RE(magnitude)(x);
  REAL ah;
  REAL al;
  REAL lo;
  REAL hi = RE(expm1_parts)(RE(less)(m, EXPONENT_LIMIT) ? m : EXPONENT_LIMIT, k, ah, al, lo);
  REAL ql;
  REAL q = RE(div_dd)(hi, lo, ah, al, ql);
  REAL u = RE(select)(k > 60, L(0.0), RE(pow2)(-k));
  sh = RE(add_dd)(hi, lo, RE(multiply)(q, u), RE(multiply)(ql, u), sl);
  REAL rl;
  REAL r = RE(div_dd)(RE(multiply)(u, u), L(0.0), ah, al, rl);
  ch = RE(add_dd)(ah, al, r, rl, cl);
}
// e^(x + xl) (cos y, sin y) for the sine and cosine of y + yl (of anything where y is not finite). y = 0 stays.
FN COMPLEX CX(turned)(PART x, PART xl, PART y, PART sh, PART sl, PART ch, PART cl) {
  bool turn = RE(is_finite)(y);
  bool real = RE(is_zero)(y);
  int k;
  REAL el;
  // Twice the range of e^x alone, since a small sine brings the product back.
  REAL eh = RE(exp_parts)(RE(is_nan)(x) ? L(0.0) : x, xl, k, el);
  REAL re = RE(product)(eh, el, ch, cl, k);
  REAL im = RE(product)(eh, el, sh, sl, k);
  bool left = RE(is_negative)(x);
  REAL size = RE(select)(left, L(0.0), RE(inf)());
  COMPLEX limit = RE(complex)(RE(select)(turn, RE(copysign)(size, ch), size), RE(select)(turn, RE(copysign)(size, sh),
      RE(select)(left, size, RE(nan)())));
  bool infinite = RE(is_inf)(x);
  bool bad = or_pred(RE(is_nan)(x), !infinite && !turn);
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  COMPLEX r = CX(select)(bad, nan, CX(select)(infinite, limit, RE(complex)(re, im)));
  return RE(complex)(r.x, RE(select)(real, y, r.y));
}
// <= 1 ulp.
FN COMPLEX CX(exponential)(COMPLEX a) {
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(RE(select)(RE(is_finite)(a.y), a.y, L(1.0)), L(0.0), sh, sl, ch, cl);
  return CX(turned)(a.x, L(0.0), a.y, sh, sl, ch, cl);
}
// cos(x) - 1 = result + lo for finite x, relative 2^-58 (f32: 2^-29).
FN REAL RE(cosm1)(PART x, OUT(PART) lo) {
  int q;
  REAL rl;
  REAL r = RE(reduce_pi)(x, q, rl);
  REAL e;
  REAL z = RE(two_prod)(r, r, e);
  REAL small_lo = RE(subtract)(RE(subtract)(RE(multiply)(RE(multiply)(z, z), RE(cos_tail)(z)), RE(multiply)(r, rl)),
      RE(multiply)(L(0.5), e));
  REAL cl;
  REAL c = RE(circular)(r, rl, q + 1, cl);
  REAL d;
  REAL s = RE(two_sum)(c, -L(1.0), d);
  bool small = (q & 3) == 0;
  REAL h = RE(select)(small, RE(multiply)(-L(0.5), z), s);
  REAL l = RE(select)(small, small_lo, RE(add)(d, cl));
  return RE(fast_two_sum)(h, l, lo);
}
// re: expm1(x) cos y + (cos y - 1), both in two numbers: <= 1 ulp, or LOST of the larger term where they cancel; im as
// exp's.
FN COMPLEX CX(exponential_minus_one)(COMPLEX a) {
  bool small = and_pred(CX(is_finite)(a), RE(less)(a.x, EXPM1_LIMIT));
  REAL x = RE(select)(small, RE(select)(RE(less)(a.x, -EXPM1_FLOOR), -EXPM1_FLOOR, a.x), L(1.0));
  REAL y = RE(select)(RE(is_finite)(a.y), a.y, L(1.0));
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(y, L(0.0), sh, sl, ch, cl);
  COMPLEX plain = CX(turned)(a.x, L(0.0), a.y, sh, sl, ch, cl);
  int k;
  REAL ah;
  REAL al;
  REAL lo;
  REAL hi = RE(expm1_parts)(x, k, ah, al, lo);
  REAL u = RE(pow2)(k);
  REAL pl;
  REAL p = RE(mul_dd)(RE(multiply)(hi, u), RE(multiply)(lo, u), ch, cl, pl);
  REAL ml;
  REAL m = RE(cosm1)(y, ml);
  REAL tl;
  REAL t = RE(add_dd)(p, pl, m, ml, tl);
  REAL re = RE(select)(small, RE(add)(t, tl), RE(subtract)(plain.x, L(1.0)));
  // Denormals have no sum in two numbers.
  bool tiny = and_pred(RE(less)(RE(magnitude)(a.x), SMALL), RE(is_zero)(a.y));
  return RE(complex)(RE(select)(tiny, a.x, re), plain.y);
}
// log|a| + extra ln 2 = log_reduced(result, gl, e) / 2, log_precise likewise: from the sum of the squares, scaled.
FN REAL RE(log_squares)(PART x, PART y, int extra, OUT(int) e, OUT(PART) gl) {
  int k = CX(exponent)(RE(complex)(x, y));
  int s = or_pred(k == 0, k == -1) ? 0 : k;
  REAL u = RE(shift)(x, -s);
  REAL v = RE(shift)(y, -s);
  REAL pl;
  REAL p = RE(dot_dd)(u, u, v, v, pl);
  int n;
  REAL f = RE(log_split)(p, n);
  e = n + 2 * (s + extra);
  return RE(two_sum)(f, RE(multiply)(pl, RE(pow2)(-n)), gl);
}
// Whether log(1 + g) + e ln 2 is g itself, whose quotient by 2 + g would be out of the middle of the range.
FN bool RE(is_own_log)(PART g, int e) {
  return and_pred(e == 0, RE(less)(RE(magnitude)(g), SMALL));
}
// log|a| + extra ln 2 = result + lo; next to |a| = 1 within CANCEL absolute.
FN REAL RE(log_abs)(PART x, PART y, int extra, OUT(PART) lo) {
  int e;
  REAL gl;
  REAL g = RE(log_squares)(x, y, extra, e, gl);
  REAL l;
  REAL h = RE(log_reduced)(g, gl, e, l);
  bool own = RE(is_own_log)(g, e);
  lo = RE(multiply)(L(0.5), RE(select)(own, gl, l));
  return RE(multiply)(L(0.5), RE(select)(own, g, h));
}
// (log|a|, arg a). <= 1 ulp; re within CANCEL absolute where |a| is next to 1.
FN COMPLEX CX(log)(COMPLEX a) {
  bool ok = and_pred(CX(is_finite)(a), !CX(is_zero)(a));
  REAL lo;
  REAL hi = RE(log_abs)(RE(select)(ok, a.x, L(2.0)), RE(select)(ok, a.y, L(0.0)), 0, lo);
  REAL r = RE(add)(hi, lo);
  REAL special = RE(select)(CX(has_inf)(a), RE(inf)(), RE(select)(CX(has_nan)(a), RE(nan)(), RE(negate)(RE(inf)())));
  return RE(complex)(ok ? r : special, RE(atan2)(a.y, a.x));
}
// re: log1p(x (x + 2) + y^2) / 2 in two numbers up to |a| = LOG1P_LIMIT, then log(1 + a). <= 2 ulp, or CANCEL absolute
// where the sum cancels.
FN COMPLEX CX(log_plus_one)(COMPLEX a) {
  REAL x = a.x;
  REAL y = a.y;
  bool small = and_pred(RE(less)(RE(magnitude)(x), LOG1P_LIMIT), RE(less)(RE(magnitude)(y), LOG1P_LIMIT));
  REAL bl;
  REAL b = RE(two_sum)(small ? x : L(0.0), L(2.0), bl);
  REAL pl;
  REAL p = RE(mul_dd)(small ? x : L(0.0), L(0.0), b, bl, pl);
  REAL ql;
  REAL q = RE(two_prod)(small ? y : L(1.0), small ? y : L(1.0), ql);
  REAL tl;
  REAL t = RE(add_dd)(p, pl, q, ql, tl);
  bool tiny = RE(less)(RE(magnitude)(t), LOG1P_TINY);
  bool near = and_pred(small, RE(more)(t, -L(1.0)));
  // Far out log|1 + a| on the same way.
  REAL x1 = RE(add)(L(1.0), x);
  bool ok = and_pred(CX(is_finite)(a), !and_pred(RE(is_zero)(x1), RE(is_zero)(y)));
  REAL lo;
  REAL hi = RE(log1p_dd)(tiny || !near ? L(1.0) : t, tiny || !near ? L(0.0) : tl, lo);
  REAL r = RE(multiply)(L(0.5), RE(select)(tiny, t, RE(add)(hi, lo)));
  REAL fl;
  REAL f = RE(log_abs)(ok && !near ? x1 : L(1.0), ok && !near ? y : L(0.0), 0, fl);
  REAL special = RE(select)(CX(has_inf)(a), RE(inf)(), RE(select)(CX(has_nan)(a), RE(nan)(), RE(negate)(RE(inf)())));
  REAL far = RE(select)(ok, RE(add)(f, fl), special);
  return RE(complex)(near ? r : far, RE(atan2)(y, x1));
}
// With u = e^-|x|: (1 + u cos y, u sin y) / |1 + e^(-|x| + i y)|^2, and u (u + cos y) for re where x < 0. <= 1 ulp but
// where the terms of re or of the divisor (next to the poles) cancel, and there LOST of |result| / |1 + e^(-|x| + i
// y)|^2.
FN COMPLEX CX(logistic)(COMPLEX a) {
  bool ok = CX(is_finite)(a);
  bool turn = RE(is_finite)(a.y);
  bool left = RE(is_negative)(a.x);
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(RE(select)(turn, a.y, L(0.0)), L(0.0), sh, sl, ch, cl);
  int k;
  REAL el;
  REAL eh = RE(exp_parts)(RE(select)(ok, RE(negate)(RE(magnitude)(a.x)), L(0.0)), L(0.0), k, el);
  REAL s = RE(select)(k < -100, L(0.0), RE(pow2)(k));
  REAL uh = RE(multiply)(eh, s);
  REAL ul = RE(multiply)(el, s);
  REAL pl;
  REAL p = RE(mul_dd)(uh, ul, ch, cl, pl);
  REAL nl;
  REAL n = RE(add_dd)(L(1.0), L(0.0), p, pl, nl);
  REAL ml;
  REAL m = RE(mul_dd)(uh, ul, sh, sl, ml);
  REAL ql;
  REAL q = RE(mul_dd)(n, nl, n, nl, ql);
  REAL rl;
  REAL r = RE(mul_dd)(m, ml, m, ml, rl);
  REAL dl;
  REAL d = RE(add_dd)(q, ql, r, rl, dl);
  REAL wl;
  REAL w = RE(add_dd)(ch, cl, uh, ul, wl);
  REAL vl;
  REAL v = RE(mul_dd)(eh, el, left ? w : L(1.0), left ? wl : L(0.0), vl);
  REAL il;
  REAL i = RE(div_dd)(eh, el, d, dl, il);
  REAL xl;
  REAL x = RE(div_dd)(left ? v : n, left ? vl : nl, d, dl, xl);
  REAL re = RE(scale)(x, xl, left ? k : 0);
  REAL im = RE(product)(i, il, sh, sl, k);
  REAL none = RE(select)(RE(is_zero)(a.y), a.y, RE(copysign)(L(0.0), sh));
  COMPLEX far = RE(complex)(RE(select)(left, RE(copysign)(L(0.0), ch), L(1.0)), turn ? none : L(0.0));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  return CX(select)(ok, RE(complex)(re, RE(select)(RE(is_zero)(a.y), a.y, im)), RE(is_inf)(a.x) ? far : nan);
}
// sqrt(|x + i y|) for finite numbers other than 0: (h + hl) 2^k = |x + i y|, k even, and t + tl = sqrt((|x| + |x + i
// y|) 2^-k / 2).
FN REAL RE(root_parts)(PART x, PART y, OUT(int) k, OUT(PART) tl, OUT(PART) h, OUT(PART) hl) {
  int e = CX(exponent)(RE(complex)(x, y));
  k = e - (e & 1);
  REAL u = RE(shift)(RE(magnitude)(x), -k);
  REAL v = RE(shift)(RE(magnitude)(y), -k);
  REAL pl;
  REAL p = RE(dot_dd)(u, u, v, v, pl);
  h = RE(sqrt_dd)(p, pl, hl);
  REAL sl;
  REAL s = RE(add_dd)(h, hl, u, L(0.0), sl);
  return RE(sqrt_dd)(RE(multiply)(L(0.5), s), RE(multiply)(L(0.5), sl), tl);
}
// sqrt((|x| + |a|) / 2) is one component and |y| over twice that the other. <= 1 ulp.
FN COMPLEX CX(sqrt)(COMPLEX a) {
  bool ok = and_pred(CX(is_finite)(a), !CX(is_zero)(a));
  int k;
  REAL tl;
  REAL h;
  REAL hl;
  REAL t = RE(root_parts)(RE(select)(ok, a.x, L(1.0)), RE(select)(ok, a.y, L(0.0)), k, tl, h, hl);
  REAL big = RE(scale)(t, tl, k >> 1);
  bool real = RE(is_zero)(a.y);
  int ky;
  REAL fy = RE(frexp)(RE(select)(ok && !real, a.y, L(1.0)), ky);
  REAL ql;
  REAL q = RE(div_dd)(fy, L(0.0), RE(add)(t, t), RE(add)(tl, tl), ql);
  REAL small = RE(select)(real, L(0.0), RE(scale)(q, ql, ky - (k >> 1)));
  bool left = RE(is_negative)(a.x);
  COMPLEX r = RE(complex)(left ? small : big, RE(copysign)(left ? big : small, a.y));
  COMPLEX zero = RE(complex)(L(0.0), a.y);
  // Not the sign of a NaN, which drivers differ on.
  COMPLEX inf_left = RE(complex)(RE(select)(RE(is_nan)(a.y), a.y, L(0.0)),
                                 RE(copysign)(RE(inf)(), RE(select)(RE(is_nan)(a.y), L(1.0), a.y)));
  COMPLEX inf_right = RE(complex)(RE(inf)(), RE(select)(RE(is_nan)(a.y), a.y, RE(copysign)(L(0.0), a.y)));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  COMPLEX special = CX(select)(RE(is_inf)(a.y), RE(complex)(RE(inf)(), a.y), CX(select)(RE(is_inf)(a.x), left ? inf_left
      : inf_right, nan));
  return CX(select)(ok, r, CX(is_zero)(a) ? zero : special);
}
// The conjugate of sqrt(a) over |a|. <= 1 ulp.
FN COMPLEX CX(rsqrt)(COMPLEX a) {
  bool ok = and_pred(CX(is_finite)(a), !CX(is_zero)(a));
  int k;
  REAL tl;
  REAL h;
  REAL hl;
  REAL t = RE(root_parts)(RE(select)(ok, a.x, L(1.0)), RE(select)(ok, a.y, L(0.0)), k, tl, h, hl);
  REAL bl;
  REAL b = RE(div_dd)(t, tl, h, hl, bl);
  REAL big = RE(scale)(b, bl, -(k >> 1));
  bool real = RE(is_zero)(a.y);
  int ky;
  REAL fy = RE(frexp)(RE(select)(ok && !real, a.y, L(1.0)), ky);
  REAL pl;
  REAL p = RE(mul_dd)(h, hl, RE(add)(t, t), RE(add)(tl, tl), pl);
  REAL ql;
  REAL q = RE(div_dd)(fy, L(0.0), p, pl, ql);
  REAL small = RE(select)(real, L(0.0), RE(scale)(q, ql, ky - (k >> 1) - k));
  bool left = RE(is_negative)(a.x);
  REAL y = RE(negate)(a.y);
  COMPLEX r = RE(complex)(left ? small : big, RE(copysign)(left ? big : small, y));
  // What 1 / sqrt(a) gives: infinity and no angle for 0, 0 for infinity.
  COMPLEX inf = RE(complex)(RE(inf)(), RE(nan)());
  COMPLEX zero = RE(complex)(L(0.0), RE(copysign)(L(0.0), RE(is_nan)(y) ? L(0.0) : y));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  return CX(select)(ok, r, CX(select)(CX(is_zero)(a), inf, CX(has_inf)(a) ? zero : nan));
}
// atan((nh + nl) / (dh + dl)) = result + lo for n, d >= 0 of moderate size, not both 0: as atan_quotient, with the
// cubic term in two numbers as well.
FN REAL RE(atan_precise)(PART n, PART d, OUT(PART) lo) {
  bool swap = RE(more)(n, d);
  REAL a = swap ? d : n;
  REAL b = swap ? n : d;
  bool turn = RE(more)(a, RE(multiply)(L(0.41421356237309503), b));
  REAL ml;
  REAL mh = RE(two_sum)(a, RE(negate)(b), ml);
  REAL pl;
  REAL ph = RE(two_sum)(a, b, pl);
  REAL ql;
  REAL q = RE(div_dd)(turn ? mh : a, turn ? ml : L(0.0), turn ? ph : b, turn ? pl : L(0.0), ql);
  REAL zl;
  REAL z = RE(mul_dd)(q, ql, q, ql, zl);
  REAL cl;
  REAL c = RE(mul_dd)(z, zl, q, ql, cl);
  REAL tl;
  REAL t = RE(mul_dd)(c, cl, -L(0.3333333333333333), RE(add)(RE(atan_rest)(z), THIRD_LOW), tl);
  REAL rl;
  REAL r = RE(add_dd)(q, ql, t, tl, rl);
  // swap: pi/2 - (base + q); the base is 0 or pi/4.
  REAL low_of_quarter = RE(multiply)(L(0.25), PI_LOW);
  REAL low_of_half = RE(multiply)(L(0.5), PI_LOW);
  REAL kh = RE(select)(turn, L(0.7853981633974483), swap ? L(1.5707963267948966) : L(0.0));
  REAL kl = RE(select)(turn, low_of_quarter, swap ? low_of_half : L(0.0));
  REAL e;
  REAL h = RE(two_sum)(kh, RE(select)(swap, RE(negate)(r), r), e);
  return RE(fast_two_sum)(h, RE(add)(e, RE(add)(kl, RE(select)(swap, RE(negate)(rl), rl))), lo);
}
// The angle of a finite a other than 0 as result + lo.
FN REAL CX(angle)(COMPLEX a, OUT(PART) lo) {
  bool y_zero = RE(is_zero)(a.y);
  bool x_zero = RE(is_zero)(a.x);
  int ky;
  REAL fy = RE(frexp)(RE(select)(y_zero, L(1.0), a.y), ky);
  int kx;
  REAL fx = RE(frexp)(RE(select)(x_zero, L(1.0), a.x), kx);
  int d = ky - kx;
  int g = select_i32(d > 70, 70, d < -70 ? -70 : d);
  REAL n = RE(select)(y_zero, L(0.0), RE(select)(x_zero, L(1.0), RE(multiply)(fy, RE(pow2)(g))));
  REAL m = RE(select)(x_zero, L(0.0), y_zero ? L(1.0) : fx);
  REAL l;
  REAL h = RE(atan_precise)(n, m, l);
  bool left = RE(is_negative)(a.x);
  REAL e;
  REAL t = RE(two_sum)(L(3.141592653589793), RE(negate)(h), e);
  REAL u = RE(add)(e, RE(subtract)(PI_LOW, l));
  bool small = d < -70 && !left && !y_zero && !x_zero;
  REAL s = RE(scale)(RE(divide)(fy, fx), L(0.0), d);
  lo = RE(flipsign)(RE(select)(small, L(0.0), left ? u : l), a.y);
  return RE(flipsign)(RE(select)(small, s, left ? t : h), a.y);
}
// e^(w log z), the logarithm in two numbers: within POWER of |result|, and a component within as much of |result|, for
// |w log z| < 64; beyond, it grows in proportion. 0^0 = 1, 0^w = 0 for Re w > 0.
FN COMPLEX CX(power)(COMPLEX z, COMPLEX w) {
  bool zero = CX(is_zero)(z);
  bool ok = CX(is_finite)(z) && !zero;
  bool inf = CX(has_inf)(z);
  COMPLEX one = RE(complex)(L(1.0), L(0.0));
  COMPLEX far = RE(complex)(RE(infinite_sign)(z.x), RE(infinite_sign)(z.y));
  COMPLEX u = CX(select)(ok, z, inf ? far : one);
  int e;
  REAL gl;
  REAL g = RE(log_squares)(u.x, u.y, 0, e, gl);
  REAL pl;
  REAL p = RE(log_precise)(g, gl, e, pl);
  bool own = RE(is_own_log)(g, e);
  REAL n = RE(select)(own, g, p);
  REAL nl = RE(select)(own, gl, pl);
  REAL special = RE(select)(inf, RE(inf)(), RE(nan)());
  REAL l = RE(select)(ok, RE(multiply)(L(0.5), n), special);
  REAL ll = RE(select)(ok, RE(multiply)(L(0.5), nl), L(0.0));
  REAL tl;
  REAL t = CX(angle)(u, tl);
  t = RE(select)(inf || ok, t, RE(nan)());
  REAL al;
  REAL a = RE(mul_dd)(w.x, L(0.0), l, ll, al);
  REAL bl;
  REAL b = RE(mul_dd)(w.y, L(0.0), t, tl, bl);
  REAL rl;
  REAL r = RE(add_dd)(a, al, RE(negate)(b), RE(negate)(bl), rl);
  REAL cl;
  REAL c = RE(mul_dd)(w.x, L(0.0), t, tl, cl);
  REAL dl;
  REAL d = RE(mul_dd)(w.y, L(0.0), l, ll, dl);
  REAL il;
  REAL i = RE(add_dd)(c, cl, d, dl, il);
  bool moderate = and_pred(RE(less)(RE(magnitude)(w.x), LARGE), RE(less)(RE(magnitude)(w.y), LARGE));
  bool calm = and_pred(and_pred(moderate, RE(is_finite)(r)), RE(is_finite)(i));
  // The sum of two products beyond the range has a sign, which a scaled one tells.
  // Beside an infinite logarithm an angle counts for nothing, but may overflow.
  COMPLEX whole = CX(multiply)(w, RE(complex)(l, RE(select)(inf, RE(multiply)(t, RE(pow2)(-64)), t)));
  bool scaled = and_pred(ok, !moderate);
  REAL down = RE(select)(scaled, RE(pow2)(-64), L(1.0));
  COMPLEX part = CX(multiply)(RE(complex)(RE(multiply)(w.x, down), RE(multiply)(w.y, down)), RE(complex)(l, t));
  int up = select_i32(scaled, 64, 0);
  bool keep_x = or_pred(!scaled, RE(is_finite)(whole.x));
  bool keep_y = or_pred(!scaled, RE(is_finite)(whole.y));
  COMPLEX plain = RE(complex)(RE(select)(keep_x, whole.x, RE(shift)(part.x, up)),
                              RE(select)(keep_y, whole.y, RE(shift)(part.y, up)));
  REAL y = RE(select)(calm, i, plain.y);
  // Without a phase, a size is 0 or infinite where it is out of range.
  REAL size = RE(exponential)(plain.x);
  bool beyond = and_pred(RE(is_inf)(y), or_pred(RE(is_inf)(size), RE(is_zero)(size)));
  REAL x = RE(select)(calm, r, RE(select)(beyond, RE(copysign)(RE(inf)(), plain.x), plain.x));
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl2;
  // Beyond EXPONENT_LIMIT the second number is no small exponent, and the size out of range.
  bool near = and_pred(calm, RE(less)(RE(magnitude)(x), EXPONENT_LIMIT));
  RE(sin_cos)(RE(is_finite)(y) ? y : L(1.0), calm ? il : L(0.0), sh, sl, ch, cl2);
  COMPLEX v = CX(turned)(x, near ? rl : L(0.0), y, sh, sl, ch, cl2);
  COMPLEX vanished = RE(complex)(L(0.0), L(0.0));
  COMPLEX grown = RE(complex)(RE(inf)(), RE(nan)());
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  COMPLEX of_zero = CX(select)(RE(is_zero)(w.x), nan, RE(is_negative)(w.x) ? grown : vanished);
  bool unknown = CX(has_nan)(z) || CX(has_nan)(w) || (zero && RE(is_inf)(w.y));
  return CX(select)(CX(is_zero)(w), one, CX(select)(unknown, nan, zero ? of_zero : v));
}
// What sinh (odd) and cosh give where a component is infinite or NaN, for the sine and cosine of a.y if that is finite.
FN COMPLEX CX(hyperbolic_special)(COMPLEX a, PART sh, PART ch, bool odd) {
  REAL x = a.x;
  REAL y = a.y;
  bool turn = RE(is_finite)(y);
  bool real = RE(is_zero)(y);
  REAL inf = RE(inf)();
  REAL by_cos = RE(copysign)(inf, ch);
  REAL by_sin = RE(copysign)(inf, sh);
  REAL re = RE(select)(odd, RE(flipsign)(by_cos, x), by_cos);
  REAL im = real ? y : by_sin;
  COMPLEX grown = RE(complex)(re, RE(select)(odd, im, RE(flipsign)(im, x)));
  COMPLEX spun = RE(complex)(odd ? x : inf, RE(nan)());
  COMPLEX still = RE(complex)(RE(select)(odd, x, RE(nan)()), RE(select)(odd, RE(nan)(), x));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(select)(real, y, RE(nan)()));
  return CX(select)(RE(is_inf)(x), turn ? grown : spun, RE(is_zero)(x) ? still : nan);
}
// sinh x cos y, cosh x sin y. <= 1 ulp.
FN COMPLEX CX(sinh)(COMPLEX a) {
  bool ok = CX(is_finite)(a);
  REAL x = RE(select)(ok, a.x, L(1.0));
  REAL y = RE(select)(RE(is_finite)(a.y), a.y, L(1.0));
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(y, L(0.0), sh, sl, ch, cl);
  int k;
  REAL hsh;
  REAL hsl;
  REAL hch;
  REAL hcl;
  RE(sinh_cosh)(x, k, hsh, hsl, hch, hcl);
  bool tiny_x = RE(less)(RE(magnitude)(x), TINY);
  bool tiny_y = RE(less)(RE(magnitude)(y), TINY);
  // sinh x = x where x is tiny.
  REAL re = RE(flipsign)(RE(product)(ch, cl, RE(select)(tiny_x, RE(magnitude)(x), hsh), tiny_x ? L(0.0) : hsl,
                                     select_i32(tiny_x, 0, k - 1)),
                         x);
  REAL im = RE(product)(hch, hcl, sh, sl, k - 1);
  bool plain_x = or_pred(RE(is_zero)(x), tiny_x && tiny_y);
  bool plain_y = or_pred(RE(is_zero)(y), tiny_x && tiny_y);
  REAL zero = RE(flipsign)(x, ch);
  COMPLEX r = RE(complex)(plain_x ? zero : re, plain_y ? y : im);
  return CX(select)(ok, r, CX(hyperbolic_special)(a, sh, ch, true));
}
// cosh x cos y, sinh x sin y. <= 1 ulp.
FN COMPLEX CX(cosh)(COMPLEX a) {
  bool ok = CX(is_finite)(a);
  REAL x = RE(select)(ok, a.x, L(1.0));
  REAL y = RE(select)(RE(is_finite)(a.y), a.y, L(1.0));
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(y, L(0.0), sh, sl, ch, cl);
  int k;
  REAL hsh;
  REAL hsl;
  REAL hch;
  REAL hcl;
  RE(sinh_cosh)(x, k, hsh, hsl, hch, hcl);
  bool tiny = RE(less)(RE(magnitude)(x), TINY);
  REAL re = RE(product)(hch, hcl, ch, cl, k - 1);
  REAL small = RE(scaled_product)(RE(magnitude)(x), sh, sl, 0);
  REAL im = RE(flipsign)(RE(select)(tiny, small, RE(product)(hsh, hsl, sh, sl, k - 1)), x);
  bool none = or_pred(RE(is_zero)(x), RE(is_zero)(y));
  REAL zero = RE(copysign)(L(0.0), RE(flipsign)(x, RE(is_zero)(y) ? y : sh));
  return CX(select)(ok, RE(complex)(re, none ? zero : im), CX(hyperbolic_special)(a, sh, ch, false));
}
// (sinh x cosh x + i sin y cos y) / (cos^2 y + sinh^2 x). <= 2 ulp.
FN COMPLEX CX(tanh)(COMPLEX a) {
  bool ok = CX(is_finite)(a);
  bool turn = RE(is_finite)(a.y);
  REAL x = RE(select)(ok, a.x, L(1.0));
  REAL y = RE(select)(turn, a.y, L(1.0));
  REAL sh;
  REAL sl;
  REAL ch;
  REAL cl;
  RE(sin_cos)(y, L(0.0), sh, sl, ch, cl);
  int k;
  REAL hsh;
  REAL hsl;
  REAL hch;
  REAL hcl;
  RE(sinh_cosh)(x, k, hsh, hsl, hch, hcl);
  bool tiny_x = RE(less)(RE(magnitude)(x), TINY);
  bool tiny_y = RE(less)(RE(magnitude)(y), TINY);
  REAL u = RE(select)(k > 30, L(0.0), RE(pow2)(2 - 2 * k));
  REAL pl;
  REAL p = RE(mul_dd)(ch, cl, ch, cl, pl);
  REAL ql;
  REAL q = RE(mul_dd)(hsh, hsl, hsh, hsl, ql);
  // Close to the imaginary axis x^2 for sinh^2 x, lost next to cos^2 y but for x as large as the least cosine.
  REAL dl;
  REAL d = RE(add_dd)(RE(multiply)(p, u), RE(multiply)(pl, u), q, ql, dl);
  REAL nl;
  REAL n = RE(mul_dd)(hsh, hsl, hch, hcl, nl);
  // x itself for sinh x cosh x, and y for sin y cos y, where they are tiny.
  REAL rl;
  REAL r = RE(div_dd)(tiny_x ? u : n, tiny_x ? L(0.0) : nl, d, dl, rl);
  REAL ml;
  REAL m = RE(mul_dd)(tiny_y ? L(1.0) : sh, tiny_y ? L(0.0) : sl, ch, cl, ml);
  REAL il;
  REAL i = RE(div_dd)(m, ml, d, dl, il);
  REAL re = RE(select)(tiny_x, RE(scaled_product)(RE(magnitude)(x), r, rl, 0), RE(add)(r, rl));
  // Far out im = 4 sin y cos y e^(-2|x|); beyond EXPONENT_LIMIT it is 0.
  REAL tiny_im = RE(product)(i, il, y, L(0.0), 2 - 2 * k);
  REAL im = RE(select)(tiny_y, tiny_im, RE(scale)(i, il, 2 - 2 * k));
  bool plain_x = or_pred(RE(is_zero)(x), tiny_x && tiny_y);
  bool plain_y = or_pred(RE(is_zero)(y), tiny_x && tiny_y);
  COMPLEX v = RE(complex)(RE(select)(plain_x, x, RE(flipsign)(re, x)), plain_y ? y : im);
  REAL side = RE(select)(and_pred(turn, !RE(is_zero)(a.y)), RE(multiply)(sh, ch), a.y);
  COMPLEX limit = RE(complex)(RE(copysign)(L(1.0), a.x), RE(copysign)(L(0.0), side));
  COMPLEX nan = RE(complex)(RE(select)(RE(is_zero)(a.x), a.x, RE(nan)()),
                            RE(select)(RE(is_zero)(a.y), a.y, RE(nan)()));
  return CX(select)(ok, v, RE(is_inf)(a.x) ? limit : nan);
}
FN COMPLEX CX(sine)(COMPLEX a) {
  return CX(swap)(CX(sinh)(CX(swap)(a)));
}
FN COMPLEX CX(cosine)(COMPLEX a) {
  return CX(cosh)(RE(complex)(RE(negate)(a.y), a.x));
}
FN COMPLEX CX(tan)(COMPLEX a) {
  return CX(swap)(CX(tanh)(CX(swap)(a)));
}
// Im asin(x + i y) in the first quadrant, and the roots p of 1 - a and q of 1 + a below FAR, where no sum here or in
// asin and acos cancels; beyond, and for infinite and NaN components, log|2a|.
FN REAL CX(asin_imag)(PART x, PART y, bool near, OUT(COMPLEX) p, OUT(COMPLEX) q) {
  REAL nx = near ? x : L(1.0);
  REAL ny = near ? y : L(1.0);
  p = CX(sqrt)(RE(complex)(RE(subtract)(L(1.0), nx), RE(negate)(ny)));
  q = CX(sqrt)(RE(complex)(RE(add)(L(1.0), nx), ny));
  REAL im = RE(asinh)(RE(subtract)(RE(multiply)(p.x, q.y), RE(multiply)(p.y, q.x)));
  bool ok = and_pred(RE(is_finite)(x), RE(is_finite)(y));
  REAL lo;
  REAL hi = RE(log_abs)(ok && !near ? x : L(1.0), ok && !near ? y : L(1.0), 1, lo);
  REAL inf = RE(select)(or_pred(RE(is_inf)(x), RE(is_inf)(y)), RE(inf)(), RE(nan)());
  return RE(select)(near, im, RE(select)(ok, RE(add)(hi, lo), inf));
}
// <= 5 ulp.
FN COMPLEX CX(asin)(COMPLEX a) {
  REAL x = RE(magnitude)(a.x);
  REAL y = RE(magnitude)(a.y);
  bool near = and_pred(RE(less)(x, FAR), RE(less)(y, FAR));
  COMPLEX p;
  COMPLEX q;
  REAL i = CX(asin_imag)(x, y, near, p, q);
  REAL d = RE(subtract)(RE(multiply)(p.x, q.x), RE(multiply)(p.y, q.y));
  REAL r = RE(atan2)(x, near ? d : y);
  bool tiny = and_pred(RE(less)(x, TINY), RE(less)(y, TINY));
  REAL re = RE(select)(RE(is_zero)(a.x), L(0.0), tiny ? x : r);
  REAL im = RE(select)(and_pred(RE(is_zero)(a.y), RE(at_most)(x, L(1.0))), L(0.0), tiny ? y : i);
  return RE(complex)(RE(copysign)(re, a.x), RE(copysign)(im, a.y));
}
FN COMPLEX CX(asinh)(COMPLEX a) {
  return CX(swap)(CX(asin)(CX(swap)(a)));
}
// re = 2 atan(Re sqrt(1 - a) / Re sqrt(1 + a)), im as asin's with the other sign. <= 5 ulp.
FN COMPLEX CX(acos)(COMPLEX a) {
  REAL x = RE(magnitude)(a.x);
  REAL y = RE(magnitude)(a.y);
  bool near = and_pred(RE(less)(x, FAR), RE(less)(y, FAR));
  bool left = RE(is_negative)(a.x);
  COMPLEX p;
  COMPLEX q;
  REAL i = CX(asin_imag)(x, y, near, p, q);
  REAL n = RE(select)(left, q.x, p.x);
  REAL d = RE(select)(left, p.x, q.x);
  REAL t = RE(atan2)(near ? n : y, RE(select)(near, d, a.x));
  bool half_nan = and_pred(RE(is_nan)(a.y), RE(is_zero)(a.x));
  REAL re = RE(select)(half_nan, L(1.5707963267948966), RE(select)(near, RE(add)(t, t), t));
  bool tiny = and_pred(RE(less)(x, TINY), RE(less)(y, TINY));
  REAL im = RE(select)(and_pred(RE(is_zero)(a.y), RE(at_most)(x, L(1.0))), L(0.0), tiny ? y : i);
  return RE(complex)(re, RE(copysign)(im, RE(negate)(a.y)));
}
// i acos(a) or -i acos(a), whichever has re >= 0. <= 5 ulp.
FN COMPLEX CX(acosh)(COMPLEX a) {
  COMPLEX c = CX(acos)(a);
  return RE(complex)(RE(magnitude)(c.y), RE(copysign)(c.x, a.y));
}
// re = log1p(4x / ((1 - x)^2 + y^2)) / 4, im = atan2(2y, (1 - x)(1 + x) - y^2) / 2 for x >= 0. <= 5 ulp.
FN COMPLEX CX(atanh_near)(PART x, PART y) {
  REAL dl;
  REAL d = RE(two_sum)(L(1.0), RE(negate)(x), dl);
  REAL h = RE(hypot)(d, y);
  bool pole = RE(less)(h, UNIT);
  REAL g = pole ? L(1.0) : h;
  REAL near = RE(multiply)(L(0.25), RE(log_plus_one)(RE(multiply)(RE(divide)(x, g), RE(divide)(L(4.0), g))));
  REAL l = RE(multiply)(L(0.5), RE(subtract)(L(0.6931471805599453), RE(log)(h)));
  REAL el;
  REAL e = RE(two_sum)(L(1.0), x, el);
  REAL pl;
  REAL p = RE(mul_dd)(d, dl, e, el, pl);
  REAL ql;
  REAL q = RE(two_prod)(y, y, ql);
  REAL tl;
  REAL t = RE(add_dd)(p, pl, RE(negate)(q), RE(negate)(ql), tl);
  REAL im = RE(multiply)(L(0.5), RE(atan2)(RE(add)(y, y), RE(add)(t, tl)));
  return RE(complex)(pole ? l : near, im);
}
// Far out re = Re(1/a) and im = pi/2. <= 5 ulp.
FN COMPLEX CX(atanh)(COMPLEX a) {
  REAL x = RE(magnitude)(a.x);
  REAL y = RE(magnitude)(a.y);
  bool near = and_pred(RE(less)(x, FAR), RE(less)(y, FAR));
  COMPLEX n = CX(atanh_near)(near ? x : L(0.5), near ? y : L(0.5));
  bool finite = CX(is_finite)(a);
  int k = CX(exponent)(a);
  REAL u = RE(shift)(finite ? x : L(1.0), -k);
  REAL h = RE(hypot)(u, RE(shift)(finite ? y : L(0.0), -k));
  REAL g = CX(is_zero)(a) ? L(1.0) : h;
  REAL inverse = RE(shift)(RE(divide)(RE(divide)(u, g), g), -k);
  bool inf = CX(has_inf)(a);
  bool lost = and_pred(RE(is_nan)(a.x), !RE(is_inf)(a.y));
  bool none = or_pred(inf, and_pred(!finite, RE(is_zero)(a.x)));
  REAL far_re = RE(select)(lost, RE(nan)(), RE(select)(none, L(0.0), RE(select)(finite, inverse, RE(nan)())));
  REAL far_im = RE(select)(or_pred(lost, RE(is_nan)(a.y)), RE(nan)(), L(1.5707963267948966));
  bool tiny = and_pred(RE(less)(x, TINY), RE(less)(y, TINY));
  REAL re = RE(select)(RE(is_zero)(a.x), L(0.0), RE(select)(tiny, x, RE(select)(near, n.x, far_re)));
  REAL im = RE(select)(and_pred(RE(is_zero)(a.y), RE(at_most)(x, L(1.0))), L(0.0),
                       RE(select)(tiny, y, RE(select)(near, n.y, far_im)));
  return RE(complex)(RE(copysign)(re, a.x), RE(copysign)(im, a.y));
}
FN COMPLEX CX(atan)(COMPLEX a) {
  return CX(swap)(CX(atanh)(CX(swap)(a)));
}
// cbrt|a| e^(i arg(a) / 3), of a scaled by a power of 8; a small angle is y over x. Of infinities what the angle tells,
// none for NaN. <= 4 ulp.
FN COMPLEX CX(cbrt)(COMPLEX a) {
  bool ok = and_pred(CX(is_finite)(a), !CX(is_zero)(a));
  int third = CX(exponent)(a) / 3;
  REAL u = RE(shift)(RE(select)(ok, a.x, L(1.0)), select_i32(ok, -3 * third, 0));
  REAL v = RE(shift)(RE(select)(ok, a.y, L(0.0)), select_i32(ok, -3 * third, 0));
  REAL r = RE(cbrt)(RE(hypot)(u, v));
  REAL angle = RE(atan2)(a.y, a.x);
  REAL t = RE(divide)(RE(select)(ok, RE(atan2)(v, u), L(0.0)), L(3.0));
  REAL re = RE(multiply)(r, RE(cosine)(t));
  REAL im = RE(multiply)(r, RE(sine)(t));
  // Where v may have lost digits: y (r / 3u).
  bool slight = and_pred(RE(more)(u, L(0.0)), RE(less)(RE(magnitude)(v), RE(multiply)(TINY, u)));
  REAL slope = RE(divide)(r, RE(multiply)(L(3.0), RE(select)(slight, u, L(1.0))));
  REAL low = RE(scaled_product)(RE(select)(ok && slight, a.y, L(1.0)), slope, L(0.0), -2 * third);
  COMPLEX v3 = RE(complex)(RE(shift)(re, third), RE(select)(slight, low, RE(shift)(im, third)));
  REAL side = RE(select)(RE(is_nan)(angle), angle, RE(copysign)(RE(inf)(), angle));
  COMPLEX inf = RE(complex)(RE(inf)(), RE(select)(RE(is_zero)(angle), angle, side));
  COMPLEX nan = RE(complex)(RE(nan)(), RE(nan)());
  return CX(select)(ok, v3, CX(select)(CX(is_zero)(a), a, CX(has_inf)(a) ? inf : nan));
}
// (a + b, c + d) = result 2^k, a component of the result next to 1.
FN COMPLEX CX(scaled_sum)(PART a, PART b, PART c, PART d, OUT(int) k) {
  COMPLEX whole = RE(complex)(RE(add)(a, b), RE(add)(c, d));
  bool over = !CX(is_finite)(whole);
  COMPLEX halved =
      RE(complex)(RE(add)(RE(shift)(a, -1), RE(shift)(b, -1)), RE(add)(RE(shift)(c, -1), RE(shift)(d, -1)));
  COMPLEX r = CX(select)(over, halved, whole);
  int e = CX(exponent)(r);
  k = e + select_i32(over, 1, 0);
  return RE(complex)(RE(shift)(r.x, -e), RE(shift)(r.y, -e));
}
// -i log(p / sqrt(p q)) of p = x + i y and q = x - i y; for |y| < |x| / 2 atan(y / x), which keeps what is small, and
// the same half turn. Norm 8, but next to the cut of the root, where it may be half a turn off. NaN where a part is not
// finite.
FN COMPLEX CX(atan2)(COMPLEX y, COMPLEX x) {
  bool ok = and_pred(CX(is_finite)(x), CX(is_finite)(y));
  int kp;
  COMPLEX p = CX(scaled_sum)(x.x, RE(negate)(y.y), x.y, y.x, kp);
  int kq;
  COMPLEX q = CX(scaled_sum)(x.x, y.y, x.y, RE(negate)(y.x), kq);
  COMPLEX l = CX(log)(CX(divide)(p, CX(sqrt)(CX(multiply)(p, q))));
  REAL size = RE(add)(l.x, RE(multiply)(L(0.34657359027997264), RE(convert_i32)(kp - kq)));
  int k = CX(exponent)(x);
  REAL v = RE(hypot)(RE(shift)(y.x, -k), RE(shift)(y.y, -k));
  REAL u = RE(hypot)(RE(shift)(x.x, -k), RE(shift)(x.y, -k));
  bool small = and_pred(ok, RE(less)(v, RE(multiply)(L(0.5), u)));
  COMPLEX one = RE(complex)(L(1.0), L(0.0));
  COMPLEX t = CX(atan)(CX(divide)(small ? y : one, small ? x : one));
  bool turned = RE(more)(RE(magnitude)(l.y), L(1.5707963267948966));
  REAL re = RE(select)(turned, RE(add)(t.x, RE(copysign)(L(3.141592653589793), l.y)), t.x);
  COMPLEX r = CX(select)(small, RE(complex)(re, t.y), RE(complex)(l.y, RE(negate)(size)));
  return CX(select)(ok, r, RE(complex)(RE(nan)(), RE(nan)()));
}
