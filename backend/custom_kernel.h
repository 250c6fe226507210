// Custom kernels: the user's own compute shaders, which a program's custom-call instructions name. This header needs
// the standard library only.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// docs/guides/custom_calls.md says what a kernel may count on.
struct CustomKernel {
  enum class Language : uint8_t { kGlsl, kSpirv };
  Language language = Language::kGlsl;
  std::string text;  // GLSL, or the words of a SPIR-V module as they lie in its file
  std::string file;  // in messages
  // What a "#pragma vxla" would say, a line each, for SPIR-V: "groups(ceil(n / 64))". These come after the text's own.
  std::string rules = {};
};
using CustomKernels = std::map<std::string, CustomKernel>;  // by target name

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
