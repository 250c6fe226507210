// Probes: small kernels that ask a device how it computes, in the float modes that all kernels run in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/device/commands/queue.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/device/memory/memory_allocator.h"

namespace VXLA_NAMESPACE::vulkan {

// What a probe asks about: matrix units of a shape, or the device.
struct ProbeSubject {
  enum Kind : uint8_t { kQuirks, kDivision, kMatrices } kind;
  MatrixShape shape = {};
};

// Where the SPIR-V of probes comes from: compiled from their text (probe_text.h), or embedded in a library without the
// compiler (embedded_probes.h).
struct ProbeModules {
  std::function<Result<std::vector<uint32_t>>(const ProbeSubject&, const DeviceFacts&)> get = nullptr;
  // What decides a module, as a part of cache keys; empty: there is none for the shape.
  std::function<std::string(const ProbeSubject&, const DeviceFacts&)> identity = nullptr;
};

struct ProbeTools {
  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<MemoryAllocator> allocator;
  std::shared_ptr<KernelLayouts> layouts;
  Queues& queues;
  const ProbeModules& modules;
};

// How its module is run: it reads data at binding 0 of set 0 and writes its answer, zeros before, at binding 1.
struct ProbeRun {
  uint32_t groups = 1;
  uint32_t lanes = 0;  // of whole subgroups, by specialization constants; 0: as the module says
  // It is a kernel like all others: parameters at binding 0, then tensors. The data is both the former and the first of
  // these, the answer the second.
  bool is_kernel = false;
};

// Runs it once and waits.
Status RunProbe(const ProbeTools& tools, const ProbeSubject& of, const ProbeRun& run, std::span<const uint32_t> data,
                std::span<uint32_t> answer);
// What its answer is kept by on disk; `version` is changed with data or judgement, so that old answers are not
// believed.
std::string ProbeKey(const ProbeTools& tools, const ProbeSubject& of, int version);

}  // namespace VXLA_NAMESPACE::vulkan
