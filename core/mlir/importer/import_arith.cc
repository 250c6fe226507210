// Operations on scalars and arrays of them: the dialects arith and shape.
#include <algorithm>

#include "core/host/ranges.h"
#include "core/mlir/importer/import_operations.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

struct ArithRow {
  std::string_view name;
  Opcode opcode;
  bool is_unsigned = false;
};
constexpr ArithRow kBinary[] = {
    {"addi", Opcode::kAdd},           {"addf", Opcode::kAdd},
    {"subi", Opcode::kSubtract},      {"subf", Opcode::kSubtract},
    {"muli", Opcode::kMultiply},      {"mulf", Opcode::kMultiply},
    {"divsi", Opcode::kDivide},       {"divf", Opcode::kDivide},
    {"divui", Opcode::kDivide, true}, {"remsi", Opcode::kRemainder},
    {"remf", Opcode::kRemainder},     {"remui", Opcode::kRemainder, true},
    {"andi", Opcode::kAnd},           {"ori", Opcode::kOr},
    {"xori", Opcode::kXor},           {"shli", Opcode::kShiftLeft},
    {"maxsi", Opcode::kMaximum},      {"shrsi", Opcode::kShiftRightArithmetic},
    {"minsi", Opcode::kMinimum},      {"shrui", Opcode::kShiftRightLogical},
    {"maximumf", Opcode::kMaximum},   {"maxui", Opcode::kMaximum, true},
    {"minimumf", Opcode::kMinimum},   {"minui", Opcode::kMinimum, true},
};

struct PredicateRow {
  std::string_view name;
  ComparisonDirection direction;
  bool is_unsigned = false;
};
constexpr PredicateRow kPredicates[] = {
    {"eq", ComparisonDirection::kEq},        {"ne", ComparisonDirection::kNe},
    {"slt", ComparisonDirection::kLt},       {"sle", ComparisonDirection::kLe},
    {"sgt", ComparisonDirection::kGt},       {"sge", ComparisonDirection::kGe},
    {"ult", ComparisonDirection::kLt, true}, {"ule", ComparisonDirection::kLe, true},
    {"ugt", ComparisonDirection::kGt, true}, {"uge", ComparisonDirection::kGe, true},
};
constexpr PredicateRow kFloatPredicates[] = {
    {"oeq", ComparisonDirection::kEq}, {"une", ComparisonDirection::kNe}, {"olt", ComparisonDirection::kLt},
    {"ole", ComparisonDirection::kLe}, {"ogt", ComparisonDirection::kGt}, {"oge", ComparisonDirection::kGe},
};
// By the numbers of the generic form.
constexpr std::string_view kIntegerNumbers[] = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"};
constexpr std::string_view kFloatNumbers[] = {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                              "ueq",   "ugt", "uge", "ult", "ule", "une", "uno", "true"};

ElementType UnsignedOf(ElementType type) { return IsSigned(type) ? UnsignedOfWidth(BitWidth(type)) : type; }

Shape WithElement(Shape shape, ElementType type) {
  shape.set_element_type(type);
  return shape;
}

// Predicates that hold for NaN, and those about NaN.
Status ImportUnordered(Frame& frame, const Operation& operation, std::string_view predicate,
                       const Instructions& operands) {
  const Shape truth = WithElement(operands[0]->shape(), ElementType::kPred);
  if (predicate == "true" || predicate == "false")
    return BindLanes(frame, operation, Filled(frame, truth, predicate == "true"));
  Instruction* ordered[2];
  for (size_t i = 0; i < 2; ++i)
    VXLA_SET_OR_RETURN(ordered[i], Compared(frame, operation, operands[i], operands[i], ComparisonDirection::kEq));
  Instruction* const both = frame.And(ordered[0], ordered[1]);
  if (predicate == "ord") return BindLanes(frame, operation, both);
  Instruction* const none = frame.Add(Opcode::kNot, truth, {both});
  if (predicate == "uno") return BindLanes(frame, operation, none);
  const std::string ordered_name = predicate == "one" ? "une" : "o" + std::string(predicate.substr(1));
  const auto row = std::ranges::find(kFloatPredicates, ordered_name, &PredicateRow::name);
  VXLA_CHECK(row != std::end(kFloatPredicates), "a predicate without its ordered form");
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        Compared(frame, operation, operands[0], operands[1], row->direction));
  if (predicate == "one") return BindLanes(frame, operation, frame.And(result, both));
  return BindLanes(frame, operation, frame.Or(result, none));
}

