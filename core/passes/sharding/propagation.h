// Propagation: from what a program says of some arrays to how all of them lie. What is said with smaller priorities
// spreads first, and through operations that pass elements on before others; what agrees in all arrays of an operation
// before what only some can take. Closed dimensions stay as they are said.
#pragma once

#include "core/passes/sharding/sharding_graph.h"

namespace VXLA_NAMESPACE {

void PropagateShardings(ShardingGraph& graph);

// By factor, the atoms that a tiling divides it among. Atoms that lie across factors are of none.
std::vector<Atoms> FactorAtoms(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                               const Tiling& tiling);
// And back.
Tiling ArrayTiling(const FactorRule::ArrayFactors& array, const std::vector<Atoms>& atoms);

}  // namespace VXLA_NAMESPACE
