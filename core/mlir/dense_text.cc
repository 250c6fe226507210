#include "core/mlir/dense_text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/data/float_formats.h"
#include "core/host/real_text.h"
#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Eight digits in the bytes of a word as four bytes. `bad` keeps a bit for what is no digit.
uint32_t FourBytesOf(uint64_t digits, uint64_t& bad) {
  constexpr uint64_t kEach = 0x0101010101010101, kTop = 0x80 * kEach;
  // 0 to 9, and a to f as 1 to 6 in either case: sums that stay below 128 for these only.
  const uint64_t number = digits ^ (0x30 * kEach), letter = (digits | (0x20 * kEach)) ^ (0x60 * kEach);
  const uint64_t no_number = number + 0x76 * kEach;
  const uint64_t no_letter = (letter + 0x79 * kEach) | ~(letter + 0x7f * kEach);
  bad |= ((no_number & no_letter) | digits) & kTop;
  const uint64_t values = (digits & (0x0f * kEach)) + ((digits >> 6) & kEach) * 9;
  uint64_t pairs = ((values << 4) | (values >> 8)) & 0x00ff00ff00ff00ff;
  pairs = (pairs | (pairs >> 8)) & 0x0000ffff0000ffff;
  return static_cast<uint32_t>(pairs | (pairs >> 16));
}

constexpr std::array<int8_t, 256> MakeHexValues() {
  std::array<int8_t, 256> values{};
  for (int c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
    values[c] = static_cast<int8_t>(digit ? c - '0' : lower ? c - 'a' + 10 : upper ? c - 'A' + 10 : -1);
  }
  return values;
}
constexpr std::array<int8_t, 256> kHexValues = MakeHexValues();

class DenseReader {
 public:
  DenseReader(std::string_view text, Literal& literal) : text_(text), literal_(literal) {}

