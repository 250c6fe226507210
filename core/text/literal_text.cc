#include "core/text/literal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/data/float_formats.h"
#include "core/host/real_text.h"

namespace VXLA_NAMESPACE {
namespace {

// The encoding of one real floating-point element.
uint64_t LoadBits(ElementType type, const std::byte* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(StorageBytes(type)));
  return bits;
}

void StoreBits(ElementType type, std::byte* at, uint64_t bits) {
  std::memcpy(at, &bits, static_cast<size_t>(StorageBytes(type)));
}

struct NanFields {
  uint64_t sign, infinity, payload, quiet;  // of an IEEE format; payload is the mask of its mantissa
};
NanFields NanFieldsOf(const FloatFormat& format) {
  NanFields fields;
  fields.sign = uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
  fields.payload = (uint64_t{1} << format.mantissa_bits) - 1;
  fields.infinity = fields.sign - 1 - fields.payload;
  fields.quiet = uint64_t{1} << (format.mantissa_bits - 1);
  return fields;
}

// ---- printing

void AppendNan(std::string& out, ElementType type, uint64_t bits) {
  const FloatFormat& format = FormatOf(type);
  if (format.specials != FloatSpecials::kIeee) {
    // Of these only the "fn" kinds have a NaN of either sign: "fnuz" has one NaN where -0 would be, f8e8m0fnu no sign.
    out += format.specials == FloatSpecials::kFiniteNan && bits > 0x7f ? "-nan" : "nan";
    return;
  }
  const NanFields fields = NanFieldsOf(format);
  if (bits & fields.sign) out += '-';
  out += "nan";
  const uint64_t payload = bits & fields.payload;
  if (payload != fields.quiet) fmt::format_to(std::back_inserter(out), "(0x{:x})", payload);
}

// Few digits suffice: an 11-bit mantissa is told apart by 5 of them. No type saturates when it is read.
void AppendNarrow(std::string& out, ElementType type, uint64_t bits, double value) {
  char buffer[32];
  for (int precision = 1;; ++precision) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, precision).ptr;
    double back = 0;
    RealFromChars(buffer, end, back);
    if ((EncodeNarrowFloat(type, back) == bits && std::fabs(back) <= MaxFinite(type)) || precision == 17) {
      out.append(buffer, end);
      return;
    }
  }
}

void AppendReal(std::string& out, ElementType type, const std::byte* at) {
  const uint64_t bits = LoadBits(type, at);
  const double value = DecodeFloat(type, bits);
  if (std::isnan(value)) return AppendNan(out, type, bits);
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  if (IsNarrowFloat(type)) return AppendNarrow(out, type, bits, value);
  char buffer[40];
  const auto end = type == ElementType::kF32
                       ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
                       : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void AppendElement(std::string& out, const Literal& literal, int64_t i) {
  const ElementType type = literal.shape().element_type();
  const std::byte* at = literal.bytes().data() + i * StorageBytes(type);
  if (IsComplex(type)) {
    const ElementType part = RealPart(type);
    out += '(';
    AppendReal(out, part, at);
    out += ", ";
    AppendReal(out, part, at + StorageBytes(part));
    out += ')';
  } else if (IsFloating(type)) {
    AppendReal(out, type, at);
  } else if (IsSigned(type)) {
    fmt::format_to(std::back_inserter(out), "{}", literal.GetInt(i));
  } else if (type == ElementType::kPred && literal.shape().rank() == 0) {
    out += literal.GetInt(i) != 0 ? "true" : "false";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<uint64_t>(literal.GetInt(i)));
  }
}

// One dimension's braces; `base` is the row-major position of its first element.
void AppendDimension(std::string& out, const Literal& literal, std::span<const int64_t> strides, int dimension,
                     int64_t base) {
  const int rank = literal.shape().rank();
  if (dimension == rank) return AppendElement(out, literal, base);
  const bool innermost = dimension + 1 == rank;
  out += innermost ? "{" : "{ ";
  const int64_t size = literal.dynamic_size(dimension);
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) out += ", ";
    if (rank - dimension > 2) fmt::format_to(std::back_inserter(out), "/*i{}={}*/ ", dimension, i);
    AppendDimension(out, literal, strides, dimension + 1, base + i * strides[dimension]);
  }
  out += innermost ? "}" : " }";
}

