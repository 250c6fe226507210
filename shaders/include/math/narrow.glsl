// Floats narrower than 32 bits, carried in f32: rounding to the nearest representable value (ties to even, as
// core/data/float_formats.h has overflow and NaN), storage bits in and out, all in integers. Correctly rounded, exact.

// a rounded to a significand of mantissa_bits + 1 bits whose last place weighs at least 2^(least - mantissa_bits); over
// where the magnitude then exceeds greatest; the sign of zero kept. least >= -30.
FN F round_narrow_f32(float a, int mantissa_bits, int least, float greatest, float over) {
  uint b = floatBitsToUint(a);
  int e = int((b >> 23) & 0xffu);
  int below = least + 127 - e;
  int drop = 23 - mantissa_bits + (below > 0 ? below : 0);
  bool none = drop > 24;
  uint d = uint(none ? 24 : drop);
  uint m = (b & 0x007fffffu) | 0x00800000u;
  uint r = ((m + ((1u << (d - 1u)) - 1u + ((m >> d) & 1u))) >> d) << d;
  F v = none ? 0.0f : float(r) * pow2_f32(e > 250 ? 127 : (e < 30 ? -126 : e - 150));
  F c = v > greatest || e > 250 ? over : v;
  return is_nan_f32(a) ? nan_f32() : copysign_f32(c, is_nan_f32(c) ? 1.0f : a);
}
// The value of a magnitude's bits.
FN F decode_narrow_f32(uint magnitude, int mantissa_bits, int bias) {
  uint e = magnitude >> uint(mantissa_bits);
  F normal = uintBitsToFloat((magnitude << uint(23 - mantissa_bits)) + (uint(127 - bias) << 23));
  F small = float(magnitude) * pow2_f32(1 - bias - mantissa_bits);
  return e == 0u ? small : normal;
}
// The magnitude's bits of a representable finite value.
FN uint encode_narrow_f32(float a, int mantissa_bits, int bias) {
  uint b = floatBitsToUint(a) & 0x7fffffffu;
  uint normal = (b >> uint(23 - mantissa_bits)) - (uint(127 - bias) << uint(mantissa_bits));
  uint small = uint(uintBitsToFloat(b) * pow2_f32(bias + mantissa_bits - 1));
  return int(b >> 23) - 127 < 1 - bias ? small : normal;
}

// The upper mantissa_bits of a NaN's payload, so that a NaN which is only moved keeps its bits; quiet where they are
// zero.
FN uint nan_payload_f32(float a, int mantissa_bits) {
  uint payload = (floatBitsToUint(a) & 0x007fffffu) >> uint(23 - mantissa_bits);
  return payload == 0u ? 1u << uint(mantissa_bits - 1) : payload;
}

