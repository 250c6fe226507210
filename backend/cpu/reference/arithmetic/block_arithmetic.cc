// Arithmetic, bit and comparison ops on blocks.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "backend/cpu/reference/arithmetic/block_ops.h"
#include "backend/cpu/reference/arithmetic/double_double.h"

namespace VXLA_NAMESPACE {
namespace {

using WideComplex = std::complex<long double>;

uint64_t U(int64_t x) { return static_cast<uint64_t>(x); }
int64_t S(uint64_t x) { return static_cast<int64_t>(x); }

// A binary op from a form for unsigned integers that wraps (right for signed ones too), one for reals and one for
// complex numbers. f64 takes the real form in double: it must be one correctly rounded operation.
template <typename Int, typename Real, typename Cplx>
Result<BlockOp> Arithmetic(const Instruction& instruction, Int int_form, Real real_form, Cplx complex_form) {
  switch (CarrierOf(OperandType(instruction))) {
    case Carrier::kInt64:
      return BinaryLoop<uint64_t>(int_form);
    case Carrier::kUint64:
      return BinaryLoop<uint64_t>(int_form);
    case Carrier::kDouble:
      return BinaryLoop<double>(real_form);
    case Carrier::kComplexDouble:
      return BinaryLoop<ComplexDouble>(complex_form);
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(instruction);
}

template <typename F>
Result<BlockOp> Bitwise(const Instruction& instruction, F f) {
  const Carrier carrier = CarrierOf(OperandType(instruction));
  if (carrier != Carrier::kInt64 && carrier != Carrier::kUint64) return UndefinedFor(instruction);
  return BinaryLoop<uint64_t>(f);
}

bool IsFinite(ComplexDouble a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); }

// a / b where b is 0 or a part is infinite or NaN, by the rules of C99 Annex G (G.5.1). Its divisor's square is left
// out: it is positive, and nothing here is a finite number other than 0.
ComplexDouble DivideSpecial(ComplexDouble numerator, ComplexDouble divisor) {
  const double a = numerator.real(), b = numerator.imag(), c = divisor.real(), d = divisor.imag();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // 1 or -1 of an infinity, else 0, whose sign a NaN does not tell.
  const auto boxed = [](double x) { return std::isnan(x) ? 0.0 : std::copysign(std::isinf(x) ? 1.0 : 0.0, x); };
  if (divisor == ComplexDouble(0)) {
    if (std::isnan(a) && std::isnan(b)) return {NAN, NAN};
    return {std::copysign(kInfinity, c) * a, std::copysign(kInfinity, c) * b};
  }
  if ((std::isinf(a) || std::isinf(b)) && IsFinite(divisor)) {
    // A finite part is as good as 0 beside an infinite one, and overflows with no divisor.
    const auto beside = [](double part) { return std::isfinite(part) ? std::copysign(0.0, part) : part; };
    const double x = beside(a) * c + beside(b) * d, y = beside(b) * c - beside(a) * d;
    if (!std::isnan(x) || !std::isnan(y)) return {x, y};
    return {kInfinity * (boxed(a) * c + boxed(b) * d), kInfinity * (boxed(b) * c - boxed(a) * d)};
  }
  if ((std::isinf(c) || std::isinf(d)) && IsFinite(numerator))
    return {std::copysign(0.0, a * boxed(c) + b * boxed(d)), std::copysign(0.0, b * boxed(c) - a * boxed(d))};
  return {NAN, NAN};
}
// In long double for c128, so that nothing overflows on the way.
template <typename C>
ComplexDouble DivideComplex(ComplexDouble a, ComplexDouble b) {
  if (!IsFinite(a) || !IsFinite(b) || b == ComplexDouble(0)) return DivideSpecial(a, b);
  return ComplexDouble(C(a) / C(b));
}
// The plain products, as XLA and numpy have them. In a double a product of two f32 is always finite: one beyond f32's
// range is infinite all the same, and so may the sum of two be NaN.
ComplexDouble MultiplyPlain(ComplexDouble a, ComplexDouble b) {
  const auto product = [](double x, double y) {
    const double exact = x * y;
    const float rounded = static_cast<float>(exact);
    return std::isinf(rounded) ? static_cast<double>(rounded) : exact;
  };
  return {product(a.real(), b.real()) - product(a.imag(), b.imag()),
          product(a.real(), b.imag()) + product(a.imag(), b.real())};
}
// The same, each component rounded once; the plain ones have the signs of zeros.
ComplexDouble MultiplyWide(ComplexDouble a, ComplexDouble b) {
  const ComplexDouble plain(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  const double re = static_cast<double>(ExactProduct(a.real(), b.real()) - ExactProduct(a.imag(), b.imag()));
  const double im = static_cast<double>(ExactProduct(a.real(), b.imag()) + ExactProduct(a.imag(), b.real()));
  return {re == 0 ? plain.real() : re, im == 0 ? plain.imag() : im};
}

// XLA's rules: x / 0 is -1 (all ones), INT_MIN / -1 is INT_MIN; x % 0 is x, INT_MIN % -1 is 0.
int64_t DivideSigned(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? S(0 - U(a)) : a / b; }
uint64_t DivideUnsigned(uint64_t a, uint64_t b) { return b == 0 ? ~uint64_t{0} : a / b; }
int64_t RemainderSigned(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
uint64_t RemainderUnsigned(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }

// NaN if either is; +0 is above -0.
double MaximumReal(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double MinimumReal(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

// By the real parts, where these are equal by the imaginary ones (stablehlo: maximum); what does not come first gives
// way to b, a NaN too.
ComplexDouble MaximumComplex(ComplexDouble a, ComplexDouble b) {
  return (a.real() == b.real() ? a.imag() >= b.imag() : a.real() > b.real()) ? a : b;
}
ComplexDouble MinimumComplex(ComplexDouble a, ComplexDouble b) {
  return (a.real() == b.real() ? a.imag() <= b.imag() : a.real() < b.real()) ? a : b;
}

uint64_t PowerWrapping(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}
// A negative exponent leaves only the powers of 1 and -1.
int64_t PowerSigned(int64_t base, int64_t exponent) {
  if (exponent >= 0) return S(PowerWrapping(U(base), U(exponent)));
  if (base == 1) return 1;
  if (base == -1) return exponent & 1 ? -1 : 1;
  return 0;
}
// Part is the type's: a product with the logarithm that is beyond its range is infinite.
template <typename Part, typename C>
C PowerComplex(C a, C b) {
  if (b == C(0)) return C(1);
  if (a == C(0) && b.imag() == 0 && b.real() > 0) return C(0);
  if (a == C(0) && std::isinf(b.imag())) return C(NAN, NAN);  // a circle of any phase
  // b log a by the plain formula: where that has no value, the C library's product would take infinities alone.
  C l = std::log(a);
  // An infinity of log|a| that only a wider type tells from 0 is none of this type's.
  if (!std::isfinite(b.real()) || !std::isfinite(b.imag()))
    l = C(static_cast<Part>(l.real()), static_cast<Part>(l.imag()));
  using Wide = typename C::value_type;
  constexpr Wide kLargest = std::numeric_limits<Part>::max(), kInfinity = std::numeric_limits<Wide>::infinity();
  const auto in_range = [](Wide x) { return std::abs(x) > kLargest ? std::copysign(kInfinity, x) : x; };
  Wide re = in_range(b.real() * l.real() - b.imag() * l.imag());
  const Wide im = in_range(b.real() * l.imag() + b.imag() * l.real());
  if (std::isnan(re) && std::isnan(im)) return C(re, im);
  // Without a phase, a size that is out of range is 0 or infinite all the same.
  const Part size = static_cast<Part>(std::exp(re));
  if (std::isinf(im) && (std::isinf(size) || size == 0)) re = std::copysign(kInfinity, re);
  if (a != C(0) && !(std::isfinite(re) && std::isfinite(im))) return std::exp(C(re, im));
  return std::pow(a, b);
}

// atan2 of complex numbers: -i log((x + iy) / sqrt(x^2 + y^2)), which has no value where a part is not finite.
template <typename C>
C Atan2Complex(C y, C x) {
  if (!IsFinite(ComplexDouble(y)) || !IsFinite(ComplexDouble(x))) return C(NAN, NAN);
  // Not as products with i, which lose the signs of zeros.
  const C sum(x.real() - y.imag(), x.imag() + y.real());
  const C log = std::log(sum / std::sqrt(x * x + y * y));
  if (!(std::abs(y) < std::abs(x) / 2)) return C(log.imag(), -log.real());
  // The sum loses what is small beside x; the half turn is the same.
  using Part = typename C::value_type;
  const C atan = std::atan(y / x);
  constexpr Part kHalfTurn = std::numbers::pi_v<Part>;
  if (std::abs(log.imag()) < kHalfTurn / 2) return atan;
  return C(atan.real() + std::copysign(kHalfTurn, log.imag()), atan.imag());
}

template <typename T, typename Key>
Result<BlockOp> CompareLoop(const Instruction& instruction, Key key) {
  switch (instruction.attributes<CompareAttributes>().direction) {
    case ComparisonDirection::kEq:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) == key(b); });
    case ComparisonDirection::kNe:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) != key(b); });
    case ComparisonDirection::kGe:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) >= key(b); });
    case ComparisonDirection::kGt:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) > key(b); });
    case ComparisonDirection::kLe:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) <= key(b); });
    case ComparisonDirection::kLt:
      return BinaryLoop<T, uint64_t>([key](T a, T b) { return key(a) < key(b); });
  }
  return UndefinedFor(instruction);
}

