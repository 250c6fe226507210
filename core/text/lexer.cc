#include "core/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace VXLA_NAMESPACE {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameChar(char c) { return IsLetter(c) || IsDigit(c) || c == '.' || c == '-'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

bool IsCloser(char c) { return c == '}' || c == ')' || c == ']'; }
char Closer(char opener) { return opener == '{' ? '}' : opener == '(' ? ')' : ']'; }

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text), budget_(std::ssize(text) * 2 + (1 << 20)) { Next(); }

SourceLocation Lexer::Here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

bool Lexer::Spend(int64_t elements) {
  if (elements > budget_) return false;
  budget_ -= elements;
  return true;
}

void Lexer::Fail(std::string message) {
  error_ = std::move(message);
  token_.kind = TokenKind::kError;
  at_ = text_.size();
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (IsBlank(c)) {
      if (c == '\n') NewLine(at_);
      ++at_;
    } else if (c == '/' && text_.substr(at_, 2) == "//") {
      const size_t end = text_.find_first_of("\n\r", at_);
      at_ = end == std::string_view::npos ? text_.size() : end;
    } else if (c == '/' && text_.substr(at_, 2) == "/*") {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return;  // the '/' is reported as unexpected
      for (size_t i = at_; i < end; ++i) {
        if (text_[i] == '\n') NewLine(i);
      }
      at_ = end + 2;
    } else {
      return;
    }
  }
}

void Lexer::Next() {
  if (token_.kind == TokenKind::kError) return;
  const bool after_comma = At(",");
  SkipBlanks();
  token_.location = Here();
  token_.text = text_.substr(at_, 1);
  if (at_ >= text_.size()) {
    token_.kind = TokenKind::kEnd;
    return;
  }
  const char c = text_[at_];
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (IsLetter(c)) return LexIdentifier();
  if (IsDigit(c) || (c == '-' && (IsDigit(next) || next == '.')) || (c == '.' && IsDigit(next))) return LexNumber();
  if (c == '%') {
    size_t end = at_ + 1;
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
    if (end == at_ + 1) return Fail("a name must follow '%'");
    token_.kind = TokenKind::kName;
    token_.text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    return;
  }
  if (c == '"' || c == '\'') {
    const size_t begin = at_;
    if (!ScanString()) return Fail("unterminated string");
    token_.kind = TokenKind::kString;
    token_.text = text_.substr(begin, at_ - begin);
    return;
  }
  const std::string_view rest = text_.substr(at_);
  size_t length = 0;
  if (rest.starts_with("-inf") || rest.starts_with("-nan")) {
    token_.kind = TokenKind::kIdentifier;
    token_.text = rest.substr(0, 4);
    at_ += 4;
    return;
  }
  if (rest.starts_with("->") || rest.starts_with("<=")) {
    length = 2;
  } else if (rest.starts_with("...")) {
    length = 3;
  } else if (std::string_view("{}()[],=:?*<>#").find(c) != std::string_view::npos) {
    length = 1;
    if (after_comma && IsCloser(c)) return Fail(fmt::format("nothing between ',' and '{}'", c));
  } else if (rest.starts_with("/*")) {
    return Fail("unterminated comment");
  } else {
    return Fail(c > ' ' && c < 0x7f ? fmt::format("unexpected character '{}'", c)
                                    : fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
  }
  token_.kind = TokenKind::kPunctuation;
  token_.text = rest.substr(0, length);
  at_ += length;
}

void Lexer::LexIdentifier() {
  size_t end = at_;
  while (end < text_.size() && IsNameChar(text_[end])) ++end;
  const char after = end < text_.size() ? text_[end] : '\0';
  token_.text = text_.substr(at_, end - at_);
  at_ = end;
  token_.kind = after == '=' ? TokenKind::kAttribute : after == ':' ? TokenKind::kLabel : TokenKind::kIdentifier;
  if (token_.kind != TokenKind::kIdentifier) ++at_;
}

void Lexer::LexNumber() {
  size_t end = at_ + (text_[at_] == '-');
  auto digits = [&] {
    const size_t begin = end;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    return end > begin;
  };
  token_.kind = TokenKind::kInt;
  digits();
  if (end < text_.size() && text_[end] == '.') {
    token_.kind = TokenKind::kDecimal;
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const size_t before = end++;
    if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
    if (digits()) {
      token_.kind = TokenKind::kDecimal;
    } else {
      end = before;
    }
  }
  token_.text = text_.substr(at_, end - at_);
  at_ = end;
}

bool Lexer::ScanString() {
  const char quote = text_[at_++];
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') NewLine(at_);
    if (c == '\\') {
      ++at_;
    } else if (c == quote) {
      ++at_;
      return true;
    }
  }
  at_ = text_.size();
  return false;
}

bool Lexer::Eat(std::string_view punctuation) {
  if (!At(punctuation)) return false;
  Next();
  return true;
}

Status Lexer::Expect(std::string_view punctuation) {
  if (Eat(punctuation)) return OkStatus();
  return Expected(fmt::format("'{}'", punctuation));
}

Status Lexer::Expected(std::string_view what) const {
  switch (token_.kind) {
    case TokenKind::kError:
      return Error("{}", error_);
    case TokenKind::kEnd:
      return Error("expected {}, found the end of the text", what);
    case TokenKind::kName:
      return Error("expected {}, found '%{}'", what, token_.text);
    case TokenKind::kAttribute:
      return Error("expected {}, found '{}='", what, token_.text);
    case TokenKind::kLabel:
      return Error("expected {}, found '{}:'", what, token_.text);
    case TokenKind::kString:
      return Error("expected {}, found a string", what);
    default:
      return Error("expected {}, found '{}'", what, token_.text);
  }
}

