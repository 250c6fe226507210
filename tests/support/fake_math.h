// A very small evaluator of f32 instructions, so that tests of the scheduler need neither a GPU nor the CPU reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE::testing {

inline Result<Literal> FakeEvaluate(const Instruction& instruction, std::span<const Literal* const> operands);

inline Result<Literal> FakeEvaluateComputation(const Computation& computation,
                                               std::span<const Literal* const> arguments) {
  std::map<const Instruction*, Literal> values;
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      values[instruction.get()] = *arguments[instruction->parameter_number()];
      continue;
    }
    std::vector<const Literal*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(&values.at(operand));
    VXLA_ASSIGN_OR_RETURN(values[instruction.get()], FakeEvaluate(*instruction, operands));
  }
  return values.at(computation.root());
}

inline Literal FakeMap(const Shape& shape, std::span<const Literal* const> operands, float (*f)(float, float)) {
  Literal result(shape);
  auto out = result.mutable_data<float>();
  const auto at = [&](size_t k, size_t i) {
    if (k >= operands.size()) return 0.0f;
    const auto data = operands[k]->data<float>();
    return data[data.size() == 1 ? 0 : i];
  };
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(at(0, i), at(1, i));
  return result;
}

inline Result<Literal> FakeEvaluate(const Instruction& instruction, std::span<const Literal* const> operands) {
  const Shape& shape = instruction.shape();
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return instruction.literal();
    case Opcode::kAdd:
      return FakeMap(shape, operands, [](float a, float b) { return a + b; });
    case Opcode::kSubtract:
      return FakeMap(shape, operands, [](float a, float b) { return a - b; });
    case Opcode::kMultiply:
      return FakeMap(shape, operands, [](float a, float b) { return a * b; });
    case Opcode::kNegate:
      return FakeMap(shape, operands, [](float a, float) { return -a; });
    case Opcode::kTanh:
      return FakeMap(shape, operands, [](float a, float) { return std::tanh(a); });
    case Opcode::kBroadcast:  // of scalars
    case Opcode::kReshape:
    case Opcode::kCopy:
      return FakeMap(shape, operands, [](float a, float) { return a; });
    case Opcode::kReverse:
    case Opcode::kCustomCall: {  // sorts
      Literal result = *operands[0];
      auto data = result.mutable_data<float>();
      if (instruction.opcode() == Opcode::kCustomCall) std::sort(data.begin(), data.end());
      if (instruction.opcode() == Opcode::kReverse) std::reverse(data.begin(), data.end());
      return result;
    }
    case Opcode::kDynamicUpdateSlice: {  // of one dimension
      Literal result = *operands[0];
      const int64_t most = result.element_count() - operands[1]->element_count();
      const int64_t start = std::clamp<int64_t>(operands[2]->GetInt(0), 0, most);
      for (int64_t i = 0; i < operands[1]->element_count(); ++i) {
        result.SetDouble(start + i, operands[1]->GetDouble(i));
      }
      return result;
    }
    case Opcode::kConvert: {
      Literal result(shape);
      for (int64_t i = 0; i < result.element_count(); ++i) result.SetDouble(i, operands[0]->GetDouble(i));
      return result;
    }
    case Opcode::kTuple: {
      std::vector<Literal> elements;
      for (const Literal* operand : operands) elements.push_back(*operand);
      return Literal::Tuple(std::move(elements));
    }
    case Opcode::kFusion:
      return FakeEvaluateComputation(*instruction.called(0), operands);
    default:
      return Unsupported("fake math: no {}", OpcodeText(instruction.opcode()));
  }
}

// Runs an instruction on raw memory.
inline void RunOnMemory(const Instruction& instruction, std::span<std::byte* const> inputs,
                        std::span<std::byte* const> outputs) {
  std::vector<Literal> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.emplace_back(instruction.operand(static_cast<int>(i))->shape());
    std::copy_n(inputs[i], operands.back().bytes().size(), operands.back().mutable_bytes().begin());
  }
  std::vector<const Literal*> pointers;
  for (const Literal& operand : operands) pointers.push_back(&operand);
  const auto result = FakeEvaluate(instruction, pointers);
  VXLA_CHECK(result.ok(), result.status().message());
  const auto leaves = FlattenLiteral(*result);
  for (size_t i = 0; i < outputs.size(); ++i)
    std::copy(leaves[i]->bytes().begin(), leaves[i]->bytes().end(), outputs[i]);
}

// What an instruction computes, operands by position: equal texts are equal kernels.
inline std::string Describe(const Instruction& instruction) {
  std::string text = std::string(OpcodeText(instruction.opcode())) + " " + instruction.shape().ToString();
  for (const Instruction* operand : instruction.operands()) text += " " + operand->shape().ToString();
  for (const Computation* called : instruction.called()) {
    std::map<const Instruction*, int> number;
    for (const auto& inner : called->instructions()) {
      number.emplace(inner.get(), static_cast<int>(number.size()));
      text += "; " + std::string(OpcodeText(inner->opcode())) + " " + inner->shape().ToString();
      for (const Instruction* operand : inner->operands()) text += " #" + std::to_string(number.at(operand));
      if (inner->opcode() == Opcode::kParameter) text += " p" + std::to_string(inner->parameter_number());
      if (inner->opcode() == Opcode::kConstant) text += " = " + std::to_string(inner->literal().GetDouble(0));
    }
  }
  return text;
}

}  // namespace VXLA_NAMESPACE::testing
