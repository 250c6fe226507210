// Probes: small kernels that ask a device how it computes, in the float modes that all kernels run in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/device/kernel.h"
#include "backend/vulkan/device/memory_allocator.h"
#include "backend/vulkan/device/queue.h"

namespace VXLA_NAMESPACE::vulkan {

enum class ProbeKind : uint8_t { kQuirks, kDivision };

// Where the SPIR-V of probes comes from: compiled from their text (probe_text.h), or embedded in a library without the
// compiler (embedded_probes.h).
struct ProbeModules {
  std::function<Result<std::vector<uint32_t>>(ProbeKind, const DeviceFacts&)> get = nullptr;
  // What decides a module, as a part of cache keys.
  std::function<std::string(ProbeKind, const DeviceFacts&)> identity = nullptr;
};

struct ProbeTools {
  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<MemoryAllocator> allocator;
  std::shared_ptr<KernelLayouts> layouts;
  Queue& queue;
  const ProbeModules& modules;
};

// Runs the kernel once, in so many workgroups, and waits. It reads `data` at binding 0 of set 0 and writes `answer`,
// zeros before, at binding 1.
Status RunProbe(const ProbeTools& tools, ProbeKind kind, uint32_t groups, std::span<const std::byte> data,
                std::span<std::byte> answer);

}  // namespace VXLA_NAMESPACE::vulkan
