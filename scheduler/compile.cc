#include "scheduler/compile.h"

#include <algorithm>
#include <unordered_set>

#include "backend/kernel_hash.h"
#include "core/passes/fuse/fusion.h"
#include "core/passes/fuse/fusion_description.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "scheduler/graph/host_overlap.h"
#include "scheduler/graph/operation_order.h"
#include "scheduler/graph/queue_assignment.h"
#include "scheduler/graph/segments.h"
#include "scheduler/graph/step_graph.h"
#include "scheduler/memory/buffer_assignment.h"
#include "scheduler/memory/copy_elision.h"
#include "scheduler/memory/donation.h"
#include "scheduler/memory/liveness.h"
#include "scheduler/plan/barriers.h"
#include "scheduler/plan/merged_dispatches.h"
#include "scheduler/plan/predication.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckFallbacks(const Plan& plan, const PlanOptions& options) {
  if (!options.require_gpu || plan.fallbacks.empty()) return OkStatus();
  const Fallback& first = plan.fallbacks.front();
  return DeviceFailure("--require-gpu: {} {} would run on the host: {} ({} such instructions)", first.opcode,
                       first.instruction, first.reason, plan.fallbacks.size());
}

// A step that lowering made wrong would read or write somewhere else without a word, so each is checked once.
Status CheckStep(const Plan& plan, const Step& step, const DeviceFacts& facts) {
  if (step.bindings.size() != step.kernel.buffer_count || step.params.size() != step.kernel.param_count) {
    return Internal("step {}: {} bindings and {} parameters, and its kernel takes {} and {}", step.name,
                    step.bindings.size(), step.params.size(), step.kernel.buffer_count, step.kernel.param_count);
  }
  for (const Binding& binding : step.bindings) {
    const PlanBuffer& buffer = plan.buffers.at(binding.slice.buffer);
    const int64_t end = binding.slice.offset_bytes + binding.slice.size_bytes;
    if (binding.slice.offset_bytes < 0 || binding.slice.size_bytes < 0 || end > buffer.size_bytes) {
      return Internal("step {}: bytes {} to {} of {}, which has {}", step.name, binding.slice.offset_bytes, end,
                      buffer.name, buffer.size_bytes);
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (step.groups[axis] == 0 || step.groups[axis] > facts.max_group_count[axis]) {
      return Internal("step {}: {} workgroups on axis {}, and the device takes 1 to {}", step.name, step.groups[axis],
                      axis, facts.max_group_count[axis]);
    }
  }
  return OkStatus();
}

// Afterwards each kernel is listed once, every step is known to fit the device, and the plan does not change any more.
Status Seal(Plan& plan, const DeviceFacts& facts) {
  std::unordered_multimap<uint64_t, int> known;
  plan.kernels.clear();
  plan.kernel_of_step.clear();
  for (const Step& step : plan.steps) {
    VXLA_RETURN_IF_ERROR(CheckStep(plan, step, facts));
    const uint64_t hash = HashOf(step.kernel);
    const auto [begin, end] = known.equal_range(hash);
    const auto found =
        std::find_if(begin, end, [&](const auto& entry) { return plan.kernels[entry.second] == step.kernel; });
    int kernel = found == end ? static_cast<int>(plan.kernels.size()) : found->second;
    if (found == end) {
      known.emplace(hash, kernel);
      plan.kernels.push_back(step.kernel);
    }
    plan.kernel_of_step.push_back(kernel);
  }
  return OkStatus();
}

std::vector<PlanFault> TakeApart(Module& module,
                                 const std::vector<std::pair<const Instruction*, std::string>>& failed) {
  std::vector<PlanFault> faults;
  std::unordered_set<const Instruction*> fusions;
  for (const auto& [fusion, error] : failed) {
    faults.push_back({PlanName(*fusion), error, PlanFault::Remedy::kUnfused});
    fusions.insert(fusion);
  }
  UnfuseInstructions(module, fusions);
  return faults;
}

// Whether the device's own copies do not reach all of it.
bool IsOutOfReach(const Plan& plan, const CopyBytes& copy, const DeviceFacts& facts) {
  const int64_t reach = facts.quirks.copy_reach_bytes;
  return reach != 0 && std::max(RangeOf(plan, copy.source).end, RangeOf(plan, copy.target).end) > reach;
}

// Whether a kernel copies faster, and can.
bool IsFasterByKernel(const Plan& plan, const CopyBytes& copy, const DeviceFacts& facts) {
  constexpr int64_t kMostByDriver = 64 << 10;  // what less takes is mostly the command itself
  const int64_t size = copy.source.size_bytes;
  const bool binds =
      plan.bindings == BindingMode::kAddresses || size <= static_cast<int64_t>(facts.max_storage_range_bytes) - 15;
  return facts.costs.slow_copies && size > kMostByDriver && binds && IsCopyOfGroups(plan, copy);
}

// Kernels copy where they are faster, or the device's own copies do not reach.
Status CopyByKernels(Plan& plan, const Lowering& lowering, const DeviceFacts& facts) {
  for (GpuCommands& gpu : Only<GpuCommands>(plan.segments)) {
    for (GpuCommand& command : gpu.commands) {
      const auto* copy = std::get_if<CopyBytes>(&command);
      if (copy == nullptr || !(IsOutOfReach(plan, *copy, facts) || IsFasterByKernel(plan, *copy, facts))) continue;
      const std::string name = "copy to " + plan.buffers[copy->target.buffer].name;
      VXLA_ASSIGN_OR_RETURN(Step step, lowering.LowerCopy(name, copy->source, copy->target));
      command = Dispatch{static_cast<int>(plan.steps.size())};
      plan.steps.push_back(std::move(step));
    }
  }
  return OkStatus();
}

// Places what the graph does, in its order.
Result<Plan> PlanAsItStands(StepGraph graph, const Lowering& lowering, const DeviceFacts& facts,
                            const PlanOptions& options) {
  AssignQueues(graph, facts);
  VXLA_RETURN_IF_ERROR(ComputeLiveness(graph));
  AssignDonations(graph);
  VXLA_RETURN_IF_ERROR(AssignBuffers(graph, MemoryLimitsOf(facts, options.bindings)));
  PartitionSegments(graph, facts);
  VXLA_RETURN_IF_ERROR(CopyByKernels(graph.plan, lowering, facts));
  if (options.predicates && lowering.HasGates()) VXLA_RETURN_IF_ERROR(Predicate(graph.plan, lowering));
  FindHostWaits(graph.plan);
  InsertBarriers(graph.plan);
  MergeDispatches(graph.plan, facts);
  VXLA_RETURN_IF_ERROR(Seal(graph.plan, facts));
  return std::move(graph.plan);
}

// What runs beside something else shares no memory with it: where that is too much for the device, it runs on one
// queue.
Result<Plan> PlanOnQueues(StepGraph graph, const Lowering& lowering, const DeviceFacts& facts,
                          const PlanOptions& options) {
  if (facts.compute_queues() < 2) return PlanAsItStands(std::move(graph), lowering, facts, options);
  Result<Plan> plan = PlanAsItStands(graph, lowering, facts, options);
  if (plan.status().code() != StatusCode::kResourceExhausted) return plan;
  DeviceFacts one_queue = facts;
  one_queue.queues.resize(1);
  return PlanAsItStands(std::move(graph), lowering, one_queue, options);
}

// Places what the graph does, in its order but for what shares barriers.
Result<Plan> PlanInOrder(StepGraph graph, const Lowering& lowering, const DeviceFacts& facts,
                         const PlanOptions& options) {
  ElideCopies(graph);
  StepGraph sharing = graph;
  VXLA_ASSIGN_OR_RETURN(const bool shares, ShareBarriers(sharing));
  if (shares) {
    Result<Plan> plan = PlanOnQueues(std::move(sharing), lowering, facts, options);
    if (plan.status().code() != StatusCode::kResourceExhausted) return plan;
  }
  return PlanOnQueues(std::move(graph), lowering, facts, options);
}

// Whether the device may work beside the host's steps, exchanges with other devices among them. Checks of live sizes
// are looked at and done.
bool HasHostSteps(const StepGraph& graph) {
  return std::ranges::any_of(graph.operations, [](const Operation& operation) {
    return std::holds_alternative<HostEvaluate>(operation.action) &&
           operation.instruction->call_kind() != CallKind::kSizeCheck;
  });
}

// While lowering asks for them, fusions carry their descriptions.
Result<StepGraph> GraphOf(Module& module, const Lowering& lowering, const PlanOptions& options) {
  DescribeFusions(module);
  Result<StepGraph> graph = BuildStepGraph(module, lowering, options);
  ForgetDescriptions(module);
  return graph;
}

}  // namespace