Status ImportArithCompare(Frame& frame, const Operation& operation, Instructions operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2));
  const bool floats = operation.name == "arith.cmpf";
  const std::span<const std::string_view> numbers =
      floats ? std::span<const std::string_view>(kFloatNumbers) : std::span<const std::string_view>(kIntegerNumbers);
  VXLA_ASSIGN_OR_RETURN(const Attribute* const given, operation.Required("predicate"));
  std::string_view predicate = given->text;
  if (given->kind == Attribute::Kind::kInteger) {
    if (given->integer < 0 || given->integer >= std::ssize(numbers))
      return operation.Error("predicate {} is not in 0 to {}", given->integer, numbers.size() - 1);
    predicate = numbers[given->integer];
  }
  const ElementType type = operands[0]->shape().element_type();
  if (!floats) {
    const auto row = std::ranges::find(kPredicates, predicate, &PredicateRow::name);
    if (row == std::end(kPredicates)) return operation.Error("the predicate '{}' is unknown", predicate);
    for (Instruction*& operand : operands) {
      if (row->is_unsigned) operand = Bits(frame, operand, UnsignedOf(type));
      // A signed truth value is 0 or -1.
      if (!row->is_unsigned && type == ElementType::kPred)
        operand = frame.Add(Opcode::kNegate, WithElement(operand->shape(), ElementType::kS8),
                            {frame.Converted(operand, ElementType::kS8)});
    }
    VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                          Compared(frame, operation, operands[0], operands[1], row->direction));
    return BindLanes(frame, operation, result);
  }
  const auto row = std::ranges::find(kFloatPredicates, predicate, &PredicateRow::name);
  if (row != std::end(kFloatPredicates)) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                          Compared(frame, operation, operands[0], operands[1], row->direction));
    return BindLanes(frame, operation, result);
  }
  if (!Contains(numbers, predicate)) return operation.Error("the predicate '{}' is unknown", predicate);
  return ImportUnordered(frame, operation, predicate, operands);
}

// Divisions that round to minus or plus infinity; the larger and smaller of what is no NaN.
Status ImportArithRounded(Frame& frame, const Operation& operation, Instructions operands) {
  const std::string_view name = std::string_view(operation.name).substr(6);
  const ElementType type = operands[0]->shape().element_type();
  if (name.ends_with("numf")) {
    const Opcode opcode = name == "maxnumf" ? Opcode::kMaximum : Opcode::kMinimum;
    VXLA_ASSIGN_OR_RETURN(Instruction * result, AddInferred(frame, operation, opcode, operands));
    for (size_t i = 0; i < 2; ++i) {
      VXLA_ASSIGN_OR_RETURN(Instruction* const nan,
                            Compared(frame, operation, operands[i], operands[i], ComparisonDirection::kNe));
      result = frame.Select(nan, operands[1 - i], result);
    }
    return BindLanes(frame, operation, result);
  }
  const ElementType as = name == "ceildivui" ? UnsignedOf(type) : type;
  for (Instruction*& operand : operands) operand = Bits(frame, operand, as);
  const Shape shape = operands[0]->shape();
  VXLA_ASSIGN_OR_RETURN(Instruction* const quotient, AddInferred(frame, operation, Opcode::kDivide, operands));
  VXLA_ASSIGN_OR_RETURN(Instruction* const rest, AddInferred(frame, operation, Opcode::kRemainder, operands));
  Instruction* const zero = Filled(frame, shape, 0);
  VXLA_ASSIGN_OR_RETURN(Instruction * adjusts, Compared(frame, operation, rest, zero, ComparisonDirection::kNe));
  if (name != "ceildivui") {
    // The quotient was rounded to zero: it is off where the signs say so.
    VXLA_ASSIGN_OR_RETURN(Instruction* const a, Compared(frame, operation, rest, zero, ComparisonDirection::kLt));
    VXLA_ASSIGN_OR_RETURN(Instruction* const b,
                          Compared(frame, operation, operands[1], zero, ComparisonDirection::kLt));
    VXLA_ASSIGN_OR_RETURN(
        Instruction* const signs,
        Compared(frame, operation, a, b, name == "floordivsi" ? ComparisonDirection::kNe : ComparisonDirection::kEq));
    adjusts = frame.And(adjusts, signs);
  }
  Instruction* const by = frame.Converted(adjusts, as);
  Instruction* const result = frame.Add(name == "floordivsi" ? Opcode::kSubtract : Opcode::kAdd, shape, {quotient, by});
  return BindLanes(frame, operation, Bits(frame, result, type));
}

