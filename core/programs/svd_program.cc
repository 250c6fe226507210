// Singular values and vectors by the one-sided Jacobi method (M. R. Hestenes, J. SIAM 6, 1958): columns are rotated in
// pairs until all are orthogonal; their lengths are the values, their directions the left vectors. Those whose length
// is zero, and the further columns of a square U, are what Householder's reflectors make of the others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/library/library_calls.h"
#include "core/programs/jacobi.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

// Products of the same numbers in the same order for both of a pair, so that their rotations are each other's.
struct Gram {
  XlaOp lengths;  // squares, real: [batch, n]
  XlaOp pivots;   // column of the smaller index, conjugated, times that of the larger
};
Gram GramOf(XlaOp w, XlaOp partner) {
  XlaBuilder* const b = w.builder();
  const IntList sizes = Sizes(w);
  const XlaOp other = TakeColumnsAlike(w, partner);
  const XlaOp is_first = BroadcastInDim(Lt(Indices(b, {sizes[2]}, 0), partner), sizes, {2});
  const XlaOp first = Select(is_first, w, other), second = Select(is_first, other, w);
  return {SumOver(SquareOf(w), {1}), SumOver(Mul(Conjugate(first), second), {1})};
}

// One round for all pairs: (columns, right vectors, the largest cosine between columns of the sweep).
std::vector<XlaOp> RotatePairs(XlaBuilder* b, XlaOp round, const std::vector<XlaOp>& v) {
  const XlaOp w = v[0];
  const int64_t n = Sizes(w)[2];
  const XlaOp partner = Apart(PartnersIn(round, n));
  const Gram gram = GramOf(w, partner);
  const XlaOp lengths = Apart(gram.lengths), pivots = Apart(gram.pivots);
  const XlaOp others = TakeColumnsAlike(Reshape(lengths, {Sizes(w)[0], 1, n}), partner);
  const XlaOp beside = Reshape(others, Sizes(lengths));
  const Rotations fresh = RotationsOf(pivots, lengths, beside, partner);
  const Rotations by{Apart(fresh.own), Apart(fresh.other), fresh.diagonal};
  const XlaOp size = Mul(Sqrt(lengths), Sqrt(beside));
  const XlaOp alone = Eq(BroadcastInDim(partner, Sizes(lengths), {1}), Indices(b, Sizes(lengths), 1));
  const XlaOp zero = Full(b, TypeOf(size), Sizes(size), 0);
  const XlaOp counts = And(Gt(size, zero), Not(alone));
  const XlaOp cosine =
      Select(counts, Div(Abs(pivots), Select(counts, size, Full(b, TypeOf(size), Sizes(size), 1))), zero);
  return {RotatedColumns(w, by, partner), RotatedColumns(v[1], by, partner), Max(v[2], MaxOver(cosine, {1}))};
}

// Orthonormal columns, `count` of them, of which the first are those of u that are not zero.
XlaOp Completed(XlaOp u, int64_t count) {
  XlaBuilder* const b = u.builder();
  const IntList sizes = Sizes(u);
  const int64_t batch = sizes[0], rows = sizes[1], n = sizes[2];
  const QrParts qr = QrProgram(u);
  const XlaOp q = HouseholderProgram(PaddedTo(qr.qr, rows, count), qr.taus);
  // R is diagonal, of magnitudes 1 and 0: what a column was multiplied by.
  const XlaOp index = Indices(b, {n}, 0), diagonal = TakeEntries(qr.qr, index, index);
  const XlaOp present = Gt(Abs(diagonal), Full(b, RealPart(TypeOf(u)), {batch, n}, 0.5));
  const XlaOp factors = Select(present, diagonal, Full(b, TypeOf(u), {batch, n}, 1));
  const XlaOp ones = Full(b, TypeOf(u), {batch, count - n}, 1);
  const XlaOp all = count == n ? factors : ConcatInDim(b, {factors, ones}, 1);
  return Mul(q, AlongColumns(all, rows));
}

// Of matrices with no fewer rows than columns.
SvdParts TallSvd(XlaOp a, int64_t u_columns, bool vectors) {
  XlaBuilder* const builder = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t batch = sizes[0], rows = sizes[1], n = sizes[2];
  const ElementType type = TypeOf(a), real = RealPart(type);
  const XlaOp scale = ScaleOf(a), scaled = DividedByReal(a, BroadcastInDim(scale, sizes, {0}));
  const double least = RoundingOf(type) * std::max(1.0, std::sqrt(static_cast<double>(rows)) / 4);
  const auto sweep = [=](XlaBuilder* b, XlaOp, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    return CountedLoop(b, RoundsOf(n), {v[0], v[1], Full(b, real, {batch}, 0)}, RotatePairs);
  };
  const auto unfinished = [=](XlaBuilder* b, const std::vector<XlaOp>& v) {
    return Gt(MaxOver(v[2], {0}), Number(b, real, least));
  };
  const std::vector<XlaOp> done = LoopWhile(
      builder, n < 2 ? 0 : kMostSweeps,
      {scaled, IdentityLike(builder, type, {batch, n, n}), Full(builder, real, {batch}, 1)}, unfinished, sweep);
  const XlaOp lengths = Sqrt(SumOver(SquareOf(done[0]), {1}));
  const XlaOp sorted = Sort({lengths, Indices(builder, {batch, n}, 1)}, InOrder(real, true), 1, true);
  const XlaOp values = GetTupleElement(sorted, 0), order = GetTupleElement(sorted, 1);
  const XlaOp finite = Eq(scale, scale), none = Full(builder, ElementType::kS32, {batch}, 0);
  const XlaOp unfinished_ones = ConvertElementType(Gt(done[2], Full(builder, real, {batch}, least)), ElementType::kS32);
  SvdParts parts;
  parts.values = Mul(values, Repeated(scale, n));
  parts.info =
      Select(finite, n < 2 ? none : unfinished_ones, Full(builder, ElementType::kS32, {batch}, kNotFiniteInfo));
  if (!vectors) return parts;
  const XlaOp right = TakeColumns(done[1], order), phases = PhasesOf(right);
  const XlaOp zero = Full(builder, real, Sizes(values), 0), one = Full(builder, real, Sizes(values), 1);
  const XlaOp present = Gt(values, zero);
  const XlaOp directions = DividedByReal(Mul(TakeColumns(done[0], order), AlongColumns(phases, rows)),
                                         AlongColumns(Select(present, values, one), rows));
  const auto or_nan = [&](XlaOp x) {
    const XlaOp nan = Full(builder, type, Sizes(x), std::numeric_limits<double>::quiet_NaN());
    return Select(BroadcastInDim(finite, Sizes(x), {0}), x, nan);
  };
  parts.u = or_nan(Completed(directions, u_columns));
  parts.v = or_nan(Mul(right, AlongColumns(phases, n)));
  return parts;
}

}  // namespace

SvdParts SvdProgram(XlaOp a, bool all_columns, bool vectors) {
  const int64_t rows = Sizes(a)[1], columns = Sizes(a)[2];
  if (rows >= columns) return TallSvd(a, all_columns ? rows : columns, vectors);
  SvdParts parts = TallSvd(Adjoint(a), all_columns ? columns : rows, vectors);
  std::swap(parts.u, parts.v);
  return parts;
}

}  // namespace VXLA_NAMESPACE::matrix_ops
