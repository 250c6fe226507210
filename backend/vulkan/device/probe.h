// Probes: small kernels that ask a device how it computes, in the float modes that all kernels run in.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "backend/vulkan/device/kernel.h"
#include "backend/vulkan/device/memory_allocator.h"
#include "backend/vulkan/device/queue.h"

namespace VXLA_NAMESPACE::vulkan {

struct ProbeTools {
  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<MemoryAllocator> allocator;
  std::shared_ptr<KernelLayouts> layouts;
  Queues& queues;
};

struct Probe {
  std::string name, text;
  uint32_t groups = 1;
  uint32_t lanes = 0;  // of one whole subgroup, by specialization constants; 0: as the text says
};

// Pure. The first lines of a probe: #version, extensions, HAS_FLOAT16 and HAS_FLOAT64, float modes.
std::string ProbePrelude(const DeviceFacts& facts);

// Runs the kernel once and waits. It reads `data` at binding 0 of set 0 and writes `answer`, zeros before, at
// binding 1.
Status RunProbe(const ProbeTools& tools, const Probe& probe, std::span<const std::byte> data,
                std::span<std::byte> answer);

}  // namespace VXLA_NAMESPACE::vulkan
