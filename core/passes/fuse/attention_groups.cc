// FusionGroups: attentions and product chains, whose scores never leave the kernel.
#include <algorithm>

#include "core/passes/fuse/fusion_groups.h"
#include "core/passes/products/attention.h"
#include "core/passes/products/product_chain.h"

namespace VXLA_NAMESPACE {

void FusionGroups::FindAttentions() {
  if (target_.attention_min_scores == INT64_MAX) return;
  bool left = false;
  for (Instruction* i : order_) left |= i->opcode() == Opcode::kDot && GroupsOf(i).empty() && !GroupAttention(i);
  for (const ProductChain& chain : JoinChains(FindChains(order_, target_), false)) left |= !GroupChain(chain);
  if (left) kernels_.Reset(order_);
}

// False: members had to leave again.
bool FusionGroups::GroupAttention(Instruction* product) {
  const std::optional<Attention> attention = MatchAttention(*product);
  if (!attention) return true;
  const int64_t scores = attention->batches * attention->rows * attention->keys;
  if (!attention->IsWorthwhile(target_)) return true;
  // Two that share a part are in none.
  const auto is_taken = [&](const Instruction* i) { return !GroupsOf(i).empty(); };
  if (std::ranges::any_of(attention->members, is_taken)) return true;
  const int g = NewGroup(FusionKind::kCustom, product, scores);
  if (!JoinAsPrologue(attention->members, g)) return false;
  for (const Instruction* i : MovesBehind(*attention)) {
    if (!GroupsOf(i).empty() || !Join(i, g)) break;
    groups_[g].at_own_index.insert(i);
  }
  return true;
}

bool FusionGroups::GroupChain(const ProductChain& chain) {
  std::vector<const Instruction*> members = chain.members;
  for (const ChainSum& sum : chain.sums) members.push_back(sum.hero);
  const auto is_taken = [&](const Instruction* i) { return !GroupsOf(i).empty(); };
  if (!IsClosed(chain) || std::ranges::any_of(members, is_taken)) return true;
  Instruction* const hero = order_[number_.at(chain.sums[0].hero)];
  std::erase(members, hero);
  const int g = NewGroup(FusionKind::kCustom, hero, chain.batches * chain.rows * chain.keys);
  groups_[g].takes_epilogue = ReducesRows(chain);
  if (!JoinAsPrologue(std::move(members), g)) return false;
  bool all = true;
  for (const ChainSum& sum : chain.sums) all &= JoinMoves(MovesBehind(chain, sum), g);
  return all;
}

// What moves a result behind a kernel, all of it or nothing. False: some had to leave again.
bool FusionGroups::JoinMoves(const std::vector<const Instruction*>& moves, int g) {
  for (size_t k = 0; k < moves.size(); ++k) {
    if (GroupsOf(moves[k]).empty() && Join(moves[k], g)) {
      groups_[g].at_own_index.insert(moves[k]);
      continue;
    }
    for (; k > 0; --k) Leave(moves[k - 1], g);
    return false;
  }
  return true;
}

// All of what a kernel without scores in memory is made of, or nothing.
bool FusionGroups::JoinAsPrologue(std::vector<const Instruction*> members, int g) {
  std::ranges::sort(members, std::greater<>(), [&](const Instruction* i) { return number_.at(i); });
  groups_[g].attention = true;
  for (const Instruction* i : members) {
    const bool joined = Join(i, g);
    const auto buffers = static_cast<int>(buffers_[g].Inputs().size()) + 3;
    if (!joined || (i == members.back() && buffers > target_.max_fusion_buffers)) {
      for (const Instruction* member : std::vector(groups_[g].members.begin(), groups_[g].members.end()))
        Leave(member, g);
      return false;
    }
    groups_[g].prologue.insert(i);
  }
  return true;
}

namespace {

// A few sums and the like of places.
bool IsIndexArithmetic(const Instruction& i, int* left) {
  if (--*left < 0 || i.opcode() == Opcode::kParameter) return false;
  return std::ranges::all_of(i.operands(),
                             [&](const Instruction* operand) { return IsIndexArithmetic(*operand, left); });
}

// A number that is one of few, put on another scale: the narrow value is what lies in memory.
bool IsOfNarrow(const Instruction& i) {
  if (i.opcode() != Opcode::kDivide || !SplatOf(*i.operand(1))) return false;
  const Instruction* value = i.operand(0);
  while (value->opcode() == Opcode::kBroadcast || OnlyMoves(*value)) value = value->operand(0);
  return value->opcode() == Opcode::kConvert && StorageBytes(value->operand(0)->shape().element_type()) == 1;
}

}  // namespace

// What several kernels read takes a byte an element, what it is made of more: a mask of dropout is kept, not its random
// numbers.
bool FusionGroups::IsKeptNarrow(const Instruction& i) const {
  const auto is_shared = [&](const Instruction* user) { return GroupsOf(user).size() > 1; };
  if (i.opcode() != Opcode::kCompare || (i.users().size() < 2 && std::ranges::none_of(i.users(), is_shared)))
    return false;
  constexpr int kFewInstructions = 16;
  int left = kFewInstructions;
  if (IsIndexArithmetic(i, &left)) return false;
  return std::ranges::any_of(i.operands(), [](const Instruction* operand) {
    return operand->opcode() != Opcode::kBroadcast && operand->opcode() != Opcode::kParameter &&
           StorageBytes(operand->shape().element_type()) > 1 && !IsFree(*operand);
  });
}

bool FusionGroups::MayRepeatIn(const std::vector<Consumer>& consumers, const Instruction& i) const {
  return MayRepeat(i) || (IsOfNarrow(i) && std::ranges::all_of(consumers, [&](const Consumer& consumer) {
                            return groups_[consumer.group].attention;
                          }));
}

// Each element of the masks and biases is wanted once, of keys and values once for each tile of rows.
bool FusionGroups::AttentionAbsorbs(const Instruction& i, int64_t evaluations) const {
  constexpr int kMostCost = 4;
  constexpr int64_t kMostPlaces = 4;
  if (i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate) return false;
  if (IsKeptNarrow(i)) return false;
  return evaluations <= kMostPlaces && (ElementCost(i) < kMostCost || i.opcode() == Opcode::kConvert || IsOfNarrow(i));
}

}  // namespace VXLA_NAMESPACE
