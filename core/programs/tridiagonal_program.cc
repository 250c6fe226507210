// Tridiagonal systems by elimination with exchanges of neighbouring rows (LAPACK's gtsv, jaxlib's
// tridiagonal_solve_perturbed): a loop down the rows, which carries the row at hand, and one back up.
#include <limits>

#include "core/programs/jacobi.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {
namespace {

// Of systems of these sizes: a step of each of the two loops.
struct Elimination {
  int64_t batch, n, columns;
  ElementType type, real;
  bool perturbed;

  XlaOp RowOf(XlaOp matrices, XlaOp i) const { return Reshape(Rows(matrices, i, 1), {batch, columns}); }
  XlaOp AsElement(XlaOp x) const { return Reshape(x, {batch, 1}); }
  XlaOp AsRow(XlaOp x) const { return Reshape(x, {batch, 1, columns}); }
  XlaOp Across(XlaOp x) const { return Repeated(x, columns); }
  XlaOp Zeros(XlaBuilder* at) const { return Full(at, type, {batch}, 0); }

  // 0 to 3: the operands. 4 to 7: what is left of them. 8 to 10: the row at hand. 11: info. 12, of a perturbed
  // solution: the sum of that row's magnitudes.
  std::vector<XlaOp> Down(XlaBuilder* at, XlaOp k, const std::vector<XlaOp>& v) const {
    const XlaOp next = Add(k, Int(at, 1)), has_upper = Spread(Lt(next, Int(at, n - 1)), {batch});
    const XlaOp l = ElementOf(v[0], next), d = ElementOf(v[1], next), right = RowOf(v[3], next);
    const XlaOp u = Select(has_upper, ElementOf(v[2], next), Zeros(at));
    const XlaOp here = v[8], beside = v[9], rest = v[10], none = Zeros(at);
    const XlaOp nothing = Eq(l, none);
    XlaOp info = v[11], keeps_pivot, next_sum;
    if (perturbed) {
      next_sum = Add(Add(Abs(l), Abs(d)), Abs(u));
      keeps_pivot = And(Ne(here, none), Le(Div(Abs(l), next_sum), Div(Abs(here), v[12])));
    } else {
      const XlaOp found = And(And(nothing, Eq(here, none)), Eq(v[11], Spread(Int(at, 0), {batch})));
      info = Select(found, Spread(next, {batch}), v[11]);
      keeps_pivot = Ge(PivotSize(here), PivotSize(l));
    }
    const XlaOp stopped = Ne(info, Spread(Int(at, 0), {batch}));
    const XlaOp stays = Or(nothing, stopped);
    const XlaOp exchanged = And(Not(stays), Not(keeps_pivot));
    const XlaOp pivot = Select(exchanged, l, here), other = Select(exchanged, here, l);
    // A row that stays is taken as it is: zero times what is not finite is not zero.
    const XlaOp factor = Div(other, Select(stays, Full(at, type, {batch}, 1), pivot));
    const XlaOp d_left = Select(exchanged, Sub(beside, Mul(factor, d)), Select(stays, d, Sub(d, Mul(factor, beside))));
    const XlaOp u_left = Select(And(exchanged, has_upper), Neg(Mul(factor, u)), Select(exchanged, none, u));
    const XlaOp b_left = Select(Across(exchanged), Sub(rest, Mul(Across(factor), right)),
                                Select(Across(stays), right, Sub(right, Mul(Across(factor), rest))));
    const XlaOp l_out = Select(exchanged, u, Select(stopped, l, none));
    std::vector<XlaOp> left{v[0],
                            v[1],
                            v[2],
                            v[3],
                            WithElements(v[4], AsElement(l_out), k),
                            WithElements(v[5], AsElement(pivot), k),
                            WithElements(v[6], AsElement(Select(exchanged, d, beside)), k),
                            WithRows(v[7], AsRow(Select(Across(exchanged), right, rest)), k),
                            d_left,
                            u_left,
                            b_left,
                            info};
    if (perturbed) left.push_back(Select(exchanged, Add(Abs(d_left), Abs(u_left)), next_sum));
    return left;
  }

  // By how much a pivot that is next to zero grows: of the rows before the last but one, their first, and the last
  // pivot.
  XlaOp Growth(XlaOp d_first, XlaOp u_first, const std::vector<XlaOp>& left) const {
    XlaBuilder* const builder = d_first.builder();
    const XlaOp least = Full(builder, real, {batch}, Least());
    XlaOp largest = Max(Max(Abs(d_first), Abs(u_first)), Abs(left[8]));
    const XlaOp counted = Lt(Indices(builder, {batch, n}, 1), Spread(Int(builder, n - 2), {batch, n}));
    for (const XlaOp part : {left[4], left[5], left[6]})
      largest = Max(largest, MaxOver(Select(counted, Abs(part), Full(builder, real, {batch, n}, 0)), {1}));
    return Max(least, Mul(largest, Full(builder, real, {batch}, RoundingOf(real))));
  }
  double Least() const {
    return real == ElementType::kF32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  }

