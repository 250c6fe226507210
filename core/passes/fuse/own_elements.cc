#include "core/passes/fuse/own_elements.h"

#include <unordered_set>
#include <vector>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

bool SameCount(const Instruction& a, const Instruction& b) {
  return a.shape().ElementCount() == b.shape().ElementCount();
}

// Whether each element of `instruction` reads its operands at its own row-major position only.
bool KeepsPosition(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kReshape:
    case Opcode::kCopy:
      return true;
    case Opcode::kBitcastConvert:
      return SameCount(instruction, *instruction.operand(0));
    default:
      return IsElementwise(instruction.opcode());
  }
}

}  // namespace

bool ReadsOwnElementOnly(const Computation& fused, int64_t number) {
  std::vector<const Instruction*> pending{fused.parameter(number)};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* value = pending.back();
    pending.pop_back();
    for (const Instruction* user : value->users()) {
      if (user->opcode() == Opcode::kReduce && SameCount(*user->operand(0), *value)) continue;
      if (!KeepsPosition(*user)) return false;
      if (user->opcode() != Opcode::kTuple && !SameCount(*user, *value)) return false;
      if (seen.insert(user).second) pending.push_back(user);
    }
  }
  return true;
}

}  // namespace VXLA_NAMESPACE
