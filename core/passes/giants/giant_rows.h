// Giants that no slices make smaller: one sorted row, one matrix, one transform, the window of one element.
#pragma once

#include <cstdint>
#include <vector>

#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

// The results of smaller operations (some of them perhaps still beyond `most` elements: to be split again) in the place
// of `whole`; none where there are none:
// - A sorted row as blocks of which two fit: neighbours are sorted together, in as many rounds as there are blocks (an
//   odd-even transposition sort), which is stable where the sort of two is.
// - The window of one element as a reduction, which goes over any number.
// - Running sums and products of narrow floats as those of f32, whose parts can go on from each other, rounded at the
// end.
// - core/programs/giant_programs.h.
std::vector<Instruction*> SmallerThan(Expansion& expansion, Module& module, const Instruction& whole, int64_t most);

}  // namespace VXLA_NAMESPACE