template <typename T>
BlockOp SelectLoop() {
  return [](const void* const* in, void* out, int64_t n) {
    const uint64_t* which = static_cast<const uint64_t*>(in[0]);
    const T* a = static_cast<const T*>(in[1]);
    const T* b = static_cast<const T*>(in[2]);
    T* r = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) r[i] = which[i] ? a[i] : b[i];
  };
}

template <typename T, typename Max, typename Min>
BlockOp ClampLoop(Max max, Min min) {
  return [=](const void* const* in, void* out, int64_t n) {
    const T* low = static_cast<const T*>(in[0]);
    const T* x = static_cast<const T*>(in[1]);
    const T* high = static_cast<const T*>(in[2]);
    T* r = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) r[i] = min(max(low[i], x[i]), high[i]);
  };
}

}  // namespace

Result<BlockOp> MakeAdd(const Instruction& i) {
  auto add = [](auto a, auto b) { return a + b; };
  return Arithmetic(i, add, add, add);
}

Result<BlockOp> MakeSubtract(const Instruction& i) {
  auto subtract = [](auto a, auto b) { return a - b; };
  return Arithmetic(i, subtract, subtract, subtract);
}

Result<BlockOp> MakeMultiply(const Instruction& i) {
  auto multiply = [](auto a, auto b) { return a * b; };
  if (OperandType(i) == ElementType::kC128) return BinaryLoop<ComplexDouble>(MultiplyWide);
  return Arithmetic(i, multiply, multiply, MultiplyPlain);
}

