// Scatters whose updates can meet in any order. Those that replace what was there by one value need no order, nor do
// sums of whole numbers that are too small to round, such as counts: they are made of integers. Others that replace:
// the last window of each place is found by a scatter of the windows' numbers, and the others are dropped. Others:
// windows are sorted by where they start, so that runs of equal starts are combined in their order. The sort asks for
// the indices alone: it leaves loops in which these stay the same, and scatters of the same indices share it. There so
// does where the runs begin, which elements otherwise find by halving each time. Scatters of the same indices that need
// no order take theirs from it too, and counts are the lengths of runs.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "core/ceil_divide.h"
#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"
#include "core/numerics/whole_bound.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/expand/scatter_form.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;

// So many places are filled for each window sooner than windows are sorted.
constexpr int64_t kPlacesPerWindow = 16;

// What scatters of the same indices share, made for the first of them: the sort and where the runs begin.
struct SharedRuns {
  bool in_parts = false;  // some of them add in parts
  Instruction *sorted = nullptr, *starts = nullptr;
};

class OrderedScatter : private Expansion {
 public:
  // `runs`: where it takes the starts of its runs, if so.
  OrderedScatter(Module& module, Computation& computation, Instruction* scatter, SharedRuns* runs)
      : Expansion(computation, scatter), module_(module), form_(*scatter), runs_(runs) {
    const Shape& operand = scatter->operand(0)->shape();
    sizes_ = SizesOf(operand);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (form_.index_of[d] >= 0 || form_.batch_of[d] >= 0) started_.push_back(d);
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
    Instruction* const sorted = attributes.unique_indices ? nullptr : Sorted();
    Instruction* const order = sorted == nullptr ? nullptr : Element(sorted, 1);
    auto operands = Transformed(std::views::iota(0, form_.arrays), [&](int k) { return instruction().operand(k); });
    if (runs_ != nullptr) {
      operands.push_back(RunStarts());
    } else {
      if (sorted != nullptr) StartsFrom(Element(sorted, 0));
      operands.push_back(Concatenated(starts_, 1));
    }
    for (Instruction* update : updates_) operands.push_back(order == nullptr ? update : InOrder(update, order));
    for (size_t w = 0; w < window_.size(); ++w) attributes.update_window_dims.push_back(static_cast<int64_t>(w) + 1);
    for (int64_t d = 0; d < static_cast<int64_t>(sizes_.size()); ++d) {
      const bool windowed = !form_.can_overlap && form_.window_of[d] >= 0;
      if (!windowed) attributes.inserted_window_dims.push_back(d);
    }
    attributes.scatter_dims_to_operand_dims = started_;
    attributes.index_vector_dim = 1;
    Instruction* const result =
        Add(Opcode::kScatter, instruction().shape(), std::move(operands), attributes, {instruction().called(0)});
    result->mutable_notes().run_starts = runs_ != nullptr;
    return result;
  }

