// The order of copies.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Programs that XLA has compiled order the copies of a loop's state, so that buffers of its own choice are not
// overwritten too early. Values know no buffers: where all edges of a computation stand between copies, they go, for
// what is ordered is neither fused nor simplified. Returns whether there was one.
bool DropOrderOfCopies(Module& module);

}  // namespace VXLA_NAMESPACE
