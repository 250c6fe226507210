// ragged-dot and scaled-dot as dots of operands that are gathered, masked or scaled where they are read; dots with an
// algorithm as dots of what it rounds operands to.
#include <algorithm>

#include "core/host/ranges.h"
#include "core/maps/dot_sides.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/dot_algorithm.h"
#include "core/numerics/reducer_facts.h"
#include "core/ops/op_support.h"
#include "core/ops/ops.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

class DotExpansion : protected Expansion {
 public:
  using Expansion::Expansion;

 protected:
  // A dot of the instruction's result type; its shape is [batch ..., free of lhs ..., free of rhs ...].
  Instruction* DotOf(Instruction* lhs, Instruction* rhs, const DotAttributes& attributes) {
    return DotOf(lhs, rhs, attributes, instruction().shape().element_type());
  }
  Instruction* DotOf(Instruction* lhs, Instruction* rhs, const DotAttributes& attributes, ElementType type) {
    Instruction* const dot = Add(Opcode::kDot, Shape(type), {lhs, rhs}, attributes);
    const DotSide left = SideOf(*dot, 0);
    IntList sizes = left.batch.sizes;
    for (const DotSide& side : {left, SideOf(*dot, 1)})
      sizes.insert(sizes.end(), side.free.sizes.begin(), side.free.sizes.end());
    dot->mutable_shape() = Shape(type, sizes);
    return dot;
  }
};

// A number rounded to tf32 is the sum of two of bf16, of its first eight bits and of the other three, so that four
// exact products make a product of tf32.
constexpr DotAlgorithm kTf32ByHalves = {"", "bf16", ElementType::kBF16, ElementType::kF32, 4};

// As core/numerics/dot_algorithm.h says, or by what is no less accurate where the target is free to.
class AlgorithmDot : private DotExpansion {
 public:
  AlgorithmDot(Computation& computation, Instruction* dot, const DotAlgorithm& algorithm, const TargetInfo& target)
      : DotExpansion(computation, dot),
        target_(target),
        algorithm_(algorithm),
        plain_(dot->attributes<DotAttributes>()) {
    plain_.algorithm.clear();
  }

  Instruction* Expand() {
    const ElementType result = instruction().shape().element_type();
    // Results narrower than the sums are rounded once, by the dot.
    const bool narrow = IsFloating(result) && BitWidth(result) < BitWidth(algorithm_.sum);
    const ElementType sum = narrow ? result : algorithm_.sum;
    Choose();
    const std::vector<Instruction*> lhs = PartsOf(instruction().operand(0)), rhs = PartsOf(instruction().operand(1));
    if (lhs.size() == 1) return Converted(DotOf(lhs[0], rhs[0], plain_, sum), result);
    // The small ones first.
    Instruction* rest = nullptr;
    const int parts = algorithm_.parts();
    for (int place = 2 * (parts - 1); place > 0; --place) {
      for (int i = std::min(place, parts - 1); i >= 0 && place - i < parts; --i) {
        if (!algorithm_.Multiplies(i, place - i)) continue;
        Instruction* const product = DotOf(lhs[i], rhs[place - i], plain_, algorithm_.sum);
        rest = rest == nullptr ? product : Plus(rest, product);
      }
    }
    Instruction* const counts = Compare(ComparisonDirection::kEq, rest, rest);
    rest = Select(counts, rest, Zeros(rest->shape()));
    return Converted(Plus(rest, DotOf(lhs[0], rhs[0], plain_, algorithm_.sum)), result);
  }

 private:
  enum class Parts : uint8_t {
    kSaid,   // as the algorithm says
    kWhole,  // none: the operands, integers and f64 as f32
    kHalves  // of tf32
  };

