#include "core/passes/base/pipeline.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "core/ir/module_edits.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/cse.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/one_device.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/expand/repairs.h"
#include "core/passes/fuse/fusion.h"
#include "core/passes/giants/giant_splitter.h"
#include "core/passes/scans/scans.h"
#include "core/passes/simplify/integer_folding.h"
#include "core/passes/simplify/simplifiers.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/passes/sizes/live_rows.h"
#include "core/passes/sizes/live_specializer.h"

namespace VXLA_NAMESPACE {
namespace {

// What holds of sizes in a program's text does not hold of live sizes: what is left of them after this, the other
// passes pass over.
Result<bool> PadLiveSizes(Module& module, const TargetInfo& target) {
  VXLA_RETURN_IF_ERROR(InlineCalls(module).status());
  VXLA_RETURN_IF_ERROR(SeparateControlComputations(module).status());
  ExpandBatchNorms(module, target.wide_accumulation);
  RemoveDeadCode(module);
  if (target.fusion) BoundLiveWork(module);
  PadDynamicDimensions(module, target.sizes_tell_faults);
  RemoveDeadCode(module);
  return true;
}

struct PassContext {
  const TargetInfo& target;
  bool live_sizes;  // the program as it was given has some
};

struct Pass {
  std::string_view name;
  Result<bool> (*run)(Module& module, const PassContext& context);  // whether it may have changed the module
};

using M = Module&;
using C = const PassContext&;

Result<bool> Always(void (*pass)(Module&), Module& module) {
  pass(module);
  return true;
}

// Equal calls, maps and conditionals merge, and a conditional of equal branches becomes a call, before inlining: a
// program that applies each function twice to the same value does not double at each level. Control computations are
// copied until each has one caller: passes may then change them. Bitcasts are expanded while layouts still say what
// they mean, and running windows are blocked while a window is still one instruction.
constexpr Pass kFirst[] = {
    {"drop-order-of-copies", [](M m, C) -> Result<bool> { return DropOrderOfCopies(m); }},
    {"order-random-numbers", [](M m, C) -> Result<bool> { return Always(OrderRandomNumbers, m); }},
    {"expand-complex-order", [](M m, C) -> Result<bool> { return ExpandComplexOrder(m); }},
    {"merge-equal-instructions", [](M m, C) -> Result<bool> { return EliminateCommonSubexpressions(m); }},
    {"merge-equal-branches", [](M m, C) -> Result<bool> { return MergeEqualBranches(m); }},
    {"expand-for-one-device", [](M m, C) -> Result<bool> { return ExpandForOneDevice(m); }},
    {"pad-live-sizes", [](M m, C c) -> Result<bool> { return HasLiveSizes(m) ? PadLiveSizes(m, c.target) : false; }},
    {"expand-scans", [](M m, C) -> Result<bool> { return ExpandScans(m); }},
    {"expand-library-calls", [](M m, C c) { return ExpandLibraryCalls(m, c.target.host_functions); }},
    {"inline-calls", [](M m, C) { return InlineCalls(m); }},
    {"separate-control-computations", [](M m, C) { return SeparateControlComputations(m); }},
    {"expand-bitcasts", [](M m, C) -> Result<bool> { return ExpandBitcasts(m); }},
    {"expand-batch-norms", [](M m, C c) -> Result<bool> { return ExpandBatchNorms(m, c.target.wide_accumulation); }},
    {"expand-rng-bit-generators", [](M m, C) -> Result<bool> { return ExpandRngBitGenerators(m); }},
    {"expand-rngs", [](M m, C) -> Result<bool> { return ExpandRngs(m); }},
    {"expand-stochastic-converts", [](M m, C) -> Result<bool> { return ExpandStochasticConverts(m); }},
    {"widen-linear-algebra", [](M m, C) -> Result<bool> { return WidenLinearAlgebra(m); }},
    {"expand-dots", [](M m, C c) -> Result<bool> { return ExpandDots(m, c.target); }},
    {"split-matrix-scans",
     [](M m, C c) -> Result<bool> {
       return SplitMatrixScans(m, c.target.max_joined_buffers, c.target.wide_accumulation);
     }},
    {"find-associative-scans",
     [](M m, C) -> Result<bool> { return FindAssociativeScans(m) && (RemoveDeadCode(m), true); }},
    {"split-sliding-windows",
     [](M m, C c) -> Result<bool> { return SplitSlidingWindows(m, c.target.wide_accumulation); }},
    {"split-giants", [](M m, C c) -> Result<bool> { return SplitGiants(m, c.target.max_elements); }},
    {"expand-scatters", [](M m, C c) -> Result<bool> { return ExpandScatters(m, c.target); }},
};

// In rounds until none of them, dead code and calls aside, changes anything: each simplification can make two
// instructions equal, and each merge can enable a simplification.
constexpr Pass kRepeated[] = {
    {"simplify-algebra", [](M m, C c) -> Result<bool> { return SimplifyAlgebra(m, c.target); }},
    {"sink-loop-constants", [](M m, C) -> Result<bool> { return SinkLoopConstants(m); }},
    {"fold-integers", [](M m, C) -> Result<bool> { return FoldIntegers(m); }},
    {"hoist-from-loops", [](M m, C c) -> Result<bool> { return c.target.fusion && HoistFromLoops(m); }},
    {"unroll-short-loops",
     [](M m, C c) -> Result<bool> { return c.target.fusion && c.target.unroll_loops && UnrollShortLoops(m); }},
    // Maps that simplifying made.
    {"inline-calls",
     [](M m, C) -> Result<bool> {
       VXLA_RETURN_IF_ERROR(InlineCalls(m).status());
       return false;
     }},
    // What passes have made: a loop's products at once.
    {"split-giants", [](M m, C c) -> Result<bool> { return SplitGiants(m, c.target.max_elements); }},
    {"merge-equal-instructions", [](M m, C) -> Result<bool> { return EliminateCommonSubexpressions(m); }},
};
// Behind them, and before them once more if it changes anything.
constexpr Pass kPairTrips = {"pair-trips", [](M m, C c) -> Result<bool> {
                               if (!c.target.fusion || !c.target.unroll_loops || !c.target.pairs_trips || !PairTrips(m))
                                 return false;
                               VXLA_RETURN_IF_ERROR(InlineCalls(m).status());
                               return true;
                             }};
constexpr Pass kDeadCode = {"remove-dead-code", [](M m, C) -> Result<bool> { return RemoveDeadCode(m); }};

// Marks on instructions, which would keep equal ones apart, come late; nothing that reads single operations may follow
// fusion.
constexpr Pass kLast[] = {
    {"split-wide-concatenates",
     [](M m, C c) -> Result<bool> { return SplitWideConcatenates(m, c.target.max_kernel_buffers); }},
    kDeadCode,
    {"note-trip-counts", [](M m, C) -> Result<bool> { return Always(NoteTripCounts, m); }},
    {"mark-wide-sums",
     [](M m, C c) -> Result<bool> { return c.target.wide_accumulation && Always(MarkWideAccumulations, m).ok(); }},
    {"mark-live-rows",
     [](M m, C c) -> Result<bool> { return c.target.fusion && c.live_sizes && Always(MarkLiveRows, m).ok(); }},
    {"fuse",
     [](M m, C c) -> Result<bool> {
       VXLA_ASSIGN_OR_RETURN(const int count, FuseInstructions(m, c.target));
       m.SortComputations();
       return count > 0;
     }},
    kDeadCode,
};

// Runs passes over one module and tells of each.
class Pipeline {
 public:
  Pipeline(Module& module, const PassContext& context, const AfterPass& after)
      : module_(module), context_(context), after_(after) {}

