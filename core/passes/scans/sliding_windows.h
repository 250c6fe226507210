// Sliding windows: sums, maxima ... of long windows in time that grows with the elements, not with the windows.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A reduce-window of 32 or more times as many elements as it moves by along a dimension (a moving sum, a large pooling)
// becomes, dimension by dimension: blocks as long as the window, reduced from each element to its block's end and from
// the block's begin up to each element (running windows, core/maps/running_window.h), and the two halves of each window
// joined. Nothing is taken away again, so any reducer will do that is not known not to associate, and a sum's error is
// that of its own window. Elements keep their order; sums and products of narrow floats are carried in f32 and round
// once, as the kernel's are. Each output then folds the initial values several times, so these must be a proven
// identity, or the reducer a minimum, maximum, and, or. Several dimensions need a reducer that commutes. With `wide`
// f32 sums stay as they are: parts would round them in between. Dimensions must not be dynamic. Returns whether
// anything changed.
bool SplitSlidingWindows(Module& module, bool wide);

}  // namespace VXLA_NAMESPACE
