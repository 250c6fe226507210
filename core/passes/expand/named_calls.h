// Custom calls by which XLA's own passes name operations on dynamic dimensions.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

// PadToStatic(x)                  x with all its dimensions at their bounds, and the size of each
// SliceToDynamic(x, sizes...)     x with these live sizes, in the dimensions that are stated dynamic
// DynamicConvolutionForward(x, k) the convolution, where padding does not depend on live sizes (PADDING_VALID or none)
//
// Such calls become operations; those of other forms stay. The module need not have been verified. Returns whether
// anything changed.
bool ReplaceNamedCalls(Module& module);

}  // namespace VXLA_NAMESPACE
