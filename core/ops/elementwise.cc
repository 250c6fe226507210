#include <algorithm>

#include "core/limits.h"
#include "core/ops/op_support.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsField(ElementType t) { return IsFloating(t) || IsComplex(t); }
bool IsReal(ElementType t) { return IsInteger(t) || IsFloating(t); }

struct TypeClass {
  Trait trait;
  bool (*holds)(ElementType);
  const char* needed;
};
constexpr TypeClass kClasses[] = {
    {Trait::kOfFloats, IsFloating, "a floating type"},
    {Trait::kOfFields, IsField, "a floating or complex type"},
    {Trait::kOfIntegers, IsInteger, "an integer type"},
    {Trait::kOfBits, [](ElementType t) { return IsInteger(t) || t == ElementType::kPred; }, "an integer type or pred"},
    {Trait::kOfSigned, [](ElementType t) { return IsSigned(t) || IsField(t); }, "a signed, floating or complex type"},
    {Trait::kOfReals, IsReal, "an integer or floating type"},
    {Trait::kOfNumbers, [](ElementType t) { return IsReal(t) || IsComplex(t); },
     "an integer, floating or complex type"},
    {Trait::kOfAny, IsArrayElement, "an array type"},
};

Status ExpectType(const Instruction& instruction, int operand, bool (*allowed)(ElementType), const char* needed) {
  const ElementType type = instruction.operand(operand)->shape().element_type();
  if (allowed(type)) return OkStatus();
  // type_c1
  return OpError(instruction, "operand {} is of {}, {} needed", operand, ElementTypeName(type), needed);
}

// HLO has no implicit broadcasting: dimensions agree exactly. A dimension is dynamic if it is in any operand.
Shape MergeDynamic(const Instruction& instruction, ElementType type) {
  const Instruction* widest = instruction.operand(0);
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().rank() > widest->shape().rank()) widest = operand;
  }
  Shape result = WithElementType(widest->shape(), type);
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().rank() == result.rank()) AddFlags(result, operand->shape());
  }
  return result;
}

// unary_c1: an array of the allowed types; binary_c1: equal dimensions; binary_c2: equal element types; binary_c3: of
// the allowed kinds.
Result<Shape> InferByClass(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const TypeClass& of = *std::ranges::find_if(kClasses, [&](const TypeClass& c) { return Has(opcode, c.trait); });
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  if (instruction.operand_count() == 2) VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 0, 1));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 0, of.holds, of.needed));
  ElementType type = instruction.operand(0)->shape().element_type();
  // abs_c1: complex numbers give their real type
  if (IsAnyOf(opcode, Opcode::kAbs, Opcode::kReal, Opcode::kImag)) type = RealPart(type);
  return MergeDynamic(instruction, opcode == Opcode::kIsFinite ? ElementType::kPred : type);
}

Result<Shape> Converted(const Instruction& instruction) {
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

Result<Shape> ReducedPrecision(const Instruction& instruction) {
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
  return InferByClass(instruction);
}

Result<Shape> Compared(const Instruction& instruction) {
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
        return IsField(type);
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

Result<Shape> OfParts(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameShape(instruction, 0, 1));
  const ElementType type = instruction.operand(0)->shape().element_type();
  if (type != ElementType::kF32 && type != ElementType::kF64) {  // complex_c1
    return OpError(instruction, "operand 0 is of {}, f32 or f64 needed", ElementTypeName(type));
  }
  return MergeDynamic(instruction, type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
}

// clamp(min, operand, max)
Result<Shape> Clamped(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  for (int bound : {0, 2}) {
    VXLA_RETURN_IF_ERROR(ExpectSameType(instruction, bound, 1));  // clamp_c3
    if (!instruction.operand(bound)->shape().IsScalar()) {        // clamp_c1, clamp_c2
      VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, bound, 1));
    }
  }
  const Shape& operand = instruction.operand(1)->shape();
  return StatedOr(instruction, operand.WithoutLayout(), MergeDynamic(instruction, operand.element_type()));
}

// select(pred, on_true, on_false)
Result<Shape> Selected(const Instruction& instruction) {
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

Result<Shape> InferElementwise(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConvert:
      return Converted(instruction);
    case Opcode::kReducePrecision:
      return ReducedPrecision(instruction);
    case Opcode::kCompare:
      return Compared(instruction);
    case Opcode::kComplex:
      return OfParts(instruction);
    case Opcode::kClamp:
      return Clamped(instruction);
    case Opcode::kSelect:
      return Selected(instruction);
    default:
      return InferByClass(instruction);
  }
}

}  // namespace

#define ELEMENTWISE(Name, ...) \
  Result<Shape> Infer##Name(const Instruction& instruction) { return InferElementwise(instruction); }
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
// clang-format on

Result<Shape> InferStochasticConvert(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(ExpectAllArrays(instruction));
  VXLA_RETURN_IF_ERROR(ExpectStatedArray(instruction));
  VXLA_RETURN_IF_ERROR(ExpectSameDimensions(instruction, 0, 1));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 0, IsFloating, "a floating type"));
  VXLA_RETURN_IF_ERROR(ExpectType(instruction, 1, IsUnsigned, "an unsigned type"));
  const Shape& from = instruction.operand(0)->shape();
  const ElementType random = instruction.operand(1)->shape().element_type();
  if (BitWidth(from.element_type()) != BitWidth(random)) {  // stochastic_convert_c1
    return OpError(instruction, "operand 1 of {} has not the width of {}", ElementTypeName(random),
                   ElementTypeName(from.element_type()));
  }
  const ElementType to = instruction.shape().element_type();
  // stochastic_convert_c2
  if (!IsReal(to)) return OpError(instruction, "to {}: an integer or floating type needed", ElementTypeName(to));
  if (!HasIntegerOfItsWidth(to)) {  // stochastic_convert_c2
    return OpError(instruction, "to {}: no integer type has its width", ElementTypeName(to));
  }
  return WithElementType(from, to);
}

}  // namespace VXLA_NAMESPACE
