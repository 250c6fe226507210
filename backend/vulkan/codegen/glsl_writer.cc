#include "backend/vulkan/codegen/glsl_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Parts that are told apart one after another, each in the else of the one before; more of them by halves of halves.
// Drivers keep few levels: beyond 80 lavapipe takes all branches.
constexpr size_t kMostInARow = 8;

std::string KeyOf(const IndexExpression& expression) {
  std::string key = fmt::format("{}", expression.constant);
  for (const IndexTerm& t : expression.terms) {
    fmt::format_to(std::back_inserter(key), "+{}.{}.{}.{}", t.variable, t.divisor, t.modulus, t.coefficient);
  }
  return key;
}

std::string KeyOf(const Instruction& instruction, const MultiIndex& index) {
  std::string key = fmt::format("{}", static_cast<const void*>(&instruction));
  for (const IndexExpression& e : index) key += "," + KeyOf(e);
  return key;
}

Expression Loaded(int k, std::string_view tag, int count, std::string index, std::optional<ElementType> decoded = {}) {
  return Expression(Elements{std::to_string(k), tag, count, std::move(index)}, decoded);
}

// The functions of wide carriers are precise inside.
bool IsPrecise(ElementType type) { return (IsFloating(type) || IsComplex(type)) && !HasWideCarrier(type); }

}  // namespace

ValueWriter::ValueWriter(KernelBuilder& kernel, const FusionDescription& body, BufferMap& buffers, IndexSpace& space)
    : kernel_(kernel), body_(body), buffers_(buffers), space_(space) {}

void ValueWriter::Bind(int variable, std::string glsl_name) { bound_[variable] = std::move(glsl_name); }

int ValueWriter::NewVariable(std::string glsl_name, int64_t size, int64_t width) {
  const int variable = space_.AddVariable(size);
  Bind(variable, std::move(glsl_name));
  if (width > 1) Vectorize(variable, static_cast<int>(width));
  return variable;
}

void ValueWriter::Override(const Instruction& instruction, MultiIndex at, std::string glsl_value, int leaf) {
  const Shape& shape = LeafShape(instruction, leaf);
  overrides_[{&instruction, leaf}].push_back({space_.Linearize(at, shape.dimensions()), std::move(glsl_value)});
}

const std::string* ValueWriter::Find(const std::string& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto it = scope->find(key); it != scope->end()) return &it->second;
  }
  return nullptr;
}

void ValueWriter::OpenBlock(const std::string& head) {
  CodeWriter::OpenBlock(head);
  scopes_.emplace_back();
}

void ValueWriter::CloseBlock() {
  scopes_.pop_back();
  VXLA_CHECK(!scopes_.empty(), "a block that was not opened");
  CodeWriter::CloseBlock();
}

Code ValueWriter::Take() {
  VXLA_CHECK(scopes_.size() == 1, "an open block");
  scopes_ = std::vector<Scope>(1);
  next_local_ = 0;
  rounded_.clear();
  any_nan_of_.clear();
  return CodeWriter::Take();
}

std::string ValueWriter::Local(std::string_view glsl_type, Expression value, bool precise) {
  std::string name = NewName();
  Declare(glsl_type, name, std::move(value), precise);
  return name;
}

std::string ValueWriter::Declare(ElementType type) {
  std::string name = NewName();
  Add({.kind = Statement::Kind::kDeclare, .type = std::string(CarrierType(type)), .name = name});
  return name;
}

void ValueWriter::StoreValues(int k, std::string_view tag, const std::string& index, std::vector<Stored> values) {
  Add({.kind = Statement::Kind::kStore,
       .target = {std::to_string(k), tag, static_cast<int>(values.size()), index},
       .values = std::move(values)});
}

std::string ValueWriter::VariableName(int variable) {
  if (auto it = bound_.find(variable); it != bound_.end()) return it->second;
  const auto& definition = space_.definition(variable);
  VXLA_CHECK(definition.has_value(), "a loop variable that is not bound");
  return Index(*definition);
}

