#include "core/text/config_dictionary.h"

#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "core/host/real_text.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {
namespace {

// A number as it is written: its type is known later.
struct WrittenNumber {
  std::string text;
  bool is_float() const { return text.find_first_of(".eEn") != std::string::npos && !is_hex(); }
  bool is_hex() const { return text.starts_with("0x") || text.starts_with("-0x"); }
};

std::optional<ElementType> TypeNamed(std::string_view name) {
  if (name == "i1") return ElementType::kPred;
  if (name == "index") return ElementType::kS64;
  if (name.starts_with("ui")) return ParseElementType(std::string("u").append(name.substr(2)));
  if (name.starts_with("si")) return ParseElementType(std::string("s").append(name.substr(2)));
  if (name.starts_with("i")) return ParseElementType(std::string("s").append(name.substr(1)));
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto type = ParseElementType(lower);
  return type && (IsFloating(*type) || IsInteger(*type) || *type == ElementType::kPred) ? type : std::nullopt;
}

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : text_(text) {}

  Result<ConfigDictionary> ReadAll() {
    SkipSpace();
    if (at_ == text_.size()) return ConfigDictionary();
    VXLA_ASSIGN_OR_RETURN(ConfigDictionary entries, ReadDictionary());
    if (SkipSpace(); at_ != text_.size()) return Wrong("the end");
    return entries;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Status Wrong(std::string_view wanted) const {
    constexpr size_t kShown = 20;
    return InvalidArgument("backend_config: {} expected at character {}, found \"{}\"", wanted, at_,
                           text_.substr(std::min(at_, text_.size()), kShown));
  }
  Status Expect(std::string_view token) {
    return Take(token) ? OkStatus() : Wrong(std::string("'").append(token) + "'");
  }

  std::string ReadWord() {
    SkipSpace();
    const size_t begin = at_;
    const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // With the escapes of MLIR (\22, two hexadecimal digits) and those of JSON and C.
  Result<std::string> ReadString() {
    VXLA_RETURN_IF_ERROR(Expect("\""));
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (c != '\\' || at_ == text_.size()) {
        value += c;
        continue;
      }
      int code = 0;
      const char* const digits = text_.data() + at_;
      if (at_ + 2 <= text_.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
        value += static_cast<char>(code);
        at_ += 2;
        continue;
      }
      const char escaped = text_[at_++];
      value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
    }
    VXLA_RETURN_IF_ERROR(Expect("\""));
    return value;
  }

  Result<ConfigDictionary> ReadDictionary() {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) return InvalidArgument("backend_config: dictionaries nest deeper than {}", kDeepest);
    VXLA_RETURN_IF_ERROR(Expect("{"));
    ConfigDictionary entries;
    while (!Take("}")) {
      if (!entries.empty()) VXLA_RETURN_IF_ERROR(Expect(","));
      SkipSpace();
      std::string name;
      if (at_ < text_.size() && text_[at_] == '"') {
        VXLA_ASSIGN_OR_RETURN(name, ReadString());
      } else {
        name = ReadWord();
      }
      if (name.empty()) return Wrong("a name");
      if (!Take("=") && !Take(":")) return Wrong("'=' or ':'");
      VXLA_ASSIGN_OR_RETURN(ConfigValue value, ReadValue());
      if (!entries.emplace(name, std::move(value)).second)
        return InvalidArgument("backend_config: {} is stated twice", name);
    }
    --depth_;
    return entries;
  }

  Result<ConfigValue> ReadValue() {
    SkipSpace();
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    ConfigValue value;
    if (next == '{') {
      value.kind = ConfigValue::Kind::kDictionary;
      VXLA_ASSIGN_OR_RETURN(value.entries, ReadDictionary());
    } else if (next == '"') {
      value.kind = ConfigValue::Kind::kString;
      VXLA_ASSIGN_OR_RETURN(value.text, ReadString());
    } else if (next == '[' || Take("array<")) {
      return ReadArray(next != '[');
    } else if (Take("dense<")) {
      return ReadDense();
    } else {
      VXLA_ASSIGN_OR_RETURN(const WrittenNumber number, ReadNumber());
      VXLA_ASSIGN_OR_RETURN(const ElementType type, ReadType(number));
      value.numbers = Literal(Shape(type));
      VXLA_RETURN_IF_ERROR(Store(number, 0, value.numbers));
    }
    return value;
  }

