// Fusion: groups the instructions of the entry and of conditions, bodies and branches into fusion instructions, each of
// which becomes as few dispatches as its hero allows.
//
// After FuseInstructions every ELEMENTWISE, INDEXING, Dot, Reduce and ReduceWindow instruction of these sits inside a
// fusion (of one instruction if nothing joined it), so lowering has one case. Reshapes that alias stay outside, as do
// width-changing bitcast-converts. A fused computation holds parameters, scalar and splat constants (a broadcast of a
// scalar constant), iotas, elementwise ops, index maps (broadcast, reshape, transpose, slice, reverse, copy, pad,
// concatenate, same-width bitcast-convert) and at most one kind of hero. Its root is one value or a tuple of values.
// core/passes/fuse/fusion_description.h says of each what lowering needs to know. By FusionKind:
//
//   kLoop    no hero. All roots have the same element count and are indexed by the same row-major linear index.
//   kInput   "row program". Hero: reduces (any number, variadic ones too). Every reduce of the fusion reduces the same
//            rows (the element space E: |kept| = O rows of |reduced| = R elements), though reshapes may lie between
//            their operands. Reduces may depend on one another: phase k+1 reads, through broadcasts, results of phase
//            k AT ITS OWN ROW ONLY (core/maps proves it). Roots: reduce results, elementwise values of them in
//            row space (O elements, at linear index o whatever their dimensions), and elementwise values in element
//            space (at E's linear index). Other operands are read through index maps.
//            Softmax and layer norm are one such fusion each.
//   kOutput  Hero: one dot. Producers of its operands (elementwise, index maps) are load hooks; the epilogue maps the
//            dot's result elementwise at the same linear index (reshapes in between keep it), other operands through
//            index maps.
//   kCustom  Attention (core/passes/products/attention.h): a product, softmax and a product, with producers as load
//            hooks and an elementwise epilogue of the last product. Or the hero: one other op with a kernel of its own,
//            a reduce-window, with producers as load hooks and an elementwise epilogue at the same linear index.
//
// Called computations of reduce and reduce-window are scalar computations of elementwise ops (combine hooks).
// Element types: whatever the module says; lowering's CanLower refuses what the device lacks.
#pragma once

#include <unordered_set>

#include "core/ir/module.h"
#include "core/ir/target_info.h"

namespace VXLA_NAMESPACE {

// Expects a flat entry (no call, map, fusion). With target.fusion off every fusion holds one instruction (and its
// scalar constants). Returns the number of fusions made.
Result<int> FuseInstructions(Module& module, const TargetInfo& target);

// Whether a fusion holds more than one instruction, what every kernel has its own copies of not counted.
bool HoldsSeveral(const Instruction& fusion);

// Afterwards each instruction of these fusions, which control flow reaches, sits in a fusion of its own.
void UnfuseInstructions(Module& module, const std::unordered_set<const Instruction*>& fusions);

}  // namespace VXLA_NAMESPACE
