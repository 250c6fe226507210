#include "api/image_programs.h"

#include <cmath>

#include "core/builder/math.h"

namespace VXLA_NAMESPACE {
namespace {

bool Scales(TexelNumbers numbers) { return numbers != TexelNumbers::kFloat && numbers != TexelNumbers::kInteger; }

int BitsOf(const ImageFormat& format, int channel) {
  return format.packed() ? format.bits[channel] : BitWidth(format.texel);
}

// The number that stands for 1.
double One(const ImageFormat& format, int channel) {
  if (!Scales(format.numbers)) return 1;
  return std::ldexp(1.0, BitsOf(format, channel) - (format.numbers == TexelNumbers::kSnorm ? 1 : 0)) - 1;
}

XlaOp Channels(XlaOp image, int64_t begin, int64_t end) { return SliceInDim(image, begin, end, 1, kImageChannelAxis); }

// A function of the colours, which leaves a fourth channel alone.
XlaOp OnColours(XlaOp image, auto&& function) {
  const int64_t channels = image.shape().dimensions()[kImageChannelAxis];
  if (channels <= kImageColours) return function(image);
  return ConcatInDim(image.builder(),
                     {function(Channels(image, 0, kImageColours)), Channels(image, kImageColours, channels)},
                     kImageChannelAxis);
}

// Of the first and the third channel.
XlaOp Swapped(XlaOp image) {
  return ConcatInDim(image.builder(),
                     {Channels(image, 2, 3), Channels(image, 1, 2), Channels(image, 0, 1), Channels(image, 3, 4)},
                     kImageChannelAxis);
}

// IEC 61966-2-1, as Vulkan's specification of data formats has it.
XlaOp SrgbDecoded(XlaOp x) {
  const auto like = [&](double value) { return FullLike(x, value); };
  return Select(Le(x, like(0.04045)), Div(x, like(12.92)), Pow(Div(Add(x, like(0.055)), like(1.055)), like(2.4)));
}
XlaOp SrgbEncoded(XlaOp x) {
  const auto like = [&](double value) { return FullLike(x, value); };
  return Select(Le(x, like(0.0031308)), Mul(x, like(12.92)),
                Sub(Mul(like(1.055), Pow(Max(x, like(0.0031308)), like(1 / 2.4))), like(0.055)));
}

// From `least` to 1; NaN is 0.
XlaOp CutOff(XlaOp x, double least) {
  return Select(IsNan(x), ZerosLike(x), Clamp(FullLike(x, least), x, FullLike(x, 1)));
}

// Each channel of the image by the number that stands for 1 in it.
XlaOp ByOnes(const ImageFormat& format, XlaOp image, XlaOp (*function)(XlaOp, XlaOp)) {
  const int64_t channels = image.shape().dimensions()[kImageChannelAxis];
  const auto one = [&](int64_t channel) { return One(format, static_cast<int>(channel)); };
  if (one(channels - 1) == one(0)) return function(image, FullLike(image, one(0)));
  std::vector<XlaOp> parts;
  for (int64_t c = 0; c < channels; ++c) {
    const XlaOp part = Channels(image, c, c + 1);
    parts.push_back(function(part, FullLike(part, one(c))));
  }
  return ConcatInDim(image.builder(), parts, kImageChannelAxis);
}
XlaOp Divided(XlaOp x, XlaOp by) { return Div(x, by); }
XlaOp Multiplied(XlaOp x, XlaOp by) { return Mul(x, by); }

// Floats of 11 and 10 bits are f16 without sign and with fewer bits of mantissa.
constexpr int kExponentBits = 5, kHalfMantissa = 10, kHalfBias = 15, kSingleMantissa = 23, kSingleBias = 127;

// The bits of u32 as f32.
XlaOp SmallFloatDecoded(XlaOp bits, int mantissa) {
  const auto word = [&](uint32_t value) { return FullLike(bits, value); };
  const XlaOp half = ConvertElementType(ShiftLeft(bits, word(kHalfMantissa - mantissa)), ElementType::kU16);
  return ConvertElementType(BitcastConvertType(half, ElementType::kF16), ElementType::kF32);
}

// Vulkan, "Unsigned 11-Bit Floating-Point Numbers": to the nearest one, below 0 to 0, beyond the largest to that.
XlaOp SmallFloatEncoded(XlaOp x, int mantissa) {
  const XlaOp bits = BitcastConvertType(x, ElementType::kU32);
  const auto word = [&](uint32_t value) { return FullLike(bits, value); };
  const auto like = [&](double value) { return FullLike(x, value); };
  const double largest = std::ldexp(2 - std::ldexp(1.0, -mantissa), kHalfBias);
  const XlaOp kept = Clamp(like(0), x, like(largest));
  // Denormal numbers are multiples of the smallest one; rounded up to a normal one the bits are right, too.
  const int smallest = 1 - kHalfBias - mantissa;
  const XlaOp denormal =
      ConvertElementType(RoundNearestEven(Mul(kept, like(std::ldexp(1.0, -smallest)))), ElementType::kU32);
  // Others round in the bits that go, and a carry reaches the exponent.
  const int gone = kSingleMantissa - mantissa;
  const XlaOp kept_bits = BitcastConvertType(kept, ElementType::kU32);
  const XlaOp odd = And(ShiftRightLogical(kept_bits, word(gone)), word(1));
  const XlaOp rounded = ShiftRightLogical(Add(kept_bits, Add(odd, word((uint32_t{1} << (gone - 1)) - 1))), word(gone));
  const XlaOp normal = Sub(rounded, word(static_cast<uint32_t>(kSingleBias - kHalfBias) << mantissa));
  const uint32_t infinity = ((uint32_t{1} << kExponentBits) - 1) << mantissa;
  const XlaOp finite = Select(Lt(kept, like(std::ldexp(1.0, 1 - kHalfBias))), denormal, normal);
  const XlaOp bounded = Select(Eq(bits, word(0x7f800000)), word(infinity), finite);
  return Select(IsNan(x), word(infinity + 1), bounded);
}

// Words as a number, or the bits of one, for each channel.
XlaOp Unpacked(const ImageFormat& format, XlaOp words) {
  std::vector<XlaOp> parts;
  uint32_t offset = 0;
  for (int c = 0; c < format.channels; ++c) {
    const int bits = BitsOf(format, c);
    const XlaOp part =
        And(ShiftRightLogical(words, FullLike(words, offset)), FullLike(words, (uint64_t{1} << bits) - 1));
    parts.push_back(format.numbers == TexelNumbers::kFloat ? SmallFloatDecoded(part, bits - kExponentBits)
                                                           : ConvertElementType(part, ElementType::kF32));
    offset += static_cast<uint32_t>(bits);
  }
  return ConcatInDim(words.builder(), parts, kImageChannelAxis);
}

XlaOp Packed(const ImageFormat& format, XlaOp image) {
  XlaOp words;
  uint32_t offset = 0;
  for (int c = 0; c < format.channels; ++c) {
    const int bits = BitsOf(format, c);
    const XlaOp channel = Channels(image, c, c + 1);
    const XlaOp part = format.numbers == TexelNumbers::kFloat ? SmallFloatEncoded(channel, bits - kExponentBits)
                                                              : ConvertElementType(channel, ElementType::kU32);
    const XlaOp moved = ShiftLeft(part, FullLike(part, offset));
    words = c == 0 ? moved : Or(words, moved);
    offset += static_cast<uint32_t>(bits);
  }
  return words;
}

}  // namespace

Result<XlaComputation> TexelsToArray(const ImageArray& image) {
  XlaBuilder builder("texels_to_array");
  const ImageFormat& format = image.format;
  XlaOp x = Parameter(&builder, 0, image.texels);
  if (format.packed()) x = Unpacked(format, x);
  if (IsFloating(image.shape.element_type())) {
    x = ConvertElementType(x, ElementType::kF32);
    if (Scales(format.numbers)) x = ByOnes(format, x, Divided);
    if (format.numbers == TexelNumbers::kSnorm) x = Max(x, FullLike(x, -1));  // of two numbers for it
    if (format.bgr) x = Swapped(x);
    if (format.numbers == TexelNumbers::kSrgb) x = OnColours(x, SrgbDecoded);
    x = ConvertElementType(x, image.shape.element_type());
  } else if (format.bgr) {
    x = Swapped(x);
  }
  x = Channels(x, 0, FourDimensions(image.shape)[kImageChannelAxis]);
  return builder.Build(Reshape(x, {image.shape.dimensions().begin(), image.shape.dimensions().end()}));
}

Result<XlaComputation> ArrayToTexels(const ImageArray& image) {
  XlaBuilder builder("array_to_texels");
  const ImageFormat& format = image.format;
  const std::vector<int64_t> dimensions = FourDimensions(image.shape);
  XlaOp x = Reshape(Parameter(&builder, 0, image.shape), dimensions);
  const bool converts = IsFloating(image.shape.element_type());
  if (converts) x = ConvertElementType(x, ElementType::kF32);
  if (dimensions[kImageChannelAxis] < format.channels) {
    const double one = converts ? 1 : One(format, kImageColours);
    x = PadInDim(x, ConstantScalar(&builder, x.shape().element_type(), one), kImageChannelAxis, 0, 1);
  }
  if (converts) {
    if (Scales(format.numbers) || format.depth) x = CutOff(x, format.numbers == TexelNumbers::kSnorm ? -1 : 0);
    if (format.numbers == TexelNumbers::kSrgb) x = OnColours(x, SrgbEncoded);
    if (Scales(format.numbers)) x = RoundNearestEven(ByOnes(format, x, Multiplied));
  }
  if (format.bgr) x = Swapped(x);
  x = format.packed() ? Packed(format, x) : ConvertElementType(x, format.texel);
  return builder.Build(x);
}

}  // namespace VXLA_NAMESPACE