  // What units make of bf16 parts where they make so many products in the time of one of f32, and else that one: each
  // of several parts costs as much there. Integers that products come to are kept, as the algorithm makes them.
  void Choose() {
    const bool several = algorithm_.parts() > 1;
    if (!target_.free_dot_algorithms || !(several || algorithm_.is_tf32())) return;
    if (!IsFloating(instruction().shape().element_type())) return;
    if (IsNarrow(0) && IsNarrow(1)) {
      parts_ = Parts::kWhole;  // they have no more bits than are kept
    } else if (!several && UnitsPayFor(kTf32ByHalves)) {
      algorithm_ = kTf32ByHalves;
      parts_ = Parts::kHalves;
    } else if (several) {
      if (algorithm_.is_tf32()) algorithm_ = *FindDotAlgorithm("dot_bf16_bf16_f32_x6");
      if (!UnitsPayFor(algorithm_)) parts_ = Parts::kWhole;
    }
  }
  // f16 and less have no more bits than tf32, or two parts of bf16.
  bool IsNarrow(int operand) const { return IsNarrowFloat(instruction().operand(operand)->shape().element_type()); }
  bool UnitsPayFor(const DotAlgorithm& algorithm) const {
    constexpr double kForJoiningThem = 1.2;
    const int64_t work = instruction().shape().ElementCount() * AccumulationLength(instruction());
    return target_.matrix_terms.contains(ElementType::kBF16) && !target_.wide_accumulation &&
           algorithm.products * kForJoiningThem <= target_.matrix_rate && work >= target_.matrix_parts_least_work &&
           SuitsMatrixUnits(instruction());
  }

  Instruction* Rounded(Instruction* value) {
    if (!algorithm_.is_tf32()) return Converted(value, algorithm_.operand);
    return RoundedToTf32(value);
  }
  Instruction* RoundedToTf32(Instruction* value) {
    Instruction* const f32 = Converted(value, ElementType::kF32);
    return Add(Opcode::kReducePrecision, f32->shape(), {f32}, ReducePrecisionAttributes{8, kTf32MantissaBits});
  }
  // The first is cut off rather than rounded: it is no larger, and finite where the number is. The rest of an infinity
  // is NaN.
  std::vector<Instruction*> HalvesOf(Instruction* operand) {
    Instruction* const value = RoundedToTf32(operand);
    const Shape words(ElementType::kU32, SizesOf(value->shape()));
    Instruction* const bits = Add(Opcode::kBitcastConvert, words, {value});
    Instruction* const mask = Spread(Number(ElementType::kU32, 0xFFFF0000), SizesOf(words));
    Instruction* const first = Add(Opcode::kBitcastConvert, value->shape(), {And(bits, mask)});
    return {Converted(first, ElementType::kBF16), Converted(Minus(value, first), ElementType::kBF16)};
  }
  // Infinite only where the value is.
  Instruction* Limited(Instruction* rounded, Instruction* value) {
    const double largest = LargestOf(algorithm_);
    const ElementType type = rounded->shape().element_type();
    auto number = [&](double x) { return Spread(Constant(Literal::Scalar(type, x)), SizesOf(value->shape())); };
    Instruction* const limited = Smaller(Larger(rounded, number(-largest)), number(largest));
    Instruction* const finite = Add(Opcode::kIsFinite, Shape(ElementType::kPred, SizesOf(value->shape())), {value});
    return Add(Opcode::kSelect, rounded->shape(), {finite, limited, rounded});
  }
  std::vector<Instruction*> PartsOf(Instruction* operand) {
    if (algorithm_.takes_f8()) return {operand};
    if (parts_ == Parts::kHalves) return HalvesOf(operand);
    if (parts_ == Parts::kWhole)
      return {IsNarrowFloat(operand->shape().element_type()) ? operand : Converted(operand, ElementType::kF32)};
    if (IsInteger(operand->shape().element_type()))
      operand = Converted(operand, algorithm_.operand == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32);
    if (algorithm_.parts() == 1) return {Rounded(operand)};
    std::vector<Instruction*> parts;
    Instruction* rest = Converted(operand, ElementType::kF32);
    for (int p = 0; p < algorithm_.parts(); ++p) {
      if (p > 0) rest = Minus(rest, Converted(parts.back(), ElementType::kF32));
      parts.push_back(Limited(Rounded(rest), rest));
    }
    return parts;
  }

