// Column split: what is computed of an array with a few columns more than a product has, as logits with a sink for each
// head are, becomes what is computed of the product and of those columns, each for itself, so that the product's part
// fuses with it.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Only where nothing but elementwise operations, sums, maxima and minima over the columns, and slices of either part
// read the whole.
void SplitColumns(Computation& entry, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
