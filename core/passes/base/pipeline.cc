#include "core/passes/base/pipeline.h"

#include <algorithm>

#include "core/numerics/reducer_facts.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/cse.h"
#include "core/passes/base/dce.h"
#include "core/passes/devices/one_device.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/fuse/fusion.h"
#include "core/passes/giants/giant_splitter.h"
#include "core/passes/scans/associative_scans.h"
#include "core/passes/scans/matrix_scans.h"
#include "core/passes/scans/sliding_windows.h"
#include "core/passes/simplify/algebraic_simplifier.h"
#include "core/passes/simplify/copy_order.h"
#include "core/passes/simplify/integer_folding.h"
#include "core/passes/simplify/loop_hoisting.h"
#include "core/passes/simplify/loop_unroller.h"
#include "core/passes/simplify/wide_concatenates.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/passes/sizes/live_buckets.h"
#include "core/passes/sizes/live_rows.h"
#include "core/passes/sizes/live_specializer.h"

namespace VXLA_NAMESPACE {
namespace {

// What holds of sizes in a program's text does not hold of live sizes: what is left of them after this, the other
// passes pass over.
Status PadLiveSizes(Module& module, const TargetInfo& target) {
  VXLA_RETURN_IF_ERROR(InlineCalls(module).status());
  VXLA_RETURN_IF_ERROR(SeparateControlComputations(module).status());
  ExpandBatchNorms(module, target.wide_accumulation);
  RemoveDeadCode(module);
  if (target.fusion) BoundLiveWork(module);
  PadDynamicDimensions(module, target.sizes_tell_faults);
  RemoveDeadCode(module);
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target) {
  std::unique_ptr<Module> optimized = module.Clone();
  DropOrderOfCopies(*optimized);
  OrderRandomNumbers(*optimized);
  ExpandComplexOrder(*optimized);
  EliminateCommonSubexpressions(*optimized);
  MergeEqualBranches(*optimized);
  ExpandForOneDevice(*optimized);
  if (HasLiveSizes(*optimized)) VXLA_RETURN_IF_ERROR(PadLiveSizes(*optimized, target));
  ExpandScans(*optimized);
  VXLA_RETURN_IF_ERROR(ExpandLibraryCalls(*optimized, target.host_functions).status());
  VXLA_RETURN_IF_ERROR(InlineCalls(*optimized).status());
  VXLA_RETURN_IF_ERROR(SeparateControlComputations(*optimized).status());
  ExpandBitcasts(*optimized);
  ExpandBatchNorms(*optimized, target.wide_accumulation);
  ExpandRngBitGenerators(*optimized);
  ExpandRngs(*optimized);
  ExpandStochasticConverts(*optimized);
  ExpandDots(*optimized, target);
  SplitMatrixScans(*optimized, target.max_joined_buffers, target.wide_accumulation);
  if (FindAssociativeScans(*optimized)) RemoveDeadCode(*optimized);
  SplitSlidingWindows(*optimized, target.wide_accumulation);
  SplitGiants(*optimized, target.max_elements);
  ExpandScatters(*optimized, target);
  // Each simplification can make two instructions equal, and each merge can enable a simplification.
  for (bool changed = true; changed;) {
    RemoveDeadCode(*optimized);
    changed = SimplifyAlgebra(*optimized, target);
    changed |= SinkLoopConstants(*optimized);
    changed |= FoldIntegers(*optimized);
    changed |= target.fusion && HoistFromLoops(*optimized);
    changed |= target.fusion && target.unroll_loops && UnrollShortLoops(*optimized);
    VXLA_RETURN_IF_ERROR(InlineCalls(*optimized).status());
    changed |= SplitGiants(*optimized, target.max_elements);  // what passes have made: a loop's products at once
    changed |= EliminateCommonSubexpressions(*optimized);
  }
  SplitWideConcatenates(*optimized, target.max_kernel_buffers);
  RemoveDeadCode(*optimized);
  NoteTripCounts(*optimized);
  if (target.wide_accumulation) MarkWideAccumulations(*optimized);
  if (target.fusion && HasLiveSizes(module)) MarkLiveRows(*optimized);
  VXLA_RETURN_IF_ERROR(FuseInstructions(*optimized, target).status());
  RemoveDeadCode(*optimized);
  optimized->SortComputations();
  return optimized;
}

}  // namespace VXLA_NAMESPACE
