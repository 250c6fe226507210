// FusionGroups: which instructions of an entry go into which fusion. The decisions of the fusion pass, before anything
// is rewritten.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/module.h"
#include "core/ir/target_info.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/base/kernel_order.h"
#include "core/passes/products/product_chain.h"

namespace VXLA_NAMESPACE {

struct FusionGroup {
  FusionKind kind = FusionKind::kLoop;
  std::unordered_set<const Instruction*> members;  // free instructions are not members: every kernel has its own copies
  std::unordered_set<const Instruction*> at_own_index;  // members evaluated at the root's linear index only
  std::vector<const Instruction*> joined;               // of dots: the epilogue in the order of joining
  std::unordered_set<const Instruction*> prologue;      // members that feed the hero of kOutput and kCustom
  std::unordered_set<const Instruction*> starts;        // members that only say where elements are read
  const Instruction* hero = nullptr;                    // the dot or reduce-window; the first reduce of a row program
  std::optional<RowSpace> rows;                         // of row programs
  bool attention = false;                               // or a product chain: what it is made of stays in the kernel
  bool takes_epilogue = true;                           // what follows the hero element by element may join
  int phases = 1;          // of row programs: reduces that depend on one another, and element outputs after them
  int64_t iterations = 0;  // elements that the kernel walks
};

// What a group reads and writes, kept up to date as instructions join and leave it.
class GroupBuffers {
 public:
  // Copied: all its readers are in kernels that have it as a member, so that it is nobody's result.
  void Join(const Instruction& i, bool copied = false);
  void Leave(const Instruction& i);
  // How many tensors the kernel would bind with this instruction in it.
  int CountWith(const Instruction& i, bool copied = false) const;
  // What it reads, without what costs nothing.
  std::vector<const Instruction*> Inputs() const;

 private:
  static constexpr int kCopied = std::numeric_limits<int>::min() / 2;
  bool IsMember(const Instruction* i) const { return outside_.contains(i); }
  std::unordered_map<const Instruction*, int> readers_;  // of what is no member: the members that read it
  std::unordered_map<const Instruction*, int> outside_;  // of each member: its users outside, or kCopied
  int inputs_ = 0, outputs_ = 0;                         // without what costs nothing
};

// One class, because each rule that lets an instruction join or leave asks for the groups as all others left them.
class FusionGroups {
 public:
  FusionGroups(Computation& entry, const TargetInfo& target);

  // Decides everything; may add copies of index maps to the entry.
  void Decide();

  const std::vector<FusionGroup>& groups() const { return groups_; }
  // In the entry's order at the time of Decide, copies included.
  std::vector<Instruction*> MembersOf(const FusionGroup& group) const;
  // Members with a use outside the group, in order.
  std::vector<Instruction*> OutputsOf(const FusionGroup& group) const;

 private:
  // A group that uses an instruction, and the users in it.
  struct Consumer {
    int group = -1;
    std::vector<const Instruction*> users;
  };

  void IndexEntry();
  void DecideSingles();
  // attention_groups.cc
  void FindAttentions();
  bool GroupAttention(Instruction* product);
  bool GroupChain(const ProductChain& chain);
  bool JoinMoves(const std::vector<const Instruction*>& moves, int group);
  bool JoinAsPrologue(std::vector<const Instruction*> members, int group);
  bool AttentionAbsorbs(const Instruction& i, int64_t evaluations) const;
  bool IsKeptNarrow(const Instruction& i) const;
  void GrowRowPrograms();
  std::vector<int> RowProgramsFor(const Instruction& reduce, const std::vector<const Instruction*>& sources) const;
  // Into a row program that is there, or a new one.
  void JoinRowProgram(Instruction* reduce);
  bool GrowRowProgram(int group, Instruction* instruction);
  bool ChainsReductions(const Instruction& i) const;
  void GrowDots();
  bool JoinRowsOf(Instruction* dot);
  bool GrowEpilogue(int group, Instruction* instruction);
  void TrimEpilogue(int group);
  bool IsForItsReader(const Instruction& i, int group) const;
  void SplitOffIndexOutputs();
  void AssignLoops();
  void AssignLoop(Instruction* instruction);
  // small_loops.cc
  void JoinSmallLoops();
  void JoinReaders(const std::vector<int>& levels);
  bool ReadsElementByElement(int reader, int from) const;
  int BuffersOfBoth(int a, int b) const;
  bool FitTogether(int a, int b) const;
  bool IsSmallLoop(const FusionGroup& group) const;
  std::string TextOf(const FusionGroup& group) const;
  void MoveMembers(int from, int to);

  const std::vector<int>& GroupsOf(const Instruction* i) const { return kernels_.GroupsOf(i); }
  int OnlyGroupOf(const Instruction* i) const;  // -1 if none or several
  bool InGroup(const Instruction* i, int group) const;
  bool IsFull(const FusionGroup& group) const;
  bool HasRoomFor(const Instruction& i, int group, bool copied = false) const;
  // False if kernels would then wait for one another.
  bool Join(const Instruction* instruction, int group);
  void Leave(const Instruction* instruction, int group);
  void AddMember(const Instruction* instruction, int group, bool copied = false);
  int NewGroup(FusionKind kind, Instruction* hero, int64_t iterations);
  bool HasOutsideUse(const Instruction* i) const;
  std::vector<Consumer> ConsumersOf(const Instruction* i) const;
  bool CanAbsorb(const Instruction& i, const Consumer& consumer);
  bool IsStart(const Instruction& i, const Consumer& consumer) const;
  bool CanBeExtraOutput(const Instruction& i, const Consumer& consumer) const;
  bool FeedsPrologue(const Consumer& consumer, bool* feeds_epilogue) const;
  // At which indices, and in which branches, the group needs `i` for one of its elements: a number for each, the same
  // for those that are evaluated together. Cut where they are too many.
  using Places = std::vector<uint64_t>;
  const Places& PlacesOf(const Instruction& i, const Consumer& consumer);
  int64_t Evaluations(const Instruction& i, const Consumer& consumer);
  bool MayRepeat(const Instruction& i) const;
  bool MayRepeatIn(const std::vector<Consumer>& consumers, const Instruction& i) const;
  std::vector<const Instruction*> SourcesOf(const Instruction& reduce) const;

  Computation& entry_;
  const TargetInfo& target_;
  std::vector<Instruction*> order_;
  std::unordered_map<const Instruction*, int> number_;  // by order_
  std::vector<FusionGroup> groups_;
  std::vector<GroupBuffers> buffers_;                                   // by group
  std::vector<int64_t> operations_;                                     // by group, ExpandedOperations of its members
  std::vector<std::unordered_map<const Instruction*, Places>> places_;  // by group
  std::unordered_map<const Instruction*, std::vector<int>> row_programs_of_;  // by what their reduces read
  KernelOrder kernels_;
};

}  // namespace VXLA_NAMESPACE
