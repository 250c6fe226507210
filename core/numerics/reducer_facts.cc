#include "core/numerics/reducer_facts.h"

#include <algorithm>
#include <limits>

#include "core/numerics/accuracy.h"
#include "core/numerics/dot_algorithm.h"

namespace VXLA_NAMESPACE {
namespace {

// Whether a computation has y where it has x if the two halves of its parameters change places. `budget` bounds the
// comparisons, as both orders of a commuting operation's operands are tried: without an answer in time it is no.
bool Mirrors(const Instruction& x, const Instruction& y, int64_t count, int* budget) {
  if (--*budget < 0 || x.opcode() != y.opcode()) return false;
  if (x.opcode() == Opcode::kParameter) return y.parameter_number() == (x.parameter_number() + count) % (2 * count);
  if (x.operand_count() == 0) return &x == &y;
  if (x.shape() != y.shape() || !(x.attributes() == y.attributes()) || !x.called().empty()) return false;
  auto operands = [&](bool crossed) {
    for (int i = 0; i < x.operand_count(); ++i) {
      if (!Mirrors(*x.operand(i), *y.operand(crossed ? 1 - i : i), count, budget)) return false;
    }
    return true;
  };
  return operands(false) || (x.operand_count() == 2 && Commutes(x) && operands(true));
}

bool CommutesByText(const Computation& computation) {
  const Instruction& root = *computation.root();
  const int64_t count = static_cast<int64_t>(computation.parameters().size() / 2);
  int budget = 256;
  if (root.opcode() != Opcode::kTuple) return Mirrors(root, root, count, &budget);
  return std::ranges::all_of(root.operands(), [&](const Instruction* i) { return Mirrors(*i, *i, count, &budget); });
}

// What no value of the type lies below, or above.
Literal ExtremeOf(ElementType type, bool highest) {
  if (IsFloating(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Literal::Scalar(type, highest ? infinity : -infinity);
  }
  if (IsSigned(type)) return Literal::ScalarInt(type, highest ? MaxSigned(type) : MinSigned(type));
  return Literal::ScalarInt(type, highest ? static_cast<int64_t>(MaxUnsigned(type)) : 0);
}

// `type` is the accumulator's.
std::optional<Literal> IdentityOf(Opcode opcode, ElementType type) {
  const bool real = IsFloating(type) || IsInteger(type);
  const bool pred = type == ElementType::kPred;
  switch (opcode) {
    case Opcode::kAdd:
      if (pred) return std::nullopt;
      if (IsComplex(type)) {
        Literal zero{Shape(type)};
        zero.SetComplex(0, {-0.0, -0.0});
        return zero;
      }
      // Minus zero keeps a sum of minus zeros.
      return IsFloating(type) ? Literal::Scalar(type, -0.0) : Literal::ScalarInt(type, 0);
    case Opcode::kMultiply:
      if (!real) return std::nullopt;
      return IsFloating(type) ? Literal::Scalar(type, 1) : Literal::ScalarInt(type, 1);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      if (pred) return Literal::ScalarInt(type, opcode == Opcode::kMinimum);
      return real ? std::optional(ExtremeOf(type, opcode == Opcode::kMinimum)) : std::nullopt;
    case Opcode::kAnd:
      if (pred) return Literal::ScalarInt(type, 1);
      return IsInteger(type) ? std::optional(Literal::ScalarInt(type, -1)) : std::nullopt;
    case Opcode::kOr:
    case Opcode::kXor:
      return pred || IsInteger(type) ? std::optional(Literal::ScalarInt(type, 0)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool Commutes(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCompare) return Has(instruction.opcode(), Trait::kAssociates);
  const ComparisonDirection direction = instruction.attributes<CompareAttributes>().direction;
  return direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
}

std::optional<Opcode> SingleOperation(const Computation& computation) {
  const Instruction& root = *computation.root();
  if (computation.parameters().size() != 2 || root.operand_count() != 2 || !IsElementwise(root.opcode())) {
    return std::nullopt;
  }
  const Instruction *a = root.operand(0), *b = root.operand(1);
  const bool both = (a == computation.parameter(0) && b == computation.parameter(1)) ||
                    (a == computation.parameter(1) && b == computation.parameter(0));
  if (!both || root.shape().element_type() != computation.parameter(0)->shape().element_type()) return std::nullopt;
  return root.opcode();
}

ReducerFacts FactsOfReducer(const Computation& computation) {
  ReducerFacts facts;
  const size_t count = computation.parameters().size() / 2;
  for (size_t i = 0; i < count; ++i) {
    facts.types.push_back(computation.parameter(i)->shape().element_type());
  }
  facts.commutes = CommutesByText(computation);
  facts.order = OrderOf(computation);
  const std::optional<Opcode> operation = SingleOperation(computation);
  if (!operation || facts.in_order()) return facts;
  ElementType& type = facts.types[0];
  if (IsNarrowFloat(type)) type = ElementType::kF32;
  facts.identity = IdentityOf(*operation, type);
  facts.adds_floats = *operation == Opcode::kAdd && (IsFloating(type) || IsComplex(type));
  return facts;
}

std::optional<Literal> NeutralElement(const Computation& reducer, ElementType type) {
  const ReducerFacts facts = FactsOfReducer(reducer);
  if (!facts.identity) return std::nullopt;
  Literal neutral = *facts.identity;
  if (neutral.shape().element_type() != type) neutral = Literal::Scalar(type, neutral.GetDouble(0));
  if (!facts.adds_floats) return neutral;
  if (IsComplex(type)) {
    neutral.SetComplex(0, {-0.0, -0.0});
    return neutral;
  }
  return Literal::Scalar(type, -0.0);
}

ElementType DotSumType(ElementType lhs, ElementType rhs, ElementType result) {
  bool complex = false, floating = false, wide = false;
  for (ElementType type : {lhs, rhs, result}) {
    complex |= IsComplex(type);
    floating |= IsFloating(type);
    wide |= RealPart(type) == ElementType::kF64;
  }
  if (complex) return wide ? ElementType::kC128 : ElementType::kC64;
  if (floating) return wide ? ElementType::kF64 : ElementType::kF32;
  if (result == ElementType::kPred || BitWidth(result) == 64) return result;
  return IsSigned(result) ? ElementType::kS32 : ElementType::kU32;
}

const DotAlgorithm* AlgorithmOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kDot) return nullptr;
  return FindDotAlgorithm(instruction.attributes<DotAttributes>().algorithm);
}

ElementType DotSumType(const Instruction& product) {
  if (const DotAlgorithm* const algorithm = AlgorithmOf(product))
    return algorithm->sum == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32;
  return DotSumType(product.operand(0)->shape().element_type(), product.operand(1)->shape().element_type(),
                    product.shape().element_type());
}

double DotAlgorithmApart(const Instruction& instruction) {
  const DotAlgorithm* const algorithm = AlgorithmOf(instruction);
  return algorithm == nullptr ? 0 : algorithm->apart();
}

ElementType SumRoundedTo(const Instruction& instruction) {
  const ElementType result = instruction.shape().element_type();
  const DotAlgorithm* const algorithm = AlgorithmOf(instruction);
  if (algorithm == nullptr || !IsFloating(result) || BitWidth(algorithm->sum) > BitWidth(result)) return result;
  return algorithm->sum;
}

std::optional<ElementType> PairTypeOf(const Instruction& instruction) {
  // So many roundings are within the bound whichever way they go: 24 sqrt(n) of them (core/numerics/accuracy.h).
  constexpr int64_t kMostPlainFactors = 512;
  if (instruction.notes().wide_sum) return ElementType::kC64;
  if (instruction.opcode() != Opcode::kReduce && instruction.opcode() != Opcode::kReduceWindow) return std::nullopt;
  if (AccumulationLength(instruction) <= kMostPlainFactors) return std::nullopt;
  if (SingleOperation(*instruction.called(0)) != Opcode::kMultiply) return std::nullopt;
  const ElementType type = FactsOfReducer(*instruction.called(0)).types[0];
  if (!IsFloating(type)) return std::nullopt;
  return type == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
}

void MarkWideAccumulations(Module& module) {
  for (const auto& i : EachInstruction(module)) {
    bool wide = false;
    if (i->opcode() == Opcode::kDot || i->opcode() == Opcode::kConvolution) {
      wide = DotSumType(*i) == ElementType::kF32;
    } else if (i->opcode() == Opcode::kReduce || i->opcode() == Opcode::kReduceWindow) {
      const ReducerFacts facts = FactsOfReducer(*i->called(0));
      wide = facts.adds_floats && facts.types[0] == ElementType::kF32;
    }
    if (wide) i->mutable_notes().wide_sum = true;
  }
}

}  // namespace VXLA_NAMESPACE
