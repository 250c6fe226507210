#include <algorithm>
#include <array>
#include <optional>

#include "core/host/ranges.h"
#include "core/maps/dot_sides.h"
#include "core/passes/base/element_walk.h"
#include "core/passes/base/expansion.h"
#include "core/passes/products/attention.h"
#include "core/passes/products/products.h"

namespace VXLA_NAMESPACE {
namespace {

// Of each dimension of an array the dimension of the sum that it runs along; none: it has one element.
constexpr int64_t kNone = -1;

// Of one operand of a product, the dimensions that are summed over last.
struct ScoreTerm {
  Instruction* value = nullptr;
  IntList along;  // of its dimensions; of those summed over kNone
  IntList summed;
};

struct ScoreProduct {
  Instruction* dot = nullptr;
  std::array<ScoreTerm, 2> terms;
};

// What the dimensions of an operand of `i` run along, where those of `i` are known. Null: more than moves lies between.
std::optional<IntList> AlongOfOperand(const Instruction& i, const IntList& along) {
  const Shape& operand = i.operand(0)->shape();
  IntList result(static_cast<size_t>(operand.rank()), kNone);
  const IntList* dimensions = nullptr;
  if (i.opcode() == Opcode::kTranspose || i.opcode() == Opcode::kBroadcast) dimensions = &i.dimensions();
  if (i.opcode() == Opcode::kTranspose) {
    for (size_t d = 0; d < dimensions->size(); ++d) result[(*dimensions)[d]] = along[d];
    return result;
  }
  if (i.opcode() == Opcode::kBroadcast) {
    for (size_t d = 0; d < dimensions->size(); ++d) result[d] = along[(*dimensions)[d]];
    return result;
  }
  if (i.opcode() != Opcode::kReshape) return std::nullopt;
  // One that does no more than adding and dropping dimensions of one element.
  int to = 0;
  for (int from = 0; from < i.shape().rank(); ++from) {
    if (i.shape().dimension(from) == 1) continue;
    while (to < operand.rank() && operand.dimension(to) == 1) ++to;
    if (to == operand.rank() || operand.dimension(to) != i.shape().dimension(from)) return std::nullopt;
    result[to++] = along[from];
  }
  return result;
}

std::optional<ScoreProduct> ProductBehind(Instruction* i) {
  IntList along;
  for (int d = 0; d < i->shape().rank(); ++d) along.push_back(i->shape().dimension(d) == 1 ? kNone : d);
  for (; i->opcode() != Opcode::kDot; i = i->operand(0)) {
    const bool moves = IsAnyOf(i->opcode(), Opcode::kTranspose, Opcode::kBroadcast, Opcode::kReshape);
    if (!moves || i->users().size() != 1 || i->HasControlEdges()) return std::nullopt;
    std::optional<IntList> next = AlongOfOperand(*i, along);
    if (!next) return std::nullopt;
    along = *std::move(next);
  }
  if (!IsPlainProduct(*i) || i->users().size() != 1 || i->HasControlEdges()) return std::nullopt;
  ScoreProduct product{i, {}};
  size_t next = i->attributes<DotAttributes>().lhs_batch_dims.size();
  for (int k : {0, 1}) {
    ScoreTerm& term = product.terms[static_cast<size_t>(k)];
    const DotSide side = SideOf(*i, k);
    term.value = i->operand(k);
    term.along.assign(static_cast<size_t>(term.value->shape().rank()), kNone);
    term.summed = side.contracting.dimensions;
    for (size_t b = 0; b < side.batch.dimensions.size(); ++b) term.along[side.batch.dimensions[b]] = along[b];
    for (const int64_t d : side.free.dimensions) term.along[d] = along[next++];
  }
  return product;
}

class ScoreJoiner {
 public:
  ScoreJoiner(Computation& entry, Instruction* sum, const TargetInfo& target)
      : entry_(entry), sum_(sum), target_(target) {}

  void Join() {
    for (int first : {0, 1}) {
      const std::optional<ScoreProduct> a = ProductBehind(sum_->operand(first)),
                                        b = ProductBehind(sum_->operand(1 - first));
      if (!a || !b) return;
      if (Suits(*a, *b) && Saves(*a, *b)) return Replace(*a, *b);
    }
  }

 private:
  // Whether the first product has all dimensions of the sum, and which operand of the second goes with its first.
  bool Suits(const ScoreProduct& a, const ScoreProduct& b) {
    const auto &x = a.dot->attributes<DotAttributes>(), &y = b.dot->attributes<DotAttributes>();
    const ElementType type = sum_->shape().element_type();
    const bool same = x.operand_precision == y.operand_precision && x.algorithm == y.algorithm &&
                      a.dot->shape().element_type() == type && b.dot->shape().element_type() == type;
    if (!same) return false;
    shared_.clear();
    for (IntList& own : own_) own.clear();
    for (int64_t d = 0; d < sum_->shape().rank(); ++d) {
      if (sum_->shape().dimension(d) == 1) continue;
      const bool left = Contains(a.terms[0].along, d), right = Contains(a.terms[1].along, d);
      if (!left && !right) return false;
      (left && right ? shared_ : own_[left ? 0 : 1]).push_back(d);
    }
    for (int with : {0, 1}) {
      const auto goes = [&](int k) {
        const ScoreTerm& term = b.terms[k == 0 ? with : 1 - with];
        const ElementType of_a = a.terms[k].value->shape().element_type();
        return term.value->shape().element_type() == of_a && std::ranges::all_of(term.along, [&](int64_t d) {
                 return d == kNone || Contains(shared_, d) || Contains(own_[k], d);
               });
      };
      with_first_ = with;
      if (goes(0) && goes(1)) return true;
    }
    return false;
  }

