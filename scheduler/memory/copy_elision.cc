#include "scheduler/memory/copy_elision.h"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include "core/host/ranges.h"

namespace VXLA_NAMESPACE {
namespace {

// A set of candidates. Few of many are alive at a time, so only words that hold any are kept.
class Bits {
 public:
  void Set(int i) {
    auto at = words_.begin() + (Find(i / 64) - words_.begin());
    if (at == words_.end() || at->first != i / 64) at = words_.insert(at, {i / 64, 0});
    at->second |= uint64_t{1} << (i % 64);
  }
  void Clear(int i) {
    auto at = words_.begin() + (Find(i / 64) - words_.begin());
    if (at == words_.end() || at->first != i / 64) return;
    at->second &= ~(uint64_t{1} << (i % 64));
    if (at->second == 0) words_.erase(at);
  }
  void Add(const Bits& other) {
    if (other.words_.empty()) return;
    std::vector<Word> joined;
    joined.reserve(words_.size() + other.words_.size());
    auto a = words_.begin();
    for (const Word& word : other.words_) {
      while (a != words_.end() && a->first < word.first) joined.push_back(*a++);
      const bool both = a != words_.end() && a->first == word.first;
      joined.push_back({word.first, word.second | (both ? (a++)->second : 0)});
    }
    joined.insert(joined.end(), a, words_.end());
    words_ = std::move(joined);
  }
  friend bool operator==(const Bits&, const Bits&) = default;
  // The candidates that are in one of the two only.
  static std::vector<int> Difference(const Bits& a, const Bits& b) {
    std::vector<int> candidates;
    auto i = a.words_.begin(), j = b.words_.begin();
    while (i != a.words_.end() || j != b.words_.end()) {
      const bool left = j == b.words_.end() || (i != a.words_.end() && i->first <= j->first);
      const bool right = i == a.words_.end() || (j != b.words_.end() && j->first <= i->first);
      const int word = left ? i->first : j->first;
      uint64_t bits = (left ? i->second : 0) ^ (right ? j->second : 0);
      i += left;
      j += right;
      for (; bits != 0; bits &= bits - 1) candidates.push_back(64 * word + std::countr_zero(bits));
    }
    return candidates;
  }

 private:
  using Word = std::pair<int, uint64_t>;
  std::vector<Word>::const_iterator Find(int word) const {
    return std::ranges::lower_bound(words_, word, {}, &Word::first);
  }
  std::vector<Word> words_;
};

// Which operations may follow each operation; one beyond the last stands for the end.
std::vector<std::vector<int>> Successors(const StepGraph& graph) {
  const int count = static_cast<int>(graph.operations.size());
  const std::vector<DecisionPlaces> places = DecisionPlacesOf(graph);
  std::vector<std::vector<int>> successors(count);
  for (int i = 0; i < count; ++i) {
    successors[i] = {i + 1};
    const auto* mark = std::get_if<DecisionMark>(&graph.operations[i].action);
    if (mark == nullptr) continue;
    const DecisionPlaces& at = places[mark->decision];
    const bool is_while = graph.decisions[mark->decision].kind == HostDecide::Kind::kWhile;
    if (is_while && mark->kind == DecisionMark::Kind::kNextRegion) successors[i] = {i + 1, at.close + 1};
    if (is_while && mark->kind == DecisionMark::Kind::kClose) successors[i] = {at.open};
    if (!is_while && mark->kind == DecisionMark::Kind::kNextRegion) successors[i] = {at.close};
    if (!is_while && mark->kind == DecisionMark::Kind::kOpen) {
      for (int next : at.next) successors[i].push_back(next + 1);
    }
  }
  return successors;
}

class Elision {
 public:
  explicit Elision(StepGraph& graph) : graph_(graph) {}

  void Run() {
    FindCandidates();
    if (copies_.empty()) return;
    ReadUses();
    ComputeLive();
    // Large copies first: they gain the most, and a small one must not stand in their way.
    std::ranges::stable_sort(copies_, std::greater<>(), [&](int i) { return CopyAt(i).source.size_bytes; });
    for (int i : copies_) {
      const int source = ClassOf(CopyAt(i).source.buffer), target = ClassOf(CopyAt(i).target.buffer);
      if (source == target) continue;
      if (!Interfere(source, target)) Merge(source, target);
    }
    Rewrite();
  }

