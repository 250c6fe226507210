// Dynamic-slice, dynamic-update-slice, gather and scatter.
#include <algorithm>
#include <vector>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/arithmetic/strided_copy.h"
#include "backend/cpu/reference/arithmetic/twofold.h"
#include "backend/cpu/reference/ops/data_movement.h"
#include "backend/cpu/reference/scalar_program.h"

namespace VXLA_NAMESPACE {
namespace {

// The start of a dynamic slice, clamped so that the window fits. Either one scalar per dimension or one rank-1 array.
std::vector<int64_t> ClampedStarts(std::span<const Value> indices, std::span<const int64_t> operand_sizes,
                                   std::span<const int64_t> sizes) {
  std::vector<int64_t> starts(sizes.size());
  const bool one_array = indices.size() == 1 && indices[0].shape().rank() == 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Literal& literal = one_array ? indices[0].literal() : indices[i].literal();
    int64_t start = literal.GetInt(one_array ? static_cast<int64_t>(i) : 0);
    // A u64 beyond 2^63 comes as a negative number.
    if (start < 0 && IsUnsigned(literal.shape().element_type())) start = INT64_MAX;
    starts[i] = std::clamp<int64_t>(start, 0, operand_sizes[i] - sizes[i]);
  }
  return starts;
}

BoxCopy UnitBox(std::span<const int64_t> sizes) {
  BoxCopy box;
  box.sizes.assign(sizes.begin(), sizes.end());
  box.from.assign(sizes.size(), 0);
  box.to = box.from;
  box.from_step.assign(sizes.size(), 1);
  box.to_step = box.from_step;
  return box;
}

// Counts up a multi-index in row-major order; false after the last one.
bool Advance(std::vector<int64_t>& index, std::span<const int64_t> sizes) {
  for (size_t i = sizes.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

bool Contains(const IntList& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }

// Reads the index vectors of gather and scatter: the batch dimensions are all but index_vector_dim, in order.
class IndexVectors {
 public:
  IndexVectors(const Literal& indices, int64_t index_vector_dim) : indices_(indices) {
    const Shape& shape = indices.shape();
    const std::vector<int64_t> strides = RowMajorStrides(shape.dimensions());
    for (int i = 0; i < shape.rank(); ++i) {
      if (i == index_vector_dim) {
        vector_stride_ = strides[static_cast<size_t>(i)];
        vector_size_ = shape.dimension(i);
      } else {
        batch_sizes_.push_back(shape.dimension(i));
        batch_strides_.push_back(strides[static_cast<size_t>(i)]);
        batch_dimensions_.push_back(i);
      }
    }
  }

  const std::vector<int64_t>& batch_sizes() const { return batch_sizes_; }
  int64_t vector_size() const { return vector_size_; }
  // The batch position that holds dimension `dimension` of the indices.
  size_t BatchPosition(int64_t dimension) const {
    return static_cast<size_t>(std::ranges::find(batch_dimensions_, dimension) - batch_dimensions_.begin());
  }
  int64_t Read(std::span<const int64_t> batch, int64_t k) const {
    int64_t at = k * vector_stride_;
    for (size_t i = 0; i < batch.size(); ++i) at += batch[i] * batch_strides_[i];
    const int64_t value = indices_.GetInt(at);
    return value < 0 && IsUnsigned(indices_.shape().element_type()) ? INT64_MAX : value;
  }

 private:
  const Literal& indices_;
  std::vector<int64_t> batch_sizes_, batch_strides_, batch_dimensions_;
  int64_t vector_stride_ = 0, vector_size_ = 1;  // index_vector_dim == rank: an implied trailing 1
};

std::vector<int64_t> Unflatten(int64_t at, std::span<const int64_t> sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    index[i] = at % sizes[i];
    at /= sizes[i];
  }
  return index;
}

// A scatter, made ready: where update elements go.
struct ScatterPlan {
  std::vector<int64_t> window_sizes;  // by update window dimension
  std::vector<int64_t> window_update_strides, window_operand_strides, window_operand_dims;
  std::vector<int64_t> scatter_update_strides;  // by batch dimension
  std::vector<int64_t> operand_sizes, operand_strides;
};

ScatterPlan PlanScatter(const ScatterAttributes& a, const Shape& operand, const Shape& updates) {
  ScatterPlan plan;
  plan.operand_sizes.assign(operand.dimensions().begin(), operand.dimensions().end());
  plan.operand_strides = RowMajorStrides(operand.dimensions());
  const std::vector<int64_t> update_strides = RowMajorStrides(updates.dimensions());
  for (int i = 0; i < updates.rank(); ++i) {
    if (Contains(a.update_window_dims, i)) {
      plan.window_sizes.push_back(updates.dimension(i));
      plan.window_update_strides.push_back(update_strides[static_cast<size_t>(i)]);
    } else {
      plan.scatter_update_strides.push_back(update_strides[static_cast<size_t>(i)]);
    }
  }
  for (int i = 0; i < operand.rank(); ++i) {
    if (Contains(a.inserted_window_dims, i) || Contains(a.input_batching_dims, i)) continue;
    plan.window_operand_dims.push_back(i);
    plan.window_operand_strides.push_back(plan.operand_strides[static_cast<size_t>(i)]);
  }
  return plan;
}

// Where the window of one scatter index starts, by operand dimension; may lie outside.
std::vector<int64_t> WindowStart(const ScatterAttributes& a, const IndexVectors& indices, const ScatterPlan& plan,
                                 std::span<const int64_t> batch) {
  std::vector<int64_t> start(plan.operand_sizes.size(), 0);
  for (size_t k = 0; k < a.scatter_dims_to_operand_dims.size(); ++k) {
    start[static_cast<size_t>(a.scatter_dims_to_operand_dims[k])] = indices.Read(batch, static_cast<int64_t>(k));
  }
  for (size_t k = 0; k < a.input_batching_dims.size(); ++k) {
    start[static_cast<size_t>(a.input_batching_dims[k])] =
        batch[indices.BatchPosition(a.scatter_indices_batching_dims[k])];
  }
  return start;
}

// Calls visit(operand offsets, update offsets, n) for runs of at most kBlockSize elements of each window that lie
// inside the operand: elements outside are skipped one by one.
template <typename Visit>
void VisitScatter(const ScatterAttributes& a, const IndexVectors& indices, const ScatterPlan& plan, Visit&& visit) {
  if (ElementCountOf(indices.batch_sizes()) == 0 || ElementCountOf(plan.window_sizes) == 0) return;
  int64_t to[kBlockSize], from[kBlockSize];
  std::vector<int64_t> batch(indices.batch_sizes().size(), 0);
  do {
    const std::vector<int64_t> start = WindowStart(a, indices, plan, batch);
    int64_t base = 0, update_base = 0, n = 0;
    bool inside = true;
    std::vector<bool> windowed(start.size(), false);
    for (int64_t d : plan.window_operand_dims) windowed[static_cast<size_t>(d)] = true;
    for (size_t d = 0; d < start.size(); ++d) {
      inside = inside && (windowed[d] || (start[d] >= 0 && start[d] < plan.operand_sizes[d]));
    }
    if (!inside) continue;
    for (size_t d = 0; d < start.size(); ++d) {
      if (!windowed[d]) base += start[d] * plan.operand_strides[d];
    }
    for (size_t i = 0; i < batch.size(); ++i) update_base += batch[i] * plan.scatter_update_strides[i];
    std::vector<int64_t> window(plan.window_sizes.size(), 0);
    do {
      int64_t target = base, source = update_base;
      bool valid = true;
      for (size_t i = 0; i < window.size() && valid; ++i) {
        const size_t d = static_cast<size_t>(plan.window_operand_dims[i]);
        // start may be as far out as INT64_MAX: compare without adding.
        valid = start[d] >= -window[i] && start[d] < plan.operand_sizes[d] - window[i];
        if (!valid) break;
        target += (start[d] + window[i]) * plan.window_operand_strides[i];
        source += window[i] * plan.window_update_strides[i];
      }
      if (valid) {
        to[n] = target;
        from[n] = source;
        if (++n == kBlockSize) {
          visit(to, from, n);
          n = 0;
        }
      }
    } while (Advance(window, plan.window_sizes));
    if (n > 0) visit(to, from, n);
  } while (Advance(batch, indices.batch_sizes()));
}

// Sums of floats are kept in double (those of f64 and c128 compensated) until the end, so that many updates of one
// element round once.
Literal ScatterAdd(const EvalContext& context, const ScatterAttributes& a, const IndexVectors& indices,
                   const ScatterPlan& plan, const Literal& operand, const Literal& updates) {
  const ElementType type = operand.shape().element_type();
  const int64_t count = operand.element_count();
  const int64_t parts = IsComplex(type) ? 2 : 1;
  const ElementType part = RealPart(type);
  std::vector<double> initial(static_cast<size_t>(count * parts));
  context.For(count * parts, 1 << 16, [&](int64_t begin, int64_t end) {
    LoadElements(part, operand.bytes().data() + begin * StorageBytes(part), end - begin, initial.data() + begin);
  });
  WideSums sums(std::move(initial), part == ElementType::kF64);
  Block block;
  VisitScatter(a, indices, plan, [&](const int64_t* to, const int64_t* from, int64_t n) {
    GatherElements(updates, from, n, block.bytes);
    const double* values = block.as<double>();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p < parts; ++p) sums.Add(static_cast<size_t>(to[i] * parts + p), values[i * parts + p]);
    }
  });
  const std::vector<double> totals = std::move(sums).Finish();
  Literal result = Literal::Uninitialized(operand.shape());
  context.For(count * parts, 1 << 16, [&](int64_t begin, int64_t end) {
    StoreElements(part, totals.data() + begin, end - begin, result.mutable_bytes().data() + begin * StorageBytes(part));
  });
  return result;
}

