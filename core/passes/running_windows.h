// Running windows: cumulative sums, products, maxima ... in time that grows with the elements, not with their square.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

// A reduce-window whose window is as long as one dimension (64 elements or more) and padded on one side only gives each
// element the reduction of all up to it, at the cost of the whole window each. It becomes: the same within blocks of at
// most 32 neighbours, the same (again so) over the blocks' last elements, and each block's elements joined with what
// the blocks before hold. Elements keep their order; sums and products of narrow floats are carried in f32 and round
// once, as the kernel's are. Each output then folds the initial values several times, so these must be a proven
// identity (core/reducer_identity.h), or the reducer a minimum, maximum, and, or. With `wide` f32 sums stay as they
// are: parts would round them in between. Dimensions must not be dynamic. Returns whether anything changed.
bool BlockRunningWindows(Module& module, bool wide);

}  // namespace VXLA_NAMESPACE
