// cholesky and triangular-solve of types narrower than f32.
#include <algorithm>

#include "core/passes/control_flow.h"
#include "core/passes/expanders.h"
#include "core/passes/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsStatic(const Instruction* value) { return !value->shape().IsDynamic(); }

Instruction* InF32(Computation& computation, Instruction* instruction) {
  const Opcode opcode = instruction->opcode();
  const bool wanted = opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve;
  if (!wanted || !IsStatic(instruction) || !std::ranges::all_of(instruction->operands(), IsStatic)) return nullptr;
  const ElementType type = instruction->shape().element_type();
  if (!IsNarrowFloat(type)) return nullptr;
  Expansion expansion(computation, instruction);
  std::vector<Instruction*> operands;
  for (Instruction* operand : instruction->operands())
    operands.push_back(expansion.Converted(operand, ElementType::kF32));
  Instruction* const wide = expansion.Add(opcode, Shape(ElementType::kF32, SizesOf(instruction->shape())), operands,
                                          instruction->attributes());
  return expansion.Converted(wide, type);
}

}  // namespace

bool WidenFactorizations(Module& module) { return ExpandEach(ControlComputations(module), InF32); }

}  // namespace VXLA_NAMESPACE
