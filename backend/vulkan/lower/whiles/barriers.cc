// Where the lanes of a loop's kernel wait for one another, and what has to outlive the places where a dispatch may
// stop.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What has touched each place since the last barrier.
class BarrierPlacer {
 public:
  void Run(LoopNode& node) {
    if (node.kind == LoopNode::Kind::kWhile) return RunLoop(node);
    if (node.kind == LoopNode::Kind::kConditional) return RunBranches(node);
    Touch(node);
  }

 private:
  struct Touched {
    bool own_read = false, own_write = false, read = false, write = false;
    std::set<const LoopNode*> again;  // wrote what they may write again
    void Join(const Touched& o) {
      again.insert(o.again.begin(), o.again.end());
      own_read |= o.own_read;
      own_write |= o.own_write;
      read |= o.read;
      write |= o.write;
    }
    friend bool operator==(const Touched&, const Touched&) = default;
  };
  using Pending = std::map<int, Touched>;

  bool Waits(const LoopNode& node, const LoopUse& use) const {
    const auto it = pending_.find(use.place);
    if (it == pending_.end()) return false;
    const Touched& t = it->second;
    const auto is_other = [&](const LoopNode* by) { return by != &node || !use.again; };
    const bool written = t.write || std::ranges::any_of(t.again, is_other);
    if (!use.writes) return written || (!use.own && t.own_write);
    return t.read || written || (!use.own && (t.own_read || t.own_write));
  }

  void Touch(LoopNode& node) {
    if (std::ranges::any_of(node.uses, [&](const LoopUse& use) { return Waits(node, use); })) node.waits = true;
    if (node.waits) pending_.clear();
    for (const LoopUse& use : node.uses) {
      Touched& t = pending_[use.place];
      if (use.again) {
        t.again.insert(&node);
        continue;
      }
      (use.writes ? (use.own ? t.own_write : t.write) : (use.own ? t.own_read : t.read)) = true;
    }
  }

  static Pending Union(Pending a, const Pending& b) {
    for (const auto& [place, touched] : b) a[place].Join(touched);
    return a;
  }

  void RunBlock(LoopBlock& block) {
    for (LoopNode& node : block) Run(node);
  }

  // What a trip leaves pending is pending when the next one begins. Marks stay, so this comes to an end.
  void RunLoop(LoopNode& node) {
    Pending head = pending_;
    for (;;) {
      pending_ = head;
      RunBlock(node.blocks[0]);
      const Pending asked = pending_;
      RunBlock(node.blocks[1]);
      Pending next = Union(head, pending_);
      if (next == head) {
        pending_ = Union(head, asked);  // the condition is the last to run, or no trip is made
        return;
      }
      head = std::move(next);
    }
  }

  void RunBranches(LoopNode& node) {
    const Pending before = pending_;
    Pending after = before;
    for (LoopBlock& block : node.blocks) {
      pending_ = before;
      RunBlock(block);
      after = Union(std::move(after), pending_);
    }
    pending_ = std::move(after);
  }

  Pending pending_;
};

}  // namespace

void PlaceBarriers(LoopNode& root) { BarrierPlacer().Run(root); }

namespace {

// Numbers the stretches between places where a dispatch may stop, and finds what more than one of them uses.
class StretchVisitor {
 public:
  explicit StretchVisitor(const LoopProgram& program) : program_(program) {}
  LoopValuesAcrossStops Run() {
    Visit(program_.root);
    // What it was when the trip began says that the loop goes on.
    result_.registers.insert(program_.root.decides);
    return std::move(result_);
  }

 private:
  void Visit(const LoopNode& node) {
    if (node.last_stop > 0) ++stretch_;
    if (node.counter >= 0) result_.registers.insert(node.counter);
    if (node.kind == LoopNode::Kind::kConditional) Use(node.decides);
    for (const LoopBlock& block : node.blocks) {
      if (node.last_stop > 0) ++stretch_;
      for (const LoopNode& inner : block) Visit(inner);
      if (node.kind == LoopNode::Kind::kWhile && &block == &node.blocks[0]) Use(node.decides);
    }
    if (node.last_stop > 0) ++stretch_;
    for (const LoopUse& use : node.uses) UsePlace(use.place);
    for (const LoopValue& result : node.results) Use(result);
    for (const auto& [reg, value] : node.assigned) {
      Use(reg);
      Use(value);
    }
    if (node.kind != LoopNode::Kind::kUnit) return;
    for (const Instruction* operand : node.instruction->operands()) {
      if (operand->shape().ElementCount() > 0) Use(program_.ValueOf(*operand, 0));
    }
    for (const LoopNode& update : node.updates) Visit(update);
  }
  void Use(const LoopValue& value) {
    Use(value.reg);
    UsePlace(value.place);
  }
  void Use(int reg) { Note(reg, registers_, result_.registers); }
  void UsePlace(int place) { Note(place, places_, result_.places); }
  void Note(int value, std::map<int, int>& seen, std::set<int>& across) const {
    if (value >= 0 && seen.try_emplace(value, stretch_).first->second != stretch_) across.insert(value);
  }

  const LoopProgram& program_;
  std::map<int, int> registers_, places_;  // the stretch that uses it first
  LoopValuesAcrossStops result_;
  int stretch_ = 0;
};

}  // namespace

LoopValuesAcrossStops ValuesAcrossStops(const LoopProgram& program) { return StretchVisitor(program).Run(); }

}  // namespace VXLA_NAMESPACE::vulkan
