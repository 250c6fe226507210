#include "core/passes/products/product_chain.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/module_edits.h"
#include "core/maps/dot_sides.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kMostProducts = 2;
constexpr size_t kMostSums = 2;
constexpr int64_t kMostChainDepth = 256;    // of a product inside: it is computed by every kernel that needs it
constexpr int64_t kMostChainColumns = 256;  // of a result: a workgroup holds whole rows
constexpr int64_t kMostBlock = 128;         // a multiple of a workgroup's rows, and of the keys it takes at a time
constexpr int64_t kFewestRows = 256;        // of all batches, for a workgroup walks along all keys of its rows

MultiIndex TermIndexAt(IndexSpace& space, const Instruction& dot, int operand, const MultiIndex& index,
                       const IndexExpression& depth) {
  const DotPlace place = PlaceOf(space, dot, index);
  return SideOf(dot, operand).IndexOf(space, place.batch, depth, place.free[operand]);
}

AttentionPlace NewChainPlace(IndexSpace& space, const ProductChain& chain, int64_t columns = 1) {
  return NewAttentionPlace(space, {chain.batches, chain.rows, chain.keys, 1, columns});
}

// The index of a reduction's result. Of one over batches the batch counts the parts of each, too; `part` takes their
// digits.
MultiIndex ReducedRow(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at, MultiIndex* part = nullptr) {
  const auto dimensions = sum.hero->shape().dimensions();
  IntList sizes[3];
  const auto group = [&](size_t d) { return sum.in_batch[d] ? 0 : sum.over_batches() && sum.of_key[d] ? 2 : 1; };
  for (size_t d = 0; d < dimensions.size(); ++d) sizes[group(d)].push_back(dimensions[d]);
  const size_t kept = sizes[0].size();
  if (sum.over_batches()) {
    for (int64_t d : sum.hero->dimensions()) sizes[0].push_back(sum.hero->operand(0)->shape().dimension(d));
  }
  const MultiIndex digits[] = {space.Delinearize(at.batch, sizes[0]), space.Delinearize(at.row, sizes[1]),
                               space.Delinearize(at.key, sizes[2])};
  if (part != nullptr) part->assign(digits[0].begin() + static_cast<std::ptrdiff_t>(kept), digits[0].end());
  size_t next[] = {0, 0, 0};
  MultiIndex index;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int of = group(d);
    index.push_back(digits[of][next[of]++]);
  }
  return index;
}

// Where a reduction over batches reads its operand.
MultiIndex PartIndex(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at) {
  MultiIndex part, result;
  const MultiIndex kept = ReducedRow(sum, space, at, &part);
  const IntList& dimensions = sum.hero->dimensions();
  for (int64_t d = 0, next = 0; d < sum.weights().shape().rank(); ++d) {
    const auto reduced = std::ranges::find(dimensions, d);
    result.push_back(reduced != dimensions.end() ? part[reduced - dimensions.begin()] : kept[next++]);
  }
  return result;
}

// Finds what makes the weights of a sum nothing where a comparison of places does not hold.
class MaskFinder {
 public:
  MaskFinder(const ProductChain& chain, const ChainSum& sum) : chain_(chain), sum_(sum) {}

  std::optional<ChainMask> Find() {
    if (!Vanishes(&sum_.weights(), {})) return std::nullopt;
    return mask_;
  }

 private:
  // Whether nothing is left of `i` where a mask hides it; of products of several such factors the first.
  bool Vanishes(const Instruction* i, OperandPath path) {
    if (path.size() > 64) return false;
    i = Follow(i, &path);
    const auto operand = [&](int k) {
      OperandPath on = path;
      on.emplace_back(i, k);
      return on;
    };
    switch (i->opcode()) {
      case Opcode::kNegate:
      case Opcode::kDivide:
        return Vanishes(i->operand(0), operand(0));
      case Opcode::kMultiply:
        return Vanishes(i->operand(0), operand(0)) || Vanishes(i->operand(1), operand(1));
      case Opcode::kSelect:
        return SplatOf(*i->operand(2)) == 0.0 && FindMask(*i, path);
      case Opcode::kExp:
        return FindFactor(*i, path);
      default:
        return false;
    }
  }

