// Cancelling of added constants, as XLA's simplifier does on every backend.
#pragma once

#include <memory>

#include "core/module.h"

namespace vxla {

// (x + c) - c and (x - c) + c, c one finite constant, are x: the program then loses no bits of a small x, and bounds
// that were measured on XLA hold (arccosh(1 + p) is the usual place; c then sits on both sides of a call, so calls are
// inlined). This changes results, so it is for whole programs before any device sees them, never for one device of a
// comparison. Null if there is nothing to cancel: the program stays as it is.
Result<std::unique_ptr<Module>> CancelAddedConstants(const Module& module);

}  // namespace vxla
