#include "scheduler/graph/operation_order.h"

#include <limits>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "scheduler/graph/dependencies.h"
#include "scheduler/memory/liveness.h"
#include "scheduler/plan/barriers.h"

namespace VXLA_NAMESPACE {
namespace {

// Operations of a stretch in which order is chosen: all, then fewer where memory would grow too much.
constexpr int kStretches[] = {std::numeric_limits<int>::max(), 256, 32, 8};

// Buffers without a place are memory of their own.
PhysicalRange RangeBefore(const Plan& plan, const BufferSlice& slice) {
  const Placement& placement = plan.buffers[slice.buffer].placement;
  const bool placed = placement.space == MemorySpace::kParameter;
  return {placement.space, placed ? placement.index : slice.buffer, slice.offset_bytes,
          slice.offset_bytes + slice.size_bytes};
}

// The operations of a stretch, numbered from 0, in waves; within a wave in the order that they had.
class WaveOrder {
 public:
  explicit WaveOrder(const std::vector<std::vector<int>>& before) : after_(before.size()), waits_(before.size()) {
    const auto count = static_cast<int>(before.size());
    std::vector<int> earliest(before.size());
    int depth = 0;
    for (int i = 0; i < count; ++i) {
      for (const int b : before[At(i)]) {
        earliest[At(i)] = std::max(earliest[At(i)], earliest[At(b)] + 1);
        after_[At(b)].push_back(i);
        ++waits_[At(i)];
      }
      depth = std::max(depth, earliest[At(i)]);
    }
    latest_.assign(before.size(), depth);
    urgent_.resize(static_cast<size_t>(depth) + 1);
    for (int i = count; i-- > 0;) {
      for (const int a : after_[At(i)]) latest_[At(i)] = std::min(latest_[At(i)], latest_[At(a)] - 1);
    }
    for (int i = 0; i < count; ++i) urgent_[At(latest_[At(i)])].push_back(i);
  }

  std::vector<int> Order() {
    std::vector<int> order;
    std::vector<int> ready;  // a heap, the first of the program at the front
    const auto add = [&](int i) {
      ready.push_back(i);
      std::ranges::push_heap(ready, std::greater());
    };
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] == 0) add(static_cast<int>(i));
    }
    std::vector<bool> done(waits_.size());
    int frontier = -1;
    for (const std::vector<int>& urgent : urgent_) {
      // What can wait no longer is ready, and with it goes what stood before that in the program.
      std::vector<int> wave;
      const auto take = [&](int i) {
        if (!done[At(i)]) wave.push_back(i);
        done[At(i)] = true;
      };
      for (const int i : urgent) frontier = done[At(i)] ? frontier : std::max(frontier, i), take(i);
      while (!ready.empty() && ready.front() <= frontier) {
        take(ready.front());
        std::ranges::pop_heap(ready, std::greater());
        ready.pop_back();
      }
      std::ranges::sort(wave);
      order.insert(order.end(), wave.begin(), wave.end());
      for (const int i : wave) {
        for (const int a : after_[At(i)]) {
          if (--waits_[At(a)] == 0) add(a);
        }
      }
    }
    return order;
  }

 private:
  static size_t At(int i) { return static_cast<size_t>(i); }

  std::vector<std::vector<int>> after_;
  std::vector<int> waits_, latest_;
  std::vector<std::vector<int>> urgent_;  // by wave: what must not come later
};

// By buffer, the memory that it stands for: a result's is that of the parameter that is donated to it, where the
// program's order lets it be.
std::vector<int> MemoryOf(const StepGraph& graph) {
  const Plan& plan = graph.plan;
  std::vector<int> memory = Counted<int>(plan.buffers.size());
  for (size_t leaf = 0; leaf < graph.donors.size(); ++leaf) {
    const int donor = graph.donors[leaf].parameter_leaf;
    if (donor < 0) continue;
    const int from = plan.parameters[donor].buffer, to = plan.results[leaf].buffer;
    const bool after = plan.buffers[from].last_use <= plan.buffers[to].first_use;
    if (after) memory[to] = from;
  }
  return memory;
}