  // Of updates that are all one value, whole numbers whose sums are exact: that many times what each run is long.
  Instruction* Counts() {
    const Shape& array = instruction().operand(0)->shape();
    const ElementType type = array.element_type(), whole = IsInteger(type) ? type : kS32;
    ReadStarts();
    Instruction* const starts = RunStarts();
    const int64_t places = Places();
    Instruction* const lengths =
        Binary(Opcode::kSubtract, Slice(starts, 0, 1, places + 1), Slice(starts, 0, 0, places));
    IntList by_place = Transformed(started_, [&](const int64_t d) { return sizes_[d]; });
    Instruction* const counts = Add(Opcode::kBroadcast, Shape(whole, sizes_),
                                    {Reshaped(Converted(lengths, whole), by_place)}, DimensionsAttributes{started_});
    Instruction* each = instruction().operand(2);
    for (int64_t d = 0; d < each->shape().rank(); ++d) each = Slice(each, d, 0, 1);
    each = Spread(Converted(Reshaped(each, {}), whole), sizes_);
    Instruction* const added = Binary(Opcode::kMultiply, counts, each);
    return Converted(Binary(Opcode::kAdd, Converted(instruction().operand(0), whole), added), type);
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
    const int64_t length = vectors ? instruction().operand(form_.arrays)->shape().dimension(vector_dim) : 1;
    indices = Saturated(Reshaped(indices, {count_, length}));
    for (const int64_t d : started_) {
      const int64_t k = form_.index_of[d], batch = form_.batch_of[d];
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
      if (const int64_t w = form_.window_of[d]; w >= 0) {
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
    for (const int64_t d : started_) places *= sizes_[d];
    return places;
  }
  // The number of each start among all that lie in the array; one beyond for those outside.
  Instruction* Keys() {
    Instruction *key = nullptr, *inside = nullptr;
    int64_t places = 1;
    for (size_t i = started_.size(); i-- > 0;) {
      const int64_t size = sizes_[started_[i]];
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

  // The keys and the windows' numbers in the order of the keys, equal ones as they were.
  Instruction* Sorted() {
    if (runs_ != nullptr && runs_->sorted != nullptr) return runs_->sorted;
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
    if (runs_ != nullptr) runs_->sorted = sorted;
    return sorted;
  }

  // Rows in another order. What is computed for this alone is computed of rows in that order: what stays the same in a
  // loop is then in order before it.
  Instruction* InOrder(Instruction* value, Instruction* order) {
    if (runs_ == nullptr || value->users().size() > 1 || value->HasControlEdges()) return Rows(value, order);
    const auto has_rows = [&](const Instruction* i) {
      return i->shape().rank() > 0 && i->shape().dimension(0) == count_;
    };
    if (IsElementwise(value->opcode()) && value->operand_count() > 0) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : value->operands()) {
        if (operand->shape().rank() != value->shape().rank()) return Rows(value, order);
        operands.push_back(InOrder(operand, order));
      }
      return Add(value->CloneWith(std::move(operands)));
    }
    switch (value->opcode()) {
      case Opcode::kReshape:
        if (!has_rows(value->operand(0))) break;
        return Reshaped(InOrder(value->operand(0), order), SizesOf(value->shape()));
      case Opcode::kBroadcast: {
        const auto& dimensions = value->attributes<DimensionsAttributes>().dimensions;
        if (!Contains(dimensions, 0)) return value;
        if (dimensions.front() != 0) break;
        return Add(value->CloneWith({InOrder(value->operand(0), order)}));
      }
      case Opcode::kGather: {
        const auto& a = value->attributes<GatherAttributes>();
        const bool by_row = a.operand_batching_dims.empty() && a.index_vector_dim == 1 &&
                            value->operand(1)->shape().rank() <= 2 && !Contains(a.offset_dims, 0);
        if (!by_row) break;
        Instruction* const rows = Add(value->CloneWith({value->operand(0), InOrder(value->operand(1), order)}));
        std::get<GatherAttributes>(rows->mutable_attributes()).indices_are_sorted = false;
        return rows;
      }
      default:
        break;
    }
    return Rows(value, order);
  }

  // What a scatter has for indices whose runs are known (Notes::run_starts).
  Instruction* RunStarts() {
    if (runs_->starts == nullptr) runs_->starts = MakeRunStarts(Element(Sorted(), 0));
    return runs_->starts;
  }
  Instruction* MakeRunStarts(Instruction* key) {
    const int64_t places = Places();
    Instruction* const place = Iota(kS32, {places + 1}, 0);
    Instruction* before = Number(0, place);
    for (int64_t step = std::bit_floor(static_cast<uint64_t>(count_)); step > 0; step /= 2) {
      // Beyond the last key stands the last: where it is below the place, all are.
      Instruction* const last = Rows(key, Binary(Opcode::kAdd, before, Number(step - 1, place)));
      Instruction* const below = Compare(ComparisonDirection::kLt, last, place);
      Instruction* const further = Binary(Opcode::kAdd, before, Number(step, place));
      before = Add(Opcode::kSelect, place->shape(), {below, further, before});
    }
    before = Binary(Opcode::kMinimum, before, Number(count_, place));
    if (!runs_->in_parts) return before;
    const int64_t length = WindowsOfAPart(count_);
    Instruction* const part = Iota(kS32, {CeilDivide(count_, length)}, 0);
    Instruction* const first = Binary(Opcode::kMultiply, part, Number(length, part));
    Instruction* const goes_on = Rows(key, Binary(Opcode::kSubtract, first, Number(1, part)));
    Instruction* const last = Rows(key, Binary(Opcode::kAdd, first, Number(length - 1, part)));
    Instruction* const whole = Binary(Opcode::kAnd, Compare(ComparisonDirection::kEq, goes_on, last),
                                      Binary(Opcode::kAnd, Compare(ComparisonDirection::kGt, part, Number(0, part)),
                                             Compare(ComparisonDirection::kLt, last, Number(places, part))));
    return Concatenated({before, Add(Opcode::kSelect, part->shape(), {whole, last, Number(-1, part)})}, 0);
  }
  // What Keys() has put together, which costs less than to look it up in the new order. Outside stays outside.
  void StartsFrom(Instruction* key) {
    int64_t places = Places();
    for (size_t i = 0; i < started_.size(); ++i) {
      const int64_t size = sizes_[started_[i]];
      places /= std::max<int64_t>(size, 1);
      Instruction* start = key;
      if (i + 1 < started_.size()) start = Binary(Opcode::kDivide, start, Number(places, start));
      if (i > 0) start = Binary(Opcode::kRemainder, start, Number(size, start));
      starts_[i] = Reshaped(start, {count_, 1});
    }
  }

  Module& module_;
  const ScatterForm form_;
  SharedRuns* const runs_;
  IntList sizes_, started_, window_;
  int64_t count_;
  std::vector<Instruction*> starts_, updates_;
};

// Sums that a type holds exactly are the same in any order, and those of s32 are, too: f32 counts up to 2^24. Not where
// the array is so large that to convert it takes longer than to sort the updates.
bool SumsWholeNumbers(const Instruction& scatter) {
  constexpr int64_t kMostPerUpdate = 64;
  const int arrays = scatter.operand_count() / 2;
  const ElementType type = scatter.operand(0)->shape().element_type();
  const Instruction &array = *scatter.operand(0), &updates = *scatter.operand(2);
  if (arrays != 1 || !IsFloating(type) || BitWidth(type) < 16 || OperationOf(scatter, 0) != Opcode::kAdd) return false;
  if (array.shape().ElementCount() > kMostPerUpdate * updates.shape().ElementCount()) return false;
  if (array.shape().IsDynamic() || updates.shape().IsDynamic()) return false;
  const std::optional<int64_t> before = WholeBound(array), each = WholeBound(updates);
  if (!before || !each || updates.shape().element_type() != type) return false;
  const int64_t most = std::min<int64_t>(LastExactWhole(type), (int64_t{1} << 31) - 1);
  return *before <= most && *each <= (most - *before) / ScatterForm(scatter).count;
}

Instruction* OfWholeNumbers(Module& module, Computation& computation, Instruction* scatter) {
  const Shape& array = scatter->operand(0)->shape();
  Expansion whole(computation, scatter);
  Instruction* const sums = whole.Add(
      Opcode::kScatter, Shape(kS32, SizesOf(array)),
      {whole.Converted(scatter->operand(0), kS32), scatter->operand(1), whole.Converted(scatter->operand(2), kS32)},
      scatter->attributes<ScatterAttributes>(), {AddCombiner(module, Opcode::kAdd, kS32)});
  return whole.Converted(sums, array.element_type());
}

// All its elements are the same, whatever that is.
bool IsOneValue(const Instruction& value) {
  using enum Opcode;
  const Instruction* i = &value;
  for (; i->shape().ElementCount() > 1; i = i->operand(0)) {
    if (!IsAnyOf(i->opcode(), kBroadcast, kReshape, kTranspose, kCopy, kConvert, kSlice)) return false;
  }
  return true;
}

bool HasOneValue(const Instruction& scatter) {
  const int arrays = scatter.operand_count() / 2;
  for (int k = 0; k < arrays; ++k) {
    if (!IsOneValue(*scatter.operand(arrays + 1 + k))) return false;
  }
  return true;
}

// Updates that write the same wherever they meet are applied as if they did not.
Instruction* OfOneValue(Computation& computation, Instruction* scatter) {
  auto attributes = scatter->attributes<ScatterAttributes>();
  attributes.unique_indices = true;
  const std::vector<Instruction*> operands(scatter->operands().begin(), scatter->operands().end());
  return Expansion(computation, scatter)
      .Add(Opcode::kScatter, scatter->shape(), operands, attributes, {scatter->called(0)});
}

// Indices are 32-bit on devices.
bool MayBeSorted(const Instruction& scatter) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  const int64_t updates = scatter.operand(scatter.operand_count() - 1)->shape().ElementCount();
  return updates > 0 && updates <= kMost && scatter.operand(0)->shape().ElementCount() <= kMost;
}

// Which scatters ask for the starts of their runs: those of a loop that are sorted by indices that stay the same in it,
// and then the others of the same indices too. Before a loop the search is three dispatches, which one use is not
// worth.
class RunStartUsers {
 public:
  RunStartUsers(const std::vector<Computation*>& computations, const ScatterTarget& target) : target_(target) {
    std::set<const Computation*> bodies;
    for (const Computation* computation : computations) {
      for (const auto& i : computation->instructions()) {
        if (i->opcode() == Opcode::kWhile) bodies.insert(i->called(1));
      }
    }
    for (const Computation* computation : bodies) {
      std::map<Key, std::vector<const Instruction*>> same;
      for (const auto& i : computation->instructions()) {
        if (i->opcode() == Opcode::kScatter && MayTake(*i)) same[KeyOf(*i)].push_back(i.get());
      }
      for (const auto& [key, scatters] : same) {
        const bool sorts = std::ranges::any_of(scatters, [this](const Instruction* i) { return IsSorted(*i); });
        if (sorts && Stays(*scatters[0]->operand(1))) Share(scatters);
      }
    }
  }

