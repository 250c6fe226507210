#include "core/mlir/printer/printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/guarded.h"
#include "core/host/ranges.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/mlir/lexer.h"
#include "core/mlir/printer/printer_impl.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Status NotSupported(const Instruction& instruction, std::string_view why) {
  return Unsupported("{} ({}): {}", PathOf(instruction), OpcodeText(instruction.opcode()), why)
      .At(instruction.location());
}

std::string TypesOf(const std::vector<const Shape*>& shapes) {
  return "(" + Join(Transformed(shapes, [](const Shape* shape) { return PrintType(*shape); })) + ")";
}

// Where the leaves of element `index` of a tuple begin and end among the tuple's.
std::pair<size_t, size_t> LeavesOf(const Shape& tuple, int64_t index) {
  size_t begin = 0;
  for (int64_t i = 0; i < index; ++i) begin += FlattenTuple(tuple.tuple_elements()[i]).size();
  return {begin, begin + FlattenTuple(tuple.tuple_elements()[index]).size()};
}

Status CheckShape(const Instruction& instruction) {
  for (const Shape* leaf : FlattenTuple(instruction.shape())) {
    const ElementType type = leaf->element_type();
    if (type == ElementType::kOpaque || type == ElementType::kS1)
      return NotSupported(instruction, fmt::format("StableHLO has no {}", ElementTypeName(type)));
  }
  return OkStatus();
}

// What an instruction hands on unchanged: its operand's leaves are its own.
bool IsAlias(const Instruction& instruction) {
  return IsAnyOf(instruction.opcode(), Opcode::kCopy, Opcode::kAddDependency, Opcode::kDomain);
}

}  // namespace

std::string StablehloPrinter::NewName() { return fmt::format("%{}", next_name_++); }

void StablehloPrinter::Line(const std::string& text) {
  out_.append(2 * static_cast<size_t>(depth_), ' ');
  out_ += text;
  out_ += '\n';
}

// "%0, %1 = ", with names for the leaves; empty for a result without any.
std::string StablehloPrinter::Results(const Instruction& instruction, Names& names) {
  names.clear();
  for (size_t i = FlattenTuple(instruction.shape()).size(); i > 0; --i) names.push_back(NewName());
  return names.empty() ? "" : Join(names) + " = ";
}

std::string StablehloPrinter::Arguments(const Computation& computation, Values& values) {
  Names arguments;
  for (const Instruction* parameter : computation.parameters()) {
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      values[parameter].push_back(NewName());
      arguments.push_back(values[parameter].back() + ": " + PrintType(*leaf));
    }
  }
  return Join(arguments);
}

std::string StablehloPrinter::FunctionName(const Computation* computation) {
  auto& name = functions_[computation];
  if (name.empty()) {
    name = computation->name() == "main" ? "main_" : computation->name();
    pending_.push_back(computation);
  }
  return QuoteMlir(name);
}

Result<std::string> StablehloPrinter::Print() {
  const ModuleAttributes& attributes = module_.attributes();
  out_ = fmt::format("module @{} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = {} : i32}} {{\n",
                     QuoteMlir(module_.name().empty() ? "module" : module_.name()), attributes.num_partitions,
                     attributes.replica_count);
  VXLA_RETURN_IF_ERROR(PrintFunction(*module_.entry(), true));
  for (size_t i = 0; i < pending_.size(); ++i) VXLA_RETURN_IF_ERROR(PrintFunction(*pending_[i], false));
  out_ += "}\n";
  return std::move(out_);
}

Status StablehloPrinter::PrintFunction(const Computation& computation, bool is_entry) {
  next_name_ = 0;
  Values values;
  for (const Instruction* parameter : computation.parameters()) VXLA_RETURN_IF_ERROR(CheckShape(*parameter));
  const std::string arguments = Arguments(computation, values);
  const std::string name = is_entry ? "main" : QuoteMlir(functions_.at(&computation));
  const std::vector<const Shape*> results = FlattenTuple(computation.root()->shape());
  Line(
      fmt::format("func.func {} @{}({}) -> {} {{", is_entry ? "public" : "private", name, arguments, TypesOf(results)));
  ++depth_;
  VXLA_ASSIGN_OR_RETURN(const Names root, PrintBody(computation, values));
  Line(fmt::format("\"func.return\"({}) : {} -> ()", Join(root), TypesOf(results)));
  --depth_;
  Line("}");
  return OkStatus();
}

Result<StablehloPrinter::Names> StablehloPrinter::PrintBody(const Computation& computation, Values& values) {
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    VXLA_RETURN_IF_ERROR(PrintInstruction(*instruction, values));
  }
  return values.at(computation.root());
}

Status StablehloPrinter::PrintRegion(const Computation& computation) {
  Values values;
  const std::string arguments = Arguments(computation, values);
  out_ += "{\n";
  ++depth_;
  Line("^bb0(" + arguments + "):");
  return PrintRegionEnd(computation, values);
}

