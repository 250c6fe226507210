#include "core/passes/products/attention.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/maps/dot_sides.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kMostLinks = 256;
constexpr size_t kMostFactors = 8;
constexpr int64_t kMostDepth = 256;  // of a query, and of a value: a workgroup holds whole rows of both

// select(is-finite(x), x, 0)
bool IsGuardedNumber(const Instruction& i) {
  return i.opcode() == Opcode::kSelect && i.operand(0)->opcode() == Opcode::kIsFinite &&
         i.operand(0)->operand(0) == i.operand(1) && SplatOf(*i.operand(2)) == 0.0;
}

// Which operand a link multiplies by what is made of no product; -1: it is no such link.
int ScaledOperand(const Instruction& i) {
  const auto suits = [&](int k, int other) {
    return IsRealFloat(*i.operand(k)) && !IsMadeOfProduct(*i.operand(other));
  };
  switch (i.opcode()) {
    case Opcode::kMultiply:
      return suits(0, 1) ? 0 : suits(1, 0) ? 1 : -1;
    case Opcode::kDivide:
      return suits(0, 1) ? 0 : -1;
    case Opcode::kSelect:
      return SplatOf(*i.operand(2)) == 0.0 && i.operand(0)->shape().rank() == i.shape().rank() && suits(1, 0) ? 1 : -1;
    default:
      return -1;
  }
}

// Of a statistic that is broadcast over its rows: the reduction behind it.
const Instruction* ReductionBehind(const Instruction* i, Opcode operation, double identity, OperandPath* path) {
  for (size_t links = 0; links < kMostLinks; ++links) {
    if (IsReductionBy(*i, operation, identity)) return i;
    int next = 0;
    if (operation == Opcode::kMaximum && i->opcode() == Opcode::kMaximum) {
      const auto least = [&](int k) { return SplatOf(*i->operand(k)) == -INFINITY; };
      if (!least(0) && !least(1)) return nullptr;
      next = least(0) ? 1 : 0;
    } else if (operation == Opcode::kMaximum && IsGuardedNumber(*i)) {
      next = 1;
    } else if (i->opcode() != Opcode::kBroadcast && !OnlyMoves(*i)) {
      return nullptr;
    }
    path->emplace_back(i, next);
    i = i->operand(next);
  }
  return nullptr;
}

class Matcher {
 public:
  explicit Matcher(const Instruction& product) { a_.product = &product; }

  std::optional<Attention> Match(int weights, bool closed) {
    a_.weights = weights;
    if (!IsPlainProduct(*a_.product) || !FindSoftmax() || !FindScores()) return std::nullopt;
    const DotSide side = SideOf(*a_.product, weights), values = SideOf(*a_.product, 1 - weights);
    a_.batches = side.batch.count, a_.rows = side.free.count, a_.keys = side.contracting.count;
    a_.columns = values.free.count;
    a_.depth = SideOf(*a_.scores, 0).contracting.count;
    for (int64_t size : {a_.batches, a_.rows, a_.keys, a_.columns, a_.depth}) {
      if (size == 0) return std::nullopt;
    }
    const bool fits = a_.columns <= kMostDepth && a_.depth <= kMostDepth &&
                      a_.scores->shape().ElementCount() == a_.batches * a_.rows * a_.keys;
    if (!fits || !PlacesAgree()) return std::nullopt;
    FindMembers();
    if (closed && !IsClosed()) return std::nullopt;
    FindCausalMask();
    return a_;
  }

