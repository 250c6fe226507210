#include "core/mlir/reader/config_dictionary.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "core/host/delimited_list.h"
#include "core/mlir/dense_text.h"
#include "core/mlir/reader/attribute_parser.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {
namespace mlir {
namespace {

// With the escapes of MLIR (\22, two hexadecimal digits) and those of JSON and C.
std::string Unescaped(std::string_view quoted) {
  std::string value;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      value += quoted[i];
      continue;
    }
    int code = 0;
    const char* const digits = quoted.data() + i + 1;
    if (i + 3 < quoted.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      value += static_cast<char>(code);
      i += 2;
      continue;
    }
    const char escaped = quoted[++i];
    value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
  }
  return value;
}

bool IsTruth(std::string_view number) { return number == "true" || number == "false"; }
bool IsReal(std::string_view number) {
  return !number.starts_with("0x") && number.find_first_of(".eEnN") != std::string_view::npos;
}

// A dictionary of MLIR's attributes, or JSON's, whose names are strings, whose '=' is ':' and whose numbers may be
// "1e-05" or "-Infinity".
class ConfigReader : private AttributeParser {
 public:
  explicit ConfigReader(std::string_view text) : AttributeParser(text, 1) {}

  Result<ConfigDictionary> Read() {
    if (lexer_.token().kind == TokenKind::kEnd) return ConfigDictionary();
    VXLA_ASSIGN_OR_RETURN(ConfigDictionary entries, ReadDictionary());
    if (lexer_.token().kind != TokenKind::kEnd) return Wrong("the end");
    return entries;
  }

 private:
  Status Wrong(std::string_view wanted) const {
    constexpr size_t kShown = 20;
    const size_t at = lexer_.token().offset;
    return InvalidArgument("{} expected at character {}, found \"{}\"", wanted, at, lexer_.text().substr(at, kShown));
  }

  Result<ConfigDictionary> ReadDictionary() {
    constexpr int kDeepest = 100;
    const Nested nested(depth_);
    if (depth_ > kDeepest) return InvalidArgument("dictionaries nest deeper than {}", kDeepest);
    if (!lexer_.Eat("{")) return Wrong("'{'");
    ConfigDictionary entries;
    while (!lexer_.Eat("}")) {
      if (!entries.empty() && !lexer_.Eat(",")) return Wrong("','");
      const MlirToken token = lexer_.token();
      if (token.kind != TokenKind::kString && token.kind != TokenKind::kWord) return Wrong("a name");
      const std::string name = token.kind == TokenKind::kString ? Unescaped(token.text) : std::string(token.text);
      lexer_.Next();
      if (!lexer_.Eat("=") && !lexer_.Eat(":")) return Wrong("'=' or ':'");
      VXLA_ASSIGN_OR_RETURN(ConfigValue value, ReadValue());
      if (!entries.emplace(name, std::move(value)).second) return InvalidArgument("{} is stated twice", name);
    }
    return entries;
  }

  Result<ConfigValue> ReadValue() {
    ConfigValue value;
    if (lexer_.At("{")) {
      value.kind = ConfigValue::Kind::kDictionary;
      VXLA_ASSIGN_OR_RETURN(value.entries, ReadDictionary());
    } else if (lexer_.token().kind == TokenKind::kString) {
      value.kind = ConfigValue::Kind::kString;
      value.text = Unescaped(lexer_.token().text);
      lexer_.Next();
    } else if (lexer_.At("[")) {
      value.kind = ConfigValue::Kind::kArray;
      VXLA_ASSIGN_OR_RETURN(value.numbers, ReadList());
    } else if (lexer_.AtWord("array") || lexer_.AtWord("dense")) {
      value.kind = ConfigValue::Kind::kArray;
      VXLA_ASSIGN_OR_RETURN(const Attribute elements, ParseAttribute());
      VXLA_ASSIGN_OR_RETURN(value.numbers, InOneDimension(elements));
    } else {
      VXLA_ASSIGN_OR_RETURN(const std::string_view number, TakeNumber());
      ElementType type = IsTruth(number) ? ElementType::kPred : IsReal(number) ? ElementType::kF64 : ElementType::kS64;
      if (lexer_.Eat(":")) VXLA_SET_OR_RETURN(type, TakeType());
      value.numbers = Literal(Shape(type));
      VXLA_RETURN_IF_ERROR(Store(number, 0, value.numbers));
    }
    return value;
  }

