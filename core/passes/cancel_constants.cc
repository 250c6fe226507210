#include "core/passes/cancel_constants.h"

#include <cmath>
#include <optional>

#include "core/passes/call_inliner.h"
#include "core/passes/dce.h"

namespace vxla {
namespace {

// The value of a scalar constant or of a broadcast of one.
std::optional<double> SplatOf(const Instruction& i) {
  const Instruction* constant = i.opcode() == Opcode::kBroadcast ? i.operand(0) : &i;
  if (constant->opcode() != Opcode::kConstant || !constant->shape().IsScalar() ||
      !IsFloating(constant->shape().element_type()))
    return std::nullopt;
  if (constant->attributes<ConstantAttributes>().literal == nullptr) return std::nullopt;
  return constant->literal().GetDouble(0);
}

struct AddedConstant {
  Instruction* value;
  double constant;
};

// x + c, c + x and x - c as (x, +c) and (x, -c).
std::optional<AddedConstant> MatchAddedConstant(const Instruction& i) {
  if (i.opcode() != Opcode::kAdd && i.opcode() != Opcode::kSubtract) return std::nullopt;
  if (auto c = SplatOf(*i.operand(1))) return AddedConstant{i.operand(0), i.opcode() == Opcode::kAdd ? *c : -*c};
  if (auto c = SplatOf(*i.operand(0)); c && i.opcode() == Opcode::kAdd) return AddedConstant{i.operand(1), *c};
  return std::nullopt;
}

bool Cancel(Computation& computation) {
  bool changed = false;
  for (const auto& i : computation.instructions()) {
    const auto outer = MatchAddedConstant(*i);
    if (!outer || !std::isfinite(outer->constant)) continue;
    const auto inner = MatchAddedConstant(*outer->value);
    if (!inner || inner->constant != -outer->constant) continue;
    computation.ReplaceAllUses(i.get(), inner->value);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<std::unique_ptr<Module>> CancelAddedConstants(const Module& module) {
  std::unique_ptr<Module> flat = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*flat).status());
  bool changed = false;
  for (const auto& computation : flat->computations()) changed |= Cancel(*computation);
  if (!changed) return std::unique_ptr<Module>();
  RemoveDeadCode(*flat);
  flat->SortComputations();
  return flat;
}

}  // namespace vxla