// Any computation: within a window the targets are distinct, so a run of them goes through the program at once.
void ScatterWith(const ScalarProgram& program, const ScatterAttributes& a, const IndexVectors& indices,
                 const ScatterPlan& plan, std::span<Literal> results, std::span<const Value> updates) {
  ScalarProgram::Frame frame(program);
  const size_t count = results.size();
  VisitScatter(a, indices, plan, [&](const int64_t* to, const int64_t* from, int64_t n) {
    for (size_t k = 0; k < count; ++k) {
      GatherElements(results[k], to, n, frame.input(static_cast<int>(k)));
      GatherElements(updates[k].literal(), from, n, frame.input(static_cast<int>(count + k)));
    }
    frame.Run(n);
    for (size_t k = 0; k < count; ++k) {
      ScatterElements(frame.output(static_cast<int>(k)), to, n, results[k]);
    }
  });
}

// Where each window starts, of windows in the order of their places, by where the runs of places begin
// (core/passes/expand/scatter_form.h). Those behind the last run start outside.
Literal StartsOfWindows(const ScatterAttributes& a, const Literal& run_starts, const Shape& operand, int64_t windows) {
  std::vector<int64_t> sizes;
  for (const int64_t d : a.scatter_dims_to_operand_dims) sizes.push_back(operand.dimension(static_cast<int>(d)));
  const auto length = static_cast<int64_t>(sizes.size());
  Literal starts(Shape(ElementType::kS32, {windows, length}));
  for (int64_t n = 0, place = 0; n < windows; ++n) {
    while (place < ElementCountOf(sizes) && run_starts.GetInt(place + 1) <= n) ++place;
    const bool inside = place < ElementCountOf(sizes);
    const std::vector<int64_t> start = Unflatten(inside ? place : 0, sizes);
    for (int64_t k = 0; k < length; ++k) starts.SetInt(n * length + k, inside ? start[static_cast<size_t>(k)] : -1);
  }
  return starts;
}

