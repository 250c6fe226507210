#include "core/limits.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

using TypePredicate = bool (*)(ElementType);

bool IsFloat(ElementType t) { return IsFloating(t); }
bool IsFloatOrComplex(ElementType t) { return IsFloating(t) || IsComplex(t); }
bool IsSignedNumber(ElementType t) { return IsSigned(t) || IsFloatOrComplex(t); }
bool IsNumber(ElementType t) { return IsInteger(t) || IsFloatOrComplex(t); }
bool IsNumberOrPred(ElementType t) { return IsArrayElement(t); }
bool IsRealNumber(ElementType t) { return IsInteger(t) || IsFloating(t); }
bool IsBits(ElementType t) { return IsInteger(t) || t == ElementType::kPred; }

Status ExpectType(const Instruction& instruction, int operand, TypePredicate allowed, const char* needed) {
  const ElementType type = instruction.operand(operand)->shape().element_type();
  if (allowed(type)) return OkStatus();
  // type_c1
  return OpError(instruction, "operand {} is of {}, {} needed", operand, ElementTypeName(type), needed);
}

// unary_c1: an array of the allowed types; the result is the operand's shape.
Result<Shape> InferUnary(const Instruction& instruction, TypePredicate allowed, const char* needed) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 0, allowed, needed));
  const Shape& shape = instruction.operand(0)->shape();
  return WithElementType(shape, shape.element_type());
}

// HLO has no implicit broadcasting: dimensions agree exactly. A dimension is dynamic if it is in any operand.
Shape MergeDynamic(const Instruction& instruction, ElementType type) {
  const Instruction* widest = instruction.operand(0);
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().rank() > widest->shape().rank()) widest = operand;
  }
  Shape result = WithElementType(widest->shape(), type);
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().rank() != result.rank()) continue;
    for (int i = 0; i < result.rank(); ++i) {
      if (operand->shape().is_dynamic_dimension(i)) result.set_dynamic_dimension(i, true);
    }
  }
  return result;
}

// binary_c1: equal dimensions; binary_c2: equal element types; binary_c3: of the allowed kinds.
Result<Shape> InferBinary(const Instruction& instruction, TypePredicate allowed, const char* needed) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 0, 1));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 0, allowed, needed));
  return MergeDynamic(instruction, instruction.operand(0)->shape().element_type());
}

}  // namespace

#define VXLA_INFER(Shape_, Name, allowed, needed) \
  Result<Shape> Infer##Name(const Instruction& instruction) { return Infer##Shape_(instruction, allowed, needed); }
VXLA_INFER(Unary, Acos, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Acosh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Asin, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Asinh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Atan, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Atanh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Cbrt, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Ceil, IsFloat, "a floating type")
VXLA_INFER(Unary, Cosh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Cos, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Clz, IsInteger, "an integer type")
VXLA_INFER(Unary, Digamma, IsFloat, "a floating type")
VXLA_INFER(Unary, Erf, IsFloat, "a floating type")
VXLA_INFER(Unary, Erfc, IsFloat, "a floating type")
VXLA_INFER(Unary, ErfInv, IsFloat, "a floating type")
VXLA_INFER(Unary, Exp, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Expm1, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Floor, IsFloat, "a floating type")
VXLA_INFER(Unary, Lgamma, IsFloat, "a floating type")
VXLA_INFER(Unary, Log, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Log1p, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Logistic, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Negate, IsNumber, "an integer, floating or complex type")
VXLA_INFER(Unary, Not, IsBits, "an integer type or pred")
VXLA_INFER(Unary, PopulationCount, IsInteger, "an integer type")
VXLA_INFER(Unary, RoundNearestAfz, IsFloat, "a floating type")
VXLA_INFER(Unary, RoundNearestEven, IsFloat, "a floating type")
VXLA_INFER(Unary, Rsqrt, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Sign, IsSignedNumber, "a signed, floating or complex type")
VXLA_INFER(Unary, Sin, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Sinh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Sqrt, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Tan, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Unary, Tanh, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Binary, Add, IsNumberOrPred, "an array type")
VXLA_INFER(Binary, And, IsBits, "an integer type or pred")
VXLA_INFER(Binary, Atan2, IsFloatOrComplex, "a floating or complex type")
VXLA_INFER(Binary, Divide, IsNumber, "an integer, floating or complex type")
VXLA_INFER(Binary, Maximum, IsNumberOrPred, "an array type")
VXLA_INFER(Binary, Minimum, IsNumberOrPred, "an array type")
VXLA_INFER(Binary, Mulhi, IsInteger, "an integer type")
VXLA_INFER(Binary, Multiply, IsNumberOrPred, "an array type")
VXLA_INFER(Binary, Or, IsBits, "an integer type or pred")
VXLA_INFER(Binary, Power, IsNumber, "an integer, floating or complex type")
VXLA_INFER(Binary, Remainder, IsRealNumber, "an integer or floating type")
VXLA_INFER(Binary, ShiftLeft, IsInteger, "an integer type")
VXLA_INFER(Binary, ShiftRightArithmetic, IsInteger, "an integer type")
VXLA_INFER(Binary, ShiftRightLogical, IsInteger, "an integer type")
VXLA_INFER(Binary, Subtract, IsNumber, "an integer, floating or complex type")
VXLA_INFER(Binary, Xor, IsBits, "an integer type or pred")
#undef VXLA_INFER

Result<Shape> InferAbs(const Instruction& instruction) {  // abs_c1: complex numbers give their real type
  VXLA_ASSIGN_OR_RETURN(Shape shape, InferUnary(instruction, IsSignedNumber, "a signed, floating or complex type"));
  shape.set_element_type(RealPart(shape.element_type()));
  return shape;
}