  bool FindMask(const Instruction& select, OperandPath path) {
    if (select.operand(0)->shape().rank() != select.shape().rank()) return false;
    path.emplace_back(&select, 0);
    auto found = FindComparison(select.operand(0), path, [&](const Instruction& compare, const OperandPath& on) {
      return HidesBlocksOf(compare, on);
    });
    if (!found) return false;
    mask_.compare = found->first;
    mask_.path = std::move(found->second);
    return true;
  }

  // exponential(select(mask, score, hidden) - statistic)
  bool FindFactor(const Instruction& exponential, OperandPath path) {
    const OperandPath to_factor = path;
    path.emplace_back(&exponential, 0);
    const Instruction* subtract = Follow(exponential.operand(0), &path);
    if (subtract->opcode() != Opcode::kSubtract) return false;
    OperandPath to_statistic = path;
    to_statistic.emplace_back(subtract, 1);
    const Instruction* statistic = subtract->operand(1);
    while (statistic->opcode() == Opcode::kBroadcast || OnlyMoves(*statistic)) {
      to_statistic.emplace_back(statistic, 0);
      statistic = statistic->operand(0);
    }
    path.emplace_back(subtract, 0);
    const Instruction* select = Follow(subtract->operand(0), &path);
    if (select->opcode() != Opcode::kSelect || !IsRealFloat(*select)) return false;
    const std::optional<double> hidden = SplatOf(*select->operand(2));
    if (!hidden || !FindMask(*select, path)) return false;
    mask_.factor = &exponential, mask_.to_factor = to_factor;
    mask_.hidden = select, mask_.to_hidden = path, mask_.hidden_value = *hidden;
    mask_.to_statistic = std::move(to_statistic);
    return true;
  }

  // What is compared grows with the row and shrinks with the key, or the other way round, within each block.
  bool HidesBlocksOf(const Instruction& compare, const OperandPath& path) {
    IndexSpace space;
    const AttentionPlace at = NewChainPlace(space, chain_);
    const std::optional<IndexExpression> difference = ComparedPlaces(space, compare, MaskIndex(sum_, path, space, at));
    if (!difference || space.count() != AttentionPlace::kCount) return false;
    int signs[AttentionPlace::kCount] = {};
    for (const IndexTerm& term : difference->terms) {
      const bool whole = term.modulus == 0 || term.modulus * term.divisor >= space.size(term.variable);
      if (!whole && (term.divisor != 1 || term.modulus % kMostBlock != 0)) return false;
      const int sign = term.coefficient > 0 ? 1 : -1;
      if (signs[term.variable] == -sign) return false;
      signs[term.variable] = sign;
    }
    if (signs[AttentionPlace::kBatch] != 0 || signs[AttentionPlace::kRow] * signs[AttentionPlace::kKey] != -1)
      return false;
    mask_.later_keys = signs[AttentionPlace::kRow] > 0;
    return true;
  }

  const ProductChain& chain_;
  const ChainSum& sum_;
  ChainMask mask_;
};

class ChainMatcher {
 public:
  ChainMatcher(const Instruction& hero, int chained, bool over_batches = false)
      : over_batches_(over_batches), count_(hero.operand(chained)->shape().ElementCount()), walk_(count_, SIZE_MAX) {
    sum_.hero = &hero;
    sum_.chained = chained;
  }

