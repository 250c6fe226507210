// Floating-point formats narrower than 32 bits (bf16, f16, the f8 kinds, f4): exact decoding to double and correctly
// rounded (to nearest, ties to even) encoding from double. Formats and overflow rules are those of ml_dtypes, which XLA
// uses.
#pragma once

#include <cstdint>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {

// What the encodings at the top of the range mean.
enum class FloatSpecials : uint8_t {
  kIeee,          // infinities and NaNs as in IEEE 754: f16, bf16, f8e5m2, f8e4m3, f8e3m4
  kFiniteNan,     // "fn": no infinity; all ones below the sign is NaN, overflow gives NaN: f8e4m3fn
  kUnsignedZero,  // "fnuz": no infinity, no -0; only 0x80 is NaN, overflow gives NaN
  kFinite,        // f4e2m1fn and the f6 kinds: neither infinity nor NaN; overflow saturates, NaN becomes -0
  kExponent,      // f8e8m0fnu: 2^(bits - 127), no sign; 0xff is NaN, also for zero and overflow; ties go up
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;  // stored ones
  int bias;
  FloatSpecials specials;
};

// The format of a narrow float or of f32 and f64 (for limits); CHECKs that the type is floating.
const FloatFormat& FormatOf(ElementType type);

// One element of a type below 32 bits; the encoding sits in the low bits. A NaN of an IEEE kind keeps its payload's
// upper bits.
double DecodeNarrowFloat(ElementType type, uint32_t bits);
uint32_t EncodeNarrowFloat(ElementType type, double value);
// The same of any floating type.
double DecodeFloat(ElementType type, uint64_t bits);
uint64_t EncodeFloat(ElementType type, double value);

// The distance of the format's numbers in the binade of a finite value, of 0 the least number.
double UnitInLastPlace(const FloatFormat& format, double value);

// The largest finite value of a floating type.
double MaxFinite(ElementType type);
bool HasInfinity(ElementType type);

}  // namespace VXLA_NAMESPACE
