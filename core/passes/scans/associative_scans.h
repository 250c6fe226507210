// lax.associative_scan as a running window.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// JAX writes an associative scan as a recursion: neighbours are joined, the halved arrays scanned in the same way, and
// the results for even and odd places laid between one another. Where every level joins by the same function of scalars
// (compared operation by operation), the whole is one reduce-window of those arrays (core/maps/running_window.h), one
// or two passes over memory instead of two for each level. Elements are joined in their order, though in other groups,
// as the function is associative; where it is known not to be, the recursion stays. A pred beside the arrays marks
// elements that are initial values, which the function does not see, so that it needs no identity. Expects inlined
// calls; arrays of 4 elements and more. Returns whether anything changed.
bool FindAssociativeScans(Module& module);

// Over how many arrays a scan goes whose result this is; 0: it is none that FindAssociativeScans finds.
int ArraysOfScan(Instruction& result);
// Where the instruction lays the results for even and odd places of dimension `d` between one another: the elements
// that the level below scans; null: it does something else.
const Instruction* JoinedNeighboursOf(const Instruction& instruction, int d);

}  // namespace VXLA_NAMESPACE
