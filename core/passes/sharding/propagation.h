// Propagation: from what a program says of some arrays to how all of them lie. What is said with smaller priorities
// spreads first, and through operations that pass elements on before others; what agrees in all arrays of an operation
// before what only some can take. Closed dimensions stay as they are said.
#pragma once

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

void PropagateShardings(ShardingGraph& graph);

// Which dimensions are cut in parts then (part_choice.cc): those of which slices take runs, or that reshapes split,
// where the atoms that divide the whole dimension divide each run or row too. Queries, keys and values as one product
// are such. What is given, left, or goes with it element by element, stays cut at once: arrays change from one to the
// other where the fewest elements do, as a rule the weights.
void ChooseParts(ShardingGraph& graph);

// In which order what a program says of its arrays may spread, where arrays contradict one another
// (spread_orders.cc): of each shape and sharding of arguments that divides along an axis of others too the same program
// in which such arguments, and results that lie so, spread before all others. None where nothing can contradict, or
// where trying takes too long: of programs of many instructions.
std::vector<StatedShardings> OtherOrders(const Module& module, const StatedShardings& stated);

}  // namespace VXLA_NAMESPACE