  const TargetInfo& target_;
  DotAlgorithm algorithm_;
  Parts parts_ = Parts::kSaid;
  DotAttributes plain_;
};

class ScaledDot : private DotExpansion {
 public:
  using DotExpansion::DotExpansion;

  Instruction* Expand() {
    ElementType type = instruction().shape().element_type();
    for (const Instruction* operand : instruction().operands()) {
      type = DotSumType(operand->shape().element_type(), type, ElementType::kF32);
    }
    return DotOf(Scaled(0, type), Scaled(1, type), instruction().attributes<DotAttributes>());
  }

 private:
  // Each dimension is cut into as many blocks as the scales have places.
  Instruction* Scaled(int k, ElementType type) {
    Instruction* const array = Converted(instruction().operand(k), type);
    Instruction* const scales = Converted(instruction().operand(2 + k), type);
    IntList blocks, places;
    for (int d = 0; d < array->shape().rank(); ++d) {
      const int64_t count = scales->shape().dimension(d), size = array->shape().dimension(d);
      places.push_back(blocks.size());
      blocks.push_back(count);
      blocks.push_back(count == 0 ? 0 : size / count);
    }
    Instruction* const spread = Reshaped(Broadcast(scales, blocks, places), SizesOf(array->shape()));
    return Times(array, spread);
  }
};

class RaggedDot : private DotExpansion {
 public:
  RaggedDot(Module& module, Computation& computation, Instruction* dot)
      : DotExpansion(computation, dot),
        module_(module),
        plain_(dot->attributes<DotAttributes>()),
        lhs_(dot->operand(0)),
        rhs_(dot->operand(1)),
        ragged_(plain_.lhs_ragged_dims[0]),
        rows_(lhs_->shape().dimension(ragged_)) {
    if (!plain_.rhs_group_dims.empty()) group_dim_ = plain_.rhs_group_dims[0];
    plain_.lhs_ragged_dims.clear();
    plain_.rhs_group_dims.clear();
    lists_ = SizesOf(dot->operand(2)->shape());
    groups_ = lists_.back();
    lists_.pop_back();
  }

  // Null where the run will refuse the group sizes.
  Instruction* Expand() {
    const bool batch = Contains(plain_.lhs_batch_dims, ragged_);
    if (!lists_.empty()) {
      IntList sizes = Transformed(plain_.lhs_batch_dims, [&](const int64_t d) { return lhs_->shape().dimension(d); });
      if (batch || sizes != lists_) return nullptr;
    }
    if (groups_ == 0 || rows_ == 0 || instruction().shape().ElementCount() == 0) return Zeros(instruction().shape());
    FindGroups();
    if (batch) return KeepingRows(DotOf(lhs_, rhs_, plain_), PlaceIn(plain_.lhs_batch_dims, ragged_));
    return Contains(plain_.lhs_contracting_dims, ragged_) ? ByGroup() : ByRow();
  }

 private:
  static int64_t PlaceIn(const IntList& list, int64_t value) { return std::ranges::find(list, value) - list.begin(); }

  Instruction* Sum(Instruction* value, int64_t dimension) {
    if (sum_ == nullptr) sum_ = AddCombiner(module_, Opcode::kAdd, ElementType::kS32);
    return Reduce(value, Zero(ElementType::kS32), {dimension}, sum_);
  }

