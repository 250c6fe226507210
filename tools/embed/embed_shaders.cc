// embed_shaders SHADERS OUTPUT: writes a C++ file that holds what kernels are put together from (shader_library.h): the
// algorithms of SHADERS, what stands before every kernel, and the functions of SHADERS/include with what each uses.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "tools/embed/definitions.h"

namespace VXLA_NAMESPACE::embed {
namespace {

namespace fs = std::filesystem;

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

std::vector<std::string> FilesBelow(const fs::path& root) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".glsl" && extension != ".comp") continue;
    files.push_back(fs::relative(entry.path(), root).generic_string());
  }
  std::ranges::sort(files);
  return files;
}

// A C++ literal, a line of text to a line.
std::string Quoted(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    out += "\n  \"";
    for (const char c : text.substr(0, length)) {
      if (c == '\n') {
        out += "\\n";
      } else if (c == '"' || c == '\\') {
        out += {'\\', c};
      } else if (c < ' ' || c > '~') {
        out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
    out += '"';
    text.remove_prefix(length);
  }
  // A literal that knows its length: compilers count so much text too slowly, or refuse to.
  return (out.empty() ? "\"\"" : out) + "sv";
}

// An algorithm's text, cut where the generated hooks stand, with the files of its folder that it includes.
std::vector<std::string> PiecesOf(const std::string& text, const ReadFile& read) {
  constexpr std::string_view kGenerated = "#include \"generated\"", kFile = "#include \"shaders/";
  std::vector<std::string> pieces(1);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    if (line == kGenerated) {
      pieces.emplace_back();
    } else if (line.starts_with(kFile)) {
      pieces.back() += read(std::string(line.substr(kFile.size(), line.rfind('"') - kFile.size())));
    } else if (line.starts_with("#include")) {
      throw std::runtime_error(fmt::format("{}: an algorithm includes \"generated\" and files of shaders/", line));
    } else {
      pieces.back().append(line).push_back('\n');
    }
  }
  return pieces;
}

std::string AlgorithmsText(const std::vector<std::string>& files, const ReadFile& read) {
  std::string pieces, algorithms;
  int count = 0;
  for (const std::string& file : files) {
    if (!file.ends_with(".comp")) continue;
    const int first = count;
    for (const std::string& piece : PiecesOf(read(file), read)) pieces += Quoted(piece) + ",\n", ++count;
    algorithms += fmt::format("    {{\"{}\", {{kPieces + {}, {}}}}},\n", file, first, count - first);
  }
  return fmt::format(
      "constexpr std::string_view kPieces[] = {{{}}};\nconstexpr ShaderAlgorithm kAlgorithms[] = {{\n{}}};\n", pieces,
      algorithms);
}

// All variants' definitions, each different one once; a variant is a list of their numbers.
struct Pool {
  std::vector<Definition> definitions;
  std::vector<std::vector<size_t>> variants;
};

Pool PoolOf(const std::vector<std::string>& files, const ReadFile& read) {
  Pool pool;
  std::map<std::pair<std::string, std::string>, size_t> known;
  const std::vector<std::string> ordered = FilesInOrder(files, read);
  for (int variant = 0; variant < kVariants; ++variant) {
    std::vector<size_t>& numbers = pool.variants.emplace_back();
    for (Definition& definition : DefinitionsOf(ordered, variant, read)) {
      const auto [found, fresh] = known.emplace(std::pair(definition.name, definition.text), pool.definitions.size());
      if (fresh) pool.definitions.push_back(std::move(definition));
      numbers.push_back(found->second);
    }
  }
  return pool;
}

// The names of definitions that a definition's text has in it, each once.
std::vector<std::string> UsesOf(const Definition& definition, const std::set<std::string, std::less<>>& names) {
  std::vector<std::string> uses;
  ForEachIdentifier(definition.text, [&](std::string_view identifier) {
    if (identifier == definition.name || !names.contains(identifier)) return;
    if (std::ranges::find(uses, identifier) == uses.end()) uses.emplace_back(identifier);
  });
  return uses;
}

std::string DefinitionsText(const Pool& pool) {
  std::set<std::string, std::less<>> names;
  for (const Definition& definition : pool.definitions) names.insert(definition.name);
  std::string uses, definitions, variants, table;
  size_t used = 0;
  for (const Definition& definition : pool.definitions) {
    const std::vector<std::string> mine = UsesOf(definition, names);
    for (const std::string& name : mine) uses += fmt::format("\"{}\",\n", name);
    definitions += fmt::format("    {{\"{}\",{},\n     {{kUses + {}, {}}}}},\n", definition.name,
                               Quoted(definition.text), used, mine.size());
    used += mine.size();
  }
  for (size_t v = 0; v < pool.variants.size(); ++v) {
    variants += fmt::format("constexpr uint16_t kVariant{}[] = {{{}}};\n", v, fmt::join(pool.variants[v], ","));
    table += fmt::format("kVariant{}, ", v);
  }
  return fmt::format(
      "constexpr std::string_view kUses[] = {{{}\"\"}};\nconstexpr ShaderDefinition kDefinitions[] = {{\n{}}};\n{}"
      "constexpr std::span<const uint16_t> kVariants[] = {{{}}};\n",
      uses, definitions, variants, table);
}

void Write(const fs::path& root, const fs::path& output) {
  const ReadFile read = [&](const std::string& path) { return ReadWhole(root / path); };
  const std::vector<std::string> files = FilesBelow(root);
  std::string head;
  for (const char* file : {"include/math/prelude.glsl", "include/math/types64.glsl", "include/access.glsl"}) {
    head += WithoutComments(read(file));
  }
  std::ofstream file(output, std::ios::binary);
  file << "// Made from shaders/ by tools/embed.\n#include \"backend/vulkan/shader/shader_library.h\"\n\n"
       << "namespace VXLA_NAMESPACE::vulkan {\nnamespace {\n\nusing namespace std::string_view_literals;\n\n"
       << "constexpr std::string_view kHead =" << Quoted(head) << ";\n\n"
       << AlgorithmsText(files, read) << "\n"
       << DefinitionsText(PoolOf(files, read))
       << "\n}  // namespace\n\nextern const ShaderLibrary kShaderLibrary = {kHead, kAlgorithms, kDefinitions, "
          "kVariants};"
          "\n\n}  // namespace vxla::vulkan\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + output.string());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::embed

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: embed_shaders SHADERS OUTPUT\n";
    return 2;
  }
  try {
    vxla::embed::Write(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << "embed_shaders: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
