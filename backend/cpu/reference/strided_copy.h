// StridedCopy: the one loop behind broadcast, transpose, slice, reverse, concatenate, pad and dynamic slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vxla {

struct StridedCopySpec {
  std::vector<int64_t> dimensions;
  // In elements, by dimension; a source stride may be 0 or negative.
  std::vector<int64_t> source_strides, target_strides;
  int element_bytes = 1;
};

// source and target point at the element of index 0. Copies every element of the index space; the target's must be
// distinct. threads as in ParallelFor.
void StridedCopy(const StridedCopySpec& spec, const std::byte* source, std::byte* target, int threads);

}  // namespace vxla
