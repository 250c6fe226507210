// Scatters whose updates can meet in any order. Those that replace what was there by one value need no order, nor do
// sums of whole numbers that are too small to round, such as counts: they are made of integers. Others that replace:
// the last window of each place is found by a scatter of the windows' numbers, and the others are dropped. Others:
// windows are sorted by where they start, so that runs of equal starts are combined in their order. The sort asks for
// the indices alone: it leaves loops in which these stay the same, and scatters of the same indices share it.
#include <algorithm>

#include "core/numerics/whole_bound.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/expand/scatter_form.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

// So many places are filled for each window sooner than windows are sorted.
constexpr int64_t kPlacesPerWindow = 16;

class OrderedScatter : private Expansion {
 public:
  OrderedScatter(Module& module, Computation& computation, Instruction* scatter)
      : Expansion(computation, scatter), module_(module), form_(*scatter) {
    const Shape& operand = scatter->operand(0)->shape();
    sizes_ = SizesOf(operand);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (form_.index_of[d] >= 0 || form_.batch_of[d] >= 0) started_.push_back(static_cast<int64_t>(d));
    }
    window_ = form_.window_sizes;
    count_ = form_.count;
  }

  Instruction* Expand() {
    ReadStarts();
    ReadUpdates();
    if (form_.can_overlap) TakeWindowsApart();
    ScatterAttributes attributes;
    attributes.unique_indices = Replaces(instruction()) && Places() > 0 && Places() <= kPlacesPerWindow * count_;
    attributes.indices_are_sorted = !attributes.unique_indices;
    if (attributes.unique_indices) DropAllButLast();
    Instruction* const order = attributes.unique_indices ? nullptr : SortedOrder();
    std::vector<Instruction*> operands;
    for (int k = 0; k < form_.arrays; ++k) operands.push_back(instruction().operand(k));
    operands.push_back(Concatenated(starts_, 1));
    for (Instruction* update : updates_) operands.push_back(order == nullptr ? update : Rows(update, order));
    for (size_t w = 0; w < window_.size(); ++w) attributes.update_window_dims.push_back(static_cast<int64_t>(w) + 1);
    for (int64_t d = 0; d < static_cast<int64_t>(sizes_.size()); ++d) {
      const bool windowed = !form_.can_overlap && form_.window_of[static_cast<size_t>(d)] >= 0;
      if (!windowed) attributes.inserted_window_dims.push_back(d);
    }
    attributes.scatter_dims_to_operand_dims = started_;
    attributes.index_vector_dim = 1;
    return Add(Opcode::kScatter, instruction().shape(), std::move(operands), attributes, {instruction().called(0)});
  }

 private:
  Instruction* Number(int64_t value, const Instruction* like) {
    return Spread(Constant(Literal::ScalarInt(like->shape().element_type(), value)), SizesOf(like->shape()));
  }

  // s32, so that what is out of reach stays so: no dimension is longer.
  Instruction* Saturated(Instruction* value) {
    const ElementType type = value->shape().element_type();
    constexpr int64_t kMost = (int64_t{1} << 31) - 1;
    if (BitWidth(type) >= 32 && type != kS32) value = Binary(Opcode::kMinimum, value, Number(kMost, value));
    if (type == kS64) value = Binary(Opcode::kMaximum, value, Number(-kMost - 1, value));
    return Converted(value, kS32);
  }

  // Where the windows start: s32[count,1] for each dimension in which they start anywhere but at 0.
  void ReadStarts() {
    Instruction* indices = instruction().operand(form_.arrays);
    const int64_t vector_dim = instruction().attributes<ScatterAttributes>().index_vector_dim;
    const bool vectors = vector_dim < indices->shape().rank();
    if (vectors) {
      IntList order = form_.indices_dims;
      order.push_back(vector_dim);
      indices = Transposed(indices, order);
    }
    const int64_t length =
        vectors ? instruction().operand(form_.arrays)->shape().dimension(static_cast<int>(vector_dim)) : 1;
    indices = Saturated(Reshaped(indices, {count_, length}));
    for (const int64_t d : started_) {
      const int64_t k = form_.index_of[static_cast<size_t>(d)], batch = form_.batch_of[static_cast<size_t>(d)];
      starts_.push_back(k >= 0 ? Slice(indices, 1, k, k + 1)
                               : Reshaped(Iota(kS32, form_.batch_sizes, batch), {count_, 1}));
    }
  }

  // [count, window sizes ...]
  void ReadUpdates() {
    IntList order = form_.batch_dims, sizes{count_};
    order.insert(order.end(), form_.window_dims.begin(), form_.window_dims.end());
    sizes.insert(sizes.end(), window_.begin(), window_.end());
    for (int k = 0; k < form_.arrays; ++k) {
      updates_.push_back(Reshaped(Transposed(instruction().operand(form_.arrays + 1 + k), order), sizes));
    }
  }

  // Each element of a window becomes a window of its own: windows that overlap have elements that meet.
  void TakeWindowsApart() {
    IntList all{count_}, along{0};
    all.insert(all.end(), window_.begin(), window_.end());
    int64_t total = 1;
    for (const int64_t size : all) total *= size;
    std::vector<Instruction*> starts;
    IntList started;
    size_t next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes_.size()); ++d) {
      Instruction* place = nullptr;
      if (next < started_.size() && started_[next] == d) {
        Instruction* const start = Reshaped(starts_[next++], {count_});
        place = Add(Opcode::kBroadcast, Shape(kS32, all), {start}, DimensionsAttributes{along});
      }
      if (const int64_t w = form_.window_of[static_cast<size_t>(d)]; w >= 0) {
        Instruction* const inside = Iota(kS32, all, w + 1);
        place = place == nullptr ? inside : Binary(Opcode::kAdd, place, inside);
      }
      if (place == nullptr) continue;  // a dropped dimension of size 1 that no index names
      starts.push_back(Reshaped(place, {total, 1}));
      started.push_back(d);
    }
    starts_ = std::move(starts);
    started_ = std::move(started);
    for (Instruction*& update : updates_) update = Reshaped(update, {total});
    window_.clear();
    count_ = total;
  }

  // Where windows can start.
  int64_t Places() const {
    int64_t places = 1;
    for (const int64_t d : started_) places *= sizes_[static_cast<size_t>(d)];
    return places;
  }
  // The number of each start among all that lie in the array; one beyond for those outside.
  Instruction* Keys() {
    Instruction *key = nullptr, *inside = nullptr;
    int64_t places = 1;
    for (size_t i = started_.size(); i-- > 0;) {
      const int64_t size = sizes_[static_cast<size_t>(started_[i])];
      Instruction* const start = Reshaped(starts_[i], {count_});
      Instruction* const valid = Binary(Opcode::kAnd, Compare(ComparisonDirection::kGe, start, Number(0, start)),
                                        Compare(ComparisonDirection::kLt, start, Number(size, start)));
      Instruction* const part = Binary(Opcode::kMultiply, start, Number(places, start));
      key = key == nullptr ? part : Binary(Opcode::kAdd, key, part);
      inside = inside == nullptr ? valid : Binary(Opcode::kAnd, inside, valid);
      places *= size;
    }
    return Add(Opcode::kSelect, key->shape(), {inside, key, Number(places, key)});
  }

  // Windows that others follow at the same place start outside.
  void DropAllButLast() {
    const IntList places{Places()}, all{count_};
    Instruction* const key = Keys();
    Instruction* const number = Iota(kS32, all, 0);
    ScatterAttributes attributes;
    attributes.inserted_window_dims = {0};
    attributes.scatter_dims_to_operand_dims = {0};
    attributes.index_vector_dim = 1;
    Instruction* const none = Spread(Constant(Literal::ScalarInt(kS32, -1)), places);
    Instruction* const last = Add(Opcode::kScatter, Shape(kS32, places), {none, Reshaped(key, {count_, 1}), number},
                                  attributes, {AddCombiner(module_, Opcode::kMaximum, kS32)});
    Instruction* const stays = Compare(ComparisonDirection::kEq, Rows(last, key), number);
    Instruction* const start = Reshaped(starts_[0], all);
    Instruction* const kept = Add(Opcode::kSelect, start->shape(), {stays, start, Number(-1, start)});
    starts_[0] = Reshaped(kept, {count_, 1});
  }

  // The windows' numbers in the order of their keys, equal ones as they were. Starts are in that order from here on.
  Instruction* SortedOrder() {
    Instruction* const number = Iota(kS32, {count_}, 0);
    Instruction* const key = Keys();
    Computation* const less = module_.AddComputation("less");
    std::vector<Instruction*> parameters;
    for (int64_t k = 0; k < 4; ++k) {
      parameters.push_back(less->Add(Opcode::kParameter, Shape(kS32), {}, ParameterAttributes{k}));
    }
    CompareAttributes below;
    below.direction = ComparisonDirection::kLt;
    less->Add(Opcode::kCompare, Shape(kPred), {parameters[0], parameters[1]}, below);
    SortAttributes attributes;
    attributes.dimensions = {0};
    attributes.is_stable = true;
    const Shape shape = Shape::Tuple({key->shape(), number->shape()});
    Instruction* const sorted = Add(Opcode::kSort, shape, {key, number}, attributes, {less});
    StartsFrom(Element(sorted, 0));
    return Element(sorted, 1);
  }
  // What Keys() has put together, which costs less than to look it up in the new order. Outside stays outside.
  void StartsFrom(Instruction* key) {
    int64_t places = Places();
    for (size_t i = 0; i < started_.size(); ++i) {
      const int64_t size = sizes_[static_cast<size_t>(started_[i])];
      places /= std::max<int64_t>(size, 1);
      Instruction* start = key;
      if (i + 1 < started_.size()) start = Binary(Opcode::kDivide, start, Number(places, start));
      if (i > 0) start = Binary(Opcode::kRemainder, start, Number(size, start));
      starts_[i] = Reshaped(start, {count_, 1});
    }
  }

  Module& module_;
  const ScatterForm form_;
  IntList sizes_, started_, window_;
  int64_t count_;
  std::vector<Instruction*> starts_, updates_;
};

