// Scatters whose updates can meet in any order. Those that replace what was there by one value need no order, nor do
// sums of floats that are made of integers (fixed_sum.h), where that takes less time than to put the updates in order.
// Others that replace: the last window of each place is found by a scatter of the windows' numbers, and the others are
// dropped. Others: windows are sorted by where they start, so that runs of equal starts are combined in their order.
// The sort asks for the indices alone: it leaves loops in which these stay the same, and scatters of the same indices
// share it. There so does where the runs begin, which elements otherwise find by halving each time. Scatters of the
// same indices that need no order take theirs from it too, and counts are the lengths of runs.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "core/ceil_divide.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/expand/fixed_sum.h"
#include "core/passes/expand/scatter_windows.h"

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

class OrderedScatter : private ScatterWindows {
 public:
  // `runs`: where it takes the starts of its runs, if so.
  OrderedScatter(Module& module, Computation& computation, Instruction* scatter, SharedRuns* runs)
      : ScatterWindows(computation, scatter), module_(module), runs_(runs) {}

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
    std::vector<Instruction*> operands;
    for (int k = 0; k < form_.arrays; ++k) operands.push_back(instruction().operand(k));
    if (runs_ != nullptr) {
      operands.push_back(RunStarts());
    } else {
      if (sorted != nullptr) StartsFrom(Element(sorted, 0));
      operands.push_back(Concatenated(starts_, 1));
    }
    for (Instruction* update : updates_) operands.push_back(order == nullptr ? update : InOrder(update, order));
    for (size_t w = 0; w < window_.size(); ++w) attributes.update_window_dims.push_back(static_cast<int64_t>(w) + 1);
    for (int64_t d = 0; d < static_cast<int64_t>(sizes_.size()); ++d) {
      const bool windowed = !form_.can_overlap && form_.window_of[static_cast<size_t>(d)] >= 0;
      if (!windowed) attributes.inserted_window_dims.push_back(d);
    }
    attributes.scatter_dims_to_operand_dims = started_;
    attributes.index_vector_dim = 1;
    Instruction* const result =
        Add(Opcode::kScatter, instruction().shape(), std::move(operands), attributes, {instruction().called(0)});
    result->mutable_notes().run_starts = runs_ != nullptr;
    return result;
  }

  // Of integers that are all one: so many times that as each run is long.
  Instruction* Counts() {
    Instruction* const operand = instruction().operand(0);
    return Plus(operand, TimesLengths(instruction().operand(2), operand->shape().element_type()));
  }
  // Of floats whose sums one integer holds.
  Instruction* Counts(const FixedSum& sum) {
    Instruction* const each = FixedTermsOf(*this, sum, instruction().operand(2)).value;
    IntList sizes = sizes_;
    sizes.insert(sizes.begin(), 1);
    return WithFixedSum(*this, sum, Reshaped(TimesLengths(each, sum.sum), sizes), instruction().operand(0));
  }

 private:
  Instruction* TimesLengths(Instruction* each, ElementType type) {
    ReadStarts();
    Instruction* const starts = RunStarts();
    const int64_t places = Places();
    Instruction* const lengths = Minus(Slice(starts, 0, 1, places + 1), Slice(starts, 0, 0, places));
    IntList by_place;
    for (const int64_t d : started_) by_place.push_back(sizes_[static_cast<size_t>(d)]);
    Instruction* const counts = Broadcast(Reshaped(Converted(lengths, type), by_place), sizes_, started_);
    for (int64_t d = 0; d < each->shape().rank(); ++d) each = Slice(each, d, 0, 1);
    return Times(counts, Spread(Converted(Reshaped(each, {}), type), sizes_));
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
    Instruction* const none = Spread(Number(kS32, -1), places);
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
    Computation* const less = AddTopKOrder(module_, kS32, false, "less");
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
        if (std::ranges::find(dimensions, 0) == dimensions.end()) return value;
        if (dimensions.front() != 0) break;
        return Add(value->CloneWith({InOrder(value->operand(0), order)}));
      }
      case Opcode::kGather: {
        const auto& a = value->attributes<GatherAttributes>();
        const bool by_row = a.operand_batching_dims.empty() && a.index_vector_dim == 1 &&
                            value->operand(1)->shape().rank() <= 2 &&
                            std::ranges::find(a.offset_dims, 0) == a.offset_dims.end();
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
      const int64_t size = sizes_[static_cast<size_t>(started_[i])];
      places /= std::max<int64_t>(size, 1);
      Instruction* start = key;
      if (i + 1 < started_.size()) start = Binary(Opcode::kDivide, start, Number(places, start));
      if (i > 0) start = Binary(Opcode::kRemainder, start, Number(size, start));
      starts_[i] = Reshaped(start, {count_, 1});
    }
  }

  Module& module_;
  SharedRuns* const runs_;
};