Status StablehloPrinter::PrintRegionEnd(const Computation& computation, Values& values) {
  VXLA_ASSIGN_OR_RETURN(const Names root, PrintBody(computation, values));
  Line(fmt::format("\"stablehlo.return\"({}) : {} -> ()", Join(root),
                   TypesOf(FlattenTuple(computation.root()->shape()))));
  --depth_;
  out_.append(2 * static_cast<size_t>(depth_), ' ');
  out_ += "}";
  return OkStatus();
}

Status StablehloPrinter::PrintBranch(const Computation& computation, const Names& argument) {
  Values values;
  values[computation.parameter(0)] = argument;
  out_ += "{\n";
  ++depth_;
  return PrintRegionEnd(computation, values);
}

// ---- instructions

Result<std::string> StablehloPrinter::NameOf(const Instruction& instruction) const {
  const Opcode opcode = instruction.opcode();
  const std::string_view text = FactsOf(opcode).stablehlo_text;
  if (IsElementwise(opcode) && text.empty()) {
    std::string name(OpcodeText(opcode));
    std::ranges::replace(name, '-', '_');
    return "chlo." + name;
  }
  if (opcode == Opcode::kTopK) return std::string("chlo.top_k");
  if (opcode == Opcode::kScan) return std::string("chlo.scan");
  if (opcode == Opcode::kRaggedDot) return std::string("chlo.ragged_dot");
  if (opcode == Opcode::kCollectiveReduce && instruction.attributes<CollectiveAttributes>().channel_id)
    return NotSupported(instruction, "with a channel its groups are of partitions in StableHLO, of devices here");
  if (opcode == Opcode::kSetDimensionSize) return std::string("stablehlo.set_dimension_size");
  if (opcode == Opcode::kBitcast && SameDimensions(instruction.shape(), instruction.operand(0)->shape()) == false &&
      !instruction.shape().layout() && !instruction.operand(0)->shape().layout())
    return std::string("stablehlo.reshape");
  if (opcode == Opcode::kAllToAll && instruction.attributes<CollectiveAttributes>().dimensions.empty())
    return NotSupported(instruction, "StableHLO's splits each operand, here each goes to one member");
  if (text.empty() || IsAnyOf(opcode, Opcode::kAsyncStart, Opcode::kAsyncDone, Opcode::kDynamicReshape))
    return NotSupported(instruction, "StableHLO has no such operation");
  return "stablehlo." + std::string(text);
}

std::pair<StablehloPrinter::Names, std::vector<const Shape*>> StablehloPrinter::OperandsOf(
    const Instruction& instruction, const Values& values) const {
  std::pair<Names, std::vector<const Shape*>> operands;
  for (const Instruction* operand : instruction.operands()) {
    const Names& names = values.at(operand);
    operands.first.insert(operands.first.end(), names.begin(), names.end());
    for (const Shape* leaf : FlattenTuple(operand->shape())) operands.second.push_back(leaf);
  }
  return operands;
}

Status StablehloPrinter::PrintInstruction(const Instruction& instruction, Values& values) {
  VXLA_RETURN_IF_ERROR(CheckShape(instruction));
  auto [operands, shapes] = OperandsOf(instruction, values);
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return PrintConstant(instruction, values);
    case Opcode::kTuple:
      values[&instruction] = operands;
      return OkStatus();
    case Opcode::kGetTupleElement: {
      const int64_t index = instruction.attributes<GetTupleElementAttributes>().index;
      const auto [begin, end] = LeavesOf(instruction.operand(0)->shape(), index);
      values[&instruction] = Names(operands.begin() + begin, operands.begin() + end);
      return OkStatus();
    }
    case Opcode::kFusion: {
      Values inner;
      const Computation& fused = *instruction.called(0);
      for (int i = 0; i < instruction.operand_count(); ++i)
        inner[fused.parameter(i)] = values.at(instruction.operand(i));
      VXLA_ASSIGN_OR_RETURN(values[&instruction], PrintBody(fused, inner));
      return OkStatus();
    }
    case Opcode::kCall: {
      const std::string callee = FunctionName(instruction.called(0));
      return PrintOperation(instruction, values, "func.call", operands, shapes, "callee = @" + callee);
    }
    case Opcode::kConditional:
      return PrintConditional(instruction, values);
    case Opcode::kRng:
      return PrintRng(instruction, values);
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return PrintTransfer(instruction, values);
    default:
      break;
  }
  if (IsAlias(instruction)) {
    values[&instruction] = values.at(instruction.operand(0));
    return OkStatus();
  }
  VXLA_ASSIGN_OR_RETURN(const std::string name, NameOf(instruction));
  VXLA_ASSIGN_OR_RETURN(std::string properties, PrintProperties(instruction));
  if (instruction.opcode() == Opcode::kCustomCall && !instruction.called().empty()) {
    Names called;
    for (const Computation* computation : instruction.called()) called.push_back("@" + FunctionName(computation));
    properties += fmt::format(", called_computations = [{}]", Join(called));
  }
  return PrintOperation(instruction, values, name, operands, shapes, properties);
}

