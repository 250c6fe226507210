// A sparse matrix, its rows one after the other, times a vector or a matrix.
#include "core/ir/module.h"
#include "core/programs/library_programs.h"
#include "core/programs/matrix_ops.h"
#include "core/programs/program_builder.h"

namespace VXLA_NAMESPACE::matrix_ops {
namespace {

// Whole slices of an array by one index each: elements of a vector, rows of a matrix.
ScatterDimensionNumbers AtFirstDimension(const IntList& sizes) {
  ScatterDimensionNumbers numbers;
  for (size_t d = 1; d < sizes.size(); ++d) numbers.update_window_dims.push_back(d);
  numbers.inserted_window_dims = {0};
  numbers.scatter_dims_to_operand_dims = {0};
  numbers.index_vector_dim = 1;
  return numbers;
}

// The last row that begins at or before each of `count` values: -1 before the first.
XlaOp RowsOfValues(XlaOp starts, int64_t count) {
  XlaBuilder* const b = starts.builder();
  const XlaComputation sum = Combiner("sum", ElementType::kS32, Add);
  const XlaOp begun = Scatter(Full(b, ElementType::kS32, {count}, 0), starts,
                              Full(b, ElementType::kS32, Sizes(starts), 1), sum, AtFirstDimension({count}));
  const XlaOp rows = ReduceWindowWithGeneralPadding(begun, Int(b, 0), sum, {count}, {1}, {}, {}, {{count - 1, 0}});
  return Sub(rows, Int(b, 1));
}

}  // namespace

// Values behind the last row's end are in no row; a scatter drops what would go outside.
Result<std::shared_ptr<const Module>> SparseProductProgram(ProgramBuilder& program) {
  XlaBuilder* const b = program.get();
  const XlaOp values = program.operand(0), columns = program.operand(2), dense = program.operand(3);
  const int64_t count = Sizes(values)[0];
  const ElementType type = TypeOf(values);
  const Shape& stated = program.instruction().shape();
  const IntList result(stated.dimensions().begin(), stated.dimensions().end());
  const XlaOp zeros = Full(b, type, result, 0);
  IntList slice = Sizes(dense), products = slice;
  if (count == 0 || slice[0] == 0 || stated.ElementCount() == 0) return program.Build({zeros});
  slice[0] = 1;
  products[0] = count;
  GatherDimensionNumbers gathered;
  if (slice.size() > 1) gathered.offset_dims = {1};
  gathered.collapsed_slice_dims = {0};
  gathered.start_index_map = {0};
  gathered.index_vector_dim = 1;
  const XlaOp product = Mul(BroadcastInDim(values, products, {0}), Gather(dense, columns, gathered, slice));
  const XlaOp rows = RowsOfValues(program.operand(1), count);
  return program.Build({Scatter(zeros, rows, product, Combiner("add", type, Add), AtFirstDimension(result),
                                /*indices_are_sorted=*/true)});
}

}  // namespace VXLA_NAMESPACE::matrix_ops