  Status Read();
  size_t offset() const { return at_; }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool Eat(char c) {
    SkipBlanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status Expect(char c) {
    if (Eat(c)) return OkStatus();
    return Found(fmt::format("'{}'", c));
  }
  Status Found(std::string_view what) {
    SkipBlanks();
    const std::string_view rest = text_.substr(at_, 30);
    if (rest.empty()) return InvalidArgument("dense: expected {}, found '>'", what);
    return InvalidArgument("dense: expected {}, found {}", what, rest.substr(0, rest.find('\n')));
  }
  Status ReadList(int dimension, std::byte*& to);
  bool ReadPlainFloat(std::byte* to);
  Status ReadElement(std::byte* to);
  std::string_view TakeWord();

  std::string_view text_;
  size_t at_ = 0;
  Literal& literal_;
};

Status DenseReader::Read() {
  const Shape& shape = literal_.shape();
  std::byte* to = literal_.mutable_bytes().data();
  SkipBlanks();
  if (at_ == text_.size() && shape.ElementCount() == 0) return OkStatus();
  if (at_ < text_.size() && text_[at_] == '[') {
    VXLA_RETURN_IF_ERROR(ReadList(0, to));
  } else {  // one value for all
    std::byte value[16];
    VXLA_RETURN_IF_ERROR(ReadElement(value));
    const size_t size = static_cast<size_t>(StorageBytes(shape.element_type()));
    for (int64_t i = shape.ElementCount(); i > 0; --i, to += size) std::memcpy(to, value, size);
  }
  SkipBlanks();
  if (at_ != text_.size()) return Found("'>'");
  return OkStatus();
}

Status DenseReader::ReadList(int dimension, std::byte*& to) {
  const Shape& shape = literal_.shape();
  if (dimension == shape.rank()) {
    VXLA_RETURN_IF_ERROR(ReadElement(to));
    to += StorageBytes(shape.element_type());
    return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(Expect('['));
  const int64_t size = shape.dimension(dimension);
  int64_t found = 0;
  SkipBlanks();
  if (at_ >= text_.size() || text_[at_] != ']') {
    do {
      if (found == size) {
        return InvalidArgument("dense: more than {} elements in dimension {} of {}", size, dimension, shape.ToString());
      }
      if (dimension + 1 == shape.rank() && ReadPlainFloat(to)) {
        to += sizeof(float);
      } else {
        VXLA_RETURN_IF_ERROR(ReadList(dimension + 1, to));
      }
      ++found;
    } while (Eat(','));
  }
  VXLA_RETURN_IF_ERROR(Expect(']'));
  if (found == size) return OkStatus();
  return InvalidArgument("dense: {} elements in dimension {} of {}, expected {}", found, dimension, shape.ToString(),
                         size);
}

// Most of a large text: an f32 in decimals. False: anything else, or what is wrong.
bool DenseReader::ReadPlainFloat(std::byte* to) {
  if (literal_.shape().element_type() != ElementType::kF32) return false;
  double value = 0;
  const char* const end = text_.data() + text_.size();
  const auto parsed =
      RealFromChars(text_.data() + std::min(text_.find_first_not_of(" \n\t\r", at_), text_.size()), end, value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr != end && (*parsed.ptr == ',' || *parsed.ptr == ']');
  if (!whole) return false;
  const float rounded = static_cast<float>(value);
  std::memcpy(to, &rounded, sizeof(rounded));
  at_ = static_cast<size_t>(parsed.ptr - text_.data());
  return true;
}

std::string_view DenseReader::TakeWord() {
  SkipBlanks();
  const size_t start = at_;
  at_ = std::min(text_.find_first_of(" \n\t\r,[]()<>", at_), text_.size());
  return text_.substr(start, at_ - start);
}

Status DenseReader::ReadElement(std::byte* to) {
  const ElementType type = literal_.shape().element_type();
  if (!IsComplex(type)) {
    const size_t start = at_;
    const std::string_view word = TakeWord();
    Status status =
        word.empty() ? Found(fmt::format("a number of {}", ElementTypeName(type))) : ParseDenseNumber(word, type, to);
    if (!status.ok() && !word.empty()) at_ = start;
    return status;
  }
  const ElementType part = RealPart(type);
  VXLA_RETURN_IF_ERROR(Expect('('));
  VXLA_RETURN_IF_ERROR(ParseDenseNumber(TakeWord(), part, to));
  VXLA_RETURN_IF_ERROR(Expect(','));
  VXLA_RETURN_IF_ERROR(ParseDenseNumber(TakeWord(), part, to + StorageBytes(part)));
  return Expect(')');
}

void StoreBits(ElementType type, uint64_t bits, std::byte* at) {
  std::memcpy(at, &bits, static_cast<size_t>(StorageBytes(type)));
}

// MLIR reads a decimal number as a double and rounds that.
Status ParseReal(std::string_view text, ElementType type, std::byte* at) {
  double value = 0;
  const auto parsed = RealFromChars(text.data(), text.data() + text.size(), value);
  const bool range = parsed.ec == std::errc::result_out_of_range;
  if ((parsed.ec != std::errc() && !range) || parsed.ptr != text.data() + text.size())
    return InvalidArgument("dense: {} is no number of {}", text.substr(0, 40), ElementTypeName(type));
  if (range) {  // too large or too small: the exponent says which
    const bool tiny = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    if (text.starts_with('-')) value = -value;
  }
  StoreBits(type, EncodeFloat(type, value), at);
  return OkStatus();
}

Status ParseInteger(std::string_view text, ElementType type, std::byte* at) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  uint64_t magnitude = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hex ? 16 : 10);
  if (parsed.ptr != digits.data() + digits.size() || parsed.ec == std::errc::invalid_argument)
    return InvalidArgument("dense: {} is no integer of {}", text.substr(0, 40), ElementTypeName(type));
  // Signless integers may be written as either kind: 255 is -1 in 8 bits.
  const uint64_t limit = MaxUnsigned(type);
  const bool fits =
      parsed.ec == std::errc() && (negative ? IsSigned(type) && magnitude <= (limit >> 1) + 1 : magnitude <= limit);
  if (!fits && !(negative && magnitude == 0))
    return InvalidArgument("dense: {} is out of range for {}", text.substr(0, 40), ElementTypeName(type));
  uint64_t bits = negative ? uint64_t{0} - magnitude : magnitude;
  const int width = BitWidth(type);
  if (IsSigned(type) && width < 64) {
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  }
  StoreBits(type, bits, at);
  return OkStatus();
}

// ---- printing

void AppendHex(std::string& out, std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<int>(b) >> 4];
    out += kDigits[std::to_integer<int>(b) & 15];
  }
}

}  // namespace

Status ParseDenseNumber(std::string_view text, ElementType type, std::byte* at) {
  if (text == "true" || text == "false") {
    if (type != ElementType::kPred) return InvalidArgument("dense: {} for {}", text, ElementTypeName(type));
    StoreBits(type, text == "true", at);
    return OkStatus();
  }
  if (IsFloating(type) && !text.starts_with("0x")) return ParseReal(text, type, at);
  if (IsFloating(type)) {
    uint64_t bits = 0;
    const auto parsed = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    const int width = BitWidth(type);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || (width < 64 && bits >> width != 0))
      return InvalidArgument("dense: {} are no {} bits of {}", text.substr(0, 40), width, ElementTypeName(type));
    StoreBits(type, bits, at);
    return OkStatus();
  }
  if (type == ElementType::kPred) {
    if (text != "0" && text != "1" && text != "-1") return InvalidArgument("dense: {} is no i1", text.substr(0, 40));
    StoreBits(type, text != "0", at);
    return OkStatus();
  }
  return ParseInteger(text, type, at);
}