// %r = "name"(operands) <{properties}> (regions) : types
Status StablehloPrinter::PrintOperation(const Instruction& instruction, Values& values, const std::string& name,
                                        const Names& operands, const std::vector<const Shape*>& operand_shapes,
                                        const std::string& properties) {
  Names results;
  const std::string assigned = Results(instruction, results);
  out_.append(2 * static_cast<size_t>(depth_), ' ');
  out_ += fmt::format("{}\"{}\"({})", assigned, name, Join(operands));
  if (!properties.empty()) out_ += " <{" + properties + "}>";
  const bool calls = instruction.opcode() == Opcode::kCall || instruction.opcode() == Opcode::kCustomCall;
  for (size_t i = 0; i < instruction.called().size() && !calls; ++i) {
    out_ += i == 0 ? " (" : ", ";
    VXLA_RETURN_IF_ERROR(PrintRegion(*instruction.called(i)));
    if (i + 1 == instruction.called().size()) out_ += ")";
  }
  out_ += fmt::format(" : {} -> {}\n", TypesOf(operand_shapes), TypesOf(FlattenTuple(instruction.shape())));
  values[&instruction] = std::move(results);
  return OkStatus();
}

Status StablehloPrinter::PrintConstant(const Instruction& instruction, Values& values) {
  const auto& whole = instruction.attributes<ConstantAttributes>().literal;
  if (whole == nullptr) return NotSupported(instruction, "its value is elided");
  Names& names = values[&instruction];
  for (const Literal* leaf : FlattenLiteral(*whole)) {
    names.push_back(NewName());
    const std::string type = PrintType(leaf->shape());
    Line(fmt::format("{} = \"stablehlo.constant\"() <{{value = dense<{}> : {}}}> : () -> {}", names.back(),
                     PrintDense(*leaf), type, type));
  }
  return OkStatus();
}

Status StablehloPrinter::PrintConditional(const Instruction& instruction, Values& values) {
  const Instruction& index = *instruction.operand(0);
  const bool pred = index.shape().element_type() == ElementType::kPred;
  Names results;
  const std::string assigned = Results(instruction, results);
  out_.append(2 * static_cast<size_t>(depth_), ' ');
  out_ += fmt::format("{}\"stablehlo.{}\"({}) (", assigned, pred ? "if" : "case", Join(values.at(&index)));
  for (size_t i = 0; i < instruction.called().size(); ++i) {
    if (i > 0) out_ += ", ";
    const int branch = static_cast<int>(i);
    VXLA_RETURN_IF_ERROR(PrintBranch(*instruction.called(branch), values.at(instruction.operand(branch + 1))));
  }
  out_ += fmt::format(") : ({}) -> {}\n", PrintType(index.shape()), TypesOf(FlattenTuple(instruction.shape())));
  values[&instruction] = std::move(results);
  return OkStatus();
}

// With the shape as a third operand.
Status StablehloPrinter::PrintRng(const Instruction& instruction, Values& values) {
  const auto sizes = instruction.shape().dimensions();
  const Shape list(ElementType::kS64, {std::ssize(sizes)});
  const std::string name = NewName(), type = PrintType(list);
  Line(fmt::format("{} = \"stablehlo.constant\"() <{{value = dense<{}> : {}}}> : () -> {}", name,
                   sizes.empty() ? "" : "[" + JoinInts(sizes, ", ") + "]", type, type));
  auto [operands, shapes] = OperandsOf(instruction, values);
  operands.push_back(name);
  shapes.push_back(&list);
  VXLA_ASSIGN_OR_RETURN(const std::string properties, PrintProperties(instruction));
  return PrintOperation(instruction, values, "stablehlo.rng", operands, shapes, properties);
}

// send and recv are one operation each: the first half gives what it was given, the second one prints.
Status StablehloPrinter::PrintTransfer(const Instruction& instruction, Values& values) {
  const bool send = instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kSendDone;
  if (instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kRecv) {
    for (const Instruction* user : instruction.users()) {
      if (user->opcode() != Opcode::kSendDone && user->opcode() != Opcode::kRecvDone)
        return NotSupported(instruction, "its context is used by another instruction than its done");
    }
    values[&instruction] = {};
    return OkStatus();
  }
  const Instruction& start = *instruction.operand(0);
  const auto [operands, shapes] = OperandsOf(start, values);
  VXLA_ASSIGN_OR_RETURN(const std::string properties, PrintProperties(start));
  return PrintOperation(instruction, values, send ? "stablehlo.send" : "stablehlo.recv", operands, shapes, properties);
}

Result<std::string> PrintStablehlo(const Module& module) {
  if (IsDynamicProgram(module)) return PrintProgram(DynamicProgram::Of(module).program());
  return Guarded([&] { return StablehloPrinter(module).Print(); });
}

}  // namespace VXLA_NAMESPACE::mlir
