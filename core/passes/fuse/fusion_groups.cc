#include "core/passes/fuse/fusion_groups.h"

#include <algorithm>

#include "core/host/hash.h"
#include "core/host/ranges.h"
#include "core/passes/fuse/product_rows.h"
#include "core/passes/giants/giant_splitter.h"

namespace VXLA_NAMESPACE {
namespace {

// Below this much work (elements times cost) recomputing is cheaper than another dispatch.
constexpr int64_t kSmallWork = 1 << 16;
// A dot's operand is recomputed for every tile; beyond this reuse its elementwise producers get a buffer of their own.
constexpr int64_t kDotReuseLimit = 128;
constexpr int kTranscendentalCost = 16;
constexpr int kMostEpilogueOutputs = 2;
// At how many indices a kernel computes one value for each element: a chain of x + shift(x) doubles it at every link.
constexpr int64_t kMostEvaluations = 32, kFewEvaluations = 4;
// Groups that are asked to take an instruction in besides the ones before; each answer costs time.
constexpr size_t kMostCandidates = 16;
constexpr size_t kMostSources = 64;
// Values between a product and what reads its rows.
constexpr size_t kMostReadInPlace = 64;

// A number for where operand k of an instruction is read when the instruction is wanted at `place` (the mixing of
// SplitMix64).
uint64_t PlaceBehind(uint64_t place, int instruction, int k) {
  return SplitMix(place * kSplitMixStep + (static_cast<uint64_t>(instruction) << 16) + static_cast<uint64_t>(k) + 3);
}

std::vector<const Instruction*> DistinctOperands(const Instruction& i) {
  std::vector<const Instruction*> operands(i.operands().begin(), i.operands().end());
  std::ranges::sort(operands);
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  return operands;
}

}  // namespace

void GroupBuffers::Join(const Instruction& i, bool copied) {
  int inside = 0;
  if (const auto at = readers_.find(&i); at != readers_.end()) {
    inside = at->second;
    inputs_ -= !IsFree(i);
    readers_.erase(at);
  }
  const int outside = static_cast<int>(i.users().size()) - inside;
  outside_[&i] = copied ? kCopied : outside;
  outputs_ += !copied && outside > 0;
  for (const Instruction* operand : DistinctOperands(i)) {
    if (const auto member = outside_.find(operand); member != outside_.end()) {
      outputs_ -= --member->second == 0;
    } else {
      inputs_ += readers_[operand]++ == 0 && !IsFree(*operand);
    }
  }
}

void GroupBuffers::Leave(const Instruction& i) {
  for (const Instruction* operand : DistinctOperands(i)) {
    if (const auto member = outside_.find(operand); member != outside_.end()) {
      outputs_ += member->second++ == 0;
    } else if (const auto at = readers_.find(operand); --at->second == 0) {
      inputs_ -= !IsFree(*operand);
      readers_.erase(at);
    }
  }
  const auto inside =
      static_cast<int>(std::ranges::count_if(i.users(), [&](const Instruction* user) { return IsMember(user); }));
  outputs_ -= outside_.at(&i) > 0;
  outside_.erase(&i);
  if (inside == 0) return;
  readers_[&i] = inside;
  inputs_ += !IsFree(i);
}

int GroupBuffers::CountWith(const Instruction& i, bool copied) const {
  int count = inputs_ + outputs_, inside = 0;
  if (const auto at = readers_.find(&i); at != readers_.end()) {
    inside = at->second;
    count -= !IsFree(i);
  }
  count += !copied && static_cast<int>(i.users().size()) > inside;
  for (const Instruction* operand : DistinctOperands(i)) {
    if (const auto member = outside_.find(operand); member != outside_.end()) {
      count -= member->second == 1;  // this was its only reader outside
    } else {
      count += !readers_.contains(operand) && !IsFree(*operand);
    }
  }
  return count;
}

std::vector<const Instruction*> GroupBuffers::Inputs() const {
  std::vector<const Instruction*> inputs;
  for (const auto& [instruction, readers] : readers_) {
    if (!IsFree(*instruction)) inputs.push_back(instruction);
  }
  return inputs;
}

FusionGroups::FusionGroups(Computation& entry, const TargetInfo& target) : entry_(entry), target_(target) {
  IndexEntry();
}

void FusionGroups::IndexEntry() {
  order_.clear();
  number_.clear();
  for (const auto& instruction : entry_.instructions()) {
    number_.emplace(instruction.get(), static_cast<int>(order_.size()));
    order_.push_back(instruction.get());
  }
  kernels_.Reset(order_);
}

void FusionGroups::Decide() {
  if (!target_.fusion) return DecideSingles();
  FindAttentions();
  GrowRowPrograms();
  GrowDots();
  SplitOffIndexOutputs();
  AssignLoops();
  JoinSmallLoops();
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

int FusionGroups::OnlyGroupOf(const Instruction* i) const {
  const std::vector<int>& groups = GroupsOf(i);
  return groups.size() == 1 ? groups[0] : -1;
}

bool FusionGroups::InGroup(const Instruction* i, int group) const { return groups_[group].members.contains(i); }

bool FusionGroups::IsFull(const FusionGroup& group) const {
  return static_cast<int>(group.members.size()) >= target_.max_fusion_instructions;
}

bool FusionGroups::HasRoomFor(const Instruction& i, int group, bool copied) const {
  const Instruction* hero = groups_[group].hero;
  if (hero != nullptr && !ReachesGiants(hero->opcode()) && TouchesGiant(i, target_.max_elements)) return false;
  // A loop of one element holds a value or two at a time, however many it reads.
  const bool scalar =
      target_.merges_loops && groups_[group].kind == FusionKind::kLoop && groups_[group].iterations == 1;
  const int most = scalar ? target_.max_joined_buffers : target_.max_fusion_buffers;
  return !IsFull(groups_[group]) && buffers_[group].CountWith(i, copied) <= most &&
         operations_[group] + ExpandedOperations(i, target_) <= target_.max_kernel_operations;
}

bool FusionGroups::Join(const Instruction* instruction, int group) {
  if (!kernels_.Merge(instruction, group)) return false;
  AddMember(instruction, group);
  return true;
}

void FusionGroups::AddMember(const Instruction* instruction, int group, bool copied) {
  groups_[group].members.insert(instruction);
  buffers_[group].Join(*instruction, copied);
  operations_[group] += ExpandedOperations(*instruction, target_);
}

void FusionGroups::Leave(const Instruction* instruction, int group) {
  kernels_.Leave(instruction, group);
  groups_[group].members.erase(instruction);
  groups_[group].at_own_index.erase(instruction);
  buffers_[group].Leave(*instruction);
  operations_[group] -= ExpandedOperations(*instruction, target_);
}

int FusionGroups::NewGroup(FusionKind kind, Instruction* hero, int64_t iterations) {
  const int number = kernels_.NewGroup(hero);
  FusionGroup& group = groups_.emplace_back();
  buffers_.emplace_back();
  operations_.push_back(0);
  places_.emplace_back();
  group.kind = kind;
  group.hero = kind == FusionKind::kLoop ? nullptr : hero;
  group.iterations = iterations;
  group.at_own_index.insert(hero);
  AddMember(hero, number);
  return number;
}

// ---- row programs -------------------------------------------------------------------------------------------------

// What a reduce reads of as many elements as it reduces, through elementwise operations.
std::vector<const Instruction*> FusionGroups::SourcesOf(const Instruction& reduce) const {
  const int64_t element_count = reduce.operand(0)->shape().ElementCount();
  std::unordered_set<const Instruction*> seen;
  std::vector<const Instruction*> sources, work;
  for (int k = 0; k < reduce.operand_count() / 2; ++k) work.push_back(reduce.operand(k));
  while (!work.empty() && seen.size() < kMostSources) {
    const Instruction* i = work.back();
    work.pop_back();
    if (IsFree(*i) || !seen.insert(i).second || i->shape().ElementCount() != element_count) continue;
    sources.push_back(i);
    if (IsFusible(*i)) work.insert(work.end(), i->operands().begin(), i->operands().end());
  }
  return sources;
}

// The row programs that the reduce depends on or shares a source with, the newest first.
std::vector<int> FusionGroups::RowProgramsFor(const Instruction& reduce,
                                              const std::vector<const Instruction*>& sources) const {
  std::vector<int> candidates;
  for (const Instruction* operand : reduce.operands()) {
    const std::vector<int>& groups = GroupsOf(operand);
    candidates.insert(candidates.end(), groups.begin(), groups.end());
  }
  for (const Instruction* source : sources) {
    const auto at = row_programs_of_.find(source);
    if (at == row_programs_of_.end()) continue;
    const size_t count = std::min(at->second.size(), kMostCandidates);
    candidates.insert(candidates.end(), at->second.end() - static_cast<std::ptrdiff_t>(count), at->second.end());
  }
  std::ranges::sort(candidates, std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
  return candidates;
}

void FusionGroups::JoinRowProgram(Instruction* reduce) {
  const int inputs = reduce->operand_count() / 2;
  const auto sources = SourcesOf(*reduce);
  auto note_sources = [&](int g) {
    for (const Instruction* source : sources) {
      std::vector<int>& programs = row_programs_of_[source];
      if (programs.empty() || programs.back() != g) programs.push_back(g);
    }
  };
  for (int g : RowProgramsFor(*reduce, sources)) {
    FusionGroup& group = groups_[g];
    if (group.kind != FusionKind::kInput || !group.rows->Matches(*reduce)) continue;
    bool depends = false, legal = true;
    for (int k = 0; k < reduce->operand_count(); ++k) {
      if (!InGroup(reduce->operand(k), g)) continue;
      depends = true;
      const RowSpace::Place place = group.rows->PlaceOf(reduce->operand(k)->shape());
      legal &= k < inputs && (place == RowSpace::Place::kElement || group.rows->row_size == 1);
    }
    if (!legal || !HasRoomFor(*reduce, g) || !Join(reduce, g)) continue;
    if (depends) ++group.phases;
    return note_sources(g);
  }
  const int group = NewGroup(FusionKind::kInput, reduce, reduce->operand(0)->shape().ElementCount());
  groups_[group].rows.emplace(*reduce);
  note_sources(group);
}

// A sum of more than two whole reductions, one after the other, such as the norm of all gradients: in the kernel of one
// of them it would wait for the others, and so would each that comes next. Of its own it waits once, and the reductions
// become one dispatch (scheduler/plan/merged_dispatches.h).
bool FusionGroups::ChainsReductions(const Instruction& i) const {
  if (!target_.merges_loops || i.shape().ElementCount() != 1 || i.operand_count() != 2) return false;
  const auto is_link = [&](const Instruction& other) {
    return other.opcode() == i.opcode() && other.shape() == i.shape();
  };
  const auto is_reduced = [&](const Instruction* value) { return value->opcode() == Opcode::kReduce; };
  if (!std::ranges::any_of(i.operands(), is_reduced)) return false;
  const auto follows = [&](const Instruction* operand) { return is_link(*operand); };
  const auto leads = [&](const Instruction* user) {
    return is_link(*user) && std::ranges::any_of(user->operands(), is_reduced);
  };
  return std::ranges::any_of(i.operands(), follows) ||
         (std::ranges::all_of(i.operands(), is_reduced) && std::ranges::any_of(i.users(), leads));
}

bool FusionGroups::GrowRowProgram(int g, Instruction* i) {
  FusionGroup& group = groups_[g];
  if (ChainsReductions(*i)) return false;
  if (group.kind != FusionKind::kInput || IsFull(group)) return false;
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
  if (!HasRoomFor(*i, g) || !Join(i, g)) return false;
  if (place == Place::kElement && group.phases == 1) group.phases = 2;
  return true;
}

void FusionGroups::GrowRowPrograms() {
  for (Instruction* i : order_) {
    if (!GroupsOf(i).empty()) continue;
    if (i->opcode() == Opcode::kReduce) {
      JoinRowProgram(i);
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

bool FusionGroups::GrowEpilogue(int g, Instruction* i) {
  FusionGroup& group = groups_[g];
  if (group.kind == FusionKind::kInput || group.hero->shape().IsTuple() || IsFull(group)) return false;
  if (!group.takes_epilogue || !TakesEpilogue(*group.hero)) return false;
  for (int k = 0; k < i->operand_count(); ++k) {
    const bool statistic = group.attention && InGroup(i->operand(k), g) && !group.at_own_index.contains(i->operand(k));
    if (statistic) return false;
    if (InGroup(i->operand(k), g) && !ReadsAtOwnIndex(*i, k)) return false;
  }
  if (!HasRoomFor(*i, g) || !Join(i, g)) return false;
  group.at_own_index.insert(i);
  group.joined.push_back(i);
  return true;
}

// A product whose rows a row program reads, as they are or after what follows element by element, is of its kernel.
bool FusionGroups::JoinRowsOf(Instruction* dot) {
  if (dot->opcode() != Opcode::kDot || !IsWorthwhileInRows(*dot, target_) || dot->HasControlEdges()) return false;
  std::vector<const Instruction*> in_place{dot}, joining{dot};
  std::unordered_set<const Instruction*> seen{dot};
  int group = -1;
  for (size_t next = 0; next < in_place.size(); ++next) {
    for (const Instruction* user : in_place[next]->users()) {
      const int g = OnlyGroupOf(user);
      const bool is_program = g >= 0 && groups_[g].kind == FusionKind::kInput;
      if (is_program && group >= 0 && g != group) return false;
      if (is_program) group = g;
      bool reads_in_place = true;
      for (int k = 0; k < user->operand_count(); ++k) {
        if (user->operand(k) == in_place[next]) reads_in_place &= ReadsProductInPlace(*user, k, *dot);
      }
      if (is_program && !reads_in_place) return false;
      const bool may_join = !is_program && IsFusible(*user) && GroupsOf(user).empty() && !user->HasControlEdges();
      if (!reads_in_place || !(is_program || may_join) || user->opcode() == Opcode::kReduce) continue;
      if (!seen.insert(user).second) continue;
      if (seen.size() > kMostReadInPlace) return false;
      in_place.push_back(user);
      if (may_join) joining.push_back(user);
    }
  }
  if (group < 0 || !IsProductOfRows(*dot, *groups_[group].rows)) return false;
  const auto is_known = [&](const Instruction* i) { return InGroup(i, group); };
  // What the program does not read stays outside.
  std::ranges::sort(joining, {}, [&](const Instruction* i) { return -number_.at(i); });
  for (const Instruction* i : joining) {
    if (i != dot && std::ranges::none_of(i->users(), is_known)) continue;
    if (!HasRoomFor(*i, group) || !Join(i, group)) return false;
  }
  return InGroup(dot, group);
}

void FusionGroups::GrowDots() {
  for (Instruction* i : order_) {
    if (!GroupsOf(i).empty() || JoinRowsOf(i)) continue;
    if (IsHero(*i)) {
      // What updates a part of an array walks the updates.
      const int arrays = UpdatedArrays(*i);
      const Instruction& walked = arrays == 0 ? *i : *i->operand(i->opcode() == Opcode::kScatter ? arrays + 1 : 1);
      NewGroup(*HeroKind(i->opcode()), i, walked.shape().ElementCount());
    } else if (IsHeroElement(*i)) {
      Join(i, OnlyGroupOf(i->operand(0)));
    } else if (IsFusible(*i) && !IsFree(*i)) {
      for (const Instruction* operand : i->operands()) {
        const int g = OnlyGroupOf(operand);
        if (g >= 0 && GrowEpilogue(g, i)) break;
      }
    }
  }
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) TrimEpilogue(g);
}

// Each value that an epilogue leaves behind is written by the dot and read again: beyond a few it is better for the
// readers to compute them. What joined last goes first, so nothing that stays reads it. What a row program alone reads
// it computes itself, where that takes an instruction or two from what it reads anyway: the squares for a norm.
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
    Leave(group.joined.back(), g);
    group.joined.pop_back();
  }
  for (size_t k = group.joined.size(); k-- > 0;) {
    const Instruction* last = group.joined[k];
    if (!IsForItsReader(*last, g)) continue;
    Leave(last, g);
    group.joined.erase(group.joined.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

// Whether one row program is all that reads a value of group `g`, and reads the values that it is made of.
bool FusionGroups::IsForItsReader(const Instruction& i, int g) const {
  constexpr int kDivisionCost = 4;
  if (i.users().empty() || &i == entry_.root() || i.HasControlEdges()) return false;
  if (!IsElementwise(i.opcode()) || ElementCost(i) >= kDivisionCost) return false;
  const int reader = OnlyGroupOf(*i.users().begin());
  if (reader < 0 || reader == g || groups_[reader].kind != FusionKind::kInput || !HasRoomFor(i, reader)) return false;
  const auto is_reader = [&](const Instruction* user) { return OnlyGroupOf(user) == reader; };
  return std::ranges::all_of(i.users(), is_reader) &&
         std::ranges::all_of(i.operands(), [&](const Instruction* operand) {
           return !InGroup(operand, g) || std::ranges::any_of(operand->users(), is_reader);
         });
}

// An index map at the end of a hero's fusion whose value others want too: they get their own copy of the map, so that
// the fusion writes the value before it and the copy can fuse where it is read.
void FusionGroups::SplitOffIndexOutputs() {
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    Instruction* i = *it;
    const int g = OnlyGroupOf(i);
    if (g < 0 || groups_[g].attention || !IsIndexOnly(*i) || i->HasControlEdges() || !HasOutsideUse(i)) continue;
    Instruction* added = entry_.InsertBefore(i, i->CloneWith({i->operands().begin(), i->operands().end()}));
    for (Instruction* user : std::vector<Instruction*>(i->users().begin(), i->users().end())) {
      if (!InGroup(user, g)) user->ReplaceOperand(i, added);
    }
    if (entry_.root() == i) entry_.set_root(added);
    if (i->users().empty()) {
      kernels_.Leave(i, g);
      groups_[g].members.erase(i);
    }
  }
  IndexEntry();
  for (size_t g = 0; g < groups_.size(); ++g) {  // others read other values now
    buffers_[g] = {};
    for (const Instruction* member : groups_[g].members) buffers_[g].Join(*member);
  }
}

// ---- loops and producers --------------------------------------------------------------------------------------------

bool FusionGroups::HasOutsideUse(const Instruction* i) const {
  if (i == entry_.root()) return true;
  if (i->users().empty() && i->HasControlEdges()) return true;  // nothing reads it, and yet something waits for it
  const std::vector<int>& own = GroupsOf(i);
  return std::ranges::any_of(i->users(), [&](const Instruction* user) {
    const std::vector<int>& groups = GroupsOf(user);
    if (groups.empty()) return true;
    // A copy in every group of the user's: inside only where it is a member of all of them.
    return !own.empty() && !std::ranges::all_of(groups, [&](int g) { return InGroup(i, g); });
  });
}

std::vector<FusionGroups::Consumer> FusionGroups::ConsumersOf(const Instruction* i) const {
  std::vector<Consumer> consumers;
  std::unordered_map<int, size_t> places;
  for (const Instruction* user : i->users()) {
    for (int g : GroupsOf(user)) {
      const auto [at, fresh] = places.emplace(g, consumers.size());
      if (fresh) consumers.push_back({g, {}});
      consumers[at->second].users.push_back(user);
    }
  }
  return consumers;
}

bool FusionGroups::FeedsPrologue(const Consumer& consumer, bool* feeds_epilogue) const {
  const FusionGroup& group = groups_[consumer.group];
  bool feeds_prologue = false;
  for (const Instruction* user : consumer.users) {
    (user == group.hero || group.prologue.contains(user) ? feeds_prologue : *feeds_epilogue) = true;
  }
  return feeds_prologue;
}

const FusionGroups::Places& FusionGroups::PlacesOf(const Instruction& i, const Consumer& consumer) {
  auto& known = places_[consumer.group];  // users join before what they use, so what is known stays
  if (const auto it = known.find(&i); it != known.end()) return it->second;
  constexpr uint64_t kOwn = 0, kHero = 1, kScalar = 2;
  Places places;
  for (const Instruction* user : consumer.users) {
    if (IsHero(*user)) {
      places.push_back(kHero);
      continue;
    }
    Consumer of_user{consumer.group, {}};
    if (!known.contains(user)) {
      for (const Instruction* its : user->users()) {
        if (InGroup(its, consumer.group)) of_user.users.push_back(its);
      }
    }
    const Places of_reader = PlacesOf(*user, of_user);
    for (int k = 0; k < user->operand_count(); ++k) {
      if (user->operand(k) != &i) continue;
      // Readers at the same index share one evaluation; what a branch of a pad or a concatenate computes is its own.
      const bool same = ReadsAtOwnIndex(*user, k);
      if (i.shape().rank() == 0) {
        places.push_back(kScalar);
        continue;
      }
      for (const uint64_t place : of_reader) {
        places.push_back(same ? place : PlaceBehind(place, number_.at(user), k));
      }
    }
  }
  if (places.empty() || groups_[consumer.group].at_own_index.contains(&i)) places.push_back(kOwn);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (places.size() > kMostEvaluations) places.resize(kMostEvaluations + 1);
  return known[&i] = std::move(places);
}

int64_t FusionGroups::Evaluations(const Instruction& i, const Consumer& consumer) {
  return static_cast<int64_t>(PlacesOf(i, consumer).size());
}

bool FusionGroups::CanAbsorb(const Instruction& i, const Consumer& consumer) {
  const FusionGroup& group = groups_[consumer.group];
  if (!HasRoomFor(i, consumer.group, true)) return false;  // every kernel that reads it takes a copy, or none does
  const int64_t evaluations = Evaluations(i, consumer);
  if (evaluations > kMostEvaluations) return false;
  // It is written out once for each index.
  if (operations_[consumer.group] + evaluations * ExpandedOperations(i, target_) > target_.max_kernel_operations)
    return false;
  // Each evaluation is a branch with all that feeds it: drivers' compilers take minutes for the levels of an
  // associative scan in one kernel.
  const bool branches = i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate;
  if (branches && evaluations > kFewEvaluations) return false;
  if (evaluations > kFewEvaluations && group.iterations * evaluations * ElementCost(i) > kSmallWork) return false;
  if (group.attention) return AttentionAbsorbs(i, evaluations);
  const int cost = ElementCost(i);
  const int64_t count = std::max<int64_t>(1, i.shape().ElementCount());
  for (const Instruction* user : consumer.users) {
    // An array that is changed in part is changed where it lies, and where runs begin is looked up (the operand
    // behind).
    for (int k = 0; k < UpdatedArrays(*user) + (user->notes().run_starts ? 1 : 0); ++k) {
      if (user->operand(k) == &i) return false;
    }
    // Init values are read once, by every invocation; they stay outside.
    if (user->opcode() != Opcode::kReduce && user->opcode() != Opcode::kReduceWindow) continue;
    for (int k = user->operand_count() / 2; k < user->operand_count(); ++k) {
      if (user->operand(k) == &i) return false;
    }
  }
  if (group.kind == FusionKind::kLoop || AsksOnce(*group.hero)) {
    return cost < 4 || group.iterations <= count || group.iterations * cost <= kSmallWork;
  }
  if (group.kind == FusionKind::kInput) {
    const bool repeated = group.phases > 1 && cost >= kTranscendentalCost;
    if (count * cost * group.phases <= kSmallWork && group.iterations * cost <= kSmallWork) return true;
    return cost < 4 || (!repeated && group.iterations <= count);
  }
  bool feeds_epilogue = false;
  if (!FeedsPrologue(consumer, &feeds_epilogue)) {
    return cost < 4 || group.iterations <= count || group.iterations * cost <= kSmallWork;
  }
  if (feeds_epilogue || i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate) return false;
  // What is computed in a kernel of its own, as too much of it would be repeated, is written as narrow as it is read.
  const bool narrows = i.opcode() == Opcode::kConvert && group.kind == FusionKind::kOutput &&
                       BitWidth(i.shape().element_type()) < BitWidth(i.operand(0)->shape().element_type()) &&
                       IsFusible(*i.operand(0)) && !IsFree(*i.operand(0)) && !IsIndexOnly(*i.operand(0)) &&
                       i.operand(0)->opcode() != Opcode::kConvert && GroupsOf(i.operand(0)).empty() &&
                       ProductReuse(*group.hero, i) > kDotReuseLimit;
  if (narrows) return false;
  if (cost == 0 || i.opcode() == Opcode::kConvert) return true;
  if (cost >= kTranscendentalCost) return false;
  if (cost < 4 && IsStart(i, consumer)) return true;
  if (group.kind == FusionKind::kOutput) return ProductReuse(*group.hero, i) <= kDotReuseLimit;
  return i.shape().ElementCount() >= group.iterations;  // windows that overlap little
}

// Whether the group's members want it for the place of a gather or dynamic-slice alone: an index that is wrapped or
// clamped costs a load less than the load itself, where a kernel of its own costs a dispatch.
bool FusionGroups::IsStart(const Instruction& i, const Consumer& consumer) const {
  return std::ranges::all_of(consumer.users, [&](const Instruction* user) {
    const bool places = user->opcode() == Opcode::kGather || user->opcode() == Opcode::kDynamicSlice;
    return places ? user->operand(0) != &i : groups_[consumer.group].starts.contains(user);
  });
}

// Cheap enough that every reader computes it for itself rather than reading a buffer: index maps, and simple operations
// that read at most one array of their own size, or make one integer of others: a place that is wrapped.
bool FusionGroups::MayRepeat(const Instruction& i) const {
  if (i.opcode() == Opcode::kPad || i.opcode() == Opcode::kConcatenate || ElementCost(i) > 1) return false;
  const ElementType type = i.shape().element_type();
  if (i.shape().ElementCount() == 1 && (IsInteger(type) || type == ElementType::kPred)) return true;
  int full_size = 0;
  for (const Instruction* operand : i.operands()) {
    const bool expanded = operand->opcode() == Opcode::kBroadcast &&
                          operand->operand(0)->shape().ElementCount() < operand->shape().ElementCount();
    full_size += !IsFree(*operand) && !expanded && operand->shape().ElementCount() == i.shape().ElementCount();
  }
  return IsIndexOnly(i) || full_size <= 1;
}

bool FusionGroups::CanBeExtraOutput(const Instruction& i, const Consumer& consumer) const {
  const FusionGroup& group = groups_[consumer.group];
  if (group.kind != FusionKind::kLoop || i.shape().ElementCount() != group.iterations) return false;
  if (!HasRoomFor(i, consumer.group)) return false;
  for (const Instruction* user : consumer.users) {
    if (!group.at_own_index.contains(user)) return false;
    for (int k = 0; k < user->operand_count(); ++k) {
      if (user->operand(k) == &i && !ReadsAtOwnIndex(*user, k)) return false;
    }
  }
  return true;
}

void FusionGroups::AssignLoop(Instruction* i) {
  auto add = [&](const Consumer& consumer) {
    FusionGroup& group = groups_[consumer.group];
    bool feeds_epilogue = false;
    if (group.kind != FusionKind::kLoop && FeedsPrologue(consumer, &feeds_epilogue)) group.prologue.insert(i);
    if (IsStart(*i, consumer)) group.starts.insert(i);
    if (CanBeExtraOutput(*i, consumer)) group.at_own_index.insert(i);
  };
  const std::vector<Consumer> consumers = ConsumersOf(i);
  const bool absorbable = !HasOutsideUse(i) && !consumers.empty() &&
                          (consumers.size() == 1 || MayRepeatIn(consumers, *i)) &&
                          std::ranges::all_of(consumers, [&](const Consumer& c) { return CanAbsorb(*i, c); });
  // What is ordered has one place, and need not come directly before what reads it.
  if (absorbable && !i->HasControlEdges()) {
    for (const Consumer& consumer : consumers) {
      add(consumer);
      kernels_.Absorb(i, consumer.group);
      AddMember(i, consumer.group, consumers.size() > 1);
    }
    return;
  }
  if (i->opcode() == Opcode::kReshape) return;  // an alias: no kernel needed
  if (absorbable && consumers.size() == 1 && kernels_.Merge(i, consumers[0].group)) {
    add(consumers[0]);
    return AddMember(i, consumers[0].group);
  }
  for (size_t c = 0; c < std::min(consumers.size(), kMostCandidates); ++c) {
    if (IsIndexOnly(*i) || !CanBeExtraOutput(*i, consumers[c]) || !kernels_.Merge(i, consumers[c].group)) continue;
    add(consumers[c]);
    return AddMember(i, consumers[c].group);
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

std::vector<Instruction*> FusionGroups::MembersOf(const FusionGroup& group) const {
  std::vector<int> numbers = Transformed(group.members, [&](const Instruction* member) { return number_.at(member); });
  std::ranges::sort(numbers);
  return Transformed(numbers, [&](int number) { return order_[number]; });
}

std::vector<Instruction*> FusionGroups::OutputsOf(const FusionGroup& group) const {
  std::vector<Instruction*> outputs;
  for (Instruction* i : MembersOf(group)) {
    if (GroupsOf(i).size() > 1 || i->shape().IsTuple()) continue;
    const bool outside = i == entry_.root() || std::ranges::any_of(i->users(), [&](const Instruction* user) {
                           if (IsFree(*i)) return GroupsOf(user).empty();  // kernels have their own copies
                           return !group.members.contains(user) || GroupsOf(user).size() > 1;
                         });
    if (outside) outputs.push_back(i);
  }
  return outputs;
}

}  // namespace VXLA_NAMESPACE