  Result<WrittenNumber> ReadNumber() {
    SkipSpace();
    const size_t begin = at_;
    const auto part = [&](char c) {
      const bool sign = c == '-' || c == '+';
      const char before = at_ == begin ? 'e' : text_[at_ - 1];
      return (sign && (before == 'e' || before == 'E')) || std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    if (at_ == begin) return Wrong("a value");
    return WrittenNumber{std::string(text_.substr(begin, at_ - begin))};
  }

  // ": f32" behind a number, or what its form says.
  Result<ElementType> ReadType(const WrittenNumber& number) {
    if (!Take(":")) {
      if (number.text == "true" || number.text == "false") return ElementType::kPred;
      return number.is_float() ? ElementType::kF64 : ElementType::kS64;
    }
    return ReadTypeName();
  }
  Result<ElementType> ReadTypeName() {
    const std::string name = ReadWord();
    const auto type = TypeNamed(name);
    if (!type) return InvalidArgument("backend_config: \"{}\" is no type of numbers", name);
    return *type;
  }

  Status Store(const WrittenNumber& number, int64_t i, Literal& into) const {
    const ElementType type = into.shape().element_type();
    const std::string& text = number.text;
    if (text == "true" || text == "false") {
      into.SetInt(i, text == "true");
      return OkStatus();
    }
    const bool minus = text.starts_with('-');
    const char* begin = text.data() + (minus || text.starts_with('+')) + (number.is_hex() ? 2 : 0);
    const char* const end = text.data() + text.size();
    if (IsFloating(type) && !number.is_hex()) {
      double value = 0;
      if (RealFromChars(begin, end, value).ptr != end) return NoNumber(text);
      into.SetDouble(i, minus ? -value : value);
      return OkStatus();
    }
    uint64_t bits = 0;
    if (std::from_chars(begin, end, bits, number.is_hex() ? 16 : 10).ptr != end) return NoNumber(text);
    if (minus) bits = 0 - bits;
    if (IsFloating(type)) {  // hexadecimal: the bits
      const size_t size = static_cast<size_t>(StorageBytes(type));
      std::memcpy(into.mutable_bytes().data() + static_cast<size_t>(i) * size, &bits, size);
    } else {
      into.SetInt(i, static_cast<int64_t>(bits));
    }
    return OkStatus();
  }
  static Status NoNumber(const std::string& text) {
    return InvalidArgument("backend_config: \"{}\" is no number", text);
  }

  // [1, 2], or behind "array<": i64: 1, 2>.
  Result<ConfigValue> ReadArray(bool typed) {
    std::optional<ElementType> type;
    std::vector<WrittenNumber> numbers;
    if (typed) {
      VXLA_ASSIGN_OR_RETURN(type, ReadTypeName());
      if (Take(":")) VXLA_RETURN_IF_ERROR(ReadNumbers(">", numbers));
      VXLA_RETURN_IF_ERROR(Expect(">"));
    } else {
      VXLA_RETURN_IF_ERROR(ReadNested(numbers));
    }
    return ArrayOf(numbers, type, std::nullopt);
  }

  Status ReadNumbers(std::string_view end, std::vector<WrittenNumber>& numbers) {
    while (true) {
      SkipSpace();
      if (text_.substr(at_).starts_with(end)) return OkStatus();
      if (!numbers.empty()) VXLA_RETURN_IF_ERROR(Expect(","));
      VXLA_ASSIGN_OR_RETURN(numbers.emplace_back(), ReadNumber());
      if (Take(":")) VXLA_RETURN_IF_ERROR(ReadTypeName().status());  // [1 : i32, 2 : i32]
    }
  }

  // Lists of lists, flattened.
  Status ReadNested(std::vector<WrittenNumber>& numbers) {
    VXLA_RETURN_IF_ERROR(Expect("["));
    int open = 1;
    while (open > 0) {
      if (Take("[")) {
        ++open;
      } else if (Take("]")) {
        --open;
        Take(",");
      } else {
        VXLA_ASSIGN_OR_RETURN(numbers.emplace_back(), ReadNumber());
        if (Take(":")) VXLA_RETURN_IF_ERROR(ReadTypeName().status());
        SkipSpace();
        if (!Take(",") && (at_ == text_.size() || text_[at_] != ']')) return Wrong("',' or ']'");
      }
    }
    // The comma behind the last bracket is the dictionary's.
    while (at_ > 0 && text_[at_ - 1] != ']') --at_;
    return OkStatus();
  }

  // Behind "dense<": a list, one number for all, or the bytes in hexadecimal; then "> : tensor<2x3xf32>".
  Result<ConfigValue> ReadDense() {
    SkipSpace();
    std::vector<WrittenNumber> numbers;
    std::string bytes;
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (next == '[') {
      VXLA_RETURN_IF_ERROR(ReadNested(numbers));
    } else if (next == '"') {
      VXLA_ASSIGN_OR_RETURN(bytes, ReadString());
    } else if (next != '>') {
      VXLA_ASSIGN_OR_RETURN(numbers.emplace_back(), ReadNumber());
    }
    for (const std::string_view token : {">", ":", "tensor", "<"}) VXLA_RETURN_IF_ERROR(Expect(token));
    int64_t count = 1;
    std::string word = ReadWord();
    for (size_t x = word.find('x'); x != std::string::npos; x = word.find('x')) {
      int64_t size = -1;
      const bool read = std::from_chars(word.data(), word.data() + x, size).ptr == word.data() + x;
      if (!read || size < 0 || (size > 0 && count > (int64_t{1} << 40) / size))
        return InvalidArgument("backend_config: tensor<{}> is no shape", word);
      count *= size;
      word.erase(0, x + 1);
    }
    const auto type = TypeNamed(word);
    if (!type) return InvalidArgument("backend_config: \"{}\" is no type of numbers", word);
    VXLA_RETURN_IF_ERROR(Expect(">"));
    if (!bytes.empty()) return FromBytes(bytes, *type, count);
    return ArrayOf(numbers, type, count);
  }

  static Result<ConfigValue> FromBytes(const std::string& text, ElementType type, int64_t count) {
    ConfigValue value;
    value.kind = ConfigValue::Kind::kArray;
    VXLA_ASSIGN_OR_RETURN(value.numbers, Literal::Make(Shape(type, {count})));
    const auto bytes = value.numbers.mutable_bytes();
    if (!text.starts_with("0x") || text.size() != 2 + 2 * bytes.size()) {
      return InvalidArgument("backend_config: {} hexadecimal digits for {} bytes of an array", text.size() - 2,
                             bytes.size());
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      const char* const digits = text.data() + 2 + 2 * i;
      int byte = 0;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return NoNumber(text.substr(2 + 2 * i, 2));
      bytes[i] = static_cast<std::byte>(byte);
    }
    return value;
  }

  // Without a type that of the first number, or f64 where any has a point; one number is that of all `count`.
  Result<ConfigValue> ArrayOf(const std::vector<WrittenNumber>& numbers, std::optional<ElementType> type,
                              std::optional<int64_t> count) const {
    if (!type) {
      type = ElementType::kS64;
      for (const WrittenNumber& number : numbers) {
        if (number.is_float()) type = ElementType::kF64;
      }
      if (!numbers.empty() && (numbers[0].text == "true" || numbers[0].text == "false")) type = ElementType::kPred;
    }
    const auto given = static_cast<int64_t>(numbers.size());
    const int64_t wanted = count.value_or(given);
    if (given != wanted && given != 1)
      return InvalidArgument("backend_config: {} numbers for a tensor of {}", given, wanted);
    ConfigValue value;
    value.kind = ConfigValue::Kind::kArray;
    VXLA_ASSIGN_OR_RETURN(value.numbers, Literal::Make(Shape(*type, {wanted})));
    for (int64_t i = 0; i < wanted; ++i) VXLA_RETURN_IF_ERROR(Store(numbers[given == 1 ? 0 : i], i, value.numbers));
    return value;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<ConfigDictionary> ParseConfigDictionary(std::string_view text) { return ConfigReader(text).ReadAll(); }

std::string ConfigText(const std::string& backend_config) {
  if (!backend_config.starts_with('"')) return backend_config;
  Result<std::string> unquoted = Unquote(backend_config);
  return unquoted.ok() ? *std::move(unquoted) : backend_config;
}

}  // namespace VXLA_NAMESPACE
