// The sources of the shader math keep the form that its readers (C++, the GLSL assembler) rely on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(std::string(SourceDir()) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A file's text; where it includes another one under macros (complex.glsl), with that text in its words.
std::string ReadSource(const std::string& path) {
  static const std::regex suffix(R"(#define (\w+)\(name\) name##(\w+))"), type(R"(#define (COMPLEX|REAL|PART) (\w+))"),
      include("#include \"(.*)\"");
  std::istringstream file(ReadFile(path));
  std::vector<std::pair<std::regex, std::string>> macros;
  std::string line, text;
  while (std::getline(file, line)) {
    std::smatch match;
    if (std::regex_match(line, match, suffix)) {
      macros.emplace_back(std::regex("\\b" + match[1].str() + R"(\((\w+)\))"), "$1" + match[2].str());
    } else if (std::regex_match(line, match, type)) {
      macros.emplace_back(std::regex("\\b" + match[1].str() + "\\b"), match[2].str());
    } else if (std::regex_match(line, match, include)) {
      std::string included = ReadFile(match[1]);
      for (const auto& [macro, words] : macros) included = std::regex_replace(included, macro, words);
      text += included;
    } else if (!line.starts_with("#define ") && !line.starts_with("#undef ")) {
      text += line + "\n";
    }
  }
  return text;
}

std::vector<std::string> SourceFiles() {
  const std::string prelude = ReadFile("shaders/include/math/prelude.glsl");
  constexpr std::string_view kOrder = "// FILE ORDER:";
  std::istringstream lines(prelude);
  std::vector<std::string> files;
  for (std::string line, file; std::getline(lines, line);) {
    if (!line.starts_with(kOrder)) continue;
    for (std::istringstream order(line.substr(kOrder.size())); order >> file;)
      files.push_back("shaders/include/math/" + file);
  }
  return files;
}

// Without what stands in for a device's own division: other bodies of the same functions.
std::string WithoutCorrectedDivision(std::string text) {
  for (size_t begin = text.find("#ifdef VXLA_CORRECT_"); begin != std::string::npos;
       begin = text.find("#ifdef VXLA_CORRECT_", begin)) {
    text.erase(begin, text.find("\n#else", begin) - begin);
  }
  return text;
}

TEST(ShaderMathSourceTest, EveryFunctionHasANameOfItsOwn) {
  const std::regex definition(R"((?:^|\n)FN \w+ (\w+)\()");
  std::set<std::string> seen, emulated;
  for (const std::string& file : SourceFiles()) {
    const std::string text = WithoutCorrectedDivision(ReadSource(file));
    for (std::sregex_iterator it(text.begin(), text.end(), definition), end; it != end; ++it) {
      const std::string name = (*it)[1];
      // The two kinds of 64-bit types have each their own primitives: once in an emulation's file, once elsewhere.
      const bool emulation = file.ends_with("wide_int.glsl") || file.ends_with("soft_double.glsl");
      EXPECT_TRUE((emulation ? emulated : seen).insert(name).second)
          << name << " is defined twice: functions are not overloaded";
    }
  }
  EXPECT_GT(seen.size(), 600u);
}

TEST(ShaderMathSourceTest, ChunksStartAndEndAtColumnZero) {
  for (const std::string& file : SourceFiles()) {
    if (file.ends_with("prelude.glsl") || file.ends_with("types64.glsl")) continue;
    std::istringstream text(ReadSource(file));
    std::string line;
    bool inside = false;
    for (int number = 1; std::getline(text, line); ++number) {
      SCOPED_TRACE(file + ":" + std::to_string(number));
      EXPECT_LE(line.size(), 140u);  // 120 in the file; names built by macros are longer
      if (line.empty() || line.starts_with("//") || line.starts_with("#")) continue;
      if (line == "}" || line == "};") {
        EXPECT_TRUE(inside);
        inside = false;
      } else if (line.starts_with("FN ") || line.starts_with("CONSTARR ")) {
        EXPECT_FALSE(inside);
        inside = true;
      } else {
        EXPECT_TRUE(inside && line.starts_with("  "));
      }
    }
    EXPECT_FALSE(inside) << file;
  }
}

TEST(ShaderMathSourceTest, FloatsOf32BitsNeedNeitherDoubleNorInt64) {
  for (const std::string& file : SourceFiles()) {
    const std::string text = std::regex_replace(ReadFile(file), std::regex("//[^\n]*"), "");
    const bool wide = file.find("64") != std::string::npos || file.find("c128") != std::string::npos ||
                      file.find("wide_int") != std::string::npos || file.find("soft_double") != std::string::npos;
    if ((wide && !file.ends_with("c64.glsl")) || file.ends_with("prelude.glsl")) continue;
    EXPECT_FALSE(std::regex_search(text, std::regex(R"(\bdouble\b|\bD \w+ =|int64_t|[0-9]lf\b)"))) << file;
  }
}