 private:
  const CopyBytes& CopyAt(int i) const { return std::get<CopyBytes>(graph_.operations[i].action); }
  bool IsOwn(int buffer) const { return graph_.plan.buffers[buffer].placement.space == MemorySpace::kScratch; }

  void FindCandidates() {
    for (int i = 0; i < static_cast<int>(graph_.operations.size()); ++i) {
      const auto* copy = std::get_if<CopyBytes>(&graph_.operations[i].action);
      if (copy == nullptr || !IsOwn(copy->source.buffer) || !IsOwn(copy->target.buffer)) continue;
      copies_.push_back(i);
      for (int buffer : {copy->source.buffer, copy->target.buffer}) {
        if (number_.emplace(buffer, static_cast<int>(buffers_.size())).second) buffers_.push_back(buffer);
      }
    }
    parent_ = Counted<int>(buffers_.size());
    classes_.resize(buffers_.size());
    for (size_t n = 0; n < classes_.size(); ++n) classes_[n].members = {static_cast<int>(n)};
    is_result_.resize(buffers_.size());
    for (const PlanResult& result : graph_.plan.results) {
      const auto at = number_.find(result.buffer);
      if (at == number_.end()) continue;
      is_result_[at->second] = true;
      classes_[at->second].has_result = true;
    }
  }

  int Number(int buffer) const {
    const auto at = number_.find(buffer);
    return at == number_.end() ? -1 : at->second;
  }
  int ClassOf(int buffer) const {
    int n = Number(buffer);
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }

  void ReadUses() {
    const int count = static_cast<int>(graph_.operations.size());
    reads_.resize(count);
    writes_.resize(count);
    writers_.resize(buffers_.size());
    readers_.resize(buffers_.size());
    for (int i = 0; i < count; ++i) {
      for (const Binding& use : graph_.operations[i].uses) {
        const int n = Number(use.slice.buffer);
        if (n < 0 || use.slice.size_bytes == 0) continue;
        if (use.access != Access::kWrite) {
          reads_[i].push_back(n);
          readers_[n].push_back(i);
        }
        if (use.access == Access::kRead) continue;
        writes_[i].push_back(n);
        writers_[n].push_back(i);
        classes_[n].writers.insert(i);
      }
    }
  }

  // Whether nothing of what the buffer held before survives the operation. An instruction of several steps may fill its
  // result bit by bit, so only its first write counts.
  bool Overwrites(int i, int n) const {
    const Operation& operation = graph_.operations[i];
    for (const Binding& use : operation.uses) {
      if (Number(use.slice.buffer) != n || use.access == Access::kRead) continue;
      if (use.access == Access::kReadWrite || use.slice.size_bytes != graph_.plan.buffers[use.slice.buffer].size_bytes)
        return false;
    }
    if (operation.instruction == nullptr) return true;
    return std::ranges::none_of(writers_[n], [&](int writer) {
      return writer < i && graph_.operations[writer].instruction == operation.instruction;
    });
  }

  void ComputeLive() {
    const int count = static_cast<int>(graph_.operations.size()), size = static_cast<int>(buffers_.size());
    const auto successors = Successors(graph_);
    live_in_.assign(count + 1, Bits());
    live_out_.assign(count, Bits());
    for (int n = 0; n < size; ++n) {
      if (is_result_[n]) live_in_[count].Set(n);
    }
    std::vector<std::vector<int>> killed(count);
    for (int i = 0; i < count; ++i) {
      for (int n : writes_[i]) {
        if (Overwrites(i, n)) killed[i].push_back(n);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = count - 1; i >= 0; --i) {
        for (int next : successors[i]) live_out_[i].Add(live_in_[next]);
        Bits in = live_out_[i];
        for (int n : killed[i]) in.Clear(n);
        for (int n : reads_[i]) in.Set(n);
        if (live_in_[i] == in) continue;
        live_in_[i] = std::move(in);
        changed = true;
      }
    }
    FindRuns();
  }

