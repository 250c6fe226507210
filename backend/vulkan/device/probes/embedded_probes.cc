#include "backend/vulkan/device/probes/embedded_probes.h"

#include <algorithm>

#include "backend/vulkan/spirv/float_modes.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

const EmbeddedProbe* Find(std::span<const EmbeddedProbe> probes, ProbeKind kind, const DeviceFacts& facts) {
  const auto found = std::ranges::find_if(probes, [&](const EmbeddedProbe& probe) {
    return probe.kind == kind && probe.float16 == facts.float16 && probe.float64 == facts.float64;
  });
  VXLA_CHECK(found != probes.end(), "a set of types without a probe");
  return &*found;
}

std::string IdentityOf(const std::vector<uint32_t>& words) {
  const Hash128 hash = HashBytes(std::as_bytes(std::span<const uint32_t>(words)));
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

// Empty: there is none for the shape.
std::vector<uint32_t> FindMatrices(std::span<const EmbeddedMatrixProbe> probes, const MatrixShape& shape,
                                   const DeviceFacts& facts) {
  const auto found = std::ranges::find_if(probes, [&](const EmbeddedMatrixProbe& probe) {
    return probe.shape == shape && probe.lanes == facts.matrix_lanes && probe.stand_in == facts.matrices_stand_in;
  });
  if (found == probes.end()) return {};
  return WithFloatModesOf(facts, {found->words.begin(), found->words.end()});
}

}  // namespace

ProbeModules ModulesOf(std::span<const EmbeddedProbe> probes, std::span<const EmbeddedMatrixProbe> matrix_probes) {
  const auto get = [probes](ProbeKind kind, const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    const std::span<const uint32_t> words = Find(probes, kind, facts)->words;
    return WithFloatModesOf(facts, {words.begin(), words.end()});
  };
  const auto identity = [get](ProbeKind kind, const DeviceFacts& facts) { return IdentityOf(*get(kind, facts)); };
  const auto matrices = [matrix_probes](const MatrixShape& shape,
                                        const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    return FindMatrices(matrix_probes, shape, facts);
  };
  const auto matrices_identity = [matrix_probes](const MatrixShape& shape, const DeviceFacts& facts) {
    const std::vector<uint32_t> words = FindMatrices(matrix_probes, shape, facts);
    return words.empty() ? std::string() : IdentityOf(words);
  };
  return {get, identity, matrices, matrices_identity};
}

}  // namespace VXLA_NAMESPACE::vulkan
