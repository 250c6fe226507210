// Conversions on blocks: convert, reduce-precision, complex, real, imag, is-finite.
#include <bit>
#include <cmath>
#include <limits>

#include "backend/cpu/reference/arithmetic/block_ops.h"
#include "core/data/float_formats.h"
#include "core/numerics/accuracy.h"

namespace VXLA_NAMESPACE {
namespace {

// An integer as a double rounded to odd where it does not fit: the later rounding to a narrower float is then the only
// one that shows.
template <typename T>
double ToOddDouble(T x) {
  double d = static_cast<double>(x);
  const __int128 error = static_cast<__int128>(x) - static_cast<__int128>(d);
  if (error == 0) return d;
  if ((error < 0) == (d > 0)) d = std::nextafter(d, 0.0);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(d) | 1);
}

// Truncates, saturates at the type's limits, sends NaN to 0.
int64_t ToSigned(double x, int64_t low, int64_t high) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(low)) return low;
  if (x >= static_cast<double>(high)) return high;  // (double)INT64_MAX is 2^63: only what is below it is cast
  return static_cast<int64_t>(x);
}
uint64_t ToUnsigned(double x, uint64_t high) {
  if (std::isnan(x) || x <= 0) return 0;
  if (x >= static_cast<double>(high)) return high;
  return static_cast<uint64_t>(x);
}

template <typename T>
Result<BlockOp> FromInteger(ElementType to) {
  switch (CarrierOf(to)) {
    case Carrier::kDouble:
      if (to == ElementType::kF64) return UnaryLoop<T, double>([](T x) { return static_cast<double>(x); });
      return UnaryLoop<T, double>(ToOddDouble<T>);
    case Carrier::kComplexDouble:
      if (to == ElementType::kC128)
        return UnaryLoop<T, ComplexDouble>([](T x) { return ComplexDouble(static_cast<double>(x)); });
      return UnaryLoop<T, ComplexDouble>([](T x) { return ComplexDouble(ToOddDouble(x)); });
    default:
      return UnaryLoop<T, uint64_t>([](T x) { return static_cast<uint64_t>(x); });
  }
}

// T: double or ComplexDouble; a complex number's imaginary part is dropped.
template <typename T>
Result<BlockOp> FromFloating(ElementType to) {
  auto real = [](T x) { return std::real(x); };
  switch (CarrierOf(to)) {
    case Carrier::kInt64: {
      const int64_t low = MinSigned(to), high = MaxSigned(to);
      return UnaryLoop<T, int64_t>([=](T x) { return ToSigned(real(x), low, high); });
    }
    case Carrier::kUint64: {
      if (to == ElementType::kPred) return UnaryLoop<T, uint64_t>([](T x) { return x != T(0); });
      const uint64_t high = MaxUnsigned(to);
      return UnaryLoop<T, uint64_t>([=](T x) { return ToUnsigned(real(x), high); });
    }
    case Carrier::kDouble:
      return UnaryLoop<T, double>(real);
    default:
      return UnaryLoop<T, ComplexDouble>([](T x) { return ComplexDouble(x); });
  }
}

uint64_t BitsOf(ElementType type, double x) {
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(x);
  if (type == ElementType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(x));
  return EncodeNarrowFloat(type, x);
}

double FromBits(ElementType type, uint64_t bits) {
  if (type == ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == ElementType::kF32) return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return DecodeNarrowFloat(type, static_cast<uint32_t>(bits));
}

// Rounds the mantissa to nearest even, then sends what is above the smaller exponent range to infinity and what is
// below it (subnormals of the reduced format) to zero, as XLA does. NaN stays, but for no mantissa bits, which leave
// nothing to tell it from infinity.
double ReducePrecision(ElementType type, double x, int exponent_bits, int mantissa_bits) {
  const FloatFormat& format = FormatOf(type);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(x)) return mantissa_bits > 0 ? x : kInfinity;
  const int all = format.exponent_bits + format.mantissa_bits;
  const uint64_t bits = BitsOf(type, x);
  uint64_t magnitude = bits & ((uint64_t{1} << all) - 1);
  if (mantissa_bits < format.mantissa_bits) {
    const int shift = format.mantissa_bits - mantissa_bits;
    const uint64_t half = (uint64_t{1} << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    magnitude = (magnitude + half) >> shift << shift;
  }
  const bool beyond = magnitude > BitsOf(type, MaxFinite(type));
  double result = beyond ? kInfinity : FromBits(type, magnitude);
  if (exponent_bits < format.exponent_bits) {
    const int64_t exponent = static_cast<int64_t>(magnitude >> format.mantissa_bits) - format.bias;
    const int64_t reduced_bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    if (exponent > reduced_bias) result = kInfinity;
    if (exponent <= -reduced_bias) result = 0;
  }
  return std::copysign(result, x);
}