bool IsFloatSum(const ScalarProgram& program, ElementType type) {
  return program.single_op() != nullptr && program.single_op()->opcode() == Opcode::kAdd &&
         (IsFloating(type) || IsComplex(type));
}

}  // namespace

EvalResult EvalDynamicSlice(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result = Literal::Uninitialized(instruction.shape());
  BoxCopy box = UnitBox(instruction.shape().dimensions());
  box.from = ClampedStarts(operands.subspan(1), operands[0].shape().dimensions(), box.sizes);
  CopyBox(box, operands[0].literal(), result, context.options().threads);
  return result;
}

EvalResult EvalDynamicUpdateSlice(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const Value update = std::move(operands[1]);
  BoxCopy box = UnitBox(update.shape().dimensions());
  box.to = ClampedStarts(operands.subspan(2), operands[0].shape().dimensions(), box.sizes);
  Literal result = std::move(operands[0]).Take().Reshaped(instruction.shape());
  CopyBox(box, update.literal(), result, context.options().threads);
  return result;
}

EvalResult EvalGather(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<GatherAttributes>();
  const Literal& operand = operands[0].literal();
  const IndexVectors indices(operands[1].literal(), a.index_vector_dim);
  Literal result = Literal::Uninitialized(instruction.shape());
  const std::vector<int64_t> operand_strides = RowMajorStrides(operand.shape().dimensions());
  const std::vector<int64_t> result_strides = RowMajorStrides(instruction.shape().dimensions());
  // The window dimensions of the operand pair with offset_dims in order; the batch dimensions with the rest.
  StridedCopySpec window;
  window.element_bytes = StorageBytes(instruction.shape().element_type());
  size_t next_offset = 0;
  for (int d = 0; d < operand.shape().rank(); ++d) {
    if (Contains(a.collapsed_slice_dims, d) || Contains(a.operand_batching_dims, d)) continue;
    window.dimensions.push_back(a.slice_sizes[static_cast<size_t>(d)]);
    window.source_strides.push_back(operand_strides[static_cast<size_t>(d)]);
    window.target_strides.push_back(result_strides[static_cast<size_t>(a.offset_dims[next_offset++])]);
  }
  std::vector<int64_t> batch_strides;
  for (int d = 0; d < instruction.shape().rank(); ++d) {
    if (!Contains(a.offset_dims, d)) batch_strides.push_back(result_strides[static_cast<size_t>(d)]);
  }
  if (result.element_count() == 0) return result;
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, ElementCountOf(window.dimensions)));
  context.For(ElementCountOf(indices.batch_sizes()), grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const std::vector<int64_t> batch = Unflatten(at, indices.batch_sizes());
      int64_t from = 0, to = 0;
      for (size_t k = 0; k < a.start_index_map.size(); ++k) {
        const size_t d = static_cast<size_t>(a.start_index_map[k]);
        const int64_t limit = operand.shape().dimension(static_cast<int>(d)) - a.slice_sizes[d];
        from += std::clamp<int64_t>(indices.Read(batch, static_cast<int64_t>(k)), 0, limit) * operand_strides[d];
      }
      for (size_t k = 0; k < a.operand_batching_dims.size(); ++k) {
        from += batch[indices.BatchPosition(a.start_indices_batching_dims[k])] *
                operand_strides[static_cast<size_t>(a.operand_batching_dims[k])];
      }
      for (size_t i = 0; i < batch.size(); ++i) to += batch[i] * batch_strides[i];
      StridedCopy(window, operand, from, result, to, 1);
    }
  });
  return result;
}

