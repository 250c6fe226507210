#include "core/passes/fuse/own_elements.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

bool SameCount(const Instruction& a, const Instruction& b) {
  return a.shape().ElementCount() == b.shape().ElementCount();
}

// Whether each element of `instruction` reads `value`, an operand of as many elements, at its own row-major position
// only.
bool KeepsPosition(const Instruction& instruction, const Instruction& value) {
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kReshape:
    case Opcode::kCopy:
      return true;
    case Opcode::kBitcastConvert:
      return SameCount(instruction, *instruction.operand(0));
    case Opcode::kBroadcast:
      return std::ranges::is_sorted(instruction.attributes<DimensionsAttributes>().dimensions);
    case Opcode::kGather: {  // an index of one number for each element
      const int64_t vector = instruction.attributes<GatherAttributes>().index_vector_dim;
      return instruction.operand(0) != &value &&
             (vector >= value.shape().rank() || value.shape().dimension(vector) == 1);
    }
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
      if (!KeepsPosition(*user, *value)) return false;
      if (user->opcode() != Opcode::kTuple && !SameCount(*user, *value)) return false;
      if (seen.insert(user).second) pending.push_back(user);
    }
  }
  return true;
}

}  // namespace VXLA_NAMESPACE
