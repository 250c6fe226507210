// Bindings that lie over one another though one of them is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// Bytes [begin, end) of a VkBuffer, or of the device's addresses, where `space` is 0.
struct BoundSpan {
  uint64_t space = 0, begin = 0, end = 0;
  uint32_t leaf = 0;  // whose they are
  bool written = false;
};

// Two leaves that overlap and are not both only read, the lower one first. Sorts the spans; allocates nothing.
std::optional<std::pair<uint32_t, uint32_t>> FindOverlap(std::span<BoundSpan> spans);

}  // namespace VXLA_NAMESPACE
