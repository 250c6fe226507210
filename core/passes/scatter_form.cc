#include "core/passes/scatter_form.h"

#include <algorithm>

#include "core/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

// So many windows are gone through by each invocation sooner than they are sorted.
constexpr int64_t kFewWindows = 32;
// So many are in parts, of which there are this many at most; more than kMostInParts would make parts too long for the
// loops of some drivers (quirks.loop_iteration_limit).
constexpr int64_t kManyWindows = 4096, kMostUpdateParts = 8192, kMostInParts = int64_t{1} << 28;

bool Contains(const IntList& list, int64_t value) { return std::ranges::find(list, value) != list.end(); }

// One operation of 32-bit elements that gives the same in any order: an atomic function of integers, or an extreme of
// f32 (-0 lies below +0, and any NaN gives the one NaN), by comparing and exchanging.
bool IsOrderFree(const Instruction& scatter) {
  const ElementType type = scatter.shape().IsArray() ? scatter.shape().element_type() : ElementType::kPred;
  const bool integer = type == ElementType::kS32 || type == ElementType::kU32;
  if (!integer && type != ElementType::kF32) return false;
  switch (SingleOperation(*scatter.called(0)).value_or(Opcode::kSubtract)) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return integer;
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return true;
    default:
      return false;
  }
}

// Updates may be put together before they meet what was there.
bool IsAssociative(const Instruction& scatter) {
  switch (SingleOperation(*scatter.called(0)).value_or(Opcode::kSubtract)) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

ScatterForm::ScatterForm(const Instruction& scatter) : arrays(scatter.operand_count() / 2) {
  const auto& a = scatter.attributes<ScatterAttributes>();
  const Shape& operand = scatter.operand(0)->shape();
  const Shape& indices = scatter.operand(arrays)->shape();
  const Shape& updates = scatter.operand(arrays + 1)->shape();
  for (int d = 0; d < updates.rank(); ++d) {
    const bool window = Contains(a.update_window_dims, d);
    (window ? window_dims : batch_dims).push_back(d);
    (window ? window_sizes : batch_sizes).push_back(updates.dimension(d));
  }
  for (int d = 0; d < indices.rank(); ++d) {
    if (d != a.index_vector_dim) indices_dims.push_back(d);
  }
  for (const int64_t size : batch_sizes) count *= size;
  const auto rank = static_cast<size_t>(operand.rank());
  window_of.assign(rank, -1);
  index_of.assign(rank, -1);
  batch_of.assign(rank, -1);
  int64_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(a.inserted_window_dims, d) || Contains(a.input_batching_dims, d)) continue;
    window_of[static_cast<size_t>(d)] = next++;
  }
  for (size_t k = 0; k < a.scatter_dims_to_operand_dims.size(); ++k) {
    const auto d = static_cast<size_t>(a.scatter_dims_to_operand_dims[k]);
    index_of[d] = static_cast<int64_t>(k);
    can_overlap |= window_of[d] >= 0 && window_sizes[static_cast<size_t>(window_of[d])] > 1;
  }
  for (size_t k = 0; k < a.input_batching_dims.size(); ++k) {
    const auto at = std::ranges::find(indices_dims, a.scatter_indices_batching_dims[k]);
    batch_of[static_cast<size_t>(a.input_batching_dims[k])] = at - indices_dims.begin();
  }
}

ScatterWay WayOf(const Instruction& scatter) {
  const auto& a = scatter.attributes<ScatterAttributes>();
  const ScatterForm form(scatter);
  // Windows of one batching element each lie in slices of their own.
  int64_t in_slice = form.count;
  for (const int64_t b : form.batch_of) {
    if (b >= 0) in_slice /= std::max<int64_t>(1, form.batch_sizes[static_cast<size_t>(b)]);
  }
  if (a.unique_indices || in_slice <= 1) return ScatterWay::kApart;
  if (IsOrderFree(scatter)) return ScatterWay::kAtomic;
  if (form.can_overlap) return ScatterWay::kUnordered;
  if (form.count <= kFewWindows) return ScatterWay::kOneByOne;
  const auto none = [](const IntList& places) {
    return std::ranges::all_of(places, [](int64_t at) { return at < 0; });
  };
  const bool one_place = none(form.index_of) && none(form.batch_of);
  if (!a.indices_are_sorted && !one_place) return ScatterWay::kUnordered;
  if (Replaces(scatter)) return ScatterWay::kLast;
  const bool many = form.count >= kManyWindows && form.count <= kMostInParts;
  return many && IsAssociative(scatter) ? ScatterWay::kParts : ScatterWay::kRuns;
}

bool Replaces(const Instruction& scatter) {
  const Computation& computation = *scatter.called(0);
  const int arrays = scatter.operand_count() / 2;
  const auto is_update = [&](const Instruction* value, int k) {
    while (value->opcode() == Opcode::kCopy) value = value->operand(0);
    return value == computation.parameter(arrays + k);
  };
  const Instruction* const root = computation.root();
  if (root->opcode() != Opcode::kTuple) return is_update(root, 0);
  for (int k = 0; k < arrays; ++k) {
    if (!is_update(root->operand(k), k)) return false;
  }
  return true;
}

int64_t WindowsOfAPart(int64_t count) {
  int64_t windows = 32;
  while (windows * kMostUpdateParts < count) windows *= 2;
  return windows;
}

}  // namespace VXLA_NAMESPACE
