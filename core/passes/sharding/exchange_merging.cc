#include <algorithm>
#include <vector>

#include "core/ir/module_edits.h"
#include "core/passes/sharding/partitioner_impl.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsAddedOnce(const Computation& computation, const Instruction& value) {
  return &value != computation.root() && value.users().size() == 1 && value.users()[0]->opcode() == Opcode::kAdd;
}

// What additions of additions add, in their order.
std::vector<Instruction*> AddendsOf(const Computation& computation, const Instruction& top) {
  std::vector<Instruction*> addends, work(top.operands().rbegin(), top.operands().rend());
  while (!work.empty()) {
    Instruction* const next = work.back();
    work.pop_back();
    if (next->opcode() == Opcode::kAdd && IsAddedOnce(computation, *next)) {
      work.insert(work.end(), next->operands().rbegin(), next->operands().rend());
    } else {
      addends.push_back(next);
    }
  }
  return addends;
}

bool IsSameExchange(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.shape() == b.shape() && a.attributes() == b.attributes();
}

// One tree of additions, of whose leaves some are sums over devices. Trees of many leaves stay as they are.
class SumTree {
 public:
  SumTree(Computation& computation, Instruction* top, std::unordered_set<const Instruction*>& sums)
      : computation_(computation), top_(top), sums_(sums) {}

  bool Join() {
    bool changed = false;
    for (std::vector<Instruction*> alike = TwoAlike(); !alike.empty(); alike = TwoAlike()) {
      JoinBoth(alike[0], alike[1]);
      changed = true;
    }
    return changed;
  }

 private:
  std::vector<Instruction*> TwoAlike() const {
    if (top_->opcode() != Opcode::kAdd) return {};
    constexpr size_t kMostAddends = 256;
    std::vector<Instruction*> known;
    const std::vector<Instruction*> addends = AddendsOf(computation_, *top_);
    if (addends.size() > kMostAddends) return {};
    for (Instruction* addend : addends) {
      if (!sums_.contains(addend) || !IsAddedOnce(computation_, *addend)) continue;
      if (std::ranges::count(addends, addend) != 1) continue;
      for (Instruction* other : known) {
        if (IsSameExchange(*other, *addend)) return {other, addend};
      }
      known.push_back(addend);
    }
    return {};
  }

  // In place of the first one; of the addition of the second one the other operand is left.
  void JoinBoth(Instruction* first, Instruction* second) {
    Instruction* const own = first->operand(0);
    Instruction* const both = computation_.InsertBefore(
        top_,
        std::make_unique<Instruction>(Opcode::kAdd, own->shape(), std::vector<Instruction*>{own, second->operand(0)}));
    Instruction* const joined = computation_.InsertBefore(top_, first->CloneWith({both}));
    computation_.ReplaceAllUses(first, joined);
    Instruction* const addition = second->users()[0];
    Instruction* const other = addition->operand(addition->operand(0) == second ? 1 : 0);
    computation_.ReplaceAllUses(addition, other);
    if (addition == top_) top_ = other;
    computation_.Remove(addition);
    for (Instruction* gone : {first, second}) {
      sums_.erase(gone);
      computation_.Remove(gone);
    }
    sums_.insert(joined);
  }

  Computation& computation_;
  Instruction* top_;
  std::unordered_set<const Instruction*>& sums_;
};

}  // namespace

void JoinSums(Module& module, std::unordered_set<const Instruction*> sums) {
  for (const auto& computation : module.computations()) {
    bool changed = false;
    for (Instruction* instruction : InstructionList(*computation)) {
      if (instruction->opcode() != Opcode::kAdd || IsAddedOnce(*computation, *instruction)) continue;
      changed |= SumTree(*computation, instruction, sums).Join();
    }
    if (changed) computation->SortTopologically();
  }
}

}  // namespace VXLA_NAMESPACE
