#include "core/passes/fusion_groups.h"

#include <algorithm>

namespace vxla {
namespace {

// Below this much work (elements times cost) recomputing is cheaper than another dispatch.
constexpr int64_t kSmallWork = 1 << 16;
// A dot's operand is recomputed for every tile; beyond this reuse its elementwise producers get a buffer of their own.
constexpr int64_t kDotReuseLimit = 128;
constexpr int kTranscendentalCost = 16;
constexpr int kMostEpilogueOutputs = 2;
// At how many indices a kernel computes one value for each element: a chain of x + shift(x) doubles it at every link.
constexpr int64_t kMostEvaluations = 32, kFewEvaluations = 4;
const std::vector<int> kNoGroups;

}  // namespace

FusionGroups::FusionGroups(Computation& entry, const TargetInfo& target) : entry_(entry), target_(target) {
  IndexEntry();
}

void FusionGroups::IndexEntry() {
  order_.clear();
  for (const auto& instruction : entry_.instructions()) order_.push_back(instruction.get());
}

void FusionGroups::Decide() {
  if (!target_.fusion) return DecideSingles();
  GrowRowPrograms();
  GrowDots();
  SplitOffIndexOutputs();
  AssignLoops();
}

void FusionGroups::DecideSingles() {
  for (Instruction* i : order_) {
    if (IsHeroElement(*i)) {
      Join(i, OnlyGroupOf(i->operand(0)));
    } else if (IsHero(*i)) {
      const int group = NewGroup(*HeroKind(i->opcode()), i, i->shape().ElementCount());
      if (i->opcode() == Opcode::kReduce) groups_[group].rows.emplace(*i);
    } else if (IsFusible(*i) && i->opcode() != Opcode::kReshape) {
      NewGroup(FusionKind::kLoop, i, i->shape().ElementCount());
    }
  }
}

const std::vector<int>& FusionGroups::GroupsOf(const Instruction* i) const {
  auto it = groups_of_.find(i);
  return it == groups_of_.end() ? kNoGroups : it->second;
}

int FusionGroups::OnlyGroupOf(const Instruction* i) const {
  const std::vector<int>& groups = GroupsOf(i);
  return groups.size() == 1 ? groups[0] : -1;
}

bool FusionGroups::InGroup(const Instruction* i, int group) const { return groups_[group].members.contains(i); }

void FusionGroups::Join(Instruction* instruction, int group) {
  groups_[group].members.insert(instruction);
  groups_of_[instruction].push_back(group);
}

int FusionGroups::NewGroup(FusionKind kind, Instruction* hero, int64_t iterations) {
  groups_.emplace_back();
  FusionGroup& group = groups_.back();
  group.kind = kind;
  group.hero = kind == FusionKind::kLoop ? nullptr : hero;
  group.iterations = iterations;
  group.at_own_index.insert(hero);
  Join(hero, static_cast<int>(groups_.size()) - 1);
  return static_cast<int>(groups_.size()) - 1;
}

bool FusionGroups::MakesCycle(const Instruction* instruction, int group) {
  // A path that leaves {instruction} + group and comes back closes a cycle between kernels. Other groups count as one
  // node: reaching a member reaches what any member feeds.
  const int stamp = ++stamp_;
  std::vector<const Instruction*> work;
  auto inside = [&](const Instruction* i) { return i == instruction || InGroup(i, group); };
  auto push_users = [&](const Instruction* i, bool from_inside) {
    for (const Instruction* user : i->users()) {
      if (inside(user)) {
        if (!from_inside) return true;
        continue;
      }
      if (visited_[user] == stamp) continue;
      visited_[user] = stamp;
      work.push_back(user);
    }
    return false;
  };
  push_users(instruction, true);
  for (const Instruction* member : groups_[group].members) push_users(member, true);
  while (!work.empty()) {
    const Instruction* i = work.back();
    work.pop_back();
    if (push_users(i, false)) return true;
    for (int other : GroupsOf(i)) {
      for (const Instruction* member : groups_[other].members) {
        if (visited_[member] == stamp) continue;
        visited_[member] = stamp;
        work.push_back(member);
      }
    }
  }
  return false;
}

int FusionGroups::BufferCount(const FusionGroup& group, const Instruction* with) const {
  std::unordered_set<const Instruction*> buffers;
  auto count = [&](const Instruction* member) {
    for (const Instruction* operand : member->operands()) {
      if (operand != with && !group.members.contains(operand) && !IsFree(*operand)) buffers.insert(operand);
    }
    for (const Instruction* user : member->users()) {
      if (user != with && !group.members.contains(user)) buffers.insert(member);
    }
  };
  for (const Instruction* member : group.members) count(member);
  if (with != nullptr) count(with);
  return static_cast<int>(buffers.size());
}

// ---- row programs -------------------------------------------------------------------------------------------------

std::unordered_set<const Instruction*> FusionGroups::SourcesOf(const Instruction& reduce, int64_t element_count) const {
  std::unordered_set<const Instruction*> sources, seen;
  std::vector<const Instruction*> work;
  for (int k = 0; k < reduce.operand_count() / 2; ++k) work.push_back(reduce.operand(k));
  while (!work.empty() && seen.size() < 64) {
    const Instruction* i = work.back();
    work.pop_back();
    if (IsFree(*i) || !seen.insert(i).second || i->shape().ElementCount() != element_count) continue;
    sources.insert(i);
    if (IsFusible(*i)) work.insert(work.end(), i->operands().begin(), i->operands().end());
  }
  return sources;
}

bool FusionGroups::JoinRowProgram(Instruction* reduce) {
  const int inputs = reduce->operand_count() / 2;
  const auto sources = SourcesOf(*reduce, reduce->operand(0)->shape().ElementCount());
  for (int g = static_cast<int>(groups_.size()) - 1; g >= 0; --g) {
    FusionGroup& group = groups_[g];
    if (group.kind != FusionKind::kInput || !group.rows->Matches(*reduce)) continue;
    if (static_cast<int>(group.members.size()) >= target_.max_fusion_instructions) continue;
    bool depends = false, legal = true, sibling = false;
    for (int k = 0; k < reduce->operand_count(); ++k) {
      if (!InGroup(reduce->operand(k), g)) continue;
      depends = true;
      const RowSpace::Place place = group.rows->PlaceOf(reduce->operand(k)->shape());
      legal &= k < inputs && (place == RowSpace::Place::kElement || group.rows->row_size == 1);
    }
    for (const Instruction* member : group.members) {
      if (depends || member->opcode() != Opcode::kReduce) continue;
      for (const Instruction* source : SourcesOf(*member, reduce->operand(0)->shape().ElementCount()))
        sibling |= sources.contains(source);
    }
    if (!legal || (!depends && !sibling) || BufferCount(group, reduce) > target_.max_fusion_buffers ||
        MakesCycle(reduce, g))
      continue;
    if (depends) ++group.phases;
    Join(reduce, g);
    return true;
  }
  return false;
}

bool FusionGroups::GrowRowProgram(int g, Instruction* i) {
  FusionGroup& group = groups_[g];
  if (group.kind != FusionKind::kInput || static_cast<int>(group.members.size()) >= target_.max_fusion_instructions)
    return false;
  using Place = RowSpace::Place;
  const Place place = group.rows->PlaceOf(i->shape());
  if (place == Place::kNone) return false;
  // Reading a result back over its row only pays where rows run in parallel or are short.
  if (place == Place::kElement && group.rows->rows < target_.row_program_min_rows &&
      group.rows->row_size > target_.row_program_short_row) {
    return false;
  }
  for (int k = 0; k < i->operand_count(); ++k) {
    const Instruction* operand = i->operand(k);
    if (!InGroup(operand, g)) continue;
    const Place operand_place = group.rows->PlaceOf(operand->shape());
    if (operand_place == Place::kElement && place != Place::kElement) return false;
    if (!group.rows->ReadsOwnRow(*i, place, k, operand_place)) return false;
  }
  if (BufferCount(group, i) > target_.max_fusion_buffers || MakesCycle(i, g)) return false;
  if (place == Place::kElement && group.phases == 1) group.phases = 2;
  Join(i, g);
  return true;
}

void FusionGroups::GrowRowPrograms() {
  for (Instruction* i : order_) {
    if (i->opcode() == Opcode::kReduce) {
      if (JoinRowProgram(i)) continue;
      const int group = NewGroup(FusionKind::kInput, i, i->operand(0)->shape().ElementCount());
      groups_[group].rows.emplace(*i);
    } else if (IsHeroElement(*i) && OnlyGroupOf(i->operand(0)) >= 0) {
      Join(i, OnlyGroupOf(i->operand(0)));
    } else if (IsFusible(*i) && !IsFree(*i)) {
      for (const Instruction* operand : i->operands()) {
        const int group = OnlyGroupOf(operand);
        if (group >= 0 && GrowRowProgram(group, i)) break;
      }
    }
  }
}

// ---- dots and windows ---------------------------------------------------------------------------------------------

void FusionGroups::GrowDots() {
  for (Instruction* i : order_) {
    if (!GroupsOf(i).empty()) continue;
    if (IsHero(*i)) {
      NewGroup(*HeroKind(i->opcode()), i, i->shape().ElementCount());
    } else if (IsHeroElement(*i)) {
      Join(i, OnlyGroupOf(i->operand(0)));
    } else if (IsFusible(*i) && !IsFree(*i)) {
      for (int k = 0; k < i->operand_count(); ++k) {
        const int g = OnlyGroupOf(i->operand(k));
        if (g < 0 || groups_[g].kind == FusionKind::kInput || groups_[g].hero->shape().IsTuple()) continue;
        bool own_index = static_cast<int>(groups_[g].members.size()) < target_.max_fusion_instructions;
        for (int j = 0; j < i->operand_count() && own_index; ++j) {
          if (InGroup(i->operand(j), g)) own_index = ReadsAtOwnIndex(*i, j);
        }
        if (!own_index || BufferCount(groups_[g], i) > target_.max_fusion_buffers || MakesCycle(i, g)) continue;
        Join(i, g);
        groups_[g].at_own_index.insert(i);
        groups_[g].joined.push_back(i);
        break;
      }
    }
  }
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) TrimEpilogue(g);
}

