
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

XlaOp EmitBinary(Opcode opcode, XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions,
                 const Attributes& attributes) {
  const XlaOp operands[] = {lhs, rhs};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) -> Result<XlaOp> {
    // A scalar broadcasts without saying where to.
    const bool scalar = lhs.shape().IsScalar() != rhs.shape().IsScalar();
    VXLA_ASSIGN_OR_RETURN(const BroadcastPlan plan,
                          PlanBroadcast(opcode, lhs.shape(), rhs.shape(), scalar ? IntList{} : broadcast_dimensions));
    VXLA_ASSIGN_OR_RETURN(const XlaOp left, BroadcastTo(b, lhs, plan.dimensions, plan.lhs_mapping));
    VXLA_ASSIGN_OR_RETURN(const XlaOp right, BroadcastTo(b, rhs, plan.dimensions, plan.rhs_mapping));
    return Emit(b, opcode, {{left, right}}, {}, attributes);
  });
}

#define VXLA_UNARY(Name, Kind) \
  XlaOp Name(XlaOp operand) { return EmitOne(nullptr, Opcode::k##Kind, {operand}); }
#define VXLA_BINARY(Name, Kind)                                           \
  XlaOp Name(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) { \
    return EmitBinary(Opcode::k##Kind, lhs, rhs, broadcast_dimensions);   \
  }
#define VXLA_COMPARE(Name)                                                            \
  XlaOp Name(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) {             \
    return Compare(lhs, rhs, ComparisonDirection::k##Name, broadcast_dimensions);     \
  }                                                                                   \
  XlaOp Name##TotalOrder(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions) { \
    return TotalOrder(lhs, rhs, ComparisonDirection::k##Name, broadcast_dimensions);  \
  }
#include "core/builder/elementwise_functions.def"
#undef VXLA_UNARY
#undef VXLA_BINARY
#undef VXLA_COMPARE

XlaOp Compare(XlaOp lhs, XlaOp rhs, ComparisonDirection direction, const IntList& broadcast_dimensions,
              ComparisonType type) {
  return EmitBinary(Opcode::kCompare, lhs, rhs, broadcast_dimensions, CompareAttributes{direction, type});
}

XlaOp Compare(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions, ComparisonDirection direction,
              ComparisonType type) {
  return Compare(lhs, rhs, direction, broadcast_dimensions, type);
}

XlaOp Clamp(XlaOp min, XlaOp operand, XlaOp max) { return EmitOne(nullptr, Opcode::kClamp, {min, operand, max}); }

XlaOp Select(XlaOp pred, XlaOp on_true, XlaOp on_false) {
  const XlaOp operands[] = {pred, on_true, on_false};
  return RunBuild(nullptr, operands, [&](XlaBuilder& b) { return SelectAny(b, pred, on_true, on_false); });
}

XlaOp ConvertElementType(XlaOp operand, ElementType new_element_type) {
  return EmitOne(nullptr, Opcode::kConvert, {operand}, Shape(new_element_type));
}

XlaOp BitcastConvertType(XlaOp operand, ElementType new_element_type) {
  return EmitOne(nullptr, Opcode::kBitcastConvert, {operand}, Shape(new_element_type));
}

XlaOp StochasticConvertType(XlaOp operand, XlaOp random, ElementType new_element_type) {
  return EmitOne(nullptr, Opcode::kStochasticConvert, {operand, random}, Shape(new_element_type));
}

XlaOp ReducePrecision(XlaOp operand, int64_t mantissa_bits, int64_t exponent_bits) {
  return EmitOne(nullptr, Opcode::kReducePrecision, {operand}, {},
                 ReducePrecisionAttributes{exponent_bits, mantissa_bits});
}

}  // namespace VXLA_NAMESPACE
