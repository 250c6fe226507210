// stochastic-convert: rounds away from zero with a probability of how far the number is past its neighbour towards
// zero.
#include <cmath>
#include <cstring>

#include "backend/cpu/reference/eval.h"
#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

// Where the number lies between its neighbours of the result's type, by magnitude.
struct Neighbours {
  double below = 0, above = 0;  // below <= |x| < above, or both |x|
};

// The storage bits of positive floats count up with their values.
double PositiveOfBits(ElementType type, uint64_t bits) {
  Literal one{Shape(type)};
  std::memcpy(one.mutable_bytes().data(), &bits, one.bytes().size());
  return one.GetDouble(0);
}
uint64_t BitsOfPositive(ElementType type, double value) {
  Literal one{Shape(type)};
  one.SetDouble(0, value);
  uint64_t bits = 0;
  std::memcpy(&bits, one.bytes().data(), one.bytes().size());
  return bits;
}

Neighbours FloatNeighbours(ElementType type, double magnitude) {
  if (magnitude > MaxFinite(type)) return {MaxFinite(type), MaxFinite(type)};
  const uint64_t bits = BitsOfPositive(type, magnitude);
  const double nearest = PositiveOfBits(type, bits);
  if (nearest == magnitude || std::isnan(nearest)) return {nearest, nearest};
  if (nearest > magnitude) return {bits == 0 ? 0.0 : PositiveOfBits(type, bits - 1), nearest};
  return {nearest, PositiveOfBits(type, bits + 1)};
}

// random / 2^width < how far x is on its way from one neighbour to the next.
bool RoundsUp(double magnitude, const Neighbours& n, uint64_t random, int width) {
  if (!(n.above > n.below)) return false;
  if (std::isinf(n.above)) return false;  // the largest finite number stays
  return std::ldexp(static_cast<double>(random), -width) < (magnitude - n.below) / (n.above - n.below);
}

int64_t ToInteger(ElementType type, double x, uint64_t random, int width) {
  if (std::isnan(x)) return 0;
  const bool is_signed = IsSigned(type);
  const double least = is_signed ? static_cast<double>(MinSigned(type)) : 0;
  const double most = is_signed ? static_cast<double>(MaxSigned(type)) : static_cast<double>(MaxUnsigned(type));
  if (x <= least) return is_signed ? MinSigned(type) : 0;
  if (x >= most) return is_signed ? MaxSigned(type) : static_cast<int64_t>(MaxUnsigned(type));
  const double magnitude = std::fabs(x), below = std::trunc(magnitude);
  const double rounded = below + (RoundsUp(magnitude, {below, below + 1}, random, width) ? 1 : 0);
  // Beyond 2^63 a double has no fraction, so that only u64 comes here.
  if (rounded >= 0x1p63) return static_cast<int64_t>(static_cast<uint64_t>(rounded));
  const auto integer = static_cast<int64_t>(rounded);
  return std::signbit(x) ? -integer : integer;
}

double ToFloat(ElementType type, double x, uint64_t random, int width) {
  if (!std::isfinite(x)) return x;
  const double magnitude = std::fabs(x);
  const Neighbours n = FloatNeighbours(type, magnitude);
  return std::copysign(RoundsUp(magnitude, n, random, width) ? n.above : n.below, x);
}

}  // namespace

EvalResult EvalStochasticConvert(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Literal &values = operands[0].literal(), &random = operands[1].literal();
  const ElementType type = instruction.shape().element_type();
  const int width = BitWidth(random.shape().element_type());
  Literal result(instruction.shape());
  context.For(result.element_count(), 1 << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto bits = static_cast<uint64_t>(random.GetInt(i));
      if (IsFloating(type)) {
        result.SetDouble(i, ToFloat(type, values.GetDouble(i), bits, width));
      } else {
        result.SetInt(i, ToInteger(type, values.GetDouble(i), bits, width));
      }
    }
  });
  return result;
}

}  // namespace VXLA_NAMESPACE
