// FusionDescription: what the kernels of an instruction are made of: the hero, what feeds it, what follows it, phase by
// phase, and which results may lie where operands lie. Lowering and the scheduler read it; it is derived here alone,
// for the fusions that the fusion pass makes, for those of a text and for single instructions alike.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/module.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/products/attention.h"
#include "core/passes/products/product_chain.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Result leaf `leaf` may lie where operand `operand` lies: each of its elements is written after everything that reads
// that place. `must`: it has to, for the kernels change some elements of the operand's value and leave the rest alone.
struct InPlacePair {
  int operand = 0, leaf = 0;
  bool must = false;
  friend bool operator==(const InPlacePair&, const InPlacePair&) = default;
};

// The instruction's operands by what stands for them inside, in the order of what was put in: what is written of them
// must not depend on where instructions lie in memory.
class FusionOperands {
 public:
  using List = std::vector<std::pair<const Instruction*, const Instruction*>>;
  void emplace(const Instruction* inside, const Instruction* operand) {
    if (at_.emplace(inside, list_.size()).second) list_.emplace_back(inside, operand);
  }
  // Null: it stands for none.
  const Instruction* Find(const Instruction& inside) const {
    const auto at = at_.find(&inside);
    return at == at_.end() ? nullptr : list_[at->second].second;
  }
  List::const_iterator begin() const { return list_.begin(); }
  List::const_iterator end() const { return list_.end(); }

 private:
  List list_;
  std::unordered_map<const Instruction*, size_t> at_;
};

struct FusionDescription {
  const Instruction* instruction = nullptr;  // a fusion, or a single instruction looked at as one
  // The results in the order of the instruction's leaves: a tuple-shaped hero that is the root stands for all of its.
  std::vector<const Instruction*> roots;
  // Every instruction that is computed (not read from memory), operands first.
  std::vector<const Instruction*> computed;
  // The op with a kernel of its own; null: a loop over the elements of the results. Of a row program the first reduce.
  const Instruction* hero = nullptr;
  std::vector<const Instruction*> heroes;  // in order; several in row programs alone
  // Computed before a hero, and from the results of one. In row programs an instruction can be both.
  std::vector<const Instruction*> prologue, epilogue;
  // Of attention; its product is the only hero, the other product and the reductions feed it.
  std::optional<Attention> attention;
  // Of sums of what is made of products; the sums are the heroes, and the results.
  std::optional<ProductChain> chain;
  // Of row programs.
  std::optional<RowSpace> rows;
  const Instruction* product = nullptr;  // a dot whose rows these are, computed where they are read
  int phases = 0;                        // heroes one after another on the longest path
  std::vector<InPlacePair> in_place;

  // The operand of the instruction whose buffer holds this value, or null if it is computed.
  const Instruction* OperandOf(const Instruction& value) const { return operands.Find(value); }
  // How many heroes must have run before the value is known: 0 for what feeds the first, 1 for its result ...
  int PhaseOf(const Instruction& value) const {
    const auto it = phase_of.find(&value);
    return it == phase_of.end() ? 0 : it->second;
  }
  bool MayLieAt(int operand, int leaf) const;
  // The leaf of the instruction's results that is result `element` of a value: -1 if it is none.
  int LeafOf(const Instruction& value, int element) const;

  // Whether the instruction is computed by a kernel of its own, in the middle of the fusion.
  bool IsHeroHere(const Instruction& i) const {
    if (attention || chain || product != nullptr) return std::ranges::find(heroes, &i) != heroes.end();
    return HeroKind(i.opcode()).has_value();
  }

  FusionOperands operands;
  std::unordered_map<const Instruction*, int> phase_of;
};

// Unsupported for a fusion around ops that no kernel puts together (only a text can hold one): heroes of two kinds, two
// products, reductions of different rows.
Result<FusionDescription> DescribeFusion(const Instruction& instruction);

// Fusions that control flow reaches carry their descriptions from here on, until ForgetDescriptions; what they call may
// not change meanwhile.
void DescribeFusions(Module& module);
void ForgetDescriptions(Module& module);
// The one that it carries, or, for an instruction that carries none, one that is made now.
Result<std::shared_ptr<const FusionDescription>> DescriptionOf(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