// The same operations, each stretch of at most so many between fences in waves.
std::vector<int> OrderOf(const StepGraph& graph, const std::vector<int>& memory, int stretch) {
  std::vector<int> order;
  const auto count = static_cast<int>(graph.operations.size());
  for (int begin = 0; begin < count;) {
    const auto at = [&](int i) -> const Operation& { return graph.operations[i]; };
    int end = begin + 1;
    if (IsDeviceWork(at(begin))) {
      while (end < count && end - begin < stretch && IsDeviceWork(at(end)) && at(end).group == at(begin).group) ++end;
    }
    Dependencies dependencies(Dependencies::By::kBytes, memory);
    for (int i = begin; i < end; ++i) dependencies.Add(at(i), i - begin);
    for (const int i : WaveOrder(dependencies.before()).Order()) order.push_back(begin + i);
    begin = end;
  }
  return order;
}

// Parameters, results and constants, and what of the rest is alive at once at least, by waves or by operations.
Result<int64_t> BytesAtOnce(StepGraph& graph, bool by_waves) {
  VXLA_RETURN_IF_ERROR(ComputeLiveness(graph));
  const std::vector<int> waves = by_waves ? WavesOf(graph) : std::vector<int>();
  std::unordered_set<int> results;
  for (const PlanResult& result : graph.plan.results) results.insert(result.buffer);
  int64_t fixed = 0;
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < static_cast<int>(graph.plan.buffers.size()); ++i) {
    const PlanBuffer& buffer = graph.plan.buffers[i];
    if (buffer.first_use < 0) continue;
    const bool scratch = buffer.placement.space == MemorySpace::kScratch && !results.contains(i);
    if (!scratch) fixed += RoundUp(buffer.size_bytes, kBlockAlignment);
    if (scratch) lifetimes.push_back(LifetimeOf(buffer, waves));
  }
  return fixed + PackingLowerBound(lifetimes, kBlockAlignment);
}

}  // namespace

std::vector<int> WavesOf(const StepGraph& graph) {
  std::vector<int> waves;
  CommandsMemory memory;  // of the wave
  int wave = 0, group = 0;
  bool device = true;
  for (const Operation& operation : graph.operations) {
    std::vector<MemoryUse> uses;
    for (const Binding& use : operation.uses)
      uses.push_back({RangeBefore(graph.plan, use.slice), use.access != Access::kRead});
    if (IsDeviceWork(operation) != device || !device || operation.group != group ||
        std::ranges::any_of(uses, [&](const MemoryUse& use) { return memory.IsBefore(use); })) {
      ++wave;
      memory = {};
    }
    device = IsDeviceWork(operation);
    group = operation.group;
    for (const MemoryUse& use : uses) memory.Add(use);
    waves.push_back(wave);
  }
  return waves;
}

Lifetime LifetimeOf(const PlanBuffer& buffer, const std::vector<int>& waves) {
  const auto wave = [&](int operation) { return waves.empty() ? operation : waves[operation]; };
  return {wave(buffer.first_use), wave(buffer.last_use), buffer.size_bytes};
}

Result<bool> ShareBarriers(StepGraph& graph) {
  if (graph.operations.size() < 3) return false;
  VXLA_ASSIGN_OR_RETURN(const int64_t before, BytesAtOnce(graph, false));
  const int waves = WavesOf(graph).back();
  const std::vector<int> memory = MemoryOf(graph);
  for (const int stretch : kStretches) {
    const std::vector<int> order = OrderOf(graph, memory, stretch);
    if (std::ranges::is_sorted(order)) continue;
    const std::vector<Operation> given = graph.operations;
    for (size_t k = 0; k < order.size(); ++k) graph.operations[k] = given[order[k]];
    VXLA_ASSIGN_OR_RETURN(const int64_t after, BytesAtOnce(graph, true));
    if (after <= before + MemoryForSharing(before) && WavesOf(graph).back() < waves) return true;
    graph.operations = given;
  }
  return false;
}

}  // namespace VXLA_NAMESPACE