Result<Plan> MakePlan(Module& module, const Lowering& lowering, const DeviceFacts& facts, const PlanOptions& options) {
  VXLA_ASSIGN_OR_RETURN(StepGraph graph, GraphOf(module, lowering, options));
  if (!graph.faults.empty()) {
    const std::vector<PlanFault> unfused = TakeApart(module, graph.faults);
    VXLA_ASSIGN_OR_RETURN(graph, GraphOf(module, lowering, options));
    if (!graph.faults.empty()) return Internal("{}", graph.faults.front().second);  // fusions of one cannot be
    graph.plan.faults.insert(graph.plan.faults.begin(), unfused.begin(), unfused.end());
  }
  graph.plan.size_messages = SizeFaultMessages(module);
  VXLA_RETURN_IF_ERROR(CheckFallbacks(graph.plan, options));
  if (!HasHostSteps(graph)) return PlanInOrder(std::move(graph), lowering, facts, options);
  StepGraph overlapped = graph;
  if (OverlapHostSteps(overlapped, facts)) {
    // What runs early lives long: where that is too much for the device, it runs when its turn comes.
    Result<Plan> plan = PlanInOrder(std::move(overlapped), lowering, facts, options);
    if (plan.status().code() != StatusCode::kResourceExhausted) return plan;
  }
  return PlanInOrder(std::move(graph), lowering, facts, options);
}

