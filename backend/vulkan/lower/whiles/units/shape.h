// How lanes share out the rows of reductions and products inside a loop that one workgroup runs. Pure.
#pragma once

#include <optional>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/tuning/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

// Workgroups that share a loop's rows and elements out. Each has a part of every array to itself, so that none knows of
// the others. Cooperative ones have barriers of the whole grid: elements and rows go round among those that run, which
// are `groups` at most.
struct LoopShare {
  int64_t groups = 1;
  bool cooperative = false;
  // By which a workgroup's part of an array is known before it runs.
  int64_t parts() const { return cooperative ? 1 : groups; }
};

// How cooperative workgroups share out a unit that waits within, if they do.
enum class LoopSharing : uint8_t {
  kAlone,    // one of them does it
  kRows,     // each has neighbouring rows to itself, and waits for no other one
  kElements  // elements of each pass go round, and all wait for each other between passes
};

// `lanes` lanes share a row, and a workgroup takes its size divided by that many rows at a time.
struct LoopRowsShape {
  uint32_t lanes = 1;
  bool ordered = false;                    // lanes take neighbours: some combination does not commute
  std::optional<LoopTile> tile;            // of a product that goes by tiles instead
  int64_t operations = 0, iterations = 0;  // simple operations of a workgroup, turns of loops of one lane
};
// For a fusion around reduces, a window, a dot or a convolution.
LoopRowsShape ShapeOfLoopRows(const LowerContext& context, const FusionDescription& body, uint32_t workgroup_lanes,
                              LoopShare share);
// A lane that walks far adds up its elements in runs of so many turns, and the runs: the rounding errors of a sum of n
// are then those of about 2 sqrt(n), as where more lanes share a row. 0: it need not.
int64_t TurnsOfARun(int64_t turns);

}  // namespace VXLA_NAMESPACE::vulkan