Status ImportArithConversion(Frame& frame, const Operation& operation, Instruction* operand) {
  const std::string_view name = std::string_view(operation.name).substr(6);
  const ElementType from = operand->shape().element_type();
  const ElementType to = frame.importer.program().ShapeOf(operation.results[0]).element_type();
  if (name == "negf") return BindLanes(frame, operation, frame.Add(Opcode::kNegate, operand->shape(), {operand}));
  if (name == "bitcast") return BindLanes(frame, operation, Bits(frame, operand, to));
  if (name == "extui" || name == "uitofp" || name == "index_castui")
    return BindLanes(frame, operation, frame.Converted(Bits(frame, operand, UnsignedOf(from)), to));
  if (name == "fptoui") return BindLanes(frame, operation, Bits(frame, frame.Converted(operand, UnsignedOf(to)), to));
  constexpr std::string_view kPlain[] = {"index_cast", "extsi", "trunci", "extf", "truncf", "sitofp", "fptosi"};
  if (!Contains(kPlain, name)) return operation.NotSupported("not supported");
  if (from == ElementType::kPred && name != "trunci") {  // a signed truth value is 0 or -1
    Instruction* const wide = frame.Converted(operand, to);
    return BindLanes(frame, operation, frame.Add(Opcode::kNegate, wide->shape(), {wide}));
  }
  if (name == "trunci" && to == ElementType::kPred) {
    Instruction* const one = frame.And(operand, Filled(frame, operand->shape(), 1));
    return BindLanes(frame, operation, frame.Converted(one, to));
  }
  return BindLanes(frame, operation, frame.Converted(operand, to));
}

}  // namespace

Instruction* Bits(Frame& frame, Instruction* value, ElementType type) {
  if (value->shape().element_type() == type) return value;
  return frame.Add(Opcode::kBitcastConvert, WithElement(value->shape(), type), {value});
}

// The value everywhere where `like` has elements.
Instruction* Filled(Frame& frame, const Shape& like, int64_t value) {
  return frame.SpreadAs(frame.Number(like.element_type(), value), like);
}

Result<Instruction*> Compared(Frame& frame, const Operation& operation, Instruction* a, Instruction* b,
                              ComparisonDirection direction) {
  CompareAttributes attributes;
  attributes.direction = direction;
  return AddInferred(frame, operation, Opcode::kCompare, {a, b}, attributes);
}

