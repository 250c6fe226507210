#include "api/image_programs.h"

#include "core/builder/math.h"

namespace VXLA_NAMESPACE {
namespace {

double UnormScale(ElementType texel) { return texel == ElementType::kU8 ? 255 : 65535; }

XlaOp Channels(XlaOp image, int64_t begin, int64_t end) { return SliceInDim(image, begin, end, 1, kImageChannelAxis); }

// A function of the colours, which leaves a fourth channel alone.
template <typename Function>
XlaOp OnColours(XlaOp image, Function&& function) {
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

// 0 to 1; NaN is 0.
XlaOp Unit(XlaOp x) { return Select(IsNan(x), ZerosLike(x), Clamp(ZerosLike(x), x, FullLike(x, 1))); }

}  // namespace

Result<XlaComputation> TexelsToArray(const ImageArray& image) {
  XlaBuilder builder("texels_to_array");
  XlaOp x = Parameter(&builder, 0, image.texels);
  if (image.format.bgr) x = Swapped(x);
  if (IsFloating(image.shape.element_type())) {
    x = ConvertElementType(x, ElementType::kF32);
    if (!IsFloating(image.format.texel)) x = Div(x, FullLike(x, UnormScale(image.format.texel)));
    if (image.format.srgb) x = OnColours(x, SrgbDecoded);
    x = ConvertElementType(x, image.shape.element_type());
  }
  x = Channels(x, 0, FourDimensions(image.shape)[kImageChannelAxis]);
  return builder.Build(Reshape(x, {image.shape.dimensions().begin(), image.shape.dimensions().end()}));
}

Result<XlaComputation> ArrayToTexels(const ImageArray& image) {
  XlaBuilder builder("array_to_texels");
  const std::vector<int64_t> dimensions = FourDimensions(image.shape);
  XlaOp x = Reshape(Parameter(&builder, 0, image.shape), dimensions);
  const double scale = UnormScale(image.format.texel);
  const bool converts = IsFloating(image.shape.element_type());
  if (converts) {
    x = ConvertElementType(x, ElementType::kF32);
    if (!IsFloating(image.format.texel)) {
      x = Unit(x);
      if (image.format.srgb) x = OnColours(x, SrgbEncoded);
      x = RoundNearestEven(Mul(x, FullLike(x, scale)));
    }
    x = ConvertElementType(x, image.format.texel);
  }
  if (dimensions[kImageChannelAxis] < image.format.channels) {
    const double one = IsFloating(image.format.texel) ? 1 : scale;
    x = PadInDim(x, ConstantScalar(&builder, image.format.texel, one), kImageChannelAxis, 0, 1);
  }
  if (image.format.bgr) x = Swapped(x);
  return builder.Build(x);
}

}  // namespace VXLA_NAMESPACE
