// Probes: small kernels that ask a device how it computes, in the float modes that all kernels run in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/device/commands/queue.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/device/memory/memory_allocator.h"

namespace VXLA_NAMESPACE::vulkan {

enum class ProbeKind : uint8_t { kQuirks, kDivision };

// Where the SPIR-V of probes comes from: compiled from their text (probe_text.h), or embedded in a library without the
// compiler (embedded_probes.h).
struct ProbeModules {
  std::function<Result<std::vector<uint32_t>>(ProbeKind, const DeviceFacts&)> get = nullptr;
  // What decides a module, as a part of cache keys.
  std::function<std::string(ProbeKind, const DeviceFacts&)> identity = nullptr;
  // The same of a shape of matrix units (matrix_probe.h); an empty identity: there is no module for it.
  std::function<Result<std::vector<uint32_t>>(const MatrixShape&, const DeviceFacts&)> matrices = nullptr;
  std::function<std::string(const MatrixShape&, const DeviceFacts&)> matrices_identity = nullptr;
};

struct ProbeTools {
  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<MemoryAllocator> allocator;
  std::shared_ptr<KernelLayouts> layouts;
  Queues& queues;
  const ProbeModules& modules;
};

// A kernel that asks: it reads data at binding 0 of set 0 and writes its answer, zeros before, at binding 1.
struct Probe {
  std::string name;
  std::vector<uint32_t> spirv;
  uint32_t groups = 1;
  uint32_t lanes = 0;  // of whole subgroups, by specialization constants; 0: as the module says
  // It is a kernel like all others: parameters at binding 0, then tensors. The data is both the former and the first of
  // these, the answer the second.
  bool is_kernel = false;
};

// Runs it once and waits.
Status RunProbe(const ProbeTools& tools, const Probe& probe, std::span<const std::byte> data,
                std::span<std::byte> answer);
// One of the modules, in so many workgroups.
Status RunProbe(const ProbeTools& tools, ProbeKind kind, uint32_t groups, std::span<const std::byte> data,
                std::span<std::byte> answer);

}  // namespace VXLA_NAMESPACE::vulkan