  std::optional<ProductChain> Match() {
    if (count_ == 0 || sum_.hero->shape().ElementCount() == 0 || sum_.hero->HasControlEdges()) return std::nullopt;
    if (!walk_.Reaches(&sum_.weights())) return std::nullopt;
    ReadSizes();
    if (chain_.batches * chain_.rows * chain_.keys != count_) return std::nullopt;
    chain_.sums = {sum_};
    if (!OnePlaceEach() || !SidesAgree()) return std::nullopt;
    chain_.members = walk_.Reached();
    for (const Instruction* i : chain_.members) {
      if (i->HasControlEdges() || TouchesLiveSizes(*i)) return std::nullopt;
    }
    const bool adds = sum_.is_product() || IsReductionBy(*sum_.hero, Opcode::kAdd, 0);
    if (adds && !over_batches_) chain_.sums[0].mask = MaskFinder(chain_, chain_.sums[0]).Find();
    return chain_;
  }

 private:
  void ReadSizes() {
    if (sum_.is_product()) {
      const DotSide side = SideOf(*sum_.hero, sum_.chained), other = SideOf(*sum_.hero, 1 - sum_.chained);
      chain_.batches = side.batch.count, chain_.rows = side.free.count, chain_.keys = side.contracting.count;
      sum_.columns = other.free.count;
    } else {
      over_batches_ ? ReadReductionOfBatches() : ReadReduction();
    }
  }

  // Where the first product is read for results counted by variables 0, 1 ... and what is reduced by the one after.
  MultiIndex FirstScore(const Instruction** dot) {
    IndexSpace space;
    MultiIndex kept;
    for (int64_t size : sum_.hero->shape().dimensions()) kept.push_back(space.Variable(space.AddVariable(size)));
    const IndexExpression along = space.Variable(space.AddVariable(count_ / sum_.hero->shape().ElementCount()));
    MultiIndex index = ReducedIndex(space, *sum_.hero, kept, along);
    const Instruction* i = &sum_.weights();
    while (i->opcode() != Opcode::kDot) {
      int k = 0;
      while (!walk_.Reaches(i->operand(k))) ++k;
      index = OperandIndex(space, *i, k, index);
      i = i->operand(k);
    }
    *dot = i;
    return index;
  }

  // The batch is what the first product's batch is made of.
  void ReadReduction() {
    const Shape& results = sum_.hero->shape();
    chain_.keys = count_ / results.ElementCount();
    const Instruction* dot = nullptr;
    MultiIndex index = FirstScore(&dot);
    index.resize(SideOf(*dot, 0).batch.sizes.size());
    for (int d = 0; d < results.rank(); ++d) {
      sum_.in_batch.push_back(Mentions(index, d));
      (sum_.in_batch.back() ? chain_.batches : chain_.rows) *= results.dimension(d);
    }
  }

  // Of the rest of the result, keys are what the last dimension belongs to, to the right or the left of the product.
  void ReadReductionOfBatches() {
    const Shape& results = sum_.hero->shape();
    sum_.parts = chain_.batches = count_ / results.ElementCount();
    const Instruction* dot = nullptr;
    const MultiIndex index = FirstScore(&dot);
    const DotSide lhs = SideOf(*dot, 0);
    const auto begin = index.begin(), middle = begin + static_cast<std::ptrdiff_t>(lhs.batch.sizes.size()),
               end = middle + static_cast<std::ptrdiff_t>(lhs.free.sizes.size());
    const MultiIndex batch(begin, middle), left(middle, end);
    const bool keys_left = results.rank() > 0 && Mentions(left, results.rank() - 1);
    for (int d = 0; d < results.rank(); ++d) {
      sum_.in_batch.push_back(Mentions(batch, d));
      sum_.of_key.push_back(!sum_.in_batch.back() && Mentions(left, d) == keys_left);
      (sum_.in_batch.back() ? chain_.batches : sum_.of_key.back() ? chain_.keys : chain_.rows) *= results.dimension(d);
    }
  }

  // Every value is read at one place; the paths to the products are noted.
  bool OnePlaceEach() {
    at_ = NewChainPlace(space_, chain_);
    return walk_.OnePlaceEach(space_, &sum_.weights(), WeightsIndex(sum_, space_, at_));
  }

