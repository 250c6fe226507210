// cholesky and triangular-solve of narrow floats.
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {

bool WidenLinearAlgebra(Module& module) {
  return ExpandEach(module, [](Computation& computation, Instruction* instruction) -> Instruction* {
    if (!IsAnyOf(instruction->opcode(), Opcode::kCholesky, Opcode::kTriangularSolve)) return nullptr;
    Shape shape = instruction->shape();
    const ElementType type = shape.element_type();
    if (!IsNarrowFloat(type)) return nullptr;
    Expansion make(computation, instruction);
    std::vector<Instruction*> operands;
    for (Instruction* operand : instruction->operands()) operands.push_back(make.Converted(operand, ElementType::kF32));
    shape.set_element_type(ElementType::kF32);
    return make.Converted(
        make.Add(instruction->opcode(), std::move(shape), std::move(operands), instruction->attributes()), type);
  });
}

}  // namespace VXLA_NAMESPACE
