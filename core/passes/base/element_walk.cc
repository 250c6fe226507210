#include "core/passes/base/element_walk.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kLongestMaskPath = 256;

// select(a, b, false), which is a and b.
bool IsGuarded(const Instruction& i) {
  if (i.opcode() != Opcode::kSelect || i.operand(0)->shape().rank() != i.shape().rank()) return false;
  const Instruction* otherwise = i.operand(2);
  while (otherwise->opcode() == Opcode::kBroadcast) otherwise = otherwise->operand(0);
  return otherwise->opcode() == Opcode::kConstant && otherwise->shape().IsScalar() &&
         otherwise->shape().element_type() == ElementType::kPred && otherwise->literal().GetInt(0) == 0;
}

// An integer that is a sum of places.
std::optional<IndexExpression> Counted(IndexSpace& space, const Instruction& i, const MultiIndex& index) {
  if (i.opcode() == Opcode::kIota) return index[i.attributes<IotaAttributes>().iota_dimension];
  if (i.opcode() == Opcode::kConstant && i.shape().IsScalar() && i.shape().element_type() == ElementType::kS32) {
    return IndexExpression{{}, i.literal().GetInt(0)};
  }
  if (i.shape().element_type() != ElementType::kS32) return std::nullopt;
  if (i.opcode() == Opcode::kAdd || i.opcode() == Opcode::kSubtract) {
    const auto a = Counted(space, *i.operand(0), index), b = Counted(space, *i.operand(1), index);
    if (!a || !b) return std::nullopt;
    return space.Add(*a, i.opcode() == Opcode::kAdd ? *b : space.Scale(*b, -1));
  }
  if (i.opcode() != Opcode::kBroadcast && !OnlyMoves(i)) return std::nullopt;
  return Counted(space, *i.operand(0), OperandIndex(space, i, 0, index));
}

}  // namespace

bool IsRealFloat(const Instruction& i) {
  const ElementType type = i.shape().element_type();
  return type == ElementType::kF32 || type == ElementType::kF16 || type == ElementType::kBF16;
}

bool OnlyMoves(const Instruction& i) {
  if (i.opcode() == Opcode::kConvert) return IsRealFloat(i) && IsRealFloat(*i.operand(0));
  return IsAnyOf(i.opcode(), Opcode::kReshape, Opcode::kTranspose, Opcode::kCopy);
}

const Instruction* Follow(const Instruction* i, OperandPath* path) {
  while (OnlyMoves(*i)) {
    path->emplace_back(i, 0);
    i = i->operand(0);
  }
  return i;
}

MultiIndex Walk(IndexSpace& space, const OperandPath& path, MultiIndex index) {
  for (const auto& [instruction, operand] : path) index = OperandIndex(space, *instruction, operand, index);
  return index;
}

std::optional<double> SplatOf(const Instruction& i) {
  const Instruction* at = &i;
  while (at->opcode() == Opcode::kBroadcast || OnlyMoves(*at)) at = at->operand(0);
  if (at->opcode() != Opcode::kConstant || !at->shape().IsScalar()) return std::nullopt;
  if (!IsFloating(at->shape().element_type())) return std::nullopt;
  return at->literal().GetDouble(0);
}

bool IsPlainProduct(const Instruction& i) {
  if (i.opcode() != Opcode::kDot || i.operand_count() != 2 || !IsRealFloat(i) || i.notes().wide_sum) return false;
  return IsRealFloat(*i.operand(0)) && IsRealFloat(*i.operand(1)) && !TouchesLiveSizes(i);
}

bool IsMadeOfProduct(const Instruction& value) {
  constexpr size_t kMostInstructions = 256;
  std::unordered_set<const Instruction*> seen{&value};
  std::vector<const Instruction*> pending{&value};
  while (!pending.empty() && seen.size() < kMostInstructions) {
    const Instruction* i = pending.back();
    pending.pop_back();
    if (IsPlainProduct(*i)) return true;
    if (!IsElementwise(i->opcode()) && !OnlyMoves(*i)) continue;
    for (const Instruction* operand : i->operands()) {
      const bool same = operand->shape().IsArray() && operand->shape().ElementCount() == value.shape().ElementCount();
      if (same && seen.insert(operand).second) pending.push_back(operand);
    }
  }
  return !pending.empty();  // too much to tell
}

bool ProductWalk::Reaches(const Instruction* i) {
  constexpr size_t kMostLinks = 256;
  if (const auto known = reaches_.find(i); known != reaches_.end()) return known->second;
  if (reaches_.size() > kMostLinks) return false;
  reaches_[i] = false;
  if (i->shape().IsTuple() || i->shape().ElementCount() != elements_) return false;
  if (IsPlainProduct(*i)) {
    if (products_.size() == most_products_) return false;
    products_.push_back(i);
    return reaches_[i] = true;
  }
  if (!IsElementwise(i->opcode()) && !OnlyMoves(*i)) return false;
  bool any = false;
  for (const Instruction* operand : i->operands()) any |= Reaches(operand);
  return reaches_[i] = any;
}

