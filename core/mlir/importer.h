// From MLIR to a module: functions and regions become computations, values that a region takes from around it become
// parameters, several results become tuples. Nothing after it sees which language a program was written in.
#pragma once

#include <memory>
#include <string_view>

#include "core/mlir/ir.h"
#include "core/module.h"

namespace VXLA_NAMESPACE::mlir {

// The entry is the function main, or the only one that is public. Errors carry the place and the operation:
// kInvalidArgument: no valid program; kUnsupported: one that asks for what this build cannot do.
Result<std::unique_ptr<Module>> ImportMlir(const Program& program);

// Text with one program to a module.
Result<std::unique_ptr<Module>> ParseStablehlo(std::string_view text);

}  // namespace VXLA_NAMESPACE::mlir
