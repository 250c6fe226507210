#include "core/devices/replica_groups.h"
#include "core/host/ranges.h"
#include "core/mlir/importer/import_operations.h"
#include "core/ops/ops.h"

namespace VXLA_NAMESPACE::mlir {

Result<Instruction*> Lookup(Frame& frame, const Operation& operation, ValueId value) {
  const auto found = frame.values.find(value);
  if (found != frame.values.end()) return found->second;
  const Value& outside = frame.importer.program().values[value];
  return operation.NotSupported(
      "%{}, {}, comes from around the region, which only constants, scalars and arrays of up to 64 elements of some "
      "operations may",
      outside.name, PrintType(outside.type));
}

Result<Instructions> Operands(Frame& frame, const Operation& operation) {
  return Transformed(operation.operands, [&](const ValueId value) { return Lookup(frame, operation, value); });
}

Result<Instruction*> AddInferred(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                                 Attributes attributes, std::vector<Computation*> called, Shape stated) {
  const int expected = FactsOf(opcode).operand_count;
  if (expected >= 0 && operands.size() != static_cast<size_t>(expected))
    return operation.Error("{} operands, expected {}", operands.size(), expected);
  // Operations that take more than the element type from the stated shape were given a complete one.
  if (frame.importer.refines() && stated.IsArray() && HasUnknownSize(stated)) stated = Shape(stated.element_type());
  auto instruction = std::make_unique<Instruction>(opcode, std::move(stated), std::move(operands),
                                                   std::move(attributes), std::move(called));
  Result<Shape> shape = InferShape(*instruction);
  if (!shape.ok()) {
    return Status(shape.status()).WithPrefix(operation.name + ": ").At(operation.location);
  }
  instruction->mutable_shape() = *std::move(shape);
  instruction->set_location(operation.location);
  if (std::holds_alternative<CollectiveAttributes>(instruction->attributes())) {
    const Result<GroupMode> mode = GroupModeOf(*instruction);
    if (!mode.ok()) return Status(mode.status()).At(operation.location);  // all_gather_c5
    if (*mode == GroupMode::kCrossReplicaAndPartition) instruction->mutable_notes().by_partition = true;
  }
  return frame.computation->Add(std::move(instruction));
}

Status BindInferred(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                    Attributes attributes, std::vector<Computation*> called, Shape stated) {
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, opcode, std::move(operands), std::move(attributes),
                                    std::move(called), std::move(stated)));
  return BindResults(frame, operation, result);
}

Status BindValues(Frame& frame, const Operation& operation, const Instructions& values) {
  if (values.size() != operation.results.size())
    return operation.Error("{} results are stated, {} follow from the operands", operation.results.size(),
                           values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& result = frame.importer.program().values[operation.results[i]];
    const Shape& shape = values[i]->shape();
    if (frame.importer.refines() ? !Fits(result.type, shape) : !Compatible(result.type.shape, shape)) {
      return operation.Error("result {} is stated as {}, the operands give {}", i, PrintType(result.type),
                             PrintType(values[i]->shape()));
    }
    Instruction* const value = Folded(frame, values[i]);
    frame.importer.SetActual(operation.results[i], value->shape());
    frame.values[operation.results[i]] = value;
    if (!frame.importer.lanes().axes.empty()) frame.importer.lanes().axes.erase(operation.results[i]);
    std::string name = InstructionName(result.name);
    if (!name.empty() && value->name().starts_with(OpcodeText(value->opcode())))
      frame.computation->Rename(value, std::move(name));
  }
  return OkStatus();
}

Status BindResults(Frame& frame, const Operation& operation, Instruction* instruction) {
  if (operation.results.size() == 1) return BindValues(frame, operation, {instruction});
  if (!instruction->shape().IsTuple() || instruction->shape().tuple_elements().size() != operation.results.size()) {
    return operation.Error("{} results are stated, the operands give {}", operation.results.size(),
                           PrintType(instruction->shape()));
  }
  Instructions elements;
  for (size_t i = 0; i < operation.results.size(); ++i)
    elements.push_back(frame.Element(instruction, static_cast<int64_t>(i)));
  return BindValues(frame, operation, elements);
}

Result<Instruction*> Composed(Frame& frame, const Operation& operation, const Instructions& operands,
                              const BuildProgram& build) {
  XlaBuilder builder("composed");
  std::vector<XlaOp> parameters;
  for (const Instruction* operand : operands)
    parameters.push_back(Parameter(&builder, static_cast<int64_t>(parameters.size()), operand->shape()));
  const XlaOp root = build(parameters);
  if (root.builder() == nullptr) return operation.NotSupported("not supported yet");
  const Result<XlaComputation> program = builder.Build(root);
  if (!program.ok()) return operation.Error("{}", program.status().message());
  std::unordered_map<const Computation*, Computation*> callees;
  for (const auto& callee : program->module().computations()) {
    if (callee.get() == program->module().entry()) continue;
    Computation* const copy = frame.importer.module().AddComputation(callee->name());
    copy->set_root(CloneInto(*callee, *copy, {}, [&](Computation* called) { return callees.at(called); }));
    callees[callee.get()] = copy;
  }
  return CloneInto(*program->module().entry(), *frame.computation, operands,
                   [&](Computation* called) { return callees.at(called); });
}

Status BindComposed(Frame& frame, const Operation& operation, const Instructions& operands, const BuildProgram& build) {
  VXLA_ASSIGN_OR_RETURN(Instruction* const root, Composed(frame, operation, operands, build));
  return BindValues(frame, operation, {root});
}

}  // namespace VXLA_NAMESPACE::mlir
