// QR by Householder reflectors with LAPACK's signs: H = 1 - tau v v^H with v's first element 1 turns a column into
// beta = -sign(re alpha) times its norm (LAPACK's larfg). Blocks of reflectors are applied as products of matrices,
// 1 - V T V^H, where T = (1 + D striu(V^H V))^-1 D and D holds the taus (C. Puglisi, SIAM J. Sci. Stat. Comput. 13,
// 1992): a triangular solve.
#include <algorithm>

#include "core/ceil_divide.h"
#include "core/programs/matrix_ops.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

struct Reflector {
  XlaOp tau, beta, divisor;  // [batch]; of the elements below
};

// Of columns whose elements from row i on are alpha and `below` (zero elsewhere). `counts`: whether there is one.
Reflector ReflectorOf(XlaOp alpha, XlaOp below, XlaOp counts) {
  XlaBuilder* const b = alpha.builder();
  const ElementType type = TypeOf(alpha), real = RealPart(type);
  const IntList vector = Sizes(alpha);
  const XlaOp zero = Full(b, real, vector, 0), one = Full(b, real, vector, 1);
  const XlaOp re = RealOf(alpha), im = IsComplex(type) ? Imag(alpha) : zero;
  // Divided by their largest magnitude numbers do not overflow when they are squared.
  const XlaOp magnitudes = IsComplex(type) ? Max(Abs(Real(below)), Abs(Imag(below))) : Abs(below);
  const XlaOp largest = Max(MaxOver(magnitudes, {1}), Max(Abs(re), Abs(im)));
  const XlaOp scale = Select(Gt(largest, zero), largest, one);
  const int64_t rows = Sizes(below)[1];
  const XlaOp sum = SumOver(SquareOf(DividedByReal(below, Repeated(scale, rows))), {1});
  const XlaOp a = Div(re, scale), c = Div(im, scale);
  const XlaOp norm = Mul(scale, Sqrt(Add(sum, Add(Mul(a, a), Mul(c, c)))));
  const XlaOp beta = Select(Lt(re, zero), norm, Neg(norm));
  const XlaOp reflects = And(Or(Ne(sum, zero), Ne(im, zero)), counts);
  const XlaOp safe = Select(reflects, beta, one);
  const XlaOp tau_re = Select(reflects, Div(Sub(beta, re), safe), zero);
  if (!IsComplex(type)) return {tau_re, Select(reflects, beta, re), Select(reflects, Sub(re, beta), one)};
  const XlaOp tau_im = Select(reflects, Neg(Div(im, safe)), zero);
  return {Complex(tau_re, tau_im), Complex(Select(reflects, beta, re), Select(reflects, zero, im)),
          Complex(Select(reflects, Sub(re, beta), one), Select(reflects, im, zero))};
}

// Columns first to first + width of a matrix, whose diagonal begins in row `first`.
QrParts FactorColumns(XlaOp panel, XlaOp first, int64_t steps) {
  XlaBuilder* const builder = panel.builder();
  const IntList sizes = Sizes(panel);
  const int64_t batch = sizes[0], rows = sizes[1], width = sizes[2];
  const ElementType type = TypeOf(panel);
  const auto step = [=](XlaBuilder* b, XlaOp j, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp a = v[0], i = Add(v[2], j);
    const XlaOp row = Indices(b, {batch, rows}, 1), column = ColumnOf(a, j);
    const XlaOp none = Full(b, type, {batch, rows}, 0);
    const XlaOp alpha = ElementOf(column, i), below = Select(Gt(row, i), column, none);
    const XlaOp counts = Spread(Lt(i, Int(b, steps)), {batch});
    const Reflector reflector = ReflectorOf(alpha, below, counts);
    const XlaOp tail = Div(below, Repeated(reflector.divisor, rows));
    const XlaOp reflected = Select(Eq(row, i), Full(b, type, {batch, rows}, 1), tail);
    const XlaOp vector = Reshape(reflected, {batch, rows, 1});
    const XlaOp products = Reshape(AdjointProduct(vector, a), {batch, width});
    const XlaOp column_number = Indices(b, {batch, width}, 1);
    const XlaOp factors = Select(Gt(column_number, j), Mul(Repeated(Conjugate(reflector.tau), width), products),
                                 Full(b, type, {batch, width}, 0));
    const IntList all{batch, rows, width};
    const XlaOp r = Indices(b, all, 1), c = Indices(b, all, 2);
    // Only there: zero times what is not finite is not zero.
    const XlaOp updated =
        Select(And(Ge(r, i), Gt(c, j)), Sub(a, Mul(AlongRows(reflected, width), AlongColumns(factors, rows))), a);
    const XlaOp here = And(Eq(c, j), BroadcastInDim(counts, all, {0}));
    const XlaOp beta = BroadcastInDim(reflector.beta, all, {0});
    const XlaOp next = Select(And(here, Gt(r, i)), AlongRows(tail, width), Select(And(here, Eq(r, i)), beta, updated));
    return {next, WithElements(v[1], Reshape(reflector.tau, {batch, 1}), j), v[2]};
  };
  const std::vector<XlaOp> done =
      CountedLoop(builder, width, {panel, Full(builder, type, {batch, width}, 0), first}, step);
  return {done[0], done[1]};
}

