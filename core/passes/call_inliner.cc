#include "core/passes/call_inliner.h"

#include <algorithm>

namespace vxla {
namespace {

bool HasBitcastUser(const Instruction& instruction) {
  return std::ranges::any_of(instruction.users(),
                             [](const Instruction* user) { return user->opcode() == Opcode::kBitcast; });
}

// `value` where the program read `seen`. Only bitcast looks at layouts, so only for it a change of layout is a copy.
Instruction* WithLayoutOf(Computation& computation, Instruction* value, const Instruction& seen) {
  if (!HasBitcastUser(seen) || value->shape().MinorToMajor() == seen.shape().MinorToMajor()) return value;
  return computation.Add(Opcode::kCopy, seen.shape(), {value});
}

// Replaces `old` by `replacement` and removes it; a copy that this adds is put in its place by SortTopologically.
void Replace(Computation& computation, Instruction* root, Instruction* old, Instruction* replacement) {
  replacement = WithLayoutOf(computation, replacement, *old);
  computation.set_root(root);  // Add moved it
  computation.ReplaceAllUses(old, replacement);
  computation.Remove(old);
}

// The called computation's instructions at the call's place, so that what has effects (random numbers, feeds) keeps its
// order.
Instruction* CloneInPlace(Computation& computation, Instruction* call, const std::vector<Instruction*>& arguments) {
  const Computation& body = *call->called(0);
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const auto& instruction : body.instructions()) {
    Instruction*& copied = copies[instruction.get()];
    if (instruction->opcode() == Opcode::kParameter) {
      copied = arguments[static_cast<size_t>(instruction->parameter_number())];
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
    std::vector<Computation*> called(instruction->called().begin(), instruction->called().end());
    auto copy = std::make_unique<Instruction>(instruction->opcode(), instruction->shape(), std::move(operands),
                                              instruction->attributes(), std::move(called));
    copy->set_name(instruction->name());
    copy->mutable_common() = instruction->common();
    copy->set_location(instruction->location());
    auto& predecessors = copy->mutable_control_predecessors();
    predecessors = call->control_predecessors();
    for (const Instruction* predecessor : instruction->control_predecessors())
      predecessors.push_back(copies.at(predecessor));
    copied = computation.InsertBefore(call, std::move(copy));
  }
  return copies.at(body.root());
}

void InlineBody(Computation& computation, Instruction* call) {
  Instruction* root = computation.root();
  const Computation& body = *call->called(0);
  std::vector<Instruction*> arguments;
  for (int i = 0; i < call->operand_count(); ++i) {
    arguments.push_back(WithLayoutOf(computation, call->operand(i), *body.parameter(i)));
  }
  if (HasSideEffect(*call)) return Replace(computation, root, call, CloneInPlace(computation, call, arguments));
  const size_t first = computation.instructions().size();
  Instruction* result = CloneInto(body, computation, arguments, [](Computation* called) { return called; });
  for (size_t i = first; i < computation.instructions().size(); ++i) {
    auto& predecessors = computation.instructions()[i]->mutable_control_predecessors();
    predecessors.insert(predecessors.end(), call->control_predecessors().begin(), call->control_predecessors().end());
  }
  Replace(computation, root, call, result);
}

// Which instructions depend on the parameters: the others have one value for all elements.
std::unordered_set<const Instruction*> DependentOnParameters(const Computation& body) {
  std::unordered_set<const Instruction*> dependent;
  for (const auto& instruction : body.instructions()) {
    if (instruction->opcode() == Opcode::kParameter ||
        std::ranges::any_of(instruction->operands(), [&](const Instruction* i) { return dependent.contains(i); })) {
      dependent.insert(instruction.get());
    }
  }
  return dependent;
}

// Whether an operation on scalars means the same, element by element, on arrays.
bool HasArrayForm(const Instruction& instruction) {
  if (IsElementwise(instruction.opcode())) return instruction.shape().IsScalar();
  const bool scalars =
      instruction.shape().IsScalar() && instruction.operand_count() == 1 && instruction.operand(0)->shape().IsScalar();
  const bool same_type =
      scalars && instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      return true;
    case Opcode::kBitcastConvert:
      return scalars;
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kCopy:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
      return same_type;
    default:
      return false;
  }
}

bool CanInlineMap(const Computation& body) {
  const auto dependent = DependentOnParameters(body);
  return std::ranges::all_of(body.instructions(), [&](const auto& instruction) {
    if (HasSideEffect(*instruction) || !instruction->control_predecessors().empty()) return false;
    return !dependent.contains(instruction.get()) || HasArrayForm(*instruction);
  });
}

Shape ArrayOf(const Shape& scalar, const Shape& array) {
  Shape shape = array;
  shape.set_element_type(scalar.element_type());
  shape.set_layout(std::nullopt);
  return shape;
}

void InlineMap(Computation& computation, Instruction* map) {
  Instruction* root = computation.root();
  const Computation& body = *map->called(0);
  const auto dependent = DependentOnParameters(body);
  std::unordered_map<const Instruction*, Instruction*> scalars, arrays;
  auto array_of = [&](const Instruction* instruction) {
    Instruction*& array = arrays[instruction];
    if (array != nullptr) return array;
    array = scalars.at(instruction);
    if (map->shape().rank() > 0) {
      array = computation.Add(Opcode::kBroadcast, ArrayOf(instruction->shape(), map->shape()), {array});
    }
    return array;
  };
  for (const auto& instruction : body.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      arrays[instruction.get()] = map->operand(static_cast<int>(instruction->parameter_number()));
      continue;
    }
    const bool per_element = dependent.contains(instruction.get());
    if (per_element && !IsElementwise(instruction->opcode()) && instruction->opcode() != Opcode::kBitcastConvert) {
      arrays[instruction.get()] = arrays.at(instruction->operand(0));  // reshapes and the like of one element
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) {
      operands.push_back(per_element ? array_of(operand) : scalars.at(operand));
    }
    const Shape shape = per_element ? ArrayOf(instruction->shape(), map->shape()) : instruction->shape();
    std::vector<Computation*> called(instruction->called().begin(), instruction->called().end());
    auto copy = std::make_unique<Instruction>(instruction->opcode(), shape, std::move(operands),
                                              instruction->attributes(), std::move(called));
    copy->set_name(instruction->name());
    copy->mutable_common() = instruction->common();
    copy->set_location(instruction->location());
    copy->mutable_control_predecessors() = map->control_predecessors();
    (per_element ? arrays : scalars)[instruction.get()] = computation.Add(std::move(copy));
  }
  Replace(computation, root, map, array_of(body.root()));
}