// Devices round their own / and sqrt of floats as they please: only the functions that stand for them use them.
TEST(ShaderMathSourceTest, FloatsAreDividedAndRootedInOnePlace) {
  const std::set<std::string> owners = {
      "quotient_guess_f32", "root_guess_f32", "inverse_middle_f32", "divide_middle_f32", "divide_f32",
      "sqrt_middle_f32",    "sqrt_plain_f32", "rsqrt_f32",          "divide_f64",        "sqrt_plain_f64"};
  // Of integers.
  const std::set<std::string> whole = {"cbrt_f32",   "cbrt_f64",   "cbrt_c64",    "cbrt_c128",
                                       "divide_i32", "divide_u32", "quotient_u64"};
  for (const std::string& file : SourceFiles()) {
    std::istringstream text(ReadSource(file));
    std::string line, function;
    for (int number = 1; std::getline(text, line); ++number) {
      const std::string code = line.substr(0, line.find("//"));
      if (code.starts_with("FN ")) {
        const size_t begin = code.find(' ', 3) + 1;
        function = code.substr(begin, code.find('(') - begin);
      }
      const size_t root = code.find("sqrt(");
      const bool divides = code.find('/') != std::string::npos || (root != std::string::npos && code[root - 1] != '_');
      EXPECT_TRUE(!divides || owners.contains(function) || whole.contains(function))
          << file << ":" << number << ": " << line;
    }
  }
}

// A literal without f is a double in C++ and a float in GLSL: other bits.
TEST(ShaderMathSourceTest, FractionsCarryTheirType) {
  const std::regex bare(R"(\b[0-9]+\.[0-9]+(e[-+]?[0-9]+)?(?![0-9lfe]))");
  for (const std::string& file : SourceFiles()) {
    std::istringstream text(ReadFile(file));
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
      const std::string code = line.substr(0, line.find("//"));
      EXPECT_FALSE(std::regex_search(code, bare)) << file << ":" << number << ": " << line;
    }
  }
}

// Words that GLSL keeps for itself: those of a later version, which are no word of this one, and qualifiers, which
// stand before a type and not behind it. A compiler names them only where a kernel happens to hold them.
constexpr std::string_view kLaterWords =
    "common|partition|active|asm|class|union|enum|typedef|template|this|resource|goto|noinline|public|static|extern|"
    "external|interface|long|short|half|fixed|unsigned|superp|input|output|filter|sizeof|cast|namespace|using";
constexpr std::string_view kQualifiers =
    "flat|smooth|noperspective|centroid|sample|patch|in|out|inout|uniform|buffer|shared|coherent|volatile|restrict|"
    "readonly|writeonly|invariant|precise|varying|attribute|layout|subroutine|highp|mediump|lowp|precision|discard";
constexpr std::string_view kTypes = "u?int|float|bool|double|[iubd]?vec[234]|u?int(?:8|16|64)_t|float16_t";

// Names among the words of shader text; `generated`: pieces of it, in the strings of a C++ file.
std::vector<std::string> ReservedNames(const std::string& text, bool generated) {
  const std::string later(kLaterWords), qualifiers(kQualifiers);
  const std::regex piece(generated ? fmt::format("\\b(?:{}) ({}|{})\\b", kTypes, later, qualifiers)
                                   : fmt::format("\\b({})\\b|\\w ({}) *[=;,)[]", later, qualifiers)),
      comment(R"(//[^\n]*)"), directive(R"((^|\n)#[^\n]*)"), string(R"re("((?:[^"\\\n]|\\.)*)")re");
  std::string read = std::regex_replace(text, comment, "");
  if (generated) {
    std::string strings;
    for (std::sregex_iterator it(read.begin(), read.end(), string), end; it != end; ++it)
      strings += (*it)[1].str() + "\n";
    read = std::move(strings);
  } else {
    read = std::regex_replace(read, directive, "\n");
  }
  std::vector<std::string> names;
  for (std::sregex_iterator it(read.begin(), read.end(), piece), end; it != end; ++it) names.push_back(it->str());
  return names;
}

TEST(ShaderMathSourceTest, NoNameIsAWordThatGlslReserves) {
  const auto count = [](const std::string& text, bool generated) { return ReservedNames(text, generated).size(); };
  EXPECT_EQ(count("uint half = 1u;", false), 1);
  EXPECT_EQ(count("uint f(uint flat) { return 1u; }", false), 1);
  EXPECT_EQ(count("void f(out uint x, in uint y) {}  // half\nlayout(set = 0) buffer Block {};", false), 0);
  EXPECT_EQ(count("text += \"  uint out = {};\\n\";  // uint half", true), 1);
  EXPECT_EQ(count("const unsigned half = 1; text += \"uint x = {};\";", true), 0);
  int files = 0;
  for (const char* folder : {"shaders", "backend/vulkan"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(SourceDir()) + "/" + folder)) {
      const std::string kind = entry.path().extension();
      const bool generated = kind == ".cc";
      if (!generated && kind != ".glsl" && kind != ".comp") continue;
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      for (const std::string& name : ReservedNames(text.str(), generated))
        ADD_FAILURE() << entry.path() << ": " << name;
      ++files;
    }
  }
  EXPECT_GT(files, 100);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
