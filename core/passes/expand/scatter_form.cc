#include "core/passes/expand/scatter_form.h"

#include <algorithm>

#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

// So many windows are gone through by each invocation sooner than they are sorted.
constexpr int64_t kFewWindows = 32;
// So many are in parts, of which there are this many at most; more than kMostInParts would make parts too long for the
// loops of some drivers (quirks.loop_iteration_limit).
constexpr int64_t kManyWindows = 4096, kMostUpdateParts = 8192, kMostInParts = int64_t{1} << 28;

// Exchanges that change an element each time wait for each other on GPUs, so where many meet in each element on average
// they are sorted.
constexpr int64_t kMostExchanges = 64, kFewUpdates = 1 << 12;
bool MeetSeldom(const Instruction& scatter) {
  const int64_t updates = scatter.operand(scatter.operand_count() - 1)->shape().ElementCount();
  return updates <= std::max(kFewUpdates, kMostExchanges * scatter.operand(0)->shape().ElementCount());
}

bool IsOrderFree(const Instruction& scatter, bool wide_atomics) {
  for (int k = 0; k < scatter.operand_count() / 2; ++k) {
    const OrderFree way = OrderFreeOf(scatter, k);
    if (way == OrderFree::kNo || (way == OrderFree::kExchangeWide && !wide_atomics)) return false;
  }
  return true;
}

// A software driver takes atomic operations lane by lane, while a window's share of a sort (60 ns on lavapipe) is for
// all its elements, which then go in groups.
constexpr int64_t kLongWindow = 16;

// Elements of a word each that an atomic function or a few exchanges change: no other way is faster, even where updates
// are few or sorted.
bool TakesAtOnce(const Instruction& scatter) {
  for (int k = 0; k < scatter.operand_count() / 2; ++k) {
    if (BitWidth(scatter.operand(k)->shape().element_type()) != 32 || OperationOf(scatter, k) == Opcode::kMultiply)
      return false;
  }
  return true;
}

// Updates may be put together before they meet what was there.
bool IsAssociative(const Instruction& scatter) {
  return Has(SingleOperation(*scatter.called(0)).value_or(Opcode::kSubtract), Trait::kAssociates);
}

// An element that looks for its run takes as long as a few updates do, so it pays where as many windows go to each
// place on average. Software drivers look lane by lane, each time as long as an update is (lavapipe, of 2^20 sorted
// updates to 65,536 elements: 11 ms instead of 9).
constexpr int64_t kWindowsOfAPlace = 1, kWindowsOfAPlaceByLane = 32;
// One invocation may go through a whole run, or through two parts and the sums of the others: within the shortest loops
// of a driver (quirks.loop_iteration_limit).
constexpr int64_t kMostOfARun = 1 << 14, kMostOfRunsInParts = int64_t{1} << 26;

bool GoesByPlaces(const Instruction& scatter, const ScatterForm& form, const ScatterTarget& target) {
  return scatter.attributes<ScatterAttributes>().indices_are_sorted && form.batch_sizes.size() == 1 &&
         std::ranges::all_of(form.batch_of, [](int64_t batch) { return batch < 0; }) && MayGoByPlaces(scatter, target);
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
  count = ElementCountOf(batch_sizes);
  const auto rank = static_cast<size_t>(operand.rank());
  window_of.assign(rank, -1);
  index_of.assign(rank, -1);
  batch_of.assign(rank, -1);
  int64_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(a.inserted_window_dims, d) || Contains(a.input_batching_dims, d)) continue;
    window_of[d] = next++;
  }
  for (size_t k = 0; k < a.scatter_dims_to_operand_dims.size(); ++k) {
    const auto d = static_cast<size_t>(a.scatter_dims_to_operand_dims[k]);
    index_of[d] = static_cast<int64_t>(k);
    can_overlap |= window_of[d] >= 0 && window_sizes[window_of[d]] > 1;
  }
  for (size_t k = 0; k < a.input_batching_dims.size(); ++k) {
    const auto at = std::ranges::find(indices_dims, a.scatter_indices_batching_dims[k]);
    batch_of[a.input_batching_dims[k]] = at - indices_dims.begin();
  }
}

bool MayGoByPlaces(const Instruction& scatter, const ScatterTarget& target) {
  const ScatterForm form(scatter);
  const Shape& operand = scatter.operand(0)->shape();
  const int64_t window = ElementCountOf(form.window_sizes);
  int64_t places = 1;
  for (size_t d = 0; d < form.index_of.size(); ++d) {
    if (form.index_of[d] >= 0 || form.batch_of[d] >= 0) places *= operand.dimension(d);
  }
  return places * window == operand.ElementCount() &&
         places * (target.accesses_by_lane ? kWindowsOfAPlaceByLane : kWindowsOfAPlace) <= form.count &&
         form.count <= (AddsInParts(scatter) ? kMostOfRunsInParts : kMostOfARun);
}

