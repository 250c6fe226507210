// The kernels of bundles as HLSL, MSL and SPIR-V, which compilers of these languages take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shaderc/shaderc.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing {
namespace kernel_languages_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProduct[] =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[37,41] parameter(0)  w = f32[41,43] parameter(1)  zero = f32[] constant(0)\n"
    "d = f32[37,43] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "ROOT s = f32[37] reduce(d, zero), dimensions={1}, to_apply=sum }";

// The folder with the kernels of the program in this file.
std::string Converted(const std::string& program, const std::string& name, const std::string& language) {
  const std::string bundle = ScratchFolder() + "/" + name + ".vxla",
                    folder = ScratchFolder() + "/" + name + "_" + language;
  const CommandResult compiled = RunVxla("compile " + program + " -o " + bundle + " --bindings descriptors");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult converted = RunVxla("convert " + bundle + " " + folder + " --to " + language);
  EXPECT_EQ(converted.exit_code, 0) << converted.err;
  return folder;
}

// glslang reads HLSL: what SPIRV-Cross wrote has to compile.
bool IsHlsl(const std::string& text) {
  shaderc_compiler_t compiler = shaderc_compiler_initialize();
  shaderc_compile_options_t options = shaderc_compile_options_initialize();
  shaderc_compile_options_set_source_language(options, shaderc_source_language_hlsl);
  shaderc_compilation_result_t result = shaderc_compile_into_spv(
      compiler, text.data(), text.size(), shaderc_compute_shader, "kernel.hlsl", "main", options);
  const bool good = shaderc_result_get_compilation_status(result) == shaderc_compilation_status_success;
  EXPECT_TRUE(good) << shaderc_result_get_error_message(result);
  shaderc_result_release(result);
  shaderc_compile_options_release(options);
  shaderc_compiler_release(compiler);
  return good;
}

// A C++ compiler reads MSL, which is C++ but for its library (tests/support/metal) and the type of its literals.
std::string ComplaintsAboutMsl(std::string text, const std::string& name) {
  // Its operators differ by address space alone; the library has it without.
  if (const size_t begin = text.find("template<typename T, size_t Num>\nstruct spvUnsafeArray"); begin != text.npos)
    text.erase(begin, text.find("\n};\n", begin) + 4 - begin);
  static const auto* literal = new std::regex(R"(\b(\d+\.\d+(e[-+]?\d+)?)(?![\dfh]))");
  const std::string source = WriteScratch(name + ".cc", std::regex_replace(text, *literal, "$1f"));
  const CommandResult result = RunShell("'" VXLA_CXX "' -std=c++20 -fsyntax-only -w -isystem '" +
                                        std::string(SourceDir()) + "/tests/support/metal' " + source);
  return result.exit_code == 0 ? "" : result.err + "?";
}

TEST(KernelLanguagesTest, KernelsBecomeHlslMslAndSpirv) {
  const std::string program = WriteScratch("product.hlo", kProduct);
  for (const auto& [language, file] :
       {std::pair("hlsl", "kernel_0.hlsl"), std::pair("msl", "kernel_0.metal"), std::pair("spirv", "kernel_0.spv")}) {
    const std::string folder = Converted(program, "product", language);
    const auto listed = nlohmann::json::parse(ReadScratch(folder + "/program.json"));
    EXPECT_EQ(listed["kernels"][0]["file"], file);
    ASSERT_EQ(listed["steps"].size(), 2u);
    EXPECT_EQ(listed["steps"][0]["bindings"].size(), 3u);
    EXPECT_EQ(listed["arguments"][1]["shape"], "f32[41,43]");
    EXPECT_FALSE(ReadScratch(folder + "/" + file).empty());
  }
}

// SPIRV-Cross calls umulExtended in HLSL, which has no such function.
TEST(KernelLanguagesTest, ProductsOfTwoWordsBecomeHlsl) {
  const std::string program =
      WriteScratch("sine.hlo", "ENTRY e { x = f32[41] parameter(0)  ROOT s = f32[41] sine(x) }");
  const std::string text = ReadScratch(Converted(program, "sine", "hlsl") + "/kernel_0.hlsl");
  EXPECT_THAT(text, HasSubstr("umulExtended("));
  EXPECT_TRUE(IsHlsl(text));
}

// Of two sums in a row, the first of two values: glslang crashed on "Acc_1 sums[1] = { sum };".
TEST(KernelLanguagesTest, SumsOfRowsInARowBecomeHlsl) {
  const std::string program = WriteScratch(
      "rows.hlo",
      "HloModule m\nsum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e { x = f32[64,256] parameter(0)  y = f32[64,256] parameter(1)  o = f32[] constant(0)\n"
      "p = f32[64,256] multiply(x, y)  s = f32[64] reduce(x, o), dimensions={1}, to_apply=sum\n"
      "t = f32[64] reduce(p, o), dimensions={1}, to_apply=sum  d = f32[64] subtract(s, t)\n"
      "b = f32[64,256] broadcast(d), dimensions={0}  z = f32[64,256] add(x, b)  q = f32[64,256] multiply(z, y)\n"
      "u = f32[64] reduce(q, o), dimensions={1}, to_apply=sum  c = f32[64,256] broadcast(u), dimensions={0}\n"
      "ROOT r = f32[64,256] multiply(z, c) }");
  const std::string text = ReadScratch(Converted(program, "rows", "hlsl") + "/kernel_0.hlsl");
  EXPECT_THAT(text, Not(HasSubstr("[1] = {"))) << "no array of one struct, on whose list Debian's glslang crashes";
  EXPECT_TRUE(IsHlsl(text));
}

// Loops, gathers, transforms, products, images' bytes, live sizes, a training step.
TEST(KernelLanguagesTest, CompilersTakeTheKernelsOfWholePrograms) {
  int kernels = 0;
  for (const std::string file :
       {"examples/fluid/small.hlo", "examples/mandelbrot/small.hlo", "examples/digits_mlp/train_step.hlo",
        "examples/renderer/denoise_96.mlir", "tests/c_api/dynamic.hlo", "tests/c_api/image.hlo"}) {
    const std::string program = std::string(SourceDir()) + "/" + file, name = std::filesystem::path(file).stem();
    const std::string hlsl = Converted(program, name, "hlsl"), msl = Converted(program, name, "msl");
    const auto listed = nlohmann::json::parse(ReadScratch(msl + "/program.json"));
    for (size_t i = 0; i < listed["kernels"].size(); ++i, ++kernels) {
      const std::string kernel = "/kernel_" + std::to_string(i);
      EXPECT_TRUE(IsHlsl(ReadScratch(hlsl + kernel + ".hlsl"))) << hlsl << kernel;
      const std::string text = ReadScratch(msl + kernel + ".metal");
      EXPECT_EQ(ComplaintsAboutMsl(text, name + "_" + std::to_string(i)), "") << msl << kernel;
      // The check sees a name that Metal has not.
      if (i > 0) continue;
      EXPECT_NE(ComplaintsAboutMsl(text + "\nuint wrong = umulExtended(1u);\n", "wrong"), "");
    }
  }
  EXPECT_GT(kernels, 30);
}

}  // namespace kernel_languages_test
}  // namespace VXLA_NAMESPACE::testing