  // Of each product one operand is of the row alone, the other of the key alone.
  bool SidesAgree() {
    if (walk_.products().size() > kMostProducts) return false;
    for (const Instruction* dot : walk_.products()) {
      ChainProduct product{dot, walk_.PathTo(dot), 0, SideOf(*dot, 0).contracting.count};
      if (product.depth == 0) return false;
      IndexSpace space = space_;
      const IndexExpression depth = space.Variable(space.AddVariable(product.depth));
      const int variables = space.count();
      const MultiIndex terms[] = {TermIndexAt(space, *dot, 0, walk_.PlaceOf(dot), depth),
                                  TermIndexAt(space, *dot, 1, walk_.PlaceOf(dot), depth)};
      if (space.count() != variables) return false;  // a place that is no sum of digits
      const auto of_row = [&](int k) {
        return !Mentions(terms[k], AttentionPlace::kKey) && !Mentions(terms[1 - k], AttentionPlace::kRow);
      };
      if (!of_row(0) && !of_row(1)) return false;
      product.rows = of_row(0) ? 0 : 1;
      chain_.products.push_back(std::move(product));
    }
    return space_.count() == AttentionPlace::kCount;
  }

  const bool over_batches_;
  const int64_t count_;
  ChainSum sum_;
  ProductChain chain_;
  IndexSpace space_;
  AttentionPlace at_;
  ProductWalk walk_;  // from the weights
};

bool ShareMembers(const ProductChain& a, const ProductChain& b) {
  const std::unordered_set<const Instruction*> members(a.members.begin(), a.members.end());
  return std::ranges::any_of(b.members, [&](const Instruction* i) { return members.contains(i); });
}

bool DependsOn(const Instruction& i, const Instruction& on) {
  std::unordered_set<const Instruction*> seen;
  std::vector<const Instruction*> pending{&i};
  while (!pending.empty()) {
    const Instruction* next = pending.back();
    pending.pop_back();
    if (next == &on) return true;
    for (const Instruction* operand : next->operands()) {
      if (seen.insert(operand).second) pending.push_back(operand);
    }
  }
  return false;
}

// The chain of the same dot with its terms in another order, one that joins `other`: attributes are changed in place,
// or left as they were.
std::optional<ProductChain> JoinReordered(const ProductChain& other, const ProductChain& chain) {
  const std::vector<Instruction*> all = InstructionList(*chain.sums[0].hero->parent());
  Instruction* const hero = *std::ranges::find(all, chain.sums[0].hero);
  const Attributes before = hero->attributes();
  const auto& dimensions = hero->attributes<DotAttributes>();
  std::vector<size_t> order(dimensions.lhs_contracting_dims.size());
  if (order.size() < 2 || order.size() > 4) return std::nullopt;
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  const DotAttributes first = dimensions;
  while (std::ranges::next_permutation(order).found) {
    auto& attributes = std::get<DotAttributes>(hero->mutable_attributes());
    for (size_t k = 0; k < order.size(); ++k) {
      attributes.lhs_contracting_dims[k] = first.lhs_contracting_dims[order[k]];
      attributes.rhs_contracting_dims[k] = first.rhs_contracting_dims[order[k]];
    }
    const std::optional<ProductChain> again = MatchChain(*hero, chain.sums[0].chained);
    if (auto joined = again ? JoinChains(other, *again) : std::nullopt) return joined;
  }
  hero->mutable_attributes() = before;
  return std::nullopt;
}

}  // namespace

MultiIndex WeightsIndex(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at) {
  if (sum.is_product()) return SideOf(*sum.hero, sum.chained).IndexOf(space, at.batch, at.key, at.row);
  if (sum.over_batches()) return PartIndex(sum, space, at);
  return ReducedIndex(space, *sum.hero, ReducedRow(sum, space, at), at.key);
}

MultiIndex ValueIndex(const ChainSum& sum, IndexSpace& space, const AttentionPlace& at) {
  return SideOf(*sum.hero, 1 - sum.chained).IndexOf(space, at.batch, at.key, at.column);
}

