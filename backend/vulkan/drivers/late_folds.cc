#include "backend/vulkan/drivers/late_folds.h"

#include <spirv/unified1/GLSL.std.450.h>

#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "backend/vulkan/spirv/module.h"

namespace VXLA_NAMESPACE::vulkan::spirv {
namespace {

class LateFolds {
 public:
  explicit LateFolds(const Words& words) : module_(words) {
    for (const Instruction& each : module_.declarations) {
      const bool truth = each.op() == OpConstantTrue;
      if (truth || each.op() == OpConstantFalse) truths_[each.words[2]] = truth;
    }
    known_ = true;
    for (Instruction& each : module_.functions) {
      if (IsFrame(each)) continue;
      known_ &= VisitOperands(each, [&](uint32_t& id) { ++uses_[id]; });
    }
  }

  Words Run() {
    if (!known_) return {};
    Instructions folded;
    for (Instruction& each : module_.functions) {
      VisitOperands(each, [&](uint32_t& id) { id = Of(id); });
      Fold(each, &folded);
      if (HasResult(each.op())) made_[each.words[2]] = each;
      folded.push_back(std::move(each));
    }
    // Phis name what stands behind them.
    for (Instruction& each : folded) VisitOperands(each, [&](uint32_t& id) { id = Of(id); });
    DropUnused(&folded);
    return module_.With(folded, [&](uint32_t id) { return dropped_.contains(id); });
  }

 private:
  static bool IsFrame(const Instruction& each) {
    const uint32_t op = each.op();
    return op == OpFunction || op == OpFunctionParameter || op == OpFunctionEnd || op == OpLabel;
  }

  static bool IsUMax(const Instruction& each) { return each.op() == OpExtInst && each.words[4] == GLSLstd450UMax; }

  // What nothing reads any more, and what only that read.
  void DropUnused(Instructions* folded) {
    std::unordered_map<uint32_t, size_t> uses;
    for (Instruction& each : *folded) VisitOperands(each, [&](uint32_t& id) { ++uses[id]; });
    Instructions kept;
    for (auto each = folded->rbegin(); each != folded->rend(); ++each) {
      const bool pure = (each->op() >= kFirstArithmetic && each->op() <= kLastArithmetic) || IsUMax(*each);
      if (!pure || uses[each->words[2]] > 0) {
        kept.push_back(std::move(*each));
        continue;
      }
      dropped_.insert(each->words[2]);
      VisitOperands(*each, [&](uint32_t& id) { --uses[id]; });
    }
    folded->assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }

  uint32_t Of(uint32_t id) const {
    const auto it = same_.find(id);
    return it == same_.end() ? id : it->second;
  }
  std::optional<uint32_t> Value(uint32_t id) const { return module_.Value(id); }
  bool Is(uint32_t id, bool truth) const {
    const auto it = truths_.find(id);
    return it != truths_.end() && it->second == truth;
  }
  // The instruction that made a value, if it is such a one of this type.
  const Instruction* Made(uint32_t id, uint32_t op, uint32_t type) const {
    const auto it = made_.find(id);
    return it != made_.end() && it->second.op() == op && it->second.words[1] == type ? &it->second : nullptr;
  }
  bool UsedOnce(uint32_t id) const {
    const auto it = uses_.find(id);
    return it != uses_.end() && it->second == 1;
  }
  uint32_t Fresh() { return module_.ids.Fresh(); }
  uint32_t Constant(uint32_t type, uint32_t value) { return module_.ConstantOf(type, value); }
  // A new value in front of what is folded.
  uint32_t Add(Instruction instruction, Instructions* before) {
    const uint32_t id = instruction.words[2];
    made_[id] = instruction;
    uses_[id] = 1;
    before->push_back(std::move(instruction));
    return id;
  }

  void Fold(Instruction& each, Instructions* before) {
    const uint32_t op = each.op();
    if (op == OpSelect && module_.KindOf(each.words[1]) == OpTypeBool) FoldChoice(each);
    if (each.op() == OpLogicalOr || each.op() == OpLogicalAnd) FoldTruth(each);
    if (op == OpUGreaterThan || op == OpUGreaterThanEqual) FoldLarger(each);
    const bool integral = op == OpIAdd || op == OpISub || op == OpIMul || op == OpShiftLeftLogical;
    if (!integral || !module_.IsInteger(each.words[1])) return;
    if (op == OpISub) FoldDifference(each, before);
    if (op == OpIMul || op == OpShiftLeftLogical) FoldFactor(each, before);
    if (each.op() == OpIAdd) FoldSum(each, before);
  }

  void FoldChoice(Instruction& each) {
    Words& w = each.words;
    const auto negated = made_.find(w[3]);
    if (negated != made_.end() && negated->second.op() == OpLogicalNot)
      w[3] = negated->second.words[3], std::swap(w[4], w[5]);
    const uint32_t condition = w[3];
    if (w[4] == condition || Is(w[4], true)) {
      each = Make(OpLogicalOr, {w[1], w[2], condition, w[5]});
    } else if (w[5] == condition || Is(w[5], false)) {
      each = Make(OpLogicalAnd, {w[1], w[2], condition, w[4]});
    }
  }

