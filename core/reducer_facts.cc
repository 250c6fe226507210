#include "core/reducer_facts.h"

#include <limits>

namespace vxla {
namespace {

// In the instruction's backend_config, which passes keep.
constexpr char kWideMark[] = "{\"vxla_accumulation\":\"wide\"}";

// The operation of a computation that is one binary operation of its two parameters.
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

ReducerFacts FactsOfReducer(const Computation& computation) {
  ReducerFacts facts;
  const size_t count = computation.parameters().size() / 2;
  for (size_t i = 0; i < count; ++i) {
    facts.types.push_back(computation.parameter(static_cast<int64_t>(i))->shape().element_type());
  }
  const std::optional<Opcode> operation = SingleOperation(computation);
  if (!operation) return facts;
  ElementType& type = facts.types[0];
  if (IsNarrowFloat(type)) type = ElementType::kF32;
  facts.identity = IdentityOf(*operation, type);
  facts.adds_floats = *operation == Opcode::kAdd && (IsFloating(type) || IsComplex(type));
  return facts;
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

bool AccumulatesWide(const Instruction& instruction) { return instruction.common().backend_config.text == kWideMark; }

void MarkWideAccumulations(Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      bool wide = false;
      if (i->opcode() == Opcode::kDot) {
        wide = DotSumType(i->operand(0)->shape().element_type(), i->operand(1)->shape().element_type(),
                          i->shape().element_type()) == ElementType::kF32;
      } else if (i->opcode() == Opcode::kReduce || i->opcode() == Opcode::kReduceWindow) {
        const ReducerFacts facts = FactsOfReducer(*i->called(0));
        wide = facts.adds_floats && facts.types[0] == ElementType::kF32;
      }
      if (wide) i->mutable_common().backend_config.text = kWideMark;
    }
  }
}

}  // namespace vxla
