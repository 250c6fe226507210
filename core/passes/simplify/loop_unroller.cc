#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostTrips = 8;
// Written out: what two or three kernels compute at most.
constexpr int64_t kMostOperations = 512;

// What a trip adds to a kernel's text; -1: something that is a kernel of its own.
int64_t OperationsOf(const Instruction& i) {
  using enum Opcode;
  if (IsAnyOf(i.opcode(), kParameter, kConstant, kTuple, kGetTupleElement, kBroadcast, kReshape, kSlice, kTranspose,
              kIota, kReverse))
    return 0;
  return IsElementwise(i.opcode()) && i.called().empty() ? ElementCost(i) : -1;
}

bool IsShort(const Instruction& loop, int64_t trips) {
  int64_t operations = 0;
  for (const auto& instruction : loop.called(1)->instructions()) {
    const int64_t own = OperationsOf(*instruction);
    if (own < 0 || instruction->HasControlEdges() || instruction->shape().IsDynamic()) return false;
    operations += own;
  }
  return operations * trips <= kMostOperations;
}

}  // namespace

bool UnrollShortLoops(Module& module) {
  return ExpandEach(
      ControlComputations(module),
      [](Computation& computation, Instruction* loop) -> Instruction* {
        if (loop->opcode() != Opcode::kWhile || loop->HasControlEdges()) return nullptr;
        const std::optional<int64_t> trips = StaticTripCount(*loop);
        // One trip is no loop, whatever it does.
        if (!trips || *trips < 1 || *trips > kMostTrips || (*trips > 1 && !IsShort(*loop, *trips))) return nullptr;
        Instruction* state = loop->operand(0);
        Expansion at(computation, loop);
        for (int64_t trip = 0; trip < *trips; ++trip)
          state = at.Add(Opcode::kCall, loop->shape(), {state}, CallAttributes{}, {loop->called(1)});
        return state;
      },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
