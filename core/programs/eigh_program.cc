// Eigenvalues and vectors of Hermitian matrices by Jacobi's method: a sweep takes each pair of rows and columns once,
// n/2 disjoint pairs at a time in the order of a round-robin tournament (R. P. Brent, F. T. Luk, SIAM J. Sci. Stat.
// Comput. 6, 1985; the partner of each is worked out, nothing is moved), and rotates it so that the element off the
// diagonal becomes zero. Sweeps end when what is off the diagonal is below the rounding of the whole.
#include <limits>

#include "core/programs/matrix_ops.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

constexpr int64_t kMostSweeps = 30;  // 6 to 10 are usual

double RoundingOf(ElementType type) {
  return RealPart(type) == ElementType::kF64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
}

// The partner of each index in a round: i and round - i modulo players - 1, where players is even; whom that leaves
// alone plays with the last. An index without a partner (n is odd) is its own.
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

// Column i becomes own[i] times itself plus other[i] times its partner.
struct Rotations {
  XlaOp own, other;  // [batch, n]; own is of the real type
  XlaOp diagonal;    // what the rotations make of the diagonal, real
};

Rotations RotationsOf(XlaOp a, XlaOp partner) {
  XlaBuilder* const b = a.builder();
  const ElementType type = TypeOf(a), real = RealPart(type);
  const int64_t batch = Sizes(a)[0], n = Sizes(a)[1];
  const IntList sizes{batch, n};
  const XlaOp i = Indices(b, {n}, 0);
  const auto real_part = [&](XlaOp x) { return IsComplex(type) ? Real(x) : x; };
  const auto all = [&](XlaOp x) { return BroadcastInDim(x, sizes, {1}); };
  const XlaOp first = Min(i, partner), second = Max(i, partner);
  // Both of a pair read the same element, so that their rotations are each other's bit by bit.
  const XlaOp pivot = TakeEntries(a, first, second), magnitude = Abs(pivot);
  const XlaOp mine = real_part(TakeEntries(a, i, i)), other = real_part(TakeEntries(a, partner, partner));
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
  XlaOp phased = Mul(sine, Div(real_part(pivot), safe));
  if (IsComplex(type)) {
    const XlaOp imaginary = Mul(sine, Div(Imag(pivot), safe));
    phased = Complex(phased, Select(all(Lt(i, partner)), Neg(imaginary), imaginary));
  }
  const XlaOp lonely = Full(b, type, sizes, 0);
  return {cosine, Select(alone, lonely, phased), Sub(mine, Select(alone, zero, Mul(tangent, magnitude)))};
}

XlaOp IsDiagonal(XlaBuilder* b, const IntList& sizes) { return Eq(Indices(b, sizes, 1), Indices(b, sizes, 2)); }

// One round for all pairs: (a, vectors) afterwards.
std::vector<XlaOp> Rotate(XlaOp a, XlaOp vectors, XlaOp round) {
  XlaBuilder* const b = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t n = sizes[1];
  const XlaOp partner = Apart(PartnersIn(round, n));
  const Rotations fresh = RotationsOf(a, partner);
  const Rotations by{Apart(fresh.own), Apart(fresh.other), Apart(fresh.diagonal)};
  const auto columns = [&](XlaOp x) {
    return Add(TimesReal(x, AlongColumns(by.own, n)), Mul(TakeColumnsAlike(x, partner), AlongColumns(by.other, n)));
  };
  const XlaOp half = columns(a);
  const XlaOp whole =
      Add(TimesReal(half, AlongRows(by.own, n)), Mul(TakeRowsAlike(half, partner), AlongRows(Conjugate(by.other), n)));
  const XlaOp c = Indices(b, sizes, 2);
  const XlaOp cleared = Eq(BroadcastInDim(partner, sizes, {1}), c);
  const XlaOp zeros = Full(b, TypeOf(a), sizes, 0);
  const XlaOp diagonal = AlongRows(AsType(by.diagonal, TypeOf(a)), n);
  return {Select(IsDiagonal(b, sizes), diagonal, Select(cleared, zeros, whole)), columns(vectors)};
}

// Whether a matrix of the batch has more off its diagonal than rounding leaves. NaN has not.
XlaOp IsUnfinished(XlaOp a) {
  XlaBuilder* const b = a.builder();
  const XlaOp squares = SquareOf(a);
  const XlaOp none = Full(b, TypeOf(squares), Sizes(a), 0);
  const XlaOp off = SumOver(Select(IsDiagonal(b, Sizes(a)), none, squares), {1, 2});
  const double rounding = RoundingOf(TypeOf(a)) / 2;
  const XlaOp limit = Mul(SumOver(squares, {1, 2}), Number(b, TypeOf(squares), rounding * rounding));
  return ConvertElementType(Gt(off, limit), ElementType::kS32);
}

