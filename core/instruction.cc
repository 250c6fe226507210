#include "core/instruction.h"

#include <algorithm>

namespace vxla {

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

void Instruction::AddUser(Instruction* user) {
  if (std::ranges::find(users_, user) == users_.end()) users_.push_back(user);
}

void Instruction::RemoveUser(Instruction* user) { std::erase(users_, user); }

void Instruction::ReplaceOperand(int i, Instruction* replacement) {
  Instruction* old = operands_.at(i);
  operands_[i] = replacement;
  if (std::ranges::find(operands_, old) == operands_.end()) old->RemoveUser(this);
  replacement->AddUser(this);
}

}  // namespace vxla
