#include "api/image_format.h"

#include <fmt/format.h>

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

// The channels of a texel share a word.
constexpr ImageFormat Packed(const char* name, VkFormat format, TexelNumbers numbers, std::array<int, 4> bits,
                             bool bgr) {
  return {name, format, bits[3] != 0 ? 4 : 3, ElementType::kU32, numbers, bgr, bits};
}
// `bits` of a word; 0: all of an element.
constexpr ImageFormat Depth(const char* name, VkFormat format, ElementType texel, int bits, bool stencil) {
  const TexelNumbers numbers = texel == ElementType::kF32 ? TexelNumbers::kFloat : TexelNumbers::kUnorm;
  return {name, format, 1, texel, numbers, false, {bits}, true, stencil};
}

constexpr ImageFormat kFormats[] = {
    {"R8_UNORM", VK_FORMAT_R8_UNORM, 1, ElementType::kU8, TexelNumbers::kUnorm},
    {"R8G8_UNORM", VK_FORMAT_R8G8_UNORM, 2, ElementType::kU8, TexelNumbers::kUnorm},
    {"R8G8B8A8_UNORM", VK_FORMAT_R8G8B8A8_UNORM, 4, ElementType::kU8, TexelNumbers::kUnorm},
    {"B8G8R8A8_UNORM", VK_FORMAT_B8G8R8A8_UNORM, 4, ElementType::kU8, TexelNumbers::kUnorm, true},
    {"R8_SRGB", VK_FORMAT_R8_SRGB, 1, ElementType::kU8, TexelNumbers::kSrgb},
    {"R8G8_SRGB", VK_FORMAT_R8G8_SRGB, 2, ElementType::kU8, TexelNumbers::kSrgb},
    {"R8G8B8A8_SRGB", VK_FORMAT_R8G8B8A8_SRGB, 4, ElementType::kU8, TexelNumbers::kSrgb},
    {"B8G8R8A8_SRGB", VK_FORMAT_B8G8R8A8_SRGB, 4, ElementType::kU8, TexelNumbers::kSrgb, true},
    {"R8_SNORM", VK_FORMAT_R8_SNORM, 1, ElementType::kS8, TexelNumbers::kSnorm},
    {"R8_UINT", VK_FORMAT_R8_UINT, 1, ElementType::kU8, TexelNumbers::kInteger},
    {"R8_SINT", VK_FORMAT_R8_SINT, 1, ElementType::kS8, TexelNumbers::kInteger},
    {"R8G8_SNORM", VK_FORMAT_R8G8_SNORM, 2, ElementType::kS8, TexelNumbers::kSnorm},
    {"R8G8_UINT", VK_FORMAT_R8G8_UINT, 2, ElementType::kU8, TexelNumbers::kInteger},
    {"R8G8_SINT", VK_FORMAT_R8G8_SINT, 2, ElementType::kS8, TexelNumbers::kInteger},
    {"R8G8B8A8_SNORM", VK_FORMAT_R8G8B8A8_SNORM, 4, ElementType::kS8, TexelNumbers::kSnorm},
    {"R8G8B8A8_UINT", VK_FORMAT_R8G8B8A8_UINT, 4, ElementType::kU8, TexelNumbers::kInteger},
    {"R8G8B8A8_SINT", VK_FORMAT_R8G8B8A8_SINT, 4, ElementType::kS8, TexelNumbers::kInteger},
    {"R16_UNORM", VK_FORMAT_R16_UNORM, 1, ElementType::kU16, TexelNumbers::kUnorm},
    {"R16_SNORM", VK_FORMAT_R16_SNORM, 1, ElementType::kS16, TexelNumbers::kSnorm},
    {"R16_SFLOAT", VK_FORMAT_R16_SFLOAT, 1, ElementType::kF16, TexelNumbers::kFloat},
    {"R16_UINT", VK_FORMAT_R16_UINT, 1, ElementType::kU16, TexelNumbers::kInteger},
    {"R16_SINT", VK_FORMAT_R16_SINT, 1, ElementType::kS16, TexelNumbers::kInteger},
    {"R16G16_UNORM", VK_FORMAT_R16G16_UNORM, 2, ElementType::kU16, TexelNumbers::kUnorm},
    {"R16G16_SNORM", VK_FORMAT_R16G16_SNORM, 2, ElementType::kS16, TexelNumbers::kSnorm},
    {"R16G16_SFLOAT", VK_FORMAT_R16G16_SFLOAT, 2, ElementType::kF16, TexelNumbers::kFloat},
    {"R16G16_UINT", VK_FORMAT_R16G16_UINT, 2, ElementType::kU16, TexelNumbers::kInteger},
    {"R16G16_SINT", VK_FORMAT_R16G16_SINT, 2, ElementType::kS16, TexelNumbers::kInteger},
    {"R16G16B16A16_UNORM", VK_FORMAT_R16G16B16A16_UNORM, 4, ElementType::kU16, TexelNumbers::kUnorm},
    {"R16G16B16A16_SNORM", VK_FORMAT_R16G16B16A16_SNORM, 4, ElementType::kS16, TexelNumbers::kSnorm},
    {"R16G16B16A16_SFLOAT", VK_FORMAT_R16G16B16A16_SFLOAT, 4, ElementType::kF16, TexelNumbers::kFloat},
    {"R16G16B16A16_UINT", VK_FORMAT_R16G16B16A16_UINT, 4, ElementType::kU16, TexelNumbers::kInteger},
    {"R16G16B16A16_SINT", VK_FORMAT_R16G16B16A16_SINT, 4, ElementType::kS16, TexelNumbers::kInteger},
    {"R32_SFLOAT", VK_FORMAT_R32_SFLOAT, 1, ElementType::kF32, TexelNumbers::kFloat},
    {"R32_UINT", VK_FORMAT_R32_UINT, 1, ElementType::kU32, TexelNumbers::kInteger},
    {"R32_SINT", VK_FORMAT_R32_SINT, 1, ElementType::kS32, TexelNumbers::kInteger},
    {"R32G32_SFLOAT", VK_FORMAT_R32G32_SFLOAT, 2, ElementType::kF32, TexelNumbers::kFloat},
    {"R32G32_UINT", VK_FORMAT_R32G32_UINT, 2, ElementType::kU32, TexelNumbers::kInteger},
    {"R32G32_SINT", VK_FORMAT_R32G32_SINT, 2, ElementType::kS32, TexelNumbers::kInteger},
    {"R32G32B32A32_SFLOAT", VK_FORMAT_R32G32B32A32_SFLOAT, 4, ElementType::kF32, TexelNumbers::kFloat},
    {"R32G32B32A32_UINT", VK_FORMAT_R32G32B32A32_UINT, 4, ElementType::kU32, TexelNumbers::kInteger},
    {"R32G32B32A32_SINT", VK_FORMAT_R32G32B32A32_SINT, 4, ElementType::kS32, TexelNumbers::kInteger},
    Packed("A2B10G10R10_UNORM_PACK32", VK_FORMAT_A2B10G10R10_UNORM_PACK32, TexelNumbers::kUnorm, {10, 10, 10, 2},
           false),
    Packed("A2R10G10B10_UNORM_PACK32", VK_FORMAT_A2R10G10B10_UNORM_PACK32, TexelNumbers::kUnorm, {10, 10, 10, 2}, true),
    Packed("B10G11R11_UFLOAT_PACK32", VK_FORMAT_B10G11R11_UFLOAT_PACK32, TexelNumbers::kFloat, {11, 11, 10}, false),
    Depth("D16_UNORM", VK_FORMAT_D16_UNORM, ElementType::kU16, 0, false),
    Depth("X8_D24_UNORM_PACK32", VK_FORMAT_X8_D24_UNORM_PACK32, ElementType::kU32, 24, false),
    Depth("D24_UNORM_S8_UINT", VK_FORMAT_D24_UNORM_S8_UINT, ElementType::kU32, 24, true),
    Depth("D32_SFLOAT", VK_FORMAT_D32_SFLOAT, ElementType::kF32, 0, false),
    Depth("D32_SFLOAT_S8_UINT", VK_FORMAT_D32_SFLOAT_S8_UINT, ElementType::kF32, 0, true),
};

