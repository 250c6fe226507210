// Associative scans that multiply small matrices, as scans of their entries.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Where the function of a lax.associative_scan multiplies matrices (a dot for each element: [n,2,2] by [n,2,2], or by
// vectors), the recursion that JAX writes is written anew for each entry, with the products as sums of products, so
// that FindAssociativeScans finds a function of scalars; what it does not find stays as it is. `most_arrays`: as many
// as one kernel may take and give. Returns whether anything changed.
// `wide`: sums of f32 are to be in two floats, which none of these rewrites keeps.
bool SplitMatrixScans(Module& module, int most_arrays, bool wide);

}  // namespace VXLA_NAMESPACE
