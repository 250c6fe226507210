// Reducers said of whole arrays.
#pragma once

#include <vector>

#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

// Whether the region of a reduce or reduce-window is scalar operations of one value each, so that it can be said of
// whole arrays.
bool HasArrayForm(const Computation& reducer, const Instruction& reduce);

// What such a region gives of arrays, element by element; all have the sizes of the first.
std::vector<Instruction*> JoinedArrays(Expansion& expansion, const Computation& reducer,
                                       const std::vector<Instruction*>& before, const std::vector<Instruction*>& after);

}  // namespace VXLA_NAMESPACE
