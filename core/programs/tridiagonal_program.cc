// Tridiagonal systems by elimination with exchanges of neighbouring rows (LAPACK's gtsv): a loop down the rows, which
// carries the row at hand, and one back up.
#include "core/programs/matrix_ops.h"
#include "core/programs/matrix_programs.h"

namespace VXLA_NAMESPACE::matrix_ops {

TridiagonalSolution TridiagonalSolveProgram(XlaOp lower, XlaOp diagonal, XlaOp upper, XlaOp b) {
  XlaBuilder* const builder = b.builder();
  const IntList sizes = Sizes(b);
  const int64_t batch = sizes[0], n = sizes[1], columns = sizes[2];
  const ElementType type = TypeOf(b);
  const auto row_of = [=](XlaOp matrices, XlaOp i) { return Reshape(Rows(matrices, i, 1), {batch, columns}); };
  const auto as_element = [=](XlaOp x) { return Reshape(x, {batch, 1}); };
  const auto as_row = [=](XlaOp x) { return Reshape(x, {batch, 1, columns}); };
  const auto across = [=](XlaOp x) { return Repeated(x, columns); };
  const auto zeros = [=](XlaBuilder* at) { return Full(at, type, {batch}, 0); };
  // What LAPACK compares: |re| + |im|.
  const auto size = [](XlaOp x) { return IsComplex(TypeOf(x)) ? Add(Abs(Real(x)), Abs(Imag(x))) : Abs(x); };

  // 0 to 3: the operands. 4 to 7: what is left of them. 8 to 10: the row at hand. 11: info.
  const auto down = [=](XlaBuilder* at, XlaOp k, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp next = Add(k, Int(at, 1)), has_upper = Spread(Lt(next, Int(at, n - 1)), {batch});
    const XlaOp l = ElementOf(v[0], next), d = ElementOf(v[1], next), right = row_of(v[3], next);
    const XlaOp u = Select(has_upper, ElementOf(v[2], next), zeros(at));
    const XlaOp here = v[8], beside = v[9], rest = v[10], none = zeros(at);
    const XlaOp nothing = Eq(l, none);
    const XlaOp found = And(And(nothing, Eq(here, none)), Eq(v[11], Spread(Int(at, 0), {batch})));
    const XlaOp info = Select(found, Spread(next, {batch}), v[11]);
    const XlaOp stopped = Ne(info, Spread(Int(at, 0), {batch}));
    const XlaOp stays = Or(nothing, stopped);
    const XlaOp exchanged = And(Not(stays), Not(Ge(size(here), size(l))));
    const XlaOp pivot = Select(exchanged, l, here), other = Select(exchanged, here, l);
    // A row that stays is taken as it is: zero times what is not finite is not zero.
    const XlaOp factor = Div(other, Select(stays, Full(at, type, {batch}, 1), pivot));
    const XlaOp d_left = Select(exchanged, Sub(beside, Mul(factor, d)), Select(stays, d, Sub(d, Mul(factor, beside))));
    const XlaOp u_left = Select(And(exchanged, has_upper), Neg(Mul(factor, u)), Select(exchanged, none, u));
    const XlaOp b_left = Select(across(exchanged), Sub(rest, Mul(across(factor), right)),
                                Select(across(stays), right, Sub(right, Mul(across(factor), rest))));
    const XlaOp l_out = Select(exchanged, u, Select(stopped, l, none));
    return {v[0],
            v[1],
            v[2],
            v[3],
            WithElements(v[4], as_element(l_out), k),
            WithElements(v[5], as_element(pivot), k),
            WithElements(v[6], as_element(Select(exchanged, d, beside)), k),
            WithRows(v[7], as_row(Select(across(exchanged), right, rest)), k),
            d_left,
            u_left,
            b_left,
            info};
  };
  const XlaOp first = Int(builder, 0), last = Int(builder, n - 1);
  const XlaOp u_first = n > 1 ? ElementOf(upper, first) : zeros(builder);
  const XlaOp vector = Full(builder, type, {batch, n}, 0);
  const std::vector<XlaOp> left =
      CountedLoop(builder, n - 1,
                  {lower, diagonal, upper, b, vector, vector, vector, Full(builder, type, sizes, 0),
                   ElementOf(diagonal, first), u_first, row_of(b, first), Full(builder, ElementType::kS32, {batch}, 0)},
                  down);
  const XlaOp none = Spread(first, {batch});
  const XlaOp singular = And(Eq(left[11], none), Eq(left[8], zeros(builder)));
  const XlaOp info = Select(singular, Spread(Int(builder, n), {batch}), left[11]);
  const XlaOp pivots = WithElements(left[5], as_element(left[8]), last);

  const auto up = [=](XlaBuilder* at, XlaOp step, const std::vector<XlaOp>& v) -> std::vector<XlaOp> {
    const XlaOp k = Sub(Int(at, n - 1), step);
    const XlaOp below = Mul(across(ElementOf(v[2], k)), v[4]), second = Mul(across(ElementOf(v[0], k)), v[5]);
    const XlaOp given = row_of(v[3], k);
    const XlaOp solved = Div(Sub(Sub(given, below), second), across(ElementOf(v[1], k)));
    const XlaOp x = Select(across(Eq(v[6], Spread(Int(at, 0), {batch}))), solved, given);
    return {v[0], v[1], v[2], WithRows(v[3], as_row(x), k), x, v[4], v[6]};
  };
  const XlaOp row = Full(builder, type, {batch, columns}, 0);
  const std::vector<XlaOp> done = CountedLoop(
      builder, n, {left[4], pivots, left[6], WithRows(left[7], as_row(left[10]), last), row, row, info}, up);
  return {left[4], pivots, WithElements(left[6], as_element(ElementOf(upper, last)), last), done[3], info};
}

}  // namespace VXLA_NAMESPACE::matrix_ops
