#include "core/ir/instruction.h"

#include <algorithm>

namespace VXLA_NAMESPACE {
namespace {

// Up to here a search through the list costs less than a table.
constexpr size_t kLongList = 16;

}  // namespace

size_t InstructionSet::Find(const Instruction* instruction) const {
  if (list_.size() <= kLongList) return static_cast<size_t>(std::ranges::find(list_, instruction) - list_.begin());
  const auto at = places_->find(instruction);
  return at == places_->end() ? list_.size() : at->second;
}

bool InstructionSet::Contains(const Instruction* instruction) const { return Find(instruction) < list_.size(); }

bool InstructionSet::Add(Instruction* instruction) {
  if (Contains(instruction)) return false;
  list_.push_back(instruction);
  if (list_.size() == kLongList + 1) {
    places_ = std::make_unique<std::unordered_map<const Instruction*, size_t>>();
    for (size_t i = 0; i < list_.size(); ++i) (*places_)[list_[i]] = i;
  } else if (list_.size() > kLongList) {
    (*places_)[instruction] = list_.size() - 1;
  }
  return true;
}

bool InstructionSet::Remove(const Instruction* instruction) {
  const size_t place = Find(instruction);
  if (place == list_.size()) return false;
  if (list_.size() > kLongList) {
    places_->erase(instruction);
    if (list_.back() != instruction) (*places_)[list_.back()] = place;
  }
  list_[place] = list_.back();
  list_.pop_back();
  return true;
}

Instruction::Instruction(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                         std::vector<Computation*> called)
    : opcode_(opcode),
      shape_(std::move(shape)),
      operands_(std::move(operands)),
      attributes_(std::move(attributes)),
      called_(std::move(called)) {
  // An opcode always carries its own struct, also when the caller had nothing to say.
  if (std::holds_alternative<NoAttributes>(attributes_)) attributes_ = DefaultAttributes(opcode);
  VXLA_CHECK(attributes_.index() == DefaultAttributes(opcode).index(), "attributes of another opcode");
}

Instruction::~Instruction() = default;

std::unique_ptr<Instruction> Instruction::CloneWith(std::vector<Instruction*> operands) const {
  return CloneWith(std::move(operands), shape_);
}
std::unique_ptr<Instruction> Instruction::CloneWith(std::vector<Instruction*> operands, Shape shape) const {
  return CloneWith(std::move(operands), std::move(shape), called_);
}
std::unique_ptr<Instruction> Instruction::CloneWith(std::vector<Instruction*> operands, Shape shape,
                                                    std::vector<Computation*> called) const {
  auto copy =
      std::make_unique<Instruction>(opcode_, std::move(shape), std::move(operands), attributes_, std::move(called));
  copy->name_ = name_;
  copy->common_ = common_;
  copy->notes_ = notes_;
  copy->location_ = location_;
  return copy;
}

CallKind Instruction::call_kind() const {
  return opcode_ == Opcode::kCustomCall ? attributes<CustomCallAttributes>().kind : CallKind::kNamed;
}

void Instruction::ReplaceOperand(int i, Instruction* replacement) {
  Instruction* old = operands_.at(i);
  operands_[i] = replacement;
  description_ = nullptr;
  if (std::ranges::find(operands_, old) == operands_.end()) old->users_.Remove(this);
  replacement->users_.Add(this);
}

void Instruction::ReplaceOperand(Instruction* old, Instruction* replacement) {
  if (old == replacement) return;
  std::ranges::replace(operands_, old, replacement);
  description_ = nullptr;
  old->users_.Remove(this);
  replacement->users_.Add(this);
}

void Instruction::AddControlPredecessor(Instruction* predecessor) {
  if (control_predecessors_.Add(predecessor)) predecessor->control_successors_.Add(this);
}

void Instruction::RemoveControlPredecessor(Instruction* predecessor) {
  if (control_predecessors_.Remove(predecessor)) predecessor->control_successors_.Remove(this);
}

}  // namespace VXLA_NAMESPACE
