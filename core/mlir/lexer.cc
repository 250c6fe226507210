#include "core/mlir/lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace VXLA_NAMESPACE::mlir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '$' || c == '.' || c == '-'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
int HexValue(char c) { return IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

char ClosingOf(char open) {
  constexpr std::string_view kOpen = "([{<", kClosing = ")]}>";
  const size_t found = kOpen.find(open);
  return found == std::string_view::npos ? '\0' : kClosing[found];
}

}  // namespace

MlirLexer::MlirLexer(std::string_view text, int first_line) : text_(text), first_line_(first_line) {
  line_ = first_line;
  Next();
}

SourceLocation MlirLexer::LocationOf(size_t offset) const {
  offset = std::min(offset, text_.size());
  if (offset < line_offset_) {
    line_offset_ = 0;
    line_ = first_line_;
  }
  while (line_offset_ < offset) {
    const void* found = std::memchr(text_.data() + line_offset_, '\n', offset - line_offset_);
    if (found == nullptr) break;
    line_offset_ = static_cast<size_t>(static_cast<const char*>(found) - text_.data()) + 1;
    ++line_;
  }
  return {line_, static_cast<int>(std::min<size_t>(offset - line_offset_, 1u << 30)) + 1};
}

void MlirLexer::Fail(std::string message) {
  error_ = std::move(message);
  token_.kind = TokenKind::kError;
  at_ = text_.size();
}

void MlirLexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void MlirLexer::Seek(size_t position) {
  at_ = position;
  token_ = {};
  Next();
}

