// The programs that turn the texels of images into elements of arrays and back.
#pragma once

#include "api/image_format.h"
#include "core/builder/builder.h"

namespace VXLA_NAMESPACE {

// Programs of one parameter. Arrays of floating point have the values that Vulkan gives a sampled texel: unorm texels
// of n bits divided by 2^n - 1, snorm ones by 2^(n-1) - 1, sRGB decoded; computed in f32. Those of integers have the
// texels' numbers as they are. An array of three channels lacks the fourth.
Result<XlaComputation> TexelsToArray(const ImageArray& image);
// To unorm, snorm and depth: NaN becomes 0, what lies beyond is cut off, halves go to the even number; sRGB is encoded
// before. The fourth channel that an array of three lacks is 1.
Result<XlaComputation> ArrayToTexels(const ImageArray& image);

}  // namespace VXLA_NAMESPACE
