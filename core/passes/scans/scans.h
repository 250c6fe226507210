// Scans: those that a program writes out in other operations, as running windows (core/maps/running_window.h), and long
// windows in time that grows with the elements, not with the windows. Each returns whether it changed anything.
#pragma once

#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

// Where the function of a lax.associative_scan multiplies matrices (a dot for each element: [n,2,2] by [n,2,2], or by
// vectors), the recursion that JAX writes is written anew for each entry, with the products as sums of products, so
// that FindAssociativeScans finds a function of scalars; what it does not find stays as it is. `most_arrays`: as many
// as one kernel may take and give.
// `wide`: sums of f32 are to be in two floats, which none of these rewrites keeps.
bool SplitMatrixScans(Module& module, int most_arrays, bool wide);

// JAX writes an associative scan as a recursion: neighbours are joined, the halved arrays scanned in the same way, and
// the results for even and odd places laid between one another. Where every level joins by the same function of scalars
// (compared operation by operation), the whole is one reduce-window of those arrays (core/maps/running_window.h), one
// or two passes over memory instead of two for each level. Elements are joined in their order, though in other groups,
// as the function is associative; where it is known not to be, the recursion stays. A pred beside the arrays marks
// elements that are initial values, which the function does not see, so that it needs no identity. Expects inlined
// calls; arrays of 4 elements and more.
bool FindAssociativeScans(Module& module);

// Over how many arrays a scan goes whose result this is; 0: it is none that FindAssociativeScans finds.
int ArraysOfScan(Instruction& result);
// Where the instruction lays the results for even and odd places of dimension `d` between one another: the elements
// that the level below scans; null: it does something else.
const Instruction* JoinedNeighboursOf(const Instruction& instruction, int d);

// A reduce-window of 32 or more times as many elements as it moves by along a dimension (a moving sum, a large pooling)
// becomes, dimension by dimension: blocks as long as the window, reduced from each element to its block's end and from
// the block's begin up to each element (running windows, core/maps/running_window.h), and the two halves of each window
// joined. Nothing is taken away again, so any reducer will do that is not known not to associate, and a sum's error is
// that of its own window. Elements keep their order; sums and products of narrow floats are carried in f32 and round
// once, as the kernel's are. Each output then folds the initial values several times, so these must be a proven
// identity, or the reducer a minimum, maximum, and, or. Several dimensions need a reducer that commutes. With `wide`
// f32 sums stay as they are: parts would round them in between. Dimensions must not be dynamic.
bool SplitSlidingWindows(Module& module, bool wide);

// Whether the region of a reduce or reduce-window is scalar operations of one value each, so that it can be said of
// whole arrays.
bool HasArrayForm(const Computation& reducer, const Instruction& reduce);

// What such a region gives of arrays, element by element; all have the sizes of the first.
std::vector<Instruction*> JoinedArrays(Expansion& expansion, const Computation& reducer,
                                       const std::vector<Instruction*>& before, const std::vector<Instruction*>& after);

}  // namespace VXLA_NAMESPACE
