// Eigenvalues and vectors of Hermitian matrices by Jacobi's method: a sweep takes each pair of rows and columns once
// and rotates it so that the element off the diagonal becomes zero. Sweeps end when what is off the diagonal is below
// the rounding of the whole.
#include <limits>

#include "core/library/library_calls.h"
#include "core/programs/jacobi.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

// One round for all pairs: (a, vectors) afterwards.
std::vector<XlaOp> RotateBothSides(XlaOp a, XlaOp vectors, XlaOp round) {
  XlaBuilder* const b = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t n = sizes[1];
  const XlaOp partner = Apart(PartnersIn(round, n));
  const XlaOp i = Indices(b, {n}, 0);
  // Both of a pair read the same element, so that their rotations are each other's bit by bit.
  const XlaOp pivot = TakeEntries(a, Min(i, partner), Max(i, partner));
  const Rotations fresh =
      RotationsOf(pivot, RealOf(TakeEntries(a, i, i)), RealOf(TakeEntries(a, partner, partner)), partner);
  const Rotations by{Apart(fresh.own), Apart(fresh.other), Apart(fresh.diagonal)};
  // A value of its own: the rows' sums read each of its elements twice.
  const XlaOp half = Apart(RotatedColumns(a, by, partner));
  const XlaOp whole =
      Add(TimesReal(half, AlongRows(by.own, n)), Mul(TakeRowsAlike(half, partner), AlongRows(Conjugate(by.other), n)));
  const XlaOp c = Indices(b, sizes, 2);
  const XlaOp cleared = Eq(BroadcastInDim(partner, sizes, {1}), c);
  const XlaOp zeros = Full(b, TypeOf(a), sizes, 0);
  const XlaOp diagonal = AlongRows(AsType(by.diagonal, TypeOf(a)), n);
  return {Select(IsDiagonal(b, sizes), diagonal, Select(cleared, zeros, whole)), RotatedColumns(vectors, by, partner)};
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
  const XlaOp scale = ScaleOf(whole);
  return {DividedByReal(whole, BroadcastInDim(scale, sizes, {0})), scale};
}

}  // namespace

EighParts EighProgram(XlaOp a, bool lower) {
  XlaBuilder* const builder = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t batch = sizes[0], n = sizes[1];
  const ElementType type = TypeOf(a);
  const auto [scaled, scale] = HermitianOf(a, lower);
  const XlaOp identity = IdentityLike(builder, type, sizes);
  const auto sweep = [=](XlaBuilder* b, XlaOp, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const std::vector<XlaOp> swept = CountedLoop(
        b, RoundsOf(n), {v[0], v[1]},
        [](XlaBuilder*, XlaOp round, const std::vector<XlaOp>& w) { return RotateBothSides(w[0], w[1], round); });
    return {swept[0], swept[1], IsUnfinished(swept[0])};
  };
  const auto unfinished = [](XlaBuilder* b, const std::vector<XlaOp>& v) { return Gt(SumOver(v[2], {0}), Int(b, 0)); };
  const std::vector<XlaOp> done =
      LoopWhile(builder, kMostSweeps, {scaled, identity, IsUnfinished(scaled)}, unfinished, sweep);
  const XlaOp index = Indices(builder, {n}, 0);
  const XlaOp values = RealOf(TakeEntries(done[0], index, index));
  const XlaOp sorted =
      Sort({Mul(values, Repeated(scale, n)), Indices(builder, {batch, n}, 1)}, InOrder(RealPart(type), false), 1, true);
  const XlaOp is_number = Eq(scale, scale), finite = BroadcastInDim(is_number, sizes, {0});
  const XlaOp info = Select(is_number, done[2], Full(builder, ElementType::kS32, {batch}, kNotFiniteInfo));
  const XlaOp nan = Full(builder, type, sizes, std::numeric_limits<double>::quiet_NaN());
  const XlaOp vectors = TakeColumns(done[1], GetTupleElement(sorted, 1));
  return {Select(finite, Mul(vectors, AlongColumns(PhasesOf(vectors), n)), nan), GetTupleElement(sorted, 0), info};
}

}  // namespace VXLA_NAMESPACE::matrix_ops
