// Functions of a narrow float (16 bits and less, held in f32), for results that are rounded to the narrow type
// afterwards. Where fma rounds once <op>_f32_narrow is about 2^-22.5 of <op>_f32 off, and takes a fifth to two thirds of
// its instructions. That is enough: rounded, the two are the same at every narrow argument (tests/math/fused_test.cc),
// and at those of f16 that f16.glsl moves off a tie it does so here, too. Reciprocals are rounded alike on every device.
// Elsewhere it is <op>_f32.

FN F exponential_f32_narrow(float x) {
  return exponential_by_fma_f32(x);
}
FN F log_f32_narrow(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  bool ok = is_positive_f32(x);
  int k;
  F f = log_split_f32(ok ? x : 1.0f, k);
  F p = fma(fma(fma(fma(-0.0762306079f, f, 0.129055038f), f, -0.132429808f), f, 0.141816348f), f, -0.166090563f);
  p = fma(fma(fma(fma(p, f, 0.200019851f), f, -0.250015855f), f, 0.333333254f), f, -0.499999881f);
  F n = float(k);
  F r = fma(n, 0.693145752f, fma(n, 1.42860677e-06f, fma(f * f, p, f)));
  v = ok ? r : log_special_f32(x, r);
  #else
  v = log_f32(x);
  #endif
  return v;
}
// 1 / (1 + e) and e / (1 + e) with e = e^-|x|.
FN F logistic_f32_narrow(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F e = exponential_weight_f32(-magnitude_f32(x));
  F i = inverse_middle_f32(1.0f + e);
  v = is_negative_f32(x) ? e * i : i;
  #else
  v = logistic_f32(x);
  #endif
  return v;
}
// 1 - 2e / (1 + e) with e = e^-2|x|; next to 0 a polynomial, 2^-27.8.
FN F tanh_f32_narrow(float x) {
  F v;
  #ifdef VXLA_FUSED_F32
  F m = magnitude_f32(x);
  F e = exponential_weight_f32(-2.0f * m);
  F r = fma(-2.0f * e, inverse_middle_f32(1.0f + e), 1.0f);
  F u = m * m;
  F p = fma(fma(fma(fma(-0.00570498267f, u, 0.0206390843f), u, -0.0537397154f), u, 0.133314416f), u, -0.333332807f);
  v = copysign_f32(m < 0.625f ? fma(m * u, p, m) : r, x);
  #else
  v = tanh_f32(x);
  #endif
  return v;
}
FN F erf_f32_narrow(float x) {
  return erf_by_fma_f32(x);
}
