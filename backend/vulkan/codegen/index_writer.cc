#include "backend/vulkan/codegen/index_writer.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE::vulkan {

std::string KeyOf(const IndexExpression& expression) {
  std::string key = fmt::format("{}", expression.constant);
  for (const IndexTerm& t : expression.terms) {
    fmt::format_to(std::back_inserter(key), "+{}.{}.{}.{}", t.variable, t.divisor, t.modulus, t.coefficient);
  }
  return key;
}

int IndexWriter::NewVariable(std::string glsl_name, int64_t size) {
  const int variable = space_.AddVariable(size);
  Bind(variable, std::move(glsl_name));
  return variable;
}

Code IndexWriter::Take() {
  VXLA_CHECK(scopes_.size() == 1, "an open block");
  scopes_ = std::vector<Scope>(1);
  next_local_ = 0;
  return CodeWriter::Take();
}

void IndexWriter::Bind(int variable, std::string glsl_name) { bound_[variable] = std::move(glsl_name); }

const std::string* IndexWriter::Find(const std::string& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto it = scope->find(key); it != scope->end()) return &it->second;
  }
  return nullptr;
}

void IndexWriter::OpenBlock(const std::string& head) {
  CodeWriter::OpenBlock(head);
  scopes_.emplace_back();
}

void IndexWriter::CloseBlock(int count) {
  VXLA_CHECK(scopes_.size() > static_cast<size_t>(count), "a block that was not opened");
  scopes_.resize(scopes_.size() - static_cast<size_t>(count));
  CodeWriter::CloseBlock(count);
}

std::string IndexWriter::Local(std::string_view glsl_type, Expression value, bool precise) {
  std::string name = NewName();
  Declare(glsl_type, name, std::move(value), precise);
  return name;
}

std::string IndexWriter::Declare(ElementType type) {
  std::string name = NewName();
  Add({.kind = Statement::Kind::kDeclare, .type = std::string(CarrierType(type)), .name = name});
  return name;
}

std::string IndexWriter::VariableName(int variable) {
  if (auto it = bound_.find(variable); it != bound_.end()) return it->second;
  const auto& definition = space_.definition(variable);
  VXLA_CHECK(definition.has_value(), "a loop variable that is not bound");
  return Index(*definition);
}

std::string IndexWriter::Quotient(int variable, int64_t divisor) {
  if (divisor == 1) return VariableName(variable);
  const int64_t size = space_.size(variable);
  if (size > int64_t{1} << 32) {
    kernel_.NoteBeyondReach();
    return "0u";
  }
  // Divide is exact below 2^31.
  const bool large = size > int64_t{1} << 31;
  return Once(fmt::format("q{}/{}", variable, divisor), [&] {
    const std::string name = VariableName(variable);
    return Local("uint", large ? fmt::format("{} / {}", name, kernel_.Param(divisor)) : kernel_.Divide(name, divisor));
  });
}

std::string IndexWriter::Digit(const IndexTerm& term) {
  if (term.modulus == 0) return Quotient(term.variable, term.divisor);
  return Once(fmt::format("d{}/{}%{}", term.variable, term.divisor, term.modulus), [&] {
    // x % m through quotients that other digits need as well.
    const std::string low = Quotient(term.variable, term.divisor);
    const std::string high = Quotient(term.variable, term.divisor * term.modulus);
    return Local("uint", fmt::format("{} - {} * {}", low, high, kernel_.Param(term.modulus)));
  });
}

std::string IndexWriter::Index(const IndexExpression& expression) {
  if (expression == IndexExpression()) return "0u";
  return Once("i" + KeyOf(expression), [&] {
    const auto [least, most] = space_.Range(expression);
    if (most >= int64_t{1} << 32 || (least < 0 && (most >= int64_t{1} << 31 || least < -(int64_t{1} << 31)))) {
      kernel_.NoteBeyondReach();
    }
    std::string text;
    for (const IndexTerm& term : expression.terms) {
      const std::string digit = Digit(term);
      if (term.coefficient == -1) {
        text += (text.empty() ? "0u - " : " - ") + digit;
        continue;
      }
      if (!text.empty()) text += " + ";
      text += digit;
      if (term.coefficient == 1) continue;
      // Negative coefficients wrap: the sum is right modulo 2^32. One parameter for one product, which compilers then
      // see is the same.
      text +=
          " * " + Once(fmt::format("{}*{}", digit, term.coefficient), [&] { return kernel_.Param(term.coefficient); });
    }
    if (expression.constant != 0) {
      text += (text.empty() ? "" : " + ") + kernel_.Param(expression.constant);
    }
    const bool is_digit =
        expression.terms.size() == 1 && expression.constant == 0 && expression.terms[0].coefficient == 1;
    return is_digit ? text : Local("uint", text);
  });
}

std::string IndexWriter::Place(const IndexExpression& linear) {
  return space_.Range(linear).second < int64_t{1} << 31 ? Index(linear) : FarPlace(linear);
}

std::string IndexWriter::FarPlace(const IndexExpression& linear) {
  kernel_.ReachesFar();
  if (!kernel_.has_wide_indices()) kernel_.NoteBeyondReach();
  return Once("f" + KeyOf(linear), [&] {
    const auto wide = [&](int64_t value) {
      const auto bits = static_cast<uint64_t>(value);
      const std::string low = kernel_.Param(bits);
      return fmt::format("WIDE_INDEX({}, {})", low, kernel_.Param(bits >> 32));
    };
    std::string text;
    for (const IndexTerm& term : linear.terms) {
      if (!text.empty()) text += " + ";
      text += fmt::format("index64_t({})", Digit(term));
      if (term.coefficient != 1) text += " * " + wide(term.coefficient);
    }
    if (linear.constant != 0 || text.empty()) text += (text.empty() ? "" : " + ") + wide(linear.constant);
    return Local("index64_t", text);
  });
}

std::string IndexWriter::LinearIndex(const MultiIndex& index, const Shape& shape) {
  return Index(space_.Linearize(index, shape.dimensions()));
}

std::string IndexWriter::Below(const IndexExpression& expression, int64_t size) {
  return Once(fmt::format("b{}:{}", size, KeyOf(expression)),
              [&] { return fmt::format("{} < {}", Index(expression), kernel_.Param(size)); });
}

IndexExpression IndexWriter::Clamped(const IndexExpression& expression, int64_t size) {
  return VariableOnce(fmt::format("c{}:{}", size, KeyOf(expression)), size, [&] {
    const std::string most = kernel_.Param(size - 1);
    return fmt::format("min({}, {})", Index(expression), most);
  });
}

}  // namespace VXLA_NAMESPACE::vulkan
