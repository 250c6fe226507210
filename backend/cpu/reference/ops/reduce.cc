// Reduce: variadic, over any dimensions, with any computation. The operand is seen as [outer, reduced, inner].
#include <algorithm>
#include <memory>
#include <optional>

#include "backend/cpu/reference/reducer_fold.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

struct Extents {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// Rows as long as this are folded within themselves, shorter ones side by side.
constexpr int64_t kLongRow = 2048;

// The form [outer, reduced, inner] if the reduced dimensions are neighbours (dimensions of size 1 aside).
std::optional<Extents> DirectExtents(const Shape& shape, const IntList& reduced) {
  Extents e;
  int stage = 0;  // before, in and after the reduced dimensions
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dimension(d);
    if (size == 1) continue;
    if (std::ranges::find(reduced, d) != reduced.end()) {
      if (stage == 2) return std::nullopt;
      stage = 1;
      e.reduced *= size;
    } else {
      if (stage == 1) stage = 2;
      (stage == 0 ? e.outer : e.inner) *= size;
    }
  }
  return e;
}

// [kept..., reduced...] for the others.
std::vector<int64_t> KeptFirst(const Shape& shape, const IntList& reduced) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(reduced, d) == reduced.end()) order.push_back(d);
  }
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(reduced, d) != reduced.end()) order.push_back(d);
  }
  return order;
}

// Folds elements at, at + stride, ... (count of them) of one output into lane 0 of the accumulator, without the initial
// value. Lanes take interleaved elements if the order is free, else each a contiguous piece.
void FoldLine(ReducerFold& folder, int64_t at, int64_t stride, int64_t count) {
  int64_t lanes = std::min<int64_t>(kBlockSize, count);
  const int64_t steps = count / lanes;
  const bool ordered = folder.Ordered();
  const int64_t lane_stride = ordered ? steps * stride : stride, step = ordered ? stride : lanes * stride;
  folder.LoadAccumulator(at, lane_stride, lanes);
  for (int64_t s = 1; s < steps; ++s) {
    folder.LoadValue(at + s * step, lane_stride, lanes);
    folder.Fold(lanes);
  }
  const int64_t done = steps * lanes;
  if (!ordered && done < count) {
    folder.LoadValue(at + done * stride, stride, count - done);
    folder.Fold(count - done);
  }
  while (lanes > 1) lanes = folder.FoldPairs(lanes);
  for (int64_t i = done; ordered && i < count; ++i) {
    folder.LoadValue(at + i * stride, 1, 1);
    folder.Fold(1);
  }
}

// One output from a long line: in pieces whose places depend on the length only, on all threads, joined in order.
void ReduceLine(const EvalContext& context, const ReducerFoldMaker& factory, int64_t at, int64_t stride, int64_t count,
                std::span<Literal> results, int64_t output) {
  const int64_t piece = std::max<int64_t>(int64_t{1} << 17, (count + 255) / 256);
  const int64_t pieces = CeilDivide(count, piece);
  std::vector<std::unique_ptr<ReducerFold>> folders(static_cast<size_t>(pieces));
  context.For(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      folders[static_cast<size_t>(p)] = factory.New();
      FoldLine(*folders[static_cast<size_t>(p)], at + p * piece * stride, stride, std::min(piece, count - p * piece));
    }
  });
  std::unique_ptr<ReducerFold> total = factory.New();
  total->LoadInit(1);
  for (auto& folder : folders) total->FoldOther(*folder);
  total->Store(results, output, 1, 1);
}

void ReduceExtents(const EvalContext& context, const ReducerFoldMaker& factory, const Extents& e,
                   std::span<Literal> results) {
  const int64_t outputs = e.outer * e.inner;
  if (outputs == 0) return;
  if (e.reduced >= kLongRow && e.inner < 16 && !factory.InOrder()) {
    for (int64_t o = 0; o < outputs; ++o) {
      ReduceLine(context, factory, o / e.inner * e.reduced * e.inner + o % e.inner, e.inner, e.reduced, results, o);
    }
    return;
  }
  // Lanes are neighbouring outputs: along inner, or along outer where inner is 1.
  const bool along_outer = e.inner == 1;
  const int64_t line = along_outer ? e.outer : e.inner, lines = along_outer ? 1 : e.outer;
  const int64_t lane_stride = along_outer ? e.reduced : 1;
  // Enough lanes a piece to be worth a thread, few enough to share out.
  const int64_t lanes = std::clamp<int64_t>((line + 7) / 8, 16, kBlockSize);
  const int64_t blocks = CeilDivide(line, lanes);
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, std::min(lanes, line) * e.reduced));
  context.For(lines * blocks, grain, [&](int64_t begin, int64_t end) {
    std::unique_ptr<ReducerFold> folder = factory.New();
    for (int64_t b = begin; b < end; ++b) {
      const int64_t row = b / blocks, first = b % blocks * lanes, n = std::min(lanes, line - first);
      const int64_t base = row * e.reduced * e.inner + first * lane_stride;
      folder->LoadInit(n);
      for (int64_t r = 0; r < e.reduced; ++r) {
        folder->LoadValue(base + r * e.inner, lane_stride, n);
        folder->Fold(n);
      }
      folder->Store(results, row * e.inner + first, 1, n);
    }
  });
}

}  // namespace

EvalResult EvalReduce(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const size_t count = operands.size() / 2;
  const IntList& reduced = instruction.dimensions();
  std::vector<Value> arrays(operands.begin(), operands.begin() + static_cast<int64_t>(count));
  std::optional<Extents> extents = DirectExtents(arrays[0].shape(), reduced);
  if (!extents) {
    const std::vector<int64_t> order = KeptFirst(arrays[0].shape(), reduced);
    extents.emplace();
    for (int64_t d : order) {
      const bool is_reduced = std::ranges::find(reduced, d) != reduced.end();
      (is_reduced ? extents->reduced : extents->outer) *= arrays[0].shape().dimension(static_cast<int>(d));
    }
    for (Value& array : arrays) array = TransposeLiteral(array.literal(), order, context.options().threads);
  }
  VXLA_ASSIGN_OR_RETURN(const ReducerFoldMaker factory,
                        ReducerFoldMaker::Make(*instruction.called(0), arrays, operands.subspan(count)));
  std::vector<Literal> results;
  for (const Shape* shape : FlattenTuple(instruction.shape())) results.push_back(Literal::Uninitialized(*shape));
  ReduceExtents(context, factory, *extents, results);
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  std::vector<Value> elements(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return Value::Tuple(std::move(elements));
}

}  // namespace VXLA_NAMESPACE