ScatterWay WayOf(const Instruction& scatter, const ScatterTarget& target) {
  if (scatter.notes().run_starts) return ScatterWay::kPlaces;
  const auto& a = scatter.attributes<ScatterAttributes>();
  const ScatterForm form(scatter);
  // Windows of one batching element each lie in slices of their own.
  int64_t in_slice = form.count;
  for (const int64_t b : form.batch_of) {
    if (b >= 0) in_slice /= std::max<int64_t>(1, form.batch_sizes[b]);
  }
  if (a.unique_indices || in_slice <= 1) return ScatterWay::kApart;
  const bool order_free = IsOrderFree(scatter, target.wide_atomics);
  if (order_free && TakesAtOnce(scatter)) return ScatterWay::kAtomic;
  const auto none = [](const IntList& places) {
    return std::ranges::all_of(places, [](int64_t at) { return at < 0; });
  };
  const bool one_place = none(form.index_of) && none(form.batch_of);
  if (!form.can_overlap && form.count <= kFewWindows) return ScatterWay::kOneByOne;
  if (form.can_overlap || (!a.indices_are_sorted && !one_place)) {
    const int64_t window = ElementCountOf(form.window_sizes);
    const bool sorted_sooner = target.accesses_by_lane && window > kLongWindow && !form.can_overlap;
    return order_free && !sorted_sooner ? ScatterWay::kAtomic : ScatterWay::kUnordered;
  }
  if (Replaces(scatter)) return ScatterWay::kLast;
  if (GoesByPlaces(scatter, form, target)) return ScatterWay::kPlaces;
  return AddsInParts(scatter) ? ScatterWay::kParts : ScatterWay::kRuns;
}

bool AddsInParts(const Instruction& scatter) {
  const int64_t count = ScatterForm(scatter).count;
  return count >= kManyWindows && count <= kMostInParts && IsAssociative(scatter);
}

const Instruction& ResultOf(const Instruction& scatter, int k) {
  const Instruction& root = *scatter.called(0)->root();
  return root.opcode() == Opcode::kTuple ? *root.operand(k) : root;
}

std::optional<Opcode> OperationOf(const Instruction& scatter, int k) {
  const Computation& computation = *scatter.called(0);
  const Instruction& result = ResultOf(scatter, k);
  const Instruction* const element = computation.parameter(k);
  const Instruction* const update = computation.parameter(scatter.operand_count() / 2 + k);
  const ElementType type = result.shape().element_type();
  for (const Shape& shape : {element->shape(), scatter.operand(k)->shape()})
    if (result.operand_count() != 2 || shape.element_type() != type) return std::nullopt;
  const Instruction *a = result.operand(0), *b = result.operand(1);
  if ((a != element || b != update) && (a != update || b != element)) return std::nullopt;
  if (type != ElementType::kPred) return result.opcode();
  switch (result.opcode()) {
    case Opcode::kAdd:
    case Opcode::kMaximum:
      return Opcode::kOr;
    case Opcode::kMultiply:
    case Opcode::kMinimum:
      return Opcode::kAnd;
    default:
      return result.opcode();
  }
}

// Integers wrap. Of floats only extremes are: -0 lies below +0, and any NaN gives the one NaN.
OrderFree OrderFreeOf(const Instruction& scatter, int k) {
  const Shape& array = scatter.operand(k)->shape();
  const ElementType type = array.element_type();
  const int bits = BitWidth(type);
  const bool integer = IsInteger(type) || type == ElementType::kPred;
  // The words of longer arrays are beyond 32-bit indices.
  if ((!integer && !IsFloating(type)) || (bits == 64 && array.ElementCount() >= int64_t{1} << 30))
    return OrderFree::kNo;
  const OrderFree exchange = bits == 64 ? OrderFree::kExchangeWide : OrderFree::kExchange;
  switch (OperationOf(scatter, k).value_or(Opcode::kSubtract)) {
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return integer ? OrderFree::kFunction : OrderFree::kNo;
    case Opcode::kAdd:
      if (integer && bits >= 8) return OrderFree::kFunction;
      return integer && MeetSeldom(scatter) ? OrderFree::kExchange : OrderFree::kNo;
    case Opcode::kMultiply:
      return integer && MeetSeldom(scatter) ? exchange : OrderFree::kNo;
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return integer && bits == 32 ? OrderFree::kFunction : exchange;
    default:
      return OrderFree::kNo;
  }
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