// Narrower types' NaNs are carried with their whole mantissa below the quiet bit (core/data/float_formats.cc), those of
// f64 as they are. A conversion between the two keeps the upper bits of the mantissa, as the instructions of CPUs and
// GPUs do.
constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1, kQuiet = uint64_t{1} << 51;
double ToF64(double x) {
  if (!std::isnan(x)) return x;
  const auto bits = std::bit_cast<uint64_t>(x);
  return std::bit_cast<double>((bits & ~kMantissa) | ((bits << 1) & kMantissa) | kQuiet);
}
double FromF64(double x) {
  if (!std::isnan(x)) return x;
  const auto bits = std::bit_cast<uint64_t>(x);
  return std::bit_cast<double>((bits & ~kMantissa) | ((bits & kMantissa) >> 1) | kQuiet | kQuiet >> 1);
}

}  // namespace

Result<BlockOp> MakeConvert(const Instruction& i) {
  const ElementType from = OperandType(i), to = i.shape().element_type();
  if (IsFloating(from) && IsFloating(to) && (from == ElementType::kF64) != (to == ElementType::kF64))
    return UnaryLoop<double>(to == ElementType::kF64 ? ToF64 : FromF64);
  switch (CarrierOf(from)) {
    case Carrier::kInt64:
      return FromInteger<int64_t>(to);
    case Carrier::kUint64:
      return FromInteger<uint64_t>(to);
    case Carrier::kDouble:
      return FromFloating<double>(to);
    case Carrier::kComplexDouble:
      return FromFloating<ComplexDouble>(to);
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(i);
}

Result<BlockOp> MakeReducePrecision(const Instruction& i) {
  const ElementType type = OperandType(i);
  const ReducedBits bits = ReducedBitsOf(i);
  if (!IsFloating(type)) return UndefinedFor(i);
  if (bits.exponent < 1 || bits.mantissa < 0) {
    return InvalidArgument("reduce-precision: e{}m{} needs an exponent of at least 1 bit and a mantissa of at least 0",
                           bits.exponent, bits.mantissa);
  }
  return UnaryLoop<double>([=](double x) { return ReducePrecision(type, x, bits.exponent, bits.mantissa); });
}

Result<BlockOp> MakeComplex(const Instruction& i) {
  if (!IsFloating(OperandType(i))) return UndefinedFor(i);
  return BinaryLoop<double, ComplexDouble>([](double a, double b) { return ComplexDouble(a, b); });
}

Result<BlockOp> MakeReal(const Instruction& i) {
  if (!IsComplex(OperandType(i))) return UnaryLoop<uint64_t>([](uint64_t a) { return a; });
  return UnaryLoop<ComplexDouble, double>([](ComplexDouble a) { return a.real(); });
}

// The imaginary part of a real number is 0.
Result<BlockOp> MakeImag(const Instruction& i) {
  if (!IsComplex(OperandType(i))) return UnaryLoop<uint64_t>([](uint64_t) { return 0; });
  return UnaryLoop<ComplexDouble, double>([](ComplexDouble a) { return a.imag(); });
}

Result<BlockOp> MakeIsFinite(const Instruction& i) {
  if (!IsFloating(OperandType(i))) return UndefinedFor(i);
  return UnaryLoop<double, uint64_t>([](double a) { return std::isfinite(a); });
}

namespace {

Result<BlockOp> MakeUnrounded(const Instruction& instruction) {
  switch (instruction.opcode()) {
#define ELEMENTWISE(Name, ...) \
  case Opcode::k##Name:        \
    return Make##Name(instruction);
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
      // clang-format on
    default:
      break;
  }
  return Internal("{} is not element-wise", OpcodeText(instruction.opcode()));
}

}  // namespace

Result<BlockOp> MakeBlockOp(const Instruction& instruction) {
  Result<BlockOp> op = MakeUnrounded(instruction);
  if (!op.ok() || instruction.shape().element_type() != ElementType::kF8E8M0FNU) return op;
  if (instruction.opcode() == Opcode::kConvert || instruction.opcode() == Opcode::kReducePrecision) return op;
  // The type has no zero: like XLA's and the devices', its arithmetic is f32's, and NaN where that underflows.
  return BlockOp([run = std::move(op).value()](const void* const* in, void* out, int64_t n) {
    run(in, out, n);
    RoundElements(ElementType::kF32, out, n);
  });
}

}  // namespace VXLA_NAMESPACE
