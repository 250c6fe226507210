#include <algorithm>

#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

// The start indices: one scalar per dimension, or the older form, one array of rank 1. All of one integer type.
Status CheckStartIndices(const Instruction& instruction, int first) {
  const Shape& array = instruction.operand(0)->shape();
  const int count = instruction.operand_count() - first;
  if (count == 1 && instruction.operand(first)->shape().rank() == 1) {
    const Shape& starts = instruction.operand(first)->shape();
    if (!IsInteger(starts.element_type()) || starts.dimension(0) != array.rank()) {  // dynamic_slice_c1
      return OpError(instruction, "start indices {} do not hold one integer for each dimension of {}",
                     starts.ToString(), array.ToString());
    }
    return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(
      ExpectOnePerDimension(instruction, "the list of start indices", count, array));  // dynamic_slice_c2
  for (int i = first; i < instruction.operand_count(); ++i) {
    const Shape& start = instruction.operand(i)->shape();
    if (!start.IsScalar() || !IsInteger(start.element_type())) {  // dynamic_slice_c3
      return OpError(instruction, "start index {} is {}, not a scalar integer", i - first, start.ToString());
    }
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, i, first));
  }
  return OkStatus();
}

Status ExpectIntegerArray(const Instruction& instruction, int operand, const char* what) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, operand));
  const Shape& shape = instruction.operand(operand)->shape();
  if (IsInteger(shape.element_type())) return OkStatus();
  // index_type_c1
  return OpError(instruction, "{} are of {}, an integer type needed", what, ElementTypeName(shape.element_type()));
}

Status ExpectSorted(const Instruction& instruction, const char* what, const IntList& dimensions) {
  if (std::ranges::is_sorted(dimensions)) return OkStatus();
  // sorted_c1
  return OpError(instruction, "{} {{{}}} is not sorted", what, JoinInts(dimensions));
}

Status ExpectDisjoint(const Instruction& instruction, const char* what, const IntList& a, const IntList& b) {
  for (int64_t dimension : a) {
    // disjoint_c1
    if (Contains(b, dimension)) return OpError(instruction, "dimension {} is in both {}", dimension, what);
  }
  return OkStatus();
}

// What gather and scatter ask of the indices: where the index vector lies, how long it is, which dimensions it maps to,
// which dimensions of both arrays are batched together, and which of the array a window has not.
struct IndexRules {
  int64_t index_vector_dim;
  const IntList& index_map;
  const IntList& array_batching;
  const IntList& indices_batching;
  const IntList& dropped;
  const char* map_name;
  const char* dropped_name;
  const char* dropped_and_batching;
};

Status CheckIndices(const Instruction& instruction, const Shape& array, const Shape& indices, const IndexRules& rules) {
  if (rules.index_vector_dim < 0 || rules.index_vector_dim > indices.rank()) {  // gather_c2, scatter_c22
    return OpError(instruction, "index_vector_dim {} is not in 0 to {}, the rank of {}", rules.index_vector_dim,
                   indices.rank(), indices.ToString());
  }
  const int64_t length = rules.index_vector_dim < indices.rank() ? indices.dimension(rules.index_vector_dim) : 1;
  if (static_cast<int64_t>(rules.index_map.size()) != length) {  // gather_c3, scatter_c19
    return OpError(instruction, "{} has {} entries for index vectors of length {}", rules.map_name,
                   rules.index_map.size(), length);
  }
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, rules.map_name, rules.index_map, array));
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, "a batching dimension", rules.array_batching, array));
  VXLA_RETURN_IF_ERROR(ExpectSorted(instruction, "the list of batching dimensions", rules.array_batching));
  VXLA_RETURN_IF_ERROR(
      ExpectUniqueDimensions(instruction, "an indices batching dimension", rules.indices_batching, indices));
  VXLA_RETURN_IF_ERROR(
      ExpectDisjoint(instruction, "the index map and the batching dimensions", rules.index_map, rules.array_batching));
  if (Contains(rules.indices_batching, rules.index_vector_dim)) {  // gather_c15, scatter_c14
    return OpError(instruction, "index_vector_dim {} is an indices batching dimension", rules.index_vector_dim);
  }
  if (rules.array_batching.size() != rules.indices_batching.size()) {  // gather_c16, scatter_c15
    return OpError(instruction, "{} batching dimensions of the array, {} of the indices", rules.array_batching.size(),
                   rules.indices_batching.size());
  }
  for (size_t i = 0; i < rules.array_batching.size(); ++i) {  // gather_c17, scatter_c16
    if (array.dimension(rules.array_batching[i]) != indices.dimension(rules.indices_batching[i])) {
      return OpError(instruction, "batching dimension {} of {} and {} of {} differ in size", rules.array_batching[i],
                     array.ToString(), rules.indices_batching[i], indices.ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(ExpectUniqueDimensions(instruction, rules.dropped_name, rules.dropped, array));
  VXLA_RETURN_IF_ERROR(ExpectSorted(instruction, rules.dropped_name, rules.dropped));
  return ExpectDisjoint(instruction, rules.dropped_and_batching, rules.dropped, rules.array_batching);
}

// The indices' dimensions without the index vector, in order.
std::vector<int64_t> BatchSizes(const Shape& indices, int64_t index_vector_dim) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < indices.rank(); ++i) {
    if (i != index_vector_dim) sizes.push_back(indices.dimension(i));
  }
  return sizes;
}

