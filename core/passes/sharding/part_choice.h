// Which dimensions are cut in parts: those of which slices take runs, or that reshapes split, where the atoms that
// divide the whole dimension divide each run or row too. Queries, keys and values as one product are such.
#pragma once

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

// After propagation. What is given, left, or goes with it element by element, stays cut at once: arrays change from one
// to the other where the fewest elements do, as a rule the weights.
void ChooseParts(ShardingGraph& graph);

}  // namespace VXLA_NAMESPACE