  std::vector<XlaOp> Up(XlaBuilder* at, XlaOp step, const std::vector<XlaOp>& v) const {
    const XlaOp k = Sub(Int(at, n - 1), step);
    const XlaOp below = Mul(Across(ElementOf(v[2], k)), v[4]), second = Mul(Across(ElementOf(v[0], k)), v[5]);
    const XlaOp given = RowOf(v[3], k);
    const XlaOp row = Sub(Sub(given, below), second);
    XlaOp pivot = ElementOf(v[1], k);
    if (perturbed) {
      const XlaOp sign = RealOf(pivot), nothing = Full(at, real, {batch}, 0);
      const XlaOp limit =
          Min(Mul(MaxOver(Abs(row), {1}), Full(at, real, {batch}, Least())), Full(at, real, {batch}, 1));
      const XlaOp more = Max(v[7], limit), signed_more = Select(Lt(sign, nothing), Neg(more), more);
      const XlaOp grown = Add(pivot, IsComplex(type) ? Complex(signed_more, nothing) : signed_more);
      pivot = Select(Or(Eq(pivot, Zeros(at)), Lt(Abs(pivot), limit)), grown, pivot);
    }
    const XlaOp solved = Div(row, Across(pivot));
    const XlaOp x = Select(Across(Eq(v[6], Spread(Int(at, 0), {batch}))), solved, given);
    std::vector<XlaOp> next{v[0], v[1], v[2], WithRows(v[3], AsRow(x), k), x, v[4], v[6]};
    if (perturbed) next.push_back(v[7]);
    return next;
  }
};

}  // namespace

TridiagonalSolution TridiagonalSolveProgram(XlaOp lower, XlaOp diagonal, XlaOp upper, XlaOp b, bool perturbed) {
  XlaBuilder* const builder = b.builder();
  const IntList sizes = Sizes(b);
  const ElementType type = TypeOf(b);
  const Elimination rows{sizes[0], sizes[1], sizes[2], type, RealPart(type), perturbed};
  const int64_t batch = rows.batch, n = rows.n;
  const auto down = [=](XlaBuilder* at, XlaOp k, const std::vector<XlaOp>& v) { return rows.Down(at, k, v); };
  const auto up = [=](XlaBuilder* at, XlaOp step, const std::vector<XlaOp>& v) { return rows.Up(at, step, v); };
  const XlaOp first = Int(builder, 0), last = Int(builder, n - 1);
  const XlaOp u_first = n > 1 ? ElementOf(upper, first) : rows.Zeros(builder);
  const XlaOp vector = Full(builder, type, {batch, n}, 0);
  const XlaOp d_first = ElementOf(diagonal, first);
  std::vector<XlaOp> initial{lower,
                             diagonal,
                             upper,
                             b,
                             vector,
                             vector,
                             vector,
                             Full(builder, type, sizes, 0),
                             d_first,
                             u_first,
                             rows.RowOf(b, first),
                             Full(builder, ElementType::kS32, {batch}, 0)};
  if (perturbed) initial.push_back(Add(Abs(d_first), Abs(u_first)));
  const std::vector<XlaOp> left = CountedLoop(builder, n - 1, initial, down);
  const XlaOp none = Spread(first, {batch});
  // info of a perturbed solution stays 0: every row is solved.
  const XlaOp singular = And(Eq(left[11], none), Eq(left[8], rows.Zeros(builder)));
  const XlaOp info = perturbed ? left[11] : Select(singular, Spread(Int(builder, n), {batch}), left[11]);
  const XlaOp pivots = WithElements(left[5], rows.AsElement(left[8]), last);

  const XlaOp growth = perturbed ? rows.Growth(d_first, u_first, left) : XlaOp();
  const XlaOp row = Full(builder, type, {batch, rows.columns}, 0);
  std::vector<XlaOp> factor{left[4], pivots, left[6], WithRows(left[7], rows.AsRow(left[10]), last), row, row, info};
  if (perturbed) factor.push_back(growth);
  const std::vector<XlaOp> done = CountedLoop(builder, n, factor, up);
  return {left[4], pivots, WithElements(left[6], rows.AsElement(ElementOf(upper, last)), last), done[3], info};
}

}  // namespace VXLA_NAMESPACE::matrix_ops