// Reads one triangle, with the diagonal's real part, divided by the largest magnitude.
std::pair<XlaOp, XlaOp> HermitianOf(XlaOp a, bool lower) {
  XlaBuilder* const b = a.builder();
  const IntList sizes = Sizes(a);
  const ElementType type = TypeOf(a), real = RealPart(type);
  const XlaOp r = Indices(b, sizes, 1), c = Indices(b, sizes, 2);
  XlaOp whole = Select(lower ? Ge(r, c) : Le(r, c), a, Adjoint(a));
  if (IsComplex(type)) {
    const XlaOp zero = Full(b, real, sizes, 0);
    whole = Complex(Real(whole), Select(Eq(r, c), zero, Imag(whole)));
  }
  const XlaOp magnitudes = IsComplex(type) ? Max(Abs(Real(whole)), Abs(Imag(whole))) : Abs(whole);
  const XlaOp largest = MaxOver(magnitudes, {1, 2});
  const XlaOp one = Full(b, real, {sizes[0]}, 1), zero = Full(b, real, {sizes[0]}, 0);
  // What is not finite makes everything NaN.
  const XlaOp nan = Full(b, real, {sizes[0]}, std::numeric_limits<double>::quiet_NaN());
  const XlaOp scale = Select(IsFinite(largest), Select(Gt(largest, zero), largest, one), nan);
  return {DividedByReal(whole, BroadcastInDim(scale, sizes, {0})), scale};
}

// Columns in the order of their values, each with its phase (kPhaseThreshold).
XlaOp Normalized(XlaOp vectors, XlaOp order) {
  XlaBuilder* const b = vectors.builder();
  const IntList sizes = Sizes(vectors);
  const ElementType type = TypeOf(vectors);
  const XlaOp sorted = TakeColumns(vectors, order);
  const XlaOp magnitudes = Abs(sorted);
  const XlaOp least = Mul(MaxOver(magnitudes, {1}), Number(b, RealPart(type), kPhaseThreshold));
  const XlaOp row = Indices(b, sizes, 1);
  const XlaOp large = Ge(magnitudes, AlongColumns(least, sizes[1]));
  const XlaOp first = MinOver(Select(large, row, Full(b, ElementType::kS32, sizes, sizes[1])), {1});
  const XlaOp chosen = Select(Eq(row, AlongColumns(first, sizes[1])), sorted, Full(b, type, sizes, 0));
  const XlaOp value = SumOver(chosen, {1}), size = Abs(value);
  const XlaOp present = Gt(size, Full(b, RealPart(type), Sizes(size), 0));
  const XlaOp divisor = Select(present, size, Full(b, RealPart(type), Sizes(size), 1));
  const XlaOp phase = Select(present, DividedByReal(Conjugate(value), divisor), Full(b, type, Sizes(size), 1));
  return Mul(sorted, AlongColumns(phase, sizes[1]));
}

XlaComputation Ascending(ElementType type) {
  XlaBuilder b("ascending");
  const XlaOp x = Parameter(&b, 0, Shape(type), "x"), y = Parameter(&b, 1, Shape(type), "y");
  Parameter(&b, 2, Shape(ElementType::kS32), "i");
  Parameter(&b, 3, Shape(ElementType::kS32), "j");
  return *b.Build(LtTotalOrder(x, y));
}

}  // namespace

EighParts EighProgram(XlaOp a, bool lower) {
  XlaBuilder* const builder = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t batch = sizes[0], n = sizes[1];
  const ElementType type = TypeOf(a);
  const auto [scaled, scale] = HermitianOf(a, lower);
  const XlaOp identity =
      Select(IsDiagonal(builder, sizes), Full(builder, type, sizes, 1), Full(builder, type, sizes, 0));
  const int64_t rounds = n % 2 == 0 ? n - 1 : n;
  const auto sweep = [=](XlaBuilder* b, XlaOp, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const std::vector<XlaOp> swept =
        CountedLoop(b, n < 2 ? 0 : rounds, {v[0], v[1]},
                    [](XlaBuilder*, XlaOp round, const std::vector<XlaOp>& w) { return Rotate(w[0], w[1], round); });
    return {swept[0], swept[1], IsUnfinished(swept[0])};
  };
  const auto unfinished = [](XlaBuilder* b, const std::vector<XlaOp>& v) {
    return Gt(Reshape(SumOver(v[2], {0}), {}), Int(b, 0));
  };
  const std::vector<XlaOp> done =
      LoopWhile(builder, kMostSweeps, {scaled, identity, IsUnfinished(scaled)}, unfinished, sweep);
  const XlaOp index = Indices(builder, {n}, 0);
  XlaOp values = TakeEntries(done[0], index, index);
  if (IsComplex(type)) values = Real(values);
  const XlaOp sorted =
      Sort({Mul(values, Repeated(scale, n)), Indices(builder, {batch, n}, 1)}, Ascending(RealPart(type)), 1, true);
  const XlaOp finite = BroadcastInDim(Eq(scale, scale), sizes, {0});
  const XlaOp nan = Full(builder, type, sizes, std::numeric_limits<double>::quiet_NaN());
  const XlaOp vectors = Normalized(done[1], GetTupleElement(sorted, 1));
  return {Select(finite, vectors, nan), GetTupleElement(sorted, 0), done[2]};
}

}  // namespace VXLA_NAMESPACE::matrix_ops