 private:
  // product(weights) <- factors <- divide <- exponential <- subtract of the largest.
  bool FindSoftmax() {
    const Instruction* divide = Follow(a_.product->operand(a_.weights), &a_.to_quotient);
    for (size_t links = 0; links < kMostFactors && !DividesExponential(*divide); ++links) {
      const int next = ScaledOperand(*divide);
      if (next < 0) return false;
      a_.scaled = true;
      a_.to_quotient.emplace_back(divide, next);
      divide = Follow(divide->operand(next), &a_.to_quotient);
    }
    if (!DividesExponential(*divide)) return false;
    a_.quotient = divide;
    a_.to_exponential = a_.to_quotient;
    a_.to_exponential.emplace_back(divide, 0);
    a_.exponential = Follow(divide->operand(0), &a_.to_exponential);
    a_.to_total = a_.to_quotient;
    a_.to_total.emplace_back(divide, 1);
    a_.total = ReductionBehind(divide->operand(1), Opcode::kAdd, 0, &a_.to_total);
    a_.to_logits = {{a_.exponential, 0}};
    const Instruction* subtract = Follow(a_.exponential->operand(0), &a_.to_logits);
    if (a_.total == nullptr || subtract->opcode() != Opcode::kSubtract) return false;
    a_.to_largest = a_.to_logits;
    a_.to_largest.emplace_back(subtract, 1);
    a_.to_logits.emplace_back(subtract, 0);
    a_.largest = ReductionBehind(subtract->operand(1), Opcode::kMaximum, -INFINITY, &a_.to_largest);
    a_.logits = Follow(subtract->operand(0), &a_.to_logits);
    if (a_.largest == nullptr || !IsRealFloat(*a_.logits)) return false;
    for (const auto& link : a_.to_largest) {
      if (link.first->opcode() == Opcode::kSelect && link.second == 1 && IsGuardedNumber(*link.first))
        a_.guards.push_back(link.first->operand(0));
    }
    return Follow(a_.total->operand(0), &from_total_) == a_.exponential &&
           Follow(a_.largest->operand(0), &from_largest_) == a_.logits;
  }

  static bool DividesExponential(const Instruction& i) {
    if (i.opcode() != Opcode::kDivide || !IsRealFloat(i)) return false;
    OperandPath moves;
    const Instruction& exponential = *Follow(i.operand(0), &moves);
    return exponential.opcode() == Opcode::kExp && IsRealFloat(exponential);
  }

  bool FindScores() {
    walk_.emplace(a_.logits->shape().ElementCount(), 1);  // of a sum of two, the second is read from memory
    if (!walk_->Reaches(a_.logits)) return false;
    a_.scores = walk_->products()[0];
    for (const Instruction* i = a_.logits; i != a_.scores;) {
      const auto operand = std::ranges::find_if(i->operands(), [&](const Instruction* o) { return walk_->Reaches(o); });
      a_.to_scores.emplace_back(i, static_cast<int>(operand - i->operands().begin()));
      i = *operand;
    }
    return true;
  }

  AttentionPlace NewPlace() {
    space_ = {};
    return NewAttentionPlace(space_, {a_.batches, a_.rows, a_.keys, a_.depth, a_.columns});
  }

  bool KeysAreReduced(const Instruction& reduce) const {
    return reduce.operand(0)->shape().ElementCount() == a_.batches * a_.rows * a_.keys &&
           reduce.shape().ElementCount() == a_.batches * a_.rows;
  }

  // Both statistics are of the row of keys that the product sums over, every value is read at one place, and a query is
  // of the row alone, a key of the key alone.
  bool PlacesAgree() {
    if (!KeysAreReduced(*a_.total) || !KeysAreReduced(*a_.largest)) return false;
    const AttentionPlace at = NewPlace();
    const DotSide side = SideOf(*a_.product, a_.weights);
    const MultiIndex weights = side.IndexOf(space_, at.batch, at.key, at.row);
    const MultiIndex exponential = Walk(space_, a_.to_exponential, weights);
    const MultiIndex logits = Walk(space_, a_.to_logits, exponential);
    const MultiIndex total = Walk(space_, a_.to_total, weights), largest = Walk(space_, a_.to_largest, exponential);
    if (Walk(space_, from_total_, ReducedIndex(space_, *a_.total, total, at.key)) != exponential) return false;
    if (Walk(space_, from_largest_, ReducedIndex(space_, *a_.largest, largest, at.key)) != logits) return false;
    if (!walk_->OnePlaceEach(space_, a_.logits, logits)) return false;
    const MultiIndex& scores = walk_->PlaceOf(a_.scores);
    const int variables = space_.count();
    for (int queries : {0, 1}) {
      a_.queries = queries;
      const AttentionIndices indices = IndicesOf(a_, space_, at);
      if (space_.count() != variables || indices.scores != scores) return false;  // a place that is no sum of digits
      if (!Mentions(indices.query, AttentionPlace::kKey) && !Mentions(indices.key, AttentionPlace::kRow))
        return variables == AttentionPlace::kCount;
    }
    return false;
  }

