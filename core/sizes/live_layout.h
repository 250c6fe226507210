// An array with bounded dynamic dimensions in a device's memory: the elements, laid out for the bounds, then an int64
// per dimension, its live size. Arrays without such dimensions are their elements alone.
#pragma once

#include "core/data/shape.h"

namespace VXLA_NAMESPACE {

// Where the live sizes begin.
inline int64_t LiveSizesOffset(const Shape& leaf) { return (leaf.SizeBytes() + 7) / 8 * 8; }

// The bytes of the whole.
inline int64_t DeviceBytes(const Shape& leaf) {
  return leaf.IsDynamic() ? LiveSizesOffset(leaf) + 8 * leaf.rank() : leaf.SizeBytes();
}

}  // namespace VXLA_NAMESPACE
