#include "backend/vulkan/lower/sort/sort_order.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backend/vulkan/codegen/scalar_computation.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A key of one side of a comparator.
struct SideKey {
  const Instruction* value = nullptr;  // of the side named by `parity`: of the parameters 2k + parity
  int parity = 0;
  bool descending = false, total = false;
  ElementType type() const { return value->shape().element_type(); }
};

// Whether two values are one function, of the elements of one side and of those of the other.
class Mirror {
 public:
  bool Matches(const Instruction& left, const Instruction& right) {
    const auto [place, fresh] = known_.try_emplace({&left, &right}, false);
    if (!fresh) return place->second;
    const bool matches = Compare(left, right);
    known_[{&left, &right}] = matches;
    return matches;
  }
  // Of the parameters that `left` reads: 2k + parity; none if it reads none.
  std::optional<int> parity() const { return parity_; }

 private:
  bool Compare(const Instruction& left, const Instruction& right) {
    if (left.opcode() != right.opcode() || left.shape() != right.shape() ||
        left.operand_count() != right.operand_count())
      return false;
    if (left.opcode() == Opcode::kParameter) return CompareParameters(left, right);
    if (left.opcode() == Opcode::kConstant) return left.literal() == right.literal();
    if (left.attributes() != right.attributes() || !std::ranges::equal(left.called(), right.called())) return false;
    for (int i = 0; i < left.operand_count(); ++i) {
      if (!Matches(*left.operand(i), *right.operand(i))) return false;
    }
    return true;
  }

  bool CompareParameters(const Instruction& left, const Instruction& right) {
    const int64_t a = left.parameter_number(), b = right.parameter_number();
    if (a / 2 != b / 2 || a == b) return false;
    const int parity = static_cast<int>(a % 2);
    if (parity_ && *parity_ != parity) return false;
    parity_ = parity;
    return true;
  }

  std::map<std::pair<const Instruction*, const Instruction*>, bool> known_;
  std::optional<int> parity_;
};

// left < right, or left > right.
std::optional<SideKey> ReadCompare(const Instruction& compare) {
  if (compare.opcode() != Opcode::kCompare) return std::nullopt;
  const auto& attributes = compare.attributes<CompareAttributes>();
  const bool greater = attributes.direction == ComparisonDirection::kGt;
  if (!greater && attributes.direction != ComparisonDirection::kLt) return std::nullopt;
  Mirror mirror;
  if (IsComplex(compare.operand(0)->shape().element_type()) || !compare.operand(0)->shape().IsScalar() ||
      !mirror.Matches(*compare.operand(0), *compare.operand(1)) || !mirror.parity())
    return std::nullopt;
  // The first operand may be the right element: a < b of (right, left) is left > right.
  return SideKey{compare.operand(0), *mirror.parity(), greater != (*mirror.parity() == 1),
                 attributes.type == ComparisonType::kTotalOrder};
}

bool IsEqualityOf(const Instruction& equal, const Instruction& compare) {
  if (equal.opcode() != Opcode::kCompare) return false;
  const auto& attributes = equal.attributes<CompareAttributes>();
  if (attributes.direction != ComparisonDirection::kEq ||
      (attributes.type == ComparisonType::kTotalOrder) !=
          (compare.attributes<CompareAttributes>().type == ComparisonType::kTotalOrder))
    return false;
  auto same = [&](int i, int j) { return equal.operand(i) == compare.operand(j); };
  return (same(0, 0) && same(1, 1)) || (same(0, 1) && same(1, 0));
}

bool ReadKeys(const Instruction& order, std::vector<SideKey>* keys);

// first, or where its keys are equal `rest`.
bool ReadTwo(const Instruction& first, const Instruction& equal, const Instruction& rest, std::vector<SideKey>* keys) {
  const std::optional<SideKey> key = ReadCompare(first);
  if (!key || !IsEqualityOf(equal, first)) return false;
  keys->push_back(*key);
  return ReadKeys(rest, keys);
}

// less | (equal & rest), in any order of operands, or equal ? rest : less.
bool ReadKeys(const Instruction& order, std::vector<SideKey>* keys) {
  if (const std::optional<SideKey> key = ReadCompare(order)) {
    keys->push_back(*key);
    return true;
  }
  if (order.opcode() == Opcode::kSelect) return ReadTwo(*order.operand(2), *order.operand(0), *order.operand(1), keys);
  if (order.opcode() != Opcode::kOr) return false;
  const size_t before = keys->size();
  for (int i = 0; i < 2; ++i) {
    const Instruction& both = *order.operand(1 - i);
    for (int j = 0; j < 2 && both.opcode() == Opcode::kAnd; ++j) {
      if (ReadTwo(*order.operand(i), *both.operand(j), *both.operand(1 - j), keys)) return true;
      keys->resize(before);
    }
  }
  return false;
}

