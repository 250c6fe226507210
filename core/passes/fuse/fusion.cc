#include "core/passes/fuse/fusion.h"

#include <algorithm>
#include <unordered_map>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/fuse/fusion_groups.h"
#include "core/passes/products/products.h"

namespace VXLA_NAMESPACE {
namespace {

// A variadic hero whose tuple is used as a whole gets get-tuple-elements, so that every use of a hero is an array. What
// control edges say of an element is said of a copy: the element lives in the hero's kernel.
void TakeHeroTuplesApart(Computation& entry) {
  std::vector<Instruction*> heroes, ordered;
  for (const auto& i : entry.instructions()) {
    const bool whole = i.get() == entry.root() || std::ranges::any_of(i->users(), [](const Instruction* user) {
                         return user->opcode() != Opcode::kGetTupleElement;
                       });
    if (IsHero(*i) && i->shape().IsTuple() && whole) heroes.push_back(i.get());
    if (IsHeroElement(*i) && i->HasControlEdges()) ordered.push_back(i.get());
  }
  for (Instruction* element : ordered) {
    Instruction* plain = entry.InsertBefore(element, element->CloneWith({element->operand(0)}));
    entry.ReplaceAllUses(element, Expansion(entry, element).Add(Opcode::kCopy, element->shape(), {plain}));
    entry.Remove(element);
  }
  for (Instruction* hero : heroes) {
    const std::vector<Instruction*> users(hero->users().begin(), hero->users().end());
    const bool is_root = entry.root() == hero;
    Instruction* const root = entry.root();
    Expansion at_end(entry);
    Instruction* tuple = at_end.TupleOf(at_end.Elements(hero));
    for (Instruction* user : users) {
      if (user->opcode() != Opcode::kGetTupleElement) user->ReplaceOperand(hero, tuple);
    }
    entry.set_root(is_root ? tuple : root);
  }
  if (!heroes.empty()) entry.SortTopologically();
}

class FusionBuilder {
 public:
  FusionBuilder(Module& module, Computation& entry, const FusionGroups& groups)
      : module_(module), entry_(entry), groups_(groups) {}

  void Build(const FusionGroup& group, const std::vector<Instruction*>& outputs) {
    fused_ = module_.AddComputation(NameOf(group, *outputs.back()));
    copies_.clear();
    operands_.clear();
    for (Instruction* i : groups_.MembersOf(group)) Copy(i, group);
    fused_->set_root(Expansion(*fused_).Together(
        Transformed(outputs, [&](const Instruction* output) { return copies_.at(output); })));
    fused_->RemoveDead();
    Replace(group, outputs, outputs.size() == 1 ? outputs[0]->shape() : TupleShapeOf(outputs));
  }

 private:
  static std::string NameOf(const FusionGroup& group, const Instruction& output) {
    const Instruction& named = group.hero != nullptr ? *group.hero : output;
    return "fused_" + std::string(OpcodeText(named.opcode()));
  }

  // The value of an entry instruction inside the fused computation.
  Instruction* Copy(Instruction* i, const FusionGroup& group) {
    if (auto it = copies_.find(i); it != copies_.end()) return it->second;
    if (!group.members.contains(i) && !IsFree(*i)) {
      operands_.push_back(i);
      const auto number = static_cast<int64_t>(operands_.size()) - 1;
      return copies_[i] = fused_->Add(Opcode::kParameter, i->shape(), {}, ParameterAttributes{number}, {},
                                      "p" + std::to_string(number));
    }
    return copies_[i] = fused_->Add(
               i->CloneWith(Transformed(i->operands(), [&](Instruction* operand) { return Copy(operand, group); })));
  }

  void Replace(const FusionGroup& group, const std::vector<Instruction*>& outputs, const Shape& shape) {
    Instruction* const root = entry_.root();
    Instruction* fusion =
        entry_.Add(Opcode::kFusion, shape, operands_, FusionAttributes{group.kind, {}}, {fused_}, "fusion");
    fusion->set_location(outputs.back()->location());
    entry_.set_root(root);
    for (Instruction* member : groups_.MembersOf(group)) MoveControlEdges(member, fusion);
    for (size_t k = 0; k < outputs.size(); ++k) {
      Instruction* value = fusion;
      if (outputs.size() > 1) {
        value = Expansion(entry_).Element(fusion, static_cast<int64_t>(k));
        entry_.set_root(root);
      }
      entry_.ReplaceAllUses(outputs[k], value);
    }
  }

