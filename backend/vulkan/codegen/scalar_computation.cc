#include "backend/vulkan/codegen/scalar_computation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/numerics/accuracy.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// round-nearest-even -> round_nearest_even
std::string FunctionName(Opcode opcode) {
  std::string name(OpcodeText(opcode));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

std::string Call(const std::string& function, std::string_view suffix, std::span<const std::string> operands) {
  return fmt::format("{}_{}({})", function, suffix, fmt::join(operands, ", "));
}

// Narrowed(), of which passes know the roundings that words are packed after.
Expression NarrowedValue(ElementType type, Expression value) {
  if (type == ElementType::kF16 || type == ElementType::kBF16) {
    value.rounded = type;
    return value;
  }
  if (!IsNarrowFloat(type) && !IsNarrowInteger(type)) return value;
  return {Narrowed(type, value.text)};
}

Expression ToNarrowFloat(ElementType from, ElementType to, const std::string& x) {
  if (from == ElementType::kF64) return {fmt::format("round_from_f64_{}({})", ElementTypeName(to), x)};
  if (IsFloating(from)) return NarrowedValue(to, {x});
  // Through an f32 rounded to odd, so that the value is rounded to nearest once.
  const bool inexact = IsInteger(from) && BitWidth(from) > 16;
  return NarrowedValue(to, {fmt::format("convert_{}_f32{}({})", CarrierSuffix(from), inexact ? "_odd" : "", x)});
}

std::string ToNarrowInteger(ElementType from, ElementType to, const std::string& x) {
  if (IsFloating(from)) {
    const std::string saturated =
        fmt::format("convert_{}_int_saturate({}, {}, {})", CarrierSuffix(from), x, IsSigned(to) ? MinSigned(to) : 0,
                    IsSigned(to) ? MaxSigned(to) : static_cast<int64_t>(MaxUnsigned(to)));
    return IsSigned(to) ? saturated : "uint(" + saturated + ")";
  }
  if (CarrierSuffix(from) == CarrierSuffix(to)) return Narrowed(to, x);
  return Narrowed(to, fmt::format("convert_{}_{}({})", CarrierSuffix(from), CarrierSuffix(to), x));
}

}  // namespace

Expression ConvertedValue(ElementType from, ElementType to, const std::string& x) {
  if (from == to) return {x};
  if (IsComplex(from) && IsComplex(to))
    return {fmt::format("convert_{}_{}({})", CarrierSuffix(from), CarrierSuffix(to), x)};
  if (IsComplex(from)) return ConvertedValue(RealPart(from), to, "(" + x + ").x");
  if (IsComplex(to)) {
    const std::string real = ConvertedValue(from, RealPart(to), x).Print();
    return {to == ElementType::kC64 ? fmt::format("vec2({}, 0.0f)", real)
                                    : fmt::format("complex_f64({}, {})", real, ZeroText(ElementType::kF64))};
  }
  if (IsNarrowFloat(to)) return ToNarrowFloat(from, to, x);
  if (IsNarrowInteger(to)) return {ToNarrowInteger(from, to, x)};
  if (CarrierSuffix(from) == CarrierSuffix(to)) return {x};
  return {fmt::format("convert_{}_{}({})", CarrierSuffix(from), CarrierSuffix(to), x)};
}

namespace {

std::string BitcastText(ElementType from, ElementType to, const std::string& x) {
  if (from == to) return x;
  if (BitWidth(from) < 32) return FromStorage(to, ToStorage(from, x));
  if (CarrierSuffix(from) == CarrierSuffix(to)) return x;
  return fmt::format("bitcast_{}_{}({})", CarrierSuffix(from), CarrierSuffix(to), x);
}

std::string CompareText(const Instruction& instruction, std::span<const std::string> operands) {
  static constexpr const char* kDirections[] = {"eq", "ne", "ge", "gt", "le", "lt"};
  const auto& attributes = instruction.attributes<CompareAttributes>();
  const ElementType type = instruction.operand(0)->shape().element_type();
  const bool total = attributes.type == ComparisonType::kTotalOrder && IsFloating(type);
  return fmt::format("compare_{}{}_{}({}, {})", total ? "total_" : "",
                     kDirections[static_cast<int>(attributes.direction)], CarrierSuffix(type), operands[0],
                     operands[1]);
}

// What passes know of the operation of f32.
MadeBy MakerOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
      return MadeBy::kAdd;
    case Opcode::kSubtract:
      return MadeBy::kSubtract;
    case Opcode::kMultiply:
      return MadeBy::kMultiply;
    case Opcode::kDivide:
      return MadeBy::kDivide;
    case Opcode::kExp:
      return MadeBy::kExponential;
    default:
      return MadeBy::kOther;
  }
}

