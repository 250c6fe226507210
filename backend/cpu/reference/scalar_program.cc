#include "backend/cpu/reference/scalar_program.h"

#include <algorithm>
#include <unordered_map>

#include "backend/cpu/reference/eval.h"
#include "core/limits.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {

// Where each instruction's leaves live while a computation is compiled.
class ScalarCompiler {
 public:
  using Registers = std::vector<int>;

  // The registers of the root's leaves, given those of the arguments.
  Result<Registers> Inline(const Computation& computation, std::span<const Registers> arguments) {
    std::unordered_map<const Instruction*, Registers> values;
    inlined_ += static_cast<int64_t>(computation.instructions().size());
    if (inlined_ > kMaxInlinedInstructions) {
      return ResourceExhausted(
          "a computation of scalars that calls {} has more than {} instructions with what it calls", computation.name(),
          kMaxInlinedInstructions);
    }
    for (const auto& instruction : computation.instructions()) {
      std::vector<Registers> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(values.at(operand));
      Result<Registers> registers = instruction->opcode() == Opcode::kParameter
                                        ? arguments[static_cast<size_t>(instruction->parameter_number())]
                                        : Emit(*instruction, operands);
      if (!registers.ok()) return registers.status();
      values[instruction.get()] = *std::move(registers);
    }
    return values.at(computation.root());
  }

  Result<Registers> NewRegisters(const Instruction& instruction) {
    Registers registers;
    for (const Shape* leaf : FlattenTuple(instruction.shape())) {
      if (!leaf->IsArray() || leaf->ElementCount() != 1) {
        return Unsupported("{} {}: {} where a computation of scalars is needed", OpcodeText(instruction.opcode()),
                           instruction.name(), leaf->ToString());
      }
      registers.push_back(program.register_count_++);
    }
    return registers;
  }

  ScalarProgram program;
  ScalarProgram::Rounding rounding = ScalarProgram::Rounding::kEach;

 private:
  int64_t inlined_ = 0;  // a few lines of text can double a computation at each level
  Result<Registers> Emit(const Instruction& instruction, std::span<const Registers> operands) {
    if (IsElementwise(instruction.opcode())) return EmitElementwise(instruction, operands);
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return EmitConstant(instruction);
      case Opcode::kTuple: {
        Registers all;
        for (const Registers& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
        return all;
      }
      case Opcode::kGetTupleElement:
        return EmitElement(instruction, operands[0]);
      case Opcode::kCall:
      case Opcode::kFusion:
        return Inline(*instruction.called(0), operands);
      case Opcode::kBitcast:
      case Opcode::kBitcastConvert:
        return EmitBits(instruction, operands);
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kOptimizationBarrier:
      case Opcode::kCopy:
        return operands[0];  // one element stays one element
      default:
        return EmitGeneral(instruction, operands);
    }
  }

  Result<Registers> EmitElementwise(const Instruction& instruction, std::span<const Registers> operands) {
    ScalarProgram::Step step;
    VXLA_ASSIGN_OR_RETURN(step.run, MakeBlockOp(instruction));
    VXLA_ASSIGN_OR_RETURN(step.outputs, NewRegisters(instruction));
    for (const Registers& operand : operands) step.inputs.push_back(operand[0]);
    step.source = &instruction;
    step.type = instruction.shape().element_type();
    switch (instruction.opcode()) {  // these give values of the type as they are
      case Opcode::kCompare:
      case Opcode::kSelect:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kClamp:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
      case Opcode::kIsFinite:
        step.rounds = false;
        break;
      case Opcode::kConvert:
      case Opcode::kReducePrecision:
        break;
      default:
        step.rounds = step.type != ElementType::kF64 &&
                      (rounding == ScalarProgram::Rounding::kEach || (!IsFloating(step.type) && !IsComplex(step.type)));
    }
    const Registers result = step.outputs;
    program.steps_.push_back(std::move(step));
    return result;
  }

  // The same bits as another type of as many bytes.
  Result<Registers> EmitBits(const Instruction& instruction, std::span<const Registers> operands) {
    const ElementType from = instruction.operand(0)->shape().element_type(), to = instruction.shape().element_type();
    if (from == to) return operands[0];
    if (BitWidth(from) != BitWidth(to)) return EmitGeneral(instruction, operands);
    ScalarProgram::Step step;
    VXLA_ASSIGN_OR_RETURN(step.outputs, NewRegisters(instruction));
    step.inputs = operands[0];
    step.source = &instruction;
    step.type = to;
    step.rounds = false;
    step.run = [from, to](const void* const* in, void* out, int64_t n) {
      Block raw;
      StoreElements(from, in[0], n, raw.bytes);
      LoadElements(to, raw.bytes, n, out);
    };
    const Registers result = step.outputs;
    program.steps_.push_back(std::move(step));
    return result;
  }

  Result<Registers> EmitConstant(const Instruction& instruction) {
    if (instruction.attributes<ConstantAttributes>().literal == nullptr) {
      return InvalidArgument("constant {}: its value was elided as {{...}} in the text", instruction.name());
    }
    VXLA_ASSIGN_OR_RETURN(Registers registers, NewRegisters(instruction));
    const std::vector<const Literal*> leaves = FlattenLiteral(instruction.literal());
    for (size_t i = 0; i < registers.size(); ++i) program.constants_.emplace_back(registers[i], leaves[i]);
    return registers;
  }

