#include "core/passes/base/control_flow.h"

#include <algorithm>
#include <unordered_map>

#include "core/ir/module_edits.h"
#include "core/numerics/integer_type.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/cse.h"
#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

// Counting further than this while compiling would take longer than a few read-backs save.
constexpr int64_t kMostCountedIterations = int64_t{1} << 22;

class Separator {
 public:
  explicit Separator(Module& module) : module_(module) {
    for (const auto& instruction : EachInstruction(module)) {
      for (const Computation* called : instruction->called()) ++calls_[called];
    }
  }

  // Callers are visited before what they call, so a copy's own callees are separated too.
  Status Visit(Computation& computation) {
    for (Instruction* instruction : InstructionList(computation)) {
      if (!IsControl(*instruction)) continue;
      for (int i = 0; i < static_cast<int>(instruction->called().size()); ++i) {
        if (calls_[instruction->called(i)] > 1) VXLA_RETURN_IF_ERROR(Copy(*instruction, i));
        VXLA_RETURN_IF_ERROR(Visit(*instruction->called(i)));
      }
    }
    return OkStatus();
  }

  bool changed() const { return copied_ > 0; }

 private:
  Status Copy(Instruction& caller, int index) {
    Computation* shared = caller.called(index);
    copied_ += static_cast<int64_t>(shared->instructions().size());
    if (copied_ > kMaxInlinedInstructions) {
      return ResourceExhausted("copying {} for {} exceeds the limit of {} copied instructions", shared->name(),
                               caller.name(), kMaxInlinedInstructions)
          .At(caller.location());
    }
    --calls_[shared];
    Computation* copy = module_.AddComputation(shared->name());
    copy->set_root(CloneInto(*shared, *copy, {}, [](Computation* called) { return called; }));
    for (const auto& instruction : copy->instructions()) {
      for (const Computation* called : instruction->called()) ++calls_[called];
    }
    calls_[copy] = 1;
    caller.set_called(index, copy);
    return OkStatus();
  }

  Module& module_;
  std::unordered_map<const Computation*, int> calls_;
  int64_t copied_ = 0;
};

// Element `k` of a loop's initial state or of what its body returns; null where no single instruction is it.
Instruction* ElementOf(Instruction* value, int64_t k) {
  if (!value->shape().IsTuple()) return value;
  return value->opcode() == Opcode::kTuple ? value->operand(k) : nullptr;
}

bool IsKnownScalar(const Instruction* i) {
  return i != nullptr && i->shape().IsScalar() && i->known_literal() != nullptr;
}

// Uses of a state element read a constant instead; the element of the returned tuple stays what it is.
bool ReplaceElement(Computation& computation, Instruction* element, const Instruction& constant) {
  Instruction* const root = computation.root();
  std::vector<Instruction*> users(element->users().begin(), element->users().end());
  if (root->opcode() == Opcode::kTuple) std::erase(users, root);
  if (users.empty()) return false;
  Instruction* added = computation.InsertBefore(element, constant.CloneWith({}));
  for (Instruction* user : users) user->ReplaceOperand(element, added);
  return true;
}

bool SinkInto(Instruction& loop) {
  Instruction* const initial = loop.operand(0);
  if (initial->opcode() != Opcode::kTuple) return false;
  std::vector<const Instruction*> constants(static_cast<size_t>(initial->operand_count()));
  bool any = false;
  for (int k = 0; k < initial->operand_count(); ++k) {
    if (!IsKnownScalar(initial->operand(k)) || !PassesOn(*loop.called(1), k)) continue;
    constants[k] = initial->operand(k);
    any = true;
  }
  if (!any) return false;
  bool changed = false;
  for (Computation* computation : loop.called()) {
    for (Instruction* i : InstructionList(*computation)) {
      if (i->opcode() != Opcode::kGetTupleElement || StateElement(*i) < 0) continue;
      const Instruction* constant = constants.at(static_cast<size_t>(StateElement(*i)));
      if (constant != nullptr) changed |= ReplaceElement(*computation, i, *constant);
    }
  }
  return changed;
}

struct Count {
  int64_t start = 0, step = 0, limit = 0;
  ComparisonDirection direction = ComparisonDirection::kLt;
  bool counter_first = true;
  IntegerType type{ElementType::kS32};

  std::optional<int64_t> Iterations() const {
    int64_t counter = start;
    for (int64_t n = 0; n <= kMostCountedIterations; ++n) {
      const int64_t a = counter_first ? counter : limit, b = counter_first ? limit : counter;
      if (!type.Compares(direction, a, b)) return n;
      counter = type.Wrapped(static_cast<uint64_t>(counter) + static_cast<uint64_t>(step));
    }
    return std::nullopt;
  }
};

