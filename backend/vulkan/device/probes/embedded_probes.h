// Probes in a library without the compiler: modules that were compiled when it was built.
#pragma once

#include <cstdint>
#include <span>

#include "backend/vulkan/device/probes/probe.h"

namespace VXLA_NAMESPACE::vulkan {

// For devices that have these types, with all float modes of them. Of matrix units, for those of so many lanes, or for
// what stands in for them.
struct EmbeddedProbe {
  ProbeSubject of;
  bool float16, float64;
  uint32_t lanes;
  bool stand_in;
  std::span<const uint32_t> words;
};

// Each kind with each set of types, and matrix units of f16 in sums of f32 in the shapes that GPUs are known to have;
// written by tools/embed/embed_probes.cc.
std::span<const EmbeddedProbe> EmbeddedProbes();

// They outlive what is returned.
ProbeModules ModulesOf(std::span<const EmbeddedProbe> probes);

}  // namespace VXLA_NAMESPACE::vulkan
