// c64 as vec2 (re, im), on the f32 functions. Bounds are per component unless said otherwise; special values are C99 Annex G's
// but for the product, which is the plain one, as in XLA. Formulas: Kahan, "Branch cuts for complex elementary functions".

FN F real_c64(vec2 a) {
  return a.x;
}
FN F imag_c64(vec2 a) {
  return a.y;
}
FN vec2 conjugate_c64(vec2 a) {
  return vec2(a.x, negate_f32(a.y));
}
FN vec2 swap_c64(vec2 a) {
  return vec2(a.y, a.x);
}
FN bool is_zero_c64(vec2 a) {
  return a.x == 0.0f && a.y == 0.0f;
}
FN bool has_inf_c64(vec2 a) {
  return is_inf_f32(a.x) || is_inf_f32(a.y);
}
FN bool has_nan_c64(vec2 a) {
  return is_nan_f32(a.x) || is_nan_f32(a.y);
}
FN bool is_finite_c64(vec2 a) {
  return is_finite_f32(a.x) && is_finite_f32(a.y);
}
FN bool compare_eq_c64(vec2 a, vec2 b) {
  return a.x == b.x && a.y == b.y;
}
FN bool compare_ne_c64(vec2 a, vec2 b) {
  return !(a.x == b.x && a.y == b.y);
}
FN vec2 add_c64(vec2 a, vec2 b) {
  F re = a.x + b.x;
  F im = a.y + b.y;
  return vec2(re, im);
}
FN vec2 subtract_c64(vec2 a, vec2 b) {
  F re = a.x - b.x;
  F im = a.y - b.y;
  return vec2(re, im);
}
FN vec2 negate_c64(vec2 a) {
  return vec2(negate_f32(a.x), negate_f32(a.y));
}
// Plain products: each component within 1.5 2^-24 (|a.x b.x| + |a.y b.y|), likewise crosswise.
FN vec2 multiply_c64(vec2 a, vec2 b) {
  F re = a.x * b.x - a.y * b.y;
  F im = a.x * b.y + a.y * b.x;
  return vec2(re, im);
}
// |a|. <= 1 ulp.
FN F abs_c64(vec2 a) {
  return hypot_f32(a.x, a.y);
}
// a.x b.x + s a.y b.y = result + lo to about 2^-45 of the larger product.
FN F dot_dd_f32(float ax, float bx, float ay, float by, OUT(float) lo) {
  F pl;
  F p = two_prod_f32(ax, bx, pl);
  F ql;
  F q = two_prod_f32(ay, by, ql);
  return add_dd_f32(p, pl, q, ql, lo);
}
// The exponent of the larger component; 0 for 0 and where a component is not finite.
FN int exponent_c64(vec2 a) {
  F x = magnitude_f32(a.x);
  F y = magnitude_f32(a.y);
  F m = x > y ? x : y;
  int k;
  F f = frexp_f32(m > 0.0f ? m : 1.0f, k);
  return is_finite_c64(a) && f > 0.0f ? k : 0;
}
// x 2^k, rounded once; x itself where it is 0, infinite or NaN.
FN F shift_f32(float x, int k) {
  bool ok = is_finite_f32(x) && x != 0.0f;
  int e;
  F m = frexp_f32(ok ? x : 1.0f, e);
  F r = copysign_f32(scale_f32(m, 0.0f, e + k), x);
  return ok ? r : x;
}
FN F infinite_sign_f32(float x) {
  return copysign_f32(is_inf_f32(x) ? 1.0f : 0.0f, x);
}
// a / b where b is 0 or something is infinite or NaN: C99's rules.
FN vec2 divide_special_c64(vec2 a, vec2 b) {
  F inf = inf_f32();
  F s = copysign_f32(inf, b.x);
  vec2 by_zero = vec2(s * a.x, s * a.y);
  F ax = infinite_sign_f32(a.x);
  F ay = infinite_sign_f32(a.y);
  vec2 grown = vec2(inf * (ax * b.x + ay * b.y), inf * (ay * b.x - ax * b.y));
  F bx = infinite_sign_f32(b.x);
  F by = infinite_sign_f32(b.y);
  // Not as products with 0: drivers take those for 0 whatever the sign.
  vec2 shrunk = vec2(copysign_f32(0.0f, a.x * bx + a.y * by), copysign_f32(0.0f, a.y * bx - a.x * by));
  vec2 nan = vec2(nan_f32(), nan_f32());
  bool zero = is_zero_c64(b) && !(is_nan_f32(a.x) && is_nan_f32(a.y));
  return zero ? by_zero
              : (has_inf_c64(a) && is_finite_c64(b) ? grown : (has_inf_c64(b) && is_finite_c64(a) ? shrunk : nan));
}
// a conj(b) / |b|^2, both scaled by powers of two, sums in two floats. <= 1 ulp but where the products cancel to 2^-20 of their size,
// and there 2^-44 of the quotient.
FN vec2 divide_c64(vec2 a, vec2 b) {
  bool regular = is_finite_c64(a) && is_finite_c64(b) && !is_zero_c64(b);
  int ka = exponent_c64(a);
  int kb = exponent_c64(b);
  F ax = shift_f32(a.x, -ka);
  F ay = shift_f32(a.y, -ka);
  F bx = shift_f32(regular ? b.x : 1.0f, regular ? -kb : 0);
  F by = shift_f32(regular ? b.y : 0.0f, regular ? -kb : 0);
  F dl;
  F d = dot_dd_f32(bx, bx, by, by, dl);
  F rl;
  F r = dot_dd_f32(ax, bx, ay, by, rl);
  F il;
  F i = dot_dd_f32(ay, bx, -ax, by, il);
  F ul;
  F u = div_dd_f32(r, rl, d, dl, ul);
  F vl;
  F v = div_dd_f32(i, il, d, dl, vl);
  vec2 q = vec2(scale_f32(u, ul, ka - kb), scale_f32(v, vl, ka - kb));
  return regular ? q : divide_special_c64(a, b);
}
// a / |a|, 0 for 0. <= 2 ulp.
FN vec2 sign_c64(vec2 a) {
  int k = exponent_c64(a);
  F x = shift_f32(a.x, -k);
  F y = shift_f32(a.y, -k);
  F h = hypot_f32(x, y);
  vec2 r = vec2(x / h, y / h);
  return is_zero_c64(a) ? a : r;
}
// (ah + al) (bh + bl) 2^k rounded once.
FN F product_f32(float ah, float al, float bh, float bl, int k) {
  F lo;
  F hi = mul_dd_f32(ah, al, bh, bl, lo);
  return scale_f32(hi, lo, k);
}
// x (h + l) rounded once, for any finite x.
FN F scaled_product_f32(float x, float h, float l) {
  int k;
  F m = frexp_f32(x == 0.0f ? 1.0f : x, k);
  F r = flipsign_f32(product_f32(m, 0.0f, h, l, k), x);
  return x == 0.0f ? copysign_f32(0.0f, flipsign_f32(x, h)) : r;
}
// sin x and cos x in two floats each, for finite x.
FN void sin_cos_f32(float x, OUT(float) sh, OUT(float) sl, OUT(float) ch, OUT(float) cl) {
  int q;
  F rl;
  F r = reduce_pi_f32(x, q, rl);
  F al;
  F ah = sin_precise_f32(r, rl, al);
  F bl;
  F b = cos_reduced_f32(r, rl, bl);
  F bt;
  F bh = fast_two_sum_f32(b, bl, bt);
  bool odd = (q & 1) != 0;
  F s = (q & 2) != 0 ? -1.0f : 1.0f;
  F c = ((q + 1) & 2) != 0 ? -1.0f : 1.0f;
  sh = s * (odd ? bh : ah);
  sl = s * (odd ? bt : al);
  ch = c * (odd ? ah : bh);
  cl = c * (odd ? al : bt);
}
// sinh and cosh of |x| as (s, c) 2^(k - 1) in two floats each; |x| beyond 400 counts as 400.
FN void sinh_cosh_f32(float x, OUT(int) k, OUT(float) sh, OUT(float) sl, OUT(float) ch, OUT(float) cl) {
  F m = magnitude_f32(x);
  F ah;
  F al;
  F lo;
  F hi = expm1_parts_f32(m < 400.0f ? m : 400.0f, k, ah, al, lo);
  F ql;
  F q = div_dd_f32(hi, lo, ah, al, ql);
  F u = k > 60 ? 0.0f : pow2_f32(-k);
  sh = add_dd_f32(hi, lo, q * u, ql * u, sl);
  F rl;
  F r = div_dd_f32(u * u, 0.0f, ah, al, rl);
  ch = add_dd_f32(ah, al, r, rl, cl);
}
// e^x (cos y, sin y). <= 1 ulp.
FN vec2 exponential_c64(vec2 a) {
  F x = a.x;
  F y = a.y;
  bool turn = is_finite_f32(y);
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(turn ? y : 1.0f, sh, sl, ch, cl);
  int k;
  F el;
  // Twice the range of e^x alone, since a small sine brings the product back.
  F eh = exp_parts_f32(is_nan_f32(x) ? 0.0f : x, 0.0f, k, el);
  F re = product_f32(eh, el, ch, cl, k);
  F im = y == 0.0f ? y : product_f32(eh, el, sh, sl, k);
  F zero = x < 0.0f ? 0.0f : inf_f32();
  vec2 limit = turn ? vec2(copysign_f32(zero, ch), y == 0.0f ? y : copysign_f32(zero, sh))
                    : (x < 0.0f ? vec2(0.0f, 0.0f) : vec2(inf_f32(), nan_f32()));
  vec2 nan = vec2(nan_f32(), y == 0.0f ? y : nan_f32());
  bool bad = is_nan_f32(x) || (is_finite_f32(x) && !turn);
  return bad ? nan : (is_inf_f32(x) ? limit : vec2(re, im));
}
// cos(x) - 1 = result + lo for finite x, relative 2^-29.
FN F cosm1_f32(float x, OUT(float) lo) {
  int q;
  F rl;
  F r = reduce_pi_f32(x, q, rl);
  F e;
  F z = two_prod_f32(r, r, e);
  F small_lo = z * z * cos_tail_f32(z) - r * rl - 0.5f * e;
  F cl;
  F c = circular_f32(r, rl, q + 1, cl);
  F d;
  F s = two_sum_f32(c, -1.0f, d);
  bool small = (q & 3) == 0;
  F h = small ? -0.5f * z : s;
  F l = small ? small_lo : d + cl;
  return fast_two_sum_f32(h, l, lo);
}
// re: expm1(x) cos y + (cos y - 1), both in two floats: <= 1 ulp, or 2^-27 of the larger term where they cancel; im as exp's.
FN vec2 exponential_minus_one_c64(vec2 a) {
  vec2 plain = exponential_c64(a);
  bool small = is_finite_c64(a) && a.x < 80.0f;
  F x = small ? (a.x < -20.0f ? -20.0f : a.x) : 1.0f;
  F y = small ? a.y : 1.0f;
  int k;
  F ah;
  F al;
  F lo;
  F hi = expm1_parts_f32(x, k, ah, al, lo);
  F u = pow2_f32(k);
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(y, sh, sl, ch, cl);
  F pl;
  F p = mul_dd_f32(hi * u, lo * u, ch, cl, pl);
  F ml;
  F m = cosm1_f32(y, ml);
  F tl;
  F t = add_dd_f32(p, pl, m, ml, tl);
  F direct = exponential_minus_one_f32(a.x);
  F re = a.y == 0.0f ? direct : (small ? t + tl : plain.x - 1.0f);
  return vec2(re, plain.y);
}
// log|a| + extra ln 2 = result + lo: half the logarithm of the sum of the squares, which keeps 2^-45 absolute next to |a| = 1.
FN F log_abs_f32(float x, float y, int extra, OUT(float) lo) {
  int k = exponent_c64(vec2(x, y));
  int s = k == 0 || k == -1 ? 0 : k;
  F u = shift_f32(x, -s);
  F v = shift_f32(y, -s);
  F pl;
  F p = dot_dd_f32(u, u, v, v, pl);
  int e;
  F f = log_split_f32(p, e);
  F gl;
  F g = two_sum_f32(f, pl * pow2_f32(-e), gl);
  F l;
  F h = log_reduced_f32(g, gl, e + 2 * (s + extra), l);
  lo = 0.5f * l;
  return 0.5f * h;
}
// (log|a|, arg a). <= 1 ulp; re within 2^-44 absolute where |a| is next to 1.
FN vec2 log_c64(vec2 a) {
  bool ok = is_finite_c64(a) && !is_zero_c64(a);
  F lo;
  F hi = log_abs_f32(ok ? a.x : 2.0f, ok ? a.y : 0.0f, 0, lo);
  F r = hi + lo;
  F special = has_inf_c64(a) ? inf_f32() : (has_nan_c64(a) ? nan_f32() : -inf_f32());
  return vec2(ok ? r : special, atan2_f32(a.y, a.x));
}
// re: log1p(x (x + 2) + y^2) / 2 in two floats up to |a| = 2^10, then log(1 + a). <= 2 ulp, or 2^-43 absolute where the sum cancels.
FN vec2 log_plus_one_c64(vec2 a) {
  F x = a.x;
  F y = a.y;
  bool small = magnitude_f32(x) < 1024.0f && magnitude_f32(y) < 1024.0f;
  F bl;
  F b = two_sum_f32(small ? x : 0.0f, 2.0f, bl);
  F pl;
  F p = mul_dd_f32(small ? x : 0.0f, 0.0f, b, bl, pl);
  F ql;
  F q = two_prod_f32(small ? y : 1.0f, small ? y : 1.0f, ql);
  F tl;
  F t = add_dd_f32(p, pl, q, ql, tl);
  bool tiny = magnitude_f32(t) < 1.08420217e-19f;
  bool pole = t <= -1.0f;
  F lo;
  F hi = log1p_dd_f32(tiny || pole ? 1.0f : t, tiny || pole ? 0.0f : tl, lo);
  F r = tiny ? 0.5f * t : 0.5f * (hi + lo);
  F x1 = 1.0f + x;
  vec2 far = log_c64(vec2(x1, y));
  return vec2(small && !pole ? r : far.x, far.y);
}
// 1 / (1 + e^-a), as e^a / (1 + e^a) in the left half plane. Within 2^-22 / |1 + e^-|a.x|| of |result|, so 4 ulp away from the poles.
FN vec2 logistic_c64(vec2 a) {
  bool left = is_negative_f32(a.x);
  vec2 e = exponential_c64(left ? a : negate_c64(a));
  vec2 d = vec2(1.0f + e.x, e.y);
  vec2 r = divide_c64(left ? e : vec2(1.0f, 0.0f), d);
  // Next to 0 the result is e^a itself, signs of zero included.
  return left && is_finite_c64(e) && abs_c64(e) < 2.98023224e-08f ? e : r;
}
// sqrt((|x| + |a|) / 2) is one component and |y| over twice that the other. <= 1 ulp.
FN vec2 sqrt_c64(vec2 a) {
  bool ok = is_finite_c64(a) && !is_zero_c64(a);
  int k = exponent_c64(a);
  k = k - (k & 1);
  F x = shift_f32(ok ? magnitude_f32(a.x) : 1.0f, ok ? -k : 0);
  F y = shift_f32(ok ? magnitude_f32(a.y) : 0.0f, ok ? -k : 0);
  F pl;
  F p = dot_dd_f32(x, x, y, y, pl);
  F hl;
  F h = sqrt_dd_f32(p, pl, hl);
  F sl;
  F s = add_dd_f32(h, hl, x, 0.0f, sl);
  F tl;
  F t = sqrt_dd_f32(0.5f * s, 0.5f * sl, tl);
  F big = scale_f32(t, tl, k >> 1);
  int ky;
  F fy = frexp_f32(ok && a.y != 0.0f ? a.y : 1.0f, ky);
  F ql;
  F q = div_dd_f32(fy, 0.0f, t + t, tl + tl, ql);
  F small = a.y == 0.0f ? 0.0f : scale_f32(q, ql, ky - (k >> 1));
  bool left = is_negative_f32(a.x);
  vec2 r = left ? vec2(small, copysign_f32(big, a.y)) : vec2(big, copysign_f32(small, a.y));
  vec2 zero = vec2(0.0f, a.y);
  vec2 inf = left ? vec2(is_nan_f32(a.y) ? a.y : 0.0f, copysign_f32(inf_f32(), a.y))
                  : vec2(inf_f32(), is_nan_f32(a.y) ? a.y : copysign_f32(0.0f, a.y));
  vec2 special = is_inf_f32(a.y) ? vec2(inf_f32(), a.y) : (is_inf_f32(a.x) ? inf : vec2(nan_f32(), nan_f32()));
  return ok ? r : (is_zero_c64(a) ? zero : special);
}
// 1 / sqrt(a). <= 4 ulp.
FN vec2 rsqrt_c64(vec2 a) {
  vec2 s = sqrt_c64(a);
  vec2 r = divide_c64(vec2(1.0f, 0.0f), s);
  // Said outright: drivers lose the sign in 0 - 0 where one zero is a constant.
  vec2 zero = vec2(0.0f, copysign_f32(0.0f, negate_f32(s.y)));
  return has_inf_c64(s) && !has_nan_c64(s) ? zero : r;
}
// e^(w log z). The error grows with |w log z|: 2^-23 + |w log z| 2^-27 of |result|. 0^0 = 1, 0^w = 0 for Re w > 0.
FN vec2 power_c64(vec2 z, vec2 w) {
  bool ok = is_finite_c64(z) && !is_zero_c64(z) && is_finite_c64(w);
  F zx = ok ? z.x : 1.0f;
  F zy = ok ? z.y : 0.0f;
  F wx = ok ? w.x : 0.0f;
  F wy = ok ? w.y : 0.0f;
  F ll;
  F l = log_abs_f32(zx, zy, 0, ll);
  F t = atan2_f32(zy, zx);
  F al;
  F a = mul_dd_f32(wx, 0.0f, l, ll, al);
  F bl;
  F b = two_prod_f32(wy, t, bl);
  F rl;
  F r = add_dd_f32(a, al, -b, -bl, rl);
  F cl;
  F c = two_prod_f32(wx, t, cl);
  F dl;
  F d = mul_dd_f32(wy, 0.0f, l, ll, dl);
  F il;
  F i = add_dd_f32(c, cl, d, dl, il);
  bool calm = is_finite_f32(r) && is_finite_f32(i);
  int q;
  F hl;
  F h = reduce_pi_f32(calm ? i : 0.0f, q, hl);
  F gl;
  F g = two_sum_f32(h, calm ? hl + il : 0.0f, gl);
  F cosl;
  F cosh = circular_f32(g, gl, q + 1, cosl);
  F sinl;
  F sinh = circular_f32(g, gl, q, sinl);
  int k;
  F el;
  F eh = exp_parts_f32(calm ? r : 0.0f, calm ? rl : 0.0f, k, el);
  vec2 v = vec2(product_f32(eh, el, cosh, cosl, k), product_f32(eh, el, sinh, sinl, k));
  vec2 far = exponential_c64(multiply_c64(w, log_c64(z)));
  vec2 of_zero = w.x > 0.0f ? vec2(0.0f, 0.0f) : (w.x < 0.0f ? vec2(inf_f32(), nan_f32()) : vec2(nan_f32(), nan_f32()));
  vec2 r2 = ok && calm ? v : (is_zero_c64(z) && !has_nan_c64(w) ? of_zero : far);
  return is_zero_c64(w) ? vec2(1.0f, 0.0f) : r2;
}
// What sinh (odd) and cosh give where a component is infinite or NaN.
FN vec2 hyperbolic_special_c64(vec2 a, bool odd) {
  F x = a.x;
  F y = a.y;
  bool turn = is_finite_f32(y);
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(turn ? y : 1.0f, sh, sl, ch, cl);
  F inf = inf_f32();
  F re = odd ? flipsign_f32(copysign_f32(inf, ch), x) : copysign_f32(inf, ch);
  F im = odd ? copysign_f32(inf, sh) : flipsign_f32(copysign_f32(inf, sh), x);
  vec2 grown = vec2(re, y == 0.0f ? (odd ? y : flipsign_f32(y, x)) : im);
  vec2 spun = vec2(odd ? x : inf, nan_f32());
  vec2 still = odd ? vec2(x, nan_f32()) : vec2(nan_f32(), x);
  vec2 real = vec2(nan_f32(), y);
  vec2 nan = vec2(nan_f32(), nan_f32());
  return is_inf_f32(x) ? (turn ? grown : spun) : (x == 0.0f ? still : (y == 0.0f ? real : nan));
}
// sinh x cos y, cosh x sin y. <= 1 ulp.
FN vec2 sinh_c64(vec2 a) {
  bool ok = is_finite_c64(a);
  F x = ok ? a.x : 1.0f;
  F y = ok ? a.y : 1.0f;
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(y, sh, sl, ch, cl);
  int k;
  F hsh;
  F hsl;
  F hch;
  F hcl;
  sinh_cosh_f32(x, k, hsh, hsl, hch, hcl);
  bool tiny = magnitude_f32(x) < 9.31322575e-10f;
  F re = flipsign_f32(product_f32(hsh, hsl, ch, cl, k - 1), x);
  F tiny_re = magnitude_f32(y) < 9.31322575e-10f ? x : scaled_product_f32(x, ch, cl);
  F im = y == 0.0f || (tiny && magnitude_f32(y) < 9.31322575e-10f) ? y : product_f32(hch, hcl, sh, sl, k - 1);
  return ok ? vec2(tiny ? tiny_re : re, im) : hyperbolic_special_c64(a, true);
}
// cosh x cos y, sinh x sin y. <= 1 ulp.
FN vec2 cosh_c64(vec2 a) {
  bool ok = is_finite_c64(a);
  F x = ok ? a.x : 1.0f;
  F y = ok ? a.y : 1.0f;
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(y, sh, sl, ch, cl);
  int k;
  F hsh;
  F hsl;
  F hch;
  F hcl;
  sinh_cosh_f32(x, k, hsh, hsl, hch, hcl);
  F re = product_f32(hch, hcl, ch, cl, k - 1);
  F im = flipsign_f32(product_f32(hsh, hsl, sh, sl, k - 1), x);
  F small = scaled_product_f32(x, sh, sl);
  bool tiny = magnitude_f32(x) < 9.31322575e-10f || y == 0.0f;
  F zero = copysign_f32(0.0f, flipsign_f32(x, y == 0.0f ? y : sh));
  F im2 = x == 0.0f || y == 0.0f ? zero : (tiny ? small : im);
  return ok ? vec2(re, im2) : hyperbolic_special_c64(a, false);
}
// (sinh x cosh x + i sin y cos y) / (cos^2 y + sinh^2 x). <= 2 ulp.
FN vec2 tanh_c64(vec2 a) {
  bool ok = is_finite_c64(a);
  F x = ok ? a.x : 1.0f;
  F y = ok ? a.y : 1.0f;
  F sh;
  F sl;
  F ch;
  F cl;
  sin_cos_f32(y, sh, sl, ch, cl);
  int k;
  F hsh;
  F hsl;
  F hch;
  F hcl;
  sinh_cosh_f32(x, k, hsh, hsl, hch, hcl);
  F u = k > 30 ? 0.0f : pow2_f32(2 - 2 * k);
  F pl;
  F p = mul_dd_f32(ch, cl, ch, cl, pl);
  F ql;
  F q = mul_dd_f32(hsh, hsl, hsh, hsl, ql);
  F dl;
  F d = add_dd_f32(p * u, pl * u, q, ql, dl);
  F nl;
  F n = mul_dd_f32(hsh, hsl, hch, hcl, nl);
  F ml;
  F m = mul_dd_f32(sh, sl, ch, cl, ml);
  F rl;
  F r = div_dd_f32(n, nl, d, dl, rl);
  F il;
  F i = div_dd_f32(m, ml, d, dl, il);
  bool tiny_x = magnitude_f32(x) < 9.31322575e-10f;
  bool tiny_y = magnitude_f32(y) < 9.31322575e-10f;
  // Far out im = 4 sin y cos y e^(-2|x|); beyond 60 it is 0.
  F im = y == 0.0f || (tiny_y && tiny_x) ? y : scale_f32(i, il, 2 - 2 * k);
  // Close to the imaginary axis x / (cos^2 y + x^2), from x's significand.
  int kx;
  F fx = frexp_f32(x == 0.0f ? 1.0f : x, kx);
  F el;
  F e = add_dd_f32(p, pl, tiny_x ? x * x : 0.0f, 0.0f, el);
  F vl;
  F v = div_dd_f32(fx, 0.0f, e, el, vl);
  F near = flipsign_f32(scale_f32(v, vl, kx), x);
  F re = x == 0.0f || (tiny_x && tiny_y) ? x : (tiny_x ? near : flipsign_f32(r + rl, x));
  sin_cos_f32(is_finite_f32(a.y) ? a.y : 0.0f, sh, sl, ch, cl);
  F far = copysign_f32(0.0f, is_finite_f32(a.y) && a.y != 0.0f ? sh * ch : a.y);
  vec2 limit = vec2(copysign_f32(1.0f, a.x), far);
  vec2 nan = vec2(nan_f32(), a.y == 0.0f ? a.y : nan_f32());
  vec2 still = vec2(a.x, nan_f32());
  return ok ? vec2(re, im) : (is_inf_f32(a.x) ? limit : (a.x == 0.0f ? still : nan));
}
FN vec2 sine_c64(vec2 a) {
  return swap_c64(sinh_c64(swap_c64(a)));
}
FN vec2 cosine_c64(vec2 a) {
  return cosh_c64(vec2(negate_f32(a.y), a.x));
}
FN vec2 tan_c64(vec2 a) {
  return swap_c64(tanh_c64(swap_c64(a)));
}
// asin of a beyond 2^30, or with infinite or NaN components, in the first quadrant: im = log|2a|.
FN vec2 asin_far_c64(float x, float y) {
  bool ok = is_finite_f32(x) && is_finite_f32(y);
  F lo;
  F hi = log_abs_f32(ok ? x : 1.0f, ok ? y : 1.0f, 1, lo);
  F l = hi + lo;
  F inf = is_inf_f32(x) || is_inf_f32(y) ? inf_f32() : nan_f32();
  return vec2(atan2_f32(x, y), ok ? l : inf);
}
// The roots of 1 - a and 1 + a, a in the first quadrant and below 2^30: no sum below cancels.
FN vec2 asin_near_c64(float x, float y) {
  F xm = 1.0f - x;
  F xp = 1.0f + x;
  vec2 p = sqrt_c64(vec2(xm, -y));
  vec2 q = sqrt_c64(vec2(xp, y));
  F re = atan2_f32(x, p.x * q.x - p.y * q.y);
  F im = asinh_f32(p.x * q.y - p.y * q.x);
  return vec2(re, im);
}
// <= 5 ulp.
FN vec2 asin_c64(vec2 a) {
  F x = magnitude_f32(a.x);
  F y = magnitude_f32(a.y);
  bool near = x < 1.07374182e9f && y < 1.07374182e9f;
  vec2 n = asin_near_c64(near ? x : 1.0f, near ? y : 1.0f);
  vec2 f = asin_far_c64(x, y);
  bool tiny = x < 9.31322575e-10f && y < 9.31322575e-10f;
  vec2 r = tiny ? vec2(x, y) : (near ? n : f);
  F re = a.x == 0.0f ? 0.0f : r.x;
  F im = a.y == 0.0f && x <= 1.0f ? 0.0f : r.y;
  return vec2(copysign_f32(re, a.x), copysign_f32(im, a.y));
}
FN vec2 asinh_c64(vec2 a) {
  return swap_c64(asin_c64(swap_c64(a)));
}
// re = 2 atan(Re sqrt(1 - a) / Re sqrt(1 + a)), im as asin's with the other sign. <= 5 ulp.
FN vec2 acos_c64(vec2 a) {
  F x = magnitude_f32(a.x);
  F y = magnitude_f32(a.y);
  bool near = x < 1.07374182e9f && y < 1.07374182e9f;
  F nx = near ? a.x : 1.0f;
  F ny = near ? y : 1.0f;
  F xm = 1.0f - nx;
  F xp = 1.0f + nx;
  vec2 p = sqrt_c64(vec2(xm, -ny));
  vec2 q = sqrt_c64(vec2(xp, ny));
  F t = atan2_f32(p.x, q.x);
  F n = t + t;
  vec2 s = asin_c64(a);
  F f = atan2_f32(y, a.x);
  F re = near ? n : f;
  bool half_nan = is_nan_f32(a.y) && a.x == 0.0f;
  return vec2(half_nan ? 1.57079637f : re, negate_f32(s.y));
}
// i acos(a) or -i acos(a), whichever has re >= 0. <= 5 ulp.
FN vec2 acosh_c64(vec2 a) {
  vec2 c = acos_c64(a);
  return vec2(magnitude_f32(c.y), copysign_f32(c.x, a.y));
}
// re = log1p(4x / ((1 - x)^2 + y^2)) / 4, im = atan2(2y, (1 - x)(1 + x) - y^2) / 2 for x >= 0. <= 5 ulp.
FN vec2 atanh_near_c64(float x, float y) {
  F dl;
  F d = two_sum_f32(1.0f, -x, dl);
  F h = hypot_f32(d, y);
  bool pole = h < 5.96046448e-08f;
  F g = pole ? 1.0f : h;
  F near = 0.25f * log_plus_one_f32((x / g) * (4.0f / g));
  F l = 0.5f * (0.693147182f - log_f32(h));
  F el;
  F e = two_sum_f32(1.0f, x, el);
  F pl;
  F p = mul_dd_f32(d, dl, e, el, pl);
  F ql;
  F q = two_prod_f32(y, y, ql);
  F tl;
  F t = add_dd_f32(p, pl, -q, -ql, tl);
  F im = 0.5f * atan2_f32(y + y, t + tl);
  return vec2(pole ? l : near, im);
}
FN vec2 atanh_c64(vec2 a) {
  F x = magnitude_f32(a.x);
  F y = magnitude_f32(a.y);
  bool near = x < 1.07374182e9f && y < 1.07374182e9f;
  vec2 n = atanh_near_c64(near ? x : 0.5f, near ? y : 0.5f);
  // Far out: Re(1/a) and pi/2.
  bool finite = is_finite_c64(a);
  vec2 d = divide_c64(vec2(1.0f, 0.0f), vec2(finite ? x : 1.0f, finite ? y : 1.0f));
  F inverse = finite ? d.x : 0.0f;
  bool inf = has_inf_c64(a);
  F far_re = inf || finite ? inverse : (a.x == 0.0f ? 0.0f : nan_f32());
  F far_im = is_nan_f32(a.y) ? nan_f32() : 1.57079637f;
  bool lost = is_nan_f32(a.x) && !is_inf_f32(a.y);
  vec2 f = lost ? vec2(nan_f32(), nan_f32()) : vec2(far_re, far_im);
  bool tiny = x < 9.31322575e-10f && y < 9.31322575e-10f;
  vec2 r = tiny ? vec2(x, y) : (near ? n : f);
  F re = a.x == 0.0f ? 0.0f : r.x;
  F im = a.y == 0.0f && x <= 1.0f ? 0.0f : r.y;
  return vec2(copysign_f32(re, a.x), copysign_f32(im, a.y));
}
FN vec2 atan_c64(vec2 a) {
  return swap_c64(atanh_c64(swap_c64(a)));
}
// cbrt|a| e^(i arg(a) / 3). <= 4 ulp of |result|.
FN vec2 cbrt_c64(vec2 a) {
  F r = cbrt_f32(abs_c64(a));
  F t = atan2_f32(a.y, a.x) / 3.0f;
  F im = sine_f32(t);
  vec2 v = vec2(r * cosine_f32(t), a.y == 0.0f && !is_negative_f32(a.x) ? a.y : r * im);
  return is_zero_c64(a) ? a : v;
}
// -i log((x + i y) / sqrt(x^2 + y^2)).
FN vec2 atan2_c64(vec2 y, vec2 x) {
  vec2 s = sqrt_c64(add_c64(multiply_c64(x, x), multiply_c64(y, y)));
  vec2 n = vec2(x.x - y.y, x.y + y.x);
  vec2 l = log_c64(divide_c64(n, s));
  return vec2(l.y, negate_f32(l.x));
}