// What each iteration adds to state element `k`, or nothing if that is not a constant.
std::optional<int64_t> StepOf(const Computation& body, int64_t k) {
  uint64_t step = 0;
  const Instruction* const last = ElementOf(body.root(), k);
  const Instruction* next = last;
  // Of several trips at once there are several additions.
  while (next != nullptr && StateElement(*next) != k) {
    if (next->opcode() != Opcode::kAdd && next->opcode() != Opcode::kSubtract) return std::nullopt;
    const bool adds = next->opcode() == Opcode::kAdd, right = IsKnownScalar(next->operand(1));
    if (!right && !(adds && IsKnownScalar(next->operand(0)))) return std::nullopt;
    const auto own = static_cast<uint64_t>(next->operand(right ? 1 : 0)->literal().GetInt(0));
    step += adds ? own : 0 - own;
    next = next->operand(right ? 0 : 1);
  }
  // Handed on as it is, it counts nothing.
  if (next == nullptr || next == last) return std::nullopt;
  return static_cast<int64_t>(step);
}

}  // namespace

int64_t StateElement(const Instruction& i) {
  if (i.opcode() == Opcode::kParameter) return i.shape().IsTuple() ? -1 : 0;
  if (i.opcode() != Opcode::kGetTupleElement || i.operand(0)->opcode() != Opcode::kParameter) return -1;
  return i.attributes<GetTupleElementAttributes>().index;
}

bool PassesOn(const Computation& body, int64_t k) {
  if (body.root() == body.parameter(0)) return true;
  const Instruction* element = ElementOf(body.root(), k);
  return element != nullptr && StateElement(*element) == k;
}

std::vector<Computation*> ControlComputations(const Module& module) {
  std::vector<Computation*> list{module.entry()};
  std::unordered_set<const Computation*> listed{module.entry()};
  for (size_t next = 0; next < list.size(); ++next) {
    for (const auto& instruction : list[next]->instructions()) {
      if (!IsControl(*instruction)) continue;
      for (Computation* called : instruction->called()) {
        if (listed.insert(called).second) list.push_back(called);
      }
    }
  }
  return list;
}

Result<bool> SeparateControlComputations(Module& module) {
  Separator separator(module);
  VXLA_RETURN_IF_ERROR(separator.Visit(*module.entry()));
  if (separator.changed()) {
    module.RemoveUnusedComputations();
    module.SortComputations();
  }
  return separator.changed();
}

bool MergeEqualBranches(Module& module) {
  const bool changed = ExpandEach(
      AllComputations(module),
      [](Computation& computation, Instruction* i) -> Instruction* {
        if (i->opcode() != Opcode::kConditional) return nullptr;
        for (int k = 1; k < static_cast<int>(i->called().size()); ++k) {
          if (i->operand(k + 1) != i->operand(1) || !SameStructure(*i->called(k), *i->called(0))) return nullptr;
        }
        return Expansion(computation, i)
            .Add(Opcode::kCall, i->shape(), {i->operand(1)}, CallAttributes{}, {i->called(0)});
      },
      LiveSizesIn::kExpanded);
  if (changed) module.RemoveUnusedComputations();
  return changed;
}

bool SinkLoopConstants(Module& module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {  // callers first: what sinks may sink further
    for (Instruction* i : InstructionList(*computation)) {
      if (i->opcode() == Opcode::kWhile) changed |= SinkInto(*i);
    }
  }
  return changed;
}

std::optional<int64_t> StaticTripCount(const Instruction& loop) {
  const Instruction& test = *loop.called(0)->root();
  SideEffects effects;
  const bool acts = std::ranges::any_of(loop.called(0)->instructions(), [&](const auto& i) { return effects.Of(*i); });
  if (test.opcode() != Opcode::kCompare || acts) return std::nullopt;
  Count count;
  count.counter_first = IsKnownScalar(test.operand(1));
  const Instruction* limit = test.operand(count.counter_first ? 1 : 0);
  const Instruction* counter = test.operand(count.counter_first ? 0 : 1);
  const ElementType type = counter->shape().element_type();
  const int64_t k = StateElement(*counter);
  if (!IsKnownScalar(limit) || k < 0 || !counter->shape().IsScalar() || !IsInteger(type)) return std::nullopt;
  const Instruction* start = ElementOf(loop.operand(0), k);
  const std::optional<int64_t> step = StepOf(*loop.called(1), k);
  if (!IsKnownScalar(start) || !step) return std::nullopt;
  count.start = start->literal().GetInt(0);
  count.step = *step;
  count.limit = limit->literal().GetInt(0);
  count.direction = test.attributes<CompareAttributes>().direction;
  count.type = IntegerType(type);
  return count.Iterations();
}

void NoteTripCounts(Module& module) {
  for (Computation* computation : ControlComputations(module)) {
    for (Instruction* i : InstructionList(*computation)) {
      if (i->opcode() != Opcode::kWhile) continue;
      i->mutable_notes().trip_count = StaticTripCount(*i);
    }
  }
}

}  // namespace VXLA_NAMESPACE