  // ends: [lists ..., groups], the row behind each group; group_of: [lists ..., rows]: how many groups end before a
  // row.
  void FindGroups() {
    const auto list_rank = static_cast<int64_t>(lists_.size());
    IntList pairs = lists_;
    pairs.insert(pairs.end(), {groups_, groups_});
    IntList at = UpTo(list_rank);
    at.push_back(list_rank + 1);
    Instruction* const sizes = Broadcast(Converted(instruction().operand(2), ElementType::kS32), pairs, at);
    Instruction* const before = Compare(ComparisonDirection::kLe, Iota(ElementType::kS32, pairs, list_rank + 1),
                                        Iota(ElementType::kS32, pairs, list_rank));
    Instruction* const counted = Select(before, sizes, Zeros(sizes->shape()));
    Instruction* const ends = Sum(counted, list_rank + 1);
    IntList grid = lists_;
    grid.insert(grid.end(), {rows_, groups_});
    Instruction* const ended =
        Compare(ComparisonDirection::kLe, Broadcast(ends, grid, at), Iota(ElementType::kS32, grid, list_rank));
    group_of_ = Sum(Converted(ended, ElementType::kS32), list_rank + 1);
  }

  // The group of each row (and list of groups) over an array; `row` is where the rows are, the lists are the batches.
  Instruction* GroupsOver(const IntList& sizes, const IntList& batch_dims, int64_t row) {
    IntList places(batch_dims.begin(), batch_dims.begin() + static_cast<std::ptrdiff_t>(lists_.size()));
    places.push_back(row);
    // Dimensions of a broadcast may come in any order.
    return Broadcast(group_of_, sizes, places);
  }
  Instruction* Count(const Instruction* like) { return SpreadAs(Number(ElementType::kS32, groups_), like->shape()); }

  // Rows of no group are zero; the batches come first in the result.
  Instruction* KeepingRows(Instruction* result, int64_t row) {
    Instruction* const group = GroupsOver(SizesOf(result->shape()), UpTo(std::ssize(lists_)), row);
    Instruction* const kept = Compare(ComparisonDirection::kLt, group, Count(group));
    return Select(kept, result, Zeros(result->shape()));
  }

  // Each row is a batch of its own and meets the matrix of its group.
  Instruction* ByRow() {
    const IntList rhs_sizes = SizesOf(rhs_->shape());
    const auto list_rank = static_cast<int64_t>(lists_.size());
    GatherAttributes gather;
    gather.slice_sizes = rhs_sizes;
    gather.slice_sizes[group_dim_] = 1;
    gather.collapsed_slice_dims = gather.start_index_map = {group_dim_};
    gather.index_vector_dim = list_rank + 1;
    // [lists ..., rows, what is left of rhs ...]
    IntList sizes = lists_;
    sizes.push_back(rows_);
    std::vector<int64_t> place(rhs_sizes.size(), -1);  // of a dimension of rhs
    for (size_t b = 0; b < lists_.size(); ++b) {
      const int64_t d = plain_.rhs_batch_dims[b];
      gather.slice_sizes[d] = 1;
      gather.operand_batching_dims.push_back(d);
      gather.start_indices_batching_dims.push_back(b);
      place[d] = static_cast<int64_t>(b);
    }
    for (int64_t d = 0; d < static_cast<int64_t>(rhs_sizes.size()); ++d) {
      if (d == group_dim_ || place[d] >= 0) continue;
      place[d] = static_cast<int64_t>(sizes.size());
      gather.offset_dims.push_back(sizes.size());
      sizes.push_back(rhs_sizes[d]);
    }
    std::ranges::sort(gather.operand_batching_dims);
    if (list_rank > 1 &&
        !std::ranges::is_sorted(plain_.rhs_batch_dims.begin(), plain_.rhs_batch_dims.begin() + list_rank)) {
      return nullptr;
    }
    Instruction* const matrices =
        Add(Opcode::kGather, Shape(rhs_->shape().element_type(), sizes), {rhs_, group_of_}, gather);
    DotAttributes by_row = plain_;
    for (int64_t& d : by_row.rhs_batch_dims) d = place[d];
    for (int64_t& d : by_row.rhs_contracting_dims) d = place[d];
    by_row.lhs_batch_dims.push_back(ragged_);
    by_row.rhs_batch_dims.push_back(list_rank);
    Instruction* const result = DotOf(lhs_, matrices, by_row);
    // The rows go back to their place among lhs's free dimensions.
    const auto batches = static_cast<int64_t>(plain_.lhs_batch_dims.size());
    const int64_t row = batches + PlaceIn(SideOf(instruction(), 0).free.dimensions, ragged_);
    IntList order;
    for (int64_t d = 0; d < result->shape().rank(); ++d) {
      if (d != batches) order.push_back(d);
    }
    order.insert(order.begin() + row, batches);
    return KeepingRows(Transposed(result, order), row);
  }