// How a scatter adds up floats as integers (fixed_sum.h), where it may.
std::optional<FixedSum> IntegersOf(const Instruction& scatter) {
  const Shape &array = scatter.operand(0)->shape(), &updates = scatter.operand(scatter.operand_count() - 1)->shape();
  if (scatter.operand_count() != 3 || !IsFloating(array.element_type()) || array.IsDynamic() || updates.IsDynamic())
    return std::nullopt;
  if (OperationOf(scatter, 0) != Opcode::kAdd || updates.element_type() != array.element_type()) return std::nullopt;
  const ScatterForm form(scatter);
  // Each element of a window that overlaps itself is one more that may meet others.
  return FixedSumOf(*scatter.operand(2), form.can_overlap ? updates.ElementCount() : form.count);
}

// Whether it takes less time than to sort the updates, in bytes that a GPU moves meanwhile. Sorts take so much for each
// window (on an H100 2^24 keys take 1.31 ms, at 3.3 TB/s), and at least a dispatch more. Integers are filled, changed
// and read, and atomics of one address wait for each other, a ns each. Dispatches and atomics: not measured yet.
// Software drivers have no dear dispatches, so arrays that are larger than a sort's share may have cost so little
// alone.
bool IsSoonerAsIntegers(const Instruction& scatter, const FixedSum& sum, int64_t sharing) {
  constexpr int64_t kSmall = 1 << 18, kDispatch = 1 << 23, kSortOfWindow = 400, kUpdateInOrder = 8;
  constexpr int64_t kAtomic = 2 * 16, kAtomicWait = 2 * 3300, kInteger = 2 * 8;
  constexpr int64_t kMostIntegers = int64_t{1} << 30, kLongWindow = 16;  // scatter_form.cc
  constexpr int64_t kMostPerUpdate = 64;
  const int64_t count = ScatterForm(scatter).count;
  const int64_t elements = std::max<int64_t>(scatter.operand(0)->shape().ElementCount(), 1);
  const int64_t updates = scatter.operand(2)->shape().ElementCount();
  if (sum.sum == kS32) return elements <= kMostPerUpdate * updates;
  if (std::max(elements * sum.places(), updates) > kMostIntegers || updates > kLongWindow * count) return false;
  const int64_t in_order = kSortOfWindow / sharing * count + kUpdateInOrder * updates;
  return kAtomic * updates + kInteger * sum.places() * elements <= kSmall + in_order &&
         kAtomicWait * (updates / elements) <= kDispatch + in_order;
}

// A scatter of integers, whose updates need no order.
class FixedScatter : private ScatterWindows {
 public:
  FixedScatter(Module& module, Computation& computation, Instruction* scatter, const FixedSum& sum)
      : ScatterWindows(computation, scatter), module_(module), sum_(sum) {}

  Instruction* Expand() {
    Instruction* const sums = sum_.places() == 1 ? InOnes() : InSeveral();
    IntList sizes = sizes_;
    sizes.insert(sizes.begin(), sum_.places());
    return WithFixedSum(*this, sum_, Reshaped(sums, sizes), instruction().operand(0));
  }

 private:
  Instruction* Scattered(IntList sizes, Instruction* indices, Instruction* values,
                         const ScatterAttributes& attributes) {
    const Shape shape(sum_.sum, std::move(sizes));
    return Add(Opcode::kScatter, shape, {Zeros(shape), indices, values}, attributes,
               {AddCombiner(module_, Opcode::kAdd, sum_.sum)});
  }
  Instruction* InOnes() {
    return Scattered(sizes_, instruction().operand(1), FixedTermsOf(*this, sum_, instruction().operand(2)).value,
                     instruction().attributes<ScatterAttributes>());
  }
  // The integers of one place lie apart, those of neighbours side by side.
  Instruction* InSeveral() {
    ReadStarts();
    ReadUpdates();
    TakeWindowsApart();
    const int64_t places = Places();
    const auto [place, value] = FixedTermsOf(*this, sum_, updates_[0]);
    Instruction* const key = Keys();
    Instruction* const at = Plus(Times(place, Number(places, place)), key);
    Instruction* const outside = Compare(ComparisonDirection::kEq, key, Number(places, key));
    Instruction* const index = Select(outside, Number(-1, at), at);
    ScatterAttributes attributes;
    attributes.inserted_window_dims = {0};
    attributes.scatter_dims_to_operand_dims = {0};
    attributes.index_vector_dim = 1;
    return Scattered({sum_.places() * places}, Reshaped(index, {count_, 1}), value, attributes);
  }

  Module& module_;
  const FixedSum sum_;
};

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
// worth. And which are sums of integers instead: not of several where they are sorted before a loop, whatever the
// device, so that devices give the same bits.
class ScatterChoices {
 public:
  ScatterChoices(const std::vector<Computation*>& computations, const ScatterTarget& target, bool shares_runs)
      : target_(target) {
    std::set<const Computation*> bodies;
    for (const Computation* computation : computations) {
      for (const auto& i : computation->instructions()) {
        if (i->opcode() == Opcode::kWhile) bodies.insert(i->called(1));
      }
    }
    for (const Computation* computation : computations) {
      std::map<Key, std::vector<const Instruction*>> same;
      for (const auto& i : computation->instructions()) {
        if (i->opcode() == Opcode::kScatter && MayBeSorted(*i) && !TouchesLiveSizes(*i)) {
          same[KeyOf(*i)].push_back(i.get());
        }
      }
      for (const auto& [key, scatters] : same) {
        const bool stays = bodies.contains(computation) && Stays(*std::get<0>(key));
        ChooseIntegers(scatters, stays);
        if (stays && shares_runs) ShareRuns(scatters);
      }
    }
  }