  // Null: it does not. Asked once: an instruction that takes its place may have its address.
  SharedRuns* Take(const Instruction* scatter) {
    const auto user = users_.extract(scatter);
    return user ? user.mapped() : nullptr;
  }

 private:
  void Share(const std::vector<const Instruction*>& scatters) {
    SharedRuns& runs = *runs_.emplace_back(std::make_unique<SharedRuns>());
    for (const Instruction* scatter : scatters) {
      runs.in_parts |= AddsInParts(*scatter);
      users_.emplace(scatter, &runs);
    }
  }

  // The indices, the place of their vectors, and how each window's place is numbered.
  using Key = std::tuple<const Instruction*, int64_t, std::vector<std::tuple<int64_t, int64_t, int64_t>>>;

  bool MayTake(const Instruction& scatter) const {
    if (scatter.operand_count() != 3 || !SingleOperation(*scatter.called(0)) || !MayBeSorted(scatter)) return false;
    if (TouchesLiveSizes(scatter) || ScatterForm(scatter).can_overlap || !MayGoByPlaces(scatter, target_)) return false;
    const ScatterWay way = WayOf(scatter, target_);
    return way == ScatterWay::kAtomic || way == ScatterWay::kUnordered;
  }
  // Whatever the others do.
  bool IsSorted(const Instruction& scatter) const {
    return WayOf(scatter, target_) == ScatterWay::kUnordered && !SumsWholeNumbers(scatter);
  }