// Each value that an epilogue leaves behind is written by the dot and read again: beyond a few it is better for the
// readers to compute them. What joined last goes first, so nothing that stays reads it.
void FusionGroups::TrimEpilogue(int g) {
  FusionGroup& group = groups_[g];
  auto outputs = [&] {
    return std::ranges::count_if(group.members, [&](const Instruction* member) {
      return member == entry_.root() || std::ranges::any_of(member->users(), [&](const Instruction* user) {
               return !group.members.contains(user);
             });
    });
  };
  while (!group.joined.empty() && outputs() > kMostEpilogueOutputs) {
    const Instruction* last = group.joined.back();
    group.joined.pop_back();
    group.members.erase(last);
    group.at_own_index.erase(last);
    groups_of_.erase(last);
  }
}

// An index map at the end of a hero's fusion whose value others want too: they get their own copy of the map, so that
// the fusion writes the value before it and the copy can fuse where it is read.
void FusionGroups::SplitOffIndexOutputs() {
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    Instruction* i = *it;
    const int g = OnlyGroupOf(i);
    if (g < 0 || !IsIndexOnly(*i) || !HasOutsideUse(i)) continue;
    auto copy = std::make_unique<Instruction>(i->opcode(), i->shape(),
                                              std::vector<Instruction*>(i->operands().begin(), i->operands().end()),
                                              i->attributes());
    copy->set_name(i->name());
    copy->set_location(i->location());
    Instruction* added = entry_.InsertBefore(i, std::move(copy));
    for (Instruction* user : std::vector<Instruction*>(i->users().begin(), i->users().end())) {
      if (InGroup(user, g)) continue;
      for (int k = 0; k < user->operand_count(); ++k) {
        if (user->operand(k) == i) user->ReplaceOperand(k, added);
      }
    }
    if (entry_.root() == i) entry_.set_root(added);
    if (i->users().empty()) {
      groups_[g].members.erase(i);
      groups_of_.erase(i);
    }
  }
  IndexEntry();
}

