#include "backend/vulkan/device/probes/embedded_probes.h"

#include <algorithm>

#include "backend/vulkan/spirv/float_modes.h"
#include "core/host/hash.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Empty: there is none; matrix units alone may have none, for their shape.
std::vector<uint32_t> Find(std::span<const EmbeddedProbe> probes, const ProbeSubject& of, const DeviceFacts& facts) {
  const auto found = std::ranges::find_if(probes, [&](const EmbeddedProbe& probe) {
    if (probe.of.kind != of.kind) return false;
    return of.kind == ProbeSubject::kMatrices ? probe.of.shape == of.shape && probe.lanes == facts.matrix_lanes &&
                                                    probe.stand_in == facts.matrices_stand_in
                                              : probe.float16 == facts.float16 && probe.float64 == facts.float64;
  });
  if (found == probes.end()) return {};
  return spirv::WithFloatModesOf(facts, {found->words.begin(), found->words.end()});
}

}  // namespace

ProbeModules ModulesOf(std::span<const EmbeddedProbe> probes) {
  const auto get = [probes](const ProbeSubject& of, const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    return Find(probes, of, facts);
  };
  const auto identity = [probes](const ProbeSubject& of, const DeviceFacts& facts) {
    const std::vector<uint32_t> words = Find(probes, of, facts);
    if (words.empty()) return std::string();
    const Hash128 hash = HashBytes(std::as_bytes(std::span(words)));
    return fmt::format("{:016x}{:016x}", hash.high, hash.low);
  };
  return {get, identity};
}

}  // namespace VXLA_NAMESPACE::vulkan