// Where the device's own conversions of f16 round right (DeviceFacts::native_f16) they are used, the same bits in a
// few instructions. What they make of a NaN is the driver's affair, so NaNs go by integers there too.
FN F round_f16(float a) {
  F r;
  #ifdef VXLA_NATIVE_F16
  r = is_nan_f32(a) ? nan_f32() : NATIVE_ROUND_F16(a);
  #else
  r = round_narrow_f32(a, 10, -14, 65504.0f, inf_f32());
  #endif
  return r;
}
FN F decode_f16(uint bits) {
  uint m = bits & 0x7fffu;
  F r;
  #ifdef VXLA_NATIVE_F16
  F nan = uintBitsToFloat(uint(int(bits << 16) >> 3) | 0x70000000u);
  r = m > 0x7c00u ? nan : NATIVE_F16_VALUE(bits, x);
  #else
  F v = decode_narrow_f32(m, 10, 15);
  F s = m < 0x7c00u ? v : uintBitsToFloat(0x7f800000u | ((m & 0x3ffu) << 13));
  r = uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x8000u) << 16));
  #endif
  return r;
}
// The f16 in the lower half of a word, whatever the upper one holds, for operands of what is rounded afterwards: one
// NaN is as good as another there.
FN F decode_any_nan_f16(uint word) {
  F r;
  #ifdef VXLA_NATIVE_F16
  r = NATIVE_F16_VALUE(word, x);
  #else
  r = decode_f16(word & 0xffffu);
  #endif
  return r;
}
// The same of the upper half.
FN F decode_upper_any_nan_f16(uint word) {
  F r;
  #ifdef VXLA_NATIVE_F16
  r = NATIVE_F16_VALUE(word, y);
  #else
  r = decode_f16(word >> 16);
  #endif
  return r;
}
// Rounds first, so any f32 may be given.
FN uint encode_f16(float a) {
  uint r;
  #ifdef VXLA_NATIVE_F16
  uint kept = ((floatBitsToUint(a) >> 16) & 0x8000u) | 0x7c00u | nan_payload_f32(a, 10);
  r = is_nan_f32(a) ? kept : NATIVE_F16_PAIR(a, 0.0f) & 0xffffu;
  #else
  F v = round_f16(a);
  uint sign = (floatBitsToUint(v) >> 31) << 15;
  bool special = !is_finite_f32(v);
  uint m = encode_narrow_f32(special ? 0.0f : v, 10, 15);
  uint nan = ((floatBitsToUint(a) >> 31) << 15) | 0x7c00u | nan_payload_f32(a, 10);
  uint inf = sign | 0x7c00u;
  r = is_nan_f32(v) ? nan : (special ? inf : sign | m);
  #endif
  return r;
}
// A word of two f16 with the NaN that functions give in the place of any other (backend/vulkan/codegen/passes/pack_halves.h).
FN uint canonical_nans_f16(uint word) {
  uint low = word & 0xffffu;
  uint high = word >> 16;
  low = (low & 0x7fffu) > 0x7c00u ? 0x7e00u : low;
  high = (high & 0x7fffu) > 0x7c00u ? 0x7e00u : high;
  return low | (high << 16);
}
// A word of two values that round_f16 gave, low in its lower half. The one NaN among those is none that conversions
// change, but where a probe found that they do.
FN uint encode_rounded_pair_f16(float low, float high) {
  uint r;
  #ifdef VXLA_NATIVE_F16
  r = NATIVE_F16_PAIR(low, high);
  #ifdef VXLA_OTHER_F16_NAN
  r = canonical_nans_f16(r);
  #endif
  #else
  r = encode_f16(low) | (encode_f16(high) << 16);
  #endif
  return r;
}
// The same of numbers that are not rounded yet, none of them NaN (backend/vulkan/codegen/passes/pack_roundings.h).
FN uint encode_number_pair_f16(float low, float high) {
  uint r;
  #ifdef VXLA_NATIVE_F16
  r = NATIVE_F16_PAIR(low, high);
  #else
  r = encode_rounded_pair_f16(round_f16(low), round_f16(high));
  #endif
  return r;
}
FN F round_f8e5m2(float a) {
  return round_narrow_f32(a, 2, -14, 57344.0f, inf_f32());
}
FN F decode_f8e5m2(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 2, 15);
  F s = m < 0x7cu ? v : uintBitsToFloat(0x7f800000u | ((m & 0x3u) << 21));
  return uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e5m2(float a) {
  F r = round_f8e5m2(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 2, 15);
  uint nan = ((floatBitsToUint(a) >> 31) << 7) | 0x7cu | nan_payload_f32(a, 2);
  uint inf = sign | 0x7cu;
  return is_nan_f32(r) ? nan : (special ? inf : sign | m);
}
FN F round_f8e4m3(float a) {
  return round_narrow_f32(a, 3, -6, 240.0f, inf_f32());
}
FN F decode_f8e4m3(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 3, 7);
  F s = m < 0x78u ? v : uintBitsToFloat(0x7f800000u | ((m & 0x7u) << 20));
  return uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e4m3(float a) {
  F r = round_f8e4m3(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 3, 7);
  uint nan = ((floatBitsToUint(a) >> 31) << 7) | 0x78u | nan_payload_f32(a, 3);
  uint inf = sign | 0x78u;
  return is_nan_f32(r) ? nan : (special ? inf : sign | m);
}
FN F round_f8e3m4(float a) {
  return round_narrow_f32(a, 4, -2, 15.5f, inf_f32());
}
FN F decode_f8e3m4(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 4, 3);
  F s = m < 0x70u ? v : uintBitsToFloat(0x7f800000u | ((m & 0xfu) << 19));
  return uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e3m4(float a) {
  F r = round_f8e3m4(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 4, 3);
  uint nan = ((floatBitsToUint(a) >> 31) << 7) | 0x70u | nan_payload_f32(a, 4);
  uint inf = sign | 0x70u;
  return is_nan_f32(r) ? nan : (special ? inf : sign | m);
}
FN F round_f8e4m3fn(float a) {
  return round_narrow_f32(a, 3, -6, 448.0f, nan_f32());
}
FN F decode_f8e4m3fn(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 3, 7);
  F s = m == 0x7fu ? nan_f32() : v;
  return uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e4m3fn(float a) {
  F r = round_f8e4m3fn(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 3, 7);
  uint nan = ((floatBitsToUint(a) >> 31) << 7) | 0x7fu;
  return special ? nan : sign | m;
}
// Bytes 0 and 1 of a word, f8, as two f16, whose exponents and mantissas have room for theirs.
FN uint pair_f16_of_f8e5m2(uint word) {
  return ((word << 8) & 0xff00u) | ((word << 16) & 0xff000000u);
}
FN uint pair_f16_of_f8e4m3fn(uint word) {
  uint r;
  #ifdef VXLA_NATIVE_F16
  // Of the same exponent and mantissa a f16 is 2^-8 of the f8, below the smallest normal number too. All ones are NaN: 480
  // by then, which one more bit of the exponent makes NaN.
  uint high = ((word << 8) & 0xff00u) | ((word << 16) & 0xff000000u);
  uint nan = (((high & 0x7f007f00u) + 0x01000100u) & 0x80008000u) >> 2;
  r = NATIVE_F16_SCALED((high & 0x80008000u) | ((high >> 1) & 0x3f803f80u), 256.0f) | nan;
  #else
  r = encode_f16(decode_f8e4m3fn(word & 0xffu)) | (encode_f16(decode_f8e4m3fn((word >> 8) & 0xffu)) << 16);
  #endif
  return r;
}
FN F round_f8e4m3b11fnuz(float a) {
  F r = round_narrow_f32(a, 3, -10, 30.0f, nan_f32());
  return r == 0.0f ? 0.0f : r;
}
FN F decode_f8e4m3b11fnuz(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 3, 11);
  F s = (bits & 0xffu) == 0x80u ? nan_f32() : v;
  return is_nan_f32(s) ? s : uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e4m3b11fnuz(float a) {
  F r = round_f8e4m3b11fnuz(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 3, 11);
  return special ? 0x80u : sign | m;
}
FN F round_f8e4m3fnuz(float a) {
  F r = round_narrow_f32(a, 3, -7, 240.0f, nan_f32());
  return r == 0.0f ? 0.0f : r;
}
FN F decode_f8e4m3fnuz(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 3, 8);
  F s = (bits & 0xffu) == 0x80u ? nan_f32() : v;
  return is_nan_f32(s) ? s : uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e4m3fnuz(float a) {
  F r = round_f8e4m3fnuz(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 3, 8);
  return special ? 0x80u : sign | m;
}
FN F round_f8e5m2fnuz(float a) {
  F r = round_narrow_f32(a, 2, -15, 57344.0f, nan_f32());
  return r == 0.0f ? 0.0f : r;
}
FN F decode_f8e5m2fnuz(uint bits) {
  uint m = bits & 0x7fu;
  F v = decode_narrow_f32(m, 2, 16);
  F s = (bits & 0xffu) == 0x80u ? nan_f32() : v;
  return is_nan_f32(s) ? s : uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x80u) << 24));
}
// Rounds first, so any f32 may be given.
FN uint encode_f8e5m2fnuz(float a) {
  F r = round_f8e5m2fnuz(a);
  uint sign = (floatBitsToUint(r) >> 31) << 7;
  bool special = !is_finite_f32(r);
  uint m = encode_narrow_f32(special ? 0.0f : r, 2, 16);
  return special ? 0x80u : sign | m;
}
FN F round_f4e2m1fn(float a) {
  F r = round_narrow_f32(a, 1, 0, 6.0f, 6.0f);
  return is_nan_f32(a) ? uintBitsToFloat(0x80000000u) : r;
}
FN F decode_f4e2m1fn(uint bits) {
  uint m = bits & 0x7u;
  F v = decode_narrow_f32(m, 1, 1);
  F s = v;
  return uintBitsToFloat(floatBitsToUint(s) | ((bits & 0x8u) << 28));
}
// Rounds first, so any f32 may be given.
FN uint encode_f4e2m1fn(float a) {
  F r = round_f4e2m1fn(a);
  uint sign = (floatBitsToUint(r) >> 31) << 3;
  return sign | encode_narrow_f32(r, 1, 1);
}
FN F round_f6e2m3fn(float a) {
  F r = round_narrow_f32(a, 3, 0, 7.5f, 7.5f);
  return is_nan_f32(a) ? uintBitsToFloat(0x80000000u) : r;
}
FN F decode_f6e2m3fn(uint bits) {
  F v = decode_narrow_f32(bits & 0x1fu, 3, 1);
  return uintBitsToFloat(floatBitsToUint(v) | ((bits & 0x20u) << 26));
}
// Rounds first, so any f32 may be given.
FN uint encode_f6e2m3fn(float a) {
  F r = round_f6e2m3fn(a);
  uint sign = (floatBitsToUint(r) >> 31) << 5;
  return sign | encode_narrow_f32(r, 3, 1);
}
FN F round_f6e3m2fn(float a) {
  F r = round_narrow_f32(a, 2, -2, 28.0f, 28.0f);
  return is_nan_f32(a) ? uintBitsToFloat(0x80000000u) : r;
}
FN F decode_f6e3m2fn(uint bits) {
  F v = decode_narrow_f32(bits & 0x1fu, 2, 3);
  return uintBitsToFloat(floatBitsToUint(v) | ((bits & 0x20u) << 26));
}
// Rounds first, so any f32 may be given.
FN uint encode_f6e3m2fn(float a) {
  F r = round_f6e3m2fn(a);
  uint sign = (floatBitsToUint(r) >> 31) << 5;
  return sign | encode_narrow_f32(r, 2, 3);
}
// bf16 is the upper half of an f32, denormals included.
FN F round_bf16(float a) {
  uint b = floatBitsToUint(a);
  uint r = b + 0x7fffu + ((b >> 16) & 1u);
  return uintBitsToFloat((is_nan_f32(a) ? 0x7fc00000u : r) & 0xffff0000u);  // a mask that encoding makes superfluous
}
// The bf16 in the lower half of a word, whatever the upper one holds.
FN F decode_bf16(uint word) {
  return uintBitsToFloat(word << 16);
}
FN F decode_upper_bf16(uint word) {
  return uintBitsToFloat(word & 0xffff0000u);
}
// Rounds first, so any f32 may be given. NaN keeps its sign and the payload's upper bits.
FN uint encode_bf16(float a) {
  uint b = floatBitsToUint(a);
  uint r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return is_nan_f32(a) ? ((b >> 31) << 15) | 0x7f80u | nan_payload_f32(a, 7) : r;
}
// A word of two values that round_bf16 gave, low in its lower half.
FN uint encode_rounded_pair_bf16(float low, float high) {
  return (floatBitsToUint(low) >> 16) | (floatBitsToUint(high) & 0xffff0000u);
}
// The same of numbers that are not rounded yet, none of them NaN (backend/vulkan/codegen/passes/pack_roundings.h).
FN uint encode_number_pair_bf16(float low, float high) {
  uint a = floatBitsToUint(low);
  uint b = floatBitsToUint(high);
  uint c = a + 0x7fffu + ((a >> 16) & 1u);
  uint d = b + 0x7fffu + ((b >> 16) & 1u);
  return (c >> 16) | (d & 0xffff0000u);
}
// f8e8m0fnu is 2^(bits - 127): no sign; 0xff is NaN, which zero, negative values and infinity become; ties go up.
FN uint encode_f8e8m0fnu(float a) {
  uint b = floatBitsToUint(a);
  // The f32 exponent rounded by the significand; denormals lie between 2^-149 and 2^-126, and 2^-127 has encoding 0.
  uint m = b & 0x007fffffu;
  uint e = (b >> 23) & 0xffu;
  uint r = e == 0u ? (m >= 0x00600000u ? 1u : 0u) : e + (m >> 22);
  bool bad = b == 0u || b >= 0x7f800000u;
  return bad || r > 254u ? 0xffu : r;
}
FN F decode_f8e8m0fnu(uint bits) {
  uint e = bits & 0xffu;
  return e == 0xffu ? nan_f32() : uintBitsToFloat(e == 0u ? 0x00400000u : e << 23);
}
FN F round_f8e8m0fnu(float a) {
  return decode_f8e8m0fnu(encode_f8e8m0fnu(a));
}

