// stochastic-convert as integer operations on the bits of f32 or f64.
//
// A magnitude is significand * 2^(exponent - kMantissa). Of it `drop` bits are below the result's last one: whether the
// number rounds away from zero is random / 2^width < rest / 2^drop, asked as random < ceil(rest * 2^(width - drop)).
// What is left of the significand, moved by the exponent, counts the result type's values from zero on.

#include "core/data/float_formats.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

class StochasticConvert : public Expansion {
 public:
  StochasticConvert(Computation& computation, Instruction* instruction)
      : Expansion(computation, instruction),
        from_(instruction->operand(0)->shape().element_type()),
        to_(instruction->shape().element_type()),
        wide_(from_ == kF64),
        carrier_(wide_ ? kF64 : kF32),
        word_(wide_ ? kU64 : kU32),
        mantissa_(FormatOf(carrier_).mantissa_bits),
        bias_(static_cast<uint64_t>(FormatOf(carrier_).bias)),
        width_(BitWidth(carrier_)),
        sizes_(SizesOf(instruction->shape())) {}

  Instruction* Expand() {
    Instruction* const value = Converted(instruction().operand(0), carrier_);
    if (IsFloating(to_) && FormatOf(to_).mantissa_bits >= mantissa_) return Converted(value, to_);  // always exact
    const bool exponent_only = IsFloating(to_) && FormatOf(to_).specials == FloatSpecials::kExponent;
    Instruction* const bits = Add(Opcode::kBitcastConvert, Shape(word_, sizes_), {value});
    Instruction* const magnitude = And(bits, Word((uint64_t{1} << (width_ - 1)) - 1));
    negative_ = Less(magnitude, bits);
    exponent_ = Right(magnitude, Word(static_cast<uint64_t>(mantissa_)));
    Instruction* const fraction = And(magnitude, Word((uint64_t{1} << mantissa_) - 1));
    Instruction* const denormal = Less(exponent_, Word(1));
    // The least exponent twice, or once, with the bits of a denormal one place up, where the result has a smaller one.
    const bool normalizes = exponent_only && !wide_;
    significand_ =
        Select(denormal, normalizes ? Left(fraction, Word(1)) : fraction, Or(fraction, Word(uint64_t{1} << mantissa_)));
    Instruction* const shift = normalizes ? exponent_ : Larger(exponent_, Word(1));
    Instruction* const plain = Converted(value, to_);
    if (!IsFloating(to_)) return Select(Less(shift, Word(bias_ + Mantissa())), Integer(shift), plain);
    Instruction* const finite = Less(exponent_, Word(2 * bias_ + 1));
    return Select(finite, exponent_only ? ExponentOnly(shift) : Float(shift), plain);
  }

 private:
  uint64_t Mantissa() const { return static_cast<uint64_t>(mantissa_); }
  Instruction* Number(ElementType type, uint64_t value) {
    return Spread(Constant(Literal::ScalarInt(type, static_cast<int64_t>(value))), sizes_);
  }
  Instruction* Word(uint64_t value) { return Number(word_, value); }
  // By the width or more: zero.
  Instruction* Left(Instruction* a, Instruction* by) { return Binary(Opcode::kShiftLeft, a, by); }
  Instruction* Right(Instruction* a, Instruction* by) { return Binary(Opcode::kShiftRightLogical, a, by); }
  Instruction* Less(Instruction* a, Instruction* b) { return Compare(ComparisonDirection::kLt, a, b); }

  // The random bits at the top of a word; of 64, as many as a double has.
  Instruction* Random() {
    Instruction* const random = instruction().operand(1);
    if (wide_) return Converted(Converted(random, kF64), kU64);
    return Left(Converted(random, kU32), Word(static_cast<uint64_t>(32 - BitWidth(from_))));
  }