  Result<Registers> EmitElement(const Instruction& instruction, const Registers& tuple) {
    const std::vector<Shape>& elements = instruction.operand(0)->shape().tuple_elements();
    const size_t index = static_cast<size_t>(instruction.attributes<GetTupleElementAttributes>().index);
    size_t first = 0;
    for (size_t i = 0; i < index; ++i) first += FlattenTuple(elements[i]).size();
    const size_t count = FlattenTuple(elements[index]).size();
    return Registers(tuple.begin() + static_cast<int64_t>(first), tuple.begin() + static_cast<int64_t>(first + count));
  }

  Result<Registers> EmitGeneral(const Instruction& instruction, std::span<const Registers> operands) {
    ScalarProgram::Step step;
    VXLA_ASSIGN_OR_RETURN(step.outputs, NewRegisters(instruction));
    for (const Registers& operand : operands) step.inputs.insert(step.inputs.end(), operand.begin(), operand.end());
    step.source = &instruction;
    step.general = true;
    step.rounds = false;
    const Registers result = step.outputs;
    program.steps_.push_back(std::move(step));
    return result;
  }
};

namespace {

// op(p0, p1) and nothing else.
const Instruction* FindSingleOp(const Computation& computation) {
  const Instruction* root = computation.root();
  if (computation.parameters().size() != 2 || root->operand_count() != 2 || !IsElementwise(root->opcode()))
    return nullptr;
  const Instruction *a = root->operand(0), *b = root->operand(1);
  if (a->opcode() != Opcode::kParameter || b->opcode() != Opcode::kParameter || a == b) return nullptr;
  if (a->parameter_number() != 0 && !Commutes(*root)) return nullptr;
  return root;
}

// Evaluates an instruction for one lane: scalars in, scalars out.
void RunLane(EvalContext& context, const ScalarProgram::Step& step, ScalarProgram::Frame& frame, int64_t lane) {
  const Instruction& instruction = *step.source;
  std::vector<Value> operands;
  size_t next = 0;
  for (const Instruction* operand : instruction.operands()) {
    std::vector<Literal> leaves;
    for (const Shape* shape : FlattenTuple(operand->shape())) {
      const ElementType type = shape->element_type();
      Literal leaf(*shape);
      StoreBlock(static_cast<std::byte*>(frame.reg(step.inputs[next++])) + lane * CarrierBytes(type), 1, leaf, 0);
      leaves.push_back(std::move(leaf));
    }
    operands.emplace_back(UnflattenLiteral(operand->shape(), leaves));
  }
  Result<Value> result = context.RunInstruction(instruction, operands);
  // Deep inside a parallel loop there is no way to return it; the message reaches the caller as it is.
  if (!result.ok()) throw InternalError(result.status().message());
  const Literal literal = std::move(*result).ToLiteral();
  const std::vector<const Literal*> leaves = FlattenLiteral(literal);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ElementType type = leaves[i]->shape().element_type();
    LoadBlock(*leaves[i], 0, 1, static_cast<std::byte*>(frame.reg(step.outputs[i])) + lane * CarrierBytes(type));
  }
}

}  // namespace

Result<ScalarProgram> ScalarProgram::Compile(const Computation& computation, Rounding rounding) {
  ScalarCompiler compiler;
  compiler.rounding = rounding;
  std::vector<ScalarCompiler::Registers> arguments;
  for (const Instruction* parameter : computation.parameters()) {
    VXLA_ASSIGN_OR_RETURN(ScalarCompiler::Registers registers, compiler.NewRegisters(*parameter));
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      compiler.program.input_types_.push_back(leaf->element_type());
    }
    compiler.program.inputs_.insert(compiler.program.inputs_.end(), registers.begin(), registers.end());
    arguments.push_back(std::move(registers));
  }
  VXLA_ASSIGN_OR_RETURN(compiler.program.outputs_, compiler.Inline(computation, arguments));
  compiler.program.single_op_ = FindSingleOp(computation);
  return std::move(compiler.program);
}

ScalarProgram::Frame::Frame(const ScalarProgram& program)
    : program_(&program), registers_(static_cast<size_t>(program.register_count_)) {}

void ScalarProgram::Frame::RunStep(const Step& step, int64_t n) {
  if (step.general) {
    static const EvaluateOptions options = [] {
      EvaluateOptions one_thread;
      one_thread.threads = 1;
      return one_thread;
    }();
    EvalContext context(options);
    for (int64_t lane = 0; lane < n; ++lane) RunLane(context, step, *this, lane);
    return;
  }
  const void* in[3] = {};
  for (size_t k = 0; k < step.inputs.size(); ++k) in[k] = registers_[step.inputs[k]].bytes;
  void* out = registers_[step.outputs[0]].bytes;
  step.run(in, out, n);
  if (step.rounds) RoundElements(step.type, out, n);
}

void ScalarProgram::Frame::FillConstants(int64_t n) {
  if (n <= splat_) return;
  for (const auto& [index, literal] : program_->constants_) LoadSplat(*literal, 0, n, registers_[index].bytes);
  splat_ = n;
}

void ScalarProgram::Frame::Run(int64_t n) {
  FillConstants(n);
  for (const Step& step : program_->steps_) RunStep(step, n);
}

}  // namespace VXLA_NAMESPACE
