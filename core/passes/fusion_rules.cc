#include "core/passes/fusion_rules.h"

#include <algorithm>

namespace vxla {

namespace {

// What live sizes touch is evaluated on the host: it takes nothing else there.
bool TouchesLiveSizes(const Instruction& i) {
  return i.shape().IsDynamic() ||
         std::ranges::any_of(i.operands(), [](const Instruction* operand) { return operand->shape().IsDynamic(); });
}

}  // namespace

bool IsHero(const Instruction& i) {
  if (TouchesLiveSizes(i)) return false;
  return i.opcode() == Opcode::kDot || i.opcode() == Opcode::kReduce || i.opcode() == Opcode::kReduceWindow;
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
  if (i.opcode() == Opcode::kConstant) return i.shape().IsScalar();
  if (i.opcode() == Opcode::kIota) return true;
  return i.opcode() == Opcode::kBroadcast && i.operand(0)->opcode() == Opcode::kConstant &&
         i.operand(0)->shape().IsScalar();
}

int ElementCost(const Instruction& i) {
  if (!IsElementwise(i.opcode())) return 0;
  int cost = 1;
  switch (i.opcode()) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
      cost = 4;
      break;
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan:
    case Opcode::kAtan2:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kDigamma:
    case Opcode::kErf:
    case Opcode::kErfc:
    case Opcode::kErfInv:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLgamma:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kTan:
    case Opcode::kTanh:
      cost = 16;
      break;
    default:
      break;
  }
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

int64_t DotReuse(const Instruction& dot, const Instruction& operand) {
  int64_t contracted = 1;
  for (int64_t d : dot.attributes<DotAttributes>().lhs_contracting_dims)
    contracted *= dot.operand(0)->shape().dimension(d);
  return std::max<int64_t>(
      1, dot.shape().ElementCount() * contracted / std::max<int64_t>(1, operand.shape().ElementCount()));
}

namespace {

bool IsPlainMap(const Instruction& i) {
  return i.opcode() != Opcode::kPad && i.opcode() != Opcode::kConcatenate && i.opcode() != Opcode::kIota;
}

}  // namespace

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

RowSpace::RowSpace(const Instruction& reduce) : reduced(reduce.dimensions()) {
  std::ranges::sort(reduced);
  const auto dimensions = reduce.operand(0)->shape().dimensions();
  element_dimensions.assign(dimensions.begin(), dimensions.end());
  IntList kept_sizes, reduced_sizes;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const bool is_reduced = std::ranges::binary_search(reduced, static_cast<int64_t>(d));
    (is_reduced ? reduced_sizes : kept_sizes).push_back(dimensions[d]);
    (is_reduced ? row_size : rows) *= dimensions[d];
  }
  row_variable_ = space_.AddVariable(rows);
  element_variable_ = space_.AddVariable(row_size);
  const MultiIndex kept = space_.Delinearize(space_.Variable(row_variable_), kept_sizes);
  const MultiIndex inner = space_.Delinearize(space_.Variable(element_variable_), reduced_sizes);
  size_t next_kept = 0, next_inner = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const bool is_reduced = std::ranges::binary_search(reduced, static_cast<int64_t>(d));
    element_index_.push_back(is_reduced ? inner[next_inner++] : kept[next_kept++]);
  }
  element_linear_ = space_.Linearize(element_index_, element_dimensions);
}

bool RowSpace::Matches(const Instruction& reduce) const {
  IntList sorted = reduce.dimensions();
  std::ranges::sort(sorted);
  return sorted == reduced && std::ranges::equal(reduce.operand(0)->shape().dimensions(), element_dimensions);
}

RowSpace::Place RowSpace::PlaceOf(const Shape& shape) const {
  if (!shape.IsArray()) return Place::kNone;
  if (std::ranges::equal(shape.dimensions(), element_dimensions) && !reduced.empty()) return Place::kElement;
  return shape.ElementCount() == rows ? Place::kRow : Place::kNone;
}

MultiIndex RowSpace::IndexAt(Place place, std::span<const int64_t> dimensions) {
  if (place == Place::kElement) return element_index_;
  return space_.Delinearize(space_.Variable(row_variable_), dimensions);
}

bool RowSpace::ReadsOwnRow(const Instruction& user, Place user_place, int k, Place operand_place) {
  if (!IsPlainMap(user)) return false;
  const auto dimensions = user.operand(k)->shape().dimensions();
  const MultiIndex index = OperandIndex(space_, user, k, IndexAt(user_place, user.shape().dimensions()));
  const IndexExpression linear = space_.Linearize(index, dimensions);
  return linear == (operand_place == Place::kElement ? element_linear_ : space_.Variable(row_variable_));
}

}  // namespace vxla