  Result<bool> Run(const Pass& pass, int round = 0) {
    const auto begin = std::chrono::steady_clock::now();
    VXLA_ASSIGN_OR_RETURN(const bool changed, pass.run(module_, context_));
    if (after_) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      Status status = after_({pass.name, round, changed, seconds.count()}, module_);
      if (!status.ok()) return status;
    }
    return changed;
  }
  Status RunAll(std::span<const Pass> passes) {
    for (const Pass& pass : passes) VXLA_RETURN_IF_ERROR(Run(pass).status());
    return OkStatus();
  }
  Status RunUntilNothingChanges(std::span<const Pass> passes) {
    bool again = true;
    for (int round = 1; again; ++round) {
      VXLA_RETURN_IF_ERROR(Run(kDeadCode, round).status());
      again = false;
      for (const Pass& pass : passes) {
        VXLA_ASSIGN_OR_RETURN(const bool changed, Run(pass, round));
        again |= changed;
      }
    }
    return OkStatus();
  }

 private:
  Module& module_;
  const PassContext& context_;
  const AfterPass& after_;
};

}  // namespace

std::vector<std::string_view> PassNames() {
  std::vector<std::string_view> names;
  for (const std::span<const Pass> passes : {std::span<const Pass>(kFirst), {kRepeated}, {&kPairTrips, 1}, {kLast}}) {
    for (const Pass& pass : passes) {
      if (std::ranges::find(names, pass.name) == names.end()) names.push_back(pass.name);
    }
  }
  return names;
}

Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target, const AfterPass& after) {
  std::unique_ptr<Module> optimized = module.Clone();
  const PassContext context{target, HasLiveSizes(module)};
  Pipeline pipeline(*optimized, context, after);
  VXLA_RETURN_IF_ERROR(pipeline.RunAll(kFirst));
  VXLA_RETURN_IF_ERROR(pipeline.RunUntilNothingChanges(kRepeated));
  VXLA_ASSIGN_OR_RETURN(const bool pairs, pipeline.Run(kPairTrips));
  if (pairs) VXLA_RETURN_IF_ERROR(pipeline.RunUntilNothingChanges(kRepeated));
  VXLA_RETURN_IF_ERROR(pipeline.RunAll(kLast));
  return optimized;
}

Status Prepare(Module& module) {
  ReplaceNamedCalls(module);
  AddLiveFlags(module);
  FinishCarriedTransfers(module);
  UnmixPrecision(module);
  VXLA_RETURN_IF_ERROR(Verify(module));
  ScalarizeRegions(module);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
