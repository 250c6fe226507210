#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/host/ranges.h"
#include "core/passes/base/cse.h"
#include "core/passes/base/expansion.h"
#include "core/passes/devices/device_merger_impl.h"

namespace VXLA_NAMESPACE::merging {
namespace {

bool IsMeeting(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return Has(opcode, Trait::kMeets) || opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

// The exchanges of a branch; nothing where there are meetings besides.
std::optional<Values> MeetingsOf(const Computation& branch) {
  Values meetings;
  DeepProperty meets(IsMeeting);
  for (const auto& instruction : branch.instructions()) {
    if (Has(instruction->opcode(), Trait::kMeets)) {
      meetings.push_back(instruction.get());
    } else if (meets.Of(*instruction)) {
      return std::nullopt;
    }
  }
  return meetings;
}

bool IsSameMeeting(const Instruction& a, const Instruction& b) {
  const auto same_shape = [](const Instruction* x, const Instruction* y) { return x->shape() == y->shape(); };
  return a.opcode() == b.opcode() && a.attributes() == b.attributes() && a.shape() == b.shape() &&
         std::ranges::equal(a.operands(), b.operands(), same_shape) &&
         std::ranges::equal(a.called(), b.called(),
                            [](const Computation* x, const Computation* y) { return x == y || SameStructure(*x, *y); });
}

// One branch, cut at its exchanges: part k is what stands between exchange k - 1 and exchange k.
class Branch {
 public:
  Branch(const Computation& source, Instruction* argument) : source_(source), meetings_(*MeetingsOf(source)) {
    size_t part = 0;
    for (const auto& instruction : source.instructions()) {
      if (part < meetings_.size() && instruction.get() == meetings_[part]) {
        ++part;
        continue;
      }
      if (instruction->opcode() != Opcode::kParameter) part_of_[instruction.get()] = part;
    }
    outer_[source.parameter(0)] = argument;
  }

  // What the part takes from outside, in the order of the text.
  Values Taken(size_t part, const Values& gives) const {
    Values taken;
    const auto take = [&](Instruction* value) {
      if (IsIn(value, part) || Contains(taken, value)) return;
      taken.push_back(value);
    };
    for (const auto& instruction : source_.instructions()) {
      if (!IsIn(instruction.get(), part)) continue;
      for (Instruction* operand : instruction->operands()) take(operand);
    }
    for (Instruction* value : gives) take(value);
    return taken;
  }
  // What it makes that is needed behind the next exchange.
  Values LeftBy(size_t part) const {
    Values left;
    for (const auto& instruction : source_.instructions()) {
      if (!IsIn(instruction.get(), part)) continue;
      const bool later = std::ranges::any_of(instruction->users(), [&](const Instruction* user) {
        const auto at = part_of_.find(user);
        return at != part_of_.end() && at->second > part;
      });
      if (later || source_.root() == instruction.get() || NeededByLaterMeeting(*instruction, part))
        left.push_back(instruction.get());
    }
    return left;
  }
  const Values& meetings() const { return meetings_; }
  const Computation& source() const { return source_; }

  Instruction* Outer(const Instruction* value) const { return outer_.at(value); }
  void SetOuter(const Instruction* value, Instruction* outer) { outer_[value] = outer; }

  // Copies the part to the end of a computation whose parameter is the tuple of what it takes.
  std::map<const Instruction*, Instruction*> CopyPart(size_t part, const Values& taken, Computation& into,
                                                      const Instruction& like) const {
    std::map<const Instruction*, Instruction*> copies;
    Expansion make(into, like);
    for (size_t i = 0; i < taken.size(); ++i) {
      copies[taken[i]] = make.Element(into.parameter(0), static_cast<int64_t>(i));
    }
    for (const auto& instruction : source_.instructions()) {
      if (!IsIn(instruction.get(), part)) continue;
      if (Instruction* const done = Done(make, *instruction, copies); done != nullptr) {
        copies[instruction.get()] = done;
        continue;
      }
      Instruction* const added = copies[instruction.get()] = into.Add(instruction->CloneWith(
          Transformed(instruction->operands(), [&](const Instruction* operand) { return copies.at(operand); })));
      for (const Instruction* before : instruction->control_predecessors()) {
        if (IsIn(before, part)) added->AddControlPredecessor(copies.at(before));
      }
    }
    return copies;
  }

 private:
  // The result of a start that stands outside now; null: not the end of an exchange.
  static Instruction* Done(Expansion& make, const Instruction& instruction,
                           const std::map<const Instruction*, Instruction*>& copies) {
    switch (instruction.opcode()) {
      case Opcode::kAllReduceDone:
        return copies.at(instruction.operand(0));
      case Opcode::kAllGatherDone:
      case Opcode::kCollectivePermuteDone:
        return make.Element(copies.at(instruction.operand(0)), 1);
      default:
        return nullptr;
    }
  }
  bool NeededByLaterMeeting(const Instruction& value, size_t part) const {
    for (size_t k = part + 1; k < meetings_.size(); ++k) {
      if (Contains(meetings_[k]->operands(), &value)) return true;
    }
    return false;
  }
  bool IsIn(const Instruction* value, size_t part) const {
    const auto at = part_of_.find(value);
    return at != part_of_.end() && at->second == part;
  }

  const Computation& source_;
  const Values meetings_;
  std::map<const Instruction*, size_t> part_of_;
  std::map<const Instruction*, Instruction*> outer_;  // of what is known outside of the branch
};

// Part `part` of all branches as one conditional. Gives what the next exchange takes, or the result.
Values AddPart(Module& module, Expansion& make, std::vector<Branch>& branches, size_t part) {
  const Instruction& conditional = make.instruction();
  const bool last = part == branches[0].meetings().size();
  std::vector<Values> gives, left;
  for (const Branch& branch : branches) {
    const auto next =
        last ? Values{branch.source().root()}
             : Values(branch.meetings()[part]->operands().begin(), branch.meetings()[part]->operands().end());
    gives.push_back(next);
    left.push_back(last ? Values{} : branch.LeftBy(part));
  }
  Values operands{conditional.operand(0)};
  std::vector<Computation*> called;
  for (size_t b = 0; b < branches.size(); ++b) {
    const Values taken = branches[b].Taken(part, gives[b]);
    operands.push_back(
        make.TupleOf(Transformed(taken, [&](const Instruction* value) { return branches[b].Outer(value); })));
    Computation& into = *module.AddComputation(branches[b].source().name());
    into.Add(Opcode::kParameter, operands.back()->shape(), {}, ParameterAttributes{});
    const auto copies = branches[b].CopyPart(part, taken, into, conditional);
    Expansion inside(into, conditional);
    Values results = Transformed(gives[b], [&](const Instruction* value) { return copies.at(value); });
    for (size_t other = 0; other < branches.size(); ++other) {
      for (const Instruction* value : left[other]) {
        results.push_back(other == b ? copies.at(value) : inside.Zeros(value->shape()));
      }
    }
    into.set_root(inside.TupleOf(results));
    called.push_back(&into);
  }
  Instruction* const merged =
      make.Add(Opcode::kConditional, called[0]->root()->shape(), operands, conditional.attributes(), called);
  Values next;
  int64_t element = 0;
  for (size_t i = 0; i < gives[0].size(); ++i) next.push_back(make.Element(merged, element++));
  for (size_t b = 0; b < branches.size(); ++b) {
    for (const Instruction* value : left[b]) branches[b].SetOuter(value, make.Element(merged, element++));
  }
  return next;
}

}  // namespace

bool CanHoistMeetings(const Instruction& conditional) {
  std::vector<Values> by_branch;
  for (const Computation* branch : conditional.called()) {
    const std::optional<Values> meetings = MeetingsOf(*branch);
    if (!meetings || meetings->empty()) return false;
    by_branch.push_back(*meetings);
  }
  return std::ranges::all_of(by_branch, [&](const Values& meetings) {
    return std::ranges::equal(meetings, by_branch[0],
                              [](const Instruction* a, const Instruction* b) { return IsSameMeeting(*a, *b); });
  });
}

void HoistMeetings(Module& module, Instruction& conditional) {
  Computation& computation = *conditional.parent();
  Expansion make(computation, &conditional);
  std::vector<Branch> branches;
  for (int b = 0; b < static_cast<int>(conditional.called().size()); ++b) {
    branches.emplace_back(*conditional.called(b), conditional.operand(b + 1));
  }
  const Values& meetings = branches[0].meetings();
  for (size_t part = 0; part < meetings.size(); ++part) {
    const Values operands = AddPart(module, make, branches, part);
    const Instruction& first = *meetings[part];
    Instruction* const meeting = computation.InsertBefore(&conditional, first.CloneWith(operands));
    for (Branch& branch : branches) branch.SetOuter(branch.meetings()[part], meeting);
  }
  Instruction* const result = AddPart(module, make, branches, meetings.size())[0];
  computation.ReplaceAllUses(&conditional, result);
  computation.Remove(&conditional);
  module.SortComputations();
  module.RemoveUnusedComputations();
}

}  // namespace VXLA_NAMESPACE::merging