std::string ValueWriter::Quotient(int variable, int64_t divisor) {
  if (divisor == 1) return VariableName(variable);
  const int64_t size = space_.size(variable);
  if (size > int64_t{1} << 32) {
    kernel_.NoteBeyondReach();
    return "0u";
  }
  // Divide is exact below 2^31.
  const bool large = size > int64_t{1} << 31;
  return Once(fmt::format("q{}/{}", variable, divisor), [&] {
    const std::string name = VariableName(variable);
    return Local("uint", large ? fmt::format("{} / {}", name, kernel_.Param(static_cast<uint32_t>(divisor)))
                               : kernel_.Divide(name, divisor));
  });
}

std::string ValueWriter::Digit(const IndexTerm& term) {
  if (term.modulus == 0) return Quotient(term.variable, term.divisor);
  return Once(fmt::format("d{}/{}%{}", term.variable, term.divisor, term.modulus), [&] {
    // x % m through quotients that other digits need as well.
    const std::string low = Quotient(term.variable, term.divisor);
    const std::string high = Quotient(term.variable, term.divisor * term.modulus);
    return Local("uint", fmt::format("{} - {} * {}", low, high, kernel_.Param(static_cast<uint32_t>(term.modulus))));
  });
}

std::string ValueWriter::Index(const IndexExpression& expression) {
  if (expression == IndexExpression()) return "0u";
  return Once("i" + KeyOf(expression), [&] {
    const auto [least, most] = space_.Range(expression);
    if (most >= int64_t{1} << 32 || (least < 0 && (most >= int64_t{1} << 31 || least < -(int64_t{1} << 31)))) {
      kernel_.NoteBeyondReach();
    }
    std::string text;
    for (const IndexTerm& term : expression.terms) {
      const std::string digit = Digit(term);
      if (term.coefficient == -1) {
        text += (text.empty() ? "0u - " : " - ") + digit;
        continue;
      }
      if (!text.empty()) text += " + ";
      // Negative coefficients wrap: the sum is right modulo 2^32.
      text += term.coefficient == 1 ? digit : digit + " * " + kernel_.Param(static_cast<uint32_t>(term.coefficient));
    }
    if (expression.constant != 0) {
      text += (text.empty() ? "" : " + ") + kernel_.Param(static_cast<uint32_t>(expression.constant));
    }
    const bool is_digit =
        expression.terms.size() == 1 && expression.constant == 0 && expression.terms[0].coefficient == 1;
    return is_digit ? text : Local("uint", text);
  });
}

std::string ValueWriter::Place(const IndexExpression& linear) {
  return space_.Range(linear).second < int64_t{1} << 31 ? Index(linear) : FarPlace(linear);
}

std::string ValueWriter::FarPlace(const IndexExpression& linear) {
  kernel_.ReachesFar();
  if (!kernel_.has_wide_indices()) kernel_.NoteBeyondReach();
  return Once("f" + KeyOf(linear), [&] {
    const auto wide = [&](int64_t value) {
      const auto bits = static_cast<uint64_t>(value);
      const std::string low = kernel_.Param(static_cast<uint32_t>(bits));
      return fmt::format("WIDE_INDEX({}, {})", low, kernel_.Param(static_cast<uint32_t>(bits >> 32)));
    };
    std::string text;
    for (const IndexTerm& term : linear.terms) {
      if (!text.empty()) text += " + ";
      text += fmt::format("index64_t({})", Digit(term));
      if (term.coefficient != 1) text += " * " + wide(term.coefficient);
    }
    if (linear.constant != 0 || text.empty()) text += (text.empty() ? "" : " + ") + wide(linear.constant);
    return Local("index64_t", text);
  });
}

