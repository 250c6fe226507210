#include "core/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/limits.h"

namespace vxla {
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

}  // namespace

namespace {

bool HasOwnSideEffect(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    case Opcode::kCustomCall:
      return instruction.attributes<CustomCallAttributes>().custom_call_has_side_effect;
    default:
      return false;
  }
}

}  // namespace

std::string PathOf(const Instruction& instruction) { return instruction.parent()->name() + "/" + instruction.name(); }

bool HasSideEffect(const Instruction& instruction) {
  if (HasOwnSideEffect(instruction)) return true;
  // Each computation once: a chain of computations that call each other twice would take exponential time.
  std::unordered_set<const Computation*> seen;
  std::vector<const Computation*> work(instruction.called().begin(), instruction.called().end());
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    if (!seen.insert(computation).second) continue;
    for (const auto& inner : computation->instructions()) {
      if (HasOwnSideEffect(*inner)) return true;
      work.insert(work.end(), inner->called().begin(), inner->called().end());
    }
  }
  return false;
}

std::string Computation::UniqueName(std::string wanted) { return Uniquify(std::move(wanted), names_, next_suffix_); }

void Computation::Adopt(Instruction* instruction) {
  instruction->parent_ = this;
  std::string wanted = instruction->name_.empty() ? std::string(OpcodeText(instruction->opcode_)) : instruction->name_;
  instruction->name_ = UniqueName(std::move(wanted));
  for (Instruction* operand : instruction->operands_) {
    // The instruction is new here, so only its own repeated operands can be there already: no search, which would make
    // building a computation quadratic in the users of one value.
    if (operand->users_.empty() || operand->users_.back() != instruction) operand->users_.push_back(instruction);
  }
  if (instruction->opcode_ == Opcode::kParameter) {
    const size_t number = static_cast<size_t>(instruction->parameter_number());
    if (parameters_.size() <= number) parameters_.resize(number + 1);
    parameters_[number] = instruction;
  }
}

Instruction* Computation::Add(std::unique_ptr<Instruction> instruction) {
  Adopt(instruction.get());
  instructions_.push_back(std::move(instruction));
  root_ = instructions_.back().get();
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
  Adopt(instruction.get());
  auto at = std::ranges::find_if(instructions_, [&](const auto& i) { return i.get() == position; });
  return instructions_.insert(at, std::move(instruction))->get();
}

void Computation::Rename(Instruction* instruction, std::string name) {
  names_.erase(instruction->name_);
  instruction->name_ = UniqueName(std::move(name));
}

void Computation::Remove(Instruction* instruction) {
  VXLA_CHECK(instruction->users_.empty() && instruction != root_, "the instruction is in use");
  for (Instruction* operand : instruction->operands_) operand->RemoveUser(instruction);
  names_.erase(instruction->name_);
  std::erase_if(instructions_, [&](const auto& i) { return i.get() == instruction; });
}

void Computation::ReplaceAllUses(Instruction* old, Instruction* replacement) {
  VXLA_CHECK(old != replacement, "an instruction replaced by itself");
  for (Instruction* user : std::vector<Instruction*>(old->users_)) {
    if (user == replacement) continue;
    for (int i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == old) user->ReplaceOperand(i, replacement);
    }
  }
  for (const auto& instruction : instructions_) {
    std::ranges::replace(instruction->control_predecessors_, old, replacement);
  }
  if (root_ == old) root_ = replacement;
}

int Computation::RemoveDead() {
  std::unordered_set<const Instruction*> live;
  std::vector<Instruction*> work{root_};
  for (const auto& instruction : instructions_) {
    if (instruction->opcode() == Opcode::kParameter || HasSideEffect(*instruction)) work.push_back(instruction.get());
  }
  while (!work.empty()) {
    Instruction* instruction = work.back();
    work.pop_back();
    if (!live.insert(instruction).second) continue;
    work.insert(work.end(), instruction->operands_.begin(), instruction->operands_.end());
    work.insert(work.end(), instruction->control_predecessors_.begin(), instruction->control_predecessors_.end());
  }
  const size_t before = instructions_.size();
  for (const auto& instruction : instructions_) {
    if (live.contains(instruction.get())) continue;
    names_.erase(instruction->name_);
    for (Instruction* operand : instruction->operands_) operand->RemoveUser(instruction.get());
  }
  std::erase_if(instructions_, [&](const auto& i) { return !live.contains(i.get()); });
  return static_cast<int>(before - instructions_.size());
}

