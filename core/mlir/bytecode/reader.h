// MLIR bytecode in: the portable artifacts of StableHLO (VHLO 0.9 to 1.20), as jax.export writes them, as the program
// that their text would be. Locations are not kept.
#pragma once

#include <string_view>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// Errors: InvalidArgument with the byte and what is wrong there; Unsupported: operations that no version of VHLO up to
// the newest known has.
Result<Program> ReadBytecode(std::string_view bytes);

}  // namespace VXLA_NAMESPACE::mlir