  // As it is written: its type is known later.
  Result<std::string_view> TakeNumber() {
    const std::string_view text = lexer_.text();
    const size_t begin = lexer_.token().offset;
    size_t end = begin;
    const auto part = [&](char c) {
      const bool after_exponent = end == begin || text[end - 1] == 'e' || text[end - 1] == 'E';
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || ((c == '-' || c == '+') && after_exponent);
    };
    while (end < text.size() && part(text[end])) ++end;
    if (end == begin) return Wrong("a value");
    lexer_.Seek(end);
    return text.substr(begin, end - begin);
  }

  Result<ElementType> TakeType() {
    const std::string_view word = lexer_.token().text;
    std::optional<ElementType> type = ParseElementWord(word);
    if (!type) type = ParseElementType(word);
    if (!type || IsComplex(*type)) return InvalidArgument("\"{}\" is no type of numbers", word);
    lexer_.Next();
    return *type;
  }

  static Status Store(std::string_view number, int64_t i, Literal& into) {
    const ElementType type = into.shape().element_type();
    const Status stored = ParseDenseNumber(number, type, into.mutable_bytes().data() + i * StorageBytes(type));
    return stored.ok() ? stored : InvalidArgument("\"{}\" is no number of {}", number, ElementTypeName(type));
  }

  // [1, 2], in lists of lists or not, of one type: f64 where any has a point, whatever each states.
  Result<Literal> ReadList() {
    std::vector<std::string_view> numbers;
    VXLA_RETURN_IF_ERROR(ReadNumbers(numbers));
    ElementType type = std::ranges::any_of(numbers, IsReal) ? ElementType::kF64 : ElementType::kS64;
    if (!numbers.empty() && IsTruth(numbers[0])) type = ElementType::kPred;
    Literal literal(Shape(type, {std::ssize(numbers)}));
    for (int64_t i = 0; i < std::ssize(numbers); ++i) VXLA_RETURN_IF_ERROR(Store(numbers[i], i, literal));
    return literal;
  }

  Status ReadNumbers(std::vector<std::string_view>& numbers) {
    const Nested nested(depth_);
    VXLA_RETURN_IF_ERROR(CheckNesting());
    return TakeList(lexer_, "[", "]", [&]() -> Status {
      if (lexer_.At("[")) return ReadNumbers(numbers);
      VXLA_ASSIGN_OR_RETURN(numbers.emplace_back(), TakeNumber());
      return lexer_.Eat(":") ? TakeType().status() : OkStatus();
    });
  }

  static Result<Literal> InOneDimension(const Attribute& elements) {
    const Shape& shape = elements.type.shape;
    if (IsComplex(shape.element_type()))
      return InvalidArgument("\"{}\" is no type of numbers", ElementTypeName(shape.element_type()));
    const Shape list(shape.element_type(), {shape.ElementCount()});
    if (elements.literal->element_count() == shape.ElementCount()) return Literal(*elements.literal).Reshaped(list);
    VXLA_ASSIGN_OR_RETURN(Literal literal, Literal::Make(list));
    const std::span<const std::byte> one = elements.literal->bytes();  // of them all
    for (int64_t i = 0; i < shape.ElementCount(); ++i)
      std::memcpy(literal.mutable_bytes().data() + i * std::ssize(one), one.data(), one.size());
    return literal;
  }
};

}  // namespace
}  // namespace mlir

Result<ConfigDictionary> ParseConfigDictionary(std::string_view text) {
  Result<ConfigDictionary> entries = mlir::ConfigReader(text).Read();
  if (entries.ok()) return entries;
  return InvalidArgument("backend_config: {}", entries.status().message());
}

std::string ConfigText(const std::string& backend_config) {
  if (!backend_config.starts_with('"')) return backend_config;
  Result<std::string> unquoted = Unquote(backend_config);
  return unquoted.ok() ? *std::move(unquoted) : backend_config;
}

}  // namespace VXLA_NAMESPACE
