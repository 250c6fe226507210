#include "api/seeded_arguments.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace VXLA_NAMESPACE {
namespace {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// ln x for x in (0, 1], by the series of atanh on the mantissa; good to about 1e-15. The C library's may differ by
// machine.
double Log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double sum = 0;
  for (int k = 31; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

// cos(2 pi x) for x in [0, 1), by its Taylor series on a quarter turn.
double CosTurns(double x) {
  x = std::fabs(x - 0.5);  // cos(2 pi x) = -cos(2 pi |x - 1/2|), the argument now in [0, 1/2]
  const bool flip = x > 0.25;
  const double y = 6.2831853071795865 * (flip ? 0.5 - x : x);
  const double y2 = y * y;
  double term = 1, sum = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -y2 / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  return flip ? sum : -sum;
}

// A normal deviate (Box and Muller) from two words.
double Normal(uint32_t a, uint32_t b) {
  const double u = (a + 1.0) / 4294967296.0;  // in (0, 1]
  return std::sqrt(-2 * Log(u)) * CosTurns(b / 4294967296.0);
}

}  // namespace

Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array) {
  Literal literal(shape);
  const ElementType type = shape.element_type();
  const std::array<uint32_t, 2> key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const auto words =
        Philox({static_cast<uint32_t>(i), static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32), array, 0}, key);
    if (IsFloating(type)) {
      literal.SetDouble(i, Normal(words[0], words[1]));
    } else if (IsComplex(type)) {
      literal.SetComplex(i, {Normal(words[0], words[1]), Normal(words[2], words[3])});
    } else {
      const uint64_t largest = type == ElementType::kPred ? 1
                               : IsSigned(type)           ? static_cast<uint64_t>(MaxSigned(type))
                                                          : MaxUnsigned(type);
      literal.SetInt(i, static_cast<int64_t>(words[0] % (std::min<uint64_t>(largest, 7) + 1)));
    }
  }
  return literal;
}

Result<std::vector<Literal>> SeededArguments(const Module& module, uint64_t seed) {
  std::vector<Literal> arguments;
  uint32_t array = 0;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<Literal> leaves;
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      const uint32_t number = array++;
      if (!leaf->IsArray()) {
        leaves.emplace_back(*leaf);
        continue;
      }
      if (leaf->IsDynamic())
        return InvalidArgument("arg_{}: {} has dynamic dimensions, so it must be given", number, leaf->ToString());
      VXLA_RETURN_IF_ERROR(CheckedElementCount(leaf->dimensions()).status());
      leaves.push_back(RandomLiteral(*leaf, seed, number));
    }
    arguments.push_back(UnflattenLiteral(parameter->shape(), leaves));
  }
  return arguments;
}

}  // namespace VXLA_NAMESPACE
