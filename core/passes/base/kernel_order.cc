#include "core/passes/base/kernel_order.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

// Of one search. Kernels that are merged stand close together, or little that lies between them depends on them.
constexpr int kMostEdges = 1 << 14;
const std::vector<int> kNoGroups;

}  // namespace

const std::vector<int>& KernelOrder::GroupsOf(const Instruction* instruction) const {
  const auto at = groups_of_.find(instruction);
  return at == groups_of_.end() ? kNoGroups : at->second;
}

KernelOrder::Node KernelOrder::NodeOf(const Instruction* instruction) const {
  const std::vector<int>& groups = GroupsOf(instruction);
  return groups.empty() ? number_.at(instruction) : ~groups[0];
}

void KernelOrder::Add(const Instruction* instruction, int group) {
  groups_of_[instruction].push_back(group);
  members_[group].push_back(instruction);
}

void KernelOrder::Leave(const Instruction* instruction, int group) {
  std::vector<int>& groups = groups_of_.at(instruction);
  std::erase(groups, group);
  if (groups.empty()) groups_of_.erase(instruction);
  std::erase(members_[group], instruction);
}

int KernelOrder::NewGroup(const Instruction* instruction) {
  const int group = static_cast<int>(members_.size());
  members_.emplace_back();
  group_marks_.push_back(0);
  group_ranks_.push_back(ranks_[number_.at(instruction)]);
  Add(instruction, group);
  return group;
}

// Calls visit(neighbour) until it gives false; false then. A neighbour may come several times. A group that has a copy
// of what another one reads does not depend on that one's copy.
bool KernelOrder::ForNeighbours(Node node, Towards towards, const auto& visit) const {
  auto visit_all = [&](std::span<Instruction* const> list) {
    for (const Instruction* i : list) {
      const std::vector<int>& groups = GroupsOf(i);
      if (groups.empty() && !visit(number_.at(i))) return false;
      // What it reads of its own; what reads it may do so from groups besides.
      const bool own = node < 0 && std::ranges::find(groups, ~node) != groups.end();
      if (own && towards == Towards::kOperands) continue;
      for (int group : groups) {
        if (~group != node && !visit(~group)) return false;
      }
    }
    return true;
  };
  auto visit_of = [&](const Instruction* i) {
    // Every user of a copy has one too.
    if (node < 0 && towards == Towards::kUsers && GroupsOf(i).size() > 1) return true;
    if (towards == Towards::kUsers) return visit_all(i->users()) && visit_all(i->control_successors());
    return visit_all(i->operands()) && visit_all(i->control_predecessors());
  };
  if (node >= 0) return visit_of((*order_)[node]);
  return std::ranges::all_of(members_[~node], visit_of);
}

std::vector<int> KernelOrder::Levels() const {
  std::vector<std::pair<int, Node>> by_rank;
  for (const Instruction* i : *order_) {
    const Node single = number_.at(i);
    if (GroupsOf(i).empty()) by_rank.emplace_back(ranks_[single], single);
  }
  for (size_t g = 0; g < members_.size(); ++g) by_rank.emplace_back(group_ranks_[g], ~static_cast<Node>(g));
  std::ranges::sort(by_rank);
  std::vector<int> levels(order_->size()), group_levels(members_.size());
  for (const auto& [rank, node] : by_rank) {
    int& level = node >= 0 ? levels[node] : group_levels[~node];
    ForNeighbours(node, Towards::kOperands, [&](Node before) {
      level = std::max(level, 1 + (before >= 0 ? levels[before] : group_levels[~before]));
      return true;
    });
  }
  return group_levels;
}

bool KernelOrder::Mark(Node node) {
  int& mark = node >= 0 ? marks_[node] : group_marks_[~node];
  if (mark == search_) return false;
  mark = search_;
  return true;
}

