#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/builder/broadcast.h"

namespace VXLA_NAMESPACE {
namespace {

IntList Identity(int rank) {
  IntList mapping(rank);
  std::iota(mapping.begin(), mapping.end(), 0);
  return mapping;
}

// The lower rank's mapping into the higher rank, checked.
Result<IntList> CheckMapping(Opcode opcode, const Shape& low, const Shape& high, const IntList& mapping) {
  if (static_cast<int>(mapping.size()) != low.rank()) {  // broadcast_c1
    return InvalidArgument("{}: {} broadcast_dimensions for {} and {}, {} needed", OpcodeText(opcode), mapping.size(),
                           low.ToString(), high.ToString(), low.rank());
  }
  for (size_t i = 0; i < mapping.size(); ++i) {
    if (mapping[i] < 0 || mapping[i] >= high.rank()) {  // broadcast_c2
      return InvalidArgument("{}: broadcast dimension {} is not a dimension of {}", OpcodeText(opcode), mapping[i],
                             high.ToString());
    }
    if (i > 0 && mapping[i] <= mapping[i - 1]) {  // broadcast_c3
      return InvalidArgument("{}: broadcast_dimensions {{{}}} are not strictly increasing", OpcodeText(opcode),
                             JoinInts(mapping));
    }
  }
  return mapping;
}

}  // namespace

Result<BroadcastPlan> PlanBroadcast(Opcode opcode, const Shape& lhs, const Shape& rhs,
                                    const IntList& broadcast_dimensions) {
  if (!lhs.IsArray() || !rhs.IsArray()) {  // broadcast_c6
    return InvalidArgument("{}: {} and {} are not both arrays", OpcodeText(opcode), lhs.ToString(), rhs.ToString());
  }
  BroadcastPlan plan;
  if (lhs.rank() == rhs.rank()) {
    plan.lhs_mapping = plan.rhs_mapping = Identity(lhs.rank());
    if (!broadcast_dimensions.empty() && broadcast_dimensions != plan.lhs_mapping) {  // broadcast_c4
      return InvalidArgument("{}: broadcast_dimensions {{{}}} for {} and {} of equal rank", OpcodeText(opcode),
                             JoinInts(broadcast_dimensions), lhs.ToString(), rhs.ToString());
    }
  } else {
    const bool left_is_low = lhs.rank() < rhs.rank();
    const Shape& low = left_is_low ? lhs : rhs;
    const Shape& high = left_is_low ? rhs : lhs;
    VXLA_ASSIGN_OR_RETURN(IntList mapping, CheckMapping(opcode, low, high, broadcast_dimensions));
    (left_is_low ? plan.lhs_mapping : plan.rhs_mapping) = std::move(mapping);
    (left_is_low ? plan.rhs_mapping : plan.lhs_mapping) = Identity(high.rank());
  }
  // A dimension that an operand lacks counts as size 1; -1 marks it until a size is known.
  plan.dimensions.assign(std::max(lhs.rank(), rhs.rank()), -1);
  auto merge = [&](const Shape& shape, const IntList& mapping) -> Status {
    for (int i = 0; i < shape.rank(); ++i) {
      int64_t& size = plan.dimensions[mapping[i]];
      if (size == -1 || size == 1) {
        size = shape.dimension(i);
      } else if (shape.dimension(i) != 1 && shape.dimension(i) != size) {  // broadcast_c5
        return InvalidArgument("{}: {} and {} are incompatible in dimension {}", OpcodeText(opcode), lhs.ToString(),
                               rhs.ToString(), mapping[i]);
      }
    }
    return OkStatus();
  };
  VXLA_RETURN_IF_ERROR(merge(lhs, plan.lhs_mapping));
  VXLA_RETURN_IF_ERROR(merge(rhs, plan.rhs_mapping));
  return plan;
}

Result<XlaOp> BroadcastTo(XlaBuilder& builder, XlaOp operand, const IntList& dimensions, const IntList& mapping) {
  const Shape& shape = operand.shape();
  if (std::ranges::equal(shape.dimensions(), dimensions))
    return operand;  // only the identity keeps all sizes of a plan
  IntList kept_sizes, kept_mapping;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dimension(i) != dimensions[mapping[i]]) continue;  // of size 1: HLO's broadcast cannot grow it
    kept_sizes.push_back(shape.dimension(i));
    kept_mapping.push_back(mapping[i]);
  }
  const ElementType type = shape.element_type();
  if (static_cast<int>(kept_sizes.size()) != shape.rank())
    VXLA_SET_OR_RETURN(operand, Emit(builder, Opcode::kReshape, {{operand}}, Shape(type, kept_sizes)));
  return Emit(builder, Opcode::kBroadcast, {{operand}}, Shape(type, dimensions), DimensionsAttributes{kept_mapping});
}

namespace {

XlaOp Unary(Opcode opcode, XlaOp operand) {
  const XlaOp operands[] = {operand};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) { return Emit(b, opcode, operands); });
}

