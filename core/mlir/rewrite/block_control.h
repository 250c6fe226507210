// Blocks that branch to one another (cf.br, cf.cond_br) as the branches and loops that they make: stablehlo.if and
// stablehlo.while.
#pragma once

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// The attribute of a branch: the numbers of the blocks that it goes to. What it gives the first of them are so many
// operands as kSuccessorOperands says for it, the next ones are for the second.
inline constexpr std::string_view kSuccessors = "successors";
inline constexpr std::string_view kSuccessorOperands = "successor_operands";

Status LowerBlocks(Program& program);

}  // namespace VXLA_NAMESPACE::mlir
