// Small loops side by side: kernels that each compute a few elements, none of which waits for another, become one.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/passes/fuse/fusion_groups.h"

namespace VXLA_NAMESPACE {
namespace {

// A kernel of this few elements costs its dispatch and its compilation, not its arithmetic.
constexpr int64_t kMostElements = 1024;
// Larger values would have to live until the last of the loops that are joined.
constexpr int64_t kMostInputBytes = 1 << 16;

}  // namespace

bool FusionGroups::IsSmallLoop(const FusionGroup& group) const {
  if (group.kind != FusionKind::kLoop || group.members.empty() || group.iterations > kMostElements) return false;
  const auto inputs = buffers_[&group - groups_.data()].Inputs();
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

// Whether loops of as many elements meet at the same ones: what one computes and another one reads.
bool FusionGroups::ReadsElementByElement(int reader, int from) const {
  const FusionGroup &read = groups_[from], &reads = groups_[reader];
  if (read.kind != FusionKind::kLoop || reads.kind != FusionKind::kLoop || read.iterations != reads.iterations)
    return false;
  for (const Instruction* member : reads.members) {
    for (int k = 0; k < member->operand_count(); ++k) {
      const Instruction* operand = member->operand(k);
      if (reads.members.contains(operand) || !read.members.contains(operand)) continue;
      if (!read.at_own_index.contains(operand) || !reads.at_own_index.contains(member) || !ReadsAtOwnIndex(*member, k))
        return false;
    }
  }
  return true;
}

// What the two loops would bind as one.
int FusionGroups::BuffersOfBoth(int a, int b) const {
  const auto is_member = [&](const Instruction* i) { return InGroup(i, a) || InGroup(i, b); };
  std::unordered_set<const Instruction*> tensors;
  for (const int g : {a, b}) {
    for (const Instruction* input : buffers_[g].Inputs()) {
      if (!is_member(input)) tensors.insert(input);
    }
    for (const Instruction* member : groups_[g].members) {
      // A user that is copied into other kernels reads it there.
      const bool leaves =
          member == entry_.root() || std::ranges::any_of(member->users(), [&](const Instruction* user) {
            const std::vector<int>& groups = GroupsOf(user);
            return groups.empty() || std::ranges::any_of(groups, [&](int o) { return o != a && o != b; });
          });
      if (leaves) tensors.insert(member);
    }
  }
  return static_cast<int>(tensors.size());
}

bool FusionGroups::FitTogether(int a, int b) const {
  const size_t members = groups_[a].members.size() + groups_[b].members.size();
  return static_cast<int>(members) <= target_.max_fusion_instructions &&
         operations_[a] + operations_[b] <= target_.max_kernel_operations;
}

// A loop that reads another one's result where that is computed needs no kernel of its own, unless others wait between
// the two or it waits for more: what replicas make of a sum that both read, and an optimizer's count of steps and the
// powers of it.
void FusionGroups::JoinReaders(const std::vector<int>& levels) {
  for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {
    if (groups_[g].kind != FusionKind::kLoop || groups_[g].members.empty()) continue;
    // Of the kernels that it waits for, the last, and whether that is the only one of its level.
    int last = -1;
    bool only = true, known = true;
    for (const Instruction* member : groups_[g].members) {
      if (member->HasControlEdges()) known = false;
      for (const Instruction* operand : member->operands()) {
        if (groups_[g].members.contains(operand) || IsFree(*operand) || operand->opcode() == Opcode::kParameter)
          continue;
        const int from = OnlyGroupOf(operand);
        if (from < 0) known = false;  // what is in no kernel may wait for some
        if (from < 0 || from == last) continue;
        if (last >= 0 && levels[from] == levels[last]) only = false;
        if (last >= 0 && levels[from] <= levels[last]) continue;
        last = from;  // whatever its order among the members, which is that of pointers
        only = true;
      }
    }
    if (!only || !known || last < 0 || levels[g] != levels[last] + 1 || !ReadsElementByElement(g, last)) continue;
    const int most = groups_[g].iterations == 1 ? target_.max_joined_buffers : target_.max_fusion_buffers;
    if (FitTogether(g, last) && BuffersOfBoth(g, last) <= most) MoveMembers(g, last);
  }
}

// Loops of one level (as many kernels stand before each at most) cannot wait for one another, and joining them puts no
// kernel before one of its own level, so all levels stay as they are.
void FusionGroups::JoinSmallLoops() {
  const std::vector<int> levels = kernels_.Levels();
  JoinReaders(levels);
  // Loops that differ in their sizes alone become one dispatch as they are; what is joined differs in its text.
  std::map<std::pair<int, std::string>, std::set<int64_t>> sizes;
  for (size_t g = 0; target_.merges_loops && g < groups_.size(); ++g) {
    if (groups_[g].kind == FusionKind::kLoop) sizes[{levels[g], TextOf(groups_[g])}].insert(groups_[g].iterations);
  }
  auto is_merged = [&](int g) {
    const auto like = sizes.find({levels[g], target_.merges_loops ? TextOf(groups_[g]) : ""});
    return like != sizes.end() && like->second.size() > 1;
  };
  std::map<std::pair<int, int64_t>, std::vector<int>> alike;         // by level and elements, in the program's order
  for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {  // the last loops became groups first
    if (IsSmallLoop(groups_[g]) && !is_merged(g)) alike[{levels[g], groups_[g].iterations}].push_back(g);
  }
  for (const auto& [key, loops] : alike) {
    int to = -1, buffers = 0;
    std::unordered_set<const Instruction*> inputs;
    for (int g : loops) {
      const auto own = buffers_[g].Inputs();
      const auto added = std::ranges::count_if(own, [&](const Instruction* i) { return !inputs.contains(i); });
      const int more = static_cast<int>(OutputsOf(groups_[g]).size()) + static_cast<int>(added);
      const bool fits = to >= 0 && buffers + more <= target_.max_joined_buffers && FitTogether(g, to);
      if (!fits) {
        to = g;
        inputs = {own.begin(), own.end()};
        buffers = static_cast<int>(OutputsOf(groups_[g]).size()) + static_cast<int>(own.size());
        continue;
      }
      MoveMembers(g, to);
      inputs.insert(own.begin(), own.end());
      buffers += more;
    }
  }
}

}  // namespace VXLA_NAMESPACE