  Module& module_;
  Computation& entry_;
  const FusionGroups& groups_;
  Computation* fused_ = nullptr;
  std::unordered_map<const Instruction*, Instruction*> copies_;
  std::vector<Instruction*> operands_;
};

// `entry` is what is fused: the module's entry or a computation that control flow runs.
int FuseComputation(Module& module, Computation& entry, const TargetInfo& target) {
  entry.SortTopologically();
  TakeHeroTuplesApart(entry);
  const bool joins_products = target.fusion && target.attention_min_scores != INT64_MAX;
  for (const auto pass : {WriteSoftmaxAsQuotient, SplitColumns, JoinScoreProducts, SeparateChains}) {
    if (!joins_products || !pass(entry, target)) continue;
    entry.RemoveDead();
    entry.SortTopologically();
  }
  // A loop that is one kernel computes products by units of its own (loop_program.h).
  TargetInfo of_entry = target;
  if (&entry != module.entry()) of_entry.product_rows_most_terms = of_entry.product_rows_small_work = -1;
  FusionGroups groups(entry, of_entry);
  groups.Decide();
  // Rewriting changes who uses what, so all outputs are asked for first. A group without outputs is dead.
  auto outputs = Transformed(groups.groups(), [&](const FusionGroup& group) { return groups.OutputsOf(group); });
  FusionBuilder builder(module, entry, groups);
  int count = 0;
  for (size_t g = 0; g < outputs.size(); ++g) {
    if (outputs[g].empty()) continue;
    builder.Build(groups.groups()[g], outputs[g]);
    ++count;
  }
  entry.SortTopologically();
  entry.RemoveDead();
  return count;
}

// The fusion's instructions take its place.
void Dissolve(Computation& entry, Instruction* fusion) {
  Instruction* const root = entry.root();
  const std::vector<Instruction*> operands(fusion->operands().begin(), fusion->operands().end());
  const std::vector<Instruction*> before(fusion->control_predecessors().begin(), fusion->control_predecessors().end());
  const auto last = std::prev(entry.instructions().end());
  Instruction* const value = CloneInto(*fusion->called(0), entry, operands, [](Computation* called) { return called; });
  entry.set_root(root);
  if (value->opcode() == Opcode::kTuple) {
    const std::vector<Instruction*> users(fusion->users().begin(), fusion->users().end());
    for (Instruction* user : users) {
      if (user->opcode() != Opcode::kGetTupleElement) continue;
      const int64_t index = user->attributes<GetTupleElementAttributes>().index;
      entry.ReplaceAllUses(user, value->operand(index));
    }
  }
  entry.ReplaceAllUses(fusion, value);  // what had to wait for the fusion waits for its value
  for (auto i = std::next(last); i != entry.instructions().end(); ++i) {
    for (Instruction* predecessor : before) (*i)->AddControlPredecessor(predecessor);
  }
  entry.SortTopologically();
  entry.RemoveDead();
}

}  // namespace

bool HoldsSeveral(const Instruction& fusion) {
  return std::ranges::count_if(fusion.called(0)->instructions(), [](const auto& i) {
           return !IsAnyOf(i->opcode(), Opcode::kParameter, Opcode::kTuple) && !IsHeroElement(*i) && !IsFree(*i);
         }) > 1;
}

void UnfuseInstructions(Module& module, const std::unordered_set<const Instruction*>& fusions) {
  TargetInfo one_at_a_time;
  one_at_a_time.fusion = false;
  for (Computation* computation : ControlComputations(module)) {
    std::vector<Instruction*> dissolved;
    for (const auto& i : computation->instructions()) {
      if (fusions.contains(i.get())) dissolved.push_back(i.get());
    }
    if (dissolved.empty()) continue;
    for (Instruction* fusion : dissolved) Dissolve(*computation, fusion);
    FuseComputation(module, *computation, one_at_a_time);
  }
  module.RemoveUnusedComputations();
  module.SortComputations();
}

Result<int> FuseInstructions(Module& module, const TargetInfo& target) {
  int count = 0;
  for (Computation* computation : ControlComputations(module)) count += FuseComputation(module, *computation, target);
  return count;
}

}  // namespace VXLA_NAMESPACE
