// Inlining of calls, maps and the input's fusions.
#pragma once

#include "core/ir/module.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {

// Puts the bodies of call, fusion and map instructions in their place, recursively, in every computation. A map's
// computation over scalars becomes the same operations over arrays, its constants broadcast; a map whose computation
// does anything with an element that has no array form stays. get-tuple-element of a tuple that appears thereby is
// resolved. Computations that nothing calls any more are removed. ResourceExhausted if the program grows beyond
// kMaxInlinedInstructions (core/limits.h): text of a few lines can double itself at each level.
Result<bool> InlineCalls(Module& module);

}  // namespace VXLA_NAMESPACE