Result<BlockOp> MakeDivide(const Instruction& i) {
  auto divide = [](auto a, auto b) { return a / b; };
  if (OperandType(i) == ElementType::kC128) return BinaryLoop<ComplexDouble>(DivideComplex<WideComplex>);
  if (IsSigned(OperandType(i))) return BinaryLoop<int64_t>(DivideSigned);
  return Arithmetic(i, DivideUnsigned, divide, DivideComplex<ComplexDouble>);
}

Result<BlockOp> MakeRemainder(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return BinaryLoop<int64_t>(RemainderSigned);
    case Carrier::kUint64:
      return BinaryLoop<uint64_t>(RemainderUnsigned);
    case Carrier::kDouble:
      return BinaryLoop<double>([](double a, double b) { return std::fmod(a, b); });
    default:
      return UndefinedFor(i);
  }
}

Result<BlockOp> MakeMaximum(const Instruction& i) {
  auto max = [](auto a, auto b) { return a > b ? a : b; };
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return BinaryLoop<int64_t>(max);
    case Carrier::kUint64:
      return BinaryLoop<uint64_t>(max);
    case Carrier::kDouble:
      return BinaryLoop<double>(MaximumReal);
    case Carrier::kComplexDouble:
      return BinaryLoop<ComplexDouble>(MaximumComplex);
    default:
      return UndefinedFor(i);
  }
}

Result<BlockOp> MakeMinimum(const Instruction& i) {
  auto min = [](auto a, auto b) { return a < b ? a : b; };
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return BinaryLoop<int64_t>(min);
    case Carrier::kUint64:
      return BinaryLoop<uint64_t>(min);
    case Carrier::kDouble:
      return BinaryLoop<double>(MinimumReal);
    case Carrier::kComplexDouble:
      return BinaryLoop<ComplexDouble>(MinimumComplex);
    default:
      return UndefinedFor(i);
  }
}