// Sums that a type holds exactly are the same in any order, and those of s32 are, too: f32 counts up to 2^24. Not where
// the array is so large that to convert it takes longer than to sort the updates.
Instruction* OfWholeNumbers(Module& module, Computation& computation, Instruction* scatter) {
  constexpr int64_t kMostPerUpdate = 64;
  const int arrays = scatter->operand_count() / 2;
  const ElementType type = scatter->operand(0)->shape().element_type();
  const Instruction &array = *scatter->operand(0), &updates = *scatter->operand(2);
  if (arrays != 1 || !IsFloating(type) || BitWidth(type) < 16 || OperationOf(*scatter, 0) != Opcode::kAdd)
    return nullptr;
  if (array.shape().ElementCount() > kMostPerUpdate * updates.shape().ElementCount()) return nullptr;
  if (array.shape().IsDynamic() || updates.shape().IsDynamic()) return nullptr;
  const std::optional<int64_t> before = WholeBound(array), each = WholeBound(updates);
  if (!before || !each || updates.shape().element_type() != type) return nullptr;
  const int64_t most = std::min<int64_t>(LastExactWhole(type), (int64_t{1} << 31) - 1);
  if (*before > most || *each > (most - *before) / ScatterForm(*scatter).count) return nullptr;
  Expansion whole(computation, scatter);
  Instruction* const sums = whole.Add(
      Opcode::kScatter, Shape(kS32, SizesOf(array.shape())),
      {whole.Converted(scatter->operand(0), kS32), scatter->operand(1), whole.Converted(scatter->operand(2), kS32)},
      scatter->attributes<ScatterAttributes>(), {AddCombiner(module, Opcode::kAdd, kS32)});
  return whole.Converted(sums, type);
}

