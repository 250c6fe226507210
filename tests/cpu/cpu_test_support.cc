#include "tests/cpu/cpu_test_support.h"

#include <cmath>

#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE::testing {

Result<Literal> TryRun(const std::string& text, const std::vector<Literal>& arguments, const EvaluateOptions& options) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseHlo(text));
  VXLA_RETURN_IF_ERROR(Verify(*module));
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  return Evaluate(*module, pointers, options);
}

Literal RunText(const std::string& text, const std::vector<Literal>& arguments, const EvaluateOptions& options) {
  Result<Literal> result = TryRun(text, arguments, options);
  if (result.ok()) return *std::move(result);
  ADD_FAILURE() << result.status().message() << "\n" << text;
  return Literal();
}

std::string Entry(const std::string& lines, const std::string& computations) {
  return "HloModule t\n\n" + computations + "\nENTRY e {\n" + lines + "\n}\n";
}

Literal Array(ElementType type, const std::vector<int64_t>& dimensions, const std::vector<double>& values) {
  Literal literal(Shape(type, dimensions));
  EXPECT_EQ(literal.element_count(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsFloating(type)) {
      literal.SetDouble(static_cast<int64_t>(i), values[i]);
    } else {
      literal.SetInt(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
    }
  }
  return literal;
}

Literal Ints(ElementType type, const std::vector<int64_t>& dimensions, const std::vector<int64_t>& values) {
  Literal literal(Shape(type, dimensions));
  EXPECT_EQ(literal.element_count(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
  return literal;
}

Literal Random(ElementType type, const std::vector<int64_t>& dimensions, uint32_t seed, ArgumentFill floats) {
  const bool is_number = IsFloating(type) || IsComplex(type);
  return RandomLiteral(Shape(type, dimensions), seed, 0, is_number ? floats : ArgumentFill::kFullRange);
}

std::vector<double> Doubles(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetDouble(i));
  return values;
}

std::vector<int64_t> Integers(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetInt(i));
  return values;
}

std::string Text(const Shape& shape) { return shape.ToString(); }

std::vector<int64_t> IndexOf(int64_t at, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> index(dimensions.size());
  for (size_t i = dimensions.size(); i-- > 0;) {
    index[i] = at % dimensions[i];
    at /= dimensions[i];
  }
  return index;
}

int64_t PositionOf(const std::vector<int64_t>& index, const std::vector<int64_t>& dimensions) {
  int64_t at = 0;
  for (size_t i = 0; i < dimensions.size(); ++i) at = at * dimensions[i] + index[i];
  return at;
}

int64_t CountOf(const std::vector<int64_t>& dimensions) {
  int64_t count = 1;
  for (int64_t size : dimensions) count *= size;
  return count;
}

::testing::Matcher<const std::vector<double>&> SameDoubles(const std::vector<double>& want) {
  return ::testing::Truly([want](const std::vector<double>& got) {
    if (got.size() != want.size()) return false;
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i]) ? !std::isnan(got[i])
                              : got[i] != want[i] || std::signbit(got[i]) != std::signbit(want[i])) {
        ADD_FAILURE() << "element " << i << ": got " << got[i] << ", want " << want[i];
        return false;
      }
    }
    return true;
  });
}

}  // namespace VXLA_NAMESPACE::testing
