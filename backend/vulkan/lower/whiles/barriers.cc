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
  // What a trip leaves pending is pending when the next one begins. Marks stay, so this comes to an end.
  void RunLoop(LoopWhile& loop) {
    Pending head = pending_;
    for (;;) {
      pending_ = head;
      RunBlock(loop.condition());
      const Pending asked = pending_;
      RunBlock(loop.body());
      Pending next = Union(head, pending_);
      if (next == head) {
        pending_ = Union(head, asked);  // the condition is the last to run, or no trip is made
        return;
      }
      head = std::move(next);
    }
  }

 private:
  struct Touched {
    bool own_read = false, own_write = false, read = false, write = false;
    std::set<const LoopAccesses*> again;  // wrote what they may write again
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

  bool Waits(const LoopAccesses& phase, const LoopUse& use) const {
    const auto it = pending_.find(use.place);
    if (it == pending_.end()) return false;
    const Touched& t = it->second;
    const auto is_other = [&](const LoopAccesses* by) { return by != &phase || !use.again; };
    const bool written = t.write || std::ranges::any_of(t.again, is_other);
    if (!use.writes) return written || (!use.own && t.own_write);
    return t.read || written || (!use.own && (t.own_read || t.own_write));
  }

  void Touch(LoopAccesses& phase) {
    if (std::ranges::any_of(phase.uses, [&](const LoopUse& use) { return Waits(phase, use); })) phase.waits = true;
    if (phase.waits) pending_.clear();
    for (const LoopUse& use : phase.uses) {
      Touched& t = pending_[use.place];
      if (use.again) {
        t.again.insert(&phase);
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
    for (LoopNode& node : block) {
      if (auto* loop = node.As<LoopWhile>()) RunLoop(*loop);
      if (auto* conditional = node.As<LoopConditional>()) RunBranches(*conditional);
      if (LoopAccesses* phase = node.accesses()) Touch(*phase);
    }
  }

  void RunBranches(LoopConditional& conditional) {
    const Pending before = pending_;
    Pending after = before;
    for (LoopBlock& block : conditional.blocks) {
      pending_ = before;
      RunBlock(block);
      after = Union(std::move(after), pending_);
    }
    pending_ = std::move(after);
  }

  Pending pending_;
};

}  // namespace

void PlaceBarriers(LoopWhile& root) { BarrierPlacer().RunLoop(root); }

namespace {

// Numbers the stretches between places where a dispatch may stop, and finds what more than one of them uses.
class StretchVisitor {
 public:
  explicit StretchVisitor(const LoopProgram& program) : program_(program) {}
  LoopValuesAcrossStops Run() {
    VisitControl(program_.root, &program_.root);
    // What it was when the trip began says that the loop goes on.
    result_.registers.insert(program_.root.decides);
    return std::move(result_);
  }

 private:
  // `loop`: the same, if it is one.
  void VisitControl(const LoopControl& control, const LoopWhile* loop) {
    const int step = control.stops() ? 1 : 0;
    stretch_ += step;
    if (loop == nullptr) Use(control.decides);
    if (loop != nullptr && loop->counter >= 0) result_.registers.insert(loop->counter);
    for (const LoopBlock& block : control.blocks) {
      stretch_ += step;
      for (const LoopNode& node : block) Visit(node);
      if (loop != nullptr && &block == &loop->condition()) Use(loop->decides);
    }
    stretch_ += step;
  }
  void Visit(const LoopNode& node) {
    if (const LoopControl* control = node.control()) return VisitControl(*control, node.As<LoopWhile>());
    for (const LoopUse& use : node.accesses()->uses) UsePlace(use.place);
    if (const auto* assignment = node.As<LoopAssignment>()) {
      for (const auto& [reg, value] : assignment->assigned) {
        Use(reg);
        Use(value);
      }
    }
    if (const auto* unit = node.As<LoopUnitNode>()) VisitUnit(*unit);
  }
  void VisitUnit(const LoopUnitNode& unit) {
    for (const LoopValue& result : unit.results) Use(result);
    for (const Instruction* operand : unit.instruction().operands()) {
      if (operand->shape().ElementCount() > 0) Use(program_.ValueOf(*operand, 0));
    }
    for (const LoopUnitNode& update : unit.updates) VisitUnit(update);
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