// get-tuple-element(tuple(..., x, ...)) is x.
bool ResolveTuples(Computation& computation) {
  std::vector<Instruction*> instructions;
  for (const auto& instruction : computation.instructions()) instructions.push_back(instruction.get());
  Instruction* root = computation.root();
  bool changed = false;
  for (Instruction* instruction : instructions) {
    if (instruction->opcode() != Opcode::kGetTupleElement) continue;
    if (instruction->operand(0)->opcode() != Opcode::kTuple || !instruction->control_predecessors().empty()) continue;
    Instruction* element = instruction->operand(0)->operand(instruction->attributes<GetTupleElementAttributes>().index);
    Replace(computation, root, instruction, element);
    root = computation.root();
    changed = true;
  }
  return changed;
}

bool ShouldInline(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kCall:
    case Opcode::kFusion:
      return true;
    case Opcode::kMap:
      return CanInlineMap(*instruction.called(0));
    default:
      return false;
  }
}

}  // namespace

Result<bool> InlineCalls(Module& module) {
  bool changed = false;
  int64_t total = 0;
  for (const auto& computation : module.computations()) {  // callees first, so bodies hold no calls any more
    std::vector<Instruction*> calls;
    for (const auto& instruction : computation->instructions()) {
      if (ShouldInline(*instruction)) calls.push_back(instruction.get());
    }
    for (Instruction* call : calls) {
      const int64_t size = static_cast<int64_t>(call->called(0)->instructions().size());
      total += size;
      if (total > kMaxInlinedInstructions) {
        return ResourceExhausted("inlining {} of {} instructions exceeds the limit of {}", call->name(), size,
                                 kMaxInlinedInstructions)
            .At(call->location());
      }
      call->opcode() == Opcode::kMap ? InlineMap(*computation, call) : InlineBody(*computation, call);
    }
    if (calls.empty()) continue;
    changed = true;
    ResolveTuples(*computation);
    computation->SortTopologically();
    computation->RemoveDead();
  }
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

}  // namespace vxla
