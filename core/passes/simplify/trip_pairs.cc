#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kFewestTrips = 18;       // half of them are more than UnrollShortLoops writes out
constexpr int64_t kMostInstructions = 64;  // of a trip: kernels hold them twice

// Nothing that runs steps of its own, or that more than one trip at a time would change.
bool IsPlain(const Instruction& i) {
  for (const Trait trait : {Trait::kMeets, Trait::kTransfers, Trait::kDraws, Trait::kTellsPlace, Trait::kCalls}) {
    if (Has(i.opcode(), trait)) return false;
  }
  const OpcodeKind kind = KindOf(i.opcode());
  const bool is_known = Has(i.opcode(), Trait::kPassesOn) || kind == OpcodeKind::kElementwise ||
                        kind == OpcodeKind::kIndexing || kind == OpcodeKind::kAlias || kind == OpcodeKind::kKernel;
  return is_known && !i.HasControlEdges() && !i.shape().IsDynamic();
}

bool IsShort(const Computation& body) {
  int64_t count = 0;
  for (const auto& i : body.instructions()) {
    if (!IsPlain(*i)) return false;
    count += Has(i->opcode(), Trait::kPassesOn) ? 0 : 1;
  }
  return count <= kMostInstructions;
}

// Elements of the state, a bit each, that a value is computed from without another array in memory between: at its own
// places, at others, and those that a kernel of its own has read for its results at these places.
struct MadeOf {
  uint64_t own = 0, moved = 0, reduced = 0;
};

enum class Reads : uint8_t { kInPlace, kElsewhere, kByKernel };
Reads ReadsOf(const Instruction& i, int k) {
  if (k < UpdatedArrays(i) || i.opcode() == Opcode::kOptimizationBarrier) return Reads::kInPlace;
  const OpcodeKind kind = KindOf(i.opcode());
  const bool has_map = kind == OpcodeKind::kElementwise || kind == OpcodeKind::kIndexing || kind == OpcodeKind::kAlias;
  if (!has_map) return Reads::kByKernel;
  return ReadsAtOwnIndex(i, k) ? Reads::kInPlace : Reads::kElsewhere;
}

// Whether a kernel that reads it elsewhere, or more than once, reads it from memory rather than computes it again.
bool IsStored(const Instruction& i) {
  int64_t kernels = 0;
  for (const Instruction* user : i.users()) {
    for (int k = 0; k < user->operand_count(); ++k)
      kernels += user->operand(k) == &i && ReadsOf(*user, k) == Reads::kByKernel;
  }
  return StateElement(i) < 0 && (kernels > 1 || Has(i.opcode(), Trait::kDear));
}

// Whether a trip makes an array of the state from elements of it that lie elsewhere, so that it may not be written
// where it is read, or hands one on as another.
bool MovesState(const Computation& body) {
  const Shape& state = body.parameter(0)->shape();
  if (!state.IsTuple() || std::ssize(state.tuple_elements()) > 64 || body.root()->opcode() != Opcode::kTuple)
    return false;
  std::unordered_map<const Instruction*, MadeOf> made;
  for (const auto& i : body.instructions()) {
    MadeOf of;
    if (const int64_t k = StateElement(*i); k >= 0) {
      of.own = i->shape().IsArray() && i->shape().ElementCount() > 1 ? uint64_t{1} << k : 0;
    }
    for (int k = 0; k < i->operand_count(); ++k) {
      const MadeOf& from = made[i->operand(k)];
      switch (ReadsOf(*i, k)) {
        case Reads::kInPlace:
          of.own |= from.own;
          of.moved |= from.moved;
          of.reduced |= from.reduced;
          break;
        // What a kernel has made is in memory before.
        case Reads::kElsewhere:
          of.moved |= from.own | from.moved;
          break;
        case Reads::kByKernel:
          if (!IsStored(*i->operand(k))) of.reduced |= from.own | from.moved;
          break;
      }
    }
    made[i.get()] = of;
  }
  for (int k = 0; k < body.root()->operand_count(); ++k) {
    const Instruction& next = *body.root()->operand(k);
    const MadeOf& of = made[&next];
    if (((of.moved | of.reduced) >> k & 1) != 0 || (StateElement(next) != k && StateElement(next) >= 0 && of.own != 0))
      return true;
  }
  return false;
}

}  // namespace

bool PairTrips(Module& module) {
  bool changed = false;
  for (const Computation* computation : ControlComputations(module)) {
    for (const auto& loop : computation->instructions()) {
      if (loop->opcode() != Opcode::kWhile || loop->HasControlEdges()) continue;
      const std::optional<int64_t> trips = StaticTripCount(*loop);
      Computation& body = *loop->called(1);
      if (!trips || *trips < kFewestTrips || *trips % 2 != 0 || !IsShort(body) || !MovesState(body)) continue;
      Computation& twice = *module.AddComputation(body.name());
      Expansion two(twice, *body.parameter(0));
      Instruction* state = two.Parameter(loop->shape(), 0);
      for (int trip = 0; trip < 2; ++trip)
        state = two.Add(Opcode::kCall, loop->shape(), {state}, CallAttributes{}, {&body});
      two.set_root(state);
      loop->set_called(1, &twice);
      changed = true;
    }
  }
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