Status ImportArithConstant(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const value, operation.Required("value"));
  if (value->kind == Attribute::Kind::kElements) return ImportConstant(frame, operation, operands);
  const bool number = value->kind == Attribute::Kind::kBool || value->kind == Attribute::Kind::kInteger ||
                      value->kind == Attribute::Kind::kFloat;
  if (!number) return operation.NotSupported("the value {} is no number", PrintAttribute(*value));
  const ElementType type = frame.importer.program().ShapeOf(operation.results[0]).element_type();
  if (IsComplex(type) || IsFloating(type) != (value->kind == Attribute::Kind::kFloat))
    return operation.Error("{} is no {}", PrintAttribute(*value),
                           PrintType(frame.importer.program().values[operation.results[0]].type));
  Literal literal = value->kind == Attribute::Kind::kFloat ? Literal::Scalar(type, value->real)
                                                           : Literal::ScalarInt(type, value->integer);
  return BindValues(frame, operation, {frame.Constant(std::move(literal))});
}

Status ImportArith(Frame& frame, const Operation& operation, Instructions& operands) {
  const std::string_view name = std::string_view(operation.name).substr(operation.name.find('.') + 1);
  Align(frame, operation, operands);
  if (operands.empty()) return operation.Error("no operands");
  if (name.starts_with("cmp")) return ImportArithCompare(frame, operation, operands);
  if (name == "select") {
    VXLA_RETURN_IF_ERROR(operation.ExpectOperands(3));
    VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kSelect, operands));
    return BindLanes(frame, operation, result);
  }
  if (operands.size() == 1) return ImportArithConversion(frame, operation, operands[0]);
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2));
  const ElementType type = operands[0]->shape().element_type();
  if (name == "floordivsi" || name == "ceildivsi" || name == "ceildivui" || name == "maxnumf" || name == "minnumf")
    return ImportArithRounded(frame, operation, operands);
  const auto row = std::ranges::find(kBinary, name, &ArithRow::name);
  if (row == std::end(kBinary)) return operation.NotSupported("not supported");
  Opcode opcode = row->opcode;
  if (type == ElementType::kPred && (opcode == Opcode::kAdd || opcode == Opcode::kSubtract)) opcode = Opcode::kXor;
  if (type == ElementType::kPred && opcode == Opcode::kMultiply) opcode = Opcode::kAnd;
  const ElementType as = row->is_unsigned ? UnsignedOf(type) : type;
  for (Instruction*& operand : operands) operand = Bits(frame, operand, as);
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, opcode, operands));
  return BindLanes(frame, operation, Bits(frame, result, type));
}

Status ImportShapeDialect(Frame& frame, const Operation& operation, Instructions& operands) {
  const std::string_view name = std::string_view(operation.name).substr(6);
  IntList sizes;
  if (name == "const_shape") {
    VXLA_ASSIGN_OR_RETURN(sizes, operation.Ints("shape"));
    return BindValues(frame, operation, {IndexConstant(frame, sizes, false)});
  }
  VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(1));
  if (name == "shape_of") {
    const auto dimensions = operands[0]->shape().dimensions();
    return BindValues(frame, operation, {IndexConstant(frame, IntList(dimensions.begin(), dimensions.end()), false)});
  }
  if (name == "size_to_index" || name == "index_to_size" || name == "value_as_shape")
    return BindValues(frame, operation, {operands[0]});
  if (name == "dim") return ImportDim(frame, operation, operands);
  if (name != "num_elements" && name != "get_extent" && name != "rank") return operation.NotSupported("not supported");
  VXLA_ASSIGN_OR_RETURN(sizes, ConstantInts(frame, operation, 0));
  if (name == "rank") return BindValues(frame, operation, {IndexConstant(frame, {std::ssize(sizes)}, true)});
  if (name == "get_extent") {
    VXLA_ASSIGN_OR_RETURN(const IntList at, ConstantInts(frame, operation, 1));
    if (at.size() != 1 || at[0] < 0 || at[0] >= std::ssize(sizes))
      return operation.Error("index {} is not in 0 to {}", JoinInts(at), std::ssize(sizes) - 1);
    return BindValues(frame, operation, {IndexConstant(frame, {sizes[at[0]]}, true)});
  }
  VXLA_ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(sizes));
  return BindValues(frame, operation, {IndexConstant(frame, {count}, true)});
}

}  // namespace VXLA_NAMESPACE::mlir
