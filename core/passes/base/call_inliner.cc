#include "core/passes/base/call_inliner.h"

#include <algorithm>

#include "core/ir/module_edits.h"

namespace VXLA_NAMESPACE {
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
void Replace(Computation& computation, Instruction* old, Instruction* replacement) {
  Instruction* const root = computation.root();
  replacement = WithLayoutOf(computation, replacement, *old);
  computation.set_root(root);  // Add moved it
  computation.ReplaceAllUses(old, replacement);
  computation.Remove(old);
}

// What stood before `call` comes before each of its copies now, and what stood behind it behind each of them. Those at
// the edges of the body pass that on to the others; what has an effect says it itself, for its operands may be found to
// be known and its place then depends on nothing else.
void TakeOverControlEdges(Instruction* call, const std::vector<Instruction*>& copies) {
  const std::vector<Instruction*> before(call->control_predecessors().begin(), call->control_predecessors().end());
  const std::vector<Instruction*> after(call->control_successors().begin(), call->control_successors().end());
  if (before.empty() && after.empty()) return;
  for (Instruction* predecessor : before) call->RemoveControlPredecessor(predecessor);
  for (Instruction* successor : after) successor->RemoveControlPredecessor(call);
  const std::unordered_set<const Instruction*> inside(copies.begin(), copies.end());
  auto any_inside = [&](std::span<Instruction* const> list) {
    return std::ranges::any_of(list, [&](const Instruction* i) { return inside.contains(i); });
  };
  std::vector<Instruction*> first, last;
  for (Instruction* copy : copies) {
    const bool effect = HasSideEffect(*copy);
    if (effect || (!any_inside(copy->operands()) && !any_inside(copy->control_predecessors()))) first.push_back(copy);
    if (effect || (!any_inside(copy->users()) && !any_inside(copy->control_successors()))) last.push_back(copy);
  }
  for (Instruction* predecessor : before) {
    for (Instruction* copy : first) copy->AddControlPredecessor(predecessor);
    for (Instruction* successor : copies.empty() ? after : std::vector<Instruction*>())
      successor->AddControlPredecessor(predecessor);
  }
  for (Instruction* successor : after) {
    for (Instruction* copy : last) successor->AddControlPredecessor(copy);
  }
}

// The called computation's instructions at the call's place, so that what has effects (random numbers, feeds) keeps its
// order. Gives the copies.
std::vector<Instruction*> InlineBody(Computation& computation, Instruction* call) {
  Instruction* const root = computation.root();
  const Computation& body = *call->called(0);
  std::unordered_map<const Instruction*, Instruction*> copy_of;
  std::vector<Instruction*> copies;
  for (const auto& instruction : body.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      Instruction* argument = call->operand(instruction->parameter_number());
      copy_of[instruction.get()] = WithLayoutOf(computation, argument, *instruction);
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(copy_of.at(operand));
    Instruction* copy = computation.InsertBefore(call, instruction->CloneWith(std::move(operands)));
    for (const Instruction* before : instruction->control_predecessors()) {
      // A parameter has been there all along.
      if (before->opcode() != Opcode::kParameter) copy->AddControlPredecessor(copy_of.at(before));
    }
    copies.push_back(copy_of[instruction.get()] = copy);
  }
  computation.set_root(root);  // adding a copy for a layout moves it
  TakeOverControlEdges(call, copies);
  Replace(computation, call, copy_of.at(body.root()));
  return copies;
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

// Which computations can be applied to whole arrays where a map applies them to scalars. Each is looked at once.
class ArrayForms {
 public:
  // Callees must have been added before.
  void Add(const Computation& body) {
    const auto dependent = DependentOnParameters(body);
    const bool all = std::ranges::all_of(body.instructions(), [&](const auto& instruction) {
      if (instruction->HasControlEdges() || effects_.Of(*instruction)) return false;
      return !dependent.contains(instruction.get()) || HasArrayForm(*instruction);
    });
    if (all) known_.insert(&body);
  }
  bool Has(const Computation& body) const { return known_.contains(&body); }

 private:
  // Whether an operation on scalars means the same, element by element, on arrays.
  bool HasArrayForm(const Instruction& instruction) const {
    if (IsElementwise(instruction.opcode())) return instruction.shape().IsScalar();
    if (instruction.opcode() == Opcode::kMap) return instruction.shape().IsScalar() && Has(*instruction.called(0));
    const bool scalars = instruction.shape().IsScalar() && instruction.operand_count() == 1 &&
                         instruction.operand(0)->shape().IsScalar();
    const bool same_type =
        scalars && instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
    using enum Opcode;
    const Opcode opcode = instruction.opcode();
    return opcode == kParameter || (opcode == kBitcastConvert && scalars) ||
           (same_type && IsAnyOf(opcode, kBitcast, kBroadcast, kCopy, kReshape, kTranspose, kReverse));
  }

  std::unordered_set<const Computation*> known_;
  SideEffects effects_;
};

Shape ArrayOf(const Shape& scalar, const Shape& array) {
  Shape shape = array;
  shape.set_element_type(scalar.element_type());
  shape.set_layout(std::nullopt);
  return shape;
}

// The computation's operations over whole arrays, in the map's place. Gives the copies.
std::vector<Instruction*> InlineMap(Computation& computation, Instruction* map) {
  const Computation& body = *map->called(0);
  const auto dependent = DependentOnParameters(body);
  std::unordered_map<const Instruction*, Instruction*> scalars, arrays;
  std::vector<Instruction*> copies;
  auto insert = [&](std::unique_ptr<Instruction> copy) {
    copies.push_back(computation.InsertBefore(map, std::move(copy)));
    return copies.back();
  };
  auto array_of = [&](const Instruction* instruction) {
    Instruction*& array = arrays[instruction];
    if (array != nullptr) return array;
    array = scalars.at(instruction);
    if (map->shape().rank() > 0) {
      array = insert(std::make_unique<Instruction>(Opcode::kBroadcast, ArrayOf(instruction->shape(), map->shape()),
                                                   std::vector{array}));
    }
    return array;
  };
  for (const auto& instruction : body.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      arrays[instruction.get()] = map->operand(instruction->parameter_number());
      continue;
    }
    const bool per_element = dependent.contains(instruction.get());
    const bool is_map = instruction->opcode() == Opcode::kMap;
    const bool computes = IsElementwise(instruction->opcode()) || instruction->opcode() == Opcode::kBitcastConvert;
    if (per_element && !computes && !is_map) {
      arrays[instruction.get()] = arrays.at(instruction->operand(0));  // reshapes and the like of one element
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) {
      operands.push_back(per_element ? array_of(operand) : scalars.at(operand));
    }
    const Shape shape = per_element ? ArrayOf(instruction->shape(), map->shape()) : instruction->shape();
    Instruction* copy = insert(instruction->CloneWith(std::move(operands), shape));
    if (per_element && is_map) copy->mutable_attributes() = map->attributes();  // all dimensions of the array
    (per_element ? arrays : scalars)[instruction.get()] = copy;
  }
  Instruction* result = array_of(body.root());
  TakeOverControlEdges(map, copies);
  Replace(computation, map, result);
  return copies;
}

// get-tuple-element(tuple(..., x, ...)) is x.
void ResolveTuples(Computation& computation) {
  for (Instruction* instruction : InstructionList(computation)) {
    if (instruction->opcode() != Opcode::kGetTupleElement) continue;
    if (instruction->operand(0)->opcode() != Opcode::kTuple || !instruction->control_predecessors().empty()) continue;
    Instruction* element = instruction->operand(0)->operand(instruction->attributes<GetTupleElementAttributes>().index);
    Replace(computation, instruction, element);
  }
}

bool IsCall(const Instruction& instruction) { return IsAnyOf(instruction.opcode(), Opcode::kCall, Opcode::kFusion); }

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module) {}

  Result<bool> Run() {
    // Only what stays is made flat, from the entry down: what others put in their place is never made flat itself, so
    // the work is as large as the result. The bodies of maps must be free of calls to be judged.
    std::unordered_set<const Computation*> map_bodies;
    for (const auto& i : EachInstruction(module_)) {
      if (i->opcode() == Opcode::kMap) map_bodies.insert(i->called(0));
    }
    for (const auto& computation : module_.computations()) {  // callees first
      if (!map_bodies.contains(computation.get())) continue;
      VXLA_RETURN_IF_ERROR(Flatten(*computation, [](const Instruction& i) { return IsCall(i); }));
      forms_.Add(*computation);
    }
    std::unordered_set<const Computation*> stays{module_.entry()};
    std::vector<Computation*> callers_first;
    for (const auto& computation : module_.computations()) callers_first.push_back(computation.get());
    std::ranges::reverse(callers_first);
    for (Computation* computation : callers_first) {
      if (!stays.contains(computation)) continue;
      VXLA_RETURN_IF_ERROR(Flatten(*computation, [&](const Instruction& i) {
        return IsCall(i) || (i.opcode() == Opcode::kMap && forms_.Has(*i.called(0)));
      }));
      for (const auto& i : computation->instructions()) stays.insert(i->called().begin(), i->called().end());
    }
    if (changed_) module_.RemoveUnusedComputations();
    return changed_;
  }

 private:
  Status Flatten(Computation& computation, const std::function<bool(const Instruction&)>& should_inline) {
    std::vector<Instruction*> calls;  // the next one last
    for (auto i = computation.instructions().rbegin(); i != computation.instructions().rend(); ++i) {
      if (should_inline(**i)) calls.push_back(i->get());
    }
    if (calls.empty()) return OkStatus();
    while (!calls.empty()) {
      Instruction* call = calls.back();
      calls.pop_back();
      const auto size = static_cast<int64_t>(call->called(0)->instructions().size());
      total_ += size;
      if (total_ > kMaxInlinedInstructions) {
        return ResourceExhausted("inlining {} of {} instructions exceeds the limit of {}", call->name(), size,
                                 kMaxInlinedInstructions)
            .At(call->location());
      }
      std::vector<Instruction*> copies =
          call->opcode() == Opcode::kMap ? InlineMap(computation, call) : InlineBody(computation, call);
      std::erase_if(copies, [&](const Instruction* copy) { return !should_inline(*copy); });
      calls.insert(calls.end(), copies.rbegin(), copies.rend());
    }
    changed_ = true;
    ResolveTuples(computation);
    computation.SortTopologically();
    computation.RemoveDead();
    return OkStatus();
  }

  Module& module_;
  ArrayForms forms_;
  bool changed_ = false;
  int64_t total_ = 0;
};

}  // namespace

Result<bool> InlineCalls(Module& module) { return Inliner(module).Run(); }

}  // namespace VXLA_NAMESPACE
