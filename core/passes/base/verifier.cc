#include "core/passes/base/verifier.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>
#include <vector>

#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {

std::string Summary(const Instruction& instruction) {
  std::string operands;
  for (const Instruction* operand : instruction.operands()) {
    if (!operands.empty()) operands += ", ";
    operands += "%" + operand->name();
  }
  return fmt::format("{} %{} = {}({})", instruction.shape().ToString(), instruction.name(),
                     OpcodeText(instruction.opcode()), operands);
}

namespace {

using Positions = std::unordered_map<const Instruction*, size_t>;

Status InInstruction(Status status, const Instruction& instruction) {
  if (status.ok()) return status;
  std::string message = fmt::format("{} (in {}, computation {})", status.message(), Summary(instruction),
                                    instruction.parent() == nullptr ? "?" : instruction.parent()->name());
  return Status(status.code(), std::move(message), status.location()).At(instruction.location());
}

// Each dimension once.
Status CheckLayout(const Shape& shape) {
  for (const Shape& element : shape.tuple_elements()) VXLA_RETURN_IF_ERROR(CheckLayout(element));
  if (!shape.layout()) return OkStatus();
  const auto& order = shape.layout()->minor_to_major;
  std::vector<bool> seen(shape.rank(), false);
  bool valid = order.size() == static_cast<size_t>(shape.rank());
  for (int64_t dimension : order) {
    valid = valid && dimension >= 0 && dimension < shape.rank() && !seen[dimension];
    if (valid) seen[dimension] = true;
  }
  if (valid) return OkStatus();
  // layout_c1
  return InvalidArgument("layout {{{}}} does not order the dimensions of {}", JoinInts(order), shape.ToString());
}

bool MayCall(Opcode opcode) { return Has(opcode, Trait::kOnScalars, Trait::kCalls); }

Status CheckOrder(const Instruction& instruction, const Positions& positions, size_t position) {
  auto comes_first = [&](const Instruction* other, const char* what) {
    auto found = positions.find(other);
    if (found == positions.end()) {  // order_c1
      return InvalidArgument("{}: {} {} is of another computation", OpcodeText(instruction.opcode()), what,
                             other->name());
    }
    if (found->second >= position) {  // order_c2
      return InvalidArgument("{}: {} {} does not come first", OpcodeText(instruction.opcode()), what, other->name());
    }
    return OkStatus();
  };
  for (const Instruction* operand : instruction.operands()) VXLA_RETURN_IF_ERROR(comes_first(operand, "operand"));
  for (const Instruction* predecessor : instruction.control_predecessors()) {
    VXLA_RETURN_IF_ERROR(comes_first(predecessor, "control predecessor"));
  }
  return OkStatus();
}

// What applied computations have been seen to be fine; each is looked at once however many apply it.
struct Applied {
  std::unordered_set<const Computation*> seen;
  SideEffects effects;
};

// What has effects, or depends on where it runs, has no meaning there.
Status CheckApplied(const Instruction& instruction, Applied& applied) {
  std::vector<const Computation*> work(instruction.called().begin(), instruction.called().end());
  while (!work.empty()) {
    const Computation* computation = work.back();
    work.pop_back();
    if (!applied.seen.insert(computation).second) continue;
    for (const auto& inner : computation->instructions()) {
      const Opcode opcode = inner->opcode();
      const bool placed = Has(opcode, Trait::kTellsPlace) || opcode == Opcode::kCustomCall;
      const bool here = inner->called().empty() || Has(opcode, Trait::kOnScalars);  // else in what it calls
      if (placed || (here && applied.effects.Of(*inner))) {                         // called_c3
        return InvalidArgument("{} {}: not inside a computation that is applied element by element", OpcodeText(opcode),
                               inner->name())
            .At(inner->location());
      }
      work.insert(work.end(), inner->called().begin(), inner->called().end());
    }
  }
  return OkStatus();
}

Status CheckInstruction(const Instruction& instruction, Applied& applied) {
  if (Has(instruction.opcode(), Trait::kOnScalars)) VXLA_RETURN_IF_ERROR(CheckApplied(instruction, applied));
  if (!instruction.called().empty() && !MayCall(instruction.opcode())) {  // called_c2
    return InvalidArgument("{}: calls computation {}, and may call none", OpcodeText(instruction.opcode()),
                           instruction.called(0)->name());
  }
  VXLA_RETURN_IF_ERROR(CheckLayout(instruction.shape()));
  VXLA_ASSIGN_OR_RETURN(const Shape inferred, InferShape(instruction));
  const bool compatible = Compatible(inferred, instruction.shape());               // stated_c2
  if (compatible && KeepsFlags(inferred, instruction.shape())) return OkStatus();  // dynamic_c1
  const Shape should = compatible ? WithFlagsOf(instruction.shape(), inferred) : inferred;
  return InvalidArgument("{}: the stated shape {} should be {}", OpcodeText(instruction.opcode()),
                         instruction.shape().ToString(), should.ToString());
}

Status CheckParameters(const Computation& computation) {
  std::set<int64_t> numbers;
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode() != Opcode::kParameter) continue;
    const int64_t number = instruction->parameter_number();
    if (!numbers.insert(number).second) {  // parameter_c2
      return InInstruction(InvalidArgument("parameter: number {} occurs twice", number), *instruction);
    }
  }
  const int64_t count = static_cast<int64_t>(numbers.size());
  if (!numbers.empty() && (*numbers.begin() != 0 || *numbers.rbegin() != count - 1)) {  // parameter_c3
    int64_t missing = 0;
    while (numbers.contains(missing)) ++missing;
    return InvalidArgument("computation {} has {} parameters, and none has number {}", computation.name(), count,
                           missing);
  }
  return OkStatus();
}

