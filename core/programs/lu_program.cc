// LU with partial pivoting, right-looking: a panel of columns is factored column by column, its rows' exchanges are
// applied to the whole matrix at once, and the rest is updated by a triangular solve and a product (LAPACK's getrf).
#include <algorithm>

#include "core/ceil_divide.h"
#include "core/programs/matrix_ops.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

namespace {

// Columns first to first + width of a matrix, whose pivots are in rows first and below. `steps`: pivots of the whole
// matrix; columns beyond stay as they are.
LuParts FactorPanel(XlaOp panel, XlaOp first, int64_t steps) {
  XlaBuilder* const builder = panel.builder();
  const IntList sizes = Sizes(panel);
  const int64_t batch = sizes[0], rows = sizes[1], width = sizes[2];
  const ElementType type = TypeOf(panel);
  const auto step = [=](XlaBuilder* b, XlaOp j, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp a = v[0], i = Add(v[4], j);
    const XlaOp row = Indices(b, {batch, rows}, 1), column = ColumnOf(a, j);
    const XlaOp size = PivotSize(column);
    const XlaOp found = LargestAt(Select(Ge(row, i), size, Full(b, TypeOf(size), {batch, rows}, -1)));
    const XlaOp counts = Spread(Lt(i, Int(b, steps)), {batch});
    const XlaOp p = Select(counts, found, Spread(i, {batch}));
    const XlaOp order = Reshape(p, {batch, 1});
    const XlaOp row_p = Reshape(TakeRows(a, order), {batch, width}), row_i = RowOf(a, i);
    const XlaOp pivot = ElementOf(row_p, j), under = ElementOf(row_i, j);
    // The column after the exchange, divided by its pivot below it.
    const XlaOp p_of_row = Repeated(p, rows);
    const XlaOp swapped = Select(Eq(row, p_of_row), Repeated(under, rows), column);
    const XlaOp zero = Eq(pivot, Full(b, type, {batch}, 0));
    const XlaOp divisor = Select(zero, Full(b, type, {batch}, 1), pivot);
    const XlaOp below = And(Gt(row, i), Repeated(counts, rows));
    const XlaOp l = Select(below, Div(swapped, Repeated(divisor, rows)), Full(b, type, {batch, rows}, 0));
    const IntList all{batch, rows, width};
    const XlaOp r = Indices(b, all, 1), c = Indices(b, all, 2);
    const XlaOp p_of_all = BroadcastInDim(p, all, {0});
    const XlaOp moved =
        Select(Eq(r, i), AlongColumns(row_p, rows), Select(Eq(r, p_of_all), AlongColumns(row_i, rows), a));
    const XlaOp right = Select(Gt(Indices(b, {batch, width}, 1), j), row_p, Full(b, type, {batch, width}, 0));
    const XlaOp l_of_all = AlongRows(l, width);
    // Only there: zero times what is not finite is not zero.
    const XlaOp updated = Select(And(Gt(r, i), Gt(c, j)), Sub(moved, Mul(l_of_all, AlongColumns(right, rows))), moved);
    const XlaOp is_l = And(And(Eq(c, j), Gt(r, i)), BroadcastInDim(counts, all, {0}));
    const XlaOp order_i = ElementOf(v[2], i), order_p = Reshape(TakeElements(v[2], order), {batch});
    const XlaOp permutation =
        Select(Eq(row, i), Repeated(order_p, rows), Select(Eq(row, p_of_row), Repeated(order_i, rows), v[2]));
    const XlaOp singular = And(And(zero, counts), Eq(v[3], Spread(Int(b, 0), {batch})));
    const XlaOp info = Select(singular, Spread(Add(i, Int(b, 1)), {batch}), v[3]);
    return {Select(is_l, l_of_all, updated), WithElements(v[1], order, j), permutation, info, v[4]};
  };
  const std::vector<XlaOp> done =
      CountedLoop(builder, width,
                  {panel, Full(builder, ElementType::kS32, {batch, width}, 0), Indices(builder, {batch, rows}, 1),
                   Full(builder, ElementType::kS32, {batch}, 0), first},
                  step);
  return {done[0], done[1], done[2], done[3]};
}

}  // namespace

LuParts LuProgram(XlaOp a) {
  XlaBuilder* const builder = a.builder();
  const IntList sizes = Sizes(a);
  const int64_t batch = sizes[0], steps = std::min(sizes[1], sizes[2]), width = PanelWidth(steps);
  const int64_t panels = CeilDivide(steps, width);
  if (sizes[2] == width) return FactorPanel(a, Int(builder, 0), steps);
  const int64_t rows = std::max(sizes[1], panels * width), columns = std::max(sizes[2], panels * width);
  const auto step = [=](XlaBuilder* b, XlaOp number, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp first = Mul(number, Int(b, width));
    const LuParts panel = FactorPanel(Columns(v[0], first, width), first, steps);
    const XlaOp whole = WithColumns(TakeRows(v[0], panel.permutation), panel.lu, first);
    const XlaOp block = Rows(panel.lu, first, width), upper = Rows(whole, first, width);
    const XlaOp solved = TriangularSolve(block, upper, true, true, true, TransposeKind::kNoTranspose);
    const XlaOp next = Add(first, Int(b, width));
    const XlaOp right = Ge(Indices(b, Sizes(upper), 2), next), below = Ge(Indices(b, Sizes(panel.lu), 1), next);
    const XlaOp l = Select(below, panel.lu, Full(b, TypeOf(a), Sizes(panel.lu), 0));
    const XlaOp u = Select(right, solved, Full(b, TypeOf(a), Sizes(upper), 0));
    const XlaOp inside = And(Ge(Indices(b, Sizes(whole), 1), next), Ge(Indices(b, Sizes(whole), 2), next));
    const XlaOp rest = Select(inside, Sub(whole, Product(l, u)), whole);
    const XlaOp none = Eq(v[3], Full(b, ElementType::kS32, {batch}, 0));
    return {WithRows(rest, Select(right, solved, upper), first), WithElements(v[1], panel.pivots, first),
            TakeElements(v[2], panel.permutation), Select(none, panel.info, v[3])};
  };
  const std::vector<XlaOp> done =
      CountedLoop(builder, panels,
                  {PaddedTo(a, rows, columns), Full(builder, ElementType::kS32, {batch, panels * width}, 0),
                   Indices(builder, {batch, rows}, 1), Full(builder, ElementType::kS32, {batch}, 0)},
                  step);
  return {CutTo(done[0], sizes[1], sizes[2]), VectorsCutTo(done[1], steps), VectorsCutTo(done[2], sizes[1]), done[3]};
}

}  // namespace VXLA_NAMESPACE::matrix_ops