// ---- loops and producers --------------------------------------------------------------------------------------------

bool FusionGroups::HasOutsideUse(const Instruction* i) const {
  if (i == entry_.root()) return true;
  const std::vector<int>& own = GroupsOf(i);
  return std::ranges::any_of(i->users(), [&](const Instruction* user) {
    const std::vector<int>& groups = GroupsOf(user);
    if (groups.empty()) return true;
    // A copy in every group of the user's: inside only where it is a member of all of them.
    return !own.empty() && !std::ranges::all_of(groups, [&](int g) { return InGroup(i, g); });
  });
}

std::vector<int> FusionGroups::ConsumersOf(const Instruction* i) const {
  std::vector<int> consumers;
  for (const Instruction* user : i->users()) {
    for (int g : GroupsOf(user)) {
      if (std::ranges::find(consumers, g) == consumers.end()) consumers.push_back(g);
    }
  }
  return consumers;
}

bool FusionGroups::FeedsPrologue(const Instruction& i, const FusionGroup& group, bool* feeds_epilogue) const {
  bool feeds_prologue = false;
  for (const Instruction* user : i.users()) {
    if (!group.members.contains(user)) continue;
    (user == group.hero || group.prologue.contains(user) ? feeds_prologue : *feeds_epilogue) = true;
  }
  return feeds_prologue;
}

