#include "api/image_format.h"

#include <algorithm>
#include <vector>

#include "core/builder/math.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr ImageFormat kFormats[] = {
    {VK_FORMAT_R8_UNORM, 1, ElementType::kU8},
    {VK_FORMAT_R8G8_UNORM, 2, ElementType::kU8},
    {VK_FORMAT_R8G8B8A8_UNORM, 4, ElementType::kU8},
    {VK_FORMAT_B8G8R8A8_UNORM, 4, ElementType::kU8, false, true},
    {VK_FORMAT_R8_SRGB, 1, ElementType::kU8, true},
    {VK_FORMAT_R8G8_SRGB, 2, ElementType::kU8, true},
    {VK_FORMAT_R8G8B8A8_SRGB, 4, ElementType::kU8, true},
    {VK_FORMAT_B8G8R8A8_SRGB, 4, ElementType::kU8, true, true},
    {VK_FORMAT_R16_UNORM, 1, ElementType::kU16},
    {VK_FORMAT_R16G16_UNORM, 2, ElementType::kU16},
    {VK_FORMAT_R16G16B16A16_UNORM, 4, ElementType::kU16},
    {VK_FORMAT_R16_SFLOAT, 1, ElementType::kF16},
    {VK_FORMAT_R16G16_SFLOAT, 2, ElementType::kF16},
    {VK_FORMAT_R16G16B16A16_SFLOAT, 4, ElementType::kF16},
    {VK_FORMAT_R32_SFLOAT, 1, ElementType::kF32},
    {VK_FORMAT_R32G32_SFLOAT, 2, ElementType::kF32},
    {VK_FORMAT_R32G32B32A32_SFLOAT, 4, ElementType::kF32},
};

constexpr int64_t kColours = 3, kChannelAxis = 3;

double UnormScale(ElementType texel) { return texel == ElementType::kU8 ? 255 : 65535; }

XlaOp Channels(XlaOp image, int64_t begin, int64_t end) { return SliceInDim(image, begin, end, 1, kChannelAxis); }

// A function of the colours, which leaves a fourth channel alone.
template <typename Function>
XlaOp OnColours(XlaOp image, Function&& function) {
  const int64_t channels = image.shape().dimensions()[kChannelAxis];
  if (channels <= kColours) return function(image);
  return ConcatInDim(image.builder(), {function(Channels(image, 0, kColours)), Channels(image, kColours, channels)},
                     kChannelAxis);
}

// Of the first and the third channel.
XlaOp Swapped(XlaOp image) {
  return ConcatInDim(image.builder(),
                     {Channels(image, 2, 3), Channels(image, 1, 2), Channels(image, 0, 1), Channels(image, 3, 4)},
                     kChannelAxis);
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

std::vector<int64_t> FourDimensions(const Shape& shape) {
  std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  if (dimensions.size() == 2) dimensions.push_back(1);
  if (dimensions.size() == 3) dimensions.insert(dimensions.begin(), 1);
  return dimensions;
}

}  // namespace

Result<ImageArray> ArrayOfImage(const std::string& name, const Shape& shape, VkFormat format) {
  const auto found = std::ranges::find(kFormats, format, &ImageFormat::format);
  if (found == std::end(kFormats))
    return InvalidArgument("{}: VkFormat {} is none that an array can have", name, static_cast<int>(format));
  const std::vector<int64_t> dimensions = FourDimensions(shape);
  if (shape.rank() < 2 || shape.rank() > 4 || std::ranges::find(dimensions, 0) != dimensions.end() ||
      std::ranges::any_of(dimensions, [](int64_t each) { return each > UINT32_MAX; })) {
    return InvalidArgument(
        "{}: {} is no image: [height, width], [height, width, channels], [layers, height, width, "
        "channels]",
        name, shape.ToString());
  }
  const bool three = dimensions[kChannelAxis] == kColours && found->channels == 4;
  if (dimensions[kChannelAxis] != found->channels && !three) {
    return InvalidArgument("{}: {} has {} channels, VkFormat {} has {}", name, shape.ToString(),
                           dimensions[kChannelAxis], static_cast<int>(format), found->channels);
  }
  const bool same_type = shape.element_type() == found->texel;
  if (!same_type && (!IsFloating(shape.element_type()))) {
    return InvalidArgument("{}: {} cannot hold texels of VkFormat {}: a floating-point type or {}", name,
                           shape.ToString(), static_cast<int>(format), ElementTypeName(found->texel));
  }
  ImageArray image = {*found, shape,
                      Shape(found->texel, {dimensions[0], dimensions[1], dimensions[2], found->channels})};
  image.same_bytes = same_type && !three && !found->bgr;
  return image;
}

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
  x = Channels(x, 0, FourDimensions(image.shape)[kChannelAxis]);
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
  if (dimensions[kChannelAxis] < image.format.channels) {
    const double one = IsFloating(image.format.texel) ? 1 : scale;
    x = PadInDim(x, ConstantScalar(&builder, image.format.texel, one), kChannelAxis, 0, 1);
  }
  if (image.format.bgr) x = Swapped(x);
  return builder.Build(x);
}

}  // namespace VXLA_NAMESPACE
