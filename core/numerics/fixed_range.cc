#include "core/numerics/fixed_range.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

// Levels of instructions that are looked at, and elements of a constant.
constexpr int kMostLevels = 12;
constexpr int64_t kMostElements = 1 << 16;

using Range = std::optional<FixedRange>;

bool IsWhole(ElementType type) { return IsInteger(type) || type == ElementType::kPred; }

int LeastUnit(ElementType type) {
  const FloatFormat& format = FormatOf(type);
  return 1 - format.bias - format.mantissa_bits;
}

Range RangeOfType(ElementType type) {
  if (type == ElementType::kPred) return FixedRange{0, 1, true, false};
  if (IsInteger(type))
    return FixedRange{0, std::ldexp(1, BitWidth(type) - (IsSigned(type) ? 1 : 0)), true, IsSigned(type)};
  if (!IsFloating(type)) return std::nullopt;
  const FloatSpecials specials = FormatOf(type).specials;
  const bool powers = specials == FloatSpecials::kExponent;
  return FixedRange{powers ? -127 : LeastUnit(type), MaxFinite(type), specials == FloatSpecials::kFinite, !powers};
}

// The place of a number's last bit that is set.
int LastBit(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto bits = static_cast<int64_t>(std::ldexp(std::abs(fraction), 53));
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(bits));
}

Range RangeOfConstant(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (literal.shape().ElementCount() > kMostElements) return std::nullopt;
  FixedRange range{0, 0, true, false};
  bool any = false;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const double value = IsFloating(type)            ? literal.GetDouble(i)
                         : type == ElementType::kU64 ? static_cast<double>(static_cast<uint64_t>(literal.GetInt(i)))
                                                     : static_cast<double>(literal.GetInt(i));
    range.negative |= std::signbit(value);
    range.finite &= std::isfinite(value);
    if (!std::isfinite(value) || value == 0) continue;
    // 64-bit integers that are no doubles are rounded to the next ones, whose magnitude may be less.
    const bool rounded = std::abs(value) > std::ldexp(1, 53) && !IsFloating(type);
    const int unit = rounded ? 0 : LastBit(value);
    range.unit = any ? std::min(range.unit, unit) : unit;
    range.most = std::max(range.most, rounded ? std::nextafter(std::abs(value), HUGE_VAL) : std::abs(value));
    any = true;
  }
  return range;
}

// What both say.
FixedRange Meet(FixedRange a, const FixedRange& b) {
  a.unit = std::max(a.unit, b.unit);
  a.most = std::min(a.most, b.most);
  a.finite |= b.finite;
  a.negative &= b.negative;
  return a;
}

// A result of exact operations, rounded to a floating type or wrapped to an integer one: rounding leaves multiples of a
// power of two what they are, as it drops low bits alone.
Range Fitted(ElementType type, FixedRange range) {
  if (IsInteger(type)) {
    const double limit = std::ldexp(1, BitWidth(type) - (IsSigned(type) ? 1 : 0)) - 1;
    const bool fits = range.finite && range.most <= limit && (IsSigned(type) || !range.negative);
    return fits ? Range(range) : std::nullopt;
  }
  if (!IsFloating(type) || FormatOf(type).specials == FloatSpecials::kExponent) return std::nullopt;
  range.unit = std::max(range.unit, LeastUnit(type));
  if (range.most > 0 && std::isfinite(range.most)) {
    const double step = UnitInLastPlace(FormatOf(type), std::min(range.most, MaxFinite(type)));
    range.most = std::ceil(range.most / step) * step;
  }
  if (range.most <= MaxFinite(type)) return range;
  range.most = MaxFinite(type);
  range.finite &= FormatOf(type).specials == FloatSpecials::kFinite;
  return range;
}

// No less than the exact result.
double Up(double value) { return value <= std::ldexp(1, 52) ? value : std::nextafter(value, HUGE_VAL); }

class Finder {
 public:
  Range Find(const Instruction& value, int level) const {
    if (!value.shape().IsArray()) return std::nullopt;
    const Range of_type = RangeOfType(value.shape().element_type());
    const Range made = !of_type || level == kMostLevels ? Range() : Made(value, level + 1);
    return made ? Meet(*made, *of_type) : of_type;
  }

 private:
  Range Made(const Instruction& value, int level) const {
    const auto of = [&](int operand) { return Find(*value.operand(operand), level); };
    const ElementType type = value.shape().element_type();
    switch (value.opcode()) {
      case Opcode::kConstant:
        return RangeOfConstant(value.literal());
      case Opcode::kIota: {
        const auto size = value.shape().dimension(static_cast<int>(value.attributes<IotaAttributes>().iota_dimension));
        return Fitted(type, {0, static_cast<double>(std::max<int64_t>(size, 1) - 1), true, false});
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kSlice:
      case Opcode::kReverse:
      case Opcode::kDynamicSlice:
      case Opcode::kGather:
        return of(0);
      case Opcode::kConvert:
        return Converted(*value.operand(0), type, of(0));
      case Opcode::kAbs:
      case Opcode::kNegate: {
        Range range = of(0);
        if (range) range->negative = value.opcode() == Opcode::kNegate;
        return range ? Fitted(type, *range) : range;
      }
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kPad:
        return Either(of(0), of(1));
      case Opcode::kConcatenate: {
        Range range = of(0);
        for (int k = 1; k < value.operand_count(); ++k) range = Either(range, of(k));
        return range;
      }
      case Opcode::kSelect:
        return Either(of(1), of(2));
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply:
        return Computed(value.opcode(), type, of(0), of(1));
      default:
        return std::nullopt;
    }
  }

  static Range Either(const Range& a, const Range& b) {
    if (!a || !b) return std::nullopt;
    // Of zeros alone the unit says nothing.
    const int unit = a->most == 0 ? b->unit : b->most == 0 ? a->unit : std::min(a->unit, b->unit);
    return FixedRange{unit, std::max(a->most, b->most), a->finite && b->finite, a->negative || b->negative};
  }

  static Range Computed(Opcode opcode, ElementType type, const Range& a, const Range& b) {
    if (!a || !b || type == ElementType::kPred) return std::nullopt;
    FixedRange range = *Either(a, b);
    if (opcode == Opcode::kMultiply) {
      range.unit = a->unit + b->unit;
      range.most = Up(a->most * b->most);
    } else {
      range.most = Up(a->most + b->most);
      range.negative |= opcode == Opcode::kSubtract;
    }
    return Fitted(type, range);
  }

  static Range Converted(const Instruction& from, ElementType type, const Range& range) {
    if (!range || type == ElementType::kPred) return std::nullopt;
    if (!IsInteger(type) || IsWhole(from.shape().element_type())) return Fitted(type, *range);
    FixedRange whole = *range;  // cut towards zero
    whole.most = std::floor(whole.most);
    whole.unit = std::max(whole.unit, 0);
    return Fitted(type, whole);
  }
};

}  // namespace

double FixedRange::units() const { return std::ldexp(most, -unit); }

std::optional<FixedRange> FixedRangeOf(const Instruction& value) { return Finder().Find(value, 0); }

}  // namespace VXLA_NAMESPACE