  void FindMembers() {
    std::unordered_set<const Instruction*> members{a_.total, a_.largest, a_.exponential};
    for (const OperandPath* path :
         {&a_.to_exponential, &a_.to_total, &a_.to_logits, &a_.to_largest, &from_total_, &from_largest_}) {
      for (const auto& link : *path) members.insert(link.first);
    }
    members.insert(a_.guards.begin(), a_.guards.end());
    const std::vector<const Instruction*> reached = walk_->Reached();
    members.insert(reached.begin(), reached.end());
    a_.members.assign(members.begin(), members.end());
  }

  bool IsClosed() const {
    const std::unordered_set<const Instruction*> members(a_.members.begin(), a_.members.end());
    return std::ranges::all_of(a_.members, [&](const Instruction* i) {
      return !i->HasControlEdges() && !i->users().empty() && !TouchesLiveSizes(*i) &&
             (i == a_.largest || i == a_.total || std::ranges::all_of(i->users(), [&](const Instruction* user) {
                return user == a_.product || members.contains(user);
              }));
    });
  }

  // ---- causal masks -------------------------------------------------------------------------------------------------

  void FindCausalMask() {
    OperandPath path;
    const Instruction* select = Follow(a_.logits, &path);
    if (select->opcode() != Opcode::kSelect || select->operand(0)->shape().rank() != select->shape().rank()) return;
    const std::optional<double> hidden = SplatOf(*select->operand(2));
    if (!hidden || !walk_->IsReached(select->operand(1))) return;
    path.emplace_back(select, 0);
    const auto accept = [&](const Instruction& compare, const OperandPath& at) { return HidesLaterKeys(compare, at); };
    if (auto found = FindComparison(select->operand(0), path, accept)) {
      a_.causal = CausalMask{found->first, std::move(found->second), *hidden};
    }
  }

  // Whether it holds depends on a difference that grows with the row and shrinks with the key, or the other way round.
  bool HidesLaterKeys(const Instruction& compare, const OperandPath& path) {
    const AttentionPlace at = NewPlace();
    const DotSide side = SideOf(*a_.product, a_.weights);
    MultiIndex index = Walk(space_, a_.to_exponential, side.IndexOf(space_, at.batch, at.key, at.row));
    index = Walk(space_, path, Walk(space_, a_.to_logits, index));
    const std::optional<IndexExpression> difference = ComparedPlaces(space_, compare, index);
    if (!difference) return false;
    bool rows = false, keys = false;
    for (const IndexTerm& term : difference->terms) {
      // Rows of several heads side by side begin anew in the middle of a tile.
      const bool whole = term.modulus == 0 || term.modulus * term.divisor >= space_.size(term.variable);
      const bool row =
          term.variable == AttentionPlace::kRow && term.coefficient > 0 && (whole || term.modulus % kMostTile == 0);
      const bool key = term.variable == AttentionPlace::kKey && term.coefficient < 0 && whole;
      if (!row && !key) return false;
      rows |= row, keys |= key;
      if (row && term.divisor != 1 && !whole) return false;
    }
    return rows && keys;
  }
  static constexpr int64_t kMostTile = 64;  // a divisor of it: rows of a workgroup

  Attention a_;
  OperandPath from_total_, from_largest_;
  std::optional<ProductWalk> walk_;  // from the logits
  IndexSpace space_;
};

MultiIndex LogitsIndex(const Attention& a, IndexSpace& space, const AttentionPlace& at) {
  const MultiIndex weights = SideOf(*a.product, a.weights).IndexOf(space, at.batch, at.key, at.row);
  return Walk(space, a.to_logits, Walk(space, a.to_exponential, weights));
}

}  // namespace

AttentionPlace NewAttentionPlace(IndexSpace& space, const std::array<int64_t, AttentionPlace::kCount>& sizes) {
  const auto next = [&](AttentionPlace::Variable v) { return space.Variable(space.AddVariable(sizes[v])); };
  return {next(AttentionPlace::kBatch), next(AttentionPlace::kRow), next(AttentionPlace::kKey),
          next(AttentionPlace::kDepth), next(AttentionPlace::kColumn)};
}

