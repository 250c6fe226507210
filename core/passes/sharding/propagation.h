// Propagation: from what a program says of some arrays to how all of them lie. What is said with smaller priorities
// spreads first, and through operations that pass elements on before others; what agrees in all arrays of an operation
// before what only some can take. Closed dimensions stay as they are said.
#pragma once

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

void PropagateShardings(ShardingGraph& graph);

}  // namespace VXLA_NAMESPACE
