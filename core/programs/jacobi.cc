// The order of a round-robin tournament: R. P. Brent, F. T. Luk, SIAM J. Sci. Stat. Comput. 6, 1985. The partner of
// each is worked out, nothing is moved.
#include "core/programs/jacobi.h"

#include <limits>

namespace VXLA_NAMESPACE::matrix_ops {

double RoundingOf(ElementType type) {
  return RealPart(type) == ElementType::kF64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
}

int64_t RoundsOf(int64_t n) { return n < 2 ? 0 : n % 2 == 0 ? n - 1 : n; }

// i and round - i modulo players - 1, where players is even; whom that leaves
// alone plays with the last.
XlaOp PartnersIn(XlaOp round, int64_t n) {
  XlaBuilder* const b = round.builder();
  const int64_t circle = n % 2 == 0 ? n - 1 : n;
  const IntList sizes{n};
  const XlaOp i = Indices(b, sizes, 0), number = Spread(round, sizes), length = Spread(Int(b, circle), sizes);
  const XlaOp opposite = Rem(Add(Sub(number, i), length), length);
  if (n % 2 == 1) return opposite;
  // 2 j = round modulo the odd length of the circle: j is half of round, or of round + length.
  const XlaOp half = Div(Add(number, Select(Eq(And(number, Spread(Int(b, 1), sizes)), Spread(Int(b, 0), sizes)),
                                            Spread(Int(b, 0), sizes), length)),
                         Spread(Int(b, 2), sizes));
  const XlaOp last = Spread(Int(b, n - 1), sizes);
  return Select(Eq(i, last), half, Select(Eq(opposite, i), last, opposite));
}

Rotations RotationsOf(XlaOp pivot, XlaOp mine, XlaOp other, XlaOp partner) {
  XlaBuilder* const b = pivot.builder();
  const ElementType type = TypeOf(pivot), real = RealPart(type);
  const IntList sizes = Sizes(pivot);
  const XlaOp i = Indices(b, {sizes[1]}, 0);
  const auto all = [&](XlaOp x) { return BroadcastInDim(x, sizes, {1}); };
  const XlaOp magnitude = Abs(pivot);
  const XlaOp zero = Full(b, real, sizes, 0), one = Full(b, real, sizes, 1);
  const XlaOp alone = Or(Eq(magnitude, zero), all(Eq(i, partner)));
  const XlaOp safe = Select(alone, one, magnitude);
  const XlaOp cotangent = Div(Sub(other, mine), Add(safe, safe));
  const XlaOp root = Sqrt(Add(one, Mul(cotangent, cotangent)));
  const XlaOp tangent_size = Div(one, Add(Abs(cotangent), root));
  const XlaOp negative = Or(Lt(cotangent, zero), And(Eq(cotangent, zero), all(Gt(i, partner))));
  const XlaOp tangent = Select(alone, zero, Select(negative, Neg(tangent_size), tangent_size));
  const XlaOp cosine = Div(one, Sqrt(Add(one, Mul(tangent, tangent))));
  const XlaOp sine = Neg(Mul(tangent, cosine));
  // The phase of the element below the diagonal in the pair's first column.
  XlaOp phased = Mul(sine, Div(RealOf(pivot), safe));
  if (IsComplex(type)) {
    const XlaOp imaginary = Mul(sine, Div(Imag(pivot), safe));
    phased = Complex(phased, Select(all(Lt(i, partner)), Neg(imaginary), imaginary));
  }
  const XlaOp lonely = Full(b, type, sizes, 0);
  return {cosine, Select(alone, lonely, phased), Sub(mine, Select(alone, zero, Mul(tangent, magnitude)))};
}

XlaOp RotatedColumns(XlaOp x, const Rotations& by, XlaOp partner) {
  const int64_t rows = Sizes(x)[1];
  return Add(TimesReal(x, AlongColumns(by.own, rows)), Mul(TakeColumnsAlike(x, partner), AlongColumns(by.other, rows)));
}

XlaOp ScaleOf(XlaOp a) {
  XlaBuilder* const b = a.builder();
  const ElementType real = RealPart(TypeOf(a));
  const XlaOp magnitudes = IsComplex(TypeOf(a)) ? Max(Abs(Real(a)), Abs(Imag(a))) : Abs(a);
  const XlaOp largest = MaxOver(magnitudes, {1, 2});
  const IntList batch = Sizes(largest);
  const XlaOp one = Full(b, real, batch, 1), nan = Full(b, real, batch, std::numeric_limits<double>::quiet_NaN());
  return Select(IsFinite(largest), Select(Gt(largest, Full(b, real, batch, 0)), largest, one), nan);
}

XlaOp PhasesOf(XlaOp vectors) {
  XlaBuilder* const b = vectors.builder();
  const IntList sizes = Sizes(vectors);
  const ElementType type = TypeOf(vectors), real = RealPart(type);
  const XlaOp magnitudes = Abs(vectors);
  const XlaOp least = Mul(MaxOver(magnitudes, {1}), Number(b, real, kPhaseThreshold));
  const XlaOp row = Indices(b, sizes, 1);
  const XlaOp large = Ge(magnitudes, AlongColumns(least, sizes[1]));
  const XlaOp first = MinOver(Select(large, row, Full(b, ElementType::kS32, sizes, sizes[1])), {1});
  const XlaOp chosen = Select(Eq(row, AlongColumns(first, sizes[1])), vectors, Full(b, type, sizes, 0));
  const XlaOp value = SumOver(chosen, {1}), size = Abs(value);
  const XlaOp present = Gt(size, Full(b, real, Sizes(size), 0));
  const XlaOp divisor = Select(present, size, Full(b, real, Sizes(size), 1));
  return Select(present, DividedByReal(Conjugate(value), divisor), Full(b, type, Sizes(size), 1));
}

}  // namespace VXLA_NAMESPACE::matrix_ops