XlaOp Binary(Opcode opcode, XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions,
             const Attributes& attributes = NoAttributes{}) {
  const XlaOp operands[] = {lhs, rhs};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) -> Result<XlaOp> {
    VXLA_ASSIGN_OR_RETURN(const BroadcastPlan plan, [&]() -> Result<BroadcastPlan> {
      // A scalar broadcasts without saying where to.
      const bool scalar = lhs.shape().IsScalar() != rhs.shape().IsScalar();
      return PlanBroadcast(opcode, lhs.shape(), rhs.shape(), scalar ? IntList{} : broadcast_dimensions);
    }());
    VXLA_ASSIGN_OR_RETURN(const XlaOp left, BroadcastTo(b, lhs, plan.dimensions, plan.lhs_mapping));
    VXLA_ASSIGN_OR_RETURN(const XlaOp right, BroadcastTo(b, rhs, plan.dimensions, plan.rhs_mapping));
    return Emit(b, opcode, {{left, right}}, {}, attributes);
  });
}

XlaOp TotalOrder(XlaOp lhs, XlaOp rhs, ComparisonDirection direction, const IntList& broadcast_dimensions) {
  const bool floats = lhs.valid() && IsFloating(lhs.shape().element_type());
  return Compare(lhs, rhs, direction, broadcast_dimensions,
                 floats ? ComparisonType::kTotalOrder : ComparisonType::kDefault);
}

// A scalar as an array of the given shape's dimensions; anything else as it is.
Result<XlaOp> ScalarTo(XlaBuilder& builder, XlaOp operand, const Shape& shape) {
  if (!operand.shape().IsScalar() || !shape.IsArray()) return operand;
  return BroadcastTo(builder, operand, IntList(shape.dimensions().begin(), shape.dimensions().end()), {});
}

Result<XlaOp> SelectAny(XlaBuilder& b, XlaOp pred, XlaOp on_true, XlaOp on_false) {
  if (!on_true.shape().IsTuple() || !on_false.shape().IsTuple()) {
    const Shape& shape = !on_true.shape().IsScalar()    ? on_true.shape()
                         : !on_false.shape().IsScalar() ? on_false.shape()
                                                        : pred.shape();
    VXLA_ASSIGN_OR_RETURN(on_true, ScalarTo(b, on_true, shape));
    VXLA_ASSIGN_OR_RETURN(on_false, ScalarTo(b, on_false, shape));
    return Emit(b, Opcode::kSelect, {{pred, on_true, on_false}});
  }
  if (!Compatible(on_true.shape(), on_false.shape()) || !pred.shape().IsScalar()) {  // select_tuple_c1
    return InvalidArgument("select: {} of {} and {}: tuples need one shape and a scalar pred", pred.shape().ToString(),
                           on_true.shape().ToString(), on_false.shape().ToString());
  }
  std::vector<XlaOp> elements;
  for (size_t i = 0; i < on_true.shape().tuple_elements().size(); ++i) {
    const GetTupleElementAttributes index{static_cast<int64_t>(i)};
    VXLA_ASSIGN_OR_RETURN(const XlaOp left, Emit(b, Opcode::kGetTupleElement, {{on_true}}, {}, index));
    VXLA_ASSIGN_OR_RETURN(const XlaOp right, Emit(b, Opcode::kGetTupleElement, {{on_false}}, {}, index));
    VXLA_ASSIGN_OR_RETURN(elements.emplace_back(), SelectAny(b, pred, left, right));
  }
  return Emit(b, Opcode::kTuple, elements);
}

}  // namespace

