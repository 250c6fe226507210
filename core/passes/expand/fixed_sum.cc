#include "core/passes/expand/fixed_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

// Bits of an s64 that sums may fill: what is carried into it, and what a sum of whole numbers is rounded by, fit too.
constexpr int kSumBits = 61;
// So many bits of a sum say, with one for all below them, how it rounds to f32.
constexpr int kRoundedBits = 26;
constexpr int kF32Bias = 127, kF32Mantissa = 23, kLeastF32 = 1 - kF32Bias - kF32Mantissa;

ElementType CarrierOf(const FixedSum& sum) { return sum.term == kF64 ? kF64 : kF32; }

// Of infinities and NaN: a count of those from which +inf comes, and above it of those from which -inf does. NaN counts
// as both.
constexpr int64_t kInfinity = 1, kMinusInfinity = int64_t{1} << 31;

class Fixed {
 public:
  Fixed(Expansion& expansion, const FixedSum& sum, const Shape& shape)
      : x_(expansion), sum_(sum), sizes_(SizesOf(shape)) {}

  FixedTerms Terms(Instruction* terms) {
    Instruction* const value = x_.Converted(terms, CarrierOf(sum_));
    if (!sum_.has_specials && sum_.width == 0) return {nullptr, Whole(value)};
    ReadBits(value);
    FixedTerms result = sum_.width == 0 ? FixedTerms{Number(kS32, 0), Whole(value)} : Shifted();
    if (!sum_.has_specials) return result;
    Instruction* const special = Compare(ComparisonDirection::kEq, exponent_, 255);
    Instruction* const nan = Compare(ComparisonDirection::kNe, fraction_, 0);
    Instruction* const infinity = x_.Select(negative_, Number(kS64, kMinusInfinity), Number(kS64, kInfinity));
    Instruction* const code = x_.Select(nan, Number(kS64, kMinusInfinity + kInfinity), infinity);
    return {x_.Select(special, Number(kS32, sum_.integers), result.place), x_.Select(special, code, result.value)};
  }

  // In the carrier: `before` and the integers' sum. Several integers take `before` too, so that a sum which has no place
  // in the type for its own may come back.
  Instruction* With(Instruction* integers, Instruction* before) {
    std::vector<Instruction*> parts;
    for (int64_t k = 0; k < sum_.places(); ++k) parts.push_back(x_.Reshaped(x_.Slice(integers, 0, k, k + 1), sizes_));
    Instruction* const value = x_.Converted(before, CarrierOf(sum_));
    if (sum_.width == 0) {
      Instruction* const total = Rounded(parts);
      return x_.Select(x_.Compare(ComparisonDirection::kNe, total, Float(0)), x_.Plus(value, total), value);
    }
    Instruction* any = parts[0];
    for (size_t k = 1; k < parts.size(); ++k) any = x_.Or(any, parts[k]);
    const FixedTerms own = Terms(before);
    for (size_t k = 0; k < parts.size(); ++k) {
      Instruction* const here = Compare(ComparisonDirection::kEq, own.place, static_cast<int64_t>(k));
      parts[k] = x_.Plus(parts[k], x_.Select(here, own.value, Number(kS64, 0)));
    }
    return x_.Select(Compare(ComparisonDirection::kNe, any, 0), Rounded(parts), value);
  }

 private:
  Instruction* Rounded(const std::vector<Instruction*>& parts) {
    Instruction* result = sum_.width == 0 ? OfOne(parts[0]) : OfSeveral(parts);
    if (!sum_.has_specials) return result;
    Instruction* const low = Binary(Opcode::kAnd, parts.back(), kMinusInfinity - 1);
    Instruction* const has_plus = Compare(ComparisonDirection::kNe, low, 0);
    Instruction* const has_minus = Compare(ComparisonDirection::kGe, parts.back(), kMinusInfinity);
    const auto special = [&](double value) { return Float(value); };
    Instruction* const minus = x_.Select(has_plus, special(std::nan("")), special(-HUGE_VAL));
    result = x_.Select(has_plus, special(HUGE_VAL), result);
    return x_.Select(has_minus, minus, result);
  }
  Instruction* Number(ElementType type, int64_t value) { return x_.Spread(x_.Number(type, value), sizes_); }
  Instruction* Float(double value) { return x_.Spread(x_.Constant(Literal::Scalar(CarrierOf(sum_), value)), sizes_); }
  Instruction* Binary(Opcode opcode, Instruction* a, int64_t b) {
    return x_.Binary(opcode, a, Number(a->shape().element_type(), b));
  }
  Instruction* Compare(ComparisonDirection direction, Instruction* a, int64_t b) {
    return x_.Compare(direction, a, Number(a->shape().element_type(), b));
  }
  Instruction* Bits(Instruction* value, ElementType type) {
    return x_.Add(Opcode::kBitcastConvert, Shape(type, sizes_), {value});
  }

