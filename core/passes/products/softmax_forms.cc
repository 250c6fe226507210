#include <algorithm>

#include "core/ir/module_edits.h"
#include "core/passes/base/element_walk.h"
#include "core/passes/base/expansion.h"
#include "core/passes/products/attention.h"
#include "core/passes/products/products.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int kMostFormLinks = 8;

bool OnlyMovesOrRepeats(const Instruction& i) { return i.opcode() == Opcode::kBroadcast || OnlyMoves(i); }

// What a value of each row is before it is broadcast and moved; the path grows.
Instruction* RowValue(Instruction* i, OperandPath* path) {
  while (OnlyMovesOrRepeats(*i)) {
    path->emplace_back(i, 0);
    i = i->operand(0);
  }
  return i;
}

// Whether a product reads it, moved, or changed element by element, as dropout does.
bool FeedsProduct(const Instruction& i, int links = 0) {
  return links < kMostFormLinks && std::ranges::any_of(i.users(), [&](const Instruction* user) {
           if (IsPlainProduct(*user)) return true;
           const bool same = user->shape().IsArray() && user->shape().ElementCount() == i.shape().ElementCount();
           return same &&
                  (OnlyMoves(*user) || IsAnyOf(user->opcode(), Opcode::kMultiply, Opcode::kDivide, Opcode::kSelect)) &&
                  FeedsProduct(*user, links + 1);
         });
}

class SoftmaxWriter {
 public:
  SoftmaxWriter(Computation& entry, const TargetInfo& target) : entry_(entry), target_(target) {}

  bool Run() {
    bool any = false;
    for (Instruction* i : InstructionList(entry_)) {
      const bool may = (i->opcode() == Opcode::kExp || i->opcode() == Opcode::kMultiply) && IsRealFloat(*i) &&
                       i->shape().ElementCount() >= target_.attention_min_scores && !i->HasControlEdges();
      if (!may || !FeedsProduct(*i)) continue;
      Instruction* quotient = i->opcode() == Opcode::kExp ? OfLogarithm(*i) : OfFactor(*i);
      if (quotient == nullptr) continue;
      entry_.ReplaceAllUses(i, quotient);
      any = true;
    }
    return any;
  }

 private:
  // exp(y - log(total)) with total the sum of exp(y); exp(x - (log(total) + m)) with total that of exp(x - m).
  Instruction* OfLogarithm(Instruction& weight) {
    Instruction* subtract = weight.operand(0);
    if (subtract->opcode() != Opcode::kSubtract) return nullptr;
    OperandPath path;
    Instruction* value = RowValue(subtract->operand(1), &path);
    if (value->opcode() == Opcode::kLog) {
      Instruction* exponential = SummedExponential(value, &path);
      if (exponential == nullptr || exponential->operand(0) != subtract->operand(0)) return nullptr;
      return Quotient(weight, exponential, path);
    }
    if (value->opcode() != Opcode::kAdd) return nullptr;
    for (int k : {0, 1}) {
      OperandPath to_total = path, to_base = path;
      to_total.emplace_back(value, k);
      to_base.emplace_back(value, 1 - k);
      Instruction* log = RowValue(value->operand(k), &to_total);
      if (log->opcode() != Opcode::kLog) continue;
      Instruction* exponential = SummedExponential(log, &to_total);
      const Instruction* base = RowValue(value->operand(1 - k), &to_base);
      if (exponential != nullptr && Subtracts(*exponential, subtract->operand(0), *base, to_base))
        return Quotient(weight, exponential, to_total);
    }
    return nullptr;
  }

  // Of log(total), or log(|total|), with total the sum of an exponential of a product: that exponential.
  Instruction* SummedExponential(Instruction* log, OperandPath* path) {
    path->emplace_back(log, 0);
    Instruction* total = RowValue(log->operand(0), path);
    if (total->opcode() == Opcode::kAbs) {
      path->emplace_back(total, 0);
      total = RowValue(total->operand(0), path);
    }
    if (!IsReductionBy(*total, Opcode::kAdd, 0)) return nullptr;
    Instruction* exponential = total->operand(0);
    const bool suits = exponential->opcode() == Opcode::kExp && IsMadeOfProduct(*exponential);
    return suits ? exponential : nullptr;
  }

  // Whether it is exp(x - base), base at the same places as by that path from another difference of x.
  static bool Subtracts(const Instruction& exponential, const Instruction* x, const Instruction& base,
                        const OperandPath& to_base) {
    const Instruction& subtract = *exponential.operand(0);
    if (subtract.opcode() != Opcode::kSubtract || subtract.operand(0) != x) return false;
    OperandPath path;
    if (RowValue(subtract.operand(1), &path) != &base) return false;
    IndexSpace space;
    MultiIndex at;
    for (int64_t size : subtract.shape().dimensions()) at.push_back(space.Variable(space.AddVariable(size)));
    return Walk(space, path, at) == Walk(space, to_base, at);
  }

  // exponential * (1 / total)
  Instruction* OfFactor(Instruction& weight) {
    for (int k : {0, 1}) {
      Instruction* exponential = weight.operand(k);
      OperandPath path;
      Instruction* inverse = RowValue(weight.operand(1 - k), &path);
      if (exponential->opcode() != Opcode::kExp || inverse->opcode() != Opcode::kDivide) continue;
      if (SplatOf(*inverse->operand(0)) != 1.0 || !IsMadeOfProduct(*exponential)) continue;
      path.emplace_back(inverse, 1);
      const Instruction* total = RowValue(inverse->operand(1), &path);
      if (IsReductionBy(*total, Opcode::kAdd, 0) && total->operand(0) == exponential)
        return Quotient(weight, exponential, path);
    }
    return nullptr;
  }

  // exponential / total, which lies at the path's end: what only moves or repeats it stays.
  Instruction* Quotient(const Instruction& weight, Instruction* exponential, const OperandPath& path) {
    if (exponential->shape() != weight.shape()) return nullptr;
    Instruction* divisor = path.back().first->operand(path.back().second);
    Expansion at(entry_, &weight);
    for (auto link = path.rbegin(); link != path.rend(); ++link) {
      if (OnlyMovesOrRepeats(*link->first)) divisor = at.Add(link->first->CloneWith({divisor}));
    }
    return at.Add(Opcode::kDivide, weight.shape(), {exponential, divisor});
  }

  Computation& entry_;
  const TargetInfo& target_;
};

}  // namespace

bool WriteSoftmaxAsQuotient(Computation& entry, const TargetInfo& target) { return SoftmaxWriter(entry, target).Run(); }

}  // namespace VXLA_NAMESPACE