// The dimension in `to` at the place where `from` names `dimension`, or -1.
int PairedDimension(const IntList& from, int64_t dimension, const IntList& to) {
  const auto found = std::ranges::find(from, dimension);
  return found == from.end() ? -1 : static_cast<int>(to[found - from.begin()]);
}

Status CheckWindowDimensions(const Instruction& instruction, const char* what, const IntList& dimensions,
                             int64_t rank) {
  VXLA_RETURN_IF_ERROR(ExpectSorted(instruction, what, dimensions));
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] < 0 || dimensions[i] >= rank) {  // gather_c5, scatter_c7
      return OpError(instruction, "{} {} is not in 0 to {}", what, dimensions[i], rank - 1);
    }
    if (i > 0 && dimensions[i] == dimensions[i - 1]) {  // gather_c4, scatter_c8
      return OpError(instruction, "{} names {} twice", what, dimensions[i]);
    }
  }
  return OkStatus();
}

}  // namespace

Result<Shape> InferDynamicSlice(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(CheckStartIndices(instruction, 1));
  const Shape& array = instruction.operand(0)->shape();
  const IntList& sizes = instruction.attributes<DynamicSliceAttributes>().dynamic_slice_sizes;
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "dynamic_slice_sizes", sizes.size(), array));
  for (int i = 0; i < array.rank(); ++i) {
    if (sizes[i] < 0 || sizes[i] > array.dimension(i)) {  // dynamic_slice_c4
      return OpError(instruction, "size {} is not in 0 to {}, dimension {} of {}", sizes[i], array.dimension(i), i,
                     array.ToString());
    }
  }
  Shape result(array.element_type(), sizes);
  for (int i = 0; i < array.rank(); ++i) {  // the whole of a dynamic dimension is dynamic
    result.set_dynamic_dimension(i, array.is_dynamic_dimension(i) && sizes[i] == array.dimension(i));
  }
  return result;
}

Result<Shape> InferDynamicUpdateSlice(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 2));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(CheckStartIndices(instruction, 2));
  VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, 1, 0));  // dynamic_update_slice_c2
  const Shape& array = instruction.operand(0)->shape();
  const Shape& update = instruction.operand(1)->shape();
  if (update.rank() != array.rank()) {  // dynamic_update_slice_c3
    return OpError(instruction, "update {} has not the rank of {}", update.ToString(), array.ToString());
  }
  for (int i = 0; i < array.rank(); ++i) {
    if (update.dimension(i) > array.dimension(i)) {  // dynamic_update_slice_c6
      return OpError(instruction, "dimension {} of update {} exceeds that of {}", i, update.ToString(),
                     array.ToString());
    }
  }
  return array.WithoutLayout();
}

