#include <algorithm>
#include <unordered_map>

#include "core/host/ranges.h"
#include "core/passes/scans/scans.h"

namespace VXLA_NAMESPACE {

bool HasArrayForm(const Computation& reducer, const Instruction& reduce) {
  const size_t count = static_cast<size_t>(reduce.operand_count()) / 2;
  if (reducer.parameters().size() != 2 * count) return false;
  for (size_t p = 0; p < 2 * count; ++p) {
    const Shape& shape = reducer.parameter(p)->shape();
    if (shape != Shape(reduce.operand(p % count)->shape().element_type())) return false;
  }
  return std::ranges::all_of(reducer.instructions(), [&](const auto& i) {
    if (i.get() == reducer.root() && i->opcode() == Opcode::kTuple) return true;
    if (!i->shape().IsScalar() || !i->called().empty()) return false;
    return i->opcode() == Opcode::kParameter || i->opcode() == Opcode::kConstant || IsElementwise(i->opcode());
  });
}

std::vector<Instruction*> JoinedArrays(Expansion& expansion, const Computation& reducer,
                                       const std::vector<Instruction*>& before,
                                       const std::vector<Instruction*>& after) {
  const IntList sizes = SizesOf(before[0]->shape());
  std::unordered_map<const Instruction*, Instruction*> arrays;
  for (const auto& i : reducer.instructions()) {
    if (i->opcode() == Opcode::kTuple) continue;
    if (i->opcode() == Opcode::kParameter) {
      const size_t p = static_cast<size_t>(i->parameter_number());
      arrays[i.get()] = p < before.size() ? before[p] : after[p - before.size()];
      continue;
    }
    if (i->opcode() == Opcode::kConstant) {
      arrays[i.get()] = expansion.Spread(expansion.Add(Opcode::kConstant, i->shape(), {}, i->attributes()), sizes);
      continue;
    }
    auto operands = Transformed(i->operands(), [&](const Instruction* operand) { return arrays.at(operand); });
    arrays[i.get()] = expansion.Add(i->opcode(), Shape(i->shape().element_type(), sizes), operands, i->attributes());
  }
  const Instruction* root = reducer.root();
  if (root->opcode() != Opcode::kTuple) return {arrays.at(root)};
  return Transformed(root->operands(), [&](const Instruction* result) { return arrays.at(result); });
}

}  // namespace VXLA_NAMESPACE