// Operations whose result needs no narrowing: it is one of the operands or has no bits that its operands have not.
bool KeepsWidth(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string ConvertedText(ElementType from, ElementType to, const std::string& value) {
  return ConvertedValue(from, to, value).Print();
}

namespace {

// 1 / c where a division's divisor is c, a power of two: multiplying by it gives the same bits, denormal results
// included, and costs one instruction for the ten to seventy of a division. Nothing where it is no normal number, and
// for types that are not computed in f32.
std::optional<float> ExactReciprocal(const Instruction& division) {
  const ElementType type = division.shape().element_type();
  if (division.opcode() != Opcode::kDivide || CarrierSuffix(type) != "f32") return std::nullopt;
  const Instruction* divisor = division.operand(1);
  while (divisor->opcode() == Opcode::kBroadcast || divisor->opcode() == Opcode::kReshape)
    divisor = divisor->operand(0);
  if (divisor->opcode() != Opcode::kConstant || divisor->shape().ElementCount() != 1) return std::nullopt;
  const double c = divisor->literal().GetDouble(0);
  int exponent = 0;
  if (!std::isfinite(c) || std::abs(std::frexp(c, &exponent)) != 0.5 || std::abs(exponent) > 120) return std::nullopt;
  return static_cast<float>(1 / c);
}

// A zero to calculate with.
std::string UnknownZeroText(ElementType type) {
  return type == ElementType::kF64 ? "from_words_f64(unknown_u32(0u), 0u)" : "uintBitsToFloat(unknown_u32(0u))";
}

}  // namespace

bool MakesFloats(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConvert && instruction.opcode() != Opcode::kBitcastConvert) return false;
  const auto is_float = [](const Instruction& i) {
    return IsFloating(i.shape().element_type()) || IsComplex(i.shape().element_type());
  };
  return is_float(instruction) && !is_float(*instruction.operand(0));
}

Expression ElementwiseValue(const Instruction& instruction, std::span<const std::string> operands, bool common_bits) {
  const Opcode opcode = instruction.opcode();
  const ElementType result = instruction.shape().element_type();
  const ElementType type = instruction.operand(0)->shape().element_type();
  const std::string function = FunctionName(opcode);
  switch (opcode) {
    case Opcode::kConvert:
      if (IsComplex(result) && !IsComplex(type))
        return {fmt::format("{}({}, {})", result == ElementType::kC64 ? "vec2" : "complex_f64",
                            ConvertedValue(type, RealPart(result), operands[0]).Print(),
                            UnknownZeroText(RealPart(result)))};
      return ConvertedValue(type, result, operands[0]);
    case Opcode::kBitcastConvert:
      return {BitcastText(type, result, operands[0])};
    case Opcode::kCompare:
      return {CompareText(instruction, operands)};
    case Opcode::kSelect:
      return {fmt::format("({} ? {} : {})", operands[0], operands[1], operands[2])};
    case Opcode::kComplex:
      return {
          fmt::format("{}({}, {})", result == ElementType::kC64 ? "vec2" : "complex_f64", operands[0], operands[1])};
    case Opcode::kReal:
      return {IsComplex(type) ? "(" + operands[0] + ").x" : operands[0]};
    case Opcode::kImag:
      return {IsComplex(type) ? "(" + operands[0] + ").y" : UnknownZeroText(type)};
    case Opcode::kReducePrecision: {
      const ReducedBits bits = ReducedBitsOf(instruction);
      const std::string_view format = IsNarrowFloat(type) ? ElementTypeName(type) : CarrierSuffix(type);
      return NarrowedValue(
          result, {fmt::format("reduce_precision_{}({}, {}, {})", format, operands[0], bits.exponent, bits.mantissa)});
    }
    default:
      break;
  }
  VXLA_CHECK(IsElementwise(opcode), "not an elementwise operation: " + std::string(OpcodeText(opcode)));
  if (IsNarrowInteger(type) && Has(opcode, Trait::kWidthVariant)) {
    return NarrowedValue(result, {fmt::format("{}_{}_width({}, {})", function, CarrierSuffix(type),
                                              fmt::join(operands, ", "), BitWidth(type))});
  }
  if (const std::optional<float> reciprocal = ExactReciprocal(instruction)) {
    const std::array<std::string, 2> factors = {operands[0], ConstantText(ElementType::kF32, &*reciprocal)};
    return NarrowedValue(result, {Call(FunctionName(Opcode::kMultiply), CarrierSuffix(type), factors),
                                  MadeBy::kMultiply,
                                  {factors.begin(), factors.end()}});
  }
  std::string_view suffix = CarrierSuffix(type);
  if (type == ElementType::kF16 && Has(opcode, Trait::kF16Variant)) {
    suffix = "f16";
  } else if (IsNarrowFloat(type) && HasOddVariant(opcode)) {
    suffix = "f32_odd";
  } else if (IsNarrowFloat(type) && HasNarrowVariant(opcode)) {
    suffix = "f32_narrow";
  } else if (type == ElementType::kF32 && HasFusedVariant(opcode) && !common_bits) {
    suffix = "by_fma_f32";
  }
  Expression call = {Call(function, suffix, operands)};
  if (suffix == "f32") {
    call.by = MakerOf(opcode);
    if (call.by != MadeBy::kOther) call.operands.assign(operands.begin(), operands.end());
  }
  return KeepsWidth(opcode) ? call : NarrowedValue(result, std::move(call));
}