std::string ValueWriter::LinearIndex(const MultiIndex& index, const Shape& shape) {
  return Index(space_.Linearize(index, shape.dimensions()));
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
  Expression value = ElementwiseValue(instruction, operands);
  // A conversion that changes nothing.
  if (operands.size() == 1 && !value.rounded && value.text == operands[0]) return operands[0];
  const bool rounded = value.rounded.has_value();
  if (rounded && !any_nan_of_.empty()) {
    for (std::string& operand : operands) {
      if (const auto other = any_nan_of_.find(operand); other != any_nan_of_.end()) operand = other->second;
    }
    value = ElementwiseValue(instruction, operands);
  }
  const std::string local = Local(CarrierType(type), std::move(value), IsPrecise(type));
  if (rounded) rounded_.insert(local);
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
    const std::string word = kernel_.Param(static_cast<uint32_t>(magnitude));
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

std::string ValueWriter::Load(int k, const IndexExpression& linear) {
  if (const auto group = FindGroup(k, linear)) return LoadFromGroup(k, *group);
  return Once(fmt::format("e{}:{}", k, KeyOf(linear)), [&] {
    const ElementType type = kernel_.buffer_type(k);
    return Local(CarrierType(type), Loaded(k, StorageTag(type), 1, Place(linear), type));
  });
}

void ValueWriter::Vectorize(int variable, int width) {
  VXLA_CHECK(width == 4 || width == 8 || width == 16, "width of a group");
  vector_variables_.push_back(variable);
  vector_width_ = width;
}

std::optional<ValueWriter::GroupPlace> ValueWriter::FindGroup(int k, const IndexExpression& linear, bool along) const {
  const int bytes = StorageBytes(kernel_.buffer_type(k)), group_bytes = bytes * vector_width_;
  const bool words = kernel_.groups_are_words(k);
  if (vector_width_ == 1 || (words ? group_bytes % 4 != 0 : bytes != 4 || vector_width_ > 8)) return std::nullopt;
  if (kernel_.buffer_offset(k) % (words ? 4 : group_bytes) != 0) return std::nullopt;
  GroupPlace found;
  bool is_along = !along;
  for (IndexTerm term : linear.terms) {
    if (term.coefficient % vector_width_ != 0) return std::nullopt;
    is_along |= std::ranges::find(vector_variables_, term.variable) != vector_variables_.end() && term.divisor == 1 &&
                term.coefficient == vector_width_;
    term.coefficient /= vector_width_;
    found.group.terms.push_back(term);
  }
  if (!is_along) return std::nullopt;
  found.place = ((linear.constant % vector_width_) + vector_width_) % vector_width_;
  found.group.constant = (linear.constant - found.place) / vector_width_;
  const auto [low, high] = space_.Range(found.group);
  if (low < 0 || (high + 1) * group_bytes > kernel_.buffer_bytes(k)) return std::nullopt;
  return found;
}

// A group of packed elements is whole words.
IndexExpression ValueWriter::WordOf(int k, const GroupPlace& at) const {
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k));
  return space_.Add(space_.Scale(at.group, bytes * vector_width_ / 4), {{}, at.place * bytes / 4});
}

bool ValueWriter::HasPairs(int k) const {
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k)) * vector_width_;
  return kernel_.words_go_in_pairs() && bytes % 8 == 0 && kernel_.buffer_offset(k) % 8 == 0;
}

std::string ValueWriter::LoadWord(int k, const GroupPlace& at) {
  if (!HasPairs(k)) {
    kernel_.AddVectorView(k, vector_width_);
    return Local("uint", Loaded(k, "u32", 1, Place(WordOf(k, at))));
  }
  const int64_t bytes = StorageBytes(kernel_.buffer_type(k)), group = bytes * vector_width_;
  const int words = WordsOfAnAccess(k);
  const IndexExpression place =
      space_.Add(space_.Scale(at.group, group / (4 * words)), {{}, at.place * bytes / (4 * words)});
  const std::string several = Once(fmt::format("p{}:{}", k, KeyOf(place)), [&] {
    kernel_.AddWordsView(k, words);
    return Local(fmt::format("uvec{}", words), Loaded(k, "u32", words, Place(place)));
  });
  return fmt::format("{}.{}", several, "xyzw"[at.place * bytes / 4 % words]);
}

std::string ValueWriter::WordAt(int k, const GroupPlace& at) {
  return Once(fmt::format("w{}:{}", k, KeyOf(WordOf(k, at))), [&] { return LoadWord(k, at); });
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
  for (int place = 0; place < vector_width_; place += per_word) words.push_back(WordAt(k, {group->group, place}));
  return words;
}

