#include "core/numerics/integer_type.h"

namespace VXLA_NAMESPACE {

int64_t IntegerType::Shifted(Opcode opcode, int64_t x, int64_t by) const {
  const bool arithmetic = opcode == Opcode::kShiftRightArithmetic;
  if (by < 0 || by >= bits) return arithmetic && is_signed && x < 0 ? -1 : 0;
  const auto pattern = static_cast<uint64_t>(x);
  if (opcode == Opcode::kShiftLeft) return Wrapped(pattern << by);
  const int unused = 64 - bits;
  if (!arithmetic) return Wrapped((pattern << unused >> unused) >> by);
  return Wrapped(static_cast<uint64_t>(static_cast<int64_t>(pattern << unused) >> unused >> by));
}

std::optional<int64_t> IntegerType::Divided(Opcode opcode, int64_t x, int64_t y) const {
  const bool remainder = opcode == Opcode::kRemainder;
  if (y == 0) return remainder ? x : Wrapped(~uint64_t{0});
  if (is_signed && y == -1) return remainder ? 0 : Wrapped(0 - static_cast<uint64_t>(x));
  if (is_signed) return remainder ? x % y : x / y;
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  return static_cast<int64_t>(remainder ? a % b : a / b);
}

std::optional<int64_t> IntegerType::Power(int64_t base, int64_t exponent) const {
  if (exponent < 0) return std::nullopt;
  uint64_t power = 1, square = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1, square *= square) {
    if ((left & 1) != 0) power *= square;
  }
  return Wrapped(power);
}

std::optional<int64_t> IntegerType::Computed(Opcode opcode, int64_t x, int64_t y) const {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const bool less = Compares(ComparisonDirection::kLt, x, y);
  switch (opcode) {
    case Opcode::kAdd:
      return Wrapped(type == ElementType::kPred ? a | b : a + b);
    case Opcode::kSubtract:
      return Wrapped(a - b);
    case Opcode::kMultiply:
      return Wrapped(a * b);
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return Divided(opcode, x, y);
    case Opcode::kPower:
      return Power(x, y);
    case Opcode::kMaximum:
      return less ? y : x;
    case Opcode::kMinimum:
      return less ? x : y;
    case Opcode::kAnd:
      return x & y;
    case Opcode::kOr:
      return x | y;
    case Opcode::kXor:
      return x ^ y;
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return Shifted(opcode, x, y);
    default:
      return std::nullopt;
  }
}

}  // namespace VXLA_NAMESPACE
