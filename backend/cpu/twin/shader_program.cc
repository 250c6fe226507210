#include "backend/cpu/twin/shader_program.h"

#include <cstring>
#include <unordered_map>

namespace VXLA_NAMESPACE {

void RunShaderCalls(std::span<const ShaderCall> calls, const void* const* in, void* out, int64_t n,
                    ShaderScratch& scratch) {
  // Two places in turn: a call may not write over carriers of another size that it still has to read.
  std::byte* const half[2] = {scratch.first.bytes, scratch.second.bytes};
  const void* before[1] = {nullptr};
  for (size_t i = 0; i < calls.size(); ++i) {
    void* to = i + 1 == calls.size() ? out : half[i % 2];
    calls[i].function.run(i == 0 ? in : before, to, n, calls[i].immediates.data());
    before[0] = to;
  }
}

Status ShaderProgram::Add(const Computation& computation, std::span<const int> arguments, std::vector<int>* results) {
  std::unordered_map<const Instruction*, int> reg;
  for (const auto& owned : computation.instructions()) {
    const Instruction& instruction = *owned;
    const Opcode opcode = instruction.opcode();
    if (opcode == Opcode::kTuple && &instruction == computation.root()) continue;
    std::vector<int> inputs;
    for (const Instruction* operand : instruction.operands()) inputs.push_back(reg.at(operand));
    if (!instruction.shape().IsScalar()) {
      return Unsupported("a reducer of {} has no kernel", instruction.shape().ToString());
    }
    switch (opcode) {
      case Opcode::kParameter:
        reg[&instruction] = arguments[static_cast<size_t>(instruction.parameter_number())];
        continue;
      case Opcode::kConstant:
        reg[&instruction] = registers_++;
        constants_.emplace_back(reg[&instruction], &instruction.literal());
        continue;
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kMap: {
        std::vector<int> inner;
        VXLA_RETURN_IF_ERROR(Add(*instruction.called(0), inputs, &inner));
        reg[&instruction] = inner.at(0);
        continue;
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kTranspose:
        reg[&instruction] = inputs.at(0);
        continue;
      default:
        break;
    }
    if (!IsElementwise(opcode)) return Unsupported("a reducer with {} has no kernel", OpcodeText(opcode));
    Step step;
    VXLA_ASSIGN_OR_RETURN(step.calls, ShaderCallsOf(instruction));
    if (step.calls.empty()) {
      reg[&instruction] = inputs.at(0);
      continue;
    }
    step.inputs = std::move(inputs);
    step.output = registers_++;
    reg[&instruction] = step.output;
    steps_.push_back(std::move(step));
  }
  const Instruction& root = *computation.root();
  if (root.opcode() != Opcode::kTuple) {
    results->push_back(reg.at(&root));
  } else {
    for (const Instruction* operand : root.operands()) results->push_back(reg.at(operand));
  }
  return OkStatus();
}

Result<ShaderProgram> ShaderProgram::Compile(const Computation& computation) {
  ShaderProgram program;
  for (const Instruction* parameter : computation.parameters()) {
    program.parameters_.push_back(program.registers_++);
    program.parameter_bytes_.push_back(ShaderCarrierBytes(ShaderCarrierOf(parameter->shape().element_type())));
  }
  const std::vector<int> arguments = program.parameters_;
  VXLA_RETURN_IF_ERROR(program.Add(computation, arguments, &program.results_));
  for (const Shape* leaf : FlattenTuple(computation.root()->shape())) {
    program.result_bytes_.push_back(ShaderCarrierBytes(ShaderCarrierOf(leaf->element_type())));
  }
  return program;
}

ShaderProgram::Frame::Frame(const ShaderProgram& program)
    : program_(program), registers_(static_cast<size_t>(program.registers_)) {
  for (const auto& [reg, literal] : program.constants_) {
    const ElementType type = literal->shape().element_type();
    const size_t bytes = static_cast<size_t>(ShaderCarrierBytes(ShaderCarrierOf(type)));
    std::byte* to = registers_[static_cast<size_t>(reg)].bytes;
    LoadShaderCarriers(type, literal->bytes().data(), 1, to);
    for (int64_t i = 1; i < kShaderBlock; ++i) std::memcpy(to + static_cast<size_t>(i) * bytes, to, bytes);
  }
}

void ShaderProgram::Frame::Run(const void* const* arguments, void* const* results, int64_t n) {
  for (size_t i = 0; i < program_.parameters_.size(); ++i) {
    std::memcpy(registers_[static_cast<size_t>(program_.parameters_[i])].bytes, arguments[i],
                static_cast<size_t>(n * program_.parameter_bytes_[i]));
  }
  for (const Step& step : program_.steps_) {
    const void* in[3];
    for (size_t k = 0; k < step.inputs.size(); ++k) in[k] = registers_[static_cast<size_t>(step.inputs[k])].bytes;
    RunShaderCalls(step.calls, in, registers_[static_cast<size_t>(step.output)].bytes, n, scratch_);
  }
  for (size_t i = 0; i < program_.results_.size(); ++i) {
    std::memcpy(results[i], registers_[static_cast<size_t>(program_.results_[i])].bytes,
                static_cast<size_t>(n * program_.result_bytes_[i]));
  }
}

}  // namespace VXLA_NAMESPACE
