#include "core/data/float_formats.h"

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

constexpr std::pair<ElementType, FloatFormat> kFormats[] = {
    {ElementType::kF4E2M1FN, {2, 1, 1, FloatSpecials::kFinite}},
    {ElementType::kF6E2M3FN, {2, 3, 1, FloatSpecials::kFinite}},
    {ElementType::kF6E3M2FN, {3, 2, 3, FloatSpecials::kFinite}},
    {ElementType::kF8E3M4, {3, 4, 3, FloatSpecials::kIeee}},
    {ElementType::kF8E4M3, {4, 3, 7, FloatSpecials::kIeee}},
    {ElementType::kF8E4M3FN, {4, 3, 7, FloatSpecials::kFiniteNan}},
    {ElementType::kF8E4M3B11FNUZ, {4, 3, 11, FloatSpecials::kUnsignedZero}},
    {ElementType::kF8E4M3FNUZ, {4, 3, 8, FloatSpecials::kUnsignedZero}},
    {ElementType::kF8E5M2, {5, 2, 15, FloatSpecials::kIeee}},
    {ElementType::kF8E5M2FNUZ, {5, 2, 16, FloatSpecials::kUnsignedZero}},
    {ElementType::kF8E8M0FNU, {8, 0, 127, FloatSpecials::kExponent}},
    {ElementType::kF16, {5, 10, 15, FloatSpecials::kIeee}},
    {ElementType::kBF16, {8, 7, 127, FloatSpecials::kIeee}},
    {ElementType::kF32, {8, 23, 127, FloatSpecials::kIeee}},
    {ElementType::kF64, {11, 52, 1023, FloatSpecials::kIeee}},
};

// The largest encoding below the sign that is a finite number.
uint64_t MaxFiniteBits(const FloatFormat& f) {
  const uint64_t all = (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return all - (uint64_t{1} << f.mantissa_bits);
    case FloatSpecials::kFiniteNan:
    case FloatSpecials::kExponent:
      return all - 1;
    case FloatSpecials::kUnsignedZero:
    case FloatSpecials::kFinite:
      return all;
  }
  return all;
}

double DecodeMagnitude(const FloatFormat& f, uint64_t bits) {
  const int exponent = static_cast<int>(bits >> f.mantissa_bits);
  const double fraction = static_cast<double>(bits & ((uint64_t{1} << f.mantissa_bits) - 1));
  if (exponent == 0 && f.specials != FloatSpecials::kExponent)
    return std::ldexp(fraction, 1 - f.bias - f.mantissa_bits);
  return std::ldexp(std::ldexp(1.0, f.mantissa_bits) + fraction, exponent - f.bias - f.mantissa_bits);
}

// The IEEE NaN (quiet, no payload) or the format's own one.
uint32_t NanBits(const FloatFormat& f, bool negative) {
  const uint32_t sign = uint32_t{1} << (f.exponent_bits + f.mantissa_bits);
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return (negative ? sign : 0) | (sign - (uint32_t{1} << f.mantissa_bits)) | (uint32_t{1} << (f.mantissa_bits - 1));
    case FloatSpecials::kFiniteNan:
      return (negative ? sign : 0) | (sign - 1);
    case FloatSpecials::kUnsignedZero:
    case FloatSpecials::kFinite:
      return sign;
    case FloatSpecials::kExponent:
      return 0xff;
  }
  return sign;
}

// Zero, negative values and infinity have no encoding; what lies below the range becomes its least value.
uint32_t EncodeExponentOnly(const FloatFormat& f, double value) {
  if (!(value > 0) || std::isinf(value)) return NanBits(f, false);
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  // Ties (1.5 * 2^k) go up: the one significand bit, always set, makes the lower neighbour the odd one.
  const int bits = exponent - 1 + f.bias + (fraction >= 0.75);
  if (bits < 0) return 0;
  return bits > 254 ? NanBits(f, false) : static_cast<uint32_t>(bits);
}

}  // namespace

const FloatFormat& FormatOf(ElementType type) {
  // By type, for elements ask one by one.
  static constexpr auto kByType = [] {
    std::array<const FloatFormat*, 256> formats{};
    for (const auto& [of, format] : kFormats) formats[static_cast<size_t>(of)] = &format;
    return formats;
  }();
  const FloatFormat* const format = kByType[static_cast<size_t>(type)];
  VXLA_CHECK(format != nullptr, "not a floating type");
  return *format;
}

