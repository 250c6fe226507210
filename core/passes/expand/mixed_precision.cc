#include <vector>

#include "core/ir/module_edits.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/expand/repairs.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsFloats(const Shape& shape) { return shape.IsArray() && IsFloating(shape.element_type()); }

// Of f16 and bf16, neither holds the other's numbers.
ElementType WiderOf(ElementType a, ElementType b) {
  if (a == b || BitWidth(a) > BitWidth(b)) return a;
  return BitWidth(b) > BitWidth(a) ? b : ElementType::kF32;
}

// Whether all operands are of one type, but for a select's choice.
bool TakesOneType(const Instruction& i) {
  using enum Opcode;
  return IsElementwise(i.opcode()) && !IsAnyOf(i.opcode(), kConvert, kStochasticConvert, kReal, kImag);
}
// And the result is of that type too.
bool GivesItsType(const Instruction& i) {
  return !IsAnyOf(i.opcode(), Opcode::kCompare, Opcode::kIsFinite, Opcode::kComplex);
}

bool TakeAs(Computation& computation, Instruction& i, int k, ElementType type) {
  if (!IsFloats(i.operand(k)->shape()) || i.operand(k)->shape().element_type() == type) return false;
  i.ReplaceOperand(k, Expansion(computation, &i).Converted(i.operand(k), type));
  return true;
}

// What the computation gives under the type that it computes in, and converted for its users to what it states.
bool GiveAs(Computation& computation, Instruction& i, Instruction* next, const std::vector<ElementType>& types) {
  const Shape stated = i.shape();
  Shape computed = stated;
  bool differs = false;
  for (size_t k = 0; k < types.size(); ++k) {
    Shape& part = stated.IsTuple() ? computed.mutable_tuple_elements()[k] : computed;
    if (!IsFloats(part) || part.element_type() == types[k] || !IsFloating(types[k])) continue;
    part.set_element_type(types[k]);
    differs = true;
  }
  if (!differs) return false;
  const std::vector<Instruction*> users(i.users().begin(), i.users().end());
  i.mutable_shape() = computed;
  Expansion make = next == nullptr ? Expansion(computation, std::as_const(i)) : Expansion(computation, next);
  Instruction* value = nullptr;
  if (stated.IsTuple()) {
    std::vector<Instruction*> parts;
    for (size_t k = 0; k < types.size(); ++k) {
      Instruction* const part = make.Element(&i, static_cast<int64_t>(k));
      parts.push_back(IsFloats(part->shape()) ? make.Converted(part, stated.tuple_elements()[k].element_type()) : part);
    }
    value = make.TupleOf(std::move(parts));
  } else {
    value = make.Converted(&i, stated.element_type());
  }
  for (Instruction* user : users) user->ReplaceOperand(&i, value);
  if (computation.root() == &i) computation.set_root(value);
  return true;
}

bool UnmixElements(Computation& computation, Instruction& i, Instruction* next) {
  std::optional<ElementType> type;
  for (const Instruction* operand : i.operands()) {
    if (!IsFloats(operand->shape())) continue;
    const ElementType own = operand->shape().element_type();
    type = type ? WiderOf(*type, own) : own;
  }
  if (!type) return false;
  bool changed = false;
  for (int k = 0; k < i.operand_count(); ++k) changed |= TakeAs(computation, i, k, *type);
  if (GivesItsType(i) && i.shape().IsArray()) changed |= GiveAs(computation, i, next, {*type});
  return changed;
}

// `count` arrays, then as many initial values; the computation takes as many accumulators and values.
bool UnmixReduction(Computation& computation, Instruction& i, Instruction* next) {
  const int count = i.operand_count() / 2;
  if (count == 0 || i.called().size() != 1) return false;
  const std::vector<Instruction*>& parameters = i.called(0)->parameters();
  const size_t results = i.shape().IsTuple() ? i.shape().tuple_elements().size() : 1;
  if (parameters.size() != static_cast<size_t>(2 * count) || results != static_cast<size_t>(count)) return false;
  bool changed = false;
  std::vector<ElementType> types;
  for (int k = 0; k < 2 * count; ++k) {
    const Shape& taken = parameters[k]->shape();
    if (!taken.IsArray()) return changed;
    if (k < count) types.push_back(taken.element_type());
    if (!IsFloats(taken)) continue;
    changed |= TakeAs(computation, i, k < count ? k + count : k - count, taken.element_type());
  }
  return GiveAs(computation, i, next, types) || changed;
}

}  // namespace

bool UnmixPrecision(Module& module) {
  bool changed = false;
  for (const auto& computation : module.computations()) {
    const std::vector<Instruction*> all = InstructionList(*computation);
    for (size_t at = 0; at < all.size(); ++at) {
      Instruction* const next = at + 1 < all.size() ? all[at + 1] : nullptr;
      if (TakesOneType(*all[at])) {
        changed |= UnmixElements(*computation, *all[at], next);
      } else if (all[at]->opcode() == Opcode::kReduce || all[at]->opcode() == Opcode::kReduceWindow) {
        changed |= UnmixReduction(*computation, *all[at], next);
      }
    }
  }
  return changed;
}

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
