// Algebraic simplifier: removes what changes nothing and brings equal meanings to one form, without changing a bit of
// any result.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// One sweep over the entry and what control flow runs. Afterwards (when repeated until it returns false) there is, but
// for what control edges order, no copy or convert to the same type; no reshape of a reshape, no transpose of a
// transpose, no identity reshape, transpose, broadcast, slice, pad, reverse or one-operand concatenate; no
// get-tuple-element of a tuple; no reduce of a transpose that only reduces read; no reduce of one operand over
// dimensions of size 1 only (it became a map of its computation, which InlineCalls turns into array operations).
bool SimplifyAlgebra(Module& module, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
