#include "backend/vulkan/shader/shader_compiler.h"

#include <glslang/build_info.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <shaderc/shaderc.hpp>
#include <spirv-tools/optimizer.hpp>

#include "backend/vulkan/spirv/float_modes.h"
#include "backend/vulkan/spirv/inline_functions.h"
#include "backend/vulkan/spirv/no_contraction.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int kLinesAround = 3;
constexpr size_t kMostComplaints = 5;

// Optimisation level zero: the optimiser takes 200 times as long on unrolled kernels and forms fused multiply-adds,
// which changes bits. Drivers optimise for themselves.
shaderc::CompileOptions Options(const CompileTarget& target) {
  shaderc::CompileOptions options;
  options.SetSourceLanguage(shaderc_source_language_glsl);
  options.SetOptimizationLevel(shaderc_optimization_level_zero);
  options.SetTargetEnvironment(shaderc_target_env_vulkan,
                               target.spirv_1_6 ? shaderc_env_version_vulkan_1_3 : shaderc_env_version_vulkan_1_1);
  options.SetTargetSpirv(target.spirv_1_6 ? shaderc_spirv_version_1_6 : shaderc_spirv_version_1_3);
  return options;
}

const shaderc::Compiler& TheCompiler() {
  // Never destroyed: a thread may still compile while the process exits.
  static const auto* compiler = new shaderc::Compiler();
  return *compiler;
}

