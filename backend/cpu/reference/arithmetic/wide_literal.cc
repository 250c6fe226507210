#include "backend/cpu/reference/arithmetic/wide_literal.h"

#include "backend/cpu/reference/arithmetic/block.h"

namespace VXLA_NAMESPACE {
namespace {

Literal OfOtherType(const Literal& literal, ElementType type) {
  Shape shape = literal.shape();
  shape.set_element_type(type);
  Literal result = Literal::Uninitialized(shape);
  for (int d = 0; literal.is_dynamic() && d < shape.rank(); ++d) {
    if (shape.is_dynamic_dimension(d)) result.set_dynamic_size(d, literal.dynamic_size(d));
  }
  return result;
}

}  // namespace

ElementType WideType(ElementType type) {
  return IsFloating(type) ? ElementType::kF64 : IsComplex(type) ? ElementType::kC128 : type;
}

// The reference's carriers of floats are double and pairs of double.
Literal WidenLiteral(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (!literal.shape().IsArray() || WideType(type) == type) return literal;
  Literal wide = OfOtherType(literal, WideType(type));
  LoadElements(type, literal.bytes().data(), literal.element_count(), wide.mutable_bytes().data());
  return wide;
}

Literal NarrowLiteral(const Literal& wide, ElementType type) {
  if (type == wide.shape().element_type()) return wide;
  Literal result = OfOtherType(wide, type);
  StoreElements(type, wide.bytes().data(), wide.element_count(), result.mutable_bytes().data());
  return result;
}

}  // namespace VXLA_NAMESPACE