void AppendLiteral(std::string& out, const Literal& literal, int64_t max_elements) {
  const Shape& shape = literal.shape();
  if (shape.IsTuple()) {
    out += '(';
    for (size_t i = 0; i < literal.tuple_elements().size(); ++i) {
      if (i > 0) out += ", ";
      AppendLiteral(out, literal.tuple_elements()[i], max_elements);
    }
    out += ')';
    return;
  }
  if (!shape.IsArray()) return;
  const int64_t count = shape.ElementCount();
  if (count > max_elements) {
    out += "{...}";
    return;
  }
  // An empty array may have any number of empty rows; {} stands for all of them unless a size is dynamic.
  if (count == 0 && !shape.IsDynamic()) {
    out += "{}";
    return;
  }
  AppendDimension(out, literal, RowMajorStrides(shape.dimensions()), 0, 0);
}

// ---- reading

class LiteralReader {
 public:
  explicit LiteralReader(Lexer& lexer) : lexer_(lexer) {}

  // Recurses over the shape, whose tuples and dimensions are few (core/limits.h).
  Status Read(const Shape& shape, Literal& literal);
  bool elided() const { return elided_; }

 private:
  Status ReadDimension(int dimension, int64_t base);
  Status ReadElement(int64_t i);
  Status ReadInteger(ElementType type, int64_t i);
  Status ReadReal(ElementType type, std::byte* at);
  Status ReadNan(ElementType type, bool negative, std::byte* at);
  Status OutOfRange(std::string_view text, ElementType type) const {
    return lexer_.Error("literal: {} is out of range for {}", text, ElementTypeName(type));
  }

  Lexer& lexer_;
  bool elided_ = false;
  Literal* literal_ = nullptr;
  std::vector<int64_t> strides_;
  std::vector<int64_t> sizes_;  // the live ones; -1: dynamic and not seen yet
};

Status LiteralReader::Read(const Shape& shape, Literal& literal) {
  if (shape.IsTuple()) {
    if (lexer_.Eat("...")) {
      elided_ = true;
      return OkStatus();
    }
    VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
    std::vector<Literal> elements(shape.tuple_elements().size());
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
      VXLA_RETURN_IF_ERROR(Read(shape.tuple_elements()[i], elements[i]));
    }
    VXLA_RETURN_IF_ERROR(lexer_.Expect(")"));
    if (!elided_) literal = Literal::Tuple(std::move(elements));
    return OkStatus();
  }
  if (!shape.IsArray()) return lexer_.Error("literal: {} has no values", shape.ToString());
  if (lexer_.At("...") || (lexer_.At("{") && lexer_.PeekChar() == '.')) {
    const bool braced = lexer_.Eat("{");
    VXLA_RETURN_IF_ERROR(lexer_.Expect("..."));
    if (braced) VXLA_RETURN_IF_ERROR(lexer_.Expect("}"));
    elided_ = true;
    return OkStatus();
  }
  if (const Status status = CheckShape(shape); !status.ok()) return lexer_.Error("literal: {}", status.message());
  const int64_t count = shape.ElementCount();
  // Each element takes a character at least, so this is refused before memory is asked for.
  const bool fits = shape.IsDynamic() ? lexer_.Spend(count) : count <= static_cast<int64_t>(lexer_.remaining()) + 1;
  if (!fits) return lexer_.Error("literal: {} has {} elements, more than the text holds", shape.ToString(), count);
  Shape plain = shape;
  plain.set_layout(std::nullopt);
  literal = Literal(plain);
  literal_ = &literal;
  strides_ = RowMajorStrides(shape.dimensions());
  sizes_.assign(shape.dimensions().begin(), shape.dimensions().end());
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.is_dynamic_dimension(i)) sizes_[i] = -1;
  }
  if (count == 0 && !shape.IsDynamic() && lexer_.At("{") && lexer_.PeekChar() == '}') {
    lexer_.Next();
    lexer_.Next();
    return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(ReadDimension(0, 0));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.is_dynamic_dimension(i)) literal.set_dynamic_size(i, std::max<int64_t>(sizes_[i], 0));
  }
  return OkStatus();
}

