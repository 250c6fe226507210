// What the programs of library calls are made of: operations on stacks of matrices [batch, rows, columns], and loops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/builder/builder.h"
#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE::matrix_ops {

XlaOp Int(XlaBuilder* b, int64_t value);  // s32
XlaOp Number(XlaBuilder* b, ElementType type, double value);
// One value at every place.
XlaOp Full(XlaBuilder* b, ElementType type, const IntList& sizes, double value);
// 0, 1, 2 ... along a dimension, s32.
XlaOp Indices(XlaBuilder* b, const IntList& sizes, int64_t dimension);
IntList Sizes(XlaOp x);
ElementType TypeOf(XlaOp x);

XlaOp Conjugate(XlaOp x);  // of real numbers: themselves
XlaOp RealOf(XlaOp x);     // likewise
XlaOp SquareOf(XlaOp x);   // |x|^2, real
XlaOp AsType(XlaOp x, ElementType type);
// A real or complex array and a real one of its sizes, part by part.
XlaOp TimesReal(XlaOp x, XlaOp factor);
XlaOp DividedByReal(XlaOp x, XlaOp divisor);

// [batch, n] at [batch, rows, columns], the same in each column or each row.
XlaOp AlongRows(XlaOp x, int64_t columns);  // element i in all of row i
XlaOp AlongColumns(XlaOp x, int64_t rows);  // element j in all of column j
// [batch] as [batch, n]
XlaOp Repeated(XlaOp x, int64_t n);
// A scalar at each of [batch] or what `sizes` says.
XlaOp Spread(XlaOp scalar, const IntList& sizes);

// Column j, or row i, of each matrix: [batch, rows], [batch, columns]; element i of each vector: [batch].
XlaOp ColumnOf(XlaOp matrices, XlaOp j);
XlaOp RowOf(XlaOp matrices, XlaOp i);
XlaOp ElementOf(XlaOp vectors, XlaOp i);
// `count` columns (rows) from the first on.
XlaOp Columns(XlaOp matrices, XlaOp first, int64_t count);
XlaOp Rows(XlaOp matrices, XlaOp first, int64_t count);
XlaOp WithColumns(XlaOp matrices, XlaOp columns, XlaOp first);
XlaOp WithRows(XlaOp matrices, XlaOp rows, XlaOp first);
XlaOp WithElements(XlaOp vectors, XlaOp elements, XlaOp first);
// Row order[b, i] (column, element) of matrix b in the place of its i-th.
XlaOp TakeRows(XlaOp matrices, XlaOp order);
XlaOp TakeColumns(XlaOp matrices, XlaOp order);
XlaOp TakeElements(XlaOp vectors, XlaOp order);
// The same order for all matrices: s32[n].
XlaOp TakeRowsAlike(XlaOp matrices, XlaOp order);
XlaOp TakeColumnsAlike(XlaOp matrices, XlaOp order);
// Element (rows[i], columns[i]) of each matrix: [batch, n].
XlaOp TakeEntries(XlaOp matrices, XlaOp rows, XlaOp columns);

// The same value, kept from being worked out again by each reader: where many elements read one that is dear.
XlaOp Apart(XlaOp x);

// Zeros behind, up to so many rows and columns.
XlaOp PaddedTo(XlaOp matrices, int64_t rows, int64_t columns);
XlaOp CutTo(XlaOp matrices, int64_t rows, int64_t columns);
XlaOp VectorsPaddedTo(XlaOp vectors, int64_t length);
XlaOp VectorsCutTo(XlaOp vectors, int64_t length);

XlaOp IsDiagonal(XlaBuilder* b, const IntList& sizes);
XlaOp IdentityLike(XlaBuilder* b, ElementType type, const IntList& sizes);

XlaOp Product(XlaOp a, XlaOp b);         // a b
XlaOp AdjointProduct(XlaOp a, XlaOp b);  // a^H b
XlaOp Adjoint(XlaOp a);
// What LAPACK's search for pivots compares: |re| + |im|.
XlaOp PivotSize(XlaOp x);

// A computation of two scalars: Combiner("sum", kF32, Add).
XlaComputation Combiner(const std::string& name, ElementType type, XlaOp (*combine)(XlaOp, XlaOp, const IntList&));
XlaOp SumOver(XlaOp x, const IntList& dimensions);
XlaOp MaxOver(XlaOp x, const IntList& dimensions);  // of numbers that are not negative
XlaOp MinOver(XlaOp x, const IntList& dimensions);  // of s32
// By row of [batch, n]: where the largest element is, the first of equals; NaN counts as 0. s32[batch].
XlaOp LargestAt(XlaOp x);

// The body takes the values of one round and gives those of the next.
using LoopBody = std::function<std::vector<XlaOp>(XlaBuilder* b, XlaOp step, const std::vector<XlaOp>& values)>;
// Rounds 0 to `rounds` - 1.
std::vector<XlaOp> CountedLoop(XlaBuilder* b, int64_t rounds, const std::vector<XlaOp>& initial, const LoopBody& body);
// As long as `goes_on` (a scalar pred) says, `rounds` at most.
using LoopCondition = std::function<XlaOp(XlaBuilder* b, const std::vector<XlaOp>& values)>;
std::vector<XlaOp> LoopWhile(XlaBuilder* b, int64_t rounds, const std::vector<XlaOp>& initial,
                             const LoopCondition& goes_on, const LoopBody& body);

// Columns of a panel: one for small matrices, where a product is worth less than the panels' columns.
inline int64_t PanelWidth(int64_t least) { return least <= 48 ? least : least < 1024 ? 32 : 64; }
// Sorts values, which come first, and integers with them.
XlaComputation InOrder(ElementType type, bool descending, ElementType with = ElementType::kS32);

}  // namespace VXLA_NAMESPACE::matrix_ops
