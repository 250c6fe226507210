// Softmax forms: a softmax between two products that is written by way of its logarithm, exp(x - logsumexp(x)), or by a
// factor 1 / total, becomes a quotient, exp(x - largest) / total, which fuses with the products as attention.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Only of what is made of one product and read by another: it is within the bounds of attention then.
void WriteSoftmaxAsQuotient(Computation& entry, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