  static Key KeyOf(const Instruction& scatter) {
    const ScatterForm form(scatter);
    Key key{scatter.operand(1), scatter.attributes<ScatterAttributes>().index_vector_dim, {}};
    for (size_t d = 0; d < form.index_of.size(); ++d) {
      if (form.index_of[d] < 0 && form.batch_of[d] < 0) continue;
      const int64_t size = scatter.operand(0)->shape().dimension(d);
      std::get<2>(key).emplace_back(form.index_of[d], form.batch_of[d], size);
    }
    return key;
  }

  // The same in every trip of the loop whose body it is in.
  bool Stays(const Instruction& value) {
    const auto [known, fresh] = stays_.try_emplace(&value, false);
    if (!fresh) return known->second;
    const int64_t element = value.opcode() == Opcode::kGetTupleElement ? StateElement(value) : -1;
    const bool stays =
        element >= 0 ? PassesOn(*value.parent(), element)
                     : value.opcode() != Opcode::kParameter && !value.HasControlEdges() && !effects_.Of(value) &&
                           std::ranges::all_of(value.operands(), [this](const Instruction* i) { return Stays(*i); });
    return stays_[&value] = stays;
  }

  const ScatterTarget target_;
  SideEffects effects_;
  std::map<const Instruction*, bool> stays_;
  std::vector<std::unique_ptr<SharedRuns>> runs_;
  std::map<const Instruction*, SharedRuns*> users_;
};

}  // namespace

bool ExpandScatters(Module& module, const TargetInfo& target) {
  const ScatterTarget scatters{target.accesses_by_lane, target.wide_atomics};
  const std::vector<Computation*> computations = ControlComputations(module);
  std::optional<RunStartUsers> users;
  if (target.fusion) users.emplace(computations, scatters);
  const bool changed =
      ExpandEach(computations, [&](Computation& computation, Instruction* instruction) -> Instruction* {
        if (instruction->opcode() != Opcode::kScatter) return nullptr;
        if (SharedRuns* const runs = users ? users->Take(instruction) : nullptr) {
          OrderedScatter ordered(module, computation, instruction, runs);
          const bool integers =
              IsInteger(instruction->shape().element_type()) && OperationOf(*instruction, 0) == Opcode::kAdd;
          const bool counts = HasOneValue(*instruction) && (integers || SumsWholeNumbers(*instruction));
          return counts ? ordered.Counts() : ordered.Expand();
        }
        if (WayOf(*instruction, scatters) != ScatterWay::kUnordered || !MayBeSorted(*instruction)) return nullptr;
        if (Replaces(*instruction) && HasOneValue(*instruction)) return OfOneValue(computation, instruction);
        if (SumsWholeNumbers(*instruction)) return OfWholeNumbers(module, computation, instruction);
        return OrderedScatter(module, computation, instruction, nullptr).Expand();
      });
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