namespace {

// What a slice has beside its dropped dimensions.
Result<Shape> OffsetsOf(const Instruction& instruction, const GatherAttributes& a, const Shape& array) {
  VXLA_RETURN_IF_ERROR(ExpectOnePerDimension(instruction, "slice_sizes", a.slice_sizes.size(), array));  // gather_c20
  Shape offsets(array.element_type());
  for (int i = 0; i < array.rank(); ++i) {
    if (a.slice_sizes[i] < 0 || a.slice_sizes[i] > array.dimension(i)) {  // gather_c21
      return OpError(instruction, "slice size {} is not in 0 to {}, dimension {} of {}", a.slice_sizes[i],
                     array.dimension(i), i, array.ToString());
    }
    const bool dropped = Contains(a.collapsed_slice_dims, i) || Contains(a.operand_batching_dims, i);
    if (dropped && a.slice_sizes[i] > 1) {  // gather_c8, gather_c12
      return OpError(instruction, "slice size {} of the collapsed or batching dimension {} exceeds 1", a.slice_sizes[i],
                     i);
    }
    if (dropped) continue;
    offsets.AddDimension(a.slice_sizes[i], array.is_dynamic_dimension(i) && a.slice_sizes[i] == array.dimension(i));
  }
  if (std::ssize(a.offset_dims) != offsets.rank()) {  // gather_c1
    return OpError(instruction, "offset_dims has {} entries for {} dimensions of the slice", a.offset_dims.size(),
                   offsets.rank());
  }
  return offsets;
}

}  // namespace

Result<Shape> InferGather(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectIntegerArray(instruction, 1, "start indices"));
  const Shape& array = instruction.operand(0)->shape();
  const Shape& indices = instruction.operand(1)->shape();
  const auto& a = instruction.attributes<GatherAttributes>();
  VXLA_RETURN_IF_ERROR(CheckIndices(instruction, array, indices,
                                    {a.index_vector_dim, a.start_index_map, a.operand_batching_dims,
                                     a.start_indices_batching_dims, a.collapsed_slice_dims, "start_index_map",
                                     "collapsed_slice_dims", "collapsed_slice_dims and operand_batching_dims"}));
  VXLA_ASSIGN_OR_RETURN(const Shape offsets, OffsetsOf(instruction, a, array));
  const int64_t rank = std::ssize(BatchSizes(indices, a.index_vector_dim)) + offsets.rank();
  VXLA_RETURN_IF_ERROR(CheckWindowDimensions(instruction, "offset_dims", a.offset_dims, rank));
  Shape result(array.element_type()), with_array = result;
  int next_offset = 0, next_batch = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (Contains(a.offset_dims, i)) {
      result.AddDimension(offsets, next_offset);
      with_array.AddDimension(offsets, next_offset++);
    } else {
      if (next_batch == a.index_vector_dim) ++next_batch;
      const int batching = PairedDimension(a.start_indices_batching_dims, next_batch, a.operand_batching_dims);
      result.AddDimension(indices, next_batch);
      with_array.AddDimension(indices, next_batch++);
      if (batching >= 0 && array.is_dynamic_dimension(batching)) with_array.set_dynamic_dimension(i, true);
    }
  }
  // Nothing of an array is one element of nothing: a dropped dimension of size 0 leaves an index without a range.
  const bool empty = Contains(result.dimensions(), 0);
  for (int i = 0; i < array.rank() && !empty; ++i) {
    const bool collapsed = Contains(a.collapsed_slice_dims, i);
    if (a.slice_sizes[i] != 0 || (!collapsed && !Contains(a.operand_batching_dims, i))) continue;
    return OpError(instruction, "slice size 0 of the {} dimension {} of {}, 1 needed",  // gather_c8, gather_c12
                   collapsed ? "collapsed" : "batching", i, array.ToString());
  }
  return StatedOr(instruction, std::move(result), std::move(with_array));
}

