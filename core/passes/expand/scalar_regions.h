// Small arrays and branches in the regions of operations that apply them to scalars.
#pragma once

#include <memory>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE::mlir {

// `region` with a scalar for each element of the arrays in it: tables become chains of selects, sums chains of sums,
// loops that constants count are written out; and all branches done, the results selected. Null: it has none of these,
// or an operation or a size that this is not for.
std::unique_ptr<Computation> WithScalars(const Computation& region);

// The same for each computation of a verified module that a sort, a reduction, a scatter and so on applies to scalars,
// where it holds arrays or loops. Returns whether anything changed.
bool ScalarizeRegions(Module& module);

}  // namespace VXLA_NAMESPACE::mlir
