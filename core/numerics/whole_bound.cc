#include "core/numerics/whole_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMost = int64_t{1} << 53;
// Levels of instructions that are looked at, and elements of a constant.
constexpr int kMostLevels = 12;
constexpr int64_t kMostElements = 1 << 16;

using Bound = std::optional<int64_t>;

Bound BoundOfConstant(const Literal& literal) {
  const Shape& shape = literal.shape();
  const ElementType type = shape.element_type();
  if (shape.ElementCount() > kMostElements) return std::nullopt;
  int64_t most = 0;
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    const bool floating = IsFloating(type);
    if (floating && BitWidth(type) < 16) return std::nullopt;
    const double value = floating ? literal.GetDouble(i) : static_cast<double>(literal.GetInt(i));
    const bool whole = value == std::trunc(value) && std::abs(value) <= static_cast<double>(kMost);
    if (!whole || (value == 0 && std::signbit(value))) return std::nullopt;
    most = std::max(most, static_cast<int64_t>(std::abs(value)));
  }
  return most;
}

// Of a type alone.
Bound BoundOfType(ElementType type) {
  if (type == ElementType::kPred) return 1;
  if (!IsInteger(type) || BitWidth(type) > 32) return std::nullopt;
  return int64_t{1} << BitWidth(type);
}

// The most that the type holds without rounding or wrapping.
Bound LimitOf(ElementType type) {
  if (IsFloating(type)) return BitWidth(type) < 16 ? Bound() : Bound(LastExactWhole(type));
  if (!IsInteger(type)) return std::nullopt;
  return BitWidth(type) == 64 ? kMost : (int64_t{1} << (BitWidth(type) - 1)) - 1;
}

class Finder {
 public:
  Bound Find(const Instruction& value, int level) const {
    if (!value.shape().IsArray()) return std::nullopt;
    const Bound of_type = BoundOfType(value.shape().element_type());
    const Bound made = level == kMostLevels ? Bound() : Made(value, level + 1);
    if (!of_type || !made) return of_type ? of_type : made;
    return std::min(*of_type, *made);
  }

 private:
  Bound Made(const Instruction& value, int level) const {
    const auto of = [&](int operand) { return Find(*value.operand(operand), level); };
    using enum Opcode;
    switch (value.opcode()) {
      case kConstant:
        return BoundOfConstant(value.literal());
      case kConvert:
      case kAbs:
        return Fitting(value, of(0));
      case kMaximum:
      case kMinimum:
        return Larger(of(0), of(1));
      case kSelect:
        return Larger(of(1), of(2));
      case kAdd:
      case kSubtract: {
        const Bound a = of(0), b = of(1);
        return a && b ? Fitting(value, *a + *b) : std::nullopt;
      }
      default:
        return IsAnyOf(value.opcode(), kBroadcast, kReshape, kTranspose, kCopy, kSlice, kReverse, kDynamicSlice,
                       kGather)
                   ? of(0)
                   : std::nullopt;
    }
  }
  static Bound Larger(const Bound& a, const Bound& b) { return a && b ? Bound(std::max(*a, *b)) : std::nullopt; }
  static Bound Fitting(const Instruction& value, const Bound& bound) {
    const Bound limit = LimitOf(value.shape().element_type());
    return bound && limit && *bound <= *limit ? bound : std::nullopt;
  }
};

}  // namespace

int64_t LastExactWhole(ElementType type) { return int64_t{1} << (FormatOf(type).mantissa_bits + 1); }

std::optional<int64_t> WholeBound(const Instruction& value) { return Finder().Find(value, 0); }

}  // namespace VXLA_NAMESPACE