  // Of each candidate the operations behind which it is alive, as runs of them.
  void FindRuns() {
    const int count = static_cast<int>(graph_.operations.size());
    runs_.resize(buffers_.size());
    std::vector<int> begin(buffers_.size(), -1);
    const Bits nothing;
    for (int i = 0; i <= count; ++i) {
      for (int n : Bits::Difference(i == 0 ? nothing : live_out_[i - 1], i == count ? nothing : live_out_[i])) {
        if (begin[n] < 0) {
          begin[n] = i;
        } else {
          runs_[n].emplace_back(begin[n], i - 1);
          begin[n] = -1;
        }
      }
    }
    for (size_t n = 0; n < runs_.size(); ++n)
      classes_[n].size = 1 + runs_[n].size() + writers_[n].size() + readers_[n].size();
  }

  bool ClassIn(const std::vector<int>& list, int c) const {
    return std::ranges::any_of(list, [&](int n) { return ClassOf(buffers_[n]) == c; });
  }

  bool IsCopyBetween(int i, int a, int b) const {
    if (!std::holds_alternative<CopyBytes>(graph_.operations[i].action)) return false;
    return (ClassIn(reads_[i], a) && ClassIn(writes_[i], b)) || (ClassIn(reads_[i], b) && ClassIn(writes_[i], a));
  }

  // Operation `i` writes `a`, and `b` holds a value that is wanted behind it or that it reads at another place.
  bool Overwritten(int i, int a, int b, bool b_lives) const {
    if (IsCopyBetween(i, a, b)) return false;
    return b_lives || (ClassIn(reads_[i], b) && !MayOverlap(i, b, a));
  }

  // Something is written to one while the other holds a value that is still wanted. Looked at from `b`: a class may
  // grow to all the states of thousands of loops, and is then asked about by small ones.
  bool WritesWhileLiveIn(int a, int b) const {
    const std::set<int>& writers = classes_[a].writers;
    for (int member : classes_[b].members) {
      for (const auto& [begin, end] : runs_[member]) {
        for (auto i = writers.lower_bound(begin); i != writers.end() && *i <= end; ++i) {
          if (Overwritten(*i, a, b, true)) return true;
        }
      }
      for (int i : readers_[member]) {
        if (writers.contains(i) && Overwritten(i, a, b, false)) return true;
      }
    }
    return false;
  }

  // The same from `a`.
  bool WritesWhileLive(int a, int b) const {
    return std::ranges::any_of(classes_[a].writers, [&](int i) { return Overwritten(i, a, b, LivesBehind(i, b)); });
  }

  bool LivesBehind(int i, int c) const {
    return std::ranges::any_of(Bits::Difference(live_out_[i], Bits()),
                               [&](int n) { return ClassOf(buffers_[n]) == c; });
  }

  // An operation reads class `read` and writes class `written`: it may do so in one place.
  bool MayOverlap(int i, int read, int written) const {
    const Operation& operation = graph_.operations[i];
    // The host reads all operands before it writes a result.
    if (std::holds_alternative<HostEvaluate>(operation.action)) return true;
    const auto* dispatch = std::get_if<Dispatch>(&operation.action);
    if (dispatch == nullptr) return false;
    const Step& step = graph_.plan.steps[dispatch->step];
    const auto in_class = [&](const Binding& binding, int c) {
      return Number(binding.slice.buffer) >= 0 && ClassOf(binding.slice.buffer) == c;
    };
    for (const Binding& from : step.bindings) {
      if (from.access == Access::kWrite || !in_class(from, read)) continue;
      for (const Binding& to : step.bindings) {
        if (to.access == Access::kRead || !in_class(to, written)) continue;
        if (!step.MayShare(from.slice, to.slice)) return false;
      }
    }
    return true;
  }

