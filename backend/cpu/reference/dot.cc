// Dot with any batch and contracting dimensions: both operands are brought to [batch, free, contracting] and multiplied
// in panels.
#include <algorithm>
#include <numeric>

#include "backend/cpu/reference/data_movement.h"
#include "backend/cpu/reference/gemm.h"

namespace VXLA_NAMESPACE {
namespace {

struct Side {
  Literal transposed;  // [batch..., free..., contracting...]; empty if the operand is in that order already
  const Literal* literal = nullptr;
  int64_t batch = 1, rows = 1, k = 1;
};

Side Prepare(const Value& operand, const IntList& batch_dims, const IntList& contracting_dims, int threads) {
  const Shape& shape = operand.shape();
  Side side;
  std::vector<int64_t> order(batch_dims);
  for (int64_t d : batch_dims) side.batch *= shape.dimension(static_cast<int>(d));
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(batch_dims, d) != batch_dims.end()) continue;
    if (std::ranges::find(contracting_dims, d) != contracting_dims.end()) continue;
    order.push_back(d);
    side.rows *= shape.dimension(static_cast<int>(d));
  }
  order.insert(order.end(), contracting_dims.begin(), contracting_dims.end());
  for (int64_t d : contracting_dims) side.k *= shape.dimension(static_cast<int>(d));
  if (std::ranges::is_sorted(order)) {
    side.literal = &operand.literal();
  } else {
    side.transposed = TransposeLiteral(operand.literal(), order, threads);
  }
  return side;
}

// All rows of all batches as panels; rows beyond the last are zeros.
template <typename T>
std::vector<T> Pack(const EvalContext& context, const Side& side) {
  const Literal& literal = side.literal ? *side.literal : side.transposed;
  const int64_t panels = PanelCount(side.rows), k = side.k;
  std::vector<T> packed(static_cast<size_t>(side.batch * panels * kPanel * k));
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / (kPanel * std::max<int64_t>(k, 1)));
  context.For(side.batch * panels, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(k));
    for (int64_t p = begin; p < end; ++p) {
      const int64_t batch = p / panels, first = p % panels * kPanel;
      for (int64_t lane = 0; lane < std::min(kPanel, side.rows - first); ++lane) {
        const int64_t at = (batch * side.rows + first + lane) * k;
        LoadPacked<T>(literal, at, k, row.data());
        PackRow(row.data(), k, lane, packed.data() + p * kPanel * k);
      }
    }
  });
  return packed;
}

template <typename T>
void Multiply(const EvalContext& context, const Side& lhs, const Side& rhs, Literal& result) {
  const std::vector<T> a = Pack<T>(context, lhs), b = Pack<T>(context, rhs);
  const int64_t k = lhs.k, rows = lhs.rows, columns = rhs.rows;
  constexpr int64_t kColumnsPerTask = 512;
  const int64_t block = RowsPerBlock<T>(k);
  const int64_t row_blocks = (rows + block - 1) / block,
                column_blocks = (columns + kColumnsPerTask - 1) / kColumnsPerTask;
  context.For(lhs.batch * row_blocks * column_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / (row_blocks * column_blocks);
      const int64_t row = task / column_blocks % row_blocks * block;
      const int64_t column = task % column_blocks * kColumnsPerTask;
      const T* a_at = a.data() + (batch * PanelCount(rows) * kPanel + row) * k;
      const T* b_at = b.data() + (batch * PanelCount(columns) * kPanel + column) * k;
      MultiplyBlock(a_at, std::min(block, rows - row), b_at, std::min(kColumnsPerTask, columns - column), k, result,
                    (batch * rows + row) * columns + column, columns);
    }
  });
}

}  // namespace

EvalResult EvalDot(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<DotAttributes>();
  const Side lhs = Prepare(operands[0], a.lhs_batch_dims, a.lhs_contracting_dims, context.options().threads);
  const Side rhs = Prepare(operands[1], a.rhs_batch_dims, a.rhs_contracting_dims, context.options().threads);
  if (lhs.k != rhs.k || lhs.batch != rhs.batch) {
    return InvalidArgument("dot: {} and {} contract {} and {} elements in {} and {} batches",
                           operands[0].shape().ToString(), operands[1].shape().ToString(), lhs.k, rhs.k, lhs.batch,
                           rhs.batch);
  }
  Literal result = Literal::Uninitialized(instruction.shape());
  const Accumulator accumulator =
      AccumulatorFor(operands[0].shape().element_type(), operands[1].shape().element_type(),
                     instruction.shape().element_type(), context.options().plain_f64_products);
  VisitAccumulator(accumulator, [&]<typename T>(T) { Multiply<T>(context, lhs, rhs, result); });
  return result;
}

}  // namespace VXLA_NAMESPACE
