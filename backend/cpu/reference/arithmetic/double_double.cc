#include "backend/cpu/reference/arithmetic/double_double.h"

#include <array>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

const DoubleDouble kPi(0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);

// 1 / i!; the first term left out is below 2^-106 of the sum up to pi/4.
constexpr size_t kTerms = 30;
const std::array<DoubleDouble, kTerms>& InverseFactorials() {
  static const auto values = [] {
    std::array<DoubleDouble, kTerms> result;
    result[0] = 1;
    for (size_t i = 1; i < kTerms; ++i) result[i] = result[i - 1] / static_cast<double>(i);
    return result;
  }();
  return values;
}

// The Taylor series of one parity, by Horner's rule: sum over i of (-1)^i x^(2i) / (2i + parity)!
DoubleDouble Series(DoubleDouble square, size_t parity) {
  const std::array<DoubleDouble, kTerms>& inverse = InverseFactorials();
  DoubleDouble sum = inverse[kTerms - 2 + parity];
  for (size_t i = kTerms - 2; i != 0; i -= 2) sum = inverse[i - 2 + parity] - sum * square;
  return sum;
}

}  // namespace

// The turn is taken apart in integers: q eighths and a rest, mirrored where q is odd, so that the series see at most
// pi/4.
CosineSine OfTurn(int64_t k, int64_t n) {
  const int64_t eighths = 8 * k / n, rest = 8 * k % n;
  const int64_t part = eighths % 2 == 0 ? rest : n - rest;
  const DoubleDouble angle = kPi * static_cast<double>(part) / (4 * static_cast<double>(n));
  const DoubleDouble square = angle * angle;
  CosineSine t{Series(square, 0), angle * Series(square, 1)};
  // Of the first quarter turn; then (c, s) -> (-s, c) for each quarter.
  if (eighths % 2 != 0) std::swap(t.cosine, t.sine);
  for (int64_t quarter = eighths / 2; quarter > 0; --quarter) t = {-t.sine, t.cosine};
  return t;
}

}  // namespace VXLA_NAMESPACE
