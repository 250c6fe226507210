// Running windows: reduce-windows that give each element the reduction of all elements up to it (JAX's cumsum, cumprod,
// cummax, cummin, cumlogsumexp).
#pragma once

#include <optional>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

struct RunningWindow {
  int dimension = 0;
  bool reverse = false;  // from the last element to the first
};

// Set if a reduce-window's window is as long as one dimension (or longer), padded on one side only, and plain along all
// others. What lies in the padding are initial values, folded another number of times for each element; a walk along
// the dimension folds them once, so they must be a proven identity (core/numerics/reducer_identity.h), or the reducer a
// minimum, maximum, and, or. Sizes must not be live.
std::optional<RunningWindow> RunningWindowOf(const Instruction& instruction);

// Whether the elements of a reduce-window may be grouped in any way, with initial values among them: folding these
// again and again changes nothing, and the combiner is not known not to associate.
bool MayBeGrouped(const Instruction& reduce_window);

}  // namespace VXLA_NAMESPACE