namespace {

// The updates have the indices' batch dimensions, and at update_window_dims windows that fit into the array.
Status CheckUpdates(const Instruction& instruction, const Shape& array, const Shape& indices, const Shape& updates) {
  const auto& a = instruction.attributes<ScatterAttributes>();
  VXLA_RETURN_IF_ERROR(CheckWindowDimensions(instruction, "update_window_dims", a.update_window_dims, updates.rank()));
  std::vector<int64_t> window_limits;
  for (int i = 0; i < array.rank(); ++i) {
    if (!Contains(a.inserted_window_dims, i) && !Contains(a.input_batching_dims, i)) {
      window_limits.push_back(array.dimension(i));
    }
  }
  if (a.update_window_dims.size() != window_limits.size()) {  // scatter_c2
    return OpError(instruction, "update_window_dims has {} entries for {} window dimensions of {}",
                   a.update_window_dims.size(), window_limits.size(), array.ToString());
  }
  const std::vector<int64_t> batch_sizes = BatchSizes(indices, a.index_vector_dim);
  if (updates.rank() != static_cast<int64_t>(batch_sizes.size() + window_limits.size())) {  // scatter_c9
    return OpError(instruction, "updates {} need rank {}", updates.ToString(),
                   batch_sizes.size() + window_limits.size());
  }
  size_t next_batch = 0, next_window = 0;
  for (int i = 0; i < updates.rank(); ++i) {
    const bool window = Contains(a.update_window_dims, i);
    const int64_t limit = window ? window_limits[next_window++] : batch_sizes[next_batch++];
    if (window ? updates.dimension(i) > limit : updates.dimension(i) != limit) {  // scatter_c4
      return OpError(instruction, "dimension {} of updates {} {} {}", i, updates.ToString(),
                     window ? "exceeds" : "is not", limit);
    }
  }
  return OkStatus();
}

// What a pass has put in the place of the indices (core/passes/expand/scatter_form.h).
Status CheckRunStarts(const Instruction& instruction, const Shape& array, const Shape& starts) {
  int64_t places = 1;
  for (const int64_t d : instruction.attributes<ScatterAttributes>().scatter_dims_to_operand_dims)
    places *= array.dimension(d);
  if (starts.rank() == 1 && starts.element_type() == ElementType::kS32 && starts.dimension(0) > places)
    return OkStatus();
  return OpError(instruction, "run_starts of {}, s32 of more than {} needed", starts.ToString(), places);  // runs_c1
}

}  // namespace

// N arrays, the indices, N updates; the computation takes N current values, then N updates.
Result<Shape> InferScatter(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectCalled(instruction, 1));
  VXLA_RETURN_IF_ERROR(ExpectOperandsAtLeast(instruction, 3));
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  if (instruction.operand_count() % 2 != 1) {  // scatter_c5
    return OpError(instruction, "{} operands are not N arrays, indices and N updates", instruction.operand_count());
  }
  const int n = instruction.operand_count() / 2;
  VXLA_RETURN_IF_ERROR(ExpectIntegerArray(instruction, n, "scatter indices"));
  const Shape& array = instruction.operand(0)->shape();
  const Shape& indices = instruction.operand(n)->shape();
  const auto& a = instruction.attributes<ScatterAttributes>();
  const bool run_starts = instruction.notes().run_starts;
  VXLA_RETURN_IF_ERROR(
      run_starts
          ? CheckRunStarts(instruction, array, indices)
          : CheckIndices(instruction, array, indices,
                         {a.index_vector_dim, a.scatter_dims_to_operand_dims, a.input_batching_dims,
                          a.scatter_indices_batching_dims, a.inserted_window_dims, "scatter_dims_to_operand_dims",
                          "inserted_window_dims", "inserted_window_dims and input_batching_dims"}));
  Shape flags = WithFlagsOfOperands(instruction, n);
  for (size_t i = 0; i < a.input_batching_dims.size(); ++i) {
    if (indices.is_dynamic_dimension(a.scatter_indices_batching_dims[i])) {
      flags.set_dynamic_dimension(a.input_batching_dims[i], true);
    }
  }
  std::vector<Shape> own;
  std::vector<Shape> parameters, results;
  for (int k = 0; k < n; ++k) {
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, k, 0));              // scatter_c1
    VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, n + 1 + k, n + 1));  // scatter_c3
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, n + 1 + k, k));            // scatter_c6
    parameters.push_back(ScalarOf(instruction.operand(k)->shape()));
    own.push_back(instruction.operand(k)->shape().WithoutLayout());
    results.push_back(WithElementType(flags, own.back().element_type()));
  }
  if (!run_starts) VXLA_RETURN_IF_ERROR(CheckUpdates(instruction, array, indices, instruction.operand(n + 1)->shape()));
  const Shape result = Collate(parameters);
  parameters.insert(parameters.end(), parameters.begin(), parameters.begin() + n);
  VXLA_RETURN_IF_ERROR(ExpectSignature(instruction, *instruction.called(0), parameters, &result));  // scatter_c23
  return StatedOr(instruction, Collate(std::move(own)), Collate(std::move(results)));
}

}  // namespace VXLA_NAMESPACE
