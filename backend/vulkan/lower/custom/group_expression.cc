// Group counts and shape rules of custom kernels as the user writes them.
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "backend/vulkan/lower/custom/custom_call.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Doubles hold every count that a device takes; a quotient of integers is a whole number exactly where it is one.
class GroupExpression {
 public:
  GroupExpression(std::string_view what, std::string_view text, const GroupNames& lookup)
      : what_(what), text_(text), lookup_(lookup) {}

  Result<double> Evaluate() {
    VXLA_ASSIGN_OR_RETURN(const double value, Sum());
    if (Peek() != '\0') return Wrong("the end");
    return value;
  }

 private:
  char Peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  Status Wrong(std::string_view wanted) const {
    return InvalidArgument("{} \"{}\": {} expected at character {}", what_, text_, wanted, at_);
  }

  Result<double> Sum() {
    VXLA_ASSIGN_OR_RETURN(double value, Product());
    while (true) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) return value;
      VXLA_ASSIGN_OR_RETURN(const double next, Product());
      value += plus ? next : -next;
    }
  }

  Result<double> Product() {
    VXLA_ASSIGN_OR_RETURN(double value, Atom());
    while (true) {
      const bool times = Take('*');
      if (!times && !Take('/')) return value;
      VXLA_ASSIGN_OR_RETURN(const double next, Atom());
      if (!times && next == 0) return InvalidArgument("{} \"{}\": a division by 0", what_, text_);
      value = times ? value * next : value / next;
    }
  }

  Result<double> Atom() {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) return InvalidArgument("{} \"{}\": nested deeper than {}", what_, text_, kDeepest);
    Result<double> value = AtomInside();
    --depth_;
    return value;
  }

  Result<double> AtomInside() {
    const char next = Peek();
    if (Take('(')) {
      VXLA_ASSIGN_OR_RETURN(const double value, Sum());
      return Take(')') ? Result<double>(value) : Wrong("')'");
    }
    if (std::isdigit(static_cast<unsigned char>(next)) != 0) {
      int64_t value = 0;
      const char* const begin = text_.data() + at_;
      at_ += static_cast<size_t>(std::from_chars(begin, text_.data() + text_.size(), value).ptr - begin);
      return static_cast<double>(value);
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) return Wrong("a number, a name or '('");
    if (Take('(')) return Function(name);
    const std::optional<double> value = lookup_(name);
    if (!value) return InvalidArgument("{} \"{}\": there is no {} here", what_, text_, name);
    return *value;
  }

  Result<double> Function(std::string_view name) {
    VXLA_ASSIGN_OR_RETURN(const double first, Sum());
    double second = 0;
    const bool two = name == "min" || name == "max";
    if (two && !Take(',')) return Wrong("','");
    if (two) {
      VXLA_ASSIGN_OR_RETURN(second, Sum());
    }
    if (!Take(')')) return Wrong("')'");
    if (name == "ceil") return std::ceil(first);
    if (name == "floor") return std::floor(first);
    if (two) return name == "min" ? std::min(first, second) : std::max(first, second);
    return InvalidArgument("{} \"{}\": {} is none of ceil, floor, min, max", what_, text_, name);
  }

  const std::string_view what_, text_;
  const GroupNames& lookup_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<double> EvaluateGroups(std::string_view text, const GroupNames& lookup) {
  return GroupExpression("groups", text, lookup).Evaluate();
}

Status CheckShapeRule(std::string_view rule, const GroupNames& lookup) {
  using Compare = bool (*)(double, double);
  constexpr std::pair<std::string_view, Compare> kComparisons[] = {
      {"==", [](double a, double b) { return a == b; }}, {"!=", [](double a, double b) { return a != b; }},
      {"<=", [](double a, double b) { return a <= b; }}, {">=", [](double a, double b) { return a >= b; }},
      {"<", [](double a, double b) { return a < b; }},   {">", [](double a, double b) { return a > b; }}};
  for (const auto& [sign, holds] : kComparisons) {
    const size_t at = rule.find(sign);
    if (at == std::string_view::npos) continue;
    const auto side = [&](std::string_view text) { return GroupExpression("shape", text, lookup).Evaluate(); };
    VXLA_ASSIGN_OR_RETURN(const double left, side(rule.substr(0, at)));
    VXLA_ASSIGN_OR_RETURN(const double right, side(rule.substr(at + sign.size())));
    if (holds(left, right)) return OkStatus();
    return InvalidArgument("it takes shapes with {}, and here that is {} {} {}", rule, left, sign, right);
  }
  return InvalidArgument("shape \"{}\": no comparison (==, !=, <=, >=, <, >) is there", rule);
}

}  // namespace VXLA_NAMESPACE::vulkan
