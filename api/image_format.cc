#include "api/image_format.h"

#include <algorithm>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

constexpr ImageFormat kFormats[] = {
    {"R8_UNORM", VK_FORMAT_R8_UNORM, 1, ElementType::kU8},
    {"R8G8_UNORM", VK_FORMAT_R8G8_UNORM, 2, ElementType::kU8},
    {"R8G8B8A8_UNORM", VK_FORMAT_R8G8B8A8_UNORM, 4, ElementType::kU8},
    {"B8G8R8A8_UNORM", VK_FORMAT_B8G8R8A8_UNORM, 4, ElementType::kU8, false, true},
    {"R8_SRGB", VK_FORMAT_R8_SRGB, 1, ElementType::kU8, true},
    {"R8G8_SRGB", VK_FORMAT_R8G8_SRGB, 2, ElementType::kU8, true},
    {"R8G8B8A8_SRGB", VK_FORMAT_R8G8B8A8_SRGB, 4, ElementType::kU8, true},
    {"B8G8R8A8_SRGB", VK_FORMAT_B8G8R8A8_SRGB, 4, ElementType::kU8, true, true},
    {"R16_UNORM", VK_FORMAT_R16_UNORM, 1, ElementType::kU16},
    {"R16G16_UNORM", VK_FORMAT_R16G16_UNORM, 2, ElementType::kU16},
    {"R16G16B16A16_UNORM", VK_FORMAT_R16G16B16A16_UNORM, 4, ElementType::kU16},
    {"R16_SFLOAT", VK_FORMAT_R16_SFLOAT, 1, ElementType::kF16},
    {"R16G16_SFLOAT", VK_FORMAT_R16G16_SFLOAT, 2, ElementType::kF16},
    {"R16G16B16A16_SFLOAT", VK_FORMAT_R16G16B16A16_SFLOAT, 4, ElementType::kF16},
    {"R32_SFLOAT", VK_FORMAT_R32_SFLOAT, 1, ElementType::kF32},
    {"R32G32_SFLOAT", VK_FORMAT_R32G32_SFLOAT, 2, ElementType::kF32},
    {"R32G32B32A32_SFLOAT", VK_FORMAT_R32G32B32A32_SFLOAT, 4, ElementType::kF32},
};

}  // namespace

std::vector<int64_t> FourDimensions(const Shape& shape) {
  std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  if (dimensions.size() == 2) dimensions.push_back(1);
  if (dimensions.size() == 3) dimensions.insert(dimensions.begin(), 1);
  return dimensions;
}

Result<VkFormat> FormatNamed(const std::string& asker, std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ImageFormat::name);
  if (found != std::end(kFormats)) return found->format;
  std::string names;
  for (const ImageFormat& format : kFormats) names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return InvalidArgument("{}: '{}' is none of {}", asker, name, names);
}

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
  const bool three = dimensions[kImageChannelAxis] == kImageColours && found->channels == 4;
  if (dimensions[kImageChannelAxis] != found->channels && !three) {
    return InvalidArgument("{}: {} has {} channels, VkFormat {} has {}", name, shape.ToString(),
                           dimensions[kImageChannelAxis], static_cast<int>(format), found->channels);
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

}  // namespace VXLA_NAMESPACE