void MlirLexer::Next() {
  if (token_.kind == TokenKind::kError) return;
  const bool after_comma = At(",");
  SkipBlanks();
  const size_t start = at_;
  token_ = {TokenKind::kEnd, {}, start};
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (IsLetter(c)) return LexName(TokenKind::kWord, start);
  if (IsDigit(c) || (c == '-' && IsDigit(next))) return LexNumber();
  if (c == '"') return LexString(TokenKind::kString, start);
  if (c == '@' && next == '"') {
    ++at_;
    return LexString(TokenKind::kSymbol, start + 1);
  }
  const bool named = IsLetter(next) || IsDigit(next) || next == '$' || next == '.';
  if (named && (c == '%' || c == '@' || c == '#' || c == '!' || c == '^')) {
    ++at_;
    const TokenKind kind = c == '%'   ? TokenKind::kValue
                           : c == '@' ? TokenKind::kSymbol
                           : c == '#' ? TokenKind::kHash
                           : c == '!' ? TokenKind::kBang
                                      : TokenKind::kCaret;
    return LexName(kind, start + 1);
  }
  for (const std::string_view word : {"{-#", "#-}", "...", "->", "::"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    token_ = {TokenKind::kPunctuation, text_.substr(start, word.size()), start};
    return;
  }
  if (std::strchr("(){}[]<>,:=?*+-|/#", c) == nullptr || c == '\0') {
    return Fail(fmt::format("unexpected character {}", static_cast<unsigned char>(c) >= 0x20 && c < 0x7f
                                                           ? fmt::format("'{}'", c)
                                                           : fmt::format("0x{:02x}", static_cast<unsigned char>(c))));
  }
  if (after_comma && std::strchr(")}]>", c) != nullptr) return Fail(fmt::format("nothing between ',' and '{}'", c));
  ++at_;
  token_ = {TokenKind::kPunctuation, text_.substr(start, 1), start};
}

void MlirLexer::LexName(TokenKind kind, size_t start) {
  while (at_ < text_.size() && IsNameCharacter(text_[at_])) {
    // '-' joins the parts of a value's name, never of a word: `a->b`.
    if (text_[at_] == '-' && (kind == TokenKind::kWord || kind == TokenKind::kHash || kind == TokenKind::kBang)) break;
    if (text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') break;
    ++at_;
  }
  token_.kind = kind;
  token_.text = text_.substr(start, at_ - start);
}

void MlirLexer::LexNumber() {
  const size_t start = at_;
  if (text_[at_] == '-') ++at_;
  token_.kind = TokenKind::kInt;
  if (text_[at_] == '0' && at_ + 2 < text_.size() && text_[at_ + 1] == 'x' && IsHexDigit(text_[at_ + 2])) {
    at_ += 2;
    while (at_ < text_.size() && IsHexDigit(text_[at_])) ++at_;
    token_.text = text_.substr(start, at_ - start);
    return;
  }
  const auto digits = [&] {
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  };
  digits();
  if (at_ < text_.size() && text_[at_] == '.') {
    token_.kind = TokenKind::kDecimal;
    ++at_;
    digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      size_t end = at_ + 1;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (end < text_.size() && IsDigit(text_[end])) {
        at_ = end;
        digits();
      }
    }
  }
  token_.text = text_.substr(start, at_ - start);
}

void MlirLexer::LexString(TokenKind kind, size_t start) {
  size_t at = at_ + 1;
  while (true) {
    const void* quote = at < text_.size() ? std::memchr(text_.data() + at, '"', text_.size() - at) : nullptr;
    if (quote == nullptr) return Fail("a string without its closing quote");
    const size_t end = static_cast<size_t>(static_cast<const char*>(quote) - text_.data());
    const void* escape = std::memchr(text_.data() + at, '\\', end - at);
    if (escape == nullptr) {
      at_ = end + 1;
      break;
    }
    at = static_cast<size_t>(static_cast<const char*>(escape) - text_.data()) + 2;
  }
  token_.kind = kind;
  token_.text = text_.substr(start, at_ - start);
}

bool MlirLexer::Eat(std::string_view punctuation) {
  if (!At(punctuation)) return false;
  Next();
  return true;
}

bool MlirLexer::EatWord(std::string_view word) {
  if (!AtWord(word)) return false;
  Next();
  return true;
}

Status MlirLexer::Expect(std::string_view punctuation) {
  if (Eat(punctuation)) return OkStatus();
  return Expected(fmt::format("'{}'", punctuation));
}

Status MlirLexer::ExpectWord(std::string_view word) {
  if (EatWord(word)) return OkStatus();
  return Expected(fmt::format("'{}'", word));
}

Result<int64_t> MlirLexer::TakeInt(std::string_view what) {
  if (token_.kind != TokenKind::kInt) return Expected(what);
  int64_t value = 0;
  const char* end = token_.text.data() + token_.text.size();
  const bool hex = token_.text.starts_with("0x");
  const auto parsed =
      hex ? std::from_chars(token_.text.data() + 2, end, value, 16) : std::from_chars(token_.text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return Error("{}: {} exceeds 64 bits", what, token_.text);
  Next();
  return value;
}

Result<std::string> MlirLexer::TakeString(std::string_view what) {
  if (token_.kind != TokenKind::kString) return Expected(what);
  Result<std::string> text = UnquoteMlir(token_.text);
  if (!text.ok()) return Status(text.status()).At(LocationOf(token_.offset));
  Next();
  return text;
}

Result<std::string> MlirLexer::TakeGroup() {
  const size_t start = token_.offset;
  const SourceLocation location = LocationOf(start);
  std::string closers;
  do {
    if (token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kError) {
      if (token_.kind == TokenKind::kError) return Expected("a closing bracket");
      return InvalidArgument("the '{}' is never closed", text_[start]).At(location);
    }
    if (token_.kind == TokenKind::kPunctuation) {
      const char c = token_.text[0];
      if (token_.text.size() == 1 && ClosingOf(c) != 0) closers += ClosingOf(c);
      if (token_.text.size() == 1 && !closers.empty() && c == closers.back()) closers.pop_back();
    }
    if (closers.empty()) break;
    Next();
  } while (true);
  std::string group(text_.substr(start, at_ - start));
  Next();
  return group;
}

Status MlirLexer::Expected(std::string_view what) const {
  if (token_.kind == TokenKind::kError) return Error("{}", error_);
  if (token_.kind == TokenKind::kEnd) return Error("expected {}, found the end of the text", what);
  std::string_view found = text_.substr(token_.offset, at_ - token_.offset);
  return Error("expected {}, found {}{}", what, found.substr(0, 60), found.size() > 60 ? "..." : "");
}

Result<std::string> UnquoteMlir(std::string_view quoted) {
  std::string out;
  quoted = quoted.substr(1, quoted.size() - 2);
  if (quoted.find('\\') == std::string_view::npos) return std::string(quoted);
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      out += quoted[i];
      continue;
    }
    const char c = i + 1 < quoted.size() ? quoted[i + 1] : '\0';
    if (c == 'n' || c == 't' || c == '"' || c == '\\') {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      ++i;
    } else if (i + 2 < quoted.size() && IsHexDigit(c) && IsHexDigit(quoted[i + 2])) {
      out += static_cast<char>(HexValue(c) * 16 + HexValue(quoted[i + 2]));
      i += 2;
    } else {
      return InvalidArgument("a string with the unknown escape '\\{}'", c);
    }
  }
  return out;
}

std::string QuoteMlir(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace VXLA_NAMESPACE::mlir