std::string ValueWriter::LoadFromWord(int k, const GroupPlace& at) {
  const ElementType type = kernel_.buffer_type(k);
  return Once(fmt::format("w{}:{}:{}", k, KeyOf(WordOf(k, at)), at.place), [&] {
    const int width = 8 * StorageBytes(type);
    const auto shift = static_cast<int>(at.place * width % 32);
    const std::string word = WordAt(k, at), upper = shift == 16 ? "upper_" : "";
    // A function that takes one half of the word and ignores the other spares the instructions that cut it out.
    if (type == ElementType::kBF16) {
      return Local("float", fmt::format("decode_{}bf16({})", upper, word));
    }
    const std::string stored = fmt::format("(({} >> {}) & {}u)", word, shift, (1u << width) - 1);
    Expression value{FromStorage(type, stored)};
    if (type == ElementType::kF16) {
      value.by = shift == 16 ? MadeBy::kUpperHalf : MadeBy::kHalf;
      value.operands = {word};
    }
    const std::string local = Local(CarrierType(type), std::move(value));
    if (type == ElementType::kF16 && kernel_.has_native_f16()) {
      any_nan_of_[local] = Local("float", Expression{fmt::format("decode_{}any_nan_f16({})", upper, word),
                                                     shift == 16 ? MadeBy::kUpperHalfOfAnyNan : MadeBy::kHalfOfAnyNan,
                                                     {word}});
    }
    return local;
  });
}

std::string ValueWriter::LoadFromGroup(int k, const GroupPlace& at) {
  if (kernel_.groups_are_words(k)) return LoadFromWord(k, at);
  const std::string_view tag = StorageTag(kernel_.buffer_type(k));
  const std::string pair = Elements{"", tag, 2, ""}.type(), vector = Elements{"", tag, 4, ""}.type();
  const std::string known = Once(fmt::format("g{}:{}", k, KeyOf(at.group)), [&] {
    const std::string index = Place(at.group);
    const std::string name = NewName();
    const bool pairs = vector_width_ == 8 && kernel_.has_pairs();
    kernel_.AddVectorView(k, pairs ? 8 : 4);
    if (vector_width_ == 4) {
      Declare(vector, name, Loaded(k, tag, 4, index));
    } else if (!pairs) {
      for (int half = 0; half < 2; ++half) {
        const std::string four = fmt::format("{}_h{}", name, half);
        Declare(vector, four, Loaded(k, tag, 4, fmt::format("2u * {} + {}u", index, half)));
        Declare(pair, fmt::format("{}_{}", name, 2 * half), {four + ".xy"});
        Declare(pair, fmt::format("{}_{}", name, 2 * half + 1), {four + ".zw"});
      }
    } else {
      // Pairs of words: half the loads on drivers that load lane by lane.
      const std::string from = tag == "f32" ? "uintBitsToFloat" : pair;
      const std::string zero = hides_loads_ && !kernel_.stores_pairs() ? " ^ " + kernel_.Data(0) : "";
      Declare("u64vec4", name + "_8", Loaded(k, "u64", 4, index));
      for (int i = 0; i < 4; ++i) {
        Declare(pair, fmt::format("{}_{}", name, i),
                {fmt::format("{}(unpackUint2x32({}_8[{}]){})", from, name, i, zero)});
      }
    }
    return name;
  });
  const auto place = static_cast<size_t>(at.place);
  if (vector_width_ == 4) return fmt::format("{}.{}", known, "xyzw"[place]);
  return fmt::format("{}_{}.{}", known, place / 2, "xy"[place % 2]);
}

int ValueWriter::WordsOfAnAccess(int k) const {
  if (!HasPairs(k)) return 1;
  return StorageBytes(kernel_.buffer_type(k)) * vector_width_ % 16 == 0 && kernel_.buffer_offset(k) % 16 == 0 ? 4 : 2;
}

Stored ValueWriter::PackedWord(ElementType type, std::span<const std::string> parts) const {
  if ((type == ElementType::kF16 || type == ElementType::kBF16) && rounded_.contains(parts[0]) &&
      rounded_.contains(parts[1]))
    return Stored::Pair{type, parts[0], parts[1]};
  std::string word;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string stored = ToStorage(type, parts[i]);
    word += i == 0 ? stored : fmt::format(" | ({} << {})", stored, 32 / parts.size() * i);
  }
  return word;
}