MultiIndex MaskIndex(const ChainSum& sum, const OperandPath& path, IndexSpace& space, const AttentionPlace& at) {
  return Walk(space, path, WeightsIndex(sum, space, at));
}

bool HidesBlocks(const ProductChain& chain) {
  IndexSpace space;
  const AttentionPlace at = NewChainPlace(space, chain);
  const ChainSum& first = chain.sums[0];
  return std::ranges::all_of(chain.sums, [&](const ChainSum& sum) {
    return sum.mask && first.mask && sum.mask->compare == first.mask->compare &&
           MaskIndex(sum, sum.mask->path, space, at) == MaskIndex(first, first.mask->path, space, at);
  });
}

MultiIndex ScoreIndex(const ProductChain& chain, const ChainProduct& product, IndexSpace& space,
                      const AttentionPlace& at) {
  return Walk(space, product.path, WeightsIndex(chain.sums[0], space, at));
}

MultiIndex TermIndex(const ProductChain& chain, const ChainProduct& product, int operand, IndexSpace& space,
                     const AttentionPlace& at) {
  return TermIndexAt(space, *product.dot, operand, ScoreIndex(chain, product, space, at), at.depth);
}

IndexExpression ResultIndex(const ProductChain& chain, const ChainSum& sum, IndexSpace& space,
                            const AttentionPlace& at) {
  if (!sum.is_product()) return space.Linearize(ReducedRow(sum, space, at), sum.hero->shape().dimensions());
  return ResultIndex(space, at, sum.chained == 0, chain.rows, sum.columns);
}

std::vector<const Instruction*> MovesBehind(const ProductChain& chain, const ChainSum& sum) {
  if (!sum.is_product() && !sum.over_batches()) return {};
  IndexSpace space;
  const AttentionPlace at = NewChainPlace(space, chain, sum.columns);
  const MultiIndex begin = space.Delinearize(ResultIndex(chain, sum, space, at), sum.hero->shape().dimensions());
  return MovesBehind(*sum.hero, space, begin);
}

bool ReducesRows(const ProductChain& chain) {
  return chain.sums.size() == 1 && !chain.sums[0].is_product() && !chain.sums[0].over_batches();
}

std::optional<ProductChain> MatchChain(const Instruction& hero, int chained) {
  if (chained == 0 && PlainReductionOf(hero)) {
    std::optional<ProductChain> chain = ChainMatcher(hero, 0).Match();
    return chain ? chain : ChainMatcher(hero, 0, true).Match();
  }
  if (!IsPlainProduct(hero)) return std::nullopt;
  return ChainMatcher(hero, chained).Match();
}

std::optional<ProductChain> JoinChains(const ProductChain& a, const ProductChain& b) {
  if (a.products.size() < b.products.size()) return JoinChains(b, a);
  const bool suits = a.batches == b.batches && a.rows == b.rows && a.keys == b.keys &&
                     a.sums.size() + b.sums.size() <= kMostSums && a.sums[0].is_product() && b.sums[0].is_product() &&
                     a.sums[0].hero != b.sums[0].hero;
  if (!suits) return std::nullopt;
  IndexSpace space;
  const AttentionPlace at = NewChainPlace(space, a);
  for (const ChainProduct& product : b.products) {
    const auto same = std::ranges::find(a.products, product.dot, &ChainProduct::dot);
    if (same == a.products.end() || same->rows != product.rows) return std::nullopt;
    if (ScoreIndex(a, *same, space, at) != ScoreIndex(b, product, space, at)) return std::nullopt;
  }
  if (space.count() != AttentionPlace::kCount) return std::nullopt;
  ProductChain joined = a;
  joined.sums.insert(joined.sums.end(), b.sums.begin(), b.sums.end());
  const std::unordered_set<const Instruction*> members(a.members.begin(), a.members.end());
  std::ranges::copy_if(b.members, std::back_inserter(joined.members),
                       [&](const Instruction* i) { return !members.contains(i); });
  // Neither sum is made of the other, by however many steps: an attention's result and its gradient.
  const Instruction &first = *a.sums[0].hero, &second = *b.sums[0].hero;
  if (DependsOn(first, second) || DependsOn(second, first)) return std::nullopt;
  return joined;
}