  // The significand without its last `drop` bits, plus one where the rest says so.
  Instruction* Rounded(Instruction* drop) {
    Instruction* const kept = Right(significand_, drop);
    Instruction* const rest = Minus(significand_, Left(kept, drop));
    Instruction* const width = Word(static_cast<uint64_t>(width_));
    Instruction* const far = Smaller(Minus(drop, width), Word(static_cast<uint64_t>(width_ - 1)));
    Instruction* const unit = Minus(Left(Word(1), far), Word(1));
    Instruction* const limit = Select(Less(width, drop), Right(Plus(rest, unit), far), Left(rest, Minus(width, drop)));
    return Plus(kept, Converted(Less(Random(), limit), word_));
  }

  // Values up to this one, the last of them finite.
  Instruction* Counted(Instruction* shift, uint64_t least_exponent, uint64_t most) {
    const int kept = FormatOf(to_).mantissa_bits;
    Instruction* const least = Word(least_exponent);
    Instruction* const place = Larger(shift, least);
    Instruction* const drop = Plus(Word(Mantissa() - static_cast<uint64_t>(kept)), Minus(place, shift));
    Instruction* const moved = Left(Minus(place, least), Word(static_cast<uint64_t>(kept)));
    return Smaller(Plus(Rounded(drop), moved), Word(most));
  }
  Instruction* FromBits(Instruction* bits) {
    return Add(Opcode::kBitcastConvert, Shape(to_, sizes_), {Converted(bits, UnsignedOfWidth(BitWidth(to_)))});
  }

  Instruction* Float(Instruction* shift) {
    const FloatFormat& format = FormatOf(to_);
    const uint64_t all = (uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
    const uint64_t most = format.specials == FloatSpecials::kIeee        ? all - (uint64_t{1} << format.mantissa_bits)
                          : format.specials == FloatSpecials::kFiniteNan ? all - 1
                                                                         : all;
    Instruction* const count = Counted(shift, bias_ + 1 - static_cast<uint64_t>(format.bias), most);
    Instruction* const sign = Select(negative_, Word(all + 1), Word(0));
    if (format.specials != FloatSpecials::kUnsignedZero) return FromBits(Or(count, sign));
    return FromBits(Select(Less(count, Word(1)), count, Or(count, sign)));  // no -0
  }

  // Powers of two from 2^-127 on; what is not positive is NaN.
  Instruction* ExponentOnly(Instruction* shift) {
    Instruction* const count = Counted(shift, bias_ - 127, 255);
    Instruction* const none = Or(negative_, Less(count, Word(1)));
    return FromBits(Select(none, Word(255), Minus(count, Word(1))));
  }

  // Of a number that has a fraction.
  Instruction* Integer(Instruction* shift) {
    const bool is_signed = IsSigned(to_);
    Instruction* const drop = Minus(Larger(shift, Word(bias_ + Mantissa())), shift);
    Instruction* count = Rounded(drop);
    if (BitWidth(to_) < width_) {
      const auto most = is_signed ? static_cast<uint64_t>(MaxSigned(to_)) : MaxUnsigned(to_);
      count = Smaller(count, is_signed ? Select(negative_, Word(most + 1), Word(most)) : Word(most));
    }
    if (!is_signed) return Converted(Select(negative_, Word(0), count), to_);
    const Shape shape(wide_ ? kS64 : kS32, sizes_);
    Instruction* const signed_count = Add(Opcode::kBitcastConvert, shape, {count});
    return Converted(Select(negative_, Add(Opcode::kNegate, shape, {signed_count}), signed_count), to_);
  }

  const ElementType from_, to_;
  const bool wide_;
  const ElementType carrier_, word_;
  const int mantissa_;
  const uint64_t bias_;
  const int width_;
  const IntList sizes_;
  Instruction *negative_ = nullptr, *exponent_ = nullptr, *significand_ = nullptr;
};

}  // namespace

bool ExpandStochasticConverts(Module& module) {
  return ExpandEach(ControlComputations(module), [](Computation& computation, Instruction* i) -> Instruction* {
    return i->opcode() == Opcode::kStochasticConvert ? StochasticConvert(computation, i).Expand() : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
