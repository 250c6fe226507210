#include "core/builder/math.h"

#include "core/builder/emit.h"
#include "core/builder/xla_names.h"
#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

XlaOp FloatsOnly(const char* what, XlaOp operand, const std::function<XlaOp(XlaOp)>& build) {
  return RunBuild(nullptr, {{operand}}, [&](XlaBuilder&) -> Result<XlaOp> {
    const ElementType type = operand.shape().element_type();
    if (!IsFloating(type)) {  // float_function_c1
      return InvalidArgument("{}: the operand is {}, a floating type needed", what, operand.shape().ToString());
    }
    const XlaOp result = build(operand);
    if (!result.valid()) return operand.builder()->first_error();
    return result;
  });
}

XlaOp WithScalar(XlaOp (*op)(XlaOp, XlaOp, const IntList&), XlaOp x, double scalar) {
  return op(x, ScalarLike(x, scalar), {});
}

}  // namespace

XlaOp ScalarLike(XlaOp prototype, double value) {
  return RunBuild(nullptr, {{prototype}}, [&](XlaBuilder& b) -> Result<XlaOp> {
    if (!prototype.shape().IsArray()) {  // prototype_c1
      return InvalidArgument("{} is not an array to take an element type from", prototype.shape().ToString());
    }
    return ConstantLiteral(&b, Literal::Scalar(prototype.shape().element_type(), value));
  });
}

XlaOp FullLike(XlaOp prototype, double value) {
  const XlaOp scalar = ScalarLike(prototype, value);
  if (!scalar.valid()) return scalar;
  const auto sizes = prototype.shape().dimensions();
  return Broadcast(scalar, IntList(sizes.begin(), sizes.end()));
}

XlaOp ZerosLike(XlaOp prototype) { return FullLike(prototype, 0); }

XlaOp MinValue(XlaBuilder* builder, ElementType type) { return ConstantLiteral(builder, LiteralUtil::MinValue(type)); }

XlaOp MaxValue(XlaBuilder* builder, ElementType type) { return ConstantLiteral(builder, LiteralUtil::MaxValue(type)); }

XlaOp MinFiniteValue(XlaBuilder* builder, ElementType type) {
  if (!IsFloating(type)) return MinValue(builder, type);
  return ConstantLiteral(builder, Literal::Scalar(type, -MaxFinite(type)));
}

XlaOp MaxFiniteValue(XlaBuilder* builder, ElementType type) {
  if (!IsFloating(type)) return MaxValue(builder, type);
  return ConstantLiteral(builder, Literal::Scalar(type, MaxFinite(type)));
}

XlaOp IsNan(XlaOp operand) {
  return FloatsOnly("is-nan", operand, [](XlaOp x) { return Ne(x, x); });
}

XlaOp IsInf(XlaOp operand) {
  return FloatsOnly("is-inf", operand, [](XlaOp x) { return WithScalar(Eq, Abs(x), HUGE_VAL); });
}

XlaOp IsPosInf(XlaOp operand) {
  return FloatsOnly("is-inf", operand, [](XlaOp x) { return WithScalar(Eq, x, HUGE_VAL); });
}

XlaOp IsNegInf(XlaOp operand) {
  return FloatsOnly("is-inf", operand, [](XlaOp x) { return WithScalar(Eq, x, -HUGE_VAL); });
}

XlaOp IsNegZero(XlaOp operand) {
  return FloatsOnly("is-zero", operand, [](XlaOp x) { return EqTotalOrder(x, ScalarLike(x, -0.0)); });
}

XlaOp Square(XlaOp operand) {
  if (!operand.valid() || !IsComplex(operand.shape().element_type())) return Mul(operand, operand);
  // As chlo.square has it: the product's x^2 - y^2 has no value where both overflow, nor (x - y)(x + y) where the sum
  // of two equal parts does, whose product is exactly 0.
  const XlaOp x = Real(operand), y = Imag(operand), product = Mul(x, y);
  const XlaOp equal = And(IsFinite(x), Eq(Abs(x), Abs(y)));
  return Complex(Select(equal, ZerosLike(x), Mul(Sub(x, y), Add(x, y))), Add(product, product));
}

XlaOp Reciprocal(XlaOp operand) { return Div(ScalarLike(operand, 1), operand); }

XlaOp Conj(XlaOp operand) {
  if (!operand.valid() || !IsComplex(operand.shape().element_type())) return operand;
  return Complex(Real(operand), Neg(Imag(operand)));
}

}  // namespace VXLA_NAMESPACE
