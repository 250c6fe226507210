#include "core/passes/sizes/size_math.h"

#include <algorithm>

#include "core/host/ranges.h"
#include "core/numerics/integer_type.h"

namespace VXLA_NAMESPACE {
namespace {

const Shape& SizeShape() {
  static const Shape shape(ElementType::kS32);
  return shape;
}

ComparisonDirection Opposite(ComparisonDirection direction) {
  using enum ComparisonDirection;
  for (const auto& [one, other] : {std::pair(kEq, kNe), std::pair(kLt, kGe), std::pair(kGt, kLe)}) {
    if (direction == one) return other;
    if (direction == other) return one;
  }
  return direction;
}

}  // namespace

Shape AtBounds(const Shape& shape) {
  if (shape.IsArray()) return Shape(shape.element_type(), SizesOf(shape));
  if (!shape.IsTuple()) return shape;
  return Shape::Tuple(Transformed(shape.tuple_elements(), AtBounds));
}

Instruction* SizeMath::Number(int64_t value) {
  Instruction*& number = context_.constants[value];
  if (number == nullptr) number = Constant(Literal::ScalarInt(ElementType::kS32, value));
  return number;
}

bool SizeMath::IsNumber(const Instruction* size) {
  return size->shape() == SizeShape() && size->known_literal() != nullptr;
}

bool SizeMath::IsNumber(const Instruction* size, int64_t value) {
  return IsNumber(size) && size->literal().GetInt(0) == value;
}

Instruction* SizeMath::Simplified(Opcode opcode, Instruction* a, Instruction* b) {
  if (IsNumber(a) && IsNumber(b)) {
    return Number(*IntegerType(ElementType::kS32).Computed(opcode, a->literal().GetInt(0), b->literal().GetInt(0)));
  }
  const auto limit = [&](const Instruction* size) {
    const auto found = context_.limits.find(size);
    return found == context_.limits.end() ? -1 : found->second;
  };
  switch (opcode) {
    case Opcode::kAdd:
      if (IsNumber(a, 0)) return b;
      return IsNumber(b, 0) ? a : nullptr;
    case Opcode::kSubtract:
      if (a == b) return Number(0);
      return IsNumber(b, 0) ? a : nullptr;
    case Opcode::kMultiply:
      if (IsNumber(a, 1)) return b;
      if (IsNumber(b, 1)) return a;
      return IsNumber(a, 0) || IsNumber(b, 0) ? Number(0) : nullptr;
    case Opcode::kDivide:
      return IsNumber(b, 1) ? a : nullptr;
    case Opcode::kRemainder:
      return IsNumber(b, 1) ? Number(0) : nullptr;
    default:
      break;
  }
  if (a == b) return a;
  for (const auto& [size, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!IsNumber(other) || limit(size) < 0) continue;
    const int64_t number = other->literal().GetInt(0);
    if (opcode == Opcode::kMinimum && limit(size) <= number) return size;
    if (opcode == Opcode::kMaximum && number <= 0) return size;
    if (opcode == Opcode::kMinimum && number <= 0) return other;
  }
  return nullptr;
}

Instruction* SizeMath::Joined(Opcode opcode, Instruction* a, Instruction* b) {
  const bool commutes = opcode != Opcode::kSubtract && opcode != Opcode::kDivide && opcode != Opcode::kRemainder;
  if (commutes && IsNumber(a) && !IsNumber(b)) std::swap(a, b);
  if (Instruction* const simple = Simplified(opcode, a, b)) return simple;
  Instruction*& known = context_.known[{opcode, a, b}];
  if (known == nullptr) known = Add(opcode, SizeShape(), {a, b});
  return known;
}

Instruction* SizeMath::Chosen(ComparisonDirection direction, Instruction* a, Instruction* b, Instruction* yes,
                              Instruction* no) {
  if (yes == no) return yes;
  if (IsNumber(a) && IsNumber(b)) {
    return Holds(direction, a->literal().GetInt(0), b->literal().GetInt(0)) ? yes : no;
  }
  return Select(Compare(direction, a, b), yes, no);
}

Instruction* SizeMath::SizeOf(const PaddedArray& value, int64_t dimension) {
  Instruction* const size = value.sizes[dimension];
  return size != nullptr ? size : Number(value.array->shape().dimension(dimension));
}

bool SizeMath::Lives(const PaddedArray& value, int64_t dimension) {
  const Instruction* const size = value.sizes[dimension];
  return size != nullptr && !IsNumber(size, value.array->shape().dimension(dimension));
}

void SizeMath::NoteLimit(const Instruction* size, int64_t bound) {
  const auto [at, fresh] = context_.limits.emplace(size, bound);
  if (!fresh) at->second = std::min(at->second, bound);
}

void SizeMath::Require(ComparisonDirection direction, Instruction* a, Instruction* b, std::string message,
                       Instruction* first, Instruction* second) {
  const bool known = IsNumber(a) && IsNumber(b);
  if (known && Holds(direction, a->literal().GetInt(0), b->literal().GetInt(0))) return;
  if (direction == ComparisonDirection::kEq && a == b) return;
  const auto limit = context_.limits.find(a);
  if (limit != context_.limits.end() && IsNumber(b)) {
    const int64_t number = b->literal().GetInt(0);
    if (direction == ComparisonDirection::kLe && limit->second <= number) return;
    if (direction == ComparisonDirection::kGe && number <= 0) return;
  }
  if (!context_.may_fail) {
    context_.refused = true;
    return;
  }
  const bool asserted = instruction().opcode() == Opcode::kSetDimensionSize && !instruction().notes().checked.empty();
  if (!asserted) message = std::string(OpcodeText(instruction().opcode())) + ": " + message;
  context_.messages.push_back(std::move(message));
  Instruction* const number = Number(static_cast<int64_t>(context_.messages.size()));
  Instruction* const failed = Compare(Opposite(direction), a, b);
  Merge({Select(failed, number, Number(0)), first, second});
}

void SizeMath::RequireWithin(Instruction* size, int64_t bound, const std::string& message) {
  Require(ComparisonDirection::kGe, size, Number(0), message, size, size);
  Require(ComparisonDirection::kLe, size, Number(bound), message, size, size);
}

void SizeMath::Merge(const SizeFault& later) {
  SizeFault& fault = context_.fault;
  if (fault.number == nullptr) {
    fault = later;
    return;
  }
  Instruction* const had = Compare(ComparisonDirection::kNe, fault.number, Number(0));
  fault = {Select(had, fault.number, later.number), Select(had, fault.first, later.first),
           Select(had, fault.second, later.second)};
}

Instruction* SizeMath::LiveMask(const IntList& bounds, const std::vector<Instruction*>& sizes) {
  Instruction* mask = nullptr;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == nullptr || IsNumber(sizes[d], bounds[d])) continue;
    Instruction* const index = Iota(ElementType::kS32, bounds, static_cast<int64_t>(d));
    Instruction* const lives = Compare(ComparisonDirection::kLt, index, Spread(sizes[d], bounds));
    mask = mask == nullptr ? lives : And(mask, lives);
  }
  if (mask == nullptr) mask = Spread(Constant(Literal::ScalarInt(ElementType::kPred, 1)), bounds);
  return mask;
}

Instruction* SizeMath::Masked(const PaddedArray& value, const IntList& dimensions, Instruction* scalar) {
  std::vector<Instruction*> sizes(value.sizes.size());
  bool any = false;
  for (const int64_t d : dimensions) {
    if (!Lives(value, d)) continue;
    sizes[d] = value.sizes[d];
    any = true;
  }
  if (!any) return value.array;
  const IntList bounds = SizesOf(value.array->shape());
  return Select(LiveMask(bounds, sizes), value.array, Spread(scalar, bounds));
}

Instruction* SizeMath::At(Instruction* array, Instruction* positions) {
  GatherAttributes gather;
  gather.slice_sizes = {1};
  gather.collapsed_slice_dims = gather.start_index_map = {0};
  gather.index_vector_dim = positions->shape().rank();
  return Add(Opcode::kGather, Shape(array->shape().element_type(), SizesOf(positions->shape())),
             {Reshaped(array, {array->shape().ElementCount()}), positions}, gather);
}

}  // namespace VXLA_NAMESPACE
