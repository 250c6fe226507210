#include "core/passes/one_device.h"

#include <algorithm>

#include "core/passes/expansion.h"
#include "core/replica_groups.h"

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

  // (`first`, `second`, contexts ...): what a start gives.
  Instruction* Started(Instruction* first, Instruction* second) {
    std::vector<Instruction*> elements{first, second};
    const std::vector<Shape>& shapes = instruction().shape().tuple_elements();
    for (size_t i = 2; i < shapes.size(); ++i) elements.push_back(Zeros(shapes[i]));
    return TupleOf(std::move(elements));
  }

  // The result of an exchange with itself, of that shape: the operands, or zeros in no group. Null where the run will
  // refuse the instruction.
  Instruction* Exchanged(const Shape& shape) {
    const Result<IntList> members = GroupOf(instruction(), DeviceGrid{}, 0);
    if (!members.ok()) return nullptr;
    if (members->empty()) return Zeros(shape);
    // All-to-all of a tuple has one even of one.
    Instruction* const result = shape.IsTuple() ? TupleOf(Operands()) : instruction().operand(0);
    return Compatible(result->shape(), shape) ? result : nullptr;
  }

  // Rows that the device sends to itself, entry by entry: (input, output, input offsets, sizes sent, output offsets,
  // sizes received). A row of the output is that of the last entry that reaches it.
  Instruction* Ragged() {
    const Result<IntList> members = GroupOf(instruction(), DeviceGrid{}, 0);
    if (!members.ok()) return nullptr;
    Instruction *const input = instruction().operand(0), *const output = instruction().operand(1);
    if (members->empty()) return Zeros(output->shape());
    const int64_t entries = instruction().operand(2)->shape().ElementCount();
    const int64_t rows = output->shape().rank() == 0 ? 0 : output->shape().dimension(0);
    if (entries == 0 || output->shape().ElementCount() == 0 || input->shape().ElementCount() == 0) return output;
    const IntList grid{rows, entries};
    const auto of_entry = [&](int k) {
      Instruction* const flat = Reshaped(instruction().operand(k), {entries});
      return Add(Opcode::kBroadcast, Shape(ElementType::kS32, grid), {Converted(flat, ElementType::kS32)},
                 DimensionsAttributes{{1}});
    };
    Instruction* const inside = Binary(Opcode::kSubtract, Iota(ElementType::kS32, grid, 0), of_entry(4));
    Instruction* const reached = Binary(Opcode::kAnd, Compare(ComparisonDirection::kGe, inside, Zeros(inside->shape())),
                                        Compare(ComparisonDirection::kLt, inside, of_entry(3)));
    Instruction* const from = Binary(Opcode::kAdd, inside, of_entry(2));
    // Of a row the last entry, and with it the row of the input: -1 where there is none.
    Instruction* source = nullptr;
    for (int64_t e = 0; e < entries; ++e) {
      Instruction* const here = Reshaped(Slice(reached, 1, e, e + 1), {rows});
      Instruction* const row = Reshaped(Slice(from, 1, e, e + 1), {rows});
      if (source == nullptr) source = Spread(Constant(Literal::ScalarInt(ElementType::kS32, -1)), {rows});
      source = Add(Opcode::kSelect, row->shape(), {here, row, source});
    }
    Instruction* const sent = Rows(input, source);
    Instruction* const kept = Add(Opcode::kBroadcast, Shape(ElementType::kS32, SizesOf(output->shape())), {source},
                                  DimensionsAttributes{{0}});
    Instruction* const replaced = Compare(ComparisonDirection::kGe, kept, Zeros(kept->shape()));
    return Add(Opcode::kSelect, output->shape(), {replaced, sent, output});
  }

  Instruction* Permuted(const Shape& shape) {
    const Result<Partners> partners = PartnersOf(instruction(), DeviceGrid{}, 0);
    const bool sliced = !instruction().attributes<CollectivePermuteAttributes>().slice_sizes.empty();
    if (!partners.ok() || sliced) return nullptr;
    if (!partners->source && shape.IsDynamic()) return nullptr;  // zeros as many as live
    return partners->source ? Together(Operands()) : Zeros(shape);
  }

  bool HasDynamicArray() {
    const auto operands = instruction().operands();
    return instruction().shape().IsDynamic() ||
           std::ranges::any_of(operands, [](const Instruction* operand) { return operand->shape().IsDynamic(); });
  }
};

Instruction* Expander::Value() {
  const Shape& shape = instruction().shape();
  switch (instruction().opcode()) {
    case Opcode::kReplicaId:
    case Opcode::kPartitionId:
      return Zeros(shape);
    case Opcode::kCopyStart:  // (destination, source, context)
      return Started(instruction().operand(0), instruction().operand(0));
    case Opcode::kCopyDone:
      return Element(instruction().operand(0), 0);
    case Opcode::kAsyncStart: {
      Instruction* const result =
          Add(Opcode::kCall, shape.tuple_elements()[1], Operands(), CallAttributes{}, {instruction().called(0)});
      return Started(TupleOf(Operands()), result);
    }
    case Opcode::kAsyncUpdate:
    case Opcode::kAllReduceDone:
      return instruction().operand(0);
    case Opcode::kAsyncDone:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return Element(instruction().operand(0), 1);
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
      return HasDynamicArray() ? nullptr : Ragged();
    case Opcode::kCollectivePermute:
      return Permuted(shape);
    case Opcode::kCollectivePermuteStart: {
      Instruction* const result = Permuted(shape.tuple_elements()[1]);
      return result == nullptr ? nullptr : Started(Together(Operands()), result);
    }
    default:
      return nullptr;
  }
}

}  // namespace

bool ExpandForOneDevice(Module& module) {
  std::vector<Computation*> all;
  for (const auto& computation : module.computations()) all.push_back(computation.get());
  return ExpandEach(
      all,
      [](Computation& computation, Instruction* instruction) { return Expander(computation, instruction).Expand(); },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