  void FoldTruth(const Instruction& each) {
    const Words& w = each.words;
    const bool neutral = each.op() == OpLogicalAnd;
    if (Is(w[3], neutral)) same_[w[2]] = w[4];
    if (Is(w[4], neutral)) same_[w[2]] = w[3];
  }

  void FoldLarger(Instruction& each) {
    Words& w = each.words;
    const auto made = made_.find(w[3]);
    const auto limit = Value(w[4]);
    if (!limit || made == made_.end()) return;
    const Words& larger = made->second.words;
    if (!IsUMax(made->second)) return;
    for (size_t i = 5; i < 7; ++i) {
      const auto constant = Value(larger[i]);
      const bool above = constant && (each.op() == OpUGreaterThan ? *constant > *limit : *constant >= *limit);
      if (constant && !above) {
        w[3] = larger[i == 5 ? 6 : 5];
        return;
      }
    }
  }

  void FoldDifference(Instruction& each, Instructions* before) {
    const Words w = each.words;
    if (const auto taken = Value(w[4])) {
      each = Make(OpIAdd, {w[1], w[2], w[3], Constant(w[1], 0u - *taken)});
      return;
    }
    const auto made = made_.find(w[4]);
    if (made == made_.end() || made->second.op() != OpSelect) return;
    const Words choice = made->second.words;
    const auto one = Value(choice[4]), other = Value(choice[5]);
    if (!one || !other) return;
    const uint32_t negated =
        Add(Make(OpSelect, {w[1], Fresh(), choice[3], Constant(w[1], 0u - *one), Constant(w[1], 0u - *other)}), before);
    each = Make(OpIAdd, {w[1], w[2], w[3], negated});
  }

  // (x + c) times a constant.
  void FoldFactor(Instruction& each, Instructions* before) {
    Words& w = each.words;
    const uint32_t op = each.op();
    if (op == OpIMul && Value(w[3])) std::swap(w[3], w[4]);
    const auto factor = Value(w[4]);
    const Instruction* sum = Made(w[3], OpIAdd, w[1]);
    if (!factor || sum == nullptr || !UsedOnce(w[3]) || (op == OpShiftLeftLogical && *factor > 31)) return;
    const auto constant = Value(sum->words[4]);
    if (!constant) return;
    const uint32_t product = Add(Make(op, {w[1], Fresh(), sum->words[3], w[4]}), before);
    const uint32_t rest = op == OpIMul ? *constant * *factor : *constant << *factor;
    each = Make(OpIAdd, {w[1], w[2], product, Constant(w[1], rest)});
  }

  void FoldSum(Instruction& each, Instructions* before) {
    Words& w = each.words;
    if (Value(w[3]) || (!Value(w[4]) && HasConstant(w[3], w[1]) && !HasConstant(w[4], w[1]))) std::swap(w[3], w[4]);
    // Now a constant stands last, or a sum with one.
    if (const auto constant = Value(w[4])) {
      const Instruction* sum = Made(w[3], OpIAdd, w[1]);
      const auto inner = sum == nullptr ? std::nullopt : Value(sum->words[4]);
      if (inner) w[3] = sum->words[3], w[4] = Constant(w[1], *constant + *inner);
      if (Value(w[4]) == 0u && TypeOf(w[3]) == w[1]) same_[w[2]] = w[3];
      return;
    }
    if (!HasConstant(w[4], w[1]) || !UsedOnce(w[4])) return;
    const Words sum = made_.at(w[4]).words;
    const uint32_t rest = Add(Make(OpIAdd, {w[1], Fresh(), w[3], sum[3]}), before);
    each = Make(OpIAdd, {w[1], w[2], rest, sum[4]});
  }

  bool HasConstant(uint32_t id, uint32_t type) const {
    const Instruction* sum = Made(id, OpIAdd, type);
    return sum != nullptr && Value(sum->words[4]).has_value();
  }
  uint32_t TypeOf(uint32_t id) const {
    const auto it = made_.find(id);
    return it == made_.end() ? 0 : it->second.words[1];
  }

  Module module_;
  bool known_ = false;  // all operands are
  std::unordered_map<uint32_t, bool> truths_;
  std::unordered_map<uint32_t, size_t> uses_;
  std::unordered_map<uint32_t, Instruction> made_;  // what has been read or written so far
  std::unordered_map<uint32_t, uint32_t> same_;     // values that are others
  std::unordered_set<uint32_t> dropped_;
};

}  // namespace

std::vector<uint32_t> FoldLate(const std::vector<uint32_t>& words) {
  Words folded = LateFolds(words).Run();
  return folded.empty() ? words : folded;
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