  int64_t SizeOf(const IntList& dimensions) const {
    int64_t size = 1;
    for (int64_t d : dimensions) size *= sum_->shape().dimension(d);
    return size;
  }
  static int64_t DepthOf(const ScoreTerm& term) {
    int64_t depth = 1;
    for (int64_t d : term.summed) depth *= term.value->shape().dimension(d);
    return depth;
  }

  bool Saves(const ScoreProduct& a, const ScoreProduct& b) const {
    const int64_t rows = SizeOf(own_[0]), keys = SizeOf(own_[1]);
    return rows * keys >= (rows + keys) * (DepthOf(a.terms[0]) + DepthOf(b.terms[0]));
  }

  // The operand with the dimensions of the sum that it may have, in order, and what is summed over last.
  Instruction* InOrder(Expansion& at, const ScoreTerm& term, const IntList& order) const {
    IntList permutation, sizes, whole, kept;
    for (size_t k = 0; k < order.size(); ++k) {
      const auto found = std::ranges::find(term.along, order[k]);
      whole.push_back(sum_->shape().dimension(order[k]));
      if (found == term.along.end()) continue;
      permutation.push_back(found - term.along.begin());
      sizes.push_back(whole.back());
      kept.push_back(k);
    }
    for (int64_t d = 0; d < term.value->shape().rank(); ++d) {
      if (!Contains(permutation, d) && !Contains(term.summed, d)) permutation.push_back(d);
    }
    permutation.insert(permutation.end(), term.summed.begin(), term.summed.end());
    const int64_t depth = DepthOf(term);
    Instruction* value = term.value;
    if (!std::ranges::is_sorted(permutation)) value = at.Transposed(value, permutation);
    sizes.push_back(depth), whole.push_back(depth), kept.push_back(order.size());
    if (SizesOf(value->shape()) != sizes) value = at.Reshaped(value, sizes);
    if (sizes == whole) return value;
    return at.Broadcast(value, whole, kept);
  }

  void Replace(const ScoreProduct& a, const ScoreProduct& b) {
    Expansion at(entry_, sum_);
    std::array<Instruction*, 2> operands{};
    for (int k : {0, 1}) {
      IntList order = shared_;
      order.insert(order.end(), own_[k].begin(), own_[k].end());
      const ScoreTerm &first = a.terms[k], &second = b.terms[k == 0 ? with_first_ : 1 - with_first_];
      operands[k] = at.Concatenated({InOrder(at, first, order), InOrder(at, second, order)}, std::ssize(order));
    }
    // The side whose dimension comes first stands left.
    const size_t left = !own_[1].empty() && !own_[0].empty() && own_[1][0] < own_[0][0] ? 1 : 0;
    const IntList &rows = own_[left], &keys = own_[1 - left];
    DotAttributes attributes = a.dot->attributes<DotAttributes>();
    if (left == 1 && attributes.operand_precision.size() == 2)
      std::swap(attributes.operand_precision[0], attributes.operand_precision[1]);
    attributes.lhs_batch_dims = attributes.rhs_batch_dims = UpTo(std::ssize(shared_));
    attributes.lhs_contracting_dims = {static_cast<int64_t>(shared_.size() + rows.size())};
    attributes.rhs_contracting_dims = {static_cast<int64_t>(shared_.size() + keys.size())};
    IntList order = shared_, sizes, back;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), keys.begin(), keys.end());
    for (int64_t d : order) sizes.push_back(sum_->shape().dimension(d));
    IntList sorted = order;
    std::ranges::sort(sorted);
    for (int64_t d : sorted) back.push_back(std::ranges::find(order, d) - order.begin());
    Instruction* dot = at.Add(Opcode::kDot, Shape(sum_->shape().element_type(), sizes),
                              {operands[left], operands[1 - left]}, attributes);
    Instruction* scores = std::ranges::is_sorted(order) ? dot : at.Transposed(dot, back);
    if (scores->shape() != sum_->shape()) scores = at.Reshaped(scores, SizesOf(sum_->shape()));
    const std::vector<Instruction*> users(sum_->users().begin(), sum_->users().end());
    entry_.ReplaceAllUses(sum_, scores);
    if (MakesAttention(*dot)) return;
    for (Instruction* user : users) user->ReplaceOperand(scores, sum_);
  }

  bool MakesAttention(const Instruction& scores) const {
    return std::ranges::any_of(entry_.instructions(), [&](const auto& i) {
      if (i->opcode() != Opcode::kDot || i.get() == &scores) return false;
      const std::optional<Attention> attention = MatchAttention(*i, false);
      return attention && attention->scores == &scores && attention->IsWorthwhile(target_);
    });
  }

  Computation& entry_;
  Instruction* const sum_;
  const TargetInfo& target_;
  IntList shared_, own_[2];  // dimensions of the sum that both operands have, and that one has
  int with_first_ = 0;
};

}  // namespace

bool JoinScoreProducts(Computation& entry, const TargetInfo& target) {
  std::vector<Instruction*> sums;
  for (const auto& i : entry.instructions()) {
    const bool large = i->shape().IsArray() && i->shape().ElementCount() >= target.attention_min_scores;
    if (i->opcode() == Opcode::kAdd && large && i.get() != entry.root() && !i->HasControlEdges() &&
        !i->shape().IsDynamic()) {
      sums.push_back(i.get());
    }
  }
  for (Instruction* sum : sums) ScoreJoiner(entry, sum, target).Join();
  return !sums.empty();
}

}  // namespace VXLA_NAMESPACE
