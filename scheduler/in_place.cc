#include "scheduler/in_place.h"

#include <unordered_set>
#include <vector>

namespace vxla {
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

// Whether a loop fusion reads fused parameter `number` only at the element that it is about to write.
bool ReadsOwnElementOnly(const Computation& fused, int64_t number) {
  std::vector<const Instruction*> pending{fused.parameter(number)};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* value = pending.back();
    pending.pop_back();
    for (const Instruction* user : value->users()) {
      if (!KeepsPosition(*user)) return false;
      if (user->opcode() != Opcode::kTuple && !SameCount(*user, *value)) return false;
      if (seen.insert(user).second) pending.push_back(user);
    }
  }
  return true;
}

}  // namespace

bool MayWriteOver(const Instruction& fusion, int operand, const Shape& result) {
  if (fusion.opcode() != Opcode::kFusion || fusion.attributes<FusionAttributes>().kind != FusionKind::kLoop)
    return false;
  const Shape& source = fusion.operand(operand)->shape();
  if (!source.IsArray() || !result.IsArray() ||
      StorageBytes(source.element_type()) != StorageBytes(result.element_type()))
    return false;
  return ReadsOwnElementOnly(*fusion.called(0), operand);
}

}  // namespace vxla