void Computation::SortTopologically() {
  std::unordered_map<const Instruction*, int> state;  // 1: on the stack, 2: placed
  std::unordered_map<const Instruction*, size_t> position;
  for (size_t i = 0; i < instructions_.size(); ++i) position[instructions_[i].get()] = i;
  std::vector<size_t> order;
  std::vector<Instruction*> stack;
  for (const auto& start : instructions_) {
    stack.push_back(start.get());
    while (!stack.empty()) {
      Instruction* instruction = stack.back();
      int& mark = state[instruction];
      if (mark == 2) {
        stack.pop_back();
        continue;
      }
      if (mark == 1) {
        mark = 2;
        order.push_back(position.at(instruction));
        stack.pop_back();
        continue;
      }
      mark = 1;
      auto push = [&](const std::vector<Instruction*>& before) {
        for (auto it = before.rbegin(); it != before.rend(); ++it) {
          VXLA_CHECK(state[*it] != 1 || *it == instruction, "a cycle through " + (*it)->name());
          if (state[*it] == 0) stack.push_back(*it);
        }
      };
      push(instruction->operands_);
      push(instruction->control_predecessors_);
    }
  }
  std::vector<std::unique_ptr<Instruction>> sorted;
  sorted.reserve(order.size());
  for (size_t i : order) sorted.push_back(std::move(instructions_[i]));
  instructions_ = std::move(sorted);
}

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
  std::unordered_map<const Computation*, size_t> position;
  for (size_t i = 0; i < computations_.size(); ++i) position[computations_[i].get()] = i;
  std::vector<size_t> order;
  std::unordered_set<const Computation*> placed;
  // Nesting is as deep as the text's, which the parser bounds.
  auto place = [&](auto&& self, const Computation* computation) -> void {
    if (!placed.insert(computation).second) return;
    for (const auto& instruction : computation->instructions()) {
      for (const Computation* called : instruction->called()) self(self, called);
    }
    order.push_back(position.at(computation));
  };
  for (const auto& computation : computations_) place(place, computation.get());
  std::vector<std::unique_ptr<Computation>> sorted;
  for (size_t i : order) sorted.push_back(std::move(computations_[i]));
  computations_ = std::move(sorted);
}

void Module::RemoveUnusedComputations() {
  std::unordered_set<const Computation*> live;
  std::vector<const Computation*> work{entry_};
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    if (!live.insert(computation).second) continue;
    for (const auto& instruction : computation->instructions()) {
      work.insert(work.end(), instruction->called().begin(), instruction->called().end());
    }
  }
  std::erase_if(computations_, [&](const auto& c) {
    if (live.contains(c.get())) return false;
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
    std::vector<Instruction*> operands;
    for (Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
    std::vector<Computation*> called;
    for (Computation* computation : instruction->called()) called.push_back(map_called(computation));
    auto copy = std::make_unique<Instruction>(instruction->opcode(), instruction->shape(), std::move(operands),
                                              instruction->attributes(), std::move(called));
    copy->set_name(instruction->name());
    copy->mutable_common() = instruction->common();
    copy->set_location(instruction->location());
    for (Instruction* predecessor : instruction->control_predecessors()) {
      copy->mutable_control_predecessors().push_back(copies.at(predecessor));
    }
    copies[instruction.get()] = target.Add(std::move(copy));
  }
  return copies.at(source.root());
}

std::unique_ptr<Module> Module::Clone() const {
  auto clone = std::make_unique<Module>(name_);
  clone->attributes_ = attributes_;
  std::unordered_map<const Computation*, Computation*> copies;
  for (const auto& computation : computations_) {
    Computation* copy = clone->AddComputation(computation->name());
    copies[computation.get()] = copy;
    copy->set_execution_thread(computation->execution_thread());
    Instruction* root = CloneInto(*computation, *copy, {}, [&](Computation* c) { return copies.at(c); });
    copy->set_root(root);
    if (computation.get() == entry_) clone->entry_ = copy;
  }
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

namespace {

std::string FirstDifference(const Instruction& a, const Instruction& b) {
  auto names = [](const auto& list) {
    std::vector<std::string> result;
    for (const auto* item : list) result.push_back(item->name());
    return result;
  };
  if (a.name() != b.name()) return fmt::format("names {} and {}", a.name(), b.name());
  auto layouts_differ = [](auto&& self, const Shape& x, const Shape& y) -> bool {
    if (x.layout() != y.layout()) return true;
    for (size_t i = 0; i < x.tuple_elements().size(); ++i) {
      if (self(self, x.tuple_elements()[i], y.tuple_elements()[i])) return true;
    }
    return false;
  };
  if (a.opcode() != b.opcode()) return "opcodes of " + a.name();
  if (!(a.shape() == b.shape())) return "shapes of " + a.name();
  if (layouts_differ(layouts_differ, a.shape(), b.shape())) return "layouts of " + a.name();
  if (names(a.operands()) != names(b.operands())) return "operands of " + a.name();
  if (names(a.called()) != names(b.called())) return "called computations of " + a.name();
  if (names(a.control_predecessors()) != names(b.control_predecessors())) return "control predecessors of " + a.name();
  if (!(a.attributes() == b.attributes())) return "attributes of " + a.name();
  if (!(a.common() == b.common())) return "common attributes of " + a.name();
  return {};
}

std::string FirstDifference(const Computation& a, const Computation& b) {
  if (a.name() != b.name()) return fmt::format("computations {} and {}", a.name(), b.name());
  if (a.execution_thread() != b.execution_thread()) return "execution threads of " + a.name();
  if (a.instructions().size() != b.instructions().size()) return "instruction counts of " + a.name();
  if (a.root()->name() != b.root()->name()) return "roots of " + a.name();
  for (size_t i = 0; i < a.instructions().size(); ++i) {
    std::string difference = FirstDifference(*a.instructions()[i], *b.instructions()[i]);
    if (!difference.empty()) return difference + " in " + a.name();
  }
  return {};
}

std::string FirstDifference(const Module& a, const Module& b) {
  if (a.name() != b.name()) return "module names";
  if (!(a.attributes() == b.attributes())) return "module attributes";
  if (a.computations().size() != b.computations().size()) return "computation counts";
  if (a.entry()->name() != b.entry()->name()) return "entries";
  for (size_t i = 0; i < a.computations().size(); ++i) {
    std::string difference = FirstDifference(*a.computations()[i], *b.computations()[i]);
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace

bool Equal(const Module& a, const Module& b, std::string* difference) {
  std::string first = FirstDifference(a, b);
  if (difference != nullptr) *difference = first;
  return first.empty();
}

}  // namespace vxla
