// Operations on floats of several types.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

// XLA lets an elementwise operation, a reduction or a window take floats of several types and state a result of yet
// another one. Here their operands are converted to the widest type (a reduction's to that of its computation), and the
// result to what is stated. The module need not have been verified. Returns whether anything changed.
bool UnmixPrecision(Module& module);

}  // namespace VXLA_NAMESPACE
