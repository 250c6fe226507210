#include "core/passes/devices/device_separation.h"

#include <algorithm>

#include "core/passes/base/expansion.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/devices/exchanges.h"
#include "core/passes/sizes/size_math.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsHostsBusiness(const Instruction& instruction) {
  return IsHostTransfer(instruction) || (instruction.opcode() == Opcode::kCustomCall && HasSideEffect(instruction));
}

bool Reduces(const Instruction& instruction) {
  const Opcode kind = KindOfCollective(instruction);
  return kind == Opcode::kAllReduce || kind == Opcode::kReduceScatter || kind == Opcode::kCollectiveReduce;
}

// How many members every group has; 0: they differ, or a device has none.
int64_t SizeOfGroups(const Instruction& instruction, const DeviceGrid& grid) {
  int64_t size = 0;
  for (int64_t device = 0; device < grid.count(); ++device) {
    const Result<IntList> group = GroupOf(instruction, grid, device);
    if (!group.ok() || group->empty() || (size != 0 && size != std::ssize(*group))) return 0;
    size = std::ssize(*group);
  }
  return size;
}

// What a reduction's call gives: its members' arrays, then which of them the device is.
Shape GatheredShape(const Instruction& reduction, int64_t members) {
  std::vector<Shape> elements;
  for (int64_t m = 0; m < members; ++m) {
    for (const Instruction* operand : reduction.operands()) elements.push_back(operand->shape());
  }
  elements.emplace_back(ElementType::kU32);
  return Shape::Tuple(std::move(elements));
}

// The reduction's result for the device, from its call.
Instruction* ReducedFrom(Expansion& make, Instruction* call, int64_t members) {
  const Instruction& reduction = make.instruction();
  const int64_t arrays = reduction.operand_count();
  Instruction* const which = make.Element(call, members * arrays);
  std::vector<Instruction*> results;
  for (int64_t k = 0; k < arrays; ++k) {
    std::vector<Instruction*> values;
    for (int64_t m = 0; m < members; ++m) values.push_back(make.Element(call, m * arrays + k));
    Instruction* result = Reduced(
        make, values, values[0]->shape().element_type(), [](Computation* c) { return c; }, MemberOrder::kPairs);
    const Shape& shape = result->shape();
    if (reduction.opcode() == Opcode::kReduceScatter) {
      const int64_t dimension = reduction.attributes<CollectiveAttributes>().dimensions[0];
      IntList sizes = SizesOf(shape);
      const int64_t size = sizes[dimension] /= members;
      std::vector<Instruction*> operands{result};
      Instruction* const rows = make.Number(ElementType::kS32, size);
      for (int64_t d = 0; d < shape.rank(); ++d) {
        operands.push_back(d == dimension ? make.Times(make.Converted(which, ElementType::kS32), rows)
                                          : make.Number(ElementType::kS32, 0));
      }
      result =
          make.Add(Opcode::kDynamicSlice, Shape(shape.element_type(), sizes), operands, DynamicSliceAttributes{sizes});
    } else if (reduction.opcode() == Opcode::kCollectiveReduce) {
      Instruction* const first = make.Compare(ComparisonDirection::kEq, which, make.Zeros(which->shape()));
      result = make.Add(Opcode::kSelect, shape, {make.Spread(first, SizesOf(shape)), result, make.Zeros(shape)});
    }
    results.push_back(result);
  }
  return reduction.shape().IsTuple() ? make.TupleOf(results) : results[0];
}

// Whether what the host does for the instruction moves and computes nothing.
bool MovesAndComputesNothing(const Instruction& instruction) {
  using enum Opcode;
  if (IsAnyOf(instruction.opcode(), kSendDone, kRecvDone)) return MovesAndComputesNothing(*instruction.operand(0));
  if (IsAnyOf(instruction.opcode(), kSend, kRecv)) return !IsHostTransfer(instruction);
  return Has(instruction.opcode(), Trait::kTellsPlace) ||
         (Has(instruction.opcode(), Trait::kMeets) && !Reduces(instruction));
}

}  // namespace

std::optional<size_t> SeparateProgram::NumberOf(const Instruction& instruction) const {
  const CallKind kind = instruction.call_kind();
  if (kind != CallKind::kExchange && kind != CallKind::kDeviceCall) return {};
  return static_cast<size_t>(instruction.attributes<CustomCallAttributes>().number);
}

SeparateProgram SeparateDevices(const Module& module, const DeviceGrid& grid, bool reduces) {
  SeparateProgram program;
  program.source = module.Clone();
  program.module = module.Clone();
  DeepProperty meets(merging::KnowsItsDevice);
  for (size_t c = 0; c < program.source->computations().size(); ++c) {
    const Computation& source = *program.source->computations()[c];
    Computation& computation = *program.module->computations()[c];
    // The text's order, which the other devices may count by.
    Instruction* last = nullptr;
    auto next = computation.instructions().begin();
    for (const auto& own : source.instructions()) {
      Instruction* at = (next++)->get();
      VXLA_CHECK(at->name() == own->name(), "a clone has the order of its source");
      if (!meets.Of(*own)) continue;
      if (merging::KnowsItsDevice(*own)) {
        const int64_t members = reduces && !TouchesLiveSizes(*own) && Reduces(*own) ? SizeOfGroups(*own, grid) : 0;
        const bool moves = MovesAndComputesNothing(*own) || members > 0;
        CustomCallAttributes attributes =
            OwnCall(moves ? CallKind::kExchange : CallKind::kDeviceCall, static_cast<int64_t>(program.calls.size()));
        attributes.custom_call_has_side_effect = true;
        program.calls.push_back({own.get(), members > 0});
        Expansion make(computation, at);
        Instruction* const call =
            make.Add(Opcode::kCustomCall, members > 0 ? GatheredShape(*own, members) : at->shape(),
                     {at->operands().begin(), at->operands().end()}, std::move(attributes));
        computation.ReplaceAllUses(at, members > 0 ? ReducedFrom(make, call, members) : call);
        computation.Remove(at);
        at = call;
      }
      if (last != nullptr) at->AddControlPredecessor(last);
      last = at;
    }
  }
  program.module->RemoveUnusedComputations();
  return program;
}

bool TalksToHost(const Module& module) {
  return std::ranges::any_of(EachInstruction(module), [](const auto& i) { return IsHostsBusiness(*i); });
}

}  // namespace VXLA_NAMESPACE
