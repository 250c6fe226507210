// FusionGroups: attentions, whose scores never leave the kernel.
#include <algorithm>

#include "core/passes/attention.h"
#include "core/passes/fusion_groups.h"

namespace VXLA_NAMESPACE {

void FusionGroups::FindAttentions() {
  if (target_.attention_min_scores == INT64_MAX) return;
  bool left = false;
  for (Instruction* i : order_) left |= i->opcode() == Opcode::kDot && GroupsOf(i).empty() && !GroupAttention(i);
  if (left) kernels_.Reset(order_);
}

// False: members had to leave again.
bool FusionGroups::GroupAttention(Instruction* product) {
  const std::optional<Attention> attention = MatchAttention(*product);
  if (!attention) return true;
  const int64_t scores = attention->batches * attention->rows * attention->keys;
  if (scores < target_.attention_min_scores || attention->rows < target_.attention_min_rows) return true;
  std::vector<const Instruction*> members = attention->members;
  // Two that share a part are in none.
  if (std::ranges::any_of(members, [&](const Instruction* i) { return !GroupsOf(i).empty(); })) return true;
  std::ranges::sort(members, std::greater<>(), [&](const Instruction* i) { return number_.at(i); });
  const int g = NewGroup(FusionKind::kCustom, product, scores);
  groups_[g].attention = true;
  for (const Instruction* i : members) {
    const bool joined = Join(i, g);
    const auto buffers = static_cast<int>(buffers_[g].Inputs().size()) + 1;
    if (!joined || (i == members.back() && buffers > target_.max_fusion_buffers)) {
      for (const Instruction* member : std::vector(groups_[g].members.begin(), groups_[g].members.end()))
        Leave(member, g);
      return false;
    }
    groups_[g].prologue.insert(i);
  }
  for (const Instruction* i : MovesBehind(*attention)) {
    if (!GroupsOf(i).empty() || !Join(i, g)) break;
    groups_[g].at_own_index.insert(i);
  }
  return true;
}

// Each element of the masks and biases is wanted once, of keys and values once for each tile of rows.
bool FusionGroups::AttentionAbsorbs(const Instruction& i, int64_t evaluations) const {
  constexpr int kMostCost = 4;
  constexpr int64_t kMostPlaces = 4;
  if (i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate) return false;
  return evaluations <= kMostPlaces && (ElementCost(i) < kMostCost || i.opcode() == Opcode::kConvert);
}

}  // namespace VXLA_NAMESPACE
