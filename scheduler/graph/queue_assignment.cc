#include "scheduler/graph/queue_assignment.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/host/ranges.h"
#include "scheduler/graph/dependencies.h"
#include "scheduler/plan/work_limit.h"

namespace VXLA_NAMESPACE {
namespace {

// What a dispatch takes beside its work: to begin, and to drain before the barrier behind it.
constexpr double kDispatchSeconds = 5e-6;
// Estimates go by low rates; what they say of work that nobody has measured is taken at a part of it.
constexpr double kTrust = 0.25;
// Of an overlap, so that finding them takes time in proportion to the program.
constexpr size_t kMostOperations = 256;

// The operations of a run in sets that depend on nothing in one another.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(Counted<size_t>(count)), work_(count), heavy_(count, false) {}
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void SetWork(size_t i, const QueueWork& work, double heavy_seconds) {
    work_[i] = work;
    heavy_[i] = work.seconds >= heavy_seconds;
  }
  void Unite(size_t a, size_t b, double heavy_seconds) {
    a = Find(a), b = Find(b);
    if (a == b) return;
    if (a > b) std::swap(a, b);
    parent_[b] = a;
    SetWork(a, {work_[a].seconds + work_[b].seconds, work_[a].busy_seconds + work_[b].busy_seconds}, heavy_seconds);
  }
  const QueueWork& work(size_t root) const { return work_[root]; }
  bool is_heavy(size_t root) const { return heavy_[root]; }

 private:
  std::vector<size_t> parent_;
  std::vector<QueueWork> work_;
  std::vector<bool> heavy_;
};

class QueueAssignment {
 public:
  QueueAssignment(StepGraph& graph, const DeviceFacts& facts) : graph_(graph), facts_(facts) {}

  void Run() {
    std::vector<bool> allows = {true};  // of the open decisions
    size_t begin = 0;
    for (size_t i = 0; i <= graph_.operations.size(); ++i) {
      const bool ends = i == graph_.operations.size() || !IsDeviceWork(graph_.operations[i]) ||
                        graph_.operations[i].group != GroupAt(begin);
      if (!ends) continue;
      if (allows.back()) AssignRun(begin, i);
      begin = i;
      if (i == graph_.operations.size() || IsDeviceWork(graph_.operations[i])) continue;
      begin = i + 1;
      const auto* mark = std::get_if<DecisionMark>(&graph_.operations[i].action);
      if (mark == nullptr) continue;
      if (mark->kind == DecisionMark::Kind::kOpen) {
        const HostDecide& decision = graph_.decisions[mark->decision];
        allows.push_back(allows.back() && decision.kind == HostDecide::Kind::kWhile && decision.trip_count >= 0);
      } else if (mark->kind == DecisionMark::Kind::kClose) {
        allows.pop_back();
      }
    }
  }

 private:
  int GroupAt(size_t i) const { return graph_.operations[i].group; }
  double HeavySeconds() const { return std::max(0.0, facts_.queue_switch_seconds); }

  void AssignRun(size_t begin, size_t end) {
    if (end - begin < 2) return;
    FindDependencies(begin, end);
    for (size_t i = begin; i + 1 < end;) {
      const size_t behind = AssignFrom(i, begin, end);
      i = behind > i ? behind : i + 1;
    }
  }

  // Of each operation of the run, those before it that it has to wait for, counted from the run's begin.
  void FindDependencies(size_t begin, size_t end) {
    Dependencies dependencies(Dependencies::By::kBuffers);
    work_.clear();
    for (size_t i = begin; i < end; ++i) {
      work_.push_back(WorkOf(graph_.operations[i], graph_.plan, facts_));
      dependencies.Add(graph_.operations[i], static_cast<int>(i - begin));
    }
    before_ = dependencies.before();
  }

