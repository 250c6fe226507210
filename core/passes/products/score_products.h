// Score products: the scores of an attention that are a sum of two products, q . k + r . s, as those of parts with and
// without positions are, become one product of the operands side by side, so that neither leaves the attention's
// kernel.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Only where that makes an attention one kernel, and where copies of the operands are less than the scores that one of
// the products would write and the attention read. The terms of both are then summed up one after the other, and
// rounded once.
void JoinScoreProducts(Computation& entry, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