Result<Shape> InferReal(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(Shape shape, InferUnary(instruction, IsFloatOrComplex, "a floating or complex type"));
  shape.set_element_type(RealPart(shape.element_type()));
  return shape;
}

Result<Shape> InferImag(const Instruction& instruction) { return InferReal(instruction); }

Result<Shape> InferIsFinite(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(Shape shape, InferUnary(instruction, IsFloat, "a floating type"));
  shape.set_element_type(ElementType::kPred);
  return shape;
}

Result<Shape> InferConvert(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectArray(instruction, 0));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  const Shape& from = instruction.operand(0)->shape();
  const ElementType to = instruction.shape().element_type();
  if (IsComplex(from.element_type()) &&
      !IsComplex(to)) {  // convert_c1, as XLA: the imaginary part is not dropped silently
    return OpError(instruction, "from {} to {}: take real or imag of a complex array",
                   ElementTypeName(from.element_type()), ElementTypeName(to));
  }
  return WithElementType(from, to);
}

Result<Shape> InferStochasticConvert(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, 0, 1));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 0, IsFloat, "a floating type"));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 1, IsUnsigned, "an unsigned type"));
  const Shape& from = instruction.operand(0)->shape();
  const ElementType random = instruction.operand(1)->shape().element_type();
  if (BitWidth(from.element_type()) != BitWidth(random)) {  // stochastic_convert_c1
    return OpError(instruction, "operand 1 of {} has not the width of {}", ElementTypeName(random),
                   ElementTypeName(from.element_type()));
  }
  const ElementType to = instruction.shape().element_type();
  // stochastic_convert_c2
  if (!IsRealNumber(to)) return OpError(instruction, "to {}: an integer or floating type needed", ElementTypeName(to));
  if (!HasIntegerOfItsWidth(to)) {  // stochastic_convert_c2
    return OpError(instruction, "to {}: no integer type has its width", ElementTypeName(to));
  }
  return WithElementType(from, to);
}

Result<Shape> InferReducePrecision(const Instruction& instruction) {
  const auto& bits = instruction.attributes<ReducePrecisionAttributes>();
  if (bits.exponent_bits < 1) {  // reduce_precision_c2
    return OpError(instruction, "exponent_bits {} is below 1", bits.exponent_bits);
  }
  if (bits.mantissa_bits < 0) {  // reduce_precision_c3
    return OpError(instruction, "mantissa_bits {} is negative", bits.mantissa_bits);
  }
  for (const int64_t number : {bits.exponent_bits, bits.mantissa_bits}) {
    if (number <= kMaxPrecisionBits) continue;
    return OpError(instruction, "{} bits, at most {} are possible", number, kMaxPrecisionBits);  // reduce_precision_c4
  }
  return InferUnary(instruction, IsFloat, "a floating type");
}

Result<Shape> InferCompare(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 0, 1));  // compare_c1, compare_c2
  const auto& attributes = instruction.attributes<CompareAttributes>();
  const ElementType type = instruction.operand(0)->shape().element_type();
  const bool equality =
      attributes.direction == ComparisonDirection::kEq || attributes.direction == ComparisonDirection::kNe;
  if (IsComplex(type) && !equality) {  // compare_c4
    return OpError(instruction, "{} has no order, direction EQ or NE needed", ElementTypeName(type));
  }
  const auto fits = [&] {
    switch (attributes.type) {
      case ComparisonType::kDefault:
        return true;
      case ComparisonType::kFloat:
        return IsFloatOrComplex(type);
      case ComparisonType::kTotalOrder:
        return IsFloating(type);
      case ComparisonType::kSigned:
        return IsSigned(type);
      case ComparisonType::kUnsigned:
        return IsUnsigned(type) || type == ElementType::kPred;
    }
    return false;
  };
  // compare_c3
  if (!fits()) return OpError(instruction, "the comparison type does not fit operands of {}", ElementTypeName(type));
  return MergeDynamic(instruction, ElementType::kPred);
}

Result<Shape> InferComplex(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 0, 1));
  const ElementType type = instruction.operand(0)->shape().element_type();
  if (type != ElementType::kF32 && type != ElementType::kF64) {  // complex_c1
    return OpError(instruction, "operand 0 is of {}, f32 or f64 needed", ElementTypeName(type));
  }
  return MergeDynamic(instruction, type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
}

// clamp(min, operand, max)
Result<Shape> InferClamp(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  for (int bound : {0, 2}) {
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, bound, 1));  // clamp_c3
    if (!instruction.operand(bound)->shape().IsScalar()) {        // clamp_c1, clamp_c2
      VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, bound, 1));
    }
  }
  const Shape& operand = instruction.operand(1)->shape();
  return StatedOr(instruction, WithElementType(operand, operand.element_type()),
                  MergeDynamic(instruction, operand.element_type()));
}

// select(pred, on_true, on_false)
Result<Shape> InferSelect(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  const Shape& pred = instruction.operand(0)->shape();
  if (pred.element_type() != ElementType::kPred) {  // select_c3
    return OpError(instruction, "operand 0 is of {}, pred needed", ElementTypeName(pred.element_type()));
  }
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 1, 2));                             // select_c2
  if (!pred.IsScalar()) VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, 0, 1));  // select_c1
  const Shape& on_true = instruction.operand(1)->shape();
  return StatedOr(instruction, WithElementType(pred.IsScalar() ? on_true : pred, on_true.element_type()),
                  MergeDynamic(instruction, on_true.element_type()));
}

}  // namespace VXLA_NAMESPACE