  // An overlap that begins with operation `first`, up to where what would gain by running apart meets. The end of it,
  // or `first` if there is none.
  size_t AssignFrom(size_t first, size_t begin, size_t end) {
    const size_t most = std::min(end - first, kMostOperations);
    Sets sets(most);
    size_t count = 0;
    for (; count < most; ++count) {
      sets.SetWork(count, work_[first + count - begin], HeavySeconds());
      size_t heavy = 0;
      std::vector<size_t> roots;
      for (const size_t before : before_[first + count - begin]) {
        if (before + begin < first) continue;
        const size_t root = sets.Find(before + begin - first);
        if (std::ranges::count(roots, root) != 0) continue;
        roots.push_back(root);
        heavy += sets.is_heavy(root);
      }
      if (heavy > 1) break;
      for (const size_t root : roots) sets.Unite(root, count, HeavySeconds());
    }
    std::vector<size_t> roots;
    for (size_t i = 0; i < count; ++i) {
      if (sets.Find(i) == i) roots.push_back(i);
    }
    if (roots.size() < 2) return first;
    std::ranges::stable_sort(roots, std::greater(), [&](size_t root) { return sets.work(root).seconds; });
    const double alone = OneQueueSeconds(first - begin, count);
    double best = 0;
    std::unordered_map<size_t, int> queue_of;
    for (int queues = 2; queues <= std::min<int>(facts_.compute_queues(), static_cast<int>(roots.size())); ++queues) {
      std::vector<QueueWork> work(static_cast<size_t>(queues));
      std::unordered_map<size_t, int> packed;
      for (const size_t root : roots) {
        const auto least = std::ranges::min_element(work, {}, &QueueWork::seconds);
        least->seconds += sets.work(root).seconds;
        least->busy_seconds += sets.work(root).busy_seconds;
        packed[root] = static_cast<int>(least - work.begin());
      }
      const double gain = OverlapGain(alone, work, facts_);
      if (gain > best) best = gain, queue_of = std::move(packed);
    }
    if (best <= 0) return first;
    Apply(first, count, [&](size_t i) { return queue_of.at(sets.Find(i)); });
    return first + count;
  }

  // What stands between two barriers runs beside each other on one queue too.
  double OneQueueSeconds(size_t first, size_t count) const {
    double total = 0, busy = 0, longest = 0;
    for (size_t n = first, barrier = first; n < first + count; ++n) {
      if (std::ranges::any_of(before_[n], [&](size_t before) { return before >= barrier; })) {
        total += std::max(busy, longest);
        busy = longest = 0;
        barrier = n;
      }
      busy += work_[n].busy_seconds;
      longest = std::max(longest, work_[n].seconds);
    }
    return total + std::max(busy, longest);
  }

  void Apply(size_t first, size_t count, const auto& queue_of) {
    ++overlap_;
    for (size_t i = 0; i < count; ++i) {
      Operation& operation = graph_.operations[first + i];
      operation.overlap = overlap_;
      operation.queue = queue_of(i);
    }
    const auto at = graph_.operations.begin() + static_cast<ptrdiff_t>(first);
    std::stable_sort(at, at + static_cast<ptrdiff_t>(count),
                     [](const Operation& a, const Operation& b) { return a.queue < b.queue; });
  }

  StepGraph& graph_;
  const DeviceFacts& facts_;
  int overlap_ = 0;
  // Of the run.
  std::vector<std::vector<int>> before_;
  std::vector<QueueWork> work_;
};

}  // namespace

QueueWork WorkOf(const Operation& operation, const Plan& plan, const DeviceFacts& facts) {
  double seconds = 0, share = 1;
  if (const auto* dispatch = std::get_if<Dispatch>(&operation.action)) {
    const Step& step = plan.steps[dispatch->step];
    const double groups = static_cast<double>(step.groups[0]) * step.groups[1] * step.groups[2];
    seconds = EstimateSeconds(step, facts) * kTrust;
    share = std::min(1.0, groups / static_cast<double>(std::max<int64_t>(1, facts.busy_workgroups)));
  } else if (const auto* copy = std::get_if<CopyBytes>(&operation.action)) {
    seconds = EstimateCopySeconds(copy->source.size_bytes, facts) * kTrust;
  }
  // A step of few workgroups leaves the rest of the device idle.
  return {kDispatchSeconds + seconds / std::max(share, 1e-6), seconds};
}

double OverlapGain(double one_queue_seconds, std::span<const QueueWork> queues, const DeviceFacts& facts) {
  double busy = 0, longest = 0;
  for (const QueueWork& work : queues) {
    busy += work.busy_seconds;
    longest = std::max(longest, work.seconds);
  }
  if (facts.queue_switch_seconds < 0) return static_cast<double>(std::ssize(queues));
  // Each further queue waits for the first one, and is waited for.
  const double switches = 2 * facts.queue_switch_seconds * static_cast<double>(std::ssize(queues) - 1);
  return one_queue_seconds - std::max(busy, longest) - switches;
}

void AssignQueues(StepGraph& graph, const DeviceFacts& facts) {
  if (facts.compute_queues() < 2) return;
  QueueAssignment(graph, facts).Run();
}

}  // namespace VXLA_NAMESPACE
