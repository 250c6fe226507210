#include "backend/vulkan/device/plan/pretended_gpu.h"

#include <algorithm>
#include <array>

#include "backend/gpu_vendors.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct PretendedGpu {
  const char* name;
  GpuFamily family;
  uint32_t vendor_id;
  DeviceFacts::Kind kind;
  uint32_t compute_units, unit_invocations;  // 0: its driver does not say
  uint32_t shared_bytes, workgroup_invocations;
  enum Units : uint8_t { kNone, kSquare, kNarrow } units;
};

// Vega 10, Navi 21 and Navi 31 as RADV 25.0.7 lists them, GeForce RTX 4090 as NVIDIA's driver does (AD102: 128
// multiprocessors of 48 warps); what the others' drivers list at least: Intel's of Arc (ANV), Apple's M1 (MoltenVK),
// and of phones' GPUs the least of Mali, Adreno, PowerVR and VideoCore, which Vulkan's minimum is next to.
constexpr PretendedGpu kGpus[] = {
    {"gcn", GpuFamily::kGcn, kAmd, DeviceFacts::Kind::kDiscrete, 64, 2560, 65536, 1024, PretendedGpu::kNone},
    {"rdna2", GpuFamily::kRdna2, kAmd, DeviceFacts::Kind::kDiscrete, 80, 2048, 65536, 1024, PretendedGpu::kNone},
    {"rdna3", GpuFamily::kRdna3, kAmd, DeviceFacts::Kind::kDiscrete, 96, 2048, 65536, 1024, PretendedGpu::kSquare},
    {"nvidia", GpuFamily::kNvidia, kNvidia, DeviceFacts::Kind::kDiscrete, 128, 1536, 49152, 1024,
     PretendedGpu::kNarrow},
    {"intel", GpuFamily::kIntel, kIntel, DeviceFacts::Kind::kDiscrete, 0, 0, 65536, 1024, PretendedGpu::kNone},
    {"apple", GpuFamily::kApple, kApple, DeviceFacts::Kind::kIntegrated, 0, 0, 32768, 1024, PretendedGpu::kNone},
    {"mobile", GpuFamily::kMobile, kArm, DeviceFacts::Kind::kIntegrated, 0, 0, 16384, 256, PretendedGpu::kNone},
};

}  // namespace

std::optional<GpuFamily> GpuFamilyOf(std::string_view name) {
  if (name == "gpu") return GpuFamily::kAny;
  for (const PretendedGpu& gpu : kGpus)
    if (name == gpu.name) return gpu.family;
  return std::nullopt;
}

void TakeForGpu(DeviceFacts& facts) {
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.costs = {};
}

void TakeFor(GpuFamily family, DeviceFacts& facts) {
  const auto* gpu = std::ranges::find(kGpus, family, &PretendedGpu::family);
  if (gpu == std::end(kGpus)) return;
  facts.vendor_id = gpu->vendor_id;
  facts.kind = gpu->kind;
  facts.compute_units = gpu->compute_units;
  facts.unit_invocations = gpu->unit_invocations;
  facts.max_shared_bytes = std::min(facts.max_shared_bytes, gpu->shared_bytes);
  facts.max_workgroup_invocations = std::min(facts.max_workgroup_invocations, gpu->workgroup_invocations);
  for (uint32_t& size : facts.max_workgroup_size) size = std::min(size, gpu->workgroup_invocations);
  if (!facts.matrices_stand_in) return;
  using enum ElementType;
  facts.matrix_rate = gpu->units == PretendedGpu::kNone ? 0 : 2;
  if (gpu->units == PretendedGpu::kNone) facts.matrices.clear();
  if (gpu->units == PretendedGpu::kNarrow) {
    facts.matrices = {{kF16, kF32, 16, 8, 16}, {kBF16, kF32, 16, 8, 8}, {kS8, kS32, 16, 8, 32}, {kU8, kU32, 16, 8, 32}};
  }
}

void TakeForTheLeast(DeviceFacts& facts) {
  facts.same_bits = true;
  // The required limits of Vulkan's specification, and lavapipe's of loops, which sums are shared out by.
  constexpr uint32_t kSharedBytes = 16384, kInvocations = 128, kLoopIterations = 65535;
  constexpr std::array<uint32_t, 3> kGroup = {128, 128, 64};
  if (facts.is_software()) TakeForGpu(facts);
  facts.compute_units = facts.unit_invocations = 0;
  facts.max_shared_bytes = kSharedBytes;
  facts.max_workgroup_invocations = kInvocations;
  facts.max_workgroup_size = kGroup;
  facts.quirks.loop_iteration_limit = kLoopIterations;
  facts.matrices.clear();
  facts.matrix_lanes = 0;
  facts.matrix_rate = 0;
  facts.tuned = {};
}

}  // namespace VXLA_NAMESPACE::vulkan
