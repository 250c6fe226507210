#include "core/passes/base/fusion_rules.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/module.h"
#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/combiner_order.h"

namespace VXLA_NAMESPACE {

namespace {

// What fusion makes of a KERNEL row of core/ir/opcode.def.
struct HeroFacts {
  std::optional<FusionKind> kind;
  bool fuses = true;     // what feeds it is computed in its kernel; else it stands alone
  bool epilogue = true;  // and what follows it
  bool once = false;     // each element that feeds it is asked for once
};
constexpr HeroFacts kAlone{FusionKind::kCustom, false, false}, kUpdates{FusionKind::kCustom, true, false, true};
constexpr HeroFacts kDotHero{FusionKind::kOutput}, kReduceHero{FusionKind::kInput},
    kReduceWindowHero{FusionKind::kCustom}, kFusionHero{std::nullopt};
constexpr HeroFacts kDynamicUpdateSliceHero = kUpdates, kScatterHero = kUpdates;
constexpr HeroFacts kConvolutionHero{FusionKind::kOutput}, kSelectAndScatterHero = kAlone;
constexpr HeroFacts kSortHero = kAlone, kTopKHero = kAlone;
constexpr HeroFacts kFftHero = kAlone;
constexpr HeroFacts kGetDimensionSizeHero = kAlone, kSetDimensionSizeHero = kAlone;
constexpr HeroFacts kRngGetAndUpdateStateHero = kAlone;
constexpr HeroFacts kCholeskyHero = kAlone, kTriangularSolveHero = kAlone;

HeroFacts FactsOfHero(Opcode opcode) {
  switch (opcode) {
#define KERNEL(Name, ...) \
  case Opcode::k##Name:   \
    return k##Name##Hero;
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
    // clang-format on
    default:
      return {std::nullopt, false, false};
  }
}

bool SameCount(const Instruction& a, const Instruction& b) {
  return a.shape().ElementCount() == b.shape().ElementCount();
}

// Whether each element of `instruction` reads `value`, an operand of as many elements, at its own row-major position
// only.
bool KeepsPosition(const Instruction& instruction, const Instruction& value) {
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kReshape:
    case Opcode::kCopy:
      return true;
    case Opcode::kBitcastConvert:
      return SameCount(instruction, *instruction.operand(0));
    case Opcode::kBroadcast:
      return std::ranges::is_sorted(instruction.attributes<DimensionsAttributes>().dimensions);
    case Opcode::kGather: {  // an index of one number for each element
      const int64_t vector = instruction.attributes<GatherAttributes>().index_vector_dim;
      return instruction.operand(0) != &value &&
             (vector >= value.shape().rank() || value.shape().dimension(vector) == 1);
    }
    default:
      return IsElementwise(instruction.opcode());
  }
}

}  // namespace

bool TouchesLiveSizes(const Instruction& i) {
  return i.shape().IsDynamic() ||
         std::ranges::any_of(i.operands(), [](const Instruction* operand) { return operand->shape().IsDynamic(); });
}

bool UsesLiveSizes(const Instruction& instruction) { return DeepProperty(TouchesLiveSizes).Of(instruction); }

std::optional<FusionKind> HeroKind(Opcode opcode) { return FactsOfHero(opcode).kind; }

bool IsHero(const Instruction& i) {
  const HeroFacts facts = FactsOfHero(i.opcode());
  return facts.kind.has_value() && facts.fuses && !TouchesLiveSizes(i);
}

bool TakesEpilogue(const Instruction& hero) { return FactsOfHero(hero.opcode()).epilogue; }

bool AsksOnce(const Instruction& hero) { return FactsOfHero(hero.opcode()).once || RunningWindowOf(hero); }

int UpdatedArrays(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kDynamicUpdateSlice) return 1;
  return instruction.opcode() == Opcode::kScatter ? instruction.operand_count() / 2 : 0;
}

bool IsHeroElement(const Instruction& i) { return i.opcode() == Opcode::kGetTupleElement && IsHero(*i.operand(0)); }

bool IsFusible(const Instruction& i) {
  if (TouchesLiveSizes(i)) return false;
  if (i.opcode() == Opcode::kBitcastConvert) {
    return BitWidth(i.shape().element_type()) == BitWidth(i.operand(0)->shape().element_type());
  }
  const OpcodeKind kind = KindOf(i.opcode());
  return kind == OpcodeKind::kElementwise || kind == OpcodeKind::kIndexing || i.opcode() == Opcode::kReshape;
}

bool IsIndexOnly(const Instruction& i) {
  return i.opcode() == Opcode::kReshape || KindOf(i.opcode()) == OpcodeKind::kIndexing;
}

bool IsFree(const Instruction& i) {
  const auto is_one = [](const Instruction& value) {
    return value.opcode() == Opcode::kConstant && value.shape().IsArray() && value.shape().ElementCount() == 1;
  };
  return i.opcode() == Opcode::kIota || is_one(i) || (i.opcode() == Opcode::kBroadcast && is_one(*i.operand(0)));
}

int ElementCost(const Instruction& i) {
  if (!IsElementwise(i.opcode())) return 0;
  int cost = Has(i.opcode(), Trait::kDear) ? 16 : Has(i.opcode(), Trait::kCostly) ? 4 : 1;
  const ElementType type = i.operand(0)->shape().element_type();
  if (cost > 1 && (IsComplex(type) || type == ElementType::kF64)) cost *= 4;
  return cost;
}

