#include "core/programs/matrix_ops.h"

namespace VXLA_NAMESPACE::matrix_ops {
namespace {

using enum ElementType;

XlaComputation Built(const XlaBuilder& b, XlaOp root) {
  Result<XlaComputation> computation = b.Build(root);
  VXLA_CHECK(computation.ok(), computation.status().message());
  return *std::move(computation);
}

XlaOp Zero(XlaOp like) { return Int(like.builder(), 0); }

GatherAttributes Gathering(IntList offset_dims, IntList collapsed, IntList batching, IntList indices_batching,
                           IntList start_index_map, int64_t index_vector_dim) {
  GatherAttributes gather;
  gather.offset_dims = std::move(offset_dims);
  gather.collapsed_slice_dims = std::move(collapsed);
  gather.operand_batching_dims = std::move(batching);
  gather.start_indices_batching_dims = std::move(indices_batching);
  gather.start_index_map = std::move(start_index_map);
  gather.index_vector_dim = index_vector_dim;
  return gather;
}

}  // namespace

XlaOp PivotSize(XlaOp x) { return IsComplex(TypeOf(x)) ? Add(Abs(Real(x)), Abs(Imag(x))) : Abs(x); }

XlaComputation Combiner(const std::string& name, ElementType type, XlaOp (*combine)(XlaOp, XlaOp, const IntList&)) {
  XlaBuilder b(name);
  const XlaOp x = Parameter(&b, 0, Shape(type), "x"), y = Parameter(&b, 1, Shape(type), "y");
  return Built(b, combine(x, y, {}));
}

XlaOp Int(XlaBuilder* b, int64_t value) { return ConstantR0<int32_t>(b, static_cast<int32_t>(value)); }
XlaOp Number(XlaBuilder* b, ElementType type, double value) { return ConstantScalar(b, type, value); }
XlaOp Full(XlaBuilder* b, ElementType type, const IntList& sizes, double value) {
  return Spread(Number(b, type, value), sizes);
}
XlaOp Indices(XlaBuilder* b, const IntList& sizes, int64_t dimension) { return Iota(b, Shape(kS32, sizes), dimension); }
IntList Sizes(XlaOp x) { return {x.shape().dimensions().begin(), x.shape().dimensions().end()}; }
ElementType TypeOf(XlaOp x) { return x.shape().element_type(); }

XlaOp Conjugate(XlaOp x) { return IsComplex(TypeOf(x)) ? Complex(Real(x), Neg(Imag(x))) : x; }
XlaOp RealOf(XlaOp x) { return IsComplex(TypeOf(x)) ? Real(x) : x; }
XlaOp SquareOf(XlaOp x) {
  if (!IsComplex(TypeOf(x))) return Mul(x, x);
  return Add(Mul(Real(x), Real(x)), Mul(Imag(x), Imag(x)));
}
XlaOp AsType(XlaOp x, ElementType type) { return TypeOf(x) == type ? x : ConvertElementType(x, type); }
XlaOp TimesReal(XlaOp x, XlaOp factor) {
  return IsComplex(TypeOf(x)) ? Complex(Mul(Real(x), factor), Mul(Imag(x), factor)) : Mul(x, factor);
}
XlaOp DividedByReal(XlaOp x, XlaOp divisor) {
  return IsComplex(TypeOf(x)) ? Complex(Div(Real(x), divisor), Div(Imag(x), divisor)) : Div(x, divisor);
}

XlaOp AlongRows(XlaOp x, int64_t columns) {
  const IntList sizes = Sizes(x);
  return BroadcastInDim(x, {sizes[0], sizes[1], columns}, {0, 1});
}
XlaOp AlongColumns(XlaOp x, int64_t rows) {
  const IntList sizes = Sizes(x);
  return BroadcastInDim(x, {sizes[0], rows, sizes[1]}, {0, 2});
}
XlaOp Repeated(XlaOp x, int64_t n) { return BroadcastInDim(x, {Sizes(x)[0], n}, {0}); }
XlaOp Spread(XlaOp scalar, const IntList& sizes) { return Broadcast(scalar, sizes); }

XlaOp ColumnOf(XlaOp matrices, XlaOp j) {
  const IntList sizes = Sizes(matrices);
  return Reshape(Columns(matrices, j, 1), {sizes[0], sizes[1]});
}
XlaOp RowOf(XlaOp matrices, XlaOp i) {
  const IntList sizes = Sizes(matrices);
  return Reshape(Rows(matrices, i, 1), {sizes[0], sizes[2]});
}
XlaOp ElementOf(XlaOp vectors, XlaOp i) {
  const IntList sizes = Sizes(vectors);
  return Reshape(DynamicSlice(vectors, {Zero(i), i}, {sizes[0], 1}), {sizes[0]});
}
XlaOp Columns(XlaOp matrices, XlaOp first, int64_t count) {
  const IntList sizes = Sizes(matrices);
  return DynamicSlice(matrices, {Zero(first), Zero(first), first}, {sizes[0], sizes[1], count});
}
XlaOp Rows(XlaOp matrices, XlaOp first, int64_t count) {
  const IntList sizes = Sizes(matrices);
  return DynamicSlice(matrices, {Zero(first), first, Zero(first)}, {sizes[0], count, sizes[2]});
}
XlaOp WithColumns(XlaOp matrices, XlaOp columns, XlaOp first) {
  return DynamicUpdateSlice(matrices, columns, {Zero(first), Zero(first), first});
}
XlaOp WithRows(XlaOp matrices, XlaOp rows, XlaOp first) {
  return DynamicUpdateSlice(matrices, rows, {Zero(first), first, Zero(first)});
}
XlaOp WithElements(XlaOp vectors, XlaOp elements, XlaOp first) {
  return DynamicUpdateSlice(vectors, elements, {Zero(first), first});
}

XlaOp TakeRows(XlaOp matrices, XlaOp order) {
  return Gather(matrices, order, Gathering({2}, {1}, {0}, {0}, {1}, 2), {1, 1, Sizes(matrices)[2]});
}
XlaOp TakeColumns(XlaOp matrices, XlaOp order) {
  return Gather(matrices, order, Gathering({1}, {2}, {0}, {0}, {2}, 2), {1, Sizes(matrices)[1], 1});
}
XlaOp TakeElements(XlaOp vectors, XlaOp order) {
  return Gather(vectors, order, Gathering({}, {1}, {0}, {0}, {1}, 2), {1, 1});
}
XlaOp TakeRowsAlike(XlaOp matrices, XlaOp order) {
  const IntList sizes = Sizes(matrices);
  return Gather(matrices, order, Gathering({0, 2}, {1}, {}, {}, {1}, 1), {sizes[0], 1, sizes[2]});
}
XlaOp TakeColumnsAlike(XlaOp matrices, XlaOp order) {
  const IntList sizes = Sizes(matrices);
  return Gather(matrices, order, Gathering({0, 1}, {2}, {}, {}, {2}, 1), {sizes[0], sizes[1], 1});
}
XlaOp TakeEntries(XlaOp matrices, XlaOp rows, XlaOp columns) {
  const IntList sizes = Sizes(matrices);
  // One index into a matrix as a whole: two would be an array of their own, written before it is read.
  const XlaOp places = Add(Mul(rows, Int(rows.builder(), sizes[2])), columns);
  const XlaOp flat = Reshape(matrices, {sizes[0], sizes[1] * sizes[2]});
  return Gather(flat, places, Gathering({0}, {1}, {}, {}, {1}, 1), {sizes[0], 1});
}

XlaOp Apart(XlaOp x) { return OptimizationBarrier(x); }

XlaOp PaddedTo(XlaOp matrices, int64_t rows, int64_t columns) {
  const IntList sizes = Sizes(matrices);
  if (sizes[1] == rows && sizes[2] == columns) return matrices;
  return Pad(matrices, Number(matrices.builder(), TypeOf(matrices), 0),
             MakeEdgePaddingConfig({{0, 0}, {0, rows - sizes[1]}, {0, columns - sizes[2]}}));
}
XlaOp CutTo(XlaOp matrices, int64_t rows, int64_t columns) {
  const IntList sizes = Sizes(matrices);
  if (sizes[1] == rows && sizes[2] == columns) return matrices;
  return Slice(matrices, {0, 0, 0}, {sizes[0], rows, columns});
}
XlaOp VectorsPaddedTo(XlaOp vectors, int64_t length) {
  const IntList sizes = Sizes(vectors);
  if (sizes[1] == length) return vectors;
  return PadInDim(vectors, Number(vectors.builder(), TypeOf(vectors), 0), 1, 0, length - sizes[1]);
}
XlaOp VectorsCutTo(XlaOp vectors, int64_t length) {
  return Sizes(vectors)[1] == length ? vectors : SliceInDim(vectors, 0, length, 1, 1);
}

XlaOp IsDiagonal(XlaBuilder* b, const IntList& sizes) { return Eq(Indices(b, sizes, 1), Indices(b, sizes, 2)); }

XlaOp IdentityLike(XlaBuilder* b, ElementType type, const IntList& sizes) {
  return Select(IsDiagonal(b, sizes), Full(b, type, sizes, 1), Full(b, type, sizes, 0));
}

namespace {

XlaOp Dot3(XlaOp a, XlaOp b, int64_t contracted) {
  DotDimensionNumbers numbers;
  numbers.add_lhs_batch_dimensions(0);
  numbers.add_rhs_batch_dimensions(0);
  numbers.add_lhs_contracting_dimensions(contracted);
  numbers.add_rhs_contracting_dimensions(1);
  const PrecisionConfig highest{{2, PrecisionLevel::kHighest}};
  return DotGeneral(a, b, numbers, &highest);
}

}  // namespace

XlaOp Product(XlaOp a, XlaOp b) { return Dot3(a, b, 2); }
XlaOp AdjointProduct(XlaOp a, XlaOp b) { return Dot3(Conjugate(a), b, 1); }
XlaOp Adjoint(XlaOp a) { return Conjugate(Transpose(a, {0, 2, 1})); }

XlaOp SumOver(XlaOp x, const IntList& dimensions) {
  return Reduce(x, Number(x.builder(), TypeOf(x), 0), Combiner("sum", TypeOf(x), Add), dimensions);
}
XlaOp MaxOver(XlaOp x, const IntList& dimensions) {
  return Reduce(x, Number(x.builder(), TypeOf(x), 0), Combiner("largest", TypeOf(x), Max), dimensions);
}
XlaOp MinOver(XlaOp x, const IntList& dimensions) {
  return Reduce(x, Int(x.builder(), INT32_MAX), Combiner("least", TypeOf(x), Min), dimensions);
}

XlaOp LargestAt(XlaOp x) {
  const ElementType type = TypeOf(x);
  XlaBuilder sub("larger");
  const XlaOp a = Parameter(&sub, 0, Shape(type), "a"), i = Parameter(&sub, 1, Shape(kS32), "i");
  const XlaOp b = Parameter(&sub, 2, Shape(type), "b"), j = Parameter(&sub, 3, Shape(kS32), "j");
  const XlaOp first = Or(Gt(a, b), And(Eq(a, b), Lt(i, j)));
  const XlaComputation larger = Built(sub, Tuple(&sub, {Select(first, a, b), Select(first, i, j)}));
  XlaBuilder* const builder = x.builder();
  const XlaOp numbers = Select(Eq(x, x), x, Full(builder, type, Sizes(x), 0));
  const XlaOp pair = Reduce(builder, {numbers, Indices(builder, Sizes(x), 1)},
                            {Number(builder, type, -2), Int(builder, INT32_MAX)}, larger, {1});
  return GetTupleElement(pair, 1);
}

std::vector<XlaOp> LoopWhile(XlaBuilder* b, int64_t rounds, const std::vector<XlaOp>& initial,
                             const LoopCondition& goes_on, const LoopBody& body) {
  std::vector<XlaOp> state{Int(b, 0)};
  state.insert(state.end(), initial.begin(), initial.end());
  const XlaOp start = Tuple(b, state);
  const auto values_of = [&](XlaOp all) {
    std::vector<XlaOp> values;
    for (size_t k = 0; k < initial.size(); ++k) values.push_back(GetTupleElement(all, static_cast<int64_t>(k + 1)));
    return values;
  };
  XlaBuilder condition("goes_on"), step("round");
  const XlaOp seen = Parameter(&condition, 0, start.shape(), "state");
  XlaOp more = Lt(GetTupleElement(seen, 0), Int(&condition, rounds));
  if (goes_on) more = And(more, goes_on(&condition, values_of(seen)));
  const XlaOp given = Parameter(&step, 0, start.shape(), "state");
  const XlaOp number = GetTupleElement(given, 0);
  std::vector<XlaOp> next = body(&step, number, values_of(given));
  next.insert(next.begin(), Add(number, Int(&step, 1)));
  return values_of(While(Built(condition, more), Built(step, Tuple(&step, next)), start));
}

std::vector<XlaOp> CountedLoop(XlaBuilder* b, int64_t rounds, const std::vector<XlaOp>& initial, const LoopBody& body) {
  return LoopWhile(b, rounds, initial, nullptr, body);
}

XlaComputation InOrder(ElementType type, bool descending, ElementType with) {
  XlaBuilder b(descending ? "descending" : "ascending");
  const XlaOp x = Parameter(&b, 0, Shape(type), "x"), y = Parameter(&b, 1, Shape(type), "y");
  Parameter(&b, 2, Shape(with), "i");
  Parameter(&b, 3, Shape(with), "j");
  return *b.Build(descending ? GtTotalOrder(x, y) : LtTotalOrder(x, y));
}

}  // namespace VXLA_NAMESPACE::matrix_ops
