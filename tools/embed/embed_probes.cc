// embed_probes OUTPUT: writes a C++ file with the SPIR-V of the probes (embedded_probes.h), for libvxla_runtime.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "backend/vulkan/device/probe_text.h"
#include "backend/vulkan/shader/shader_compiler.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A device of Vulkan 1.2 with these types and all float modes.
DeviceFacts FactsOf(bool float16, bool float64) {
  DeviceFacts facts;
  facts.float16 = float16;
  facts.float64 = float64;
  facts.signed_zero_inf_nan_preserve_16 = facts.signed_zero_inf_nan_preserve_32 = true;
  facts.signed_zero_inf_nan_preserve_64 = facts.rounding_rte_16 = facts.rounding_rte_32 = facts.rounding_rte_64 = true;
  facts.denorm_preserve_16 = facts.denorm_preserve_32 = facts.denorm_preserve_64 = true;
  return facts;
}

Result<std::string> Source() {
  std::string arrays, table;
  const ProbeModules modules = CompiledProbes();
  for (const ProbeKind kind : {ProbeKind::kQuirks, ProbeKind::kDivision}) {
    const char* name = kind == ProbeKind::kQuirks ? "Quirks" : "Division";
    for (const bool float16 : {false, true}) {
      for (const bool float64 : {false, true}) {
        VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, modules.get(kind, FactsOf(float16, float64)));
        const std::string array = fmt::format("k{}{}{}", name, float16 ? "F16" : "", float64 ? "F64" : "");
        arrays += fmt::format("constexpr uint32_t {}[] = {{", array);
        for (size_t i = 0; i < words.size(); ++i)
          arrays += fmt::format("{}{:#x},", i % 12 == 0 ? "\n    " : "", words[i]);
        arrays += "\n};\n";
        table += fmt::format("    {{ProbeKind::k{}, {}, {}, {}}},\n", name, float16, float64, array);
      }
    }
  }
  return "// Written by tools/embed/embed_probes.cc.\n#include \"backend/vulkan/device/embedded_probes.h\"\n\n"
         "namespace VXLA_NAMESPACE::vulkan {\nnamespace {\n\n" +
         arrays + "\nconstexpr EmbeddedProbe kProbes[] = {\n" + table +
         "};\n\n}  // namespace\n\nstd::span<const EmbeddedProbe> EmbeddedProbes() { return kProbes; }\n\n"
         "}  // namespace VXLA_NAMESPACE::vulkan\n";
}

int Run(const char* output) {
  const Result<std::string> source = Source();
  if (!source.ok()) return std::fprintf(stderr, "embed_probes: %s\n", source.status().message().c_str()), 1;
  std::ofstream file(output, std::ios::binary);
  file << *source;
  if (!file.flush()) return std::fprintf(stderr, "embed_probes: cannot write %s\n", output), 1;
  return 0;
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: embed_probes OUTPUT\n"), 1;
  return vxla::vulkan::Run(argv[1]);
}