// All its elements are the same, whatever that is.
bool IsOneValue(const Instruction& value) {
  const Instruction* i = &value;
  while (i->shape().ElementCount() > 1) {
    switch (i->opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kConvert:
      case Opcode::kSlice:
        i = i->operand(0);
        break;
      default:
        return false;
    }
  }
  return true;
}

// Updates that write the same wherever they meet are applied as if they did not.
Instruction* OfOneValue(Computation& computation, Instruction* scatter) {
  if (!Replaces(*scatter)) return nullptr;
  const int arrays = scatter->operand_count() / 2;
  for (int k = 0; k < arrays; ++k) {
    if (!IsOneValue(*scatter->operand(arrays + 1 + k))) return nullptr;
  }
  auto attributes = scatter->attributes<ScatterAttributes>();
  attributes.unique_indices = true;
  const std::vector<Instruction*> operands(scatter->operands().begin(), scatter->operands().end());
  return Expansion(computation, scatter)
      .Add(Opcode::kScatter, scatter->shape(), operands, attributes, {scatter->called(0)});
}

}  // namespace

bool ExpandScatters(Module& module, const TargetInfo& target) {
  const ScatterTarget scatters{target.accesses_by_lane, target.wide_atomics};
  const bool changed =
      ExpandEach(ControlComputations(module), [&](Computation& computation, Instruction* instruction) -> Instruction* {
        if (instruction->opcode() != Opcode::kScatter) return nullptr;
        if (WayOf(*instruction, scatters) != ScatterWay::kUnordered) return nullptr;
        const int64_t updates = instruction->operand(instruction->operand_count() - 1)->shape().ElementCount();
        // Indices are 32-bit on devices.
        constexpr int64_t kMost = (int64_t{1} << 31) - 1;
        if (updates == 0 || updates > kMost || instruction->operand(0)->shape().ElementCount() > kMost) return nullptr;
        if (Instruction* const same = OfOneValue(computation, instruction)) return same;
        if (Instruction* const sums = OfWholeNumbers(module, computation, instruction)) return sums;
        return OrderedScatter(module, computation, instruction).Expand();
      });
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
