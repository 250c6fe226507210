// GLSL to SPIR-V through shaderc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct CompileTarget {
  bool spirv_1_6 = true;  // Vulkan 1.3; else Vulkan 1.1 and SPIR-V 1.3
};

// Thread-safe; all threads share one compiler, made at first use (its tables take 60 ms). An error is kInternal, as our
// own texts are compiled: it names the kernel and shows the lines around each complaint, of `shown` where the text's
// own line numbers are those of a part of it.
Result<std::vector<uint32_t>> CompileGlsl(std::string_view text, const std::string& name, const CompileTarget& target,
                                          std::string_view shown = {});

// Emulated f64 is thousands of small functions deep in each other: as one function without variables it is a third of
// the size, and SwiftShader, which keeps every variable in memory and whose time and memory grow with the square of
// them, is done in a second instead of never. None of these passes touches arithmetic; unused bindings and constants
// go, so reflect the module before. The words as they are if a pass fails.
std::vector<uint32_t> WithoutCalls(std::vector<uint32_t> words, const CompileTarget& target);
// The same module in a form that drivers are sooner done with: inlined, without variables, loops that ask for it
// unrolled. Lavapipe makes pipelines of it in less than half the time. A module that WithoutContraction went
// over computes the same bits; unused bindings and constants go. The words as they are if a pass fails.
std::vector<uint32_t> Optimized(std::vector<uint32_t> words, const CompileTarget& target);

// Names the compiler and its options for cache keys.
const std::string& CompilerIdentity();
// "shaderc spv10600.1 glslang 11.13.0 SPIRV-Tools ...": what compiles and improves shaders.
std::string CompilerVersions();

// Pure: the lines of `text` around each line that `log` complains of ("name:12: error: ..."), numbered.
std::string SourceAround(std::string_view text, std::string_view log);
// Pure: the complaints with these lines; of a compiler that failed without any, what is known of that.
std::string WhyItDoesNotCompile(std::string_view text, std::string_view log);

}  // namespace VXLA_NAMESPACE::vulkan