Status LiteralReader::ReadDimension(int dimension, int64_t base) {
  const Shape& shape = literal_->shape();
  if (dimension == shape.rank()) return ReadElement(base);
  VXLA_RETURN_IF_ERROR(lexer_.Expect("{"));
  int64_t found = 0;
  const int64_t limit = shape.dimension(dimension);
  while (!lexer_.At("}")) {
    if (found == limit) {
      return lexer_.Error("literal: more than {} elements in dimension {} of {}", limit, dimension, shape.ToString());
    }
    VXLA_RETURN_IF_ERROR(ReadDimension(dimension + 1, base + found * strides_[dimension]));
    ++found;
    if (!lexer_.Eat(",")) break;
  }
  if (sizes_[dimension] < 0) sizes_[dimension] = found;
  if (found != sizes_[dimension] && lexer_.At("}")) {
    return lexer_.Error("literal: {} elements in dimension {} of {}, expected {}", found, dimension, shape.ToString(),
                        sizes_[dimension]);
  }
  return lexer_.Expect("}");
}

Status LiteralReader::ReadElement(int64_t i) {
  const ElementType type = literal_->shape().element_type();
  if (type == ElementType::kPred) {
    if (lexer_.token().kind == TokenKind::kInt && lexer_.token().text != "0" && lexer_.token().text != "1") {
      return OutOfRange(lexer_.token().text, type);
    }
    VXLA_ASSIGN_OR_RETURN(const bool value, lexer_.TakeBool());
    literal_->SetInt(i, value);
    return OkStatus();
  }
  if (IsInteger(type)) return ReadInteger(type, i);
  std::byte* at = literal_->mutable_bytes().data() + i * StorageBytes(type);
  if (IsFloating(type)) return ReadReal(type, at);
  const ElementType part = RealPart(type);
  VXLA_RETURN_IF_ERROR(lexer_.Expect("("));
  VXLA_RETURN_IF_ERROR(ReadReal(part, at));
  VXLA_RETURN_IF_ERROR(lexer_.Expect(","));
  VXLA_RETURN_IF_ERROR(ReadReal(part, at + StorageBytes(part)));
  return lexer_.Expect(")");
}

Status LiteralReader::ReadInteger(ElementType type, int64_t i) {
  const std::string_view text = lexer_.token().text;
  if (lexer_.token().kind != TokenKind::kInt)
    return lexer_.Expected(fmt::format("an integer of {}", ElementTypeName(type)));
  const char* end = text.data() + text.size();
  if (IsSigned(type)) {
    int64_t value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc() || value < MinSigned(type) ||
        value > MaxSigned(type)) {
      return OutOfRange(text, type);
    }
    literal_->SetInt(i, value);
  } else {
    uint64_t value = 0;
    const bool negative_zero = text == "-0";
    int64_t negative = 0;  // XLA wraps those of 64 bits and no others
    if (type == ElementType::kU64 && std::from_chars(text.data(), end, negative).ec == std::errc() && negative < 0) {
      value = static_cast<uint64_t>(negative);
    } else if (!negative_zero && (std::from_chars(text.data(), end, value).ec != std::errc() || value > MaxUnsigned(type))) {
      return OutOfRange(text, type);
    }
    literal_->SetInt(i, static_cast<int64_t>(value));
  }
  lexer_.Next();
  return OkStatus();
}

// from_chars does not say whether a number was too large or too small: the text does.
bool IsTiny(std::string_view text) {
  const size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.find('-', exponent) != std::string_view::npos;
  return text.starts_with("0.") || text.starts_with("-0.") || text.starts_with(".") || text.starts_with("-.");
}

