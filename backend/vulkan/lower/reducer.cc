#include "backend/vulkan/lower/reducer.h"

#include <cmath>
#include <limits>
#include <optional>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/row_program.h"
#include "core/literal.h"

namespace vxla::vulkan {
namespace {

// The operation of a computation that is one binary operation of its two parameters.
std::optional<Opcode> SingleOperation(const Computation& computation) {
  const Instruction& root = *computation.root();
  if (computation.parameters().size() != 2 || root.operand_count() != 2 || !IsElementwise(root.opcode()))
    return std::nullopt;
  const Instruction *a = root.operand(0), *b = root.operand(1);
  const bool both = (a == computation.parameter(0) && b == computation.parameter(1)) ||
                    (a == computation.parameter(1) && b == computation.parameter(0));
  if (!both || root.shape().element_type() != computation.parameter(0)->shape().element_type()) return std::nullopt;
  return root.opcode();
}

std::string Text(const Literal& literal) {
  return ConstantText(literal.shape().element_type(), literal.bytes().data());
}

std::string LowestText(ElementType type, bool highest) {
  if (IsFloating(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Text(Literal::Scalar(type, highest ? infinity : -infinity));
  }
  if (IsSigned(type)) return Text(Literal::ScalarInt(type, highest ? MaxSigned(type) : MinSigned(type)));
  return Text(Literal::ScalarInt(type, highest ? static_cast<int64_t>(MaxUnsigned(type)) : 0));
}

// `type` is the accumulator's.
std::optional<std::string> IdentityText(Opcode opcode, ElementType type) {
  const bool real = IsFloating(type) || IsInteger(type);
  switch (opcode) {
    case Opcode::kAdd:
      if (type == ElementType::kPred) return std::nullopt;
      if (IsComplex(type)) {
        Literal zero{Shape(type)};
        zero.SetComplex(0, {-0.0, -0.0});
        return Text(zero);
      }
      // Minus zero keeps a sum of minus zeros.
      return IsFloating(type) ? Text(Literal::Scalar(type, -0.0)) : Text(Literal::ScalarInt(type, 0));
    case Opcode::kMultiply:
      if (!real) return std::nullopt;
      return IsFloating(type) ? Text(Literal::Scalar(type, 1)) : Text(Literal::ScalarInt(type, 1));
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      if (type == ElementType::kPred) return opcode == Opcode::kMaximum ? "false" : "true";
      return real ? std::optional(LowestText(type, opcode == Opcode::kMinimum)) : std::nullopt;
    case Opcode::kAnd:
      if (type == ElementType::kPred) return "true";
      return IsInteger(type) ? std::optional(Text(Literal::ScalarInt(type, -1))) : std::nullopt;
    case Opcode::kOr:
    case Opcode::kXor:
      if (type == ElementType::kPred) return "false";
      return IsInteger(type) ? std::optional(Text(Literal::ScalarInt(type, 0))) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

Reducer ReadReducer(const Computation& computation) {
  Reducer reducer;
  const size_t count = computation.parameters().size() / 2;
  for (size_t i = 0; i < count; ++i) {
    reducer.types.push_back(computation.parameter(static_cast<int64_t>(i))->shape().element_type());
  }
  reducer.combine = [&computation](const std::string& name) { return ReducerFunction(computation, name); };
  const std::optional<Opcode> operation = SingleOperation(computation);
  if (!operation) return reducer;
  ElementType& type = reducer.types[0];
  if (IsNarrowFloat(type)) type = ElementType::kF32;
  if (const auto identity = IdentityText(*operation, type)) reducer.identity = {*identity};
  if (*operation == Opcode::kAdd && (IsFloating(type) || IsComplex(type))) {
    reducer.combine = [type](const std::string& name) { return AddFunction(type, name); };
  }
  return reducer;
}

Status CheckReducer(const Computation& computation, const DeviceFacts& facts) {
  return CheckScalarComputation(computation, facts);
}

}  // namespace vxla::vulkan
