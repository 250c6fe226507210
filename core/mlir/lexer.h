// Lexer of MLIR text. Tensor dimensions and the elements of dense<...> are taken raw: only the parser knows that they
// stand there.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace VXLA_NAMESPACE::mlir {

enum class TokenKind : uint8_t {
  kEnd,
  kError,
  kWord,    // bare identifiers and keywords, with dots: stablehlo.add
  kValue,   // %name; the text is without '%'
  kSymbol,  // @name or @"name"; the text is without '@'
  kHash,    // #name, and #1 after a value; without '#'
  kBang,    // !name; without '!'
  kCaret,   // ^bb0; without '^'
  kInt,     // with its sign; hexadecimal too
  kDecimal,
  kString,       // as written, with its quotes
  kPunctuation,  // one character, or "->", "::", "...", "{-#", "#-}"
};

struct MlirToken {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  size_t offset = 0;
};

class MlirLexer {
 public:
  // The text must outlive the lexer.
  explicit MlirLexer(std::string_view text, int first_line = 1);

  const MlirToken& token() const { return token_; }
  void Next();
  bool At(std::string_view punctuation) const {
    return token_.kind == TokenKind::kPunctuation && token_.text == punctuation;
  }
  bool AtWord(std::string_view word) const { return token_.kind == TokenKind::kWord && token_.text == word; }
  bool Eat(std::string_view punctuation);
  bool EatWord(std::string_view word);
  Status Expect(std::string_view punctuation);
  Status ExpectWord(std::string_view word);
  Result<int64_t> TakeInt(std::string_view what);
  Result<std::string> TakeString(std::string_view what);

  // Where the current token ends, and what the text is from there on.
  size_t position() const { return at_; }
  std::string_view text() const { return text_; }
  // Goes on at `position`, with the token there.
  void Seek(size_t position);
  // The text of a group in brackets of any kind that the current token opens, brackets included; the token after it
  // becomes the current one.
  Result<std::string> TakeGroup();

  Status Expected(std::string_view what) const;
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument(format, std::forward<Args>(args)...).At(LocationOf(token_.offset));
  }
  // Cheap for offsets that grow.
  SourceLocation LocationOf(size_t offset) const;

 private:
  void Fail(std::string message);
  void SkipBlanks();
  void LexNumber();
  void LexName(TokenKind kind, size_t start);
  void LexString(TokenKind kind, size_t start);

  std::string_view text_;
  size_t at_ = 0;
  MlirToken token_;
  std::string error_;
  int first_line_;
  mutable size_t line_offset_ = 0;  // where the line that was asked for last begins
  mutable int line_ = 1;
};

// "..." without quotes, with MLIR's escapes (\n, \t, \", \\, \1f) resolved; and back.
Result<std::string> UnquoteMlir(std::string_view quoted);
std::string QuoteMlir(std::string_view text);

}  // namespace VXLA_NAMESPACE::mlir
