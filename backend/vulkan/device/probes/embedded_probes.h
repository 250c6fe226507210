// Probes in a library without the compiler: modules that were compiled when it was built.
#pragma once

#include <cstdint>
#include <span>

#include "backend/vulkan/device/probes/probe.h"

namespace VXLA_NAMESPACE::vulkan {

// For devices that have these types, with all float modes of them.
struct EmbeddedProbe {
  ProbeKind kind;
  bool float16, float64;
  std::span<const uint32_t> words;
};

// Each kind with each set of types; written by tools/embed/embed_probes.cc.
std::span<const EmbeddedProbe> EmbeddedProbes();

// For matrix units of f16 in sums of f32, in the shapes that GPUs are known to have, and for what stands in for units.
struct EmbeddedMatrixProbe {
  MatrixShape shape;
  uint32_t lanes;
  bool stand_in;
  std::span<const uint32_t> words;
};
std::span<const EmbeddedMatrixProbe> EmbeddedMatrixProbes();

// They outlive what is returned.
ProbeModules ModulesOf(std::span<const EmbeddedProbe> probes, std::span<const EmbeddedMatrixProbe> matrices);

}  // namespace VXLA_NAMESPACE::vulkan
