// Statements as codegen writes them, for tests of passes.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan::statements {

// A call of the function that makes such a value, rounded to the type.
inline Expression Call(MadeBy by, std::vector<std::string> operands, std::optional<ElementType> rounded = {}) {
  static constexpr const char* kNames[] = {"other_f32",
                                           "constant_f32",
                                           "add_f32",
                                           "subtract_f32",
                                           "multiply_f32",
                                           "divide_f32",
                                           "exponential_f32",
                                           "decode_f16",
                                           "decode_f16",
                                           "decode_any_nan_f16",
                                           "decode_upper_any_nan_f16"};
  std::string text = fmt::format("{}({})", kNames[static_cast<size_t>(by)], fmt::join(operands, ", "));
  if (by == MadeBy::kHalf) text = fmt::format("decode_f16((({} >> 0) & 65535u))", operands[0]);
  if (by == MadeBy::kUpperHalf) text = fmt::format("decode_f16((({} >> 16) & 65535u))", operands[0]);
  return {std::move(text), by, by == MadeBy::kOther ? std::vector<std::string>() : std::move(operands), rounded};
}

inline Statement Local(std::string name, Expression value, std::string type) {
  return {.kind = Statement::Kind::kDeclare,
          .depth = 1,
          .type = std::move(type),
          .name = std::move(name),
          .value = std::move(value)};
}
inline Statement Float(std::string name, Expression value) {
  Statement statement = Local(std::move(name), std::move(value), "float");
  statement.precise = true;
  return statement;
}
inline Statement Quotient(std::string name, std::string a, std::string b) {
  return Float(std::move(name), Call(MadeBy::kDivide, {std::move(a), std::move(b)}));
}

inline Statement StoreValues(int tensor, std::string_view tag, std::vector<Stored> values, std::string index = "i") {
  return {.kind = Statement::Kind::kStore,
          .depth = 1,
          .target = {std::to_string(tensor), tag, static_cast<int>(values.size()), std::move(index)},
          .values = std::move(values)};
}
inline Statement StorePairs(int tensor, const std::vector<Stored::Pair>& pairs) {
  return StoreValues(tensor, "u32", {pairs.begin(), pairs.end()});
}

}  // namespace VXLA_NAMESPACE::vulkan::statements