void ValueWriter::StoreWords(int k, const IndexExpression& group, std::span<const std::string> values) {
  const ElementType type = kernel_.buffer_type(k);
  const int words = WordsOfAnAccess(k), bytes = StorageBytes(type), per_word = 4 / bytes;
  if (words == 1) {
    kernel_.AddVectorView(k, vector_width_);
  } else {
    kernel_.AddWordsView(k, words);
  }
  std::vector<Stored> access;
  for (int place = 0; place < vector_width_; place += per_word) {
    access.push_back(PackedWord(type, values.subspan(static_cast<size_t>(place), static_cast<size_t>(per_word))));
    if (static_cast<int>(access.size()) < words) continue;
    const int64_t accesses = bytes * vector_width_ / (4 * words);
    const IndexExpression at = space_.Add(space_.Scale(group, accesses), {{}, int64_t{place} * bytes / (4 * words)});
    StoreValues(k, "u32", Place(at), std::exchange(access, {}));
  }
}

void ValueWriter::StoreGroup(int k, const IndexExpression& first, std::span<const std::string> values) {
  StoreNeighbours(k, first, values);
  if (const auto& after = kernel_.after_store(k)) after(*this, first, values);
}

void ValueWriter::StoreAt(int k, std::span<const IndexExpression> places, std::span<const std::string> values,
                          bool together, const std::function<std::string(size_t)>& exists) {
  for (size_t j = 1; j < places.size(); ++j)
    together &= places[j] == space_.Add(places[0], {{}, static_cast<int64_t>(j)});
  if (together) return StoreGroup(k, places[0], values);
  for (size_t j = 0; j < values.size(); ++j) {
    const std::string condition = exists ? exists(j) : "";
    if (!condition.empty()) OpenBlock(fmt::format("if ({})", condition));
    StoreValue(k, places[j], values[j]);
    if (!condition.empty()) CloseBlock();
  }
}

void ValueWriter::StoreValue(int k, const IndexExpression& place, const std::string& value) {
  const ElementType type = kernel_.buffer_type(k);
  StoreValues(k, StorageTag(type), Place(place), {ToStorage(type, value)});
}

void ValueWriter::StoreNeighbours(int k, const IndexExpression& first, std::span<const std::string> values) {
  const auto group = FindGroup(k, first);
  if (!group || group->place != 0 || static_cast<int>(values.size()) != vector_width_) {
    for (size_t i = 0; i < values.size(); ++i) {
      StoreValue(k, space_.Add(first, {{}, static_cast<int64_t>(i)}), values[i]);
    }
    return;
  }
  const bool joined = joins_pairs_ && vector_width_ == 8 && kernel_.has_pairs();
  const bool pairs = joined || (only_moves_ && vector_width_ == 8 && kernel_.stores_pairs());
  if (kernel_.groups_are_words(k)) return StoreWords(k, group->group, values);
  kernel_.AddVectorView(k, pairs ? 8 : 4);
  const std::string_view tag = StorageTag(kernel_.buffer_type(k));
  const std::string index = Place(group->group);
  if (!pairs) {
    const int count = vector_width_ / 4;
    for (int i = 0; i < count; ++i) {
      const std::string at = count == 1 ? index : fmt::format("{}u * {} + {}u", count, index, i);
      const auto four = values.subspan(static_cast<size_t>(4 * i), 4);
      StoreValues(k, tag, at, {four.begin(), four.end()});
    }
    return;
  }
  std::vector<Stored> words;
  for (int i = 0; i < 8; i += 2) {
    const std::string pair = fmt::format("{}, {}", values[i], values[i + 1]);
    if (joined) {
      const char* bits = tag == "f32" ? "floatBitsToUint" : "uint";
      words.push_back(fmt::format("JOINED({0}({1}), {0}({2}))", bits, values[i], values[i + 1]));
      continue;
    }
    words.push_back(tag == "f32"   ? fmt::format("packUint2x32(floatBitsToUint(vec2({})))", pair)
                    : tag == "u32" ? fmt::format("packUint2x32(uvec2({}))", pair)
                                   : fmt::format("packUint2x32(uvec2(ivec2({})))", pair));
  }
  StoreValues(k, "u64", index, std::move(words));
}