std::string ElementwiseCall(const Instruction& instruction, std::span<const std::string> operands) {
  return ElementwiseValue(instruction, operands).Print();
}

namespace {

// Statements that compute `roots` of a scalar computation, and what only they read; their names.
std::vector<std::string> WriteComputation(const Computation& computation, std::span<const Instruction* const> roots,
                                          std::span<const std::string> arguments, std::string* text, int* next);

// The values of a computation's root.
std::vector<const Instruction*> RootValues(const Computation& computation) {
  const Instruction* root = computation.root();
  if (root->opcode() != Opcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

// What `roots` read, themselves included.
std::unordered_set<const Instruction*> Reached(std::span<const Instruction* const> roots) {
  std::unordered_set<const Instruction*> reached(roots.begin(), roots.end());
  std::vector<const Instruction*> work(roots.begin(), roots.end());
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    for (const Instruction* operand : instruction->operands()) {
      if (reached.insert(operand).second) work.push_back(operand);
    }
  }
  return reached;
}

// Zeros that are no more than compared, chosen or results may be literals.
std::string ConstantOf(const Instruction& instruction) {
  const bool literal = std::ranges::all_of(instruction.users(), [](const Instruction* user) {
    switch (user->opcode()) {
      case Opcode::kClamp:
      case Opcode::kCompare:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kSelect:
      case Opcode::kTuple:
        return true;
      default:
        return false;
    }
  });
  if (literal) return ConstantText(instruction.shape().element_type(), instruction.literal().bytes().data());
  return ConstantText(instruction.literal());
}

std::vector<std::string> WriteComputation(const Computation& computation, std::span<const Instruction* const> roots,
                                          std::span<const std::string> arguments, std::string* text, int* next) {
  const std::unordered_set<const Instruction*> reached = Reached(roots);
  std::unordered_map<const Instruction*, std::string> names;
  auto local = [&](const Instruction& instruction, const std::string& value) {
    const ElementType type = instruction.shape().element_type();
    const std::string name = fmt::format("c{}", (*next)++);
    *text += fmt::format("  {}{} {} = {};\n",
                         (IsFloating(type) || IsComplex(type)) && !HasWideCarrier(type) ? "precise " : "",
                         CarrierType(type), name, value);
    return name;
  };
  for (const auto& owned : computation.instructions()) {
    const Instruction& instruction = *owned;
    if (!reached.contains(&instruction)) continue;
    std::vector<std::string> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(names.at(operand));
    switch (instruction.opcode()) {
      case Opcode::kParameter:
        names[&instruction] = arguments[instruction.parameter_number()];
        break;
      case Opcode::kConstant:
        names[&instruction] = local(instruction, ConstantOf(instruction));
        break;
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kMap: {
        const Computation& called = *instruction.called(0);
        names[&instruction] = WriteComputation(called, RootValues(called), operands, text, next)[0];
        break;
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kTranspose:
        names[&instruction] = operands[0];  // of scalars
        break;
      default:
        if (const Instruction* of = MakesFloats(instruction) ? instruction.operand(0) : nullptr;
            of != nullptr && of->opcode() != Opcode::kParameter && of->opcode() != Opcode::kConstant)
          operands[0] = UnknownText(of->shape().element_type(), operands[0]);
        names[&instruction] = local(instruction, ElementwiseCall(instruction, operands));
    }
  }
  std::vector<std::string> results;
  for (const Instruction* root : roots) results.push_back(names.at(root));
  return results;
}

Status CheckShape(const Instruction& instruction) {
  for (const Shape* leaf : FlattenTuple(instruction.shape()))
    VXLA_RETURN_IF_ERROR(CheckElementType(leaf->element_type()));
  return OkStatus();
}

}  // namespace

std::string ReducerFunction(const Computation& computation, const std::string& name) {
  const int count = static_cast<int>(computation.parameters().size()) / 2;
  std::vector<std::string> parameters, arguments;
  for (int i = 0; i < 2 * count; ++i) {
    const bool accumulator = i < count;
    arguments.push_back(fmt::format("{}{}", accumulator ? 'a' : 'b', i % count));
    parameters.push_back(fmt::format("{}{} {}", accumulator ? "inout " : "",
                                     CarrierType(computation.parameter(i)->shape().element_type()), arguments.back()));
  }
  std::string body;
  int next = 0;
  const std::vector<std::string> results =
      WriteComputation(computation, RootValues(computation), arguments, &body, &next);
  // Results are copied last: one may be another's accumulator.
  for (int i = 0; i < count; ++i) {
    body +=
        fmt::format("  {} r{} = {};\n", CarrierType(computation.parameter(i)->shape().element_type()), i, results[i]);
  }
  for (int i = 0; i < count; ++i) body += fmt::format("  a{} = r{};\n", i, i);
  return fmt::format("void {}({}) {{\n{}}}\n", name, fmt::join(parameters, ", "), body);
}

std::string ScalarFunction(const Computation& computation, const Instruction& value, const std::string& name) {
  std::vector<std::string> parameters, arguments;
  for (const Instruction* parameter : computation.parameters()) {
    arguments.push_back(fmt::format("p{}", arguments.size()));
    parameters.push_back(fmt::format("{} {}", CarrierType(parameter->shape().element_type()), arguments.back()));
  }
  std::string body;
  int next = 0;
  const Instruction* root = &value;
  const std::string result = WriteComputation(computation, std::span(&root, 1), arguments, &body, &next)[0];
  return fmt::format("{} {}({}) {{\n{}  return {};\n}}\n", CarrierType(value.shape().element_type()), name,
                     fmt::join(parameters, ", "), body, result);
}

Status CheckInstruction(const Instruction& instruction) {
  VXLA_RETURN_IF_ERROR(CheckShape(instruction));
  for (const Instruction* operand : instruction.operands()) VXLA_RETURN_IF_ERROR(CheckShape(*operand));
  if (instruction.opcode() == Opcode::kBitcastConvert) {
    const ElementType from = instruction.operand(0)->shape().element_type(), to = instruction.shape().element_type();
    if (from != to && (BitWidth(from) != BitWidth(to) || IsComplex(from) || IsComplex(to))) {
      return Unsupported("bitcast-convert from {} to {} has no kernel", ElementTypeName(from), ElementTypeName(to));
    }
  }
  return OkStatus();
}

Status CheckScalarComputation(const Computation& computation) {
  for (const auto& instruction : computation.instructions()) {
    const Opcode opcode = instruction->opcode();
    VXLA_RETURN_IF_ERROR(CheckInstruction(*instruction));
    switch (opcode) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kTuple:
        continue;
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kMap:
        if (instruction->shape().IsTuple())
          return Unsupported("{} of a tuple inside a scalar computation has no kernel", OpcodeText(opcode));
        VXLA_RETURN_IF_ERROR(CheckScalarComputation(*instruction->called(0)));
        continue;
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kCopy:
      case Opcode::kTranspose:
      case Opcode::kBitcastConvert:
        break;
      default:
        if (!IsElementwise(opcode))
          return Unsupported("a scalar computation with {} has no kernel", OpcodeText(opcode));
    }
    if (!instruction->shape().IsScalar())
      return Unsupported("a scalar computation of {} has no kernel", instruction->shape().ToString());
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
