#include "core/passes/fuse/fusion_description.h"

#include <unordered_set>

#include "core/passes/base/control_flow.h"
#include "core/passes/fuse/product_rows.h"

namespace VXLA_NAMESPACE {
namespace {

void ReadBody(FusionDescription& description) {
  const Instruction& instruction = *description.instruction;
  if (instruction.opcode() != Opcode::kFusion) {
    description.roots = description.computed = {&instruction};
    for (const Instruction* operand : instruction.operands()) description.operands.emplace(operand, operand);
    return;
  }
  const Computation& computation = *instruction.called(0);
  for (const auto& inner : computation.instructions()) {
    if (inner->opcode() == Opcode::kParameter) {
      description.operands.emplace(inner.get(), instruction.operand(inner->parameter_number()));
    } else if (inner->opcode() != Opcode::kTuple) {
      description.computed.push_back(inner.get());
    }
  }
  const Instruction& root = *computation.root();
  if (root.opcode() == Opcode::kTuple) {
    description.roots.assign(root.operands().begin(), root.operands().end());
  } else {
    description.roots = {&root};
  }
}

// The last one that is computed; null: none is.
const Instruction* LastOf(const FusionDescription& description, Opcode opcode) {
  const auto& computed = description.computed;
  const auto last = std::find_if(computed.rbegin(), computed.rend(),
                                 [opcode](const Instruction* each) { return each->opcode() == opcode; });
  return last == computed.rend() ? nullptr : *last;
}

// An attention is the last product of its fusion and all that the product is made of.
bool FindAttention(FusionDescription& description) {
  if (description.instruction->opcode() != Opcode::kFusion) return false;
  const Instruction* const product = LastOf(description, Opcode::kDot);
  if (product != nullptr) description.attention = MatchAttention(*product);
  if (!description.attention) return false;
  description.heroes = {product};
  return true;
}

// Whether all results are made of the chain's reduction, element by element, and of nothing else that it computes.
bool FollowsElementwise(const FusionDescription& description, const ProductChain& chain, const Instruction& reduce) {
  const std::unordered_set<const Instruction*> members(chain.members.begin(), chain.members.end());
  std::unordered_set<const Instruction*> behind{&reduce};
  for (const Instruction* i : description.computed) {
    if (i == &reduce || members.contains(i)) continue;
    if (HeroKind(i->opcode())) return false;
    const bool reads = std::ranges::any_of(i->operands(), [&](const Instruction* o) { return behind.contains(o); });
    for (int k = 0; k < i->operand_count(); ++k) {
      if (members.contains(i->operand(k))) return false;
      if (behind.contains(i->operand(k)) && !ReadsAtOwnIndex(*i, k)) return false;
    }
    if (reads) behind.insert(i);
  }
  return std::ranges::all_of(description.roots, [&](const Instruction* root) { return behind.contains(root); });
}

// A reduction of products' rows is the last one of its fusion.
bool FindReducedChain(FusionDescription& description) {
  const Instruction* const reduce = LastOf(description, Opcode::kReduce);
  std::optional<ProductChain> chain = reduce != nullptr ? MatchChain(*reduce, 0) : std::nullopt;
  if (!chain || !ReducesRows(*chain) || !FollowsElementwise(description, *chain, *reduce)) return false;
  description.chain = std::move(chain);
  description.heroes = {reduce};
  return true;
}

// The results of a product chain are its sums, moved as they may be.
bool FindChain(FusionDescription& description) {
  if (description.instruction->opcode() != Opcode::kFusion) return false;
  if (FindReducedChain(description)) return true;
  std::vector<ProductChain> chains;
  for (const Instruction* root : description.roots) {
    OperandPath moves;
    const Instruction& sum = *Follow(root, &moves);
    std::optional<ProductChain> chain = MatchChain(sum, 0);
    if (!chain) chain = MatchChain(sum, 1);
    if (!chain) return false;
    chains.push_back(*std::move(chain));
  }
  chains = JoinChains(std::move(chains), false);
  if (chains.size() != 1) return false;
  description.chain = chains.front();
  for (const ChainSum& sum : description.chain->sums) description.heroes.push_back(sum.hero);
  return true;
}

// A dot before the reductions of a row program is its product, if nothing reads it but at its own place.
void FindProductOfRows(FusionDescription& description) {
  const auto& heroes = description.heroes;
  const bool before_rows = heroes.size() > 1 && heroes[0]->opcode() == Opcode::kDot &&
                           std::all_of(heroes.begin() + 1, heroes.end(),
                                       [](const Instruction* i) { return i->opcode() == Opcode::kReduce; });
  if (!before_rows) return;
  const Instruction& dot = *heroes[0];
  if (!IsProductOfRows(dot, RowSpace(*heroes[1]))) return;
  std::unordered_set<const Instruction*> in_place{&dot};
  for (const Instruction* i : description.computed) {
    for (int k = 0; k < i->operand_count(); ++k) {
      if (!in_place.contains(i->operand(k))) continue;
      if (!ReadsProductInPlace(*i, k, dot)) return;
      if (i->opcode() != Opcode::kReduce) in_place.insert(i);
    }
  }
  description.product = &dot;
  description.heroes.erase(description.heroes.begin());
}

Status FindHeroes(FusionDescription& description) {
  const bool of_products = FindAttention(description) || FindChain(description);
  for (const Instruction* i : description.computed) {
    if (!of_products && HeroKind(i->opcode())) description.heroes.push_back(i);
  }
  if (!of_products) FindProductOfRows(description);
  if (!description.heroes.empty()) description.hero = description.heroes.front();
  if (of_products || description.hero == nullptr) return OkStatus();
  const bool row_program = HeroKind(description.hero->opcode()) == FusionKind::kInput;
  if (row_program) description.rows.emplace(*description.hero);
  for (const Instruction* other : description.heroes) {
    if (other == description.hero) continue;
    if (!row_program || other->opcode() != description.hero->opcode()) {
      return Unsupported("{}: no kernel is made around {} and {}", description.instruction->name(),
                         description.hero->name(), other->name());
    }
    if (!description.rows->Matches(*other)) {
      return Unsupported("{}: {} and {} reduce different rows", description.instruction->name(),
                         description.hero->name(), other->name());
    }
  }
  return OkStatus();
}

// Phases, and with them what comes before heroes and after them.
void FindPhases(FusionDescription& description) {
  for (const Instruction* i : description.computed) {
    int phase = 0;
    for (const Instruction* operand : i->operands()) phase = std::max(phase, description.PhaseOf(*operand));
    if (description.IsHeroHere(*i)) ++phase;
    description.phase_of[i] = phase;
    description.phases = std::max(description.phases, phase);
  }
  std::unordered_set<const Instruction*> feeds;
  for (auto i = description.computed.rbegin(); i != description.computed.rend(); ++i) {
    if (!description.IsHeroHere(**i) && !feeds.contains(*i)) continue;
    for (const Instruction* operand : (*i)->operands()) feeds.insert(operand);
  }
  for (const Instruction* i : description.computed) {
    if (description.IsHeroHere(*i)) continue;
    if (feeds.contains(i)) description.prologue.push_back(i);
    if (description.PhaseOf(*i) > 0) description.epilogue.push_back(i);
  }
}

// Arrays that the hero changes in part lie where they lay.
void FindUpdatedArrays(FusionDescription& description) {
  const Instruction& instruction = *description.instruction;
  for (int array = 0; array < UpdatedArrays(*description.hero); ++array) {
    const Instruction* const operand = description.OperandOf(*description.hero->operand(array));
    const int leaf = description.LeafOf(*description.hero, array);
    if (operand == nullptr || leaf < 0) continue;
    const auto at = std::ranges::find(instruction.operands(), operand);
    description.in_place.push_back({static_cast<int>(at - instruction.operands().begin()), leaf, true});
  }
}

// A loop over elements computes all of an element's results before it stores any, so a result of the same storage size
// may lie where an operand that keeps positions lay.
void FindInPlacePairs(FusionDescription& description) {
  if (description.hero != nullptr) return FindUpdatedArrays(description);
  const Instruction& instruction = *description.instruction;
  if (instruction.opcode() != Opcode::kFusion) return;
  const auto leaves = FlattenTuple(instruction.shape());
  for (int k = 0; k < instruction.operand_count(); ++k) {
    const Shape& source = instruction.operand(k)->shape();
    if (!source.IsArray() || !ReadsOwnElementOnly(*instruction.called(0), k)) continue;
    for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
      const bool same_size =
          leaves[leaf]->IsArray() && StorageBytes(source.element_type()) == StorageBytes(leaves[leaf]->element_type());
      if (same_size) description.in_place.push_back({k, leaf, false});
    }
  }
}

}  // namespace

