// What the regions of reductions, sorts and the like compute from values around them alone, before those operations.
#pragma once

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// Such regions compute with scalars; one that takes an array from around it mostly makes a scalar of it that is the
// same for all elements. Regions that take no array stay as they are.
void HoistRegionInvariants(Program& program);

}  // namespace VXLA_NAMESPACE::mlir