// The number in "name:12: error: ..." or 0.
int LineOfComplaint(std::string_view complaint) {
  for (size_t colon = complaint.find(':'); colon != std::string_view::npos; colon = complaint.find(':', colon + 1)) {
    int line = 0;
    size_t at = colon + 1;
    while (at < complaint.size() && std::isdigit(static_cast<unsigned char>(complaint[at])) && line < 10'000'000) {
      line = line * 10 + (complaint[at++] - '0');
    }
    if (at > colon + 1 && at < complaint.size() && complaint[at] == ':') return line;
  }
  return 0;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string SourceAround(std::string_view text, std::string_view log) {
  const std::vector<std::string_view> lines = Lines(text);
  std::set<int> wanted, complained;
  for (std::string_view complaint : Lines(log)) {
    const int line = LineOfComplaint(complaint);
    if (line <= 0 || line > static_cast<int>(lines.size()) || complained.size() >= kMostComplaints) continue;
    complained.insert(line);
    for (int each = std::max(1, line - kLinesAround); each <= std::min<int>(lines.size(), line + kLinesAround);
         ++each) {
      wanted.insert(each);
    }
  }
  std::string shown;
  int previous = 0;
  for (int line : wanted) {
    if (previous != 0 && line != previous + 1) shown += "      ...\n";
    shown += fmt::format("{} {:4} {}\n", complained.count(line) ? '>' : ' ', line, lines[line - 1]);
    previous = line;
  }
  return shown;
}

std::string WhyItDoesNotCompile(std::string_view text, std::string_view log) {
  // shaderc catches what glslang throws and says nothing: of all that it throws, only a lack of memory is usual.
  if (log.empty()) return "the compiler gave no reason, as where memory runs out\n";
  return std::string(log) + SourceAround(text, log);
}

Result<std::vector<uint32_t>> CompileGlsl(std::string_view text, const std::string& name, const CompileTarget& target,
                                          std::string_view shown) {
  try {
    const shaderc::SpvCompilationResult result = TheCompiler().CompileGlslToSpv(
        text.data(), text.size(), shaderc_compute_shader, name.c_str(), "main", Options(target));
    if (result.GetCompilationStatus() == shaderc_compilation_status_success) {
      return spirv::WithFloatModesOf(text, std::vector<uint32_t>(result.cbegin(), result.cend()));
    }
    const std::string log = result.GetErrorMessage();
    return Internal("kernel {} does not compile:\n{}", name, WhyItDoesNotCompile(shown.empty() ? text : shown, log));
  } catch (const std::exception& error) {
    return Internal("kernel {}: the shader compiler failed: {}", name, error.what());
  }
}

namespace {

using Passes = std::vector<std::string>;

Passes operator+(Passes passes, const Passes& more) {
  passes.insert(passes.end(), more.begin(), more.end());
  return passes;
}

// The optimiser's own list for performance, in two parts, both of which take variables apart and away.
const Passes kWithoutVariables = {"--scalar-replacement=100",         "--convert-local-access-chains",
                                  "--eliminate-local-single-block",   "--eliminate-local-single-store",
                                  "--eliminate-dead-code-aggressive", "--ssa-rewrite",
                                  "--eliminate-dead-code-aggressive"};
const Passes kUnrollingPasses = Passes{"--eliminate-dead-branches",        "--merge-return",
                                       "--inline-entry-points-exhaustive", "--eliminate-dead-functions",
                                       "--eliminate-dead-code-aggressive", "--private-to-local",
                                       "--eliminate-local-single-block",   "--eliminate-local-single-store",
                                       "--eliminate-dead-code-aggressive"} +
                                kWithoutVariables +
                                Passes{"--ccp", "--eliminate-dead-code-aggressive", "--loop-unroll"};
const Passes kSimplifyingPasses = Passes{"--eliminate-dead-branches", "--redundancy-elimination",
                                         "--combine-access-chains", "--simplify-instructions"} +
                                  kWithoutVariables + Passes{"--vector-dce",
                                                             "--eliminate-dead-inserts",
                                                             "--eliminate-dead-branches",
                                                             "--simplify-instructions",
                                                             "--if-conversion",
                                                             "--copy-propagate-arrays",
                                                             "--reduce-load-size",
                                                             "--eliminate-dead-code-aggressive",
                                                             "--merge-blocks",
                                                             "--redundancy-elimination",
                                                             "--eliminate-dead-branches",
                                                             "--merge-blocks",
                                                             "--simplify-instructions"};
const Passes kPassesWithoutCalls = {"--inline-entry-points-exhaustive", "--eliminate-dead-functions",
                                    "--convert-local-access-chains",    "--eliminate-local-single-block",
                                    "--eliminate-local-single-store",   "--ssa-rewrite",
                                    "--eliminate-dead-code-aggressive", "--if-conversion",
                                    "--eliminate-dead-code-aggressive"};

bool HasLoopToUnroll(const std::vector<uint32_t>& words) {
  return std::ranges::any_of(spirv::Read(words), [](const spirv::Instruction& instruction) {
    return instruction.op() == spirv::OpLoopMerge && (instruction.words[3] & 1u) != 0;
  });
}

std::vector<uint32_t> WithPasses(std::vector<uint32_t> words, const CompileTarget& target, const Passes& passes) {
  spvtools::Optimizer optimizer(target.spirv_1_6 ? SPV_ENV_VULKAN_1_3 : SPV_ENV_VULKAN_1_1);
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  // Most passes leave modules alone that name an extension which they do not know, such as these, which say what
  // SPIR-V 1.5 has without them: they do not see it.
  static const auto* core = new spirv::Instructions{spirv::ExtensionNamed("SPV_KHR_physical_storage_buffer"),
                                                    spirv::ExtensionNamed(spirv::kFloatControls)};
  spirv::Instructions instructions = spirv::Read(words), hidden;
  std::erase_if(instructions, [&](const spirv::Instruction& instruction) {
    if (std::ranges::find(*core, instruction) == core->end()) return false;
    hidden.push_back(instruction);
    return true;
  });
  if (!hidden.empty()) words = spirv::ModuleOf(words, instructions);
  std::vector<uint32_t> simpler;
  if (optimizer.RegisterPassesFromFlags(passes) && optimizer.Run(words.data(), words.size(), &simpler, options))
    words = std::move(simpler);
  if (hidden.empty()) return words;
  instructions = spirv::Read(words);
  const auto behind_capabilities = std::ranges::find_if(
      instructions, [](const spirv::Instruction& instruction) { return instruction.op() != spirv::OpCapability; });
  instructions.insert(behind_capabilities, hidden.begin(), hidden.end());
  return spirv::ModuleOf(words, instructions);
}

}  // namespace

std::vector<uint32_t> WithoutCalls(std::vector<uint32_t> words, const CompileTarget& target) {
  return WithPasses(spirv::InlineStraightFunctions(words), target, kPassesWithoutCalls);
}

std::vector<uint32_t> Optimized(std::vector<uint32_t> words, const CompileTarget& target) {
  // The copies of an unrolled loop's body lack the decoration, which what follows heeds: without it, it makes
  // fused multiply-adds.
  auto unrolled_and_simplified = [&](const Passes& unrolling) {
    words = WithPasses(spirv::WithoutContraction(WithPasses(std::move(words), target, unrolling)), target,
                       kSimplifyingPasses);
  };
  unrolled_and_simplified(kUnrollingPasses);
  // A loop around others is left, the arrays that it indexes with it: drivers would unroll it, and begin again.
  if (HasLoopToUnroll(words)) unrolled_and_simplified({"--loop-unroll"});
  return words;
}

std::string CompilerVersions() {
  unsigned version = 0, revision = 0;
  shaderc_get_spv_version(&version, &revision);
  return fmt::format("shaderc spv{:x}.{} glslang {}.{}.{} {}", version, revision, GLSLANG_VERSION_MAJOR,
                     GLSLANG_VERSION_MINOR, GLSLANG_VERSION_PATCH, spvSoftwareVersionString());
}

const std::string& CompilerIdentity() {
  static const auto* identity = new std::string(CompilerVersions() + " zero");
  return *identity;
}

}  // namespace VXLA_NAMESPACE::vulkan
