#include "core/passes/devices/one_device.h"

#include <algorithm>

#include "core/devices/replica_groups.h"
#include "core/passes/devices/exchanges.h"

namespace VXLA_NAMESPACE {
namespace {

class Expander : private Expansion {
 public:
  using Expansion::Expansion;

  // Null: it stays.
  Instruction* Expand() {
    Instruction* const value = Value();
    const auto operands = instruction().operands();
    if (instruction().control_predecessors().empty() || std::ranges::find(operands, value) == operands.end()) {
      return value;
    }
    // An operand is there before what the instruction waited for: a value of its own waits.
    return Add(Opcode::kOptimizationBarrier, value->shape(), {value});
  }

 private:
  Instruction* Value();

  std::vector<Instruction*> Operands() const {
    return {instruction().operands().begin(), instruction().operands().end()};
  }

  // The result of an exchange with itself, of that shape: the operands, or zeros in no group. Null where the run will
  // refuse the instruction.
  Instruction* Exchanged(const Shape& shape) {
    const Result<IntList> members = GroupOf(instruction(), DeviceGrid{}, 0);
    if (!members.ok()) return nullptr;
    if (members->empty()) return ZerosLike(*this, shape, Operands());
    // All-to-all of a tuple has one even of one.
    Instruction* const result = shape.IsTuple() ? TupleOf(Operands()) : instruction().operand(0);
    return Compatible(result->shape(), shape) ? UnderFlags(*this, result, shape) : nullptr;
  }

  Instruction* Ragged() {
    const Result<IntList> members = GroupOf(instruction(), DeviceGrid{}, 0);
    if (!members.ok()) return nullptr;
    if (members->empty()) return ZerosLike(*this, instruction().shape(), Operands());
    return UnderFlags(*this, RaggedReceived(*this, {Operands()}, 0), instruction().shape());
  }

  Instruction* Permuted(const Shape& shape) {
    const Result<Partners> partners = PartnersOf(instruction(), DeviceGrid{}, 0);
    if (!partners.ok()) return nullptr;
    if (IsSliced()) {
      if (SlicesNeedWholeDimensions(instruction())) return nullptr;  // only the reference checks that
      return partners->source ? SlicesReceived(*this, Operands(), Operands()) : instruction().operand(1);
    }
    if (!partners->source) return ZerosLike(*this, shape, Operands());
    return UnderFlags(*this, Together(Operands()), shape);
  }

  bool IsSliced() { return !instruction().attributes<CollectivePermuteAttributes>().slice_sizes.empty(); }
};

Instruction* Expander::Value() {
  const Shape& shape = instruction().shape();
  switch (instruction().opcode()) {
    case Opcode::kReplicaId:
    case Opcode::kPartitionId:
      return Zeros(shape);
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllGather:
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
      return Exchanged(shape);
    case Opcode::kAllGatherStart: {
      Instruction* const result = Exchanged(shape.tuple_elements()[1]);
      return result == nullptr ? nullptr : Started(Together(Operands()), result);
    }
    case Opcode::kRaggedAllToAll:
      return Ragged();
    case Opcode::kCollectivePermute:
      return Permuted(shape);
    case Opcode::kCollectivePermuteStart: {
      Instruction* const result = Permuted(shape.tuple_elements()[1]);
      return result == nullptr ? nullptr : Started(IsSliced() ? Operands()[0] : Together(Operands()), result);
    }
    default:
      return DoneAtOnce();
  }
}

}  // namespace

bool ExpandForOneDevice(Module& module) {
  return ExpandEach(
      AllComputations(module),
      [](Computation& computation, Instruction* instruction) { return Expander(computation, instruction).Expand(); },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