void AddReadOperands(const Instruction& value, std::set<int>* operands, std::set<const Instruction*>* seen) {
  if (!seen->insert(&value).second) return;
  if (value.opcode() == Opcode::kParameter) operands->insert(static_cast<int>(value.parameter_number() / 2));
  for (const Instruction* operand : value.operands()) AddReadOperands(*operand, operands, seen);
}

int KeyWords(ElementType type) { return BitWidth(type) > 32 ? 2 : 1; }

// The bits of a one-word key that tell values apart: a narrow integer's own, a narrow float's as those of the f32.
std::pair<int, int> KeyBits(ElementType type) {
  if (type == ElementType::kPred) return {0, 1};
  if (IsInteger(type)) return {0, std::min(BitWidth(type), 32)};
  if (type == ElementType::kBF16) return {16, 32};
  if (type == ElementType::kF16) return {13, 32};
  return {IsNarrowFloat(type) ? 20 : 0, 32};
}

// Statements that append to `words` the words of a key whose ascending order is that of the carrier value `name`. In
// the default order of floats both zeros are one, and NaNs, which it leaves anywhere, are greatest.
std::string KeyStatements(ElementType type, bool descending, bool total, const std::string& name, int index,
                          std::vector<std::string>* words) {
  const std::string high = fmt::format("h{}", index), low = fmt::format("l{}", index);
  const bool wide = KeyWords(type) == 2;
  std::string text;
  if (wide) {
    const std::string_view suffix = CarrierSuffix(type);
    text += fmt::format("  uint {} = unpack_{}({}).y;\n  uint {} = unpack_{}({}).x;\n", high, suffix, name, low, suffix,
                        name);
  } else {
    text += fmt::format("  uint {} = {}({});\n", high, IsFloating(type) ? "floatBitsToUint" : "uint", name);
  }
  if (IsFloating(type) && !total) {
    const std::string rest = wide ? fmt::format(" | {}", low) : "",
                      above = wide ? fmt::format(" || (({} & 0x7fffffffu) == 0x7ff00000u && {} != 0u)", high, low) : "";
    text += fmt::format("  if (({0} & 0x7fffffffu) > 0x{1:x}u{2}) {0} = 0x7fffffffu;\n", high,
                        wide ? 0x7ff00000u : 0x7f800000u, above);
    text += fmt::format("  if ((({0} & 0x7fffffffu){1}) == 0u) {0} = 0u;\n", high, rest);
  }
  if (IsFloating(type)) {
    if (wide) text += fmt::format("  {} ^= {} >= 0x80000000u ? 0xffffffffu : 0u;\n", low, high);
    text += fmt::format("  {0} ^= {0} >= 0x80000000u ? 0xffffffffu : 0x80000000u;\n", high);
  } else if (IsSigned(type)) {
    const int bits = std::min(BitWidth(type), 32);
    text += fmt::format("  {0} ^= 0x{1:x}u;\n", high, uint32_t{1} << (bits - 1));
    if (bits < 32) text += fmt::format("  {} &= 0x{:x}u;\n", high, (uint32_t{1} << bits) - 1);
  }
  for (const std::string& word : wide ? std::vector{high, low} : std::vector{high}) {
    if (descending)
      text += fmt::format("  {} ^= 0x{:x}u;\n", word,
                          wide || KeyBits(type).second == 32 ? 0xffffffffu : (1u << KeyBits(type).second) - 1);
    words->push_back(word);
  }
  return text;
}

std::string KeyType(size_t words) { return words == 1 ? "uint" : fmt::format("uvec{}", words); }

// before() of keys of so many words.
std::string WordsBefore(size_t words) {
  if (words == 1) return "bool before(Key a, Key b) { return a < b; }\n";
  constexpr const char* kNames = "xyzw";
  std::string text = fmt::format("a.{0} < b.{0}", kNames[words - 1]);
  for (size_t i = words - 1; i-- > 0;) {
    text = fmt::format("a.{0} < b.{0} || (a.{0} == b.{0} && ({1}))", kNames[i], text);
  }
  return fmt::format("bool before(Key a, Key b) {{ return {}; }}\n", text);
}

