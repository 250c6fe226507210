// Lexer of HLO text: one token at a time, with the pattern tokens (window sizes, paddings, dimension labels) and the
// raw values ({json}, shardings) taken on request, because only the attribute tells which of them stands there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE {

enum class TokenKind : uint8_t {
  kEnd,
  kError,
  kIdentifier,  // opcodes, types, words, names without '%'
  kName,        // %name; the text is without '%'
  kAttribute,   // name=; the text is without '='
  kLabel,       // name:; the text is without ':'
  kInt,
  kDecimal,
  kString,       // as written, with its quotes
  kPunctuation,  // one character, or "->", "<=", "..."
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  SourceLocation location;
};

class Lexer {
 public:
  // The text must outlive the lexer.
  explicit Lexer(std::string_view text);

  const Token& token() const { return token_; }
  void Next();
  bool At(std::string_view punctuation) const {
    return token_.kind == TokenKind::kPunctuation && token_.text == punctuation;
  }
  bool AtIdentifier(std::string_view word) const {
    return token_.kind == TokenKind::kIdentifier && token_.text == word;
  }
  bool Eat(std::string_view punctuation);
  Status Expect(std::string_view punctuation);
  Result<int64_t> TakeInt(std::string_view what);
  // true, false; 0 and 1 too.
  Result<bool> TakeBool();
  // The string without quotes and escapes.
  Result<std::string> TakeString(std::string_view what);

  // The character after the current token, blanks and comments skipped; '\0' at the end.
  char PeekChar();
  // Replaces the current token by the run of letters, digits, '_' and `extra` characters that follows it.
  Token TakeWordAfter(std::string_view extra);
  // What follows the current token: a bracketed group, a string or a word; blanks become one space, comments go.
  Result<std::string> TakeRawAfter();
  // What follows the current token up to the '}' that closes the group it stands in, without blanks; the '}' becomes
  // the current token.
  Result<std::string> TakeUntilBrace();

  // "expected ..., found ..." at the current token.
  Status Expected(std::string_view what) const;
  // An error at the current token.
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument(format, std::forward<Args>(args)...).At(token_.location);
  }

  size_t remaining() const { return text_.size() - at_; }
  // Values that are not spelled out (bounds of dynamic literals, device lists in iota form) are paid from one budget
  // for the whole text, so that a short text cannot ask for much memory.
  bool Spend(int64_t elements);

 private:
  SourceLocation Here() const;
  void SkipBlanks();
  void NewLine(size_t at) {
    ++line_;
    line_start_ = at + 1;
  }
  void Fail(std::string message);
  void LexNumber();
  void LexIdentifier();
  bool ScanString();
  Status ScanGroup(std::string& out, bool keep_blanks, std::string closers);

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;
  int64_t budget_;
  Token token_;
  std::string error_;
};

// "..." without quotes and with C escapes resolved; and back.
Result<std::string> Unquote(std::string_view quoted);
std::string Quote(std::string_view text);

}  // namespace VXLA_NAMESPACE
