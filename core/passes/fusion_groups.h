// FusionGroups: which instructions of an entry go into which fusion. The decisions of the fusion pass, before anything
// is rewritten.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/module.h"
#include "core/passes/fusion_rules.h"
#include "core/target_info.h"

namespace vxla {

struct FusionGroup {
  FusionKind kind = FusionKind::kLoop;
  std::unordered_set<const Instruction*> members;  // free instructions are not members: every kernel has its own copies
  std::unordered_set<const Instruction*> at_own_index;  // members evaluated at the root's linear index only
  std::vector<const Instruction*> joined;               // of dots: the epilogue in the order of joining
  std::unordered_set<const Instruction*> prologue;      // members that feed the hero of kOutput and kCustom
  const Instruction* hero = nullptr;                    // the dot or reduce-window; the first reduce of a row program
  std::optional<RowSpace> rows;                         // of row programs
  int phases = 1;          // of row programs: reduces that depend on one another, and element outputs after them
  int64_t iterations = 0;  // elements that the kernel walks
};

class FusionGroups {
 public:
  FusionGroups(Computation& entry, const TargetInfo& target);

  // Decides everything; may add copies of index maps to the entry.
  void Decide();

  const std::vector<FusionGroup>& groups() const { return groups_; }
  // In the entry's order at the time of Decide, copies included.
  const std::vector<Instruction*>& order() const { return order_; }
  // Members with a use outside the group, in order.
  std::vector<Instruction*> OutputsOf(const FusionGroup& group) const;

 private:
  void IndexEntry();
  void DecideSingles();
  void GrowRowPrograms();
  bool JoinRowProgram(Instruction* reduce);
  bool GrowRowProgram(int group, Instruction* instruction);
  void GrowDots();
  void TrimEpilogue(int group);
  void SplitOffIndexOutputs();
  void AssignLoops();
  void AssignLoop(Instruction* instruction);

  const std::vector<int>& GroupsOf(const Instruction* i) const;
  int OnlyGroupOf(const Instruction* i) const;  // -1 if none or several
  bool InGroup(const Instruction* i, int group) const;
  void Join(Instruction* instruction, int group);
  int NewGroup(FusionKind kind, Instruction* hero, int64_t iterations);
  bool HasOutsideUse(const Instruction* i) const;
  std::vector<int> ConsumersOf(const Instruction* i) const;
  bool CanAbsorb(const Instruction& i, int group) const;
  bool CanBeExtraOutput(const Instruction& i, int group) const;
  bool FeedsPrologue(const Instruction& i, const FusionGroup& group, bool* feeds_epilogue) const;
  // At how many indices the group needs `i` for one of its elements.
  int64_t Evaluations(const Instruction& i, const FusionGroup& group,
                      std::unordered_map<const Instruction*, int64_t>& known) const;
  bool MayRepeat(const Instruction& i) const;
  // Would putting `instruction` into `group` make kernels wait for one another?
  bool MakesCycle(const Instruction* instruction, int group);
  int BufferCount(const FusionGroup& group, const Instruction* with) const;
  std::unordered_set<const Instruction*> SourcesOf(const Instruction& reduce, int64_t element_count) const;

  Computation& entry_;
  const TargetInfo& target_;
  std::vector<Instruction*> order_;
  std::unordered_map<const Instruction*, std::vector<int>> groups_of_;
  std::vector<FusionGroup> groups_;
  std::unordered_map<const Instruction*, int> visited_;  // by stamp_
  int stamp_ = 0;
};

}  // namespace vxla