int64_t FusionGroups::Evaluations(const Instruction& i, const FusionGroup& group,
                                  std::unordered_map<const Instruction*, int64_t>& known) const {
  if (const auto it = known.find(&i); it != known.end()) return it->second;
  int64_t own = 0, moved = 0;  // readers at the same index share one evaluation
  for (const Instruction* user : i.users()) {
    if (!group.members.contains(user)) continue;
    if (IsHero(*user)) {
      own = std::max<int64_t>(own, 1);
      continue;
    }
    const int64_t reader = Evaluations(*user, group, known);
    for (int k = 0; k < user->operand_count(); ++k) {
      if (user->operand(k) != &i) continue;
      if (i.shape().rank() == 0 || ReadsAtOwnIndex(*user, k)) {
        own = std::max(own, i.shape().rank() == 0 ? 1 : reader);
      } else {
        moved += reader;
      }
    }
  }
  return known[&i] = std::clamp<int64_t>(own + moved, 1, int64_t{1} << 30);
}

bool FusionGroups::CanAbsorb(const Instruction& i, int g) const {
  const FusionGroup& group = groups_[g];
  std::unordered_map<const Instruction*, int64_t> known;
  const int64_t evaluations = Evaluations(i, group, known);
  if (evaluations > kMostEvaluations) return false;
  if (evaluations > kFewEvaluations && group.iterations * evaluations * ElementCost(i) > kSmallWork) return false;
  if (static_cast<int>(group.members.size()) >= target_.max_fusion_instructions) return false;
  if (BufferCount(group, &i) > target_.max_fusion_buffers) return false;
  const int cost = ElementCost(i);
  const int64_t count = std::max<int64_t>(1, i.shape().ElementCount());
  // Init values are read once, by every invocation; they stay outside.
  for (const Instruction* user : i.users()) {
    if (!group.members.contains(user) || (user->opcode() != Opcode::kReduce && user->opcode() != Opcode::kReduceWindow))
      continue;
    for (int k = user->operand_count() / 2; k < user->operand_count(); ++k) {
      if (user->operand(k) == &i) return false;
    }
  }
  if (group.kind == FusionKind::kLoop) {
    return cost < 4 || group.iterations <= count || group.iterations * cost <= kSmallWork;
  }
  if (group.kind == FusionKind::kInput) {
    const bool repeated = group.phases > 1 && cost >= kTranscendentalCost;
    if (count * cost * group.phases <= kSmallWork && group.iterations * cost <= kSmallWork) return true;
    return cost < 4 || (!repeated && group.iterations <= count);
  }
  bool feeds_epilogue = false;
  if (!FeedsPrologue(i, group, &feeds_epilogue)) {
    return cost < 4 || group.iterations <= count || group.iterations * cost <= kSmallWork;
  }
  if (feeds_epilogue || i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate) return false;
  if (cost == 0 || i.opcode() == Opcode::kConvert) return true;
  if (cost >= kTranscendentalCost) return false;
  if (group.kind == FusionKind::kOutput) return DotReuse(*group.hero, i) <= kDotReuseLimit;
  return i.shape().ElementCount() >= group.iterations;  // windows that overlap little
}

