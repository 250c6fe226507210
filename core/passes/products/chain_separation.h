// Chain separation: where several attentions and product chains (core/passes/products/product_chain.h) are made of the
// same scores, each gets instructions of its own for them, so that each becomes a kernel that nothing else looks into.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Only where nothing else reads those scores or what is made of them: they would have to be written to memory anyway.
void SeparateChains(Computation& entry, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
