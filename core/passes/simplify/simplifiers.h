// Simplifiers: the same program with less work. Each returns whether it changed anything.
#pragma once

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Removes what changes nothing and brings equal meanings to one form, without changing a bit of any result: one sweep
// over the entry and what control flow runs. Afterwards (when repeated until it returns false) there is, but
// for what control edges order, no copy or convert to the same type; no reshape of a reshape, no transpose of a
// transpose, no identity reshape, transpose, broadcast, slice, pad, reverse or one-operand concatenate; no
// get-tuple-element of a tuple; no reduce of a transpose that only reduces read; no reduce of one operand over
// dimensions of size 1 only (it became a map of its computation, which InlineCalls turns into array operations).
bool SimplifyAlgebra(Module& module, const TargetInfo& target);

// Programs that XLA has compiled order the copies of a loop's state, so that buffers of its own choice are not
// overwritten too early. Values know no buffers: where all edges of a computation stand between copies, they go, for
// what is ordered is neither fused nor simplified.
bool DropOrderOfCopies(Module& module);

// Before a while goes what its body computes from nothing but values that it hands on: products, reductions and
// functions, not what costs nothing to repeat. So does a product of such a value with one slice a trip of another
// (x[t] @ w in a scan): the product of the whole array is computed before the loop, and each trip reads its slice.
// Results become further elements of the loop's state. Expects bodies without calls.
bool HoistFromLoops(Module& module);

// A while of a few trips, known before it runs, whose body has nothing but what fuses element by element becomes that
// many calls of its body: written out, trips fuse with each other and with what stands around the loop (the rounds of
// a random generator are one kernel with what is made of its bits). So does a while of one trip, whatever is in its
// body. Expects bodies without calls; the calls that this adds are InlineCalls's to take away.
bool UnrollShortLoops(Module& module);

// A while whose trips make an array of its state from other places of it than those that they write, or hand one on as
// another, goes two trips at a time, where an even number of them is known before it runs and a trip is short. Such an
// array then lies in two places by turns: else each trip makes the new one beside it and copies it, behind a barrier
// more. Expects bodies without calls; the calls that this adds are InlineCalls's to take away.
bool PairTrips(Module& module);

// A concatenate of so many operands that they and its result are more than `most` buffers becomes one of
// concatenates of neighbours: the last of these may be part of its kernel, what the others give is copied once more.
// In the entry and in what control flow runs.
bool SplitWideConcatenates(Module& module, int most);

// What computations that loops and conditionals run read besides their one parameter: a pass that takes a value out of
// a condition, body or branch leaves a parameter 1 + k in its place, of which there are none in a module. These make
// the instruction anew so that `values[k]` comes there as one more element of the state or argument, which a body hands
// on as it is; nothing calls the old computations any more.
void CarryThroughLoop(Computation& computation, Instruction* loop, const std::vector<Instruction*>& values);
void CarryIntoBranch(Instruction* conditional, int branch, const std::vector<Instruction*>& values);

}  // namespace VXLA_NAMESPACE
