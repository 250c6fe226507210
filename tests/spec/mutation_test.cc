// Programs changed at random: whatever the checks accept can be evaluated, to a value of the shape that they promised
// or to an error that says why; nothing in between.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "tests/text/opcode_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : engine_(seed), programs_(OpcodePrograms()) {}

  std::string Next() {
    std::string text = programs_[Below(programs_.size())];
    const size_t entry = text.find("ENTRY");
    for (size_t changes = 1 + Below(3); changes > 0; --changes) {
      switch (Below(16)) {
        case 0:
          SwapParts(text, entry);
          break;
        case 1:
          text.erase(entry + Below(text.size() - entry), 1 + Below(12));
          break;
        case 2:
          Nest(text, entry);
          break;
        case 3:
        case 4:
        case 5:
          ChangeType(text, Below(2) == 0 ? 0 : entry);
          break;
        default:
          ChangeNumber(text, entry);
      }
    }
    return text;
  }
  size_t Below(size_t limit) { return engine_() % limit; }

 private:
  // A size, an index or an attribute becomes another number: a small one, now and then one at the edge of 31, 32 and 63
  // bits or of a limit.
  void ChangeNumber(std::string& text, size_t entry) {
    constexpr std::array kSmall = {"0", "1", "2", "3", "4", "5", "7", "-1", "12"};
    constexpr std::array kExtreme = {"9223372036854775807",
                                     "-9223372036854775808",
                                     "9223372036854775808",
                                     "4611686018427387904",
                                     "-2147483648",
                                     "2147483647",
                                     "2147483648",
                                     "4294967296",
                                     "17592186044416",
                                     "-17592186044416",
                                     "1000000"};
    std::vector<size_t> digits;
    for (size_t i = entry; i < text.size(); ++i) {
      if (isdigit(text[i]) && !isalpha(text[i - 1]) && text[i - 1] != '_') digits.push_back(i);
    }
    if (digits.empty()) return;
    const char* number = Below(6) == 0 ? kExtreme[Below(kExtreme.size())] : kSmall[Below(kSmall.size())];
    text.replace(digits[Below(digits.size())], 1, number);
  }
  // Two of the parts that commas divide: operands, attributes, entries of a list.
  void SwapParts(std::string& text, size_t entry) {
    std::vector<std::pair<size_t, size_t>> parts;  // begin, size
    for (size_t begin = text.find_first_of("({,", entry); begin != std::string::npos;) {
      const size_t end = text.find_first_of("(){},\n", begin + 1);
      if (end == std::string::npos) break;
      if (end > begin + 1) parts.emplace_back(begin + 1, end - begin - 1);
      begin = text.find_first_of("({,", end);
    }
    if (parts.size() < 2) return;
    size_t i = Below(parts.size() - 1);
    const auto a = parts[i], b = parts[i + 1 + Below(parts.size() - i - 1)];
    const std::string first = text.substr(a.first, a.second), second = text.substr(b.first, b.second);
    text.replace(b.first, b.second, first);
    text.replace(a.first, a.second, second);
  }
  // A bracket again and again, or an operand that nests.
  void Nest(std::string& text, size_t entry) {
    constexpr std::array kPieces = {"{", "(", "[", "f32[2] negate(", "b(", "{0:"};
    const std::string_view piece = kPieces[Below(kPieces.size())];
    std::string run;
    for (size_t n = Below(2) == 0 ? 2 : 1000; n > 0; --n) run += piece;
    const size_t at = text.find_first_of("({[", entry + Below(text.size() - entry));
    if (at != std::string::npos) text.insert(at, run);
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

// Arrays of a few thousand elements, and windows too: larger ones are right and take their time.
bool IsSmall(const Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape().SizeBytes() > 1 << 16) return false;
      const auto* window = std::get_if<WindowAttributes>(&instruction->attributes());
      int64_t taps = 1;
      for (const WindowDimension& d : window == nullptr ? Window{} : window->window) {
        if (__builtin_mul_overflow(taps, d.size, &taps) || taps > 1 << 12) return false;
      }
    }
  }
  return true;
}

TEST(MutationTest, WhatTheChecksAcceptIsEvaluated) {
  Mutator mutator(7);
  int evaluated = 0;
  for (int n = 0; n < 30000; ++n) {
    const std::string text = mutator.Next();
    const auto module = ParseHlo(text);
    const Status status = module.ok() ? Verify(**module) : module.status();
    ASSERT_NE(status.code(), StatusCode::kInternal) << status.message() << "\n" << text;
    if (!status.ok()) {
      ASSERT_FALSE(status.message().empty()) << text;
      continue;
    }
    if (!IsSmall(**module)) continue;
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
}  // namespace VXLA_NAMESPACE::testing