bool FusionDescription::MayLieAt(int operand, int leaf) const {
  return std::ranges::any_of(in_place,
                             [&](const InPlacePair& pair) { return pair.operand == operand && pair.leaf == leaf; });
}

int FusionDescription::LeafOf(const Instruction& value, int element) const {
  int leaf = 0;
  for (const Instruction* root : roots) {
    if (root == &value) return leaf + element;
    const bool part = root->opcode() == Opcode::kGetTupleElement && root->operand(0) == &value;
    if (part && root->attributes<GetTupleElementAttributes>().index == element) return leaf;
    leaf += static_cast<int>(FlattenTuple(root->shape()).size());
  }
  return -1;
}

Result<FusionDescription> DescribeFusion(const Instruction& instruction) {
  FusionDescription description;
  description.instruction = &instruction;
  ReadBody(description);
  VXLA_RETURN_IF_ERROR(FindHeroes(description));
  FindPhases(description);
  FindInPlacePairs(description);
  return description;
}

void DescribeFusions(Module& module) {
  for (const Computation* computation : ControlComputations(module)) {
    for (const auto& i : computation->instructions()) {
      if (i->opcode() != Opcode::kFusion || i->description() != nullptr) continue;
      if (auto description = DescribeFusion(*i); description.ok())
        i->set_description(std::make_shared<const FusionDescription>(*std::move(description)));
    }
  }
}

void ForgetDescriptions(Module& module) {
  for (const auto& i : EachInstruction(module)) i->set_description(nullptr);
}

Result<std::shared_ptr<const FusionDescription>> DescriptionOf(const Instruction& instruction) {
  if (instruction.description() != nullptr) return instruction.description();
  VXLA_ASSIGN_OR_RETURN(FusionDescription description, DescribeFusion(instruction));
  return std::make_shared<const FusionDescription>(std::move(description));
}

}  // namespace VXLA_NAMESPACE