  bool Interfere(int a, int b) const {
    const Class &x = classes_[a], &y = classes_[b];
    if (x.has_result && y.has_result) return true;
    if (x.size > y.size) std::swap(a, b);
    return WritesWhileLive(a, b) || WritesWhileLiveIn(b, a);
  }

  // A result keeps its buffer; otherwise the target's name is the better one.
  void Merge(int source, int target) {
    const bool source_stays = classes_[source].has_result;
    const int kept = source_stays ? source : target, gone = source_stays ? target : source;
    parent_[gone] = kept;
    Class &into = classes_[kept], &from = classes_[gone];
    into.has_result |= from.has_result;
    into.size += from.size;
    if (into.writers.size() < from.writers.size()) std::swap(into.writers, from.writers);
    if (into.members.size() < from.members.size()) std::swap(into.members, from.members);
    into.writers.merge(from.writers);
    into.members.insert(into.members.end(), from.members.begin(), from.members.end());
    from = {};
  }

  // Everything refers to the buffer that is kept, copies into itself go, and so do buffers that stand for nothing any
  // more.
  void Rewrite() {
    Plan& plan = graph_.plan;
    const int count = static_cast<int>(plan.buffers.size());
    std::vector<int> place(count, -1);
    std::vector<PlanBuffer> kept;
    const auto representative = [&](int buffer) { return Number(buffer) < 0 ? buffer : buffers_[ClassOf(buffer)]; };
    for (int i = 0; i < count; ++i) {
      if (representative(i) != i) continue;
      place[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(plan.buffers[i]));
    }
    plan.buffers = std::move(kept);
    const auto move = [&](int& buffer) {
      if (buffer >= 0) buffer = place[representative(buffer)];
    };
    for (PlanParameter& parameter : plan.parameters) move(parameter.buffer);
    for (PlanConstant& constant : plan.constants) move(constant.buffer);
    for (PlanResult& result : plan.results) move(result.buffer);
    for (Step& step : plan.steps) {
      for (Binding& binding : step.bindings) move(binding.slice.buffer);
      move(step.groups_at.buffer);
      for (SharedPlace& place : step.in_place) {
        move(place.operand.buffer);
        move(place.result.buffer);
      }
    }
    for (HostDecide& decision : graph_.decisions) move(decision.selector.buffer);
    for (auto& [origin, buffer] : graph_.buffer_of) move(buffer);
    for (Operation& operation : graph_.operations) {
      for (Binding& use : operation.uses) move(use.slice.buffer);
      if (auto* copy = std::get_if<CopyBytes>(&operation.action)) {
        move(copy->source.buffer);
        move(copy->target.buffer);
      }
      if (auto* evaluation = std::get_if<HostEvaluate>(&operation.action)) {
        for (HostEvaluate::Operand& operand : evaluation->operands) {
          for (BufferSlice& leaf : operand.leaves) move(leaf.buffer);
        }
        for (BufferSlice& leaf : evaluation->results) move(leaf.buffer);
      }
    }
    std::erase_if(graph_.operations, [](const Operation& operation) {
      const auto* copy = std::get_if<CopyBytes>(&operation.action);
      return copy != nullptr && copy->source == copy->target;
    });
  }

  // Candidates that share a buffer; kept with the one that leads them.
  struct Class {
    std::vector<int> members;
    std::set<int> writers;  // operations
    bool has_result = false;
    size_t size = 0;  // what a look at all of it costs
  };

  StepGraph& graph_;
  std::vector<int> copies_;   // operations
  std::vector<int> buffers_;  // the candidates: what copies read and write
  std::unordered_map<int, int> number_;
  mutable std::vector<int> parent_;  // ClassOf shortens the way
  std::vector<Class> classes_;
  std::vector<bool> is_result_;
  std::vector<std::vector<int>> reads_, writes_;     // by operation
  std::vector<std::vector<int>> writers_, readers_;  // by candidate
  std::vector<std::vector<std::pair<int, int>>> runs_;
  std::vector<Bits> live_in_, live_out_;
};

}  // namespace

void ElideCopies(StepGraph& graph) { Elision(graph).Run(); }

}  // namespace VXLA_NAMESPACE
