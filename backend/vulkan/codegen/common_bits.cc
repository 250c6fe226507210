#include "backend/vulkan/codegen/common_bits.h"

#include <ranges>

#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool HasOwnOrder(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kDot:
    case Opcode::kConvolution:
      return IsFloating(instruction.shape().element_type());
    case Opcode::kReduce:
      return FactsOfReducer(*instruction.called(0)).adds_floats;
    default:
      return false;
  }
}

}  // namespace

std::unordered_set<const Instruction*> ValuesOfCommonBits(const FusionDescription& body) {
  std::unordered_set<const Instruction*> own, common;
  for (const Instruction* i : body.computed) {
    bool is_own = HasOwnOrder(*i);
    for (int k = 0; k < i->operand_count(); ++k) is_own |= own.contains(i->operand(k));
    if (is_own) own.insert(i);
  }
  for (const Instruction* root : body.roots) {
    if (!own.contains(root)) common.insert(root);
  }
  for (const Instruction* i : body.computed | std::views::reverse) {
    for (int k = 0; common.contains(i) && k < i->operand_count(); ++k) common.insert(i->operand(k));
  }
  return common;
}

}  // namespace VXLA_NAMESPACE::vulkan
