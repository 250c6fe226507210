// The builder's implicit broadcasting, made explicit as broadcast and reshape instructions.
#pragma once

#include "core/builder/emit.h"

namespace VXLA_NAMESPACE {

// The dimensions that two operands broadcast to (spec/xla_broadcasting): rank expansion by broadcast_dimensions, then
// dimensions of size 1. `lhs_mapping` and `rhs_mapping` say which of them each operand dimension becomes.
struct BroadcastPlan {
  IntList dimensions, lhs_mapping, rhs_mapping;
};
Result<BroadcastPlan> PlanBroadcast(Opcode opcode, const Shape& lhs, const Shape& rhs,
                                    const IntList& broadcast_dimensions);

// `operand` in the given dimensions: operand dimension i becomes mapping[i], its size kept or grown from 1.
Result<XlaOp> BroadcastTo(XlaBuilder& builder, XlaOp operand, const IntList& dimensions, const IntList& mapping);

// An instruction of two operands, each in the dimensions that they have together; a scalar broadcasts in any case.
XlaOp EmitBinary(Opcode opcode, XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions,
                 const Attributes& attributes = NoAttributes{});

}  // namespace VXLA_NAMESPACE
