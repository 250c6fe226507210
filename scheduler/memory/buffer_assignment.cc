#include "scheduler/memory/buffer_assignment.h"

#include <algorithm>
#include <numeric>

#include "scheduler/graph/operation_order.h"
#include "scheduler/memory/buffer_packing.h"

namespace VXLA_NAMESPACE {
namespace {

Status CheckSizes(const Plan& plan, const MemoryLimits& limits) {
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.size_bytes > limits.memory_bytes) {
      return ResourceExhausted("buffer {} needs {} bytes, and the device has {} bytes of memory", buffer.name,
                               buffer.size_bytes, limits.memory_bytes);
    }
    if (buffer.size_bytes > limits.max_block_bytes) {
      return ResourceExhausted("buffer {} needs {} bytes, and the device allocates {} bytes at a time at most",
                               buffer.name, buffer.size_bytes, limits.max_block_bytes);
    }
    if (buffer.size_bytes > limits.max_range_bytes && buffer.first_use >= 0) {
      return ResourceExhausted(
          "buffer {} needs {} bytes, and a descriptor of this device covers {} bytes at most; --bindings=addresses has "
          "no such limit",
          buffer.name, buffer.size_bytes, limits.max_range_bytes);
    }
  }
  return OkStatus();
}

void PlaceResults(Plan& plan) {
  for (int leaf = 0; leaf < static_cast<int>(plan.results.size()); ++leaf) {
    PlanBuffer& buffer = plan.buffers[plan.results[leaf].buffer];
    if (buffer.placement.space == MemorySpace::kScratch) buffer.placement = {MemorySpace::kResult, leaf, 0};
  }
}

void PlaceConstants(Plan& plan, const MemoryLimits& limits) {
  int64_t offset = 0;
  for (const PlanConstant& constant : plan.constants) {
    PlanBuffer& buffer = plan.buffers[constant.buffer];
    if (plan.constant_block_bytes.empty() || offset + buffer.size_bytes > limits.max_block_bytes) {
      plan.constant_block_bytes.push_back(0);
      offset = 0;
    }
    buffer.placement.index = static_cast<int>(plan.constant_block_bytes.size()) - 1;
    buffer.placement.offset_bytes = offset;
    offset += RoundUp(buffer.size_bytes, limits.alignment);
    plan.constant_block_bytes.back() = offset;
  }
}

struct Packed {
  Packing packing;
  int64_t bound = 0;  // the least that any packing of these lifetimes takes
};

// In waves where there is memory for it; `fixed` bytes lie elsewhere.
Packed PackScratch(const std::vector<Lifetime>& lifetimes, const std::vector<Lifetime>& in_waves,
                   const MemoryLimits& limits, int64_t fixed) {
  const int64_t least = PackingLowerBound(lifetimes, limits.alignment);
  const int64_t most = std::min(limits.memory_bytes - fixed, least + MemoryForSharing(fixed + least));
  const int64_t bound = PackingLowerBound(in_waves, limits.alignment);
  if (bound <= most) {
    Packing packing = Pack(in_waves, limits.alignment, limits.max_block_bytes);
    if (packing.total_bytes() <= most) return {std::move(packing), bound};
  }
  return {Pack(lifetimes, limits.alignment, limits.max_block_bytes), least};
}

// Returns the lower bound of what the scratch needs.
int64_t PlaceScratch(StepGraph& graph, const MemoryLimits& limits, int64_t fixed) {
  Plan& plan = graph.plan;
  const std::vector<int> waves = WavesOf(graph);
  std::vector<int> scratch;
  std::vector<Lifetime> lifetimes, in_waves;
  for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
    PlanBuffer& buffer = plan.buffers[i];
    if (buffer.placement.space != MemorySpace::kScratch) continue;
    if (buffer.first_use < 0) buffer.size_bytes = 0;  // asked for, and no step binds it: it has no place
    if (buffer.size_bytes == 0) continue;
    scratch.push_back(i);
    lifetimes.push_back(LifetimeOf(buffer, {}));
    in_waves.push_back(LifetimeOf(buffer, waves));
  }
  const auto [packing, bound] = PackScratch(lifetimes, in_waves, limits, fixed);
  for (size_t i = 0; i < scratch.size(); ++i) {
    plan.buffers[scratch[i]].placement = {MemorySpace::kScratch, packing.places[i].block,
                                          packing.places[i].offset_bytes};
  }
  plan.scratch_block_bytes = packing.block_bytes;
  return bound;
}

int64_t Sum(const std::vector<int64_t>& values) { return std::accumulate(values.begin(), values.end(), int64_t{0}); }

// Parameters and results that have memory of their own.
int64_t BoundaryBytes(const Plan& plan, const MemoryLimits& limits) {
  int64_t total = 0;
  for (const PlanBuffer& buffer : plan.buffers) {
    const bool own = buffer.placement.space == MemorySpace::kResult ||
                     (buffer.placement.space == MemorySpace::kParameter && buffer.first_use >= 0);
    if (own) total += RoundUp(buffer.size_bytes, limits.alignment);
  }
  for (const PlanParameter& parameter : plan.parameters) {
    if (parameter.donated_to < 0) continue;
    const int taker = plan.results[parameter.donated_to].buffer;
    const bool twice = taker != parameter.buffer && plan.buffers[parameter.buffer].first_use >= 0 &&
                       plan.buffers[taker].first_use >= 0;
    if (twice) total -= RoundUp(plan.buffers[parameter.buffer].size_bytes, limits.alignment);
  }
  return total;
}

}  // namespace

MemoryLimits MemoryLimitsOf(const DeviceFacts& facts, BindingMode bindings) {
  MemoryLimits limits;
  limits.alignment = std::max<int64_t>(kBlockAlignment, facts.storage_offset_alignment);
  limits.max_block_bytes = static_cast<int64_t>(std::min<uint64_t>(facts.max_allocation_bytes, uint64_t{1} << 62));
  if (facts.memory_bytes != 0) limits.memory_bytes = static_cast<int64_t>(facts.memory_bytes);
  if (bindings == BindingMode::kDescriptors)
    limits.max_range_bytes = static_cast<int64_t>(facts.max_storage_range_bytes);
  return limits;
}

Status AssignBuffers(StepGraph& graph, const MemoryLimits& limits) {
  Plan& plan = graph.plan;
  VXLA_RETURN_IF_ERROR(CheckSizes(plan, limits));
  PlaceResults(plan);
  PlaceConstants(plan, limits);
  const int64_t fixed = BoundaryBytes(plan, limits) + Sum(plan.constant_block_bytes);
  const int64_t scratch_bound = PlaceScratch(graph, limits, fixed);
  plan.peak_bytes = fixed + Sum(plan.scratch_block_bytes);
  plan.lower_bound_bytes = fixed + scratch_bound;
  if (plan.peak_bytes > limits.memory_bytes) {
    return ResourceExhausted("the program needs {} bytes of device memory at once, and the device has {} bytes",
                             plan.peak_bytes, limits.memory_bytes);
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
