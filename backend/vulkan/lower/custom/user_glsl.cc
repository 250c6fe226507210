#include "backend/vulkan/lower/custom/user_glsl.h"

#include <algorithm>
#include <cctype>

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string_view TakeWord(std::string_view& text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  size_t size = 0;
  while (size < text.size() && IsWordPart(text[size])) ++size;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  return word;
}

// Blanks for comments; lines stay lines.
std::string WithoutComments(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] != '/' || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
    const bool line = out[i + 1] == '/';
    const size_t found = line ? out.find('\n', i) : out.find("*/", i + 2);
    const size_t end = found == std::string::npos ? out.size() : line ? found : found + 2;
    for (; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    --i;
  }
  return out;
}

// Where `word` stands as a word of its own, from `at` on.
size_t FindWord(std::string_view text, std::string_view word, size_t at) {
  for (at = text.find(word, at); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !IsWordPart(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !IsWordPart(text[at + word.size()]);
    if (begins && ends) return at;
  }
  return at;
}

// Before each brace that opens a block of the file: `name(...)`.
std::vector<std::string> FunctionsOf(std::string_view text) {
  std::vector<std::string> names;
  int depth = 0;
  for (size_t brace = 0; brace < text.size(); ++brace) {
    if (text[brace] == '}') --depth;
    if (text[brace] != '{' || depth++ != 0) continue;
    size_t at = brace;
    while (at > 0 && IsSpace(text[at - 1])) --at;
    if (at == 0 || text[at - 1] != ')') continue;
    int open = 0;
    while (at > 0) {
      open += (text[at - 1] == ')') - (text[at - 1] == '(');
      --at;
      if (open == 0 || text[at] == ';' || text[at] == '{' || text[at] == '}') break;
    }
    while (at > 0 && IsSpace(text[at - 1])) --at;
    const size_t end = at;
    while (at > 0 && IsWordPart(text[at - 1])) --at;
    const std::string name(text.substr(at, end - at));
    const bool own = !name.empty() && name != "main" && name != "vxla_element" && !std::ranges::count(names, name);
    if (own) names.push_back(name);
  }
  return names;
}

// "layout(local_size_x = 8, local_size_y = 8) in;" becomes blanks.
void TakeLayout(const std::string& plain, UserGlsl& glsl) {
  for (size_t at = FindWord(plain, "layout", 0); at != std::string::npos; at = FindWord(plain, "layout", at + 1)) {
    const size_t open = plain.find('(', at), close = plain.find(')', at), end = plain.find(';', at);
    if (close == std::string::npos || end == std::string::npos) return;
    if (open > close || close > end) continue;
    if (Trimmed(std::string_view(plain).substr(close + 1, end - close - 1)) != "in") continue;
    std::array<std::string, 3> size{"1", "1", "1"};
    for (const std::string& part : SplitAtCommas(std::string_view(plain).substr(open + 1, close - open - 1))) {
      const size_t equals = part.find('=');
      const std::string name = Trimmed(part.substr(0, equals));
      if (equals == std::string::npos || name.size() != 12 || !name.starts_with("local_size_")) return;
      if (name[11] < 'x' || name[11] > 'z') return;
      size[static_cast<size_t>(name[11] - 'x')] = Trimmed(part.substr(equals + 1));
    }
    glsl.local_size = size;
    for (size_t i = at; i <= end; ++i) {
      if (glsl.text[i] != '\n') glsl.text[i] = ' ';
    }
    return;
  }
}

}  // namespace

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = Trimmed(part);
  return parts;
}

Status ReadRule(std::string_view said, UserGlsl& glsl) {
  const std::string whole = Trimmed(said);
  const std::string word(TakeWord(said));
  const std::string rest = Trimmed(said);
  const bool known = (word == "local_size" || word == "groups" || word == "shape") && rest.size() >= 2 &&
                     rest.front() == '(' && rest.back() == ')';
  if (!known) {
    return InvalidArgument("#pragma vxla {}: local_size(x, y, z), groups(x, y, z) or shape(a == b, ...) is needed",
                           whole);
  }
  const std::vector<std::string> values = SplitAtCommas(std::string_view(rest).substr(1, rest.size() - 2));
  if (word == "shape") {
    glsl.shape.insert(glsl.shape.end(), values.begin(), values.end());
    return OkStatus();
  }
  if (values.size() > 3) return InvalidArgument("#pragma vxla {}: {} values, 1 to 3 are needed", whole, values.size());
  if (word == "groups") {
    glsl.groups = values;
    return OkStatus();
  }
  glsl.local_size = {"1", "1", "1"};
  std::ranges::copy(values, glsl.local_size->begin());
  return OkStatus();
}

Result<UserGlsl> ReadUserGlsl(std::string_view text) {
  UserGlsl glsl;
  glsl.text = text;
  const std::string plain = WithoutComments(text);
  for (size_t begin = 0; begin < plain.size();) {
    const size_t end = std::min(plain.find('\n', begin), plain.size());
    std::string_view line = std::string_view(plain).substr(begin, end - begin);
    const std::string trimmed = Trimmed(line);
    if (trimmed.starts_with('#')) {
      line = std::string_view(trimmed).substr(1);
      const std::string_view directive = TakeWord(line);
      glsl.whole |= directive == "version";
      if (directive == "pragma" && TakeWord(line) == "vxla") VXLA_RETURN_IF_ERROR(ReadRule(line, glsl));
      if (directive == "extension") {
        glsl.extensions += trimmed + "\n";
        std::fill(glsl.text.begin() + static_cast<ptrdiff_t>(begin), glsl.text.begin() + static_cast<ptrdiff_t>(end),
                  ' ');
      }
    }
    begin = end + 1;
  }
  glsl.by_element = FindWord(plain, "vxla_element", 0) != std::string::npos;
  glsl.has_main = FindWord(plain, "main", 0) != std::string::npos;
  glsl.functions = FunctionsOf(plain);
  TakeLayout(plain, glsl);
  return glsl;
}

}  // namespace VXLA_NAMESPACE::vulkan