// Operands: n arrays, the indices, n updates. Elements of a window that fall outside are skipped, each on its own.
EvalResult EvalScatter(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<ScatterAttributes>();
  const size_t count = operands.size() / 2;
  VXLA_ASSIGN_OR_RETURN(const ScalarProgram program, ScalarProgram::Compile(*instruction.called(0)));
  const Value index_value = instruction.notes().run_starts
                                ? Value(StartsOfWindows(a, operands[count].literal(), operands[0].shape(),
                                                        operands[count + 1].shape().dimension(0)))
                                : operands[count];
  const IndexVectors indices(index_value.literal(), a.index_vector_dim);
  const std::span<const Value> updates = operands.subspan(count + 1);
  const ScatterPlan plan = PlanScatter(a, operands[0].shape(), updates[0].shape());
  if (count == 1 && IsFloatSum(program, operands[0].shape().element_type())) {
    return ScatterAdd(context, a, indices, plan, operands[0].literal(), updates[0].literal());
  }
  std::vector<Literal> results;
  for (size_t k = 0; k < count; ++k) results.push_back(std::move(operands[k]).Take());
  ScatterWith(program, a, indices, plan, results, updates);
  if (!instruction.shape().IsTuple()) return std::move(results[0]);
  std::vector<Value> elements(std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return Value::Tuple(std::move(elements));
}

}  // namespace VXLA_NAMESPACE