#define VXLA_UNARY(Name, Kind) \
  XlaOp Name(XlaOp operand) { return Unary(Opcode::k##Kind, operand); }
VXLA_UNARY(Abs, Abs)
VXLA_UNARY(Acos, Acos)
VXLA_UNARY(Acosh, Acosh)
VXLA_UNARY(Asin, Asin)
VXLA_UNARY(Asinh, Asinh)
VXLA_UNARY(Atan, Atan)
VXLA_UNARY(Atanh, Atanh)
VXLA_UNARY(Cbrt, Cbrt)
VXLA_UNARY(Ceil, Ceil)
VXLA_UNARY(Clz, Clz)
VXLA_UNARY(Cos, Cos)
VXLA_UNARY(Cosh, Cosh)
VXLA_UNARY(Digamma, Digamma)
VXLA_UNARY(Erf, Erf)
VXLA_UNARY(Erfc, Erfc)
VXLA_UNARY(ErfInv, ErfInv)
VXLA_UNARY(Exp, Exp)
VXLA_UNARY(Expm1, Expm1)
VXLA_UNARY(Floor, Floor)
VXLA_UNARY(Imag, Imag)
VXLA_UNARY(IsFinite, IsFinite)
VXLA_UNARY(Lgamma, Lgamma)
VXLA_UNARY(Log, Log)
VXLA_UNARY(Log1p, Log1p)
VXLA_UNARY(Logistic, Logistic)
VXLA_UNARY(LogicalNot, Not)
VXLA_UNARY(Neg, Negate)
VXLA_UNARY(Not, Not)
VXLA_UNARY(PopulationCount, PopulationCount)
VXLA_UNARY(Real, Real)
VXLA_UNARY(Round, RoundNearestAfz)
VXLA_UNARY(RoundNearestEven, RoundNearestEven)
VXLA_UNARY(Rsqrt, Rsqrt)
VXLA_UNARY(Sign, Sign)
VXLA_UNARY(Sin, Sin)
VXLA_UNARY(Sinh, Sinh)
VXLA_UNARY(Sqrt, Sqrt)
VXLA_UNARY(Tan, Tan)
VXLA_UNARY(Tanh, Tanh)
VXLA_UNARY(Copy, Copy)
#undef VXLA_UNARY

#define VXLA_BINARY(Name, Kind)                                           \
  XlaOp Name(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) { \
    return Binary(Opcode::k##Kind, lhs, rhs, broadcast_dimensions);       \
  }
VXLA_BINARY(Add, Add)
VXLA_BINARY(And, And)
VXLA_BINARY(Atan2, Atan2)
VXLA_BINARY(Complex, Complex)
VXLA_BINARY(Div, Divide)
VXLA_BINARY(LogicalAnd, And)
VXLA_BINARY(LogicalOr, Or)
VXLA_BINARY(Max, Maximum)
VXLA_BINARY(Min, Minimum)
VXLA_BINARY(Mul, Multiply)
VXLA_BINARY(Mulhi, Mulhi)
VXLA_BINARY(Or, Or)
VXLA_BINARY(Pow, Power)
VXLA_BINARY(Rem, Remainder)
VXLA_BINARY(ShiftLeft, ShiftLeft)
VXLA_BINARY(ShiftRightArithmetic, ShiftRightArithmetic)
VXLA_BINARY(ShiftRightLogical, ShiftRightLogical)
VXLA_BINARY(Sub, Subtract)
VXLA_BINARY(Xor, Xor)
#undef VXLA_BINARY

#define VXLA_COMPARE(Name)                                                            \
  XlaOp Name(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) {             \
    return Compare(lhs, rhs, ComparisonDirection::k##Name, broadcast_dimensions);     \
  }                                                                                   \
  XlaOp Name##TotalOrder(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) { \
    return TotalOrder(lhs, rhs, ComparisonDirection::k##Name, broadcast_dimensions);  \
  }
VXLA_COMPARE(Eq)
VXLA_COMPARE(Ne)
VXLA_COMPARE(Ge)
VXLA_COMPARE(Gt)
VXLA_COMPARE(Le)
VXLA_COMPARE(Lt)
#undef VXLA_COMPARE

XlaOp Compare(XlaOp lhs, XlaOp rhs, ComparisonDirection direction, const IntList& broadcast_dimensions,
              ComparisonType type) {
  return Binary(Opcode::kCompare, lhs, rhs, broadcast_dimensions, CompareAttributes{direction, type});
}

XlaOp Compare(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions, ComparisonDirection direction,
              ComparisonType type) {
  return Compare(lhs, rhs, direction, broadcast_dimensions, type);
}

XlaOp Clamp(XlaOp min, XlaOp operand, XlaOp max) {
  const XlaOp operands[] = {min, operand, max};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) { return Emit(b, Opcode::kClamp, operands); });
}

XlaOp Select(XlaOp pred, XlaOp on_true, XlaOp on_false) {
  const XlaOp operands[] = {pred, on_true, on_false};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) { return SelectAny(b, pred, on_true, on_false); });
}

XlaOp ConvertElementType(XlaOp operand, ElementType new_element_type) {
  const XlaOp operands[] = {operand};
  return RunBuild(nullptr, operands,
                  [&](XlaBuilder& b) { return Emit(b, Opcode::kConvert, operands, Shape(new_element_type)); });
}

XlaOp BitcastConvertType(XlaOp operand, ElementType new_element_type) {
  const XlaOp operands[] = {operand};
  return RunBuild(nullptr, operands,
                  [&](XlaBuilder& b) { return Emit(b, Opcode::kBitcastConvert, operands, Shape(new_element_type)); });
}

XlaOp StochasticConvertType(XlaOp operand, XlaOp random, ElementType new_element_type) {
  return EmitOne(nullptr, Opcode::kStochasticConvert, {operand, random}, Shape(new_element_type));
}

XlaOp ReducePrecision(XlaOp operand, int64_t mantissa_bits, int64_t exponent_bits) {
  const XlaOp operands[] = {operand};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) {
    return Emit(b, Opcode::kReducePrecision, operands, {}, ReducePrecisionAttributes{exponent_bits, mantissa_bits});
  });
}

}  // namespace VXLA_NAMESPACE
