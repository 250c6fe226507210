// Packing: offsets for buffers with lifetimes, so that buffers that are alive together do not overlap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace VXLA_NAMESPACE {

struct Lifetime {
  int first = 0, last = 0;  // operations, both ends included
  int64_t size_bytes = 0;
};

struct Packing {
  struct Place {
    int block = 0;
    int64_t offset_bytes = 0;
  };
  std::vector<Place> places;  // one per lifetime
  std::vector<int64_t> block_bytes;
  int64_t total_bytes() const;
};

// Sizes are rounded up to `alignment` (a power of two); a block holds at most `max_block_bytes` (a single buffer that
// is larger gets a block of its own: the caller has checked sizes against the device). Finding the smallest total is
// NP-hard; this tries several orders of first placement (by size, by size times length, by start) and improves the best
// one by moving what sits highest to the front, until the lower bound is met or the effort is spent. Beyond 2,000
// buffers it takes them in the order of their beginnings, each into the smallest gap: n log n. Deterministic.
Packing Pack(std::span<const Lifetime> lifetimes, int64_t alignment, int64_t max_block_bytes);

// The most bytes alive at once, sizes rounded up to `alignment`: no packing is smaller.
int64_t PackingLowerBound(std::span<const Lifetime> lifetimes, int64_t alignment);

}  // namespace VXLA_NAMESPACE
