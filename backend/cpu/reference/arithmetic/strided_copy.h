// StridedCopy: the one loop behind broadcast, transpose, slice, reverse, concatenate, pad and dynamic slices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

struct StridedCopySpec {
  std::vector<int64_t> dimensions;
  // In elements, by dimension; a source stride may be 0 or negative.
  std::vector<int64_t> source_strides, target_strides;
  int element_bytes = 1;
};

// Copies every element of the index space, of which index 0 is element `from` of the source and `to` of the target; the
// target's must be distinct. CHECKs that none lies outside of them. threads as in ParallelFor.
void StridedCopy(const StridedCopySpec& spec, const Literal& source, int64_t from, Literal& target, int64_t to,
                 int threads);

}  // namespace VXLA_NAMESPACE
