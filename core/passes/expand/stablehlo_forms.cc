#include <algorithm>

#include "core/host/ranges.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

// A start does all of it where it stands; an exchange of several operands is one of one.
class Exchanges : private Expansion {
 public:
  using Expansion::Expansion;

  // Null: it stays.
  Instruction* Expand() {
    const Shape& shape = instruction().shape();
    const std::vector<Instruction*> operands(instruction().operands().begin(), instruction().operands().end());
    switch (instruction().opcode()) {
      case Opcode::kAllReduceStart:
        return Same(Opcode::kAllReduce, shape, operands);
      case Opcode::kAllGatherStart:
        return Started(Together(operands), Same(Opcode::kAllGather, shape.tuple_elements()[1], operands));
      case Opcode::kCollectivePermuteStart:
        if (!instruction().attributes<CollectivePermuteAttributes>().slice_sizes.empty()) return nullptr;
        return Started(Together(operands), Same(Opcode::kCollectivePermute, shape.tuple_elements()[1], operands));
      case Opcode::kAllToAll:
        return Exchanged(operands);
      case Opcode::kCollectivePermuteDone:
        return operands[0]->opcode() == Opcode::kCollectivePermuteStart ? nullptr : DoneAtOnce();
      default:
        return DoneAtOnce();
    }
  }

 private:
  // Operands that go to one member each: rows of one array, whose blocks do.
  Instruction* Exchanged(const std::vector<Instruction*>& operands) {
    auto attributes = instruction().attributes<CollectiveAttributes>();
    if (!attributes.dimensions.empty() || instruction().shape().IsDynamic()) return nullptr;
    attributes.dimensions = {0};
    const IntList sizes = SizesOf(operands[0]->shape());
    IntList row = sizes;
    row.insert(row.begin(), 1);
    Instruction* const given =
        Concatenated(Transformed(operands, [&](Instruction* operand) { return Reshaped(operand, row); }), 0);
    Instruction* const received = Add(Opcode::kAllToAll, given->shape(), {given}, std::move(attributes));
    std::vector<Instruction*> results;
    for (int64_t k = 0; k < std::ssize(operands); ++k) results.push_back(Reshaped(Slice(received, 0, k, k + 1), sizes));
    return instruction().shape().IsTuple() ? TupleOf(std::move(results)) : results[0];
  }

  Instruction* Same(Opcode opcode, const Shape& shape, const std::vector<Instruction*>& operands) {
    return Add(opcode, shape, operands, instruction().attributes(),
               {instruction().called().begin(), instruction().called().end()});
  }
};

// Whether expanders have something to do in a computation that they do not look into.
bool FusesWhatIsExpanded(const Module& module, ChloForms chlo) {
  const auto is = [&](const auto& instruction) {
    using enum Opcode;
    return IsAnyOf(instruction->opcode(), kBitcast, kStochasticConvert, kScaledDot) ||
           (instruction->opcode() == kRaggedDot && chlo == ChloForms::kExpanded);
  };
  return std::ranges::any_of(EachInstruction(module), [&](const auto& i) {
    return i->opcode() == Opcode::kFusion && std::ranges::any_of(i->called(0)->instructions(), is);
  });
}

}  // namespace

Result<std::unique_ptr<Module>> WithStablehloForms(const Module& module, ChloForms chlo) {
  std::unique_ptr<Module> forms = module.Clone();
  auto all = Transformed(forms->computations(), [&](const auto& computation) { return computation.get(); });
  ExpandEach(
      all,
      [](Computation& computation, Instruction* instruction) { return Exchanges(computation, instruction).Expand(); },
      LiveSizesIn::kExpanded);
  if (chlo == ChloForms::kExpanded) ExpandScans(*forms);
  if (FusesWhatIsExpanded(*forms, chlo)) VXLA_RETURN_IF_ERROR(InlineCalls(*forms).status());
  ExpandBitcasts(*forms);
  ExpandStochasticConverts(*forms);
  ExpandDots(*forms, [&](const Instruction& dot) {
    return dot.opcode() == Opcode::kScaledDot || (dot.opcode() == Opcode::kRaggedDot && chlo == ChloForms::kExpanded);
  });
  return forms;
}

}  // namespace VXLA_NAMESPACE
