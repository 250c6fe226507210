// StableHLO text out, in the generic form of each operation, which every MLIR parser with the dialect reads.
#pragma once

#include <string>

#include "core/ir/module.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// Tuples become several values, fusions what they fuse; layouts go. kUnsupported: an operation or a type that neither
// StableHLO nor CHLO has. A program whose sizes are known with its arguments only is printed as PrintProgram does.
Result<std::string> PrintStablehlo(const Module& module);

// A program that is no module yet, operation by operation: what it leaves open stays open.
Result<std::string> PrintProgram(const Program& program);

}  // namespace VXLA_NAMESPACE::mlir
