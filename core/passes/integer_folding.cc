#include "core/passes/integer_folding.h"

#include <algorithm>
#include <optional>

#include "core/passes/control_flow.h"
#include "core/passes/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsFoldable(const Shape& shape) {
  return shape.IsArray() && !shape.IsDynamic() &&
         (IsInteger(shape.element_type()) || shape.element_type() == ElementType::kPred);
}

const Literal* KnownValue(const Instruction& i) {
  return i.opcode() == Opcode::kConstant && IsFoldable(i.shape()) ? i.attributes<ConstantAttributes>().literal.get()
                                                                  : nullptr;
}

// Two's complement, as many bits as the type has.
struct IntegerType {
  explicit IntegerType(ElementType type) : bits(BitWidth(type)), is_signed(IsSigned(type)) {
    if (type == ElementType::kPred) bits = 1;
  }
  int64_t Wrapped(uint64_t value) const {
    if (bits >= 64) return static_cast<int64_t>(value);
    const uint64_t kept = value << (64 - bits);
    return is_signed ? static_cast<int64_t>(kept) >> (64 - bits) : static_cast<int64_t>(kept >> (64 - bits));
  }
  uint64_t Bits(int64_t value) const {
    return bits >= 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  }
  int bits;
  bool is_signed;
};

// Of one element each. Division is left to the device, with its rules for zero.
std::optional<int64_t> Computed(Opcode opcode, const IntegerType& type, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const bool shifts_all_out = type.Bits(y) >= static_cast<uint64_t>(type.bits);
  switch (opcode) {
    case Opcode::kAdd:
      return type.Wrapped(a + b);
    case Opcode::kSubtract:
      return type.Wrapped(a - b);
    case Opcode::kMultiply:
      return type.Wrapped(a * b);
    case Opcode::kAnd:
      return x & y;
    case Opcode::kOr:
      return x | y;
    case Opcode::kXor:
      return x ^ y;
    case Opcode::kShiftLeft:
      return shifts_all_out ? 0 : type.Wrapped(a << b);
    case Opcode::kShiftRightLogical:
      return shifts_all_out ? 0 : type.Wrapped(type.Bits(x) >> b);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> ValueOf(const Instruction& i) {
  if (!IsFoldable(i.shape()) || i.shape().ElementCount() != 1 || i.operand_count() == 0 || i.operand_count() > 2)
    return std::nullopt;
  const Literal *first = KnownValue(*i.operand(0)), *second = i.operand_count() > 1 ? KnownValue(*i.operand(1)) : first;
  if (first == nullptr || second == nullptr) return std::nullopt;
  if (i.opcode() == Opcode::kSlice) {
    const Shape& whole = i.operand(0)->shape();
    int64_t linear = 0;
    for (int64_t d = 0; d < whole.rank(); ++d)
      linear = linear * whole.dimension(d) + i.attributes<SliceAttributes>().slice[static_cast<size_t>(d)].start;
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
  // Truth values add and multiply by rules of their own.
  const ElementType type = i.shape().element_type();
  if (i.operand_count() != 2 || type == ElementType::kPred || i.operand(0)->shape().element_type() != type)
    return std::nullopt;
  return Computed(i.opcode(), IntegerType(type), first->GetInt(0), second->GetInt(0));
}

}  // namespace

bool FoldIntegers(Module& module) {
  return ExpandEach(ControlComputations(module), [](Computation& computation, Instruction* i) -> Instruction* {
    const bool live = !i->users().empty() || i == computation.root();
    const std::optional<int64_t> value = live && !i->HasControlEdges() ? ValueOf(*i) : std::nullopt;
    if (!value) return nullptr;
    Literal literal(Shape(i->shape().element_type(), SizesOf(i->shape())));
    literal.SetInt(0, *value);
    return Expansion(computation, i).Constant(std::move(literal));
  });
}

}  // namespace VXLA_NAMESPACE
