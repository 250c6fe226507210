// Arrays of the host with strides, and how their elements are copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/shape.h"

namespace VXLA_NAMESPACE {

// Where the elements of an array lie from its first one on, in bytes by dimension; 0 and negative ones are fine. None:
// row-major, without gaps.
using ByteStrides = std::span<const int64_t>;

// InvalidArgument: not as many strides as dimensions.
Status CheckStrides(const Shape& shape, ByteStrides strides);
// Whether the elements lie row-major, without gaps; an array of one element does, and one of none.
bool IsDense(const Shape& shape, ByteStrides strides);
// From one array of the shape to another one, element by element. `from` and `to` point to their first elements.
void CopyElements(const Shape& shape, const std::byte* from, ByteStrides from_strides, std::byte* to,
                  ByteStrides to_strides);

}  // namespace VXLA_NAMESPACE