constexpr int kMostKeyWords = 4;

SortOrder OrderOfKeys(const Computation& computation, const std::vector<SideKey>& keys, const std::set<int>& operands) {
  SortOrder order;
  order.operands.assign(operands.begin(), operands.end());
  std::vector<std::string> parameters, words;
  std::string statements;
  for (int k : operands) {
    const ElementType type = computation.parameter(2 * k)->shape().element_type();
    parameters.push_back(fmt::format("{} p{}", CarrierType(type), k));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    // The function takes all parameters of the computation; those of the other side have no part in the value.
    order.text += ScalarFunction(computation, *keys[i].value, fmt::format("key_value_{}", i));
    std::vector<std::string> arguments;
    for (const Instruction* parameter : computation.parameters()) {
      const int k = static_cast<int>(parameter->parameter_number() / 2);
      arguments.push_back(operands.contains(k) ? fmt::format("p{}", k) : ZeroText(parameter->shape().element_type()));
    }
    statements +=
        fmt::format("  {} v{} = key_value_{}({});\n", CarrierType(keys[i].type()), i, i, fmt::join(arguments, ", "));
    statements += KeyStatements(keys[i].type(), keys[i].descending, keys[i].total, fmt::format("v{}", i),
                                static_cast<int>(i), &words);
  }
  order.key_words = static_cast<int>(words.size());
  if (words.size() == 1) std::tie(order.key_low, order.key_high) = KeyBits(keys[0].type());
  order.text += fmt::format("#define Key {0}\nKey make_key({1}) {{\n{2}  return {0}({3});\n}}\n", KeyType(words.size()),
                            fmt::join(parameters, ", "), statements, fmt::join(words, ", "));
  order.text += WordsBefore(words.size());
  return order;
}

SortOrder OrderOfComputation(const Computation& computation, std::set<int> operands) {
  SortOrder order;
  if (operands.empty()) operands.insert(0);  // a Key has a member
  order.operands.assign(operands.begin(), operands.end());
  std::string members;
  std::vector<std::string> parameters, names, arguments;
  for (int k : operands) {
    const std::string_view type = CarrierType(computation.parameter(2 * k)->shape().element_type());
    members += fmt::format(" {} p{};", type, k);
    parameters.push_back(fmt::format("{} p{}", type, k));
    names.push_back(fmt::format("p{}", k));
  }
  for (const Instruction* parameter : computation.parameters()) {
    const int k = static_cast<int>(parameter->parameter_number() / 2);
    arguments.push_back(!operands.contains(k)
                            ? ZeroText(parameter->shape().element_type())
                            : fmt::format("{}.p{}", parameter->parameter_number() % 2 ? 'b' : 'a', k));
  }
  order.text = fmt::format("struct Key {{{} }};\nKey make_key({}) {{ return Key({}); }}\n", members,
                           fmt::join(parameters, ", "), fmt::join(names, ", "));
  order.text += ScalarFunction(computation, *computation.root(), "comparator");
  order.text += fmt::format("bool before(Key a, Key b) {{ return comparator({}); }}\n", fmt::join(arguments, ", "));
  return order;
}

}  // namespace

SortOrder ReadComparator(const Computation& computation) {
  std::set<int> operands;
  std::set<const Instruction*> seen;
  std::vector<SideKey> keys;
  if (ReadKeys(*computation.root(), &keys)) {
    int words = 0;
    for (const SideKey& key : keys) {
      words += KeyWords(key.type());
      AddReadOperands(*key.value, &operands, &seen);
    }
    if (words <= kMostKeyWords) return OrderOfKeys(computation, keys, operands);
  }
  AddReadOperands(*computation.root(), &operands, &seen);
  return OrderOfComputation(computation, std::move(operands));
}

SortOrder ValueOrder(ElementType type, bool descending) {
  SortOrder order;
  order.operands = {0};
  std::vector<std::string> words;
  const std::string statements = KeyStatements(type, descending, true, "p0", 0, &words);
  order.key_words = static_cast<int>(words.size());
  if (words.size() == 1) std::tie(order.key_low, order.key_high) = KeyBits(type);
  order.text = fmt::format("#define Key {0}\nKey make_key({1} p0) {{\n{2}  return {0}({3});\n}}\n",
                           KeyType(words.size()), CarrierType(type), statements, fmt::join(words, ", "));
  order.text += WordsBefore(words.size());
  return order;
}

}  // namespace VXLA_NAMESPACE::vulkan
