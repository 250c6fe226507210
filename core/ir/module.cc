#include "core/ir/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

std::string Uniquify(std::string wanted, std::unordered_set<std::string>& names,
                     std::unordered_map<std::string, int>& next_suffix) {
  if (names.insert(wanted).second) return wanted;
  int& suffix = next_suffix[wanted];
  while (true) {
    std::string candidate = fmt::format("{}.{}", wanted, ++suffix);
    if (names.insert(candidate).second) return candidate;
  }
}

bool HasOwnSideEffect(const Instruction& instruction) {
  return Has(instruction.opcode(), Trait::kMeets, Trait::kTransfers, Trait::kDraws) ||
         (instruction.opcode() == Opcode::kCustomCall &&
          instruction.attributes<CustomCallAttributes>().custom_call_has_side_effect);
}

}  // namespace

std::string PathOf(const Instruction& instruction) { return instruction.parent()->name() + "/" + instruction.name(); }

bool IsHostTransfer(const Instruction& instruction) {
  using enum Opcode;
  if (IsAnyOf(instruction.opcode(), kSendDone, kRecvDone)) return IsHostTransfer(*instruction.operand(0));
  if (IsAnyOf(instruction.opcode(), kSend, kRecv)) return instruction.attributes<SendRecvAttributes>().is_host_transfer;
  return IsAnyOf(instruction.opcode(), kInfeed, kOutfeed);
}

SideEffects::SideEffects() : DeepProperty(HasOwnSideEffect) {}

bool DeepProperty::Of(const Instruction& instruction) {
  if (has_(instruction)) return true;
  std::vector<const Computation*> work(instruction.called().begin(), instruction.called().end());
  while (!work.empty()) {
    const Computation* computation = work.back();
    if (known_.contains(computation)) {
      work.pop_back();
      continue;
    }
    bool found = false;
    const size_t before = work.size();
    for (const auto& inner : computation->instructions()) {
      found |= has_(*inner);
      for (const Computation* called : inner->called()) {
        const auto known = known_.find(called);
        if (known == known_.end()) {
          work.push_back(called);
        } else {
          found |= known->second;
        }
      }
    }
    if (work.size() == before || found) known_[computation] = found;
  }
  return std::ranges::any_of(instruction.called(), [&](const Computation* called) { return known_.at(called); });
}

std::vector<const Computation*> CalledDeep(std::span<Computation* const> called) {
  std::vector<const Computation*> all, work(called.begin(), called.end());
  std::unordered_set<const Computation*> seen;
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    if (!seen.insert(computation).second) continue;
    all.push_back(computation);
    for (const auto& inner : computation->instructions()) {
      work.insert(work.end(), inner->called().begin(), inner->called().end());
    }
  }
  return all;
}

bool HasSideEffect(const Instruction& instruction) { return SideEffects().Of(instruction); }

Computation::Computation(std::string name) : name_(std::move(name)) {}
Computation::~Computation() = default;

std::string Computation::UniqueName(std::string wanted) { return Uniquify(std::move(wanted), names_, next_suffix_); }

void Computation::Adopt(Instruction* instruction) {
  instruction->parent_ = this;
  std::string wanted = instruction->name_.empty() ? std::string(OpcodeText(instruction->opcode_)) : instruction->name_;
  instruction->name_ = UniqueName(std::move(wanted));
  for (Instruction* operand : instruction->operands_) operand->users_.Add(instruction);
  if (instruction->opcode_ == Opcode::kParameter) {
    const size_t number = static_cast<size_t>(instruction->parameter_number());
    if (parameters_.size() <= number) parameters_.resize(number + 1);
    parameters_[number] = instruction;
  }
}

Instruction* Computation::Add(std::unique_ptr<Instruction> instruction) {
  root_ = instruction.get();
  Adopt(root_);
  root_->position_ = instructions_.insert(instructions_.end(), std::move(instruction));
  return root_;
}