namespace {

Status DecodeHex(std::string_view digits, std::byte* to) {
  if (digits.size() % 2 != 0) return InvalidArgument("{} hexadecimal digits, an even number needed", digits.size());
  const auto* const from = reinterpret_cast<const unsigned char*>(digits.data());
  uint64_t wrong = 0;
  size_t i = 0;
  for (; std::endian::native == std::endian::little && i + 8 <= digits.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, from + i, sizeof(word));
    const uint32_t bytes = FourBytesOf(word, wrong);
    std::memcpy(to + i / 2, &bytes, sizeof(bytes));
  }
  int seen = 0;
  for (; i < digits.size(); i += 2) {
    const int high = kHexValues[from[i]], low = kHexValues[from[i + 1]];
    seen |= high | low;
    to[i / 2] = std::byte(static_cast<uint8_t>(high * 16 + low));
  }
  if (seen >= 0 && wrong == 0) return OkStatus();
  size_t bad = 0;
  while (kHexValues[from[bad]] >= 0) ++bad;
  return InvalidArgument("character {} of the hexadecimal string is no digit", bad + 3);
}

}  // namespace

Result<HostBytes> ParseHexBytes(std::string_view digits) {
  HostBytes bytes(digits.size() / 2);
  VXLA_RETURN_IF_ERROR(DecodeHex(digits, bytes.data()));
  return bytes;
}

Result<std::shared_ptr<const Literal>> LiteralFromHex(const Shape& shape, std::string_view digits) {
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  const bool as_stored =
      BitWidth(shape.element_type()) >= 8 && static_cast<int64_t>(digits.size()) == 2 * shape.SizeBytes();
  if (!as_stored) {
    VXLA_ASSIGN_OR_RETURN(const HostBytes bytes, ParseHexBytes(digits));
    return LiteralFromBytes(shape, bytes);
  }
  Literal literal = Literal::Uninitialized(shape);
  VXLA_RETURN_IF_ERROR(DecodeHex(digits, literal.mutable_bytes().data()));
  return std::make_shared<const Literal>(std::move(literal));
}

Result<std::shared_ptr<const Literal>> ParseDenseText(std::string_view text, const Shape& shape, size_t& offset) {
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  offset = 0;
  const size_t start = std::min(text.find_first_not_of(" \n\t\r"), text.size());
  const bool splat = start < text.size() && text[start] != '[';
  const int64_t count = shape.ElementCount();
  if (!splat && count > static_cast<int64_t>(text.size()))
    return InvalidArgument("dense: fewer elements than the {} of {}", count, shape.ToString());
  const bool keep = splat && count > kMaxExpandedSplat;
  VXLA_ASSIGN_OR_RETURN(Literal literal, Literal::Make(keep ? Shape(shape.element_type()) : shape));
  DenseReader reader(text, literal);
  const Status status = reader.Read();
  offset = reader.offset();
  if (!status.ok()) return status;
  return std::make_shared<const Literal>(std::move(literal));
}

std::string PrintDense(const Literal& literal) {
  const Shape& shape = literal.shape();
  const int64_t count = shape.ElementCount();
  if (count == 0) return "";
  const size_t size = static_cast<size_t>(StorageBytes(shape.element_type()));
  const std::span<const std::byte> bytes = literal.bytes();
  bool splat = true;
  for (int64_t i = 1; i < count && splat; ++i) splat = std::memcmp(bytes.data(), bytes.data() + i * size, size) == 0;
  const ElementType type = shape.element_type();
  if (splat && (IsInteger(type) || type == ElementType::kPred)) {
    if (type == ElementType::kPred) return literal.GetInt(0) != 0 ? "true" : "false";
    return IsSigned(type) ? fmt::format("{}", literal.GetInt(0))
                          : fmt::format("{}", static_cast<uint64_t>(literal.GetInt(0)));
  }
  if (splat && IsFloating(type)) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), size);
    const double value = literal.GetDouble(0);
    // Whole numbers of every type read back as they are; other values keep their bits in hexadecimal.
    if (std::isfinite(value) && value == std::trunc(value) && std::fabs(value) < 65536)
      return fmt::format("{:.1f}", value);
    return fmt::format("0x{:0{}X}", bits, 2 * size);
  }
  std::string out = "\"0x";
  out.reserve(2 * bytes.size() + 8);
  AppendHex(out, splat ? bytes.first(size) : bytes);
  return out + "\"";
}

}  // namespace VXLA_NAMESPACE::mlir
