#include "backend/vulkan/device/embedded_probes.h"

#include <algorithm>

#include "backend/vulkan/spirv/float_modes.h"
#include "core/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

const EmbeddedProbe* Find(std::span<const EmbeddedProbe> probes, ProbeKind kind, const DeviceFacts& facts) {
  const auto found = std::ranges::find_if(probes, [&](const EmbeddedProbe& probe) {
    return probe.kind == kind && probe.float16 == facts.float16 && probe.float64 == facts.float64;
  });
  VXLA_CHECK(found != probes.end(), "a set of types without a probe");
  return &*found;
}

}  // namespace

ProbeModules ModulesOf(std::span<const EmbeddedProbe> probes) {
  const auto get = [probes](ProbeKind kind, const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    const std::span<const uint32_t> words = Find(probes, kind, facts)->words;
    return WithFloatModesOf(facts, {words.begin(), words.end()});
  };
  const auto identity = [probes, get](ProbeKind kind, const DeviceFacts& facts) {
    const Hash128 hash = HashBytes(std::as_bytes(std::span<const uint32_t>(*get(kind, facts))));
    return fmt::format("{:016x}{:016x}", hash.high, hash.low);
  };
  return {get, identity};
}

}  // namespace VXLA_NAMESPACE::vulkan
