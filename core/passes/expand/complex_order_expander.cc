// Complex maximum, minimum and clamp as comparisons of parts.
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

class ComplexOrder : private Expansion {
 public:
  ComplexOrder(Computation& computation, Instruction* instruction) : Expansion(computation, instruction) {}

  Instruction* Expand() {
    const Instruction& i = instruction();
    if (i.opcode() != Opcode::kClamp) return Picked(i.opcode(), i.operand(0), i.operand(1));
    return Picked(Opcode::kMinimum, Picked(Opcode::kMaximum, i.operand(1), i.operand(0)), i.operand(2));
  }

 private:
  Instruction* Part(Opcode part, Instruction* value) {
    Shape shape = value->shape();
    shape.set_element_type(RealPart(shape.element_type()));
    return Add(part, std::move(shape), {value});
  }

  // a where it comes first, else b, which may be a scalar.
  Instruction* Picked(Opcode opcode, Instruction* a, Instruction* b) {
    if (b->shape().rank() < a->shape().rank()) b = Spread(b, SizesOf(a->shape()));
    const bool largest = opcode == Opcode::kMaximum;
    Instruction* const a_real = Part(Opcode::kReal, a);
    Instruction* const b_real = Part(Opcode::kReal, b);
    Instruction* const by_imaginary = Compare(largest ? ComparisonDirection::kGe : ComparisonDirection::kLe,
                                              Part(Opcode::kImag, a), Part(Opcode::kImag, b));
    Instruction* const by_real = Compare(largest ? ComparisonDirection::kGt : ComparisonDirection::kLt, a_real, b_real);
    Instruction* const equal = Compare(ComparisonDirection::kEq, a_real, b_real);
    Instruction* const first = Add(Opcode::kSelect, equal->shape(), {equal, by_imaginary, by_real});
    return Select(first, a, b);
  }
};

}  // namespace

bool ExpandComplexOrder(Module& module) {
  return ExpandEach(
      AllComputations(module),
      [](Computation& computation, Instruction* i) -> Instruction* {
        const bool picks = IsAnyOf(i->opcode(), Opcode::kMaximum, Opcode::kMinimum, Opcode::kClamp);
        if (!picks || !IsComplex(i->shape().element_type())) return nullptr;
        return ComplexOrder(computation, i).Expand();
      },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
