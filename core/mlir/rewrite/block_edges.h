// What block_control.cc finds of a function's blocks, and its second way to write them.
#pragma once

#include <vector>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// What a block gives the block that it goes to.
struct BlockEdge {
  size_t block;
  std::vector<ValueId> operands;
};

// Blocks of any shape as one loop that runs a block per trip: a number says which one is next, and what a block defines
// for others is the loop's state. `edges` are those of each block; block number edges.size() stands for the return.
Status WriteBlocksAsStates(Program& program, Operation& function, const std::vector<std::vector<BlockEdge>>& edges);

}  // namespace VXLA_NAMESPACE::mlir