AttentionIndices IndicesOf(const Attention& a, IndexSpace& space, const AttentionPlace& at) {
  AttentionIndices result;
  result.logits = LogitsIndex(a, space, at);
  result.scores = Walk(space, a.to_scores, result.logits);
  const DotPlace place = PlaceOf(space, *a.scores, result.scores);
  for (int k : {0, 1}) {
    MultiIndex index = SideOf(*a.scores, k).IndexOf(space, place.batch, at.depth, place.free[k]);
    (k == a.queries ? result.query : result.key) = std::move(index);
  }
  result.value = SideOf(*a.product, 1 - a.weights).IndexOf(space, at.batch, at.key, at.column);
  return result;
}

MultiIndex CausalIndexOf(const Attention& a, IndexSpace& space, const AttentionPlace& at) {
  return Walk(space, a.causal->path, LogitsIndex(a, space, at));
}

MultiIndex QuotientIndex(const Attention& a, IndexSpace& space, const AttentionPlace& at) {
  return Walk(space, a.to_quotient, SideOf(*a.product, a.weights).IndexOf(space, at.batch, at.key, at.row));
}

MultiIndex StatisticIndex(const Attention& a, IndexSpace& space, const AttentionPlace& at, bool of_total) {
  const MultiIndex weights = SideOf(*a.product, a.weights).IndexOf(space, at.batch, at.key, at.row);
  if (of_total) return Walk(space, a.to_total, weights);
  return Walk(space, a.to_largest, Walk(space, a.to_exponential, weights));
}

IndexExpression ResultIndex(const Attention& a, IndexSpace& space, const AttentionPlace& at) {
  return ResultIndex(space, at, a.weights == 0, a.rows, a.columns);
}

IndexExpression ResultIndex(IndexSpace& space, const AttentionPlace& at, bool rows_first, int64_t rows,
                            int64_t columns) {
  const IndexExpression &high = rows_first ? at.row : at.column, &low = rows_first ? at.column : at.row;
  const int64_t highs = rows_first ? rows : columns, lows = rows_first ? columns : rows;
  return space.Add(space.Scale(space.Add(space.Scale(at.batch, highs), high), lows), low);
}

MultiIndex IndexBehind(const std::vector<const Instruction*>& moves, IndexSpace& space, MultiIndex index) {
  for (const Instruction* i : moves) {
    if (i->opcode() == Opcode::kTranspose) {
      MultiIndex moved;
      for (int64_t d : i->dimensions()) moved.push_back(index[d]);
      index = std::move(moved);
    } else if (i->opcode() == Opcode::kReshape) {
      index = space.Delinearize(space.Linearize(index, i->operand(0)->shape().dimensions()), i->shape().dimensions());
    }
  }
  return index;
}

std::vector<const Instruction*> MovesBehind(const Instruction& product, const IndexSpace& begin_space,
                                            const MultiIndex& begin) {
  std::vector<const Instruction*> moves;
  for (const Instruction* i = &product; i->users().size() == 1 && OnlyMoves(*i->users()[0]);) {
    i = i->users()[0];
    if (i->HasControlEdges()) break;
    moves.push_back(i);
  }
  while (!moves.empty()) {
    const bool ends = moves.back()->opcode() == Opcode::kTranspose || moves.back()->opcode() == Opcode::kConvert;
    IndexSpace space = begin_space;
    const auto& dimensions = moves.back()->shape().dimensions();
    MultiIndex index = space.Delinearize(space.Linearize(IndexBehind(moves, space, begin), dimensions), dimensions);
    for (auto i = moves.rbegin(); i != moves.rend(); ++i) index = OperandIndex(space, **i, 0, index);
    // The way back has to be found in symbols.
    if (ends && index == begin && space.count() == begin_space.count()) return moves;
    moves.pop_back();
  }
  return moves;
}

std::vector<const Instruction*> MovesBehind(const Attention& a) {
  IndexSpace space;
  const AttentionPlace at = NewAttentionPlace(space, {a.batches, a.rows, a.keys, a.depth, a.columns});
  const MultiIndex begin = space.Delinearize(ResultIndex(a, space, at), a.product->shape().dimensions());
  return MovesBehind(*a.product, space, begin);
}

std::optional<Attention> MatchAttention(const Instruction& product, bool closed) {
  if (product.opcode() != Opcode::kDot) return std::nullopt;
  for (int weights : {0, 1}) {
    if (auto attention = Matcher(product).Match(weights, closed)) return attention;
  }
  return std::nullopt;
}

}  // namespace VXLA_NAMESPACE