bool ProductWalk::IsReached(const Instruction* i) const {
  const auto known = reaches_.find(i);
  return known != reaches_.end() && known->second;
}

std::vector<const Instruction*> ProductWalk::Reached() const {
  std::vector<const Instruction*> all;
  for (const auto& [instruction, reached] : reaches_) {
    if (reached) all.push_back(instruction);
  }
  return all;
}

bool ProductWalk::OnePlaceEach(IndexSpace& space, const Instruction* first, const MultiIndex& index) {
  places_ = {{first, index}};
  paths_ = {{first, {}}};
  std::vector<const Instruction*> pending{first};
  while (!pending.empty()) {
    const Instruction* i = pending.back();
    pending.pop_back();
    for (int k = 0; i->opcode() != Opcode::kDot && k < i->operand_count(); ++k) {
      if (!IsReached(i->operand(k))) continue;
      MultiIndex at = OperandIndex(space, *i, k, places_.at(i));
      const auto [known, fresh] = places_.emplace(i->operand(k), at);
      if (!fresh && known->second != at) return false;
      if (!fresh) continue;
      OperandPath& path = paths_[i->operand(k)] = paths_.at(i);
      path.emplace_back(i, k);
      pending.push_back(i->operand(k));
    }
  }
  return std::ranges::all_of(products_, [&](const Instruction* product) { return places_.contains(product); });
}

bool IsReductionBy(const Instruction& i, Opcode operation, double identity) {
  if (i.opcode() != Opcode::kReduce || i.operand_count() != 2 || !IsRealFloat(i) || i.notes().wide_sum) return false;
  const std::optional<double> init = SplatOf(*i.operand(1));
  return SingleOperation(*i.called(0)) == operation && init && *init == identity;
}

std::optional<Opcode> PlainReductionOf(const Instruction& i) {
  using enum Opcode;
  for (const auto& [operation, identity] :
       {std::pair(kAdd, 0.0), std::pair(kMaximum, -HUGE_VAL), std::pair(kMinimum, HUGE_VAL)}) {
    if (IsReductionBy(i, operation, identity)) return operation;
  }
  return std::nullopt;
}

MultiIndex ReducedIndex(IndexSpace& space, const Instruction& reduce, const MultiIndex& index,
                        const IndexExpression& along) {
  const Shape& shape = reduce.operand(0)->shape();
  const IntList& dimensions = reduce.dimensions();
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(dimensions, d) != dimensions.end(); };
  IntList sizes;
  for (int d = 0; d < shape.rank(); ++d) {
    if (is_reduced(d)) sizes.push_back(shape.dimension(d));
  }
  const MultiIndex digits = space.Delinearize(along, sizes);
  MultiIndex result;
  for (int d = 0, kept = 0, reduced = 0; d < shape.rank(); ++d) {
    result.push_back(is_reduced(d) ? digits[reduced++] : index[kept++]);
  }
  return result;
}

bool Mentions(const MultiIndex& index, int variable) {
  return std::ranges::any_of(index, [&](const IndexExpression& e) {
    return std::ranges::any_of(e.terms, [&](const IndexTerm& term) { return term.variable == variable; });
  });
}

std::optional<std::pair<const Instruction*, OperandPath>> FindComparison(const Instruction* mask, OperandPath path,
                                                                         const AcceptComparison& accept) {
  if (path.size() > kLongestMaskPath) return std::nullopt;
  if (mask->opcode() == Opcode::kCompare) {
    if (!accept(*mask, path)) return std::nullopt;
    return std::pair{mask, std::move(path)};
  }
  if (mask->opcode() != Opcode::kAnd && mask->opcode() != Opcode::kBroadcast && !OnlyMoves(*mask) && !IsGuarded(*mask))
    return std::nullopt;
  const int count = mask->opcode() == Opcode::kSelect ? 2 : mask->operand_count();
  for (int k = 0; k < count; ++k) {
    OperandPath on = path;
    on.emplace_back(mask, k);
    if (auto found = FindComparison(mask->operand(k), std::move(on), accept)) return found;
  }
  return std::nullopt;
}

std::optional<IndexExpression> ComparedPlaces(IndexSpace& space, const Instruction& compare, const MultiIndex& index) {
  const auto direction = compare.attributes<CompareAttributes>().direction;
  const bool greater = direction == ComparisonDirection::kGe || direction == ComparisonDirection::kGt;
  const bool less = direction == ComparisonDirection::kLe || direction == ComparisonDirection::kLt;
  if (!greater && !less) return std::nullopt;
  const auto a = Counted(space, *compare.operand(0), OperandIndex(space, compare, 0, index));
  const auto b = Counted(space, *compare.operand(1), OperandIndex(space, compare, 1, index));
  if (!a || !b) return std::nullopt;
  return greater ? space.Add(*a, space.Scale(*b, -1)) : space.Add(*b, space.Scale(*a, -1));
}

}  // namespace VXLA_NAMESPACE
