// Products: what is around them brought to the forms that fuse with them, as attention (attention.h) and as product
// chains (product_chain.h). Each returns whether it changed anything: dead instructions are left then.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// A softmax between two products that is written by way of its logarithm, exp(x - logsumexp(x)), or by a factor
// 1 / total, becomes a quotient, exp(x - largest) / total, which fuses with the products as attention. Only of what is
// made of one product and read by another: it is within the bounds of attention then.
bool WriteSoftmaxAsQuotient(Computation& entry, const TargetInfo& target);

// What is computed of an array with a few columns more than a product has, as logits with a sink for each head are,
// becomes what is computed of the product and of those columns, each for itself, so that the product's part fuses with
// it. Only where nothing but elementwise operations, sums, maxima and minima over the columns, and slices of either
// part read the whole.
bool SplitColumns(Computation& entry, const TargetInfo& target);

// The scores of an attention that are a sum of two products, q . k + r . s, as those of parts with and without
// positions are, become one product of the operands side by side, so that neither leaves the attention's kernel. Only
// where that makes an attention one kernel, and where copies of the operands are less than the scores that one of the
// products would write and the attention read. The terms of both are then summed up one after the other, and rounded
// once.
bool JoinScoreProducts(Computation& entry, const TargetInfo& target);

// Where several attentions and product chains are made of the same scores, each gets instructions of its own for them,
// so that each becomes a kernel that nothing else looks into. Only where nothing else reads those scores or what is
// made of them: they would have to be written to memory anyway.
bool SeparateChains(Computation& entry, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
