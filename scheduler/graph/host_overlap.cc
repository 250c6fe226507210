#include "scheduler/graph/host_overlap.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/passes/devices/device_merger.h"
#include "scheduler/graph/dependencies.h"
#include "scheduler/graph/queue_assignment.h"
#include "scheduler/plan/barriers.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int kNoHostStep = std::numeric_limits<int>::max();
// The executor waits inside a loop of more iterations than this, and what follows would begin later.
constexpr int64_t kMostIterationsAhead = 64;

// An operation, or a decision with all its regions, that stays in one piece.
struct Node {
  int begin = 0, end = 0;  // operations
  enum class Kind : uint8_t { kDevice, kHost, kFence } kind = Kind::kDevice;
  std::vector<int> before;      // nodes that have to come first
  int blocked = -1;             // the last host step that has to come first
  int needed_by = kNoHostStep;  // the first host step that needs it
};

class HostOverlap {
 public:
  HostOverlap(StepGraph& graph, const DeviceFacts& facts)
      : graph_(graph), facts_(facts), places_(DecisionPlacesOf(graph)) {}

  bool Run() {
    const int count = static_cast<int>(graph_.operations.size());
    order_.reserve(count);
    AddBlock(0, count);
    if (std::ranges::is_sorted(order_)) return false;
    std::vector<Operation> ordered;
    ordered.reserve(order_.size());
    for (const int i : order_) {
      ordered.push_back(std::move(graph_.operations[i]));
      ordered.back().group = group_of_.contains(i) ? group_of_.at(i) : 0;
    }
    graph_.operations = std::move(ordered);
    return true;
  }

 private:
  const Operation& At(int i) const { return graph_.operations[i]; }
  const DecisionMark* MarkAt(int i) const { return std::get_if<DecisionMark>(&At(i).action); }
  bool IsHost(int i) const { return std::holds_alternative<HostEvaluate>(At(i).action); }

  // The operations of a region: runs of nodes between fences, each in its own order.
  void AddBlock(int begin, int end) {
    std::vector<Node> run;
    for (int i = begin; i < end;) {
      Node node{i, i + 1, IsHost(i) ? Node::Kind::kHost : Node::Kind::kDevice, {}};
      if (const DecisionMark* mark = MarkAt(i)) {
        node.end = places_[mark->decision].close + 1;
        node.kind = RunsAhead(node.begin, node.end) ? Node::Kind::kDevice : Node::Kind::kFence;
      }
      i = node.end;
      if (node.kind != Node::Kind::kFence) {
        run.push_back(std::move(node));
        continue;
      }
      AddRun(run);
      run.clear();
      AddFence(node);
    }
    AddRun(run);
  }

  void AddFence(const Node& fence) {
    const auto& [open, close, next] = places_[MarkAt(fence.begin)->decision];
    int region = open + 1;
    order_.push_back(open);
    const auto add = [&](int mark) {
      AddBlock(region, mark);
      order_.push_back(mark);
      region = mark + 1;
    };
    std::ranges::for_each(next, add);
    add(close);
  }

  // Counted loops of the device's own work, which are submitted without a wait.
  bool RunsAhead(int begin, int end) const {
    int64_t iterations = 1;
    for (int i = begin; i < end; ++i) {
      if (IsHost(i)) return false;
      const DecisionMark* mark = MarkAt(i);
      if (mark == nullptr || mark->kind != DecisionMark::Kind::kOpen) continue;
      const int64_t count = graph_.decisions[mark->decision].trip_count;
      if (count < 0 || count > kMostIterationsAhead) return false;
      iterations *= std::max<int64_t>(count, 1);
      if (iterations > kMostIterationsAhead) return false;
    }
    return true;
  }

