// Small loops side by side: kernels that each compute a few elements, none of which waits for another, become one.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/passes/fusion_groups.h"

namespace VXLA_NAMESPACE {
namespace {

// A kernel of this few elements costs its dispatch and its compilation, not its arithmetic.
constexpr int64_t kMostElements = 1024;
// Larger values would have to live until the last of the loops that are joined.
constexpr int64_t kMostInputBytes = 1 << 16;

}  // namespace

bool FusionGroups::IsSmallLoop(const FusionGroup& group) const {
  if (group.kind != FusionKind::kLoop || group.members.empty() || group.iterations > kMostElements) return false;
  const auto inputs = buffers_[static_cast<size_t>(&group - groups_.data())].Inputs();
  return std::ranges::all_of(inputs, [](const Instruction* input) {
    return input->opcode() == Opcode::kParameter || input->shape().SizeBytes() <= kMostInputBytes;
  });
}

// What the loop's kernel computes, whatever the sizes.
std::string FusionGroups::TextOf(const FusionGroup& group) const {
  std::string text;
  for (const Instruction* i : MembersOf(group)) {
    if (i->opcode() == Opcode::kReshape || i->opcode() == Opcode::kBroadcast || IsFree(*i)) continue;
    text += std::string(OpcodeText(i->opcode())) + " " + std::string(ElementTypeName(i->shape().element_type())) + ";";
  }
  return text;
}

void FusionGroups::MoveMembers(int from, int to) {
  for (const Instruction* member : groups_[from].members) {
    kernels_.Leave(member, from);
    if (groups_[to].members.contains(member)) continue;
    kernels_.Absorb(member, to);
    AddMember(member, to);
  }
  groups_[to].at_own_index.insert(groups_[from].at_own_index.begin(), groups_[from].at_own_index.end());
  groups_[from].members.clear();
}

// A loop of one element that reads another one's result needs no kernel of its own, unless others wait between the two
// or it waits for more: an optimizer's count of steps and the powers of it.
void FusionGroups::JoinReadersOfScalars(std::vector<int>& levels) {
  const auto is_scalar = [&](int g) { return groups_[g].iterations == 1 && IsSmallLoop(groups_[g]); };
  for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {
    if (!is_scalar(g)) continue;
    // Of the kernels that it waits for, the last, and whether that is the only one of its level.
    int last = -1;
    bool only = true;
    for (const Instruction* member : groups_[g].members) {
      if (member->HasControlEdges()) only = false;
      for (const Instruction* operand : member->operands()) {
        if (groups_[g].members.contains(operand) || IsFree(*operand) || operand->opcode() == Opcode::kParameter)
          continue;
        const int from = OnlyGroupOf(operand);
        if (from < 0) only = false;  // what is in no kernel may wait for some
        if (from < 0 || from == last) continue;
        if (last >= 0 && levels[from] == levels[last]) only = false;
        if (last < 0 || levels[from] > levels[last]) last = from;
      }
    }
    if (!only || last < 0 || !is_scalar(last) || levels[g] != levels[last] + 1) continue;
    if (static_cast<int>(groups_[last].members.size() + groups_[g].members.size()) > target_.max_fusion_instructions ||
        operations_[last] + operations_[g] > target_.max_kernel_operations ||
        buffers_[last].outputs() + buffers_[g].outputs() + static_cast<int>(buffers_[last].Inputs().size()) +
                static_cast<int>(buffers_[g].Inputs().size()) >
            target_.max_joined_buffers) {
      continue;
    }
    MoveMembers(g, last);
  }
}

// Loops of one level (as many kernels stand before each at most) cannot wait for one another, and joining them puts no
// kernel before one of its own level, so all levels stay as they are.
void FusionGroups::JoinSmallLoops() {
  std::vector<int> levels = kernels_.Levels();
  JoinReadersOfScalars(levels);
  // Loops that differ in their sizes alone become one dispatch as they are; what is joined differs in its text.
  std::map<std::pair<int, std::string>, std::set<int64_t>> sizes;
  for (size_t g = 0; target_.merges_loops && g < groups_.size(); ++g) {
    if (groups_[g].kind == FusionKind::kLoop) sizes[{levels[g], TextOf(groups_[g])}].insert(groups_[g].iterations);
  }
  auto is_merged = [&](int g) {
    const auto like = sizes.find({levels[static_cast<size_t>(g)], target_.merges_loops ? TextOf(groups_[g]) : ""});
    return like != sizes.end() && like->second.size() > 1;
  };
  std::map<std::pair<int, int64_t>, std::vector<int>> alike;         // by level and elements, in the program's order
  for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {  // the last loops became groups first
    if (IsSmallLoop(groups_[g]) && !is_merged(g))
      alike[{levels[static_cast<size_t>(g)], groups_[g].iterations}].push_back(g);
  }
  for (const auto& [key, loops] : alike) {
    int to = -1, buffers = 0;
    std::unordered_set<const Instruction*> inputs;
    for (int g : loops) {
      const auto own = buffers_[g].Inputs();
      const auto added = std::ranges::count_if(own, [&](const Instruction* i) { return !inputs.contains(i); });
      const int more = buffers_[g].outputs() + static_cast<int>(added);
      const bool fits =
          to >= 0 && buffers + more <= target_.max_joined_buffers &&
          static_cast<int>(groups_[to].members.size() + groups_[g].members.size()) <= target_.max_fusion_instructions &&
          operations_[to] + operations_[g] <= target_.max_kernel_operations;
      if (!fits) {
        to = g;
        inputs = {own.begin(), own.end()};
        buffers = buffers_[g].outputs() + static_cast<int>(own.size());
        continue;
      }
      MoveMembers(g, to);
      inputs.insert(own.begin(), own.end());
      buffers += more;
    }
  }
}

}  // namespace VXLA_NAMESPACE