Instruction* Computation::Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                              std::vector<Computation*> called, std::string name) {
  auto instruction = std::make_unique<Instruction>(opcode, std::move(shape), std::move(operands), std::move(attributes),
                                                   std::move(called));
  instruction->set_name(std::move(name));
  return Add(std::move(instruction));
}

Instruction* Computation::InsertBefore(const Instruction* position, std::unique_ptr<Instruction> instruction) {
  Instruction* added = instruction.get();
  Adopt(added);
  added->position_ = instructions_.insert(position->position_, std::move(instruction));
  return added;
}

void Computation::Rename(Instruction* instruction, std::string name) {
  names_.erase(instruction->name_);
  instruction->name_ = UniqueName(std::move(name));
}

void Computation::Remove(Instruction* instruction) {
  VXLA_CHECK(instruction->users().empty() && instruction->control_successors().empty() && instruction != root_,
             "the instruction is in use");
  Detach(instruction);
  instructions_.erase(instruction->position_);
}

void Computation::Detach(Instruction* instruction) {
  for (Instruction* operand : instruction->operands_) operand->users_.Remove(instruction);
  for (Instruction* before : instruction->control_predecessors()) before->control_successors_.Remove(instruction);
  names_.erase(instruction->name_);
}

void Computation::ReplaceAllUses(Instruction* old, Instruction* replacement) {
  VXLA_CHECK(old != replacement, "an instruction replaced by itself");
  const std::vector<Instruction*> users(old->users().begin(), old->users().end());
  for (Instruction* user : users) {
    if (user != replacement) user->ReplaceOperand(old, replacement);
  }
  MoveControlEdges(old, replacement);
  if (root_ == old) root_ = replacement;
}

int Computation::RemoveDead() {
  SideEffects effects;
  return RemoveDead(effects);
}

int Computation::RemoveDead(SideEffects& effects) {
  std::vector<Instruction*> work{root_};
  for (const auto& instruction : instructions_) {
    instruction->mark_ = Mark::kNew;
    if (instruction->opcode() == Opcode::kParameter || effects.Of(*instruction)) work.push_back(instruction.get());
  }
  while (!work.empty()) {
    Instruction* instruction = work.back();
    work.pop_back();
    if (std::exchange(instruction->mark_, Mark::kPlaced) == Mark::kPlaced) continue;
    work.insert(work.end(), instruction->operands_.begin(), instruction->operands_.end());
    const auto before = instruction->control_predecessors();
    work.insert(work.end(), before.begin(), before.end());
  }
  for (const auto& instruction : instructions_) {
    if (instruction->mark_ == Mark::kNew) Detach(instruction.get());
  }
  return static_cast<int>(std::erase_if(instructions_, [](const auto& i) { return i->mark_ == Mark::kNew; }));
}

void Computation::SortTopologically() {
  std::list<std::unique_ptr<Instruction>> sorted;
  std::vector<Instruction*> stack;
  std::vector<Instruction*> starts;
  for (const auto& start : instructions_) {
    start->mark_ = Mark::kNew;
    starts.push_back(start.get());
  }
  for (Instruction* start : starts) {
    stack.push_back(start);
    while (!stack.empty()) {
      Instruction* instruction = stack.back();
      if (instruction->mark_ != Mark::kNew) {
        if (instruction->mark_ == Mark::kOpen) sorted.splice(sorted.end(), instructions_, instruction->position_);
        instruction->mark_ = Mark::kPlaced;
        stack.pop_back();
        continue;
      }
      instruction->mark_ = Mark::kOpen;
      auto push = [&](std::span<Instruction* const> before) {
        for (auto it = before.rbegin(); it != before.rend(); ++it) {
          VXLA_CHECK((*it)->mark_ != Mark::kOpen, "a cycle through " + (*it)->name());
          if ((*it)->mark_ == Mark::kNew) stack.push_back(*it);
        }
      };
      push(instruction->operands_);
      push(instruction->control_predecessors());
    }
  }
  instructions_ = std::move(sorted);
}

