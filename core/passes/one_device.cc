#include "core/passes/one_device.h"

#include <algorithm>

#include "core/replica_groups.h"

namespace VXLA_NAMESPACE {
namespace {

// What takes the place of one instruction, put before it and under its name.
class Expander {
 public:
  Expander(Computation& computation, Instruction* instruction)
      : computation_(computation), instruction_(*instruction) {}

  // Null: it stays.
  Instruction* Expand() {
    Instruction* const value = Value();
    const auto operands = instruction_.operands();
    if (instruction_.control_predecessors().empty() || std::ranges::find(operands, value) == operands.end()) {
      return value;
    }
    // An operand is there before what the instruction waited for: a value of its own waits.
    return Add(Opcode::kOptimizationBarrier, value->shape(), {value});
  }

 private:
  Instruction* Value();
  Instruction* Add(Opcode opcode, const Shape& shape, std::vector<Instruction*> operands,
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {}) {
    auto added =
        std::make_unique<Instruction>(opcode, shape, std::move(operands), std::move(attributes), std::move(called));
    added->set_name(instruction_.name());
    added->set_location(instruction_.location());
    return computation_.InsertBefore(&instruction_, std::move(added));
  }

  std::vector<Instruction*> Operands() const {
    return {instruction_.operands().begin(), instruction_.operands().end()};
  }

  Instruction* Together(std::vector<Instruction*> values) {
    if (values.size() == 1) return values[0];
    return TupleOf(std::move(values));
  }

  Instruction* TupleOf(std::vector<Instruction*> values) {
    std::vector<Shape> shapes;
    for (const Instruction* value : values) shapes.push_back(value->shape());
    const Shape shape = Shape::Tuple(std::move(shapes));
    return Add(Opcode::kTuple, shape, std::move(values));
  }

  Instruction* Element(Instruction* tuple, int64_t index) {
    const Shape shape = tuple->shape().tuple_elements()[static_cast<size_t>(index)];
    return Add(Opcode::kGetTupleElement, shape, {tuple}, GetTupleElementAttributes{index});
  }

  // All bits zero; tokens as they are.
  Instruction* Zeros(const Shape& shape) {
    if (shape.IsToken()) return Add(Opcode::kAfterAll, shape, {});
    if (shape.IsTuple()) {
      std::vector<Instruction*> elements;
      for (const Shape& element : shape.tuple_elements()) elements.push_back(Zeros(element));
      return TupleOf(std::move(elements));
    }
    const Shape scalar(shape.element_type());
    Instruction* zero = Add(Opcode::kConstant, scalar, {}, ConstantAttributes{std::make_shared<Literal>(scalar)});
    return shape.IsScalar() ? zero : Add(Opcode::kBroadcast, shape, {zero}, DimensionsAttributes{});
  }

  // (`first`, `second`, contexts ...): what a start gives.
  Instruction* Started(Instruction* first, Instruction* second) {
    std::vector<Instruction*> elements{first, second};
    const std::vector<Shape>& shapes = instruction_.shape().tuple_elements();
    for (size_t i = 2; i < shapes.size(); ++i) elements.push_back(Zeros(shapes[i]));
    return TupleOf(std::move(elements));
  }

  // The result of an exchange with itself, of that shape: the operands, or zeros in no group. Null where the run will
  // refuse the instruction.
  Instruction* Exchanged(const Shape& shape) {
    const Result<IntList> members = GroupOf(instruction_, DeviceGrid{}, 0);
    if (!members.ok()) return nullptr;
    if (members->empty()) return Zeros(shape);
    // All-to-all of a tuple has one even of one.
    Instruction* const result = shape.IsTuple() ? TupleOf(Operands()) : instruction_.operand(0);
    return Compatible(result->shape(), shape) ? result : nullptr;
  }

  Instruction* Permuted(const Shape& shape) {
    const Result<Partners> partners = PartnersOf(instruction_, DeviceGrid{}, 0);
    const bool sliced = !instruction_.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
    if (!partners.ok() || sliced) return nullptr;
    return partners->source ? Together(Operands()) : Zeros(shape);
  }

  Computation& computation_;
  Instruction& instruction_;
};

Instruction* Expander::Value() {
  const Shape& shape = instruction_.shape();
  switch (instruction_.opcode()) {
    case Opcode::kReplicaId:
    case Opcode::kPartitionId:
      return Zeros(shape);
    case Opcode::kCopyStart:  // (destination, source, context)
      return Started(instruction_.operand(0), instruction_.operand(0));
    case Opcode::kCopyDone:
      return Element(instruction_.operand(0), 0);
    case Opcode::kAsyncStart: {
      Instruction* const result =
          Add(Opcode::kCall, shape.tuple_elements()[1], Operands(), CallAttributes{}, {instruction_.called(0)});
      return Started(TupleOf(Operands()), result);
    }
    case Opcode::kAsyncUpdate:
    case Opcode::kAllReduceDone:
      return instruction_.operand(0);
    case Opcode::kAsyncDone:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return Element(instruction_.operand(0), 1);
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
  bool changed = false;
  for (const auto& computation : module.computations()) {
    std::vector<Instruction*> instructions;
    for (const auto& instruction : computation->instructions()) instructions.push_back(instruction.get());
    for (Instruction* instruction : instructions) {
      Instruction* replacement = Expander(*computation, instruction).Expand();
      if (replacement == nullptr) continue;
      computation->ReplaceAllUses(instruction, replacement);
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
