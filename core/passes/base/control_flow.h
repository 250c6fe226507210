// Control flow: which computations whiles and conditionals run, and what is known of a loop before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

inline bool IsControl(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kWhile || instruction.opcode() == Opcode::kConditional;
}
// The entry and every condition, body and branch that runs for it, directly or inside another one; callers come first.
std::vector<Computation*> ControlComputations(const Module& module);

// Afterwards each condition, body and branch is called from one place only, so that passes may change it and plans may
// give its values memory. Expects callees before callers. ResourceExhausted if that takes more than
// kMaxInlinedInstructions copies.
Result<bool> SeparateControlComputations(Module& module);

// Which element of the state an instruction of a condition or body is: element 0 of a state that is no tuple. -1: none.
int64_t StateElement(const Instruction& instruction);
// Whether a loop's body hands this element of the state on as it is.
bool PassesOn(const Computation& body, int64_t element);

// Which of so many branches a conditional's selector takes: a pred that holds takes the first, an index out of range
// the last.
inline int BranchOf(int64_t selector, bool is_pred, int64_t branches) {
  if (is_pred) return selector != 0 ? 0 : 1;
  return static_cast<int>(selector < 0 || selector >= branches ? branches - 1 : selector);
}
inline int BranchOf(const Literal& selector, int64_t branches) {
  return BranchOf(selector.GetInt(0), selector.shape().element_type() == ElementType::kPred, branches);
}

// A conditional that runs the same computation on the same argument whatever its selector says becomes a call of it.
// Returns whether there was one.
bool MergeEqualBranches(Module& module);

// Scalar constants that a loop hands on unchanged become constants of its condition and body.
bool SinkLoopConstants(Module& module);

// How often a while runs its body where that does not depend on data: an integer of the state starts at a constant,
// each iteration adds or subtracts a constant, and the condition compares it with a constant. Expects a body without
// calls and fusions.
std::optional<int64_t> StaticTripCount(const Instruction& loop);
// Notes the trip counts that are known.
void NoteTripCounts(Module& module);

}  // namespace VXLA_NAMESPACE
