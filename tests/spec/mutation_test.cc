// Programs changed at random: whatever the checks accept can be evaluated, to a value of the shape that they promised
// or to an error that says why; nothing in between.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "backend/cpu/reference/evaluator.h"
#include "core/passes/verifier.h"
#include "core/text/hlo_parser.h"
#include "tests/text/opcode_programs.h"

namespace vxla::testing {
namespace {

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : engine_(seed), programs_(OpcodePrograms()) {}

  std::string Next() {
    std::string text = programs_[Below(programs_.size())];
    const size_t entry = text.find("ENTRY");
    for (size_t changes = 1 + Below(3); changes > 0; --changes) {
      if (Below(4) < 3) {
        ChangeDigit(text, entry);
      } else {
        ChangeType(text, Below(2) == 0 ? 0 : entry);
      }
    }
    return text;
  }
  size_t Below(size_t limit) { return engine_() % limit; }

 private:
  // A size, an index or an attribute becomes another small number.
  void ChangeDigit(std::string& text, size_t entry) {
    constexpr std::array kNumbers = {"0", "1", "2", "3", "4", "5", "7", "-1", "12"};
    std::vector<size_t> digits;
    for (size_t i = entry; i < text.size(); ++i) {
      if (isdigit(text[i]) && !isalpha(text[i - 1]) && text[i - 1] != '_') digits.push_back(i);
    }
    if (!digits.empty()) text.replace(digits[Below(digits.size())], 1, kNumbers[Below(kNumbers.size())]);
  }
  void ChangeType(std::string& text, size_t from) {
    constexpr std::array kOld = {"f32[", "s32[", "pred[", "c64["};
    constexpr std::array kNew = {"f32[", "s32[", "u8[", "pred[", "c64[", "f64[", "bf16[", "s64[", "f8e4m3fn[", "s4["};
    const std::string_view old = kOld[Below(kOld.size())], replacement = kNew[Below(kNew.size())];
    for (size_t at = text.find(old, from); at != std::string::npos; at = text.find(old, at + replacement.size())) {
      text.replace(at, old.size(), replacement);
    }
  }

  std::mt19937 engine_;
  std::vector<std::string> programs_;
};

Literal AnyValue(const Shape& shape, Mutator& random) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.tuple_elements()) elements.push_back(AnyValue(element, random));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal(shape);
  for (int64_t i = 0; shape.IsArray() && i < literal.element_count(); ++i) {
    const int64_t value = static_cast<int64_t>(random.Below(9)) - 3;
    if (IsComplex(shape.element_type())) {
      literal.SetComplex(i, {static_cast<double>(value), 1});
    } else if (IsFloating(shape.element_type())) {
      literal.SetDouble(i, static_cast<double>(value));
    } else {
      literal.SetInt(i, value);
    }
  }
  return literal;
}

bool IsSmall(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape().SizeBytes() > 1 << 16) return false;
    }
  }
  return true;
}

TEST(MutationTest, WhatTheChecksAcceptIsEvaluated) {
  Mutator mutator(7);
  int evaluated = 0;
  for (int n = 0; n < 20000; ++n) {
    const std::string text = mutator.Next();
    const auto module = ParseHlo(text);
    if (!module.ok() || !Verify(**module).ok() || !IsSmall(**module)) continue;
    std::vector<Literal> arguments;
    for (const Instruction* parameter : (*module)->entry()->parameters()) {
      arguments.push_back(AnyValue(parameter->shape(), mutator));
    }
    std::vector<const Literal*> pointers;
    for (const Literal& argument : arguments) pointers.push_back(&argument);
    EvaluateOptions options;
    options.threads = 1;
    options.max_loop_iterations = 100;
    options.collective_timeout = std::chrono::milliseconds(50);
    const Result<Literal> value = Evaluate(**module, pointers, options);
    ++evaluated;
    if (!value.ok()) {
      EXPECT_NE(value.status().code(), StatusCode::kInternal) << value.status().message() << "\n" << text;
      continue;
    }
    EXPECT_TRUE(Compatible(value->shape(), (*module)->entry()->root()->shape())) << text;
  }
  EXPECT_GT(evaluated, 2000);
}

}  // namespace
}  // namespace vxla::testing
