#include "core/passes/simplify/integer_folding.h"

#include <algorithm>

#include "core/numerics/integer_type.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsFoldable(const Shape& shape) {
  return shape.IsArray() && !shape.IsDynamic() &&
         (IsInteger(shape.element_type()) || shape.element_type() == ElementType::kPred);
}

const Literal* KnownValue(const Instruction& i) { return IsFoldable(i.shape()) ? i.known_literal() : nullptr; }

// An element of a table.
std::optional<int64_t> Looked(const Instruction& i) {
  const Shape& whole = i.operand(0)->shape();
  int64_t linear = 0;
  for (int d = 0; d < whole.rank(); ++d) {
    const Literal* start = KnownValue(*i.operand(d + 1));
    if (start == nullptr) return std::nullopt;
    int64_t at = start->GetInt(0);
    if (at < 0 && IsUnsigned(start->shape().element_type())) at = INT64_MAX;
    linear = linear * whole.dimension(d) + std::clamp<int64_t>(at, 0, whole.dimension(d) - 1);
  }
  return KnownValue(*i.operand(0))->GetInt(linear);
}

// A floating zero that is written as an integer or truth value: kernels keep zeros from drivers that compute x * 0 and
// x / 0 wrongly (backend/vulkan/codegen/value_writer.cc), which takes a constant of the type.
bool IsFloatingZero(const Instruction& i) {
  const ElementType type = i.shape().IsArray() ? i.shape().element_type() : ElementType::kPred;
  const bool converts = i.opcode() == Opcode::kConvert && type != ElementType::kF8E8M0FNU;  // which has no zero
  if (!(converts || i.opcode() == Opcode::kBitcastConvert) || !(IsFloating(type) || IsComplex(type))) return false;
  const Literal* const given = KnownValue(*i.operand(0));
  return given != nullptr && !i.shape().IsDynamic() && given->element_count() == 1 && i.shape().ElementCount() == 1 &&
         given->GetInt(0) == 0;
}

}  // namespace

std::optional<int64_t> KnownInteger(const Instruction& i) {
  if (!IsFoldable(i.shape()) || i.shape().ElementCount() != 1 || i.operand_count() == 0) return std::nullopt;
  if (i.opcode() == Opcode::kDynamicSlice) {
    const bool scalars = KnownValue(*i.operand(0)) != nullptr && i.operand_count() == i.operand(0)->shape().rank() + 1;
    return scalars ? Looked(i) : std::nullopt;
  }
  if (i.operand_count() > 2) return std::nullopt;
  const Literal *first = KnownValue(*i.operand(0)), *second = i.operand_count() > 1 ? KnownValue(*i.operand(1)) : first;
  if (first == nullptr || second == nullptr) return std::nullopt;
  if (i.opcode() == Opcode::kSlice) {
    const Shape& whole = i.operand(0)->shape();
    int64_t linear = 0;
    for (int64_t d = 0; d < whole.rank(); ++d)
      linear = linear * whole.dimension(d) + i.attributes<SliceAttributes>().slice[d].start;
    return first->GetInt(linear);
  }
  if (i.operand(0)->shape().ElementCount() != 1) return std::nullopt;
  switch (i.opcode()) {
    case Opcode::kReshape:
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
      return first->GetInt(0);
    case Opcode::kConvert:
      if (i.shape().element_type() == ElementType::kPred) return first->GetInt(0) != 0 ? 1 : 0;
      return IntegerType(i.shape().element_type()).Wrapped(static_cast<uint64_t>(first->GetInt(0)));
    default:
      break;
  }
  const ElementType given = i.operand(0)->shape().element_type();
  if (i.opcode() == Opcode::kCompare) {
    return IntegerType(given).Compares(i.attributes<CompareAttributes>().direction, first->GetInt(0),
                                       second->GetInt(0));
  }
  // Truth values add and multiply by rules of their own.
  const ElementType type = i.shape().element_type();
  if (i.operand_count() != 2 || type == ElementType::kPred || given != type) return std::nullopt;
  const int64_t x = first->GetInt(0), y = second->GetInt(0);
  // Left to the device, with its rules.
  if (IsAnyOf(i.opcode(), Opcode::kPower, Opcode::kShiftRightArithmetic)) return std::nullopt;
  const bool divides = IsAnyOf(i.opcode(), Opcode::kDivide, Opcode::kRemainder);
  if (divides && (y == 0 || (IsSigned(type) && y == -1))) return std::nullopt;
  return IntegerType(type).Computed(i.opcode(), x, y);
}

bool FoldIntegers(Module& module) {
  return ExpandEach(ControlComputations(module), [](Computation& computation, Instruction* i) -> Instruction* {
    const bool live = (!i->users().empty() || i == computation.root()) && !i->HasControlEdges();
    const std::optional<int64_t> value = live ? KnownInteger(*i) : std::nullopt;
    if (!value && !(live && IsFloatingZero(*i))) return nullptr;
    Literal literal(Shape(i->shape().element_type(), SizesOf(i->shape())));
    if (value) literal.SetInt(0, *value);
    return Expansion(computation, i).Constant(std::move(literal));
  });
}

}  // namespace VXLA_NAMESPACE