Result<int64_t> Lexer::TakeInt(std::string_view what) {
  if (token_.kind != TokenKind::kInt) return Expected(what);
  int64_t value = 0;
  const char* end = token_.text.data() + token_.text.size();
  if (std::from_chars(token_.text.data(), end, value).ec != std::errc()) {
    return Error("{}: {} exceeds 64 bits", what, token_.text);
  }
  Next();
  return value;
}

Result<bool> Lexer::TakeBool() {
  const bool is_true = AtIdentifier("true") || (token_.kind == TokenKind::kInt && token_.text == "1");
  const bool is_false = AtIdentifier("false") || (token_.kind == TokenKind::kInt && token_.text == "0");
  if (!is_true && !is_false) return Expected("true or false");
  Next();
  return is_true;
}

Result<std::string> Lexer::TakeString(std::string_view what) {
  if (token_.kind != TokenKind::kString) return Expected(what);
  Result<std::string> text = Unquote(token_.text);
  if (!text.ok()) return Status(text.status()).At(token_.location);
  Next();
  return text;
}

char Lexer::PeekChar() {
  SkipBlanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

Token Lexer::TakeWordAfter(std::string_view extra) {
  SkipBlanks();
  Token word{TokenKind::kIdentifier, {}, Here()};
  size_t end = at_;
  auto belongs = [&](char c) { return IsLetter(c) || IsDigit(c) || extra.find(c) != std::string_view::npos; };
  while (end < text_.size() && belongs(text_[end])) ++end;
  word.text = text_.substr(at_, end - at_);
  at_ = end;
  Next();
  return word;
}

// Copies up to and with the character that empties `closers`, which holds what is still open.
Status Lexer::ScanGroup(std::string& out, bool keep_blanks, std::string closers) {
  while (at_ < text_.size()) {
    const size_t before = at_;
    SkipBlanks();
    if (at_ != before) {
      if (keep_blanks) out += ' ';
      continue;
    }
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      const SourceLocation start = Here();
      if (!ScanString()) return InvalidArgument("unterminated string").At(start);
      out += text_.substr(before, at_ - before);
      continue;
    }
    if (text_.substr(at_, 2) == "/*") return InvalidArgument("unterminated comment").At(Here());
    if (c == '{' || c == '(' || c == '[') closers += Closer(c);
    if (c == '}' || c == ')' || c == ']') {
      if (c != closers.back()) {
        return InvalidArgument("expected '{}', found '{}'", closers.back(), c).At(Here());
      }
      closers.pop_back();
    }
    out += c;
    ++at_;
    if (closers.empty()) return OkStatus();
  }
  return InvalidArgument("no '{}' closes the group", closers.front());
}

Result<std::string> Lexer::TakeRawAfter() {
  SkipBlanks();
  const SourceLocation start = Here();
  const size_t begin = at_;
  std::string out;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '"' || c == '\'') {
    if (!ScanString()) return InvalidArgument("unterminated string").At(start);
    out = text_.substr(begin, at_ - begin);
  } else if (c == '{' || c == '(' || c == '[') {
    out += c;
    ++at_;
    Status status = ScanGroup(out, /*keep_blanks=*/true, std::string(1, Closer(c)));
    if (!status.ok()) return std::move(status).At(start);
  } else {
    while (at_ < text_.size() && (IsNameChar(text_[at_]) || text_[at_] == '+')) ++at_;
    out = text_.substr(begin, at_ - begin);
    if (out.empty()) return InvalidArgument("expected a value").At(start);
  }
  Next();
  return out;
}

Result<std::string> Lexer::TakeUntilBrace() {
  std::string out;
  Status status = ScanGroup(out, /*keep_blanks=*/false, "}");
  if (!status.ok()) return std::move(status).At(token_.location);
  out.pop_back();
  --at_;  // back on the '}', which the group scan took
  Next();
  return out;
}

Result<std::string> Unquote(std::string_view quoted) {
  std::string out;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      out += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    constexpr std::string_view kNames = "abfnrtv\\'\"?";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"?";
    if (const size_t named = kNames.find(c); named != std::string_view::npos) {
      out += kValues[named];
      continue;
    }
    const bool hex = c == 'x' || c == 'X';
    const size_t begin = i + hex;
    const size_t length = std::min<size_t>(hex ? 2 : 3, quoted.size() - 1 - begin);
    int value = 0;
    const auto parsed = std::from_chars(quoted.data() + begin, quoted.data() + begin + length, value, hex ? 16 : 8);
    if (parsed.ec != std::errc() || value < 0 || value > 255)
      return InvalidArgument("bad escape '\\{}' in a string", c);
    out += static_cast<char>(value);
    i = static_cast<size_t>(parsed.ptr - quoted.data()) - 1;
  }
  return out;
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  constexpr std::string_view kValues = "\n\r\t\"'\\", kNames = "nrt\"'\\";
  for (const char c : text) {
    if (const size_t named = kValues.find(c); named != std::string_view::npos) {
      out += {'\\', kNames[named]};
    } else if (c >= ' ' && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

}  // namespace VXLA_NAMESPACE