  // Both operands once for each group, zero outside of it: what is infinite in another group stays there.
  Instruction* ByGroup() {
    DotAttributes by_group = plain_;
    for (IntList* dims : {&by_group.lhs_batch_dims, &by_group.rhs_batch_dims, &by_group.lhs_contracting_dims,
                          &by_group.rhs_contracting_dims}) {
      for (int64_t& d : *dims) ++d;
    }
    const int64_t at = PlaceIn(plain_.lhs_contracting_dims, ragged_);
    Instruction* const lhs = InGroups(lhs_, plain_.lhs_batch_dims, ragged_);
    Instruction* const rhs = InGroups(rhs_, plain_.rhs_batch_dims, plain_.rhs_contracting_dims[at]);
    by_group.lhs_batch_dims.insert(by_group.lhs_batch_dims.begin(), 0);
    by_group.rhs_batch_dims.insert(by_group.rhs_batch_dims.begin(), 0);
    return DotOf(lhs, rhs, by_group);
  }
  Instruction* InGroups(Instruction* array, IntList batch_dims, int64_t row) {
    IntList sizes = SizesOf(array->shape()), places;
    sizes.insert(sizes.begin(), groups_);
    for (int64_t d = 0; d < array->shape().rank(); ++d) places.push_back(d + 1);
    for (int64_t& d : batch_dims) ++d;
    Instruction* const all = Broadcast(array, sizes, places);
    Instruction* const group = GroupsOver(sizes, batch_dims, row + 1);
    Instruction* const own = Compare(ComparisonDirection::kEq, group, Iota(ElementType::kS32, sizes, 0));
    return Select(own, all, Zeros(all->shape()));
  }

  Module& module_;
  DotAttributes plain_;
  Instruction *lhs_, *rhs_;
  int64_t ragged_, rows_, group_dim_ = 0, groups_ = 0;
  IntList lists_;  // the dimensions of the group sizes before the last: one list for each batch
  Instruction* group_of_ = nullptr;
  Computation* sum_ = nullptr;
};

bool ExpandDots(Module& module, const TargetInfo& target, const std::function<bool(const Instruction&)>& which) {
  return ExpandEach(module, [&](Computation& computation, Instruction* instruction) -> Instruction* {
    if (!which(*instruction)) return nullptr;
    if (instruction->opcode() == Opcode::kScaledDot) return ScaledDot(computation, instruction).Expand();
    if (instruction->opcode() == Opcode::kDot) {
      const DotAlgorithm* const algorithm = FindDotAlgorithm(instruction->attributes<DotAttributes>().algorithm);
      return algorithm == nullptr ? nullptr : AlgorithmDot(computation, instruction, *algorithm, target).Expand();
    }
    if (instruction->opcode() != Opcode::kRaggedDot) return nullptr;
    return RaggedDot(module, computation, instruction).Expand();
  });
}

}  // namespace

bool ExpandDots(Module& module, const TargetInfo& target) {
  return ExpandDots(module, target, [](const Instruction&) { return true; });
}

bool ExpandDots(Module& module, const std::function<bool(const Instruction&)>& which) {
  return ExpandDots(module, {}, which);
}

}  // namespace VXLA_NAMESPACE