  // In units: exact, as no product with a power of two leaves the normal numbers.
  Instruction* Whole(Instruction* value) {
    if (sum_.unit != 0) value = x_.Times(value, Float(std::ldexp(1, -sum_.unit)));
    return x_.Converted(value, sum_.sum);
  }
  Instruction* OfOne(Instruction* total) {
    Instruction* const value = x_.Converted(total, CarrierOf(sum_));
    return sum_.unit == 0 ? value : x_.Times(value, Float(std::ldexp(1, sum_.unit)));
  }

  // Of an f32.
  void ReadBits(Instruction* value) {
    Instruction* const bits = Bits(value, kS32);
    Instruction* const magnitude = Binary(Opcode::kAnd, bits, INT32_MAX);
    negative_ = Compare(ComparisonDirection::kLt, bits, 0);
    exponent_ = Binary(Opcode::kShiftRightLogical, magnitude, kF32Mantissa);
    fraction_ = Binary(Opcode::kAnd, magnitude, (1 << kF32Mantissa) - 1);
  }

  // The significand, and which bit of the sum its last one is.
  FixedTerms Shifted() {
    const int dropped = kF32Mantissa - FormatOf(sum_.term).mantissa_bits;  // zeros
    Instruction* const normal = Binary(Opcode::kOr, fraction_, 1 << kF32Mantissa);
    Instruction* const significand =
        Binary(Opcode::kShiftRightLogical,
               x_.Select(Compare(ComparisonDirection::kEq, exponent_, 0), fraction_, normal), dropped);
    Instruction* const least = Number(kS32, 1);
    const int above = kLeastF32 + dropped - sum_.unit;
    Instruction* const bit = Binary(Opcode::kAdd, x_.Larger(exponent_, least), above - 1);
    Instruction* const place = Binary(Opcode::kDivide, bit, sum_.width);
    Instruction* const shift = x_.Minus(bit, Binary(Opcode::kMultiply, place, sum_.width));
    Instruction* const value =
        x_.Binary(Opcode::kShiftLeft, x_.Converted(significand, kS64), x_.Converted(shift, kS64));
    Instruction* const negated = x_.Add(Opcode::kNegate, value->shape(), {value});
    return {place, x_.Select(negative_, negated, value)};
  }

  // From the first integer on, what is beyond its width goes into the next one. From the last one down, as many as fill
  // the leading bits are put together; those below say whether anything is left. Bits are put together, as devices may
  // lose denormals.
  Instruction* OfSeveral(std::vector<Instruction*> parts) {
    const auto last = static_cast<size_t>(sum_.integers) - 1;
    for (size_t k = 0; k < last; ++k) {
      parts[k + 1] = x_.Plus(parts[k + 1], Binary(Opcode::kShiftRightArithmetic, parts[k], sum_.width));
      parts[k] = Binary(Opcode::kAnd, parts[k], (int64_t{1} << sum_.width) - 1);
    }
    Instruction *total = parts[last], *rest = Number(kS64, 0), *power = Number(kS32, sum_.unit);
    for (size_t k = last; k-- > 0;) {
      Instruction* const size = x_.Add(Opcode::kAbs, total->shape(), {total});
      Instruction* const fits = Compare(ComparisonDirection::kLt, size, int64_t{1} << (62 - sum_.width));
      rest = x_.Select(fits, rest, x_.Or(rest, parts[k]));
      power = x_.Select(fits, power, Binary(Opcode::kAdd, power, sum_.width));
      total = x_.Select(fits, x_.Plus(Binary(Opcode::kShiftLeft, total, sum_.width), parts[k]), total);
    }
    Instruction* const inexact = x_.Converted(Compare(ComparisonDirection::kNe, rest, 0), kS64);
    return TimesPower(x_.Or(total, inexact), power);
  }