Result<BlockOp> MakePower(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return BinaryLoop<int64_t>(PowerSigned);
    case Carrier::kUint64:
      return BinaryLoop<uint64_t>(PowerWrapping);
    case Carrier::kDouble:
      if (OperandType(i) != ElementType::kF64)
        return BinaryLoop<double>([](double a, double b) { return std::pow(a, b); });
      return BinaryLoop<double>([](long double a, long double b) { return std::pow(a, b); });
    case Carrier::kComplexDouble:
      if (OperandType(i) == ElementType::kC64) return BinaryLoop<ComplexDouble>(PowerComplex<float, ComplexDouble>);
      return BinaryLoop<ComplexDouble>([](ComplexDouble a, ComplexDouble b) {
        return ComplexDouble(PowerComplex<double>(WideComplex(a), WideComplex(b)));
      });
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(i);
}

// A quotient y / x > 0 that a narrow type rounds as a tie is a little more than the angle, by less than a double shows.
double Atan2Narrow(double y, double x) {
  const double angle = std::atan2(y, x);
  return x > 0 && angle != 0 && angle * x == y ? std::nextafter(angle, 0.0) : angle;
}

Result<BlockOp> MakeAtan2(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kDouble:
      if (IsNarrowFloat(OperandType(i))) return BinaryLoop<double>(Atan2Narrow);
      if (OperandType(i) != ElementType::kF64)
        return BinaryLoop<double>([](double a, double b) { return std::atan2(a, b); });
      return BinaryLoop<double>([](long double a, long double b) { return std::atan2(a, b); });
    case Carrier::kComplexDouble:
      return BinaryLoop<ComplexDouble>(
          [](ComplexDouble a, ComplexDouble b) { return ComplexDouble(Atan2Complex(WideComplex(a), WideComplex(b))); });
    default:
      return UndefinedFor(i);
  }
}

Result<BlockOp> MakeMulhi(const Instruction& i) {
  const int width = BitWidth(OperandType(i));
  if (IsSigned(OperandType(i))) {
    return BinaryLoop<int64_t>(
        [width](int64_t a, int64_t b) { return static_cast<int64_t>((static_cast<__int128>(a) * b) >> width); });
  }
  return Bitwise(i, [width](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> width);
  });
}

Result<BlockOp> MakeAnd(const Instruction& i) {
  return Bitwise(i, [](uint64_t a, uint64_t b) { return a & b; });
}
Result<BlockOp> MakeOr(const Instruction& i) {
  return Bitwise(i, [](uint64_t a, uint64_t b) { return a | b; });
}
Result<BlockOp> MakeXor(const Instruction& i) {
  return Bitwise(i, [](uint64_t a, uint64_t b) { return a ^ b; });
}

Result<BlockOp> MakeNot(const Instruction& i) {
  if (OperandType(i) == ElementType::kPred) return UnaryLoop<uint64_t>([](uint64_t a) { return a == 0; });
  if (!IsInteger(OperandType(i))) return UndefinedFor(i);
  return UnaryLoop<uint64_t>([](uint64_t a) { return ~a; });
}

// Shifts by the width or more (or by a negative amount) give zero, or the sign for the arithmetic one.
Result<BlockOp> MakeShiftLeft(const Instruction& i) {
  const uint64_t mask = MaxUnsigned(OperandType(i)), width = static_cast<uint64_t>(BitWidth(OperandType(i)));
  return Bitwise(i, [=](uint64_t a, uint64_t b) { return (b & mask) >= width ? 0 : a << (b & mask); });
}

Result<BlockOp> MakeShiftRightLogical(const Instruction& i) {
  const uint64_t mask = MaxUnsigned(OperandType(i)), width = static_cast<uint64_t>(BitWidth(OperandType(i)));
  return Bitwise(i, [=](uint64_t a, uint64_t b) { return (b & mask) >= width ? 0 : (a & mask) >> (b & mask); });
}

Result<BlockOp> MakeShiftRightArithmetic(const Instruction& i) {
  const uint64_t mask = MaxUnsigned(OperandType(i)), width = static_cast<uint64_t>(BitWidth(OperandType(i)));
  return Bitwise(i, [=](uint64_t a, uint64_t b) {
    const int unused = static_cast<int>(64 - width);
    const int64_t value = S(a << unused) >> unused;  // unsigned operands shift in their top bit too
    return U(value >> ((b & mask) >= width ? 63 : (b & mask)));
  });
}