// The value nearest to the text in T; false if it exceeds T's range.
template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  const auto parsed = RealFromChars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) {
    if (!IsTiny(text)) return false;
    value = text.starts_with('-') ? -T{0} : T{0};
    return true;
  }
  return parsed.ec == std::errc() && std::isfinite(value);
}

Status LiteralReader::ReadReal(ElementType type, std::byte* at) {
  const Token& token = lexer_.token();
  const std::string_view text = token.text;
  if (lexer_.AtIdentifier("nan") || lexer_.AtIdentifier("-nan")) return ReadNan(type, text.starts_with('-'), at);
  if (lexer_.AtIdentifier("inf") || lexer_.AtIdentifier("-inf")) {
    if (!HasInfinity(type)) return lexer_.Error("literal: {} has no infinity", ElementTypeName(type));
    const double infinity = std::numeric_limits<double>::infinity();
    StoreBits(type, at, EncodeFloat(type, text.starts_with('-') ? -infinity : infinity));
    lexer_.Next();
    return OkStatus();
  }
  if (token.kind != TokenKind::kInt && token.kind != TokenKind::kDecimal) {
    return lexer_.Expected(fmt::format("a number of {}", ElementTypeName(type)));
  }
  if (type == ElementType::kF32) {
    float value = 0;  // read as f32 at once: through double it would round twice
    if (!ParseNumber(text, value)) return OutOfRange(text, type);
    StoreBits(type, at, std::bit_cast<uint32_t>(value));
  } else {
    double value = 0;
    if (!ParseNumber(text, value)) return OutOfRange(text, type);
    const uint64_t bits = EncodeFloat(type, value);
    const double stored = DecodeFloat(type, bits);
    const bool saturated = FormatOf(type).specials == FloatSpecials::kFinite && std::fabs(value) > MaxFinite(type);
    if (!std::isfinite(stored) || saturated) return OutOfRange(text, type);
    StoreBits(type, at, bits);
  }
  lexer_.Next();
  return OkStatus();
}

Status LiteralReader::ReadNan(ElementType type, bool negative, std::byte* at) {
  const FloatFormat& format = FormatOf(type);
  if (format.specials == FloatSpecials::kFinite) return lexer_.Error("literal: {} has no NaN", ElementTypeName(type));
  const bool has_payload = lexer_.PeekChar() == '(';
  if (format.specials != FloatSpecials::kIeee) {
    if (has_payload) return lexer_.Error("literal: a NaN of {} has no payload", ElementTypeName(type));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    StoreBits(type, at, EncodeNarrowFloat(type, negative ? -nan : nan));
    lexer_.Next();
    return OkStatus();
  }
  const NanFields fields = NanFieldsOf(format);
  uint64_t payload = fields.quiet;
  if (has_payload) {
    lexer_.Next();
    const Token word = lexer_.TakeWordAfter("");
    const char* end = word.text.data() + word.text.size();
    const bool hex = word.text.starts_with("0x") && word.text.size() > 2;
    auto parsed = std::from_chars_result{end, std::errc::invalid_argument};
    if (hex) parsed = std::from_chars(word.text.data() + 2, end, payload, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end || payload == 0 || payload > fields.payload) {
      return InvalidArgument("literal: {} is no NaN payload of {}", word.text, ElementTypeName(type)).At(word.location);
    }
    if (!lexer_.At(")")) return lexer_.Expected("')'");
  }
  StoreBits(type, at, (negative ? fields.sign : 0) | fields.infinity | payload);
  lexer_.Next();
  return OkStatus();
}

}  // namespace

std::string PrintLiteral(const Literal& literal, int64_t max_elements) {
  std::string out;
  AppendLiteral(out, literal, max_elements);
  return out;
}

Result<std::shared_ptr<const Literal>> ParseLiteral(Lexer& lexer, const Shape& shape) {
  LiteralReader reader(lexer);
  auto literal = std::make_shared<Literal>();
  VXLA_RETURN_IF_ERROR(reader.Read(shape, *literal));
  if (reader.elided()) return std::shared_ptr<const Literal>();
  return std::shared_ptr<const Literal>(std::move(literal));
}

}  // namespace VXLA_NAMESPACE
