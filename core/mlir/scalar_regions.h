// Small arrays and branches in the regions of operations that apply them to scalars.
#pragma once

#include <memory>

#include "core/module.h"

namespace VXLA_NAMESPACE::mlir {

// `region` with a scalar for each element of the arrays in it: tables become chains of selects, sums chains of sums;
// and all branches done, the results selected. Null: it has neither, or an operation or a size that this is not for.
std::unique_ptr<Computation> WithScalars(const Computation& region);

}  // namespace VXLA_NAMESPACE::mlir
