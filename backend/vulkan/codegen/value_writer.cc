#include "backend/vulkan/codegen/value_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/vulkan/codegen/common_bits.h"
#include "backend/vulkan/codegen/scalar_computation.h"
#include "core/numerics/accuracy.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The functions of wide carriers are precise inside.
bool IsPrecise(ElementType type) { return (IsFloating(type) || IsComplex(type)) && !HasWideCarrier(type); }

}  // namespace

ValueWriter::ValueWriter(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, IndexSpace& space)
    : MoveWriter(kernel, body, space), buffers_(buffers) {}

void ValueWriter::AfterStore(int k, const IndexExpression& first, std::span<const std::string> values) {
  if (const auto& after = kernel_.after_store(k)) after(*this, first, values);
}

bool ValueWriter::IsGiven(const Instruction& instruction) const {
  return std::ranges::any_of(overrides_, [&](const auto& known) { return known.first.first == &instruction; });
}

void ValueWriter::Override(const Instruction& instruction, MultiIndex at, std::string glsl_value, int leaf) {
  const Shape& shape = LeafShape(instruction, leaf);
  overrides_[{&instruction, leaf}].push_back({space_.Linearize(at, shape.dimensions()), std::move(glsl_value)});
}

void ValueWriter::Override(const Instruction& instruction, MultiIndex at, ElementType from, const std::string& value) {
  const ElementType type = instruction.shape().element_type();
  Override(instruction, std::move(at), type == from ? value : Named(type, ConvertedValue(from, type, value)));
}

const std::string* ValueWriter::FindOverride(const Instruction& instruction, int leaf, const MultiIndex& index) const {
  const auto it = overrides_.find({&instruction, leaf});
  if (it == overrides_.end()) return nullptr;
  const Shape& shape = LeafShape(instruction, leaf);
  const IndexExpression linear = space_.Linearize(index, shape.dimensions());
  for (const OverriddenValue& known : it->second) {
    if (known.at == linear) return &known.value;
  }
  // A hero's result is known where the algorithm has it and nowhere else; other values can be computed at any index.
  const auto places = [&] {
    std::string text;
    for (const OverriddenValue& known : it->second) text += " " + space_.ToString(known.at);
    return text;
  };
  VXLA_CHECK(!IsHero(instruction), fmt::format("{} is read at {}, its value is known at{}", instruction.name(),
                                               space_.ToString(linear), places()));
  return nullptr;
}

std::string ValueWriter::LeafValue(const Instruction& instruction, int leaf, const MultiIndex& index) {
  if (!instruction.shape().IsTuple()) return Value(instruction, index);
  const std::string* value = FindOverride(instruction, leaf, index);
  VXLA_CHECK(value != nullptr, "a result that the algorithm has not given");
  return *value;
}

std::string ValueWriter::Value(const Instruction& instruction, const MultiIndex& index) {
  if (!overrides_.empty()) {
    const bool element = instruction.opcode() == Opcode::kGetTupleElement;
    const int leaf = element ? static_cast<int>(instruction.attributes<GetTupleElementAttributes>().index) : 0;
    if (const std::string* value = FindOverride(element ? *instruction.operand(0) : instruction, leaf, index))
      return *value;
  }
  return Once(KeyOf(instruction, index), [&] {
    kernel_.NoteType(instruction.shape().element_type());
    return Compute(instruction, index);
  });
}

std::vector<std::vector<std::string>> ValueWriter::Values(std::span<const Instruction* const> instructions,
                                                          const IndexExpression& first, int64_t width) {
  std::vector<std::vector<std::string>> values(instructions.size());
  for (int64_t j = 0; j < width; ++j) {
    const IndexExpression linear = space_.Add(first, {{}, j});
    for (size_t i = 0; i < values.size(); ++i)
      values[i].push_back(Value(*instructions[i], space_.Delinearize(linear, instructions[i]->shape().dimensions())));
  }
  return values;
}

std::string ValueWriter::Compute(const Instruction& instruction, const MultiIndex& index) {
  if (const Instruction* operand = body_.OperandOf(instruction))
    return LoadOperand(*operand, instruction.shape(), index);
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return ConstantValue(instruction);
    case Opcode::kIota:
      return IotaValue(instruction, index);
    case Opcode::kPad:
      return PadValue(instruction, index);
    case Opcode::kConcatenate:
      return ConcatenateValue(instruction, index);
    case Opcode::kDynamicSlice:
      return DynamicSliceValue(instruction, index);
    case Opcode::kGather:
      return GatherValue(instruction, index);
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kCopy:
      return Value(*instruction.operand(0), OperandIndex(space_, instruction, 0, index));
    case Opcode::kSelect:  // where nothing is chosen: core/passes/sizes/live_rows.h
      if (instruction.operand(1) == instruction.operand(2)) return Value(*instruction.operand(1), index);
      break;
    default:
      break;
  }
  std::vector<std::string> operands;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    operands.push_back(Value(*instruction.operand(i), OperandIndex(space_, instruction, i, index)));
  }
  return Elementwise(instruction, std::move(operands));
}

