#include "core/numerics/reducer_identity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/numerics/integer_type.h"

namespace VXLA_NAMESPACE {
namespace {

// What is known of a scalar: its number, or that it is one of the elements. A float element is finite, unless it is
// said to be of any kind: the other kinds are numbers.
struct Known {
  enum class Kind { kNothing, kNumber, kElement };
  Kind kind = Kind::kNothing;
  double number = 0;    // of floats and, without an imaginary part, of complex numbers
  int64_t integer = 0;  // of integers and pred
  int64_t element = 0;
  bool any = false;  // an element that may be of any kind

  bool IsNumber() const { return kind == Kind::kNumber; }
  bool IsElement() const { return kind == Kind::kElement; }
};

bool Same(const Known& a, const Known& b) {
  if (a.kind != b.kind || a.kind == Known::Kind::kNothing) return false;
  if (a.IsElement()) return a.element == b.element;
  return a.integer == b.integer && (a.number == b.number || (std::isnan(a.number) && std::isnan(b.number)));
}

Known Number(double number) { return {.kind = Known::Kind::kNumber, .number = number}; }
Known Integer(int64_t integer) { return {.kind = Known::Kind::kNumber, .integer = integer}; }
Known Element(int64_t element) { return {.kind = Known::Kind::kElement, .element = element}; }

Known OfLiteral(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (IsFloating(type)) return Number(literal.GetDouble(0));
  if (!IsComplex(type)) return Integer(literal.GetInt(0));
  return literal.GetComplex(0).imag() == 0 ? Number(literal.GetComplex(0).real()) : Known{};
}

// Numbers that every float type holds, so that folding in double gives what the type would give.
Known Exact(double value) {
  const bool exact = std::isnan(value) || std::isinf(value) || value == 0 || std::abs(value) == 1;
  return exact ? Number(value) : Known{};
}

Known FoldFloats(Opcode opcode, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (opcode) {
    case Opcode::kAdd:
      return Exact(a + b);
    case Opcode::kSubtract:
      return Exact(a - b);
    case Opcode::kMultiply:
      return Exact(a * b);
    case Opcode::kMaximum:
      return Number(nan ? std::nan("") : std::max(a, b));
    case Opcode::kMinimum:
      return Number(nan ? std::nan("") : std::min(a, b));
    default:
      return {};
  }
}

Known FoldUnary(Opcode opcode, double a) {
  switch (opcode) {
    case Opcode::kAbs:
      return Exact(std::abs(a));
    case Opcode::kNegate:
      return Exact(-a);
    case Opcode::kExp:
      return Exact(std::exp(a));
    case Opcode::kLog1p:
      return Exact(std::log1p(a));
    default:
      return {};
  }
}

// A finite element beside a number; `first`: the number is the first operand.
Known FloatWithElement(Opcode opcode, double number, const Known& element, bool first) {
  if (std::isnan(number)) return Number(number);
  switch (opcode) {
    case Opcode::kAdd:
      if (std::isinf(number)) return Number(number);
      return number == 0 ? element : Known{};
    case Opcode::kSubtract:
      if (std::isinf(number)) return Number(first ? number : -number);
      return number == 0 && !first ? element : Known{};
    case Opcode::kMultiply:
      return number == 1 ? element : Known{};
    case Opcode::kMaximum:
      if (std::isinf(number)) return number < 0 ? element : Number(number);
      return {};
    case Opcode::kMinimum:
      if (std::isinf(number)) return number > 0 ? element : Number(number);
      return {};
    default:
      return {};
  }
}

// A complex element, or one of any kind, may hold anything, so a number that is no identity says nothing.
Known AnythingWithElement(Opcode opcode, double number, const Known& element, bool first) {
  if (opcode == Opcode::kMultiply) return number == 1 ? element : Known{};
  return number == 0 && (opcode == Opcode::kAdd || (opcode == Opcode::kSubtract && !first)) ? element : Known{};
}

Known IntegerWithElement(Opcode opcode, ElementType type, int64_t number, const Known& element, bool first) {
  const bool pred = type == ElementType::kPred;
  const int64_t lowest = IsSigned(type) ? MinSigned(type) : 0;
  const int64_t highest = pred ? 1 : IsSigned(type) ? MaxSigned(type) : static_cast<int64_t>(MaxUnsigned(type));
  const int64_t ones = pred || !IsSigned(type) ? highest : -1;
  const auto between = [&](int64_t neutral, int64_t fixed) {
    if (number == neutral) return element;
    return number == fixed ? Integer(fixed) : Known{};
  };
  switch (opcode) {
    case Opcode::kAdd:
      return number == 0 && !pred ? element : Known{};
    case Opcode::kSubtract:
      return number == 0 && !first ? element : Known{};
    case Opcode::kMultiply:
      return between(1, 0);
    case Opcode::kMaximum:
      return between(lowest, highest);
    case Opcode::kMinimum:
      return between(highest, lowest);
    case Opcode::kAnd:
      return between(ones, 0);
    case Opcode::kOr:
      return between(0, ones);
    case Opcode::kXor:
      return number == 0 ? element : Known{};
    default:
      return {};
  }
}

Known CompareFloats(const CompareAttributes& attributes, const Known& a, const Known& b) {
  if (attributes.type == ComparisonType::kTotalOrder || a.any || b.any) return {};
  // A finite element compares with itself, infinities and NaN as zero does.
  const bool decided = (a.IsNumber() && b.IsNumber()) || (a.IsElement() && b.IsElement() && a.element == b.element) ||
                       (a.IsNumber() && b.IsElement() && !std::isfinite(a.number)) ||
                       (b.IsNumber() && a.IsElement() && !std::isfinite(b.number));
  if (!decided) return {};
  return Integer(Holds(attributes.direction, a.IsNumber() ? a.number : 0, b.IsNumber() ? b.number : 0));
}

Known Binary(const Instruction& i, const Known& a, const Known& b) {
  const ElementType type = i.operand(0)->shape().element_type();
  if (i.opcode() == Opcode::kCompare)
    return IsFloating(type) ? CompareFloats(i.attributes<CompareAttributes>(), a, b) : Known{};
  if (a.IsNumber() && b.IsNumber()) {
    if (IsFloating(type)) return FoldFloats(i.opcode(), a.number, b.number);
    const bool logical = type == ElementType::kPred && IsAnyOf(i.opcode(), Opcode::kAnd, Opcode::kOr, Opcode::kXor);
    return logical ? Integer(*IntegerType(type).Computed(i.opcode(), a.integer, b.integer)) : Known{};
  }
  const bool first = a.IsNumber();
  const Known &number = first ? a : b, &element = first ? b : a;
  if (!number.IsNumber()) return {};
  if (!element.IsElement()) {
    // What nothing is known of: only a product with the integer zero is sure.
    return IsInteger(type) && i.opcode() == Opcode::kMultiply && number.integer == 0 ? number : Known{};
  }
  if (IsComplex(type) || element.any) return AnythingWithElement(i.opcode(), number.number, element, first);
  if (IsFloating(type)) return FloatWithElement(i.opcode(), number.number, element, first);
  return IntegerWithElement(i.opcode(), type, number.integer, element, first);
}

Known Evaluated(const Instruction& i, std::span<const Known> operands) {
  if (i.opcode() == Opcode::kConstant) {
    return i.shape().IsScalar() && i.known_literal() != nullptr ? OfLiteral(i.literal()) : Known{};
  }
  if (!IsElementwise(i.opcode()) || !i.called().empty()) return {};
  if (i.opcode() == Opcode::kSelect) {
    if (operands[0].IsNumber()) return operands[0].integer != 0 ? operands[1] : operands[2];
    return Same(operands[1], operands[2]) ? operands[1] : Known{};
  }
  if (operands.size() == 2) return Binary(i, operands[0], operands[1]);
  const bool floating = operands.size() == 1 && IsFloating(i.shape().element_type()) &&
                        i.operand(0)->shape().element_type() == i.shape().element_type();
  return floating && operands[0].IsNumber() ? FoldUnary(i.opcode(), operands[0].number) : Known{};
}

bool LeavesUnchanged(const Computation& reducer, const std::vector<Known>& parameters,
                     std::span<const Known> elements) {
  std::unordered_map<const Instruction*, Known> known;
  for (const auto& i : reducer.instructions()) {
    std::vector<Known> operands;
    for (const Instruction* operand : i->operands()) operands.push_back(known.at(operand));
    known[i.get()] = i->opcode() == Opcode::kParameter ? parameters.at(static_cast<size_t>(i->parameter_number()))
                                                       : Evaluated(*i, operands);
  }
  const Instruction& root = *reducer.root();
  for (size_t e = 0; e < elements.size(); ++e) {
    const Instruction* result = root.opcode() == Opcode::kTuple ? root.operand(e) : &root;
    if (!Same(known.at(result), elements[e])) return false;
  }
  return true;
}

}  // namespace

bool IsIdentityOf(const Computation& reducer, std::span<const Literal* const> initial_values) {
  const size_t count = initial_values.size();
  if (reducer.parameters().size() != 2 * count) return false;
  std::vector<Known> initial, elements;
  int64_t cases = 1;
  for (size_t e = 0; e < count; ++e) {
    const bool floating = IsFloating(initial_values[e]->shape().element_type());
    initial.push_back(OfLiteral(*initial_values[e]));
    elements.push_back(Element(e));
    elements.back().any = floating;
    cases = std::min<int64_t>(257, cases * (floating ? 4 : 1));
  }
  const auto unchanged = [&] {
    std::vector<Known> before = initial, after = elements;
    before.insert(before.end(), elements.begin(), elements.end());
    after.insert(after.end(), initial.begin(), initial.end());
    return LeavesUnchanged(reducer, before, elements) && LeavesUnchanged(reducer, after, elements);
  };
  // Most need no cases.
  if (unchanged()) return true;
  if (cases > 256) return false;
  for (int64_t c = 0; c < cases; ++c) {
    elements.clear();
    int64_t kinds = c;
    for (size_t e = 0; e < count; ++e) {
      elements.push_back(Element(e));
      if (!IsFloating(initial_values[e]->shape().element_type())) continue;
      constexpr double kNumbers[] = {0, HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()};
      if (kinds % 4 != 0) elements.back() = Number(kNumbers[kinds % 4]);
      kinds /= 4;
    }
    if (!unchanged()) return false;
  }
  return true;
}

}  // namespace VXLA_NAMESPACE