  // The sums of integers that it becomes. This and Take() are asked once: an instruction that takes its place may have
  // its address.
  std::optional<FixedSum> TakeIntegers(const Instruction* scatter) {
    const auto sum = integers_.extract(scatter);
    return sum ? std::optional(sum.mapped()) : std::nullopt;
  }

  // Null: it asks for none.
  SharedRuns* Take(const Instruction* scatter) {
    const auto user = users_.extract(scatter);
    return user ? user.mapped() : nullptr;
  }

 private:
  void ChooseIntegers(const std::vector<const Instruction*>& scatters, bool sorted_before) {
    const auto is_sorted = [this](const Instruction* i) { return WayOf(*i, target_) == ScatterWay::kUnordered; };
    const int64_t sharing = std::ranges::count_if(scatters, is_sorted);
    for (const Instruction* scatter : scatters) {
      if (!is_sorted(scatter)) continue;
      const std::optional<FixedSum> sum = IntegersOf(*scatter);
      if (!sum || (sorted_before && sum->sum != kS32) || !IsSoonerAsIntegers(*scatter, *sum, sharing)) continue;
      integers_.emplace(scatter, *sum);
    }
  }

  void ShareRuns(std::vector<const Instruction*> scatters) {
    std::erase_if(scatters, [this](const Instruction* i) { return !MayTake(*i); });
    if (!std::ranges::any_of(scatters, [this](const Instruction* i) { return IsSorted(*i); })) return;
    SharedRuns& runs = *runs_.emplace_back(std::make_unique<SharedRuns>());
    for (const Instruction* scatter : scatters) {
      runs.in_parts |= AddsInParts(*scatter);
      users_.emplace(scatter, &runs);
    }
  }

  // The indices, the place of their vectors, and how each window's place is numbered.
  using Key = std::tuple<const Instruction*, int64_t, std::vector<std::tuple<int64_t, int64_t, int64_t>>>;

  bool MayTake(const Instruction& scatter) const {
    if (scatter.operand_count() != 3 || !SingleOperation(*scatter.called(0))) return false;
    if (ScatterForm(scatter).can_overlap || !MayGoByPlaces(scatter, target_)) return false;
    if (integers_.contains(&scatter) && !HasOneValue(scatter)) return false;
    const ScatterWay way = WayOf(scatter, target_);
    return way == ScatterWay::kAtomic || way == ScatterWay::kUnordered;
  }
  // Whatever the others do.
  bool IsSorted(const Instruction& scatter) const {
    return WayOf(scatter, target_) == ScatterWay::kUnordered && !integers_.contains(&scatter);
  }

  static Key KeyOf(const Instruction& scatter) {
    const ScatterForm form(scatter);
    Key key{scatter.operand(form.arrays), scatter.attributes<ScatterAttributes>().index_vector_dim, {}};
    for (size_t d = 0; d < form.index_of.size(); ++d) {
      if (form.index_of[d] < 0 && form.batch_of[d] < 0) continue;
      const int64_t size = scatter.operand(0)->shape().dimension(static_cast<int>(d));
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
  std::map<const Instruction*, FixedSum> integers_;
};

}  // namespace

bool ExpandScatters(Module& module, const TargetInfo& target) {
  const ScatterTarget scatters{target.accesses_by_lane, target.wide_atomics};
  const std::vector<Computation*> computations = ControlComputations(module);
  ScatterChoices choices(computations, scatters, target.fusion);
  const bool changed =
      ExpandEach(computations, [&](Computation& computation, Instruction* instruction) -> Instruction* {
        if (instruction->opcode() != Opcode::kScatter) return nullptr;
        const std::optional<FixedSum> integers = choices.TakeIntegers(instruction);
        if (SharedRuns* const runs = choices.Take(instruction)) {
          OrderedScatter ordered(module, computation, instruction, runs);
          if (!HasOneValue(*instruction)) return ordered.Expand();
          if (integers) return ordered.Counts(*integers);
          const bool whole = IsInteger(instruction->shape().element_type());
          return whole && OperationOf(*instruction, 0) == Opcode::kAdd ? ordered.Counts() : ordered.Expand();
        }
        if (WayOf(*instruction, scatters) != ScatterWay::kUnordered || !MayBeSorted(*instruction)) return nullptr;
        if (Replaces(*instruction) && HasOneValue(*instruction)) return OfOneValue(computation, instruction);
        if (integers) return FixedScatter(module, computation, instruction, *integers).Expand();
        return OrderedScatter(module, computation, instruction, nullptr).Expand();
      });
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
