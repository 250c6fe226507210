// The in-place form of collective-permute: (input, output, input starts, output starts) with slice_sizes sends slices
// of the source's input into the target's output. Input and output are an array or a tuple of arrays; the starts of a
// slice are a tuple of one scalar per dimension, in a tuple by slice where there are several, in a tuple by array where
// there are several of those.
#pragma once

#include <vector>

#include "core/data/shape.h"

namespace VXLA_NAMESPACE {

struct PermuteSlice {
  size_t array = 0;           // of input and output
  std::vector<int64_t> path;  // to its tuple of scalars within the starts
};

// In the order of slice_sizes. What does not fit the form is left out.
std::vector<PermuteSlice> PermuteSlices(const Shape& arrays, const Shape& starts);

}  // namespace VXLA_NAMESPACE
