// Concatenates of more operands than a kernel binds.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A concatenate of so many operands that they and its result are more than `most` buffers becomes one of
// concatenates of neighbours: the last of these may be part of its kernel, what the others give is copied once more.
// In the entry and in what control flow runs. Returns whether anything changed.
bool SplitWideConcatenates(Module& module, int most);

}  // namespace VXLA_NAMESPACE
