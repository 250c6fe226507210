#include <utility>

#include "core/ir/module_edits.h"
#include "core/passes/base/expansion.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

// What these are the elements of.
Instruction* FromElements(Expansion& at, const Shape& shape, std::vector<Instruction*> elements) {
  return shape.IsTuple() ? at.TupleOf(std::move(elements)) : elements.front();
}

Instruction* WithMore(Expansion& at, Instruction* value, const std::vector<Instruction*>& more) {
  std::vector<Instruction*> elements = at.Elements(value);
  elements.insert(elements.end(), more.begin(), more.end());
  return at.TupleOf(std::move(elements));
}

// The computation over a wider parameter, of which a body returns the further elements too.
Computation* Widened(const Computation& of, const Shape& wide, bool is_body) {
  Computation* const made = of.module()->AddComputation(of.name());
  Expansion at(*made, *of.parameter(0));
  const Shape& shape = of.parameter(0)->shape();
  const int64_t own = shape.IsTuple() ? std::ssize(shape.tuple_elements()) : 1;
  Instruction* const parameter = at.Add(Opcode::kParameter, wide, {}, ParameterAttributes{0});
  std::vector<Instruction*> elements = at.Elements(parameter);
  const std::vector<Instruction*> more(elements.begin() + own, elements.end());
  elements.resize(static_cast<size_t>(own));
  std::vector<Instruction*> arguments{FromElements(at, shape, std::move(elements))};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Instruction* const root = CloneInto(of, *made, arguments, [](Computation* called) { return called; });
  made->set_root(is_body ? WithMore(at, root, more) : root);
  return made;
}

}  // namespace

void CarryThroughLoop(Computation& computation, Instruction* loop, const std::vector<Instruction*>& values) {
  Expansion at(computation, loop);
  Instruction* const state = WithMore(at, loop->operand(0), values);
  Computation* const condition = Widened(*loop->called(0), state->shape(), false);
  Computation* const body = Widened(*loop->called(1), state->shape(), true);
  Instruction* const wide = at.Add(loop->CloneWith({state}, state->shape(), {condition, body}));
  MoveControlEdges(loop, wide);
  std::vector<Instruction*> results = at.Elements(wide);
  results.resize(results.size() - values.size());
  computation.ReplaceAllUses(loop, FromElements(at, loop->shape(), std::move(results)));
  computation.Remove(loop);
}

void CarryIntoBranch(Instruction* conditional, int branch, const std::vector<Instruction*>& values) {
  Expansion at(*conditional->parent(), conditional);
  Instruction* const argument = WithMore(at, conditional->operand(1 + branch), values);
  conditional->ReplaceOperand(1 + branch, argument);
  conditional->set_called(branch, Widened(*conditional->called(branch), argument->shape(), false));
}

}  // namespace VXLA_NAMESPACE