TargetInfo TargetOf(const DeviceFacts& facts, BindingMode bindings, bool fusion) {
  TargetInfo target;
  target.cheap_dispatches = facts.costs.subgroups_in_turn;
  target.accesses_by_lane = facts.costs.accesses_by_lane;
  target.pairs_trips = !facts.costs.subgroups_in_turn;
  // Where barriers are dear, memory is as fast as what holds it back.
  if (!facts.costs.subgroups_in_turn && !facts.same_bits) {
    target.attention_min_scores = 1 << 16;
    target.free_dot_algorithms = true;
    // Lanes of a subgroup share a row; a kernel of its own reads each operand less often, but writes and reads the
    // product.
    if (facts.subgroup_shuffle && facts.subgroup_size >= 8) {
      target.product_rows_most_terms = 192;
      target.product_rows_small_work = facts.small_work();
    }
  }
  for (const MatrixShape& shape : facts.matrices) {
    if (shape.sum == ElementType::kF32) target.matrix_terms.insert(shape.term);
  }
  target.matrix_rate = facts.matrix_rate;
  target.fusion = fusion;
  target.max_kernel_operations = facts.kernel_operations;
  target.max_elements = facts.max_elements;
  target.emulates_i64 = !facts.int64;
  target.emulates_f64 = !facts.float64;
  target.wide_atomics = facts.wide_atomics;
  target.merges_loops = MergesDispatches(facts, bindings);
  if (bindings == BindingMode::kDescriptors) {
    // One binding is the argument block.
    const int most = std::max(2, static_cast<int>(std::min<uint32_t>(facts.max_storage_buffers, 1 << 20)) - 1);
    target.max_fusion_buffers = std::min(target.max_fusion_buffers, most);
    target.max_joined_buffers = std::min(target.max_joined_buffers, most);
    target.max_kernel_buffers = std::min(target.max_kernel_buffers, most);
  }
  return target;
}

}  // namespace VXLA_NAMESPACE