Module::Module(std::string name) : name_(std::move(name)) {}
Module::~Module() = default;

Computation* Module::AddComputation(std::string name) {
  return AddComputation(std::make_unique<Computation>(std::move(name)));
}

Computation* Module::AddComputation(std::unique_ptr<Computation> computation) {
  computation->set_name(Uniquify(computation->name(), names_, next_suffix_));
  computation->module_ = this;
  computations_.push_back(std::move(computation));
  return computations_.back().get();
}

void Module::Rename(Computation* computation, std::string name) {
  names_.erase(computation->name());
  computation->set_name(Uniquify(std::move(name), names_, next_suffix_));
}

void Module::SortComputations() {
  std::vector<Computation*> sorted, stack;
  for (const auto& computation : computations_) computation->mark_ = Mark::kNew;
  for (const auto& start : computations_) {
    stack.push_back(start.get());
    while (!stack.empty()) {
      Computation* computation = stack.back();
      if (computation->mark_ != Mark::kNew) {
        if (computation->mark_ == Mark::kOpen) sorted.push_back(computation);
        computation->mark_ = Mark::kPlaced;
        stack.pop_back();
        continue;
      }
      computation->mark_ = Mark::kOpen;
      const size_t first = stack.size();
      for (const auto& instruction : computation->instructions()) {
        for (Computation* called : instruction->called()) {
          if (called->mark_ == Mark::kNew) stack.push_back(called);
        }
      }
      std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
    }
  }
  VXLA_CHECK(sorted.size() == computations_.size(), "a computation of another module is called");
  for (auto& computation : computations_) static_cast<void>(computation.release());
  for (size_t i = 0; i < sorted.size(); ++i) computations_[i].reset(sorted[i]);
}

void Module::RemoveUnusedComputations() {
  const std::vector<const Computation*> reached = CalledDeep({&entry_, 1});
  const std::unordered_set<const Computation*> used(reached.begin(), reached.end());
  std::erase_if(computations_, [&](const auto& c) {
    if (used.contains(c.get())) return false;
    names_.erase(c->name());
    return true;
  });
}

Instruction* CloneInto(const Computation& source, Computation& target, std::span<Instruction* const> arguments,
                       const std::function<Computation*(Computation*)>& map_called) {
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const auto& instruction : source.instructions()) {
    if (instruction->opcode() == Opcode::kParameter && !arguments.empty()) {
      copies[instruction.get()] = arguments[instruction->parameter_number()];
      continue;
    }
    auto operands = Transformed(instruction->operands(), [&](Instruction* operand) { return copies.at(operand); });
    Instruction* added = copies[instruction.get()] = target.Add(instruction->CloneWith(
        std::move(operands), instruction->shape(),
        Transformed(instruction->called(), [&](Computation* computation) { return map_called(computation); })));
    for (Instruction* before : instruction->control_predecessors()) added->AddControlPredecessor(copies.at(before));
  }
  return copies.at(source.root());
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>(name_);
  clone->attributes_ = attributes_;
  clone->entry_ = AddProgram(*clone, *this);
  return clone;
}

Status CheckCallDepth(const Module& module) {
  std::unordered_map<const Computation*, int> depths;
  for (const auto& computation : module.computations()) {
    int& depth = depths[computation.get()];
    for (const auto& instruction : computation->instructions()) {
      for (const Computation* called : instruction->called()) {
        const auto found = depths.find(called);
        if (found == depths.end()) continue;  // the verifier refuses that order
        depth = std::max(depth, found->second + 1);
        if (depth <= kMaxCallDepth) continue;
        return InvalidArgument("{} {}: computations call one another more than {} levels deep",  // order_c4
                               OpcodeText(instruction->opcode()), instruction->name(), kMaxCallDepth)
            .At(instruction->location());
      }
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
