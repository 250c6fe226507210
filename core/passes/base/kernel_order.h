// KernelOrder: which instructions share a kernel, and an order in which the kernels can run.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A kernel is a group of instructions, or one that is in no group. The order puts each behind what it reads and what
// control edges put before it. Merging two kernels rearranges only what lies between them (Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", 2006), so it costs what they are apart, not the whole
// program.
class KernelOrder {
 public:
  // Places everything anew; instructions that are not in the list yet become kernels of their own. `order` has operands
  // and control predecessors first, and outlives this or the next call.
  void Reset(const std::vector<Instruction*>& order);

  // Several where each group has its own copy of the instruction.
  const std::vector<int>& GroupsOf(const Instruction* instruction) const;
  // A group of one instruction, which is in none. Numbers count from 0.
  int NewGroup(const Instruction* instruction);
  // Moves an instruction that is in no group into one. False, and nothing has changed, if kernels would then wait for
  // one another, or if too much lies between the two to find out in reasonable time.
  bool Merge(const Instruction* instruction, int group);
  // Gives the group a copy of an instruction without control edges all of whose users are in groups that get one too.
  void Absorb(const Instruction* instruction, int group) { Add(instruction, group); }
  // Of each group how many kernels stand before it at most, one behind another.
  std::vector<int> Levels() const;
  // The order does not hold any more until Reset.
  void Leave(const Instruction* instruction, int group);

 private:
  // An instruction by its place in the list, or ~group.
  using Node = int;
  enum class Towards : bool { kUsers, kOperands };

  Node NodeOf(const Instruction* instruction) const;
  int& RankOf(Node node) { return node >= 0 ? ranks_[node] : group_ranks_[~node]; }
  bool Mark(Node node);
  void Add(const Instruction* instruction, int group);
  bool ForNeighbours(Node node, Towards towards, const auto& visit) const;
  enum class Found { kNothing, kSome, kCycle, kTooMuch };
  Found Search(Node from, Node to, Towards towards, std::vector<Node>& found);
  void Rearrange(Node low, Node high, std::vector<Node>& before, std::vector<Node>& behind, Node merged);

  const std::vector<Instruction*>* order_ = nullptr;
  std::unordered_map<const Instruction*, int> number_;
  std::unordered_map<const Instruction*, std::vector<int>> groups_of_;
  std::vector<std::vector<const Instruction*>> members_;
  std::vector<int> ranks_, group_ranks_;
  std::vector<int> marks_, group_marks_;  // the search that visited it last
  int search_ = 0;
};

}  // namespace VXLA_NAMESPACE