std::string ValueWriter::PadValue(const Instruction& instruction, const MultiIndex& index) {
  const Instruction& operand = *instruction.operand(0);
  const auto& padding = instruction.attributes<PadAttributes>().padding;
  std::vector<std::string> conditions;
  MultiIndex inner(index.size());
  const bool empty = operand.shape().ElementCount() == 0;
  for (size_t d = 0; d < index.size() && !empty; ++d) {
    const int64_t size = operand.shape().dimension(static_cast<int>(d)), step = padding[d].interior + 1;
    const int64_t spread = (size - 1) * step + 1;
    const IndexExpression shifted = space_.Add(index[d], {{}, -padding[d].low});
    const auto [low, high] = space_.Range(shifted);
    const bool inside = low >= 0 && high < spread;
    if (inside && step == 1) {
      inner[d] = shifted;
      continue;
    }
    // Below the low edge the unsigned index wraps, so one comparison checks both edges.
    if (!inside)
      conditions.push_back(fmt::format("{} < {}", Index(shifted), kernel_.Param(static_cast<uint32_t>(spread))));
    const int variable = space_.AddTemporary(shifted, spread);
    if (step > 1 && size > 1) {
      const IndexTerm hole{variable, 1, step, 1};
      conditions.push_back(Digit(hole) + " == 0u");
      inner[d] = {{{variable, step, 0, 1}}, 0};
    } else {
      inner[d] = space_.Variable(variable);
    }
  }
  const std::string outside = Value(*instruction.operand(1), {});
  if (empty) return outside;
  if (conditions.empty()) return Value(operand, inner);
  const ElementType type = instruction.shape().element_type();
  const std::string result = Local(CarrierType(type), outside);
  OpenBlock(fmt::format("if ({})", fmt::join(conditions, " && ")));
  Line(fmt::format("{} = {};", result, Value(operand, inner)));
  CloseBlock();
  return result;
}

namespace {

struct Reach {
  std::set<const Instruction*> computed, read;
};

void FindReach(const FusionDescription& body, const Instruction& instruction, Reach* reach) {
  if (body.OperandOf(instruction) != nullptr) {
    reach->read.insert(&instruction);
  } else if (reach->computed.insert(&instruction).second) {
    for (const Instruction* operand : instruction.operands()) FindReach(body, *operand, reach);
  }
}

}  // namespace

// Whether the parts of a concatenate are different results of one computation of the same operands, as the two words of
// a random generator are: all of them together take little more than one, and lanes of several parts go through it once
// instead of once for each. Not where the algorithm gives values, which it does at places of its own.
bool ValueWriter::IsOneComputation(const Instruction& concatenate, std::span<const ConcatenatePart> parts) const {
  constexpr size_t kFewest = 16;  // instructions that are worth it
  const int64_t extent = parts[0].end - parts[0].begin;
  if (!std::ranges::all_of(parts, [&](const auto& part) { return part.end - part.begin == extent; })) return false;
  Reach all;
  FindReach(body_, concatenate, &all);
  const bool given = std::ranges::any_of(overrides_, [&](const auto& known) {
    return all.computed.contains(known.first.first) || all.read.contains(known.first.first);
  });
  if (given) return false;
  return std::ranges::all_of(parts, [&](const ConcatenatePart& part) {
    Reach one;
    FindReach(body_, *part.operand, &one);
    return one.computed.size() >= kFewest && 4 * all.computed.size() <= 5 * one.computed.size() && one.read == all.read;
  });
}