bool ReducesProducts(const Instruction& reduce) {
  return IsReductionBy(reduce, Opcode::kAdd, 0) &&
         ProductWalk(reduce.operand(0)->shape().ElementCount(), SIZE_MAX).Reaches(reduce.operand(0));
}

bool IsClosed(const ProductChain& chain) {
  const std::unordered_set<const Instruction*> members(chain.members.begin(), chain.members.end());
  const auto reads_weights = [&](const Instruction* user, const Instruction* i) {
    const auto sum = std::ranges::find(chain.sums, user, &ChainSum::hero);
    if (sum == chain.sums.end() || &sum->weights() != i) return false;
    return !sum->is_product() || user->operand(1 - sum->chained) != i;
  };
  return std::ranges::all_of(chain.members, [&](const Instruction* i) {
    return std::ranges::all_of(
        i->users(), [&](const Instruction* user) { return members.contains(user) || reads_weights(user, i); });
  });
}

bool IsWorthwhile(const ProductChain& chain, const TargetInfo& target) {
  if (chain.batches * chain.rows * chain.keys < target.attention_min_scores) return false;
  const bool few = !chain.sums[0].over_batches() && chain.batches * chain.rows < kFewestRows;
  if (chain.rows < target.attention_min_rows || few) return false;
  if (chain.keys < target.attention_min_rows) return false;
  for (const ChainProduct& product : chain.products) {
    if (product.depth > kMostChainDepth) return false;
  }
  for (const ChainSum& sum : chain.sums) {
    if (sum.columns > kMostChainColumns) return false;
  }
  const auto is_exponential = [](const Instruction* i) { return i->opcode() == Opcode::kExp; };
  return ReducesRows(chain) || std::ranges::any_of(chain.members, is_exponential);
}

std::vector<ProductChain> JoinChains(std::vector<ProductChain> chains, bool reorder) {
  for (size_t a = 0; a < chains.size(); ++a) {
    for (size_t b = a + 1; b < chains.size();) {
      std::optional<ProductChain> joined;
      if (ShareMembers(chains[a], chains[b])) joined = JoinChains(chains[a], chains[b]);
      const bool may_reorder = reorder && !joined && chains[a].sums.size() == 1 && chains[b].sums.size() == 1 &&
                               chains[a].sums[0].is_product() && chains[b].sums[0].is_product();
      if (may_reorder && ShareMembers(chains[a], chains[b])) {
        joined = JoinReordered(chains[a], chains[b]);
        if (!joined) joined = JoinReordered(chains[b], chains[a]);
      }
      if (!joined) {
        ++b;
        continue;
      }
      chains[a] = *std::move(joined);
      chains.erase(chains.begin() + static_cast<std::ptrdiff_t>(b));
    }
  }
  return chains;
}

std::vector<ProductChain> FindChains(const std::vector<Instruction*>& order, const TargetInfo& target) {
  std::vector<ProductChain> chains;
  for (const Instruction* i : order) {
    if (i->opcode() != Opcode::kDot && i->opcode() != Opcode::kReduce) continue;
    const auto is_large = [&](const Instruction* operand) {
      return operand->shape().IsArray() && operand->shape().ElementCount() >= target.attention_min_scores;
    };
    if (std::ranges::none_of(i->operands(), is_large)) continue;
    // Both operands may be made of products: a gradient that a projection gives, and probabilities.
    for (int chained : {0, 1}) {
      std::optional<ProductChain> chain = MatchChain(*i, chained);
      if (!chain || !IsWorthwhile(*chain, target)) continue;
      chains.push_back(*std::move(chain));
      break;
    }
  }
  return chains;
}

}  // namespace VXLA_NAMESPACE