// Cheap enough that every reader computes it for itself rather than reading a buffer: index maps, and simple operations
// that read at most one array of their own size.
bool FusionGroups::MayRepeat(const Instruction& i) const {
  if (i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate || ElementCost(i) > 1) return false;
  int full_size = 0;
  for (const Instruction* operand : i.operands()) {
    const bool expanded = operand->opcode() == Opcode::kBroadcast &&
                          operand->operand(0)->shape().ElementCount() < operand->shape().ElementCount();
    full_size += !IsFree(*operand) && !expanded && operand->shape().ElementCount() == i.shape().ElementCount();
  }
  return IsIndexOnly(i) || full_size <= 1;
}

bool FusionGroups::CanBeExtraOutput(const Instruction& i, int g) const {
  const FusionGroup& group = groups_[g];
  if (group.kind != FusionKind::kLoop || i.shape().ElementCount() != group.iterations) return false;
  if (static_cast<int>(group.members.size()) >= target_.max_fusion_instructions) return false;
  if (BufferCount(group, &i) > target_.max_fusion_buffers) return false;
  for (const Instruction* user : i.users()) {
    if (!group.members.contains(user)) continue;
    if (!group.at_own_index.contains(user)) return false;
    for (int k = 0; k < user->operand_count(); ++k) {
      if (user->operand(k) == &i && !ReadsAtOwnIndex(*user, k)) return false;
    }
  }
  return true;
}

void FusionGroups::AssignLoop(Instruction* i) {
  auto join = [&](int g) {
    FusionGroup& group = groups_[g];
    bool feeds_epilogue = false;
    if (group.kind != FusionKind::kLoop && FeedsPrologue(*i, group, &feeds_epilogue)) group.prologue.insert(i);
    if (CanBeExtraOutput(*i, g)) group.at_own_index.insert(i);
    Join(i, g);
  };
  const std::vector<int> consumers = ConsumersOf(i);
  const bool outside = HasOutsideUse(i);
  const bool absorbable = !consumers.empty() && std::ranges::all_of(consumers, [&](int g) { return CanAbsorb(*i, g); });
  if (!outside && absorbable && (consumers.size() == 1 || MayRepeat(*i))) {
    for (int g : consumers) join(g);
    return;
  }
  if (i->opcode() == Opcode::kReshape) return;  // an alias: no kernel needed
  for (int g : consumers) {
    if (!IsIndexOnly(*i) && CanBeExtraOutput(*i, g) && !MakesCycle(i, g)) return join(g);
  }
  NewGroup(FusionKind::kLoop, i, i->shape().ElementCount());
}

void FusionGroups::AssignLoops() {
  const std::vector<Instruction*> order = order_;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Instruction* i = *it;
    if (!IsFusible(*i) || !GroupsOf(i).empty()) continue;
    if (!IsFree(*i)) {
      AssignLoop(i);
    } else if (HasOutsideUse(i)) {
      NewGroup(FusionKind::kLoop, i, i->shape().ElementCount());
    }
  }
}

std::vector<Instruction*> FusionGroups::OutputsOf(const FusionGroup& group) const {
  std::vector<Instruction*> outputs;
  for (Instruction* i : order_) {
    if (!group.members.contains(i) || GroupsOf(i).size() > 1 || i->shape().IsTuple()) continue;
    const bool outside = i == entry_.root() || std::ranges::any_of(i->users(), [&](const Instruction* user) {
                           if (IsFree(*i)) return GroupsOf(user).empty();  // kernels have their own copies
                           return !group.members.contains(user) || GroupsOf(user).size() > 1;
                         });
    if (outside) outputs.push_back(i);
  }
  return outputs;
}

}  // namespace vxla