std::string ValueWriter::Elementwise(const Instruction& instruction, std::vector<std::string> operands) {
  const ElementType type = instruction.shape().element_type();
  if (MakesFloats(instruction) && IsComputed(*instruction.operand(0)))
    operands[0] = UnknownText(instruction.operand(0)->shape().element_type(), operands[0]);
  const bool common_bits =
      !FusesTerms(kernel_.facts()) || !HasFusedVariant(instruction.opcode()) || HasCommonBits(instruction);
  Expression value = ElementwiseValue(instruction, operands, common_bits);
  // A conversion that changes nothing.
  if (operands.size() == 1 && !value.rounded && value.text == operands[0]) return operands[0];
  if (value.rounded) {
    std::vector<std::string> of_any_nan;
    for (const std::string& operand : operands) of_any_nan.push_back(OfAnyNan(operand));
    if (of_any_nan != operands) value = ElementwiseValue(instruction, of_any_nan, common_bits);
  }
  return Named(type, std::move(value));
}

bool ValueWriter::HasCommonBits(const Instruction& instruction) {
  if (!common_bits_) common_bits_ = ValuesOfCommonBits(body_);
  return common_bits_->contains(&instruction);
}

std::string ValueWriter::Named(ElementType type, Expression value) {
  const bool rounded = value.rounded.has_value();
  std::string local = Local(CarrierType(type), std::move(value), IsPrecise(type));
  if (rounded) NoteRounded(local);
  return local;
}

namespace {

// Whether something is calculated of it, as it is or moved so many times, and other constants alone.
bool MeetsOnlyConstants(const Instruction& value, int moves = 2) {
  const auto is_constant = [](const Instruction* at) {
    while (IsIndexOnly(*at) && at->operand_count() > 0) at = at->operand(0);
    return at->opcode() == Opcode::kConstant;
  };
  return std::ranges::any_of(value.users(), [&](const Instruction* user) {
    if (IsIndexOnly(*user)) return moves > 0 && MeetsOnlyConstants(*user, moves - 1);
    return IsElementwise(user->opcode()) && std::ranges::all_of(user->operands(), is_constant);
  });
}

}  // namespace

std::string ValueWriter::ConstantValue(const Instruction& instruction) {
  const ElementType type = instruction.shape().element_type();
  const std::byte* bytes = instruction.literal().bytes().data();
  uint64_t magnitude = 0;
  std::memcpy(&magnitude, bytes, std::min(StorageBytes(type), 8));
  const bool whole_word = type == ElementType::kF32 || type == ElementType::kS32 || type == ElementType::kU32;
  if (kernel_.constants_as_params() && whole_word) {
    const std::string word = kernel_.Param(magnitude);
    if (type == ElementType::kU32) return Local("uint", word);
    return Local(CarrierType(type),
                 Expression((type == ElementType::kF32 ? "uintBitsToFloat(" : "int(") + word + ")", MadeBy::kConstant));
  }
  return Local(CarrierType(type),
               Expression(ConstantText(instruction.literal(), MeetsOnlyConstants(instruction)), MadeBy::kConstant));
}

bool ValueWriter::IsComputed(const Instruction& value) const {
  const Instruction* at = &value;
  while (body_.OperandOf(*at) == nullptr && IsIndexOnly(*at) && at->operand_count() > 0) at = at->operand(0);
  return body_.OperandOf(*at) == nullptr && at->opcode() != Opcode::kConstant && at->opcode() != Opcode::kIota;
}

std::string ValueWriter::IotaValue(const Instruction& instruction, const MultiIndex& index) {
  const ElementType type = instruction.shape().element_type();
  const auto dimension = static_cast<size_t>(instruction.attributes<IotaAttributes>().iota_dimension);
  const IndexExpression& at = index.at(dimension);
  const std::string place =
      at.terms.empty() ? fmt::format("unknown_u32({}u)", static_cast<uint32_t>(at.constant)) : Index(at);
  return Local(CarrierType(type), ConvertedText(ElementType::kU32, type, place));
}

std::string ValueWriter::LoadOperand(const Instruction& operand, const Shape& shape, const MultiIndex& index) {
  if (const auto held = held_.find(&operand); held != held_.end()) return held->second;
  const ElementType type = shape.element_type();
  const int k = kernel_.AddBuffer(type, Access::kRead, buffers_.SliceOf(operand, 0));
  return Load(k, space_.Linearize(index, shape.dimensions()));
}

int ValueWriter::ResultTensor(int leaf) {
  const Instruction& instruction = *body_.instruction;
  return kernel_.AddBuffer(LeafShape(instruction, leaf).element_type(), Access::kWrite,
                           buffers_.SliceOf(instruction, leaf));
}

std::vector<std::string> ValueWriter::GroupWords(const Instruction& instruction, MultiIndex index) {
  const Instruction* at = &instruction;
  while (body_.OperandOf(*at) == nullptr) {
    if (at->operand_count() != 1 || !IsPlainMap(*at) || IsElementwise(at->opcode())) return {};
    index = OperandIndex(space_, *at, 0, index);
    at = at->operand(0);
  }
  const Instruction& operand = *body_.OperandOf(*at);
  if (held_.contains(&operand)) return {};
  const int k = kernel_.AddBuffer(at->shape().element_type(), Access::kRead, buffers_.SliceOf(operand, 0));
  const auto group = FindGroup(k, space_.Linearize(index, at->shape().dimensions()), false);
  if (!kernel_.groups_are_words(k) || !group || group->place != 0) return {};
  std::vector<std::string> words;
  const int per_word = 4 / StorageBytes(at->shape().element_type());
  for (int place = 0; place < vector_width(); place += per_word) words.push_back(WordAt(k, {group->group, place}));
  return words;
}

}  // namespace VXLA_NAMESPACE::vulkan
