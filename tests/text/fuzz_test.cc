// Mutants of valid programs: whatever they say, the parser answers, and what parses prints and parses back.
#include <random>

#include "core/text/lexer.h"
#include "tests/text/opcode_programs.h"
#include "tests/text/text_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int kMutants = 10000;

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& programs) : programs_(programs) {
    for (const std::string& program : programs) {
      std::vector<Written> tokens;
      Lexer lexer(program);
      for (; lexer.token().kind != TokenKind::kEnd; lexer.Next()) tokens.push_back(Write(lexer.token()));
      all_tokens_.insert(all_tokens_.end(), tokens.begin(), tokens.end());
      token_lists_.push_back(std::move(tokens));
    }
  }

  std::string MutateBytes() {
    std::string text = programs_[Below(programs_.size())];
    constexpr std::string_view kBytes = "{}()[],=:%\"'-.0123456789x_<>*?#/ \nabfT\\";
    // The shared computations at the top are the same in all programs: most edits go below them.
    const size_t entry = Below(4) == 0 ? 0 : text.find("ENTRY");
    for (size_t edits = 1 + Below(3); edits > 0 && text.size() > entry; --edits) {
      const size_t at = entry + Below(text.size() - entry);
      switch (Below(5)) {
        case 0:
          text[at] = kBytes[Below(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1 + Below(8));
          break;
        case 2:
          text.insert(at, 1, kBytes[Below(kBytes.size())]);
          break;
        case 3:
          text.insert(at, text.substr(Below(text.size()), Below(40)));
          break;
        default:
          text[at] = static_cast<char>(Below(256));
      }
    }
    return text;
  }

  std::string MutateTokens() {
    std::vector<Written> tokens = token_lists_[Below(token_lists_.size())];
    size_t entry = 0;
    if (Below(4) != 0) {
      while (tokens[entry].text != "ENTRY") ++entry;
    }
    for (size_t edits = 1 + Below(2); edits > 0 && tokens.size() > entry + 2; --edits) {
      const size_t at = entry + Below(tokens.size() - entry);
      const size_t other = entry + Below(tokens.size() - entry);
      const Written any = all_tokens_[Below(all_tokens_.size())];
      switch (Below(12)) {
        case 0:
          tokens[at] = any;
          break;
        case 1:
          tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 2:
          tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), any);
          break;
        case 3:
          std::swap(tokens[at], tokens[other]);
          break;
        case 4:
          tokens[at].text = Number();
          break;
        default:
          ReplaceAlike(tokens, at);
      }
    }
    std::string text;
    for (const Written& token : tokens) text += token.text + " ";
    return text;
  }

 private:
  struct Written {
    TokenKind kind;
    std::string text;
  };
  static Written Write(const Token& token) {
    if (token.kind == TokenKind::kName) return {token.kind, fmt::format("%{}", token.text)};
    if (token.kind == TokenKind::kAttribute) return {token.kind, fmt::format("{}=", token.text)};
    if (token.kind == TokenKind::kLabel) return {token.kind, fmt::format("{}:", token.text)};
    return {token.kind, std::string(token.text)};
  }
  // What a token stands for, so that a mutant can say something else of the same sort and get past the grammar.
  static int SortOf(const Written& token) {
    if (ParseOpcode(token.text)) return 100;
    if (ParseElementType(token.text)) return 101;
    return static_cast<int>(token.kind);
  }
  void ReplaceAlike(std::vector<Written>& tokens, size_t at) {
    while (at < tokens.size() && tokens[at].kind == TokenKind::kPunctuation) ++at;
    if (at == tokens.size()) return;
    if (tokens[at].kind == TokenKind::kInt) {
      tokens[at].text = Below(4) == 0 ? Number() : fmt::format("{}", Below(9));
      return;
    }
    // Names of this program, but opcodes, types and attributes of any.
    const bool name = tokens[at].kind == TokenKind::kIdentifier && SortOf(tokens[at]) < 100;
    for (int tries = 0; tries < 50; ++tries) {
      const Written& other = name ? tokens[Below(tokens.size())] : all_tokens_[Below(all_tokens_.size())];
      if (SortOf(other) != SortOf(tokens[at])) continue;
      tokens[at] = other;
      return;
    }
  }
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  std::string Number() {
    constexpr std::string_view kNumbers[] = {"0",
                                             "-1",
                                             "1",
                                             "2",
                                             "7",
                                             "9223372036854775807",
                                             "-9223372036854775808",
                                             "4294967296",
                                             "1000000",
                                             "99999999999999999999",
                                             "1e400",
                                             "nan",
                                             "-inf",
                                             "0.5"};
    return std::string(kNumbers[Below(std::size(kNumbers))]);
  }

  const std::vector<std::string>& programs_;
  std::vector<std::vector<Written>> token_lists_;
  std::vector<Written> all_tokens_;
  std::mt19937_64 random_{20};
};

TEST(FuzzTest, MutantsParseOrFailWithAPlace) {
  const std::vector<std::string> programs = OpcodePrograms();
  Mutator mutator(programs);
  int parsed_bytes = 0, parsed_tokens = 0;
  for (int i = 0; i < kMutants; ++i) {
    const bool tokens = i % 2 == 1;
    const std::string text = tokens ? mutator.MutateTokens() : mutator.MutateBytes();
    const Result<std::unique_ptr<Module>> module = ParseHlo(text);
    if (!module.ok()) {
      const Status& status = module.status();
      ASSERT_EQ(status.code() == StatusCode::kInternal, false) << status.message() << "\n" << text;
      ASSERT_FALSE(status.message().empty());
      ASSERT_TRUE(status.location().line > 0 || status.message().starts_with("not HLO text"))
          << status.message() << "\n"
          << text;
      continue;
    }
    ++(tokens ? parsed_tokens : parsed_bytes);
    const std::string printed = PrintHlo(**module);
    const Result<std::unique_ptr<Module>> again = ParseHlo(printed);
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << text << "\n" << printed;
    std::string difference;
    ASSERT_TRUE(Equal(**module, **again, &difference)) << difference << "\n" << text << "\n" << printed;
  }
  fmt::print("{} mutants: {:.1f} % of the byte-level and {:.1f} % of the token-level ones parse\n", kMutants,
             200.0 * parsed_bytes / kMutants, 200.0 * parsed_tokens / kMutants);
  EXPECT_GT(parsed_tokens, 0);
}

TEST(FuzzTest, EveryPrefixFailsOrParses) {
  for (const std::string& program : OpcodePrograms()) {
    const size_t body = program.find("ENTRY");
    for (size_t length = body; length < program.size(); length += 3) {
      const auto module = ParseHlo(std::string_view(program).substr(0, length));
      const bool internal = !module.ok() && module.status().code() == StatusCode::kInternal;
      EXPECT_FALSE(internal) << program.substr(0, length);
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