Status CheckComputation(const Computation& computation,
                        const std::unordered_map<const Computation*, size_t>& computation_positions, Applied& applied) {
  Positions positions;
  for (const auto& instruction : computation.instructions()) positions.emplace(instruction.get(), positions.size());
  if (computation.root() == nullptr || !positions.contains(computation.root())) {  // module_c3
    return InvalidArgument("computation {} has no root", computation.name());
  }
  VXLA_RETURN_IF_ERROR(CheckParameters(computation));
  for (const auto& instruction : computation.instructions()) {
    VXLA_RETURN_IF_ERROR(
        InInstruction(CheckOrder(*instruction, positions, positions.at(instruction.get())), *instruction));
    for (const Computation* called : instruction->called()) {
      auto found = computation_positions.find(called);
      if (found == computation_positions.end() ||
          found->second >= computation_positions.at(&computation)) {  // order_c3
        return InInstruction(InvalidArgument("{}: computation {} is not defined before its caller",
                                             OpcodeText(instruction->opcode()), called->name()),
                             *instruction);
      }
    }
    VXLA_RETURN_IF_ERROR(InInstruction(CheckInstruction(*instruction, applied), *instruction));
  }
  return OkStatus();
}

Status CheckEntryLayout(const Module& module) {
  const auto& layout = module.attributes().entry_computation_layout;
  if (!layout) return OkStatus();
  const auto& [parameters, result] = *layout;
  const Computation& entry = *module.entry();
  if (parameters.size() != entry.parameters().size()) {  // entry_layout_c1
    return InvalidArgument("entry_computation_layout has {} parameters, {} has {}", parameters.size(), entry.name(),
                           entry.parameters().size());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    VXLA_RETURN_IF_ERROR(CheckLayout(parameters[i]));
    if (!Compatible(parameters[i], entry.parameter(i)->shape())) {  // entry_layout_c2
      return InvalidArgument("entry_computation_layout: parameter {} is {}, {} has {}", i, parameters[i].ToString(),
                             entry.name(), entry.parameter(i)->shape().ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(CheckLayout(result));
  if (!Compatible(result, entry.root()->shape())) {  // entry_layout_c3
    return InvalidArgument("entry_computation_layout: the result is {}, {} returns {}", result.ToString(), entry.name(),
                           entry.root()->shape().ToString());
  }
  return OkStatus();
}

Result<const Shape*> ParameterPart(const Module& module, const char* what, int64_t number, const IntList& index) {
  const Computation& entry = *module.entry();
  if (number < 0 || number >= static_cast<int64_t>(entry.parameters().size())) {  // input_output_alias_c1
    return InvalidArgument("{}: parameter {} of {}", what, number, entry.parameters().size());
  }
  const Shape* part = PartOf(entry.parameter(number)->shape(), index);
  if (part == nullptr) {  // input_output_alias_c2
    return InvalidArgument("{}: parameter {} {} has no part {{{}}}", what, number,
                           entry.parameter(number)->shape().ToString(), JoinInts(index));
  }
  return part;
}

Status CheckAliases(const Module& module) {
  std::set<IntList> outputs;
  std::set<std::pair<int64_t, IntList>> parameters;
  const Shape& result = module.entry()->root()->shape();
  for (const Aliasing& alias : module.attributes().input_output_alias) {
    const Shape* output = PartOf(result, alias.output_index);
    if (output == nullptr) {  // input_output_alias_c3
      return InvalidArgument("input_output_alias: result {} has no part {{{}}}", result.ToString(),
                             JoinInts(alias.output_index));
    }
    VXLA_ASSIGN_OR_RETURN(const Shape* input,
                          ParameterPart(module, "input_output_alias", alias.operand, alias.operand_index));
    if (!Compatible(*output, *input)) {  // input_output_alias_c4
      return InvalidArgument("input_output_alias: result {{{}}} is {}, parameter {} is {}",
                             JoinInts(alias.output_index), output->ToString(), alias.operand, input->ToString());
    }
    if (!outputs.insert(alias.output_index).second) {  // input_output_alias_c5
      return InvalidArgument("input_output_alias: result {{{}}} occurs twice", JoinInts(alias.output_index));
    }
    if (!parameters.insert({alias.operand, alias.operand_index}).second) {  // input_output_alias_c6
      return InvalidArgument("input_output_alias: parameter {} {{{}}} occurs twice", alias.operand,
                             JoinInts(alias.operand_index));
    }
  }
  for (const auto& [number, index] : module.attributes().buffer_donor) {
    VXLA_RETURN_IF_ERROR(ParameterPart(module, "buffer_donor", number, index).status());
  }
  return OkStatus();
}

}  // namespace

Status Verify(const Module& module) {
  const ModuleAttributes& attributes = module.attributes();
  if (attributes.replica_count < 1 || attributes.num_partitions < 1) {  // module_c1
    return InvalidArgument("replica_count {} and num_partitions {} must be positive", attributes.replica_count,
                           attributes.num_partitions);
  }
  std::unordered_map<const Computation*, size_t> positions;
  for (const auto& computation : module.computations()) positions.emplace(computation.get(), positions.size());
  if (module.entry() == nullptr || !positions.contains(module.entry())) {  // module_c2
    return InvalidArgument("module {} has no entry computation", module.name());
  }
  Applied applied;
  for (const auto& computation : module.computations()) {
    VXLA_RETURN_IF_ERROR(CheckComputation(*computation, positions, applied));
  }
  VXLA_RETURN_IF_ERROR(CheckCallDepth(module));  // order_c4
  VXLA_RETURN_IF_ERROR(CheckEntryLayout(module));
  return CheckAliases(module);
}

}  // namespace VXLA_NAMESPACE
