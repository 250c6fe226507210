// embed_probes OUTPUT: writes a C++ file with the SPIR-V of the probes (embedded_probes.h), for libvxla_runtime.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/shader/shader_compiler.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A device of Vulkan 1.1 with these types and all float modes.
DeviceFacts FactsOf(bool float16, bool float64) {
  DeviceFacts facts;
  facts.float16 = float16;
  facts.float64 = float64;
  facts.signed_zero_inf_nan_preserve_16 = facts.signed_zero_inf_nan_preserve_32 = true;
  facts.signed_zero_inf_nan_preserve_64 = facts.rounding_rte_16 = facts.rounding_rte_32 = facts.rounding_rte_64 = true;
  facts.denorm_preserve_16 = facts.denorm_preserve_32 = facts.denorm_preserve_64 = true;
  return facts;
}

std::string ArrayText(const std::string& name, const std::vector<uint32_t>& words) {
  std::string text = fmt::format("constexpr uint32_t {}[] = {{", name);
  for (size_t i = 0; i < words.size(); ++i) text += fmt::format("{}{:#x},", i % 12 == 0 ? "\n    " : "", words[i]);
  return text + "\n};\n";
}

struct Probe {
  ProbeSubject of;
  DeviceFacts facts;
};

// What NVIDIA's (32 lanes), AMD's (32 and 64) and Intel's GPUs (8 and 16) have of f16 in sums of f32, and all that
// `--emulate matrices` has.
void AddMatrixProbes(std::vector<Probe>& probes) {
  using enum ElementType;
  const auto add = [&](const MatrixShape& shape, uint32_t lanes, bool stand_in) {
    DeviceFacts facts = FactsOf(!stand_in, false);
    facts.spirv_1_6 = !stand_in;
    facts.matrix_lanes = lanes;
    facts.matrices_stand_in = stand_in;
    probes.push_back({{ProbeSubject::kMatrices, shape}, facts});
  };
  for (const uint32_t lanes : {8u, 16u, 32u, 64u}) {
    for (const MatrixShape& shape :
         {MatrixShape{kF16, kF32, 16, 16, 16}, MatrixShape{kF16, kF32, 16, 8, 16}, MatrixShape{kF16, kF32, 16, 8, 8},
          MatrixShape{kF16, kF32, 8, 8, 16}, MatrixShape{kF16, kF32, 8, 16, 16}})
      add(shape, lanes, false);
  }
  for (const auto& [term, sum] : {std::pair(kF16, kF32),
                                  {kBF16, kF32},
                                  {kF8E4M3FN, kF32},
                                  {kF8E5M2, kF32},
                                  {kS8, kS32},
                                  {kU8, kS32},
                                  {kU8, kU32}})
    add({term, sum}, 32, true);
}

std::vector<Probe> Probes() {
  std::vector<Probe> probes;
  for (const auto kind : {ProbeSubject::kQuirks, ProbeSubject::kDivision}) {
    for (const bool float16 : {false, true}) {
      for (const bool float64 : {false, true}) probes.push_back({{kind}, FactsOf(float16, float64)});
    }
  }
  AddMatrixProbes(probes);
  return probes;
}

Result<std::string> Source() {
  std::string arrays, table;
  const ProbeModules modules = CompiledProbes();
  for (const auto& [of, facts] : Probes()) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<uint32_t> words, modules.get(of, facts));
    const MatrixShape& shape = of.shape;
    const std::string name = fmt::format("kWords{}", std::ranges::count(table, '\n'));
    arrays += ArrayText(name, words);
    table += fmt::format(
        "    {{{{static_cast<ProbeSubject::Kind>({}), {{static_cast<ElementType>({}), static_cast<ElementType>({}), "
        "{}, "
        "{}, {}}}}}, {}, {}, {}, {}, {}}},\n",
        static_cast<int>(of.kind), static_cast<int>(shape.term), static_cast<int>(shape.sum), shape.rows, shape.columns,
        shape.k, facts.float16, facts.float64, facts.matrix_lanes, facts.matrices_stand_in, name);
  }
  return "// Written by tools/embed/embed_probes.cc.\n#include \"backend/vulkan/device/probes/embedded_probes.h\"\n\n"
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
