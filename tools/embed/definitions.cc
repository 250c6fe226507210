#include "tools/embed/definitions.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace VXLA_NAMESPACE::embed {
namespace {

// #ifdef NAME or #ifndef NAME of one of the macros; other names (__cplusplus) are not defined, other conditions hold.
bool Holds(std::string_view condition, int variant) {
  constexpr std::pair<std::string_view, int> kMacros[] = {{" VXLA_EMULATE_I64", kEmulateI64},
                                                          {" VXLA_EMULATE_F64", kEmulateF64},
                                                          {" VXLA_CORRECT_F32", kCorrectF32},
                                                          {" VXLA_CORRECT_F64", kCorrectF64}};
  const bool wanted = condition.starts_with("#ifdef ");
  for (const auto& [macro, bit] : kMacros) {
    if (condition.ends_with(macro)) return ((variant & bit) != 0) == wanted;
  }
  return !wanted;
}

void AppendDefinitions(std::string_view text, int variant, std::vector<Definition>* definitions) {
  std::vector<bool> conditions;  // of the #ifdefs around
  while (!text.empty()) {
    const char* begin = text.data();
    const std::string_view line = TakeLine(text);
    if (line.starts_with("#if")) {
      conditions.push_back(Holds(line, variant));
    } else if (line.starts_with("#else")) {
      conditions.back() = !conditions.back();
    } else if (line.starts_with("#endif")) {
      conditions.pop_back();
    }
    if (std::ranges::find(conditions, false) != conditions.end()) continue;
    if (!line.starts_with("FN ") && !line.starts_with("CONSTARR ")) continue;
    const size_t name_end = std::min(line.find_first_of("(["), line.size());
    size_t name_begin = name_end;
    while (name_begin > 0 && IsIdentifierPart(line[name_begin - 1])) --name_begin;
    std::string_view last = line;
    const bool one_line = line.ends_with(';') || (line.find('{') != line.npos && line.ends_with('}'));
    while (!one_line && last != "}" && last != "};" && !text.empty()) last = TakeLine(text);
    definitions->push_back({std::string(line.substr(name_begin, name_end - name_begin)),
                            std::string(begin, static_cast<size_t>(text.data() - begin))});
  }
}

}  // namespace

std::vector<std::string> FilesInOrder(const std::vector<std::string>& files, const ReadFile& read) {
  constexpr std::string_view kOrder = "// FILE ORDER:", kMath = "include/math/";
  std::vector<std::string> ordered;
  const std::string prelude = read("include/math/prelude.glsl");
  for (std::string_view rest = prelude; !rest.empty();) {
    std::string_view line = TakeLine(rest);
    if (!line.starts_with(kOrder)) continue;
    line.remove_prefix(kOrder.size());
    while (!line.empty()) {
      const size_t begin = std::min(line.find_first_not_of(' '), line.size());
      const size_t end = std::min(line.find(' ', begin), line.size());
      if (end > begin) ordered.push_back(std::string(kMath).append(line.substr(begin, end - begin)));
      line.remove_prefix(end);
    }
  }
  for (const std::string& file : files) {
    const bool other = file.starts_with("include/") && !file.starts_with(kMath) && file.ends_with(".glsl");
    if (other) ordered.push_back(file);
  }
  return ordered;
}

std::vector<Definition> DefinitionsOf(const std::vector<std::string>& files_in_order, int variant,
                                      const ReadFile& read) {
  std::vector<Definition> definitions;
  for (const std::string& file : files_in_order) {
    std::string text = Instantiated(read(file), read);
    if ((variant & kEmulateF64) != 0) text = WithLoopsForPolynomials(WithWordsForDoubles(text));
    AppendDefinitions(text, variant, &definitions);
  }
  return definitions;
}

}  // namespace VXLA_NAMESPACE::embed
