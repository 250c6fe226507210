// XLA's spellings of element types, shapes and literals, for programs written after its documents.
#pragma once

#include <initializer_list>

#include "core/builder/builder.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

using PrimitiveType = ElementType;
inline constexpr PrimitiveType PRED = ElementType::kPred, S4 = ElementType::kS4, S8 = ElementType::kS8,
                               S16 = ElementType::kS16, S32 = ElementType::kS32, S64 = ElementType::kS64,
                               U4 = ElementType::kU4, U8 = ElementType::kU8, U16 = ElementType::kU16,
                               U32 = ElementType::kU32, U64 = ElementType::kU64, F16 = ElementType::kF16,
                               BF16 = ElementType::kBF16, F32 = ElementType::kF32, F64 = ElementType::kF64,
                               C64 = ElementType::kC64, C128 = ElementType::kC128, TOKEN = ElementType::kToken;

namespace ShapeUtil {

inline Shape MakeShape(PrimitiveType type, const IntList& dimensions) { return Shape(type, dimensions); }
inline Shape MakeTupleShape(std::vector<Shape> elements) { return Shape::Tuple(std::move(elements)); }
inline Shape MakeTokenShape() { return Shape::Token(); }

}  // namespace ShapeUtil

namespace LiteralUtil {

inline Literal Zero(PrimitiveType type) { return Literal::Scalar(type, 0); }
inline Literal One(PrimitiveType type) { return Literal::Scalar(type, 1); }

// The least value of a type, -inf where there is one: what a maximum starts from.
Literal MinValue(PrimitiveType type);
// The greatest value of a type, inf where there is one: what a minimum starts from.
Literal MaxValue(PrimitiveType type);

}  // namespace LiteralUtil

// The branches as XLA takes them, {&first, &second}: without this form two pointers would pass for a range of
// computations.
inline XlaOp Conditional(XlaOp branch_index, std::initializer_list<const XlaComputation*> branch_computations,
                         const std::vector<XlaOp>& branch_operands) {
  std::vector<XlaComputation> branches;
  for (const XlaComputation* branch : branch_computations) branches.push_back(*branch);
  return Conditional(branch_index, branches, branch_operands);
}

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