std::string ValueWriter::ConcatenateValue(const Instruction& instruction, const MultiIndex& index) {
  const auto d = static_cast<size_t>(instruction.dimensions().at(0));
  const auto [low, high] = space_.Range(index[d]);
  std::vector<ConcatenatePart> parts;  // that the index can reach
  int64_t begin = 0;
  for (const Instruction* operand : instruction.operands()) {
    const int64_t end = begin + operand->shape().dimension(static_cast<int>(d));
    if (begin < end && begin <= high && low < end) parts.push_back({operand, begin, end});
    begin = end;
  }
  // Nobody reads it: what has no elements, too, is written for each of them.
  if (instruction.shape().ElementCount() == 0) return ZeroText(instruction.shape().element_type());
  VXLA_CHECK(!parts.empty(), "a concatenate without elements");
  auto read = [&](const ConcatenatePart& part, bool whole) {
    MultiIndex inner = index;
    inner[d] = space_.Add(index[d], {{}, -part.begin});
    if (!whole) inner[d] = space_.Variable(space_.AddTemporary(inner[d], part.end - part.begin));
    return Value(*part.operand, inner);
  };
  if (parts.size() == 1) return read(parts[0], low >= parts[0].begin && high < parts[0].end);
  const std::string at = Index(index[d]);
  const auto below = [&](const ConcatenatePart& part) {
    return fmt::format("{} < {}", at, kernel_.Param(static_cast<uint32_t>(part.end)));
  };
  if (IsOneComputation(instruction, parts)) {
    MultiIndex inner = index;
    const IndexExpression place = space_.Add(index[d], {{}, -parts[0].begin});
    const int variable = space_.AddTemporary(place, parts.back().end - parts[0].begin);
    inner[d] = {{{variable, 1, parts[0].end - parts[0].begin, 1}}, 0};
    std::string chosen = Value(*parts.back().operand, inner);
    for (size_t i = parts.size() - 1; i-- > 0;)
      chosen = fmt::format("({} ? {} : {})", below(parts[i]), Value(*parts[i].operand, inner), chosen);
    return Local(CarrierType(instruction.shape().element_type()), chosen);
  }
  const std::string result = Declare(instruction.shape().element_type());
  const std::function<void(size_t, size_t)> choose = [&](size_t first, size_t count) {
    if (count > kMostInARow) {
      OpenBlock(fmt::format("if ({})", below(parts[first + count / 2 - 1])));
      choose(first, count / 2);
      CloseBlock();
      OpenBlock("else");
      choose(first + count / 2, count - count / 2);
      CloseBlock();
      return;
    }
    for (size_t i = first; i < first + count; ++i) {
      std::string head = i + 1 < first + count ? fmt::format("if ({})", below(parts[i])) : "";
      if (i > first) head = head.empty() ? "else" : "else " + head;
      OpenBlock(head);
      Line(fmt::format("{} = {};", result, read(parts[i], false)));
      CloseBlock();
    }
  };
  choose(0, parts.size());
  return result;
}

IndexExpression ValueWriter::ClampedStart(const Instruction& indices, const MultiIndex& at, int64_t most) {
  if (most <= 0) return {};
  const ElementType type = indices.shape().element_type();
  if (indices.opcode() == Opcode::kConstant && indices.shape().IsScalar()) {
    const int64_t start = indices.literal().GetInt(0);
    return {{}, start < 0 && IsUnsigned(type) ? most : std::clamp<int64_t>(start, 0, most)};
  }
  return VariableOnce(fmt::format("s{}:{}", KeyOf(indices, at), most), most + 1,
                      [&] { return ClampedText(type, Value(indices, at), most); });
}

// A uint: the value of an integer type clamped to [0, most].
std::string ValueWriter::ClampedText(ElementType type, const std::string& value, int64_t most) {
  const std::string limit = kernel_.Param(static_cast<uint32_t>(most));
  if (BitWidth(type) < 64) {
    if (!IsSigned(type)) return fmt::format("min({}, {})", value, limit);
    if (most > std::numeric_limits<int32_t>::max()) return fmt::format("uint(max({}, 0))", value);
    return fmt::format("uint(clamp({}, 0, int({})))", value, limit);
  }
  const std::string_view carrier = CarrierSuffix(type);
  return fmt::format("convert_{0}_u32(clamp_{0}({1}, {2}, {3}))", carrier, ZeroText(type), value,
                     ConvertedText(ElementType::kU32, type, limit));
}

IndexExpression ValueWriter::Clamped(const IndexExpression& expression, int64_t size) {
  return VariableOnce(fmt::format("c{}:{}", size, KeyOf(expression)), size, [&] {
    const std::string most = kernel_.Param(static_cast<uint32_t>(size - 1));
    return fmt::format("min({}, {})", Index(expression), most);
  });
}

