// Images as arrays: which texel formats there are.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backend/vulkan/device/api/vk.h"
#include "core/data/shape.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Of texels as arrays.
inline constexpr int64_t kImageColours = 3, kImageChannelAxis = 3;

// What the numbers of a texel's channels stand for.
enum class TexelNumbers {
  kUnorm,    // 0 to 1
  kSrgb,     // the same, the first three channels encoded
  kSnorm,    // -1 to 1
  kFloat,    // themselves
  kInteger,  // themselves
};

// Texels of one to four channels.
struct ImageFormat {
  const char* name = "";  // VkFormat's, without VK_FORMAT_
  VkFormat format = VK_FORMAT_UNDEFINED;
  int channels = 0;
  ElementType texel = ElementType::kU8;  // of a channel, or of all of them in one word
  TexelNumbers numbers = TexelNumbers::kUnorm;
  bool bgr = false;  // blue comes first
  // Of the channels that share a word, the bits of each from the lowest one on; zeros: a channel is an element.
  std::array<int, 4> bits = {};
  bool depth = false, stencil = false;  // what it holds instead of colours
  bool packed() const { return bits[0] != 0; }
};

// An array as an image: f32[height, width], [height, width, channels] or [layers, height, width, channels].
struct ImageArray {
  ImageFormat format;
  Shape shape;   // of the array
  Shape texels;  // [layers, height, width, channels of the format or words], as a copy of the image has them
  // The bytes are the same: nothing needs to be computed.
  bool same_bytes = false;
  uint32_t layers() const { return static_cast<uint32_t>(texels.dimensions()[0]); }
  uint32_t height() const { return static_cast<uint32_t>(texels.dimensions()[1]); }
  uint32_t width() const { return static_cast<uint32_t>(texels.dimensions()[2]); }
};

// [layers, height, width, channels] of an array that is an image.
std::vector<int64_t> FourDimensions(const Shape& shape);

// "R8G8B8A8_SRGB"; kInvalidArgument, beginning with `asker`, lists those that an array can have.
Result<VkFormat> FormatNamed(const std::string& asker, std::string_view name);

// `written`: of a result. kInvalidArgument, beginning with `name`: a format that is not known, a shape or an element
// type that does not fit it.
Result<ImageArray> ArrayOfImage(const std::string& name, const Shape& shape, VkFormat format, bool written);

}  // namespace VXLA_NAMESPACE