// V of a panel whose first column's 1 is in row `first`.
XlaOp ReflectorsOf(XlaOp panel, XlaOp first) {
  XlaBuilder* const b = panel.builder();
  const IntList sizes = Sizes(panel);
  const XlaOp row = Indices(b, sizes, 1), diagonal = Add(Indices(b, sizes, 2), first);
  const XlaOp zeros = Full(b, TypeOf(panel), sizes, 0), ones = Full(b, TypeOf(panel), sizes, 1);
  return Select(Gt(row, diagonal), panel, Select(Eq(row, diagonal), ones, zeros));
}

XlaOp BlockFactor(XlaOp v, XlaOp taus) {
  XlaBuilder* const b = v.builder();
  const int64_t batch = Sizes(v)[0], width = Sizes(v)[2];
  const IntList square{batch, width, width};
  const XlaOp tau_rows = AlongRows(taus, width), zeros = Full(b, TypeOf(v), square, 0);
  const XlaOp diagonal = IsDiagonal(b, square);
  // The solve reads what is above the diagonal only, and has ones on it.
  const XlaOp matrix = Mul(tau_rows, AdjointProduct(v, v));
  return TriangularSolve(matrix, Select(diagonal, tau_rows, zeros), true, false, true, TransposeKind::kNoTranspose);
}

}  // namespace

QrParts QrProgram(XlaOp a) {
  XlaBuilder* const builder = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t batch = sizes[0], rows = sizes[1], steps = std::min(sizes[1], sizes[2]), width = PanelWidth(steps);
  const int64_t blocks = CeilDivide(steps, width);
  if (sizes[2] == width) return FactorColumns(a, Int(builder, 0), steps);
  const int64_t columns = std::max(sizes[2], blocks * width);
  const auto step = [=](XlaBuilder* b, XlaOp number, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp first = Mul(number, Int(b, width));
    const QrParts panel = FactorColumns(Columns(v[0], first, width), first, steps);
    const XlaOp reflectors = ReflectorsOf(panel.qr, first);
    const XlaOp products = Product(Adjoint(BlockFactor(reflectors, panel.taus)), AdjointProduct(reflectors, v[0]));
    const XlaOp right = Ge(Indices(b, Sizes(products), 2), Add(first, Int(b, width)));
    const XlaOp zeros = Full(b, TypeOf(a), Sizes(products), 0);
    const XlaOp next = Add(first, Int(b, width));
    const XlaOp inside = And(Ge(Indices(b, Sizes(v[0]), 1), first), Ge(Indices(b, Sizes(v[0]), 2), next));
    const XlaOp rest = Select(inside, Sub(v[0], Product(reflectors, Select(right, products, zeros))), v[0]);
    return {WithColumns(rest, panel.qr, first), WithElements(v[1], panel.taus, first)};
  };
  const std::vector<XlaOp> done = CountedLoop(
      builder, blocks, {PaddedTo(a, rows, columns), Full(builder, TypeOf(a), {batch, blocks * width}, 0)}, step);
  return {CutTo(done[0], rows, sizes[2]), VectorsCutTo(done[1], steps)};
}

// Q c takes the last block first, and Q^H c the first one.
XlaOp ReflectProgram(XlaOp reflectors, XlaOp taus, XlaOp c, bool adjoint) {
  XlaBuilder* const builder = reflectors.builder();
  const IntList sizes = Sizes(reflectors);
  const int64_t batch = sizes[0], rows = sizes[1], count = Sizes(taus)[1];
  if (count == 0) return c;
  const int64_t width = PanelWidth(count), blocks = CeilDivide(count, width);
  const auto step = [=](XlaBuilder* b, XlaOp number, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp first = Mul(adjoint ? number : Sub(Int(b, blocks - 1), number), Int(b, width));
    const XlaOp vectors = ReflectorsOf(Columns(v[1], first, width), first);
    const XlaOp factor = BlockFactor(vectors, DynamicSlice(v[2], {Int(b, 0), first}, {batch, width}));
    const XlaOp products = Product(adjoint ? Adjoint(factor) : factor, AdjointProduct(vectors, v[0]));
    return {Sub(v[0], Product(vectors, products)), v[1], v[2]};
  };
  const XlaOp padded = PaddedTo(CutTo(reflectors, rows, count), rows, blocks * width);
  return CountedLoop(builder, blocks, {c, padded, VectorsPaddedTo(taus, blocks * width)}, step)[0];
}

// The ones and zeros that a block reaches are still those of the identity.
XlaOp HouseholderProgram(XlaOp reflectors, XlaOp taus) {
  XlaBuilder* const b = reflectors.builder();
  return ReflectProgram(reflectors, taus, IdentityLike(b, TypeOf(reflectors), Sizes(reflectors)), false);
}

}  // namespace VXLA_NAMESPACE::matrix_ops