  void AddRun(std::vector<Node>& nodes) {
    int hosts = 0;
    for (const Node& node : nodes) hosts += node.kind == Node::Kind::kHost;
    if (hosts == 0) {
      for (const Node& node : nodes) AddNode(node, 0);
      return;
    }
    FindDependencies(nodes);
    FindHosts(nodes);
    std::vector<bool> added(nodes.size(), false);
    int host = 0;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].kind != Node::Kind::kHost) continue;
      AddReady(nodes, host, &nodes[n], added);
      AddNode(nodes[n], 0);
      ++host;
    }
    AddReady(nodes, host, nullptr, added);
  }

  // The device's nodes that wait for host steps before `host` only; those that the first host step needs first.
  void AddReady(const std::vector<Node>& nodes, int host, const Node* host_step, std::vector<bool>& added) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].kind == Node::Kind::kDevice && !added[n] && nodes[n].blocked < host) ready.push_back(n);
    }
    const auto is_beside = [&](size_t n) { return nodes[n].needed_by > host; };
    double beside = 0;
    for (const size_t n : ready) beside += is_beside(n) ? SecondsOf(nodes[n]) : 0;
    if (host_step != nullptr && !IsWorthASubmission(beside, *host_step)) std::erase_if(ready, is_beside);
    std::ranges::stable_sort(ready, {}, [&](size_t n) { return nodes[n].needed_by; });
    for (const size_t n : ready) {
      AddNode(nodes[n], nodes[n].needed_by == kNoHostStep ? kNoHostStep : nodes[n].needed_by + 1);
      added[n] = true;
    }
  }

  void AddNode(const Node& node, int group) {
    for (int i = node.begin; i < node.end; ++i) {
      order_.push_back(i);
      if (group != 0) group_of_[i] = group;
    }
  }

  // A copy also waits for the host steps that read its source: behind them the copy may cost nothing,
  // before them it has to be made.
  void FindDependencies(std::vector<Node>& nodes) const {
    Dependencies dependencies(Dependencies::By::kBuffers);
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      Node& node = nodes[n];
      for (int i = node.begin; i < node.end; ++i) {
        if (const auto* copy = std::get_if<CopyBytes>(&At(i).action)) {
          for (const int reader : dependencies.ReadersOf(copy->source.buffer)) {
            if (nodes[reader].kind == Node::Kind::kHost) node.before.push_back(reader);
          }
        }
        dependencies.Add(At(i), n);
      }
    }
    for (size_t n = 0; n < nodes.size(); ++n) {
      const std::vector<int>& before = dependencies.before()[n];
      nodes[n].before.insert(nodes[n].before.end(), before.begin(), before.end());
    }
  }

  static void FindHosts(std::vector<Node>& nodes) {
    std::vector<int> number(nodes.size(), -1);
    int host = 0;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].kind == Node::Kind::kHost) number[n] = host++;
    }
    for (Node& node : nodes) {
      for (const int before : node.before) {
        const auto b = static_cast<size_t>(before);
        node.blocked = std::max(node.blocked, number[b] >= 0 ? number[b] : nodes[b].blocked);
      }
    }
    for (size_t n = nodes.size(); n-- > 0;) {
      const int needed_by = number[n] >= 0 ? number[n] : nodes[n].needed_by;
      for (const int before : nodes[n].before) {
        Node& node = nodes[before];
        node.needed_by = std::min(node.needed_by, needed_by);
      }
    }
  }

  // Whether work beside a host step is worth a submission of its own: what the CPU computes takes long.
  bool IsWorthASubmission(double seconds, const Node& host) const {
    return At(host.begin).instruction->call_kind() != CallKind::kExchange || seconds > facts_.queue_switch_seconds;
  }

  double SecondsOf(const Node& node) const {
    double seconds = 0;
    for (int i = node.begin; i < node.end; ++i) {
      if (MarkAt(i) != nullptr) return std::numeric_limits<double>::infinity();
      seconds += WorkOf(At(i), graph_.plan, facts_).seconds;
    }
    return seconds;
  }

  StepGraph& graph_;
  const DeviceFacts& facts_;
  const std::vector<DecisionPlaces> places_;
  std::vector<int> order_;
  std::unordered_map<int, int> group_of_;  // by operation
};

// By segment, how many decisions, and ends of a decision's regions, stand before it: of two branches one runs.
std::vector<int> DecisionsBefore(const Plan& plan) {
  std::vector<int> count(plan.segments.size() + 1);
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const auto* decision = std::get_if<HostDecide>(&plan.segments[i]);
    if (decision == nullptr) continue;
    ++count[i];
    for (const int end : decision->region_ends) ++count[end];
  }
  std::partial_sum(count.begin(), count.end(), count.begin());
  return count;
}

bool AreBesideEachOther(const Plan& plan, int a, int b) {
  const auto& first = std::get<GpuCommands>(plan.segments[a]);
  const auto& second = std::get<GpuCommands>(plan.segments[b]);
  return first.overlap != 0 && first.overlap == second.overlap && first.queue != second.queue;
}

}  // namespace

bool OverlapHostSteps(StepGraph& graph, const DeviceFacts& facts) {
  const bool any = std::ranges::any_of(graph.operations, [](const Operation& operation) {
    return std::holds_alternative<HostEvaluate>(operation.action);
  });
  return any && HostOverlap(graph, facts).Run();
}

void FindHostWaits(Plan& plan) {
  const std::vector<bool> in_loop =
      plan.InLoops([](const HostDecide& decision) { return decision.kind == HostDecide::Kind::kWhile; });
  const std::vector<int> decisions_before = DecisionsBefore(plan);
  std::vector<std::pair<int, CommandsMemory>> device;
  for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
    const auto* gpu = std::get_if<GpuCommands>(&plan.segments[i]);
    if (gpu == nullptr) continue;
    CommandsMemory& memory = device.emplace_back(i, CommandsMemory()).second;
    for (const GpuCommand& command : gpu->commands) {
      for (const MemoryUse& use : MemoryUses(plan, command)) memory.Add(use);
    }
  }
  for (int i = 0; i < static_cast<int>(plan.segments.size()); ++i) {
    auto* evaluation = std::get_if<HostEvaluate>(&plan.segments[i]);
    if (evaluation == nullptr) continue;
    std::vector<MemoryUse> uses;
    for (const HostEvaluate::Operand& operand : evaluation->operands) {
      for (const BufferSlice& leaf : operand.leaves) uses.push_back({RangeOf(plan, leaf), false});
    }
    for (const BufferSlice& leaf : evaluation->results) uses.push_back({RangeOf(plan, leaf), true});
    std::erase_if(uses, [](const MemoryUse& use) { return use.range.begin >= use.range.end; });
    evaluation->waits_for_arguments =
        std::ranges::any_of(uses, [](const MemoryUse& use) { return IsBoundary(use.range.space); });
    evaluation->waits_for.clear();
    for (const auto& [segment, memory] : device) {
      if (segment > i && !in_loop[i]) break;
      if (std::ranges::none_of(uses, [&, &memory = memory](const MemoryUse& use) { return memory.IsBefore(use); }))
        continue;
      // Whoever waits for a segment waits for those submitted before it, but for those beside it; a decision between
      // them may leave it out.
      auto& waits = evaluation->waits_for;
      if (!waits.empty() && segment < i && decisions_before[segment] == decisions_before[waits.back()] &&
          !AreBesideEachOther(plan, segment, waits.back()))
        waits.pop_back();
      waits.push_back(segment);
    }
  }
}

}  // namespace VXLA_NAMESPACE