// What arrays may have for elements beside floating-point numbers; "": nothing.
std::string_view OwnElements(const ImageFormat& format) { return format.packed() ? "" : ElementTypeName(format.texel); }

Status CheckElements(const std::string& name, const Shape& shape, const ImageFormat& format) {
  const bool floating = IsFloating(shape.element_type());
  const bool own = !format.packed() && shape.element_type() == format.texel;
  if (own || (floating && format.numbers != TexelNumbers::kInteger)) return OkStatus();
  const std::string_view elements = OwnElements(format);
  const std::string wanted = format.numbers == TexelNumbers::kInteger ? std::string(elements)
                             : elements.empty()                       ? std::string("a floating-point type")
                                                : fmt::format("a floating-point type or {}", elements);
  return InvalidArgument("{}: {} cannot hold texels of VkFormat {}: {}", name, shape.ToString(),
                         static_cast<int>(format.format), wanted);
}

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

Result<ImageArray> ArrayOfImage(const std::string& name, const Shape& shape, VkFormat format, bool written) {
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
  VXLA_RETURN_IF_ERROR(CheckElements(name, shape, *found));
  const int64_t words = found->packed() ? 1 : found->channels;
  ImageArray image = {*found, shape, Shape(found->texel, {dimensions[0], dimensions[1], dimensions[2], words})};
  // Vulkan wants depth that is written to lie from 0 to 1.
  const bool cut_off = found->depth && found->numbers == TexelNumbers::kFloat && written;
  image.same_bytes =
      image.texels.element_type() == shape.element_type() && !three && !found->bgr && !found->packed() && !cut_off;
  return image;
}

}  // namespace VXLA_NAMESPACE
