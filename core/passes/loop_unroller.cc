#include "core/passes/loop_unroller.h"

#include <algorithm>

#include "core/passes/control_flow.h"
#include "core/passes/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

// Threefry has 5 trips of some 40 operations on each element.
constexpr int64_t kMostTrips = 8, kMostOperations = 512, kLeastElements = 1 << 14;

bool IsWorthUnrolling(const Instruction& loop) {
  const std::optional<int64_t> trips = StaticTripCount(loop);
  if (!trips || *trips < 1 || *trips > kMostTrips || loop.HasControlEdges()) return false;
  int64_t operations = 0, largest = 0;
  for (const auto& i : loop.called(1)->instructions()) {
    const Opcode opcode = i->opcode();
    if (opcode == Opcode::kParameter || opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement ||
        opcode == Opcode::kConstant)
      continue;
    if (!IsFusible(*i) || i->HasControlEdges()) return false;
    ++operations;
    largest = std::max(largest, i->shape().ElementCount());
  }
  return largest >= kLeastElements && operations * *trips <= kMostOperations;
}

void Unroll(Computation& computation, Instruction* loop) {
  Instruction* const root = computation.root();
  const int64_t trips = *StaticTripCount(*loop);
  Instruction* state = loop->operand(0);
  for (int64_t trip = 0; trip < trips; ++trip) {
    state = CloneInto(*loop->called(1), computation, std::vector<Instruction*>{state},
                      [](Computation* called) { return called; });
  }
  computation.set_root(root);
  computation.ReplaceAllUses(loop, state);
  computation.SortTopologically();
  computation.RemoveDead();
}

}  // namespace

bool UnrollShortLoops(Module& module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {
    for (bool again = true; again;) {
      again = false;
      for (const auto& i : computation->instructions()) {
        if (i->opcode() != Opcode::kWhile || !IsWorthUnrolling(*i)) continue;
        Unroll(*computation, i.get());
        changed = again = true;
        break;
      }
    }
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
