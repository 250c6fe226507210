// Expanders: ops that other ops can say.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// bitcast reinterprets memory as laid out: it becomes the transpose to the operand's physical order, a reshape to the
// result's physical dimensions, and the transpose back to the result's logical order. A bitcast that changes the
// element type becomes a bitcast-convert in physical order too. Bitcast-converts that split into elements of less than
// a byte, or join them, become shifts. The entry is expanded, and what control flow runs. Returns whether anything
// changed.
bool ExpandBitcasts(Module& module);

// batch-norm-inference, -training and -grad become sums over all dimensions but the features' and elementwise
// operations, in f32 where the type is narrower, in the same computations. The variance of few elements, and with
// `wide_accumulation`, is taken in a second pass over what is left when the mean is taken off; that of many in the pass
// that adds them up, over what is left when the mean of some of them is taken off.
bool ExpandBatchNorms(Module& module, bool wide_accumulation);

// maximum, minimum and clamp of complex numbers (by the real parts, where these are equal by the imaginary ones) become
// comparisons of the parts; wherever they stand.
bool ExpandComplexOrder(Module& module);

// rng-bit-generator becomes integer operations over the counters, in the same computations: its bits are the same on
// every device.
bool ExpandRngBitGenerators(Module& module);

// Random numbers that no operand seeds are drawn in the order of the text: control edges say so from here on.
void OrderRandomNumbers(Module& module);

// rng becomes a count of its draws (Notes::draws_of_rng) and operations on Philox's bits, exact ones but for the normal
// distribution's logarithm and cosine in f64; a uniform number that rounds up to the bound is drawn again in a while.
bool ExpandRngs(Module& module);

// cholesky and triangular-solve of floats narrower than f32 are computed in f32 and rounded once.
bool WidenLinearAlgebra(Module& module);

// stochastic-convert becomes integer operations on the number's bits, in the same computations: the same bits on every
// device, for the same random ones.
bool ExpandStochasticConverts(Module& module);

// A scatter whose updates can meet, in an order that matters, gets its windows sorted by where they start (overlapping
// windows element by element): equal starts are neighbours then, in their order (scatter_form.h).
bool ExpandScatters(Module& module, const TargetInfo& target);

// ragged-dot becomes a dot of rows with their group's matrix, gathered where it is read; one whose contracting
// dimension is ragged a dot for each group, of operands that are zero outside of it. scaled-dot becomes a dot of the
// operands times their scales, and a dot with an algorithm (core/numerics/dot_algorithm.h) one or several of what it
// rounds to, or of what is no less accurate where the target is free to.
bool ExpandDots(Module& module, const TargetInfo& target);
// Those alone.
bool ExpandDots(Module& module, const std::function<bool(const Instruction&)>& which);

// scan becomes a running window where each carry is joined with an input by one associative operation (sums and
// products of floats where the program says is_associative=true), else a while. Wherever it stands, before calls are
// inlined.
bool ExpandScans(Module& module);

// Custom calls of LAPACK's names and of those that XLA expands itself (core/library/library_calls.h) become the
// operations that they stand for, or programs of others; wherever they stand, before calls are inlined. What has
// neither stays for the host, as does what `host_functions` names: the caller's own functions.
Result<bool> ExpandLibraryCalls(Module& module, const std::set<std::string>& host_functions);

// `region`, of an operation that applies it to scalars, with a scalar for each element of the arrays in it: tables
// become chains of selects, sums chains of sums, loops that constants count are written out; and all branches done, the
// results selected. Null: it has none of these, or an operation or a size that this is not for.
std::unique_ptr<Computation> WithScalars(const Computation& region);

// The same for each computation of a verified module that a sort, a reduction, a scatter and so on applies to scalars,
// where it holds arrays or loops. Returns whether anything changed.
bool ScalarizeRegions(Module& module);

// A copy of the module for mlir::PrintStablehlo: pairs of -start and -done are what they do, an all-to-all of several
// operands is one of their blocks, and bitcasts that depend on layouts, stochastic-convert and scaled-dot are other
// operations. kExpanded: so are scan and ragged-dot, which CHLO has and portable artifacts have not. What has no other
// form stays.
enum class ChloForms : uint8_t { kKept, kExpanded };
Result<std::unique_ptr<Module>> WithStablehloForms(const Module& module, ChloForms chlo);

}  // namespace VXLA_NAMESPACE