void KernelOrder::Reset(const std::vector<Instruction*>& order) {
  order_ = &order;
  number_.clear();
  for (const Instruction* i : order) number_.emplace(i, static_cast<int>(number_.size()));
  ranks_.assign(order.size(), 0);
  marks_.assign(order.size(), 0);
  std::ranges::fill(group_marks_, 0);
  search_ = 1;
  int next_rank = 0;
  // Depth first: a node is opened, what it needs is placed, and it is placed itself when it is seen again.
  std::vector<std::pair<Node, bool>> stack;
  for (const Instruction* start : order) {
    stack.emplace_back(NodeOf(start), false);
    while (!stack.empty()) {
      auto& [node, opened] = stack.back();
      if (opened) {
        RankOf(node) = next_rank++;
        stack.pop_back();
      } else if (!Mark(node)) {
        stack.pop_back();
      } else {
        opened = true;
        std::vector<Node> needed;
        ForNeighbours(node, Towards::kOperands, [&](Node neighbour) {
          needed.push_back(neighbour);
          return true;
        });
        for (Node neighbour : needed) stack.emplace_back(neighbour, false);
      }
    }
  }
}

// What of the nodes between the two ranks can be reached from `from`, but for `to`. kCycle: `to` is reached through
// another node.
KernelOrder::Found KernelOrder::Search(Node from, Node to, Towards towards, std::vector<Node>& found) {
  ++search_;
  const int limit = RankOf(to);
  int edges = 0;
  bool cycle = false, at_start = true;
  auto visit = [&](Node node) {
    if (node == to && !at_start) cycle = true;
    if (cycle || ++edges > kMostEdges) return false;
    const bool between = towards == Towards::kUsers ? RankOf(node) < limit : RankOf(node) > limit;
    if (between && Mark(node)) found.push_back(node);
    return true;
  };
  bool done = ForNeighbours(from, towards, visit);
  at_start = false;
  for (size_t next = 0; done && next < found.size(); ++next) done = ForNeighbours(found[next], towards, visit);
  if (cycle) return Found::kCycle;
  if (!done) return Found::kTooMuch;
  return found.empty() ? Found::kNothing : Found::kSome;
}

// What `high` needs comes first, then both as one, then what needs `low`; all in the places that they had.
void KernelOrder::Rearrange(Node low, Node high, std::vector<Node>& before, std::vector<Node>& behind, Node merged) {
  std::vector<int> places{RankOf(low), RankOf(high)};
  auto by_rank = [&](Node a, Node b) { return RankOf(a) < RankOf(b); };
  for (std::vector<Node>* nodes : {&before, &behind}) {
    std::ranges::sort(*nodes, by_rank);
    for (Node node : *nodes) places.push_back(RankOf(node));
  }
  std::ranges::sort(places);
  size_t next = 0;
  for (Node node : before) RankOf(node) = places[next++];
  RankOf(merged) = places[next++];
  for (Node node : behind) RankOf(node) = places[next++];
}

bool KernelOrder::Merge(const Instruction* instruction, int group) {
  const Node single = number_.at(instruction), merged = ~group;
  const bool single_first = RankOf(single) < RankOf(merged);
  const Node low = single_first ? single : merged, high = single_first ? merged : single;
  // Looked at first because it costs least: an epilogue that needs nothing else takes its kernel's place, and what only
  // the kernel needs the kernel's.
  int place = RankOf(low);
  auto needs_nothing_between = [&](Node node) { return node == low || RankOf(node) < RankOf(low); };
  if (!ForNeighbours(high, Towards::kOperands, needs_nothing_between)) {
    std::vector<Node> before, behind;
    switch (Search(low, high, Towards::kUsers, behind)) {
      case Found::kNothing:
        place = RankOf(high);
        break;
      case Found::kSome:
        if (Search(high, low, Towards::kOperands, before) == Found::kTooMuch) return false;
        Rearrange(low, high, before, behind, merged);
        place = RankOf(merged);
        break;
      default:
        return false;
    }
  }
  RankOf(merged) = place;
  Add(instruction, group);
  return true;
}

}  // namespace VXLA_NAMESPACE
