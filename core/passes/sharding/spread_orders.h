// In which order what a program says of its arrays may spread, where arrays contradict one another.
#pragma once

#include <vector>

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

// Of each shape and sharding of arguments that divides along an axis of others too: the same program in which such
// arguments, and results that lie so, spread before all others. None where nothing can contradict, or where trying
// takes too long: of programs of many instructions.
std::vector<StatedShardings> OtherOrders(const Module& module, const StatedShardings& stated);

}  // namespace VXLA_NAMESPACE