MultiIndex ValueWriter::WindowStart(const Instruction& instruction, int first, const Shape& whole,
                                    const Shape& window) {
  MultiIndex start(static_cast<size_t>(whole.rank()));
  // One scalar per dimension, or one array of all.
  const bool one_array = instruction.operand_count() == first + 1 && instruction.operand(first)->shape().rank() == 1;
  for (int d = 0; d < whole.rank(); ++d) {
    const Instruction& indices = *instruction.operand(one_array ? first : first + d);
    const MultiIndex at = one_array ? MultiIndex{{{}, d}} : MultiIndex{};
    start[static_cast<size_t>(d)] = ClampedStart(indices, at, whole.dimension(d) - window.dimension(d));
  }
  return start;
}

void ValueWriter::StoreUpdate(int k, const Instruction& update, const IndexExpression& first, int64_t width) {
  const Shape &whole = update.shape(), &part = update.operand(1)->shape();
  const MultiIndex start = WindowStart(update, 2, whole, part);
  std::vector<IndexExpression> targets;
  std::vector<std::string> values;
  for (int64_t j = 0; j < width; ++j) {
    MultiIndex index = space_.Delinearize(space_.Add(first, {{}, j}), part.dimensions());
    values.push_back(Value(*update.operand(1), index));
    for (size_t d = 0; d < index.size(); ++d) index[d] = space_.Add(index[d], start[d]);
    targets.push_back(space_.Linearize(index, whole.dimensions()));
  }
  StoreAt(k, targets, values);
}

std::string ValueWriter::DynamicSliceValue(const Instruction& instruction, const MultiIndex& index) {
  const Instruction& operand = *instruction.operand(0);
  MultiIndex inner = WindowStart(instruction, 1, operand.shape(), instruction.shape());
  for (size_t d = 0; d < inner.size(); ++d) inner[d] = space_.Add(inner[d], index[d]);
  return Value(operand, inner);
}

std::string ValueWriter::GatherValue(const Instruction& instruction, const MultiIndex& index) {
  const auto& a = instruction.attributes<GatherAttributes>();
  const Instruction& operand = *instruction.operand(0);
  const Instruction& indices = *instruction.operand(1);
  auto contains = [](const IntList& list, int64_t d) { return std::ranges::find(list, d) != list.end(); };
  MultiIndex batch;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!contains(a.offset_dims, static_cast<int64_t>(d))) batch.push_back(index[d]);
  }
  // The place of index vector element k, and the batch index that a dimension of the indices is.
  MultiIndex at;
  std::vector<IndexExpression> batch_of(static_cast<size_t>(indices.shape().rank()));
  for (int64_t d = 0, next = 0; d < indices.shape().rank(); ++d) {
    at.push_back(d == a.index_vector_dim ? IndexExpression() : batch.at(static_cast<size_t>(next++)));
    batch_of[static_cast<size_t>(d)] = at.back();
  }
  MultiIndex inner(static_cast<size_t>(operand.shape().rank()));
  size_t next_offset = 0;
  for (size_t d = 0; d < inner.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    if (contains(a.collapsed_slice_dims, dimension) || contains(a.operand_batching_dims, dimension)) continue;
    inner[d] = index[static_cast<size_t>(a.offset_dims[next_offset++])];
  }
  for (size_t k = 0; k < a.start_index_map.size(); ++k) {
    const auto d = static_cast<size_t>(a.start_index_map[k]);
    if (a.index_vector_dim < indices.shape().rank()) {
      at[static_cast<size_t>(a.index_vector_dim)] = {{}, static_cast<int64_t>(k)};
    }
    const int64_t most = operand.shape().dimension(static_cast<int>(d)) - a.slice_sizes[d];
    inner[d] = space_.Add(inner[d], ClampedStart(indices, at, most));
  }
  for (size_t k = 0; k < a.operand_batching_dims.size(); ++k) {
    inner[static_cast<size_t>(a.operand_batching_dims[k])] =
        batch_of[static_cast<size_t>(a.start_indices_batching_dims[k])];
  }
  return Value(operand, inner);
}

}  // namespace VXLA_NAMESPACE::vulkan