  // total * 2^power as an f32.
  Instruction* TimesPower(Instruction* total, Instruction* power) {
    Instruction* const bits = Bits(x_.Converted(total, kF32), kS32);
    Instruction* const sign = Binary(Opcode::kAnd, bits, INT32_MIN);
    Instruction* const magnitude = Binary(Opcode::kAnd, bits, INT32_MAX);
    Instruction* const exponent = x_.Plus(Binary(Opcode::kShiftRightLogical, magnitude, kF32Mantissa), power);
    Instruction* const normal = x_.Plus(magnitude, Binary(Opcode::kShiftLeft, power, kF32Mantissa));
    // A denormal is the total itself, in units of the least one: few bits, of which none is left out.
    Instruction* const size = x_.Converted(x_.Add(Opcode::kAbs, total->shape(), {total}), kS32);
    Instruction* const denormal = Binary(Opcode::kShiftLeft, size, sum_.unit - kLeastF32);
    Instruction* const infinity = Number(kS32, 255 << kF32Mantissa);
    Instruction* value = x_.Select(Compare(ComparisonDirection::kGe, exponent, 255), infinity, normal);
    value = x_.Select(Compare(ComparisonDirection::kLt, exponent, 1), denormal, value);
    value = x_.Select(Compare(ComparisonDirection::kEq, total, 0), Number(kS32, 0), value);
    return Bits(x_.Or(value, sign), kF32);
  }

  Expansion& x_;
  const FixedSum& sum_;
  const IntList sizes_;
  Instruction *negative_ = nullptr, *exponent_ = nullptr, *fraction_ = nullptr;
};

}  // namespace

std::optional<FixedSum> FixedSumOf(const Instruction& terms, int64_t count) {
  const std::optional<FixedRange> range = FixedRangeOf(terms);
  FixedSum sum;
  sum.term = terms.shape().element_type();
  if (!range || !IsFloating(sum.term) || count < 1) return std::nullopt;
  sum.has_specials = !range->finite;
  sum.unit = range->unit;
  const double most = range->units() * static_cast<double>(count);
  const int farthest = sum.term == kF64 ? 1022 : 126;  // what has normal powers of two
  if (most <= std::ldexp(1, kSumBits) && std::abs(sum.unit) <= farthest && !(sum.term == kF64 && sum.has_specials)) {
    if (most < std::ldexp(1, 31) && !sum.has_specials) sum.sum = kS32;
    return sum;
  }
  const FloatFormat& format = FormatOf(sum.term);
  if (sum.term == kF64 || format.specials == FloatSpecials::kExponent) return std::nullopt;
  const int mantissa = format.mantissa_bits;
  // Of narrower exponents denormals are normal f32, whose significands end so much below their last bit.
  sum.unit = 1 - format.bias - (format.bias == kF32Bias ? 1 : 2) * mantissa;
  const int length = std::bit_width(static_cast<uint64_t>(count) + 1);  // with what was there
  sum.width = std::min(kSumBits - mantissa - length, 62 - kRoundedBits);
  if (sum.width < mantissa / 2 + 1) return std::nullopt;  // of too many terms
  sum.integers = (std::ilogb(MaxFinite(sum.term)) - mantissa - sum.unit) / sum.width + 1;
  return sum;
}

FixedTerms FixedTermsOf(Expansion& expansion, const FixedSum& sum, Instruction* terms) {
  return Fixed(expansion, sum, terms->shape()).Terms(terms);
}

Instruction* WithFixedSum(Expansion& expansion, const FixedSum& sum, Instruction* integers, Instruction* before) {
  return expansion.Converted(Fixed(expansion, sum, before->shape()).With(integers, before),
                             before->shape().element_type());
}

}  // namespace VXLA_NAMESPACE
