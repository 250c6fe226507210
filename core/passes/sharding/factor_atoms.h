// Between how arrays lie and among which atoms an operation's factors are divided.
#pragma once

#include "core/passes/sharding/factor_rule.h"
#include "core/passes/sharding/tiling.h"

namespace VXLA_NAMESPACE {

// kGuessed: a dimension of several factors whose first one the atoms do not divide, or may not, is taken to be cut
// along the first one that they divide.
enum class FactorReading : uint8_t { kExact, kGuessed };

// By factor, the atoms that a tiling divides it among. Atoms that lie across factors are of none.
std::vector<Atoms> FactorAtoms(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                               const Tiling& tiling, FactorReading reading = FactorReading::kExact);
// And back: a factor behind others that are not cut to the end cuts each of the parts that these leave.
Tiling ArrayTiling(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                   const std::vector<Atoms>& atoms);

// Sizes of parts from where they end, in order; the last one is the whole.
IntList PartsBetween(const std::vector<int64_t>& ends);
std::vector<int64_t> EndsOf(const IntList& parts);
// Whether some of the parts together are each of the others.
bool RefinesParts(const IntList& parts, const IntList& others);

}  // namespace VXLA_NAMESPACE