Result<BlockOp> MakePopulationCount(const Instruction& i) {
  const uint64_t mask = MaxUnsigned(OperandType(i));
  return UnaryLoop<uint64_t>([mask](uint64_t a) { return std::popcount(a & mask); });
}

Result<BlockOp> MakeClz(const Instruction& i) {
  const uint64_t mask = MaxUnsigned(OperandType(i));
  const int unused = 64 - BitWidth(OperandType(i));
  return UnaryLoop<uint64_t>([=](uint64_t a) { return std::countl_zero(a & mask) - unused; });
}

Result<BlockOp> MakeNegate(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kDouble:
      return UnaryLoop<double>([](double a) { return -a; });
    case Carrier::kComplexDouble:
      return UnaryLoop<ComplexDouble>([](ComplexDouble a) { return -a; });
    default:
      return UnaryLoop<uint64_t>([](uint64_t a) { return 0 - a; });
  }
}

Result<BlockOp> MakeAbs(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return UnaryLoop<int64_t>([](int64_t a) { return a < 0 ? S(0 - U(a)) : a; });
    case Carrier::kUint64:
      return UnaryLoop<uint64_t>([](uint64_t a) { return a; });
    case Carrier::kDouble:
      return UnaryLoop<double>([](double a) { return std::fabs(a); });
    case Carrier::kComplexDouble:
      return UnaryLoop<ComplexDouble, double>([](ComplexDouble a) {
        return std::hypot(static_cast<long double>(a.real()), static_cast<long double>(a.imag()));
      });
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(i);
}

Result<BlockOp> MakeSign(const Instruction& i) {
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return UnaryLoop<int64_t>([](int64_t a) { return (a > 0) - (a < 0); });
    case Carrier::kUint64:
      return UnaryLoop<uint64_t>([](uint64_t a) { return a != 0; });
    case Carrier::kDouble:
      return UnaryLoop<double>([](double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; });
    case Carrier::kComplexDouble:
      return UnaryLoop<ComplexDouble>([](ComplexDouble a) {
        const WideComplex z(a);
        const long double size = std::hypot(z.real(), z.imag());
        return size == 0 ? ComplexDouble(0) : ComplexDouble(z / size);  // of zeros of either sign (stablehlo: sign)
      });
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(i);
}

Result<BlockOp> MakeCompare(const Instruction& i) {
  const CompareAttributes& attributes = i.attributes<CompareAttributes>();
  auto same = [](auto x) { return x; };
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return CompareLoop<int64_t>(i, same);
    case Carrier::kUint64:
      return CompareLoop<uint64_t>(i, same);
    case Carrier::kDouble:
      if (attributes.type == ComparisonType::kTotalOrder) return CompareLoop<double>(i, TotalOrderKey);
      return CompareLoop<double>(i, same);
    case Carrier::kComplexDouble:
      if (attributes.direction == ComparisonDirection::kEq) {
        return BinaryLoop<ComplexDouble, uint64_t>([](ComplexDouble a, ComplexDouble b) { return a == b; });
      }
      if (attributes.direction == ComparisonDirection::kNe) {
        return BinaryLoop<ComplexDouble, uint64_t>([](ComplexDouble a, ComplexDouble b) { return a != b; });
      }
      break;
    case Carrier::kNone:
      break;
  }
  return UndefinedFor(i);
}

Result<BlockOp> MakeSelect(const Instruction& i) {
  return IsComplex(OperandType(i, 1)) ? SelectLoop<ComplexDouble>() : SelectLoop<uint64_t>();
}

Result<BlockOp> MakeClamp(const Instruction& i) {
  auto max = [](auto a, auto b) { return a > b ? a : b; };
  auto min = [](auto a, auto b) { return a < b ? a : b; };
  switch (CarrierOf(OperandType(i))) {
    case Carrier::kInt64:
      return ClampLoop<int64_t>(max, min);
    case Carrier::kUint64:
      return ClampLoop<uint64_t>(max, min);
    case Carrier::kDouble:
      return ClampLoop<double>(MaximumReal, MinimumReal);
    case Carrier::kComplexDouble:
      return ClampLoop<ComplexDouble>(MaximumComplex, MinimumComplex);
    default:
      return UndefinedFor(i);
  }
}

}  // namespace VXLA_NAMESPACE