int64_t ExpandedOperations(const Instruction& i, const TargetInfo& target) {
  if (!IsElementwise(i.opcode())) return 1;
  const ElementType result = i.shape().element_type(), operand = i.operand(0)->shape().element_type();
  const ElementType type = IsComplex(result) || BitWidth(result) > BitWidth(operand) ? result : operand;
  const bool divides = i.opcode() == Opcode::kDivide || i.opcode() == Opcode::kRemainder;
  const bool function = ElementCost(i) >= 16 && !(IsComplex(type) && divides);
  if (BitWidth(type) < 64) return function ? 64 : divides ? 16 : 1;
  const bool multiplies = i.opcode() == Opcode::kMultiply;
  if (IsInteger(type)) {
    if (!target.emulates_i64) return divides ? 4 : 1;
    return divides ? 256 : multiplies ? 16 : 4;
  }
  // What one addition, product, quotient and function of the parts comes to.
  const bool wide = type != ElementType::kC64, emulated = wide && target.emulates_f64;
  const int64_t sum = emulated ? 128 : 1, function_of_parts = emulated ? 8192 : wide ? 128 : 64;
  if (!IsComplex(type)) return function ? function_of_parts : divides ? (emulated ? 512 : 16) : sum;
  if (function) return 16 * function_of_parts;
  return divides ? 512 * sum : multiplies ? 8 * sum : 2 * sum;
}

int64_t ProductReuse(const Instruction& product, const Instruction& operand) {
  return std::max<int64_t>(1, product.shape().ElementCount() * AccumulationLength(product) /
                                  std::max<int64_t>(1, operand.shape().ElementCount()));
}

bool ReadsAtOwnIndex(const Instruction& user, int k) {
  const Shape& shape = user.shape();
  const Shape& operand = user.operand(k)->shape();
  if (!IsPlainMap(user) || operand.ElementCount() != shape.ElementCount()) return false;
  if (IsElementwise(user.opcode())) return SameDimensions(shape, operand);
  IndexSpace space;
  const IndexExpression linear = space.Variable(space.AddVariable(shape.ElementCount()));
  const MultiIndex index = OperandIndex(space, user, k, space.Delinearize(linear, shape.dimensions()));
  return space.Linearize(index, operand.dimensions()) == linear;
}

bool ReadsOwnElementOnly(const Computation& fused, int64_t number) {
  std::vector<const Instruction*> pending{fused.parameter(number)};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* value = pending.back();
    pending.pop_back();
    for (const Instruction* user : value->users()) {
      if (user->opcode() == Opcode::kReduce && SameCount(*user->operand(0), *value)) continue;
      if (!KeepsPosition(*user, *value)) return false;
      if (user->opcode() != Opcode::kTuple && !SameCount(*user, *value)) return false;
      if (seen.insert(user).second) pending.push_back(user);
    }
  }
  return true;
}

std::vector<RowSpace::Run> RowSpace::RunsOf(const Instruction& reduce) {
  std::vector<Run> runs;
  const auto dimensions = reduce.operand(0)->shape().dimensions();
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d] == 1) continue;
    const bool reduced = std::ranges::find(reduce.dimensions(), static_cast<int64_t>(d)) != reduce.dimensions().end();
    if (!runs.empty() && runs.back().reduced == reduced) {
      runs.back().size *= dimensions[d];
    } else {
      runs.push_back({dimensions[d], reduced});
    }
  }
  return runs;
}

bool RowSpace::IsInOrder(const Instruction& reduce) { return OrderOf(*reduce.called(0)) == CombinerOrder::kInOrder; }

RowSpace::RowSpace(const Instruction& reduce) : runs_(RunsOf(reduce)), in_order_(IsInOrder(reduce)) {
  for (const Run& run : runs_) (run.reduced ? row_size : rows) *= run.size;
}

bool RowSpace::Matches(const Instruction& reduce) const {
  return RunsOf(reduce) == runs_ && IsInOrder(reduce) == in_order_;
}

RowSpace::Place RowSpace::PlaceOf(const Shape& shape) const {
  if (!shape.IsArray()) return Place::kNone;
  const int64_t count = shape.ElementCount();
  return count == rows ? Place::kRow : count == rows * row_size ? Place::kElement : Place::kNone;
}

IndexExpression RowSpace::ElementLinear(IndexSpace& space, const IndexExpression& row,
                                        const IndexExpression& element) const {
  IntList sizes, kept, reduced;
  for (const Run& run : runs_) {
    sizes.push_back(run.size);
    (run.reduced ? reduced : kept).push_back(run.size);
  }
  const MultiIndex outer = space.Delinearize(row, kept), inner = space.Delinearize(element, reduced);
  MultiIndex index;
  size_t next_outer = 0, next_inner = 0;
  for (const Run& run : runs_) index.push_back(run.reduced ? inner[next_inner++] : outer[next_outer++]);
  return space.Linearize(index, sizes);
}

MultiIndex RowSpace::IndexAt(IndexSpace& space, Place place, std::span<const int64_t> dimensions,
                             const IndexExpression& row, const IndexExpression& element) const {
  return space.Delinearize(place == Place::kElement ? ElementLinear(space, row, element) : row, dimensions);
}

bool RowSpace::ReadsOwnRow(const Instruction& user, Place user_place, int k, Place operand_place) const {
  if (!IsPlainMap(user)) return false;
  IndexSpace space;
  const IndexExpression row = space.Variable(space.AddVariable(rows));
  const IndexExpression element = space.Variable(space.AddVariable(row_size));
  const MultiIndex at = IndexAt(space, user_place, user.shape().dimensions(), row, element);
  const IndexExpression read = space.Linearize(OperandIndex(space, user, k, at), user.operand(k)->shape().dimensions());
  return read == (operand_place == Place::kElement ? ElementLinear(space, row, element) : row);
}

}  // namespace VXLA_NAMESPACE