// reduce_precision_f32 for a format of its own exponent and mantissa bits and this bias, whose numbers end at greatest,
// with over beyond. a is one of the format's values; ties go by its bits, denormals have its last place.
FN F reduce_precision_narrow_f32(float a, int exponent_bits, int mantissa_bits, int own_exponent, int own_mantissa,
                                 int bias, float greatest, float over) {
  bool special = !is_finite_f32(a);
  uint m = encode_narrow_f32(special ? 0.0f : a, own_mantissa, bias);
  int drop = mantissa_bits < own_mantissa ? own_mantissa - mantissa_bits : 0;
  uint lsb = (m >> uint(drop)) & 1u;
  uint half_unit = drop > 0 ? (1u << uint(drop - 1)) - 1u + lsb : 0u;
  uint r = ((m + half_unit) >> uint(drop)) << uint(drop);
  F v = decode_narrow_f32(r, own_mantissa, bias);
  int e = int(r >> uint(own_mantissa)) - bias;
  bool narrow = exponent_bits < own_exponent;
  int wide = narrow ? (1 << (exponent_bits - 1)) - 1 : 0;
  bool beyond = v > greatest || (narrow && e > wide);
  F w = beyond ? over : (narrow && e <= -wide ? 0.0f : v);
  F nan = mantissa_bits > 0 ? a : over;
  return special ? (is_nan_f32(a) ? nan : a) : copysign_f32(w, is_nan_f32(w) ? w : a);
}
FN F reduce_precision_f16(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 5, 10, 15, 65504.0f, inf_f32());
}
FN F reduce_precision_f8e5m2(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 5, 2, 15, 57344.0f, inf_f32());
}
FN F reduce_precision_f8e4m3(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 4, 3, 7, 240.0f, inf_f32());
}
FN F reduce_precision_f8e3m4(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 3, 4, 3, 15.5f, inf_f32());
}
FN F reduce_precision_f8e4m3fn(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 4, 3, 7, 448.0f, nan_f32());
}
FN F reduce_precision_f8e4m3b11fnuz(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 4, 3, 11, 30.0f, nan_f32());
}
FN F reduce_precision_f8e4m3fnuz(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 4, 3, 8, 240.0f, nan_f32());
}
FN F reduce_precision_f8e5m2fnuz(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 5, 2, 16, 57344.0f, nan_f32());
}
FN F reduce_precision_f4e2m1fn(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 2, 1, 1, 6.0f, 6.0f);
}
FN F reduce_precision_f6e2m3fn(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 2, 3, 1, 7.5f, 7.5f);
}
FN F reduce_precision_f6e3m2fn(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_narrow_f32(a, exponent_bits, mantissa_bits, 3, 2, 3, 28.0f, 28.0f);
}
// The upper half of an f32, and powers of two, which have no mantissa to round.
FN F reduce_precision_bf16(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_f32(a, exponent_bits, mantissa_bits);
}
FN F reduce_precision_f8e8m0fnu(float a, int exponent_bits, int mantissa_bits) {
  return reduce_precision_f32(a, exponent_bits, 23);
}