double DecodeNarrowFloat(ElementType type, uint32_t bits) {
  const FloatFormat& f = FormatOf(type);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.specials == FloatSpecials::kExponent) return bits == 0xff ? nan : DecodeMagnitude(f, bits);
  const uint32_t sign = uint32_t{1} << (f.exponent_bits + f.mantissa_bits);
  const uint32_t magnitude = bits & (sign - 1);
  const bool negative = (bits & sign) != 0;
  if (f.specials == FloatSpecials::kUnsignedZero && bits == sign) return nan;
  if (magnitude > MaxFiniteBits(f)) {
    if (f.specials != FloatSpecials::kIeee) return negative ? -nan : nan;
    const uint64_t payload = magnitude & ((uint64_t{1} << f.mantissa_bits) - 1);
    // The payload goes below the double's quiet bit, which is set: the C library treats signalling NaNs otherwise.
    const uint64_t special =
        payload == 0 ? uint64_t{0x7ff0} << 48 : uint64_t{0x7ff8} << 48 | payload << (51 - f.mantissa_bits);
    return std::bit_cast<double>((uint64_t{negative} << 63) | special);
  }
  const double value = DecodeMagnitude(f, magnitude);
  return negative ? -value : value;
}

uint32_t EncodeNarrowFloat(ElementType type, double value) {
  const FloatFormat& f = FormatOf(type);
  if (f.specials == FloatSpecials::kExponent) return EncodeExponentOnly(f, value);
  const bool negative = std::signbit(value);
  const uint32_t sign = uint32_t{1} << (f.exponent_bits + f.mantissa_bits);
  const uint32_t sign_bits = negative ? sign : 0;
  if (std::isnan(value)) {
    if (f.specials != FloatSpecials::kIeee) return NanBits(f, negative);
    const uint64_t all = (uint64_t{1} << f.mantissa_bits) - 1;
    const uint32_t payload = static_cast<uint32_t>(std::bit_cast<uint64_t>(value) >> (51 - f.mantissa_bits) & all);
    return payload == 0 ? NanBits(f, negative) : sign_bits | static_cast<uint32_t>(MaxFiniteBits(f) + 1) | payload;
  }
  const double magnitude = std::fabs(value);
  uint64_t bits = 0;
  if (!std::isinf(magnitude) && magnitude != 0) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);                                       // magnitude in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;  // weight of the last mantissa bit
    // Exact: a double has 53 bits and no scaling here reaches its subnormals; nearbyint rounds ties to even.
    const double scaled = std::nearbyint(std::ldexp(magnitude, -unit));
    const uint64_t mantissa = static_cast<uint64_t>(scaled);
    const int biased = unit + f.mantissa_bits + f.bias;  // at least 1
    // mantissa carries the hidden one (absent for subnormals), so adding it moves the exponent by itself.
    bits = (static_cast<uint64_t>(biased - 1) << f.mantissa_bits) + mantissa;
  }
  const uint64_t max_finite = MaxFiniteBits(f);
  if (std::isinf(magnitude) || bits > max_finite) {
    switch (f.specials) {
      case FloatSpecials::kIeee:
        return sign_bits | static_cast<uint32_t>(max_finite + 1);
      case FloatSpecials::kFinite:
        return sign_bits | static_cast<uint32_t>(max_finite);
      default:
        return NanBits(f, negative);
    }
  }
  if (f.specials == FloatSpecials::kUnsignedZero && bits == 0) return 0;
  return sign_bits | static_cast<uint32_t>(bits);
}

double DecodeFloat(ElementType type, uint64_t bits) {
  if (type == ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == ElementType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return DecodeNarrowFloat(type, static_cast<uint32_t>(bits));
}

uint64_t EncodeFloat(ElementType type, double value) {
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == ElementType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return EncodeNarrowFloat(type, value);
}

double UnitInLastPlace(const FloatFormat& format, double value) {
  const int exponent = value == 0 ? 1 - format.bias : std::max(std::ilogb(value), 1 - format.bias);
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

double MaxFinite(ElementType type) {
  if (type == ElementType::kF64) return DBL_MAX;
  const FloatFormat& f = FormatOf(type);
  return DecodeMagnitude(f, MaxFiniteBits(f));
}

bool HasInfinity(ElementType type) { return FormatOf(type).specials == FloatSpecials::kIeee; }

}  // namespace VXLA_NAMESPACE
