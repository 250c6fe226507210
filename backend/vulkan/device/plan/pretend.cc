#include "backend/vulkan/device/plan/pretend.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "backend/gpu_vendors.h"
#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct PretendedGpu {
  enum Units : uint8_t { kNone, kSquare, kNarrow };
  const char* name = "";
  GpuFamily family = GpuFamily::kAny;
  uint32_t vendor_id = 0;
  DeviceFacts::Kind kind = DeviceFacts::Kind::kOther;
  uint32_t compute_units = 0, unit_invocations = 0;  // 0: its driver does not say
  uint32_t shared_bytes = 0, workgroup_invocations = 0;
  Units units = kNone;
  uint64_t storage_range_bytes = ~uint64_t{0};
  uint32_t storage_buffers = ~uint32_t{0};
  Emulation lacks = {};
};

// Vega 10, Navi 21 and Navi 31 as RADV 25.0.7 lists them, GeForce RTX 4090 as NVIDIA's driver does (AD102: 128
// multiprocessors of 48 warps); Intel's as ANV lists Arc at least. The others by the limits of Mesa's drivers for them:
// Apple's M1 and M2 by Honeykrisp (hk_physical_device.c), Adreno 6xx and 7xx by Turnip (tu_device.cc and
// freedreno_devices.py; its range is that of Qualcomm's driver), Mali of Bifrost and later by PanVK
// (panvk_vX_physical_device.c). None of them has f64. And of phones' and boards' GPUs the least, which Vulkan's minimum
// is next to: VideoCore by V3DV (v3dv_limits.h), which calculates in 32 bits alone.
constexpr auto kDiscrete = DeviceFacts::Kind::kDiscrete, kIntegrated = DeviceFacts::Kind::kIntegrated;
constexpr uint64_t kMostRange = uint64_t{1} << 27;
constexpr PretendedGpu Integrated(const char* name, GpuFamily family, uint32_t vendor, uint64_t range) {
  return {.name = name,
          .family = family,
          .vendor_id = vendor,
          .kind = kIntegrated,
          .shared_bytes = 32768,
          .workgroup_invocations = 1024,
          .storage_range_bytes = range,
          .lacks = {.f64 = true}};
}
constexpr PretendedGpu LeastOfPhones() {
  PretendedGpu gpu = Integrated("mobile", GpuFamily::kMobile, kBroadcom, kMostRange);
  gpu.shared_bytes = 16384;
  gpu.workgroup_invocations = 256;
  gpu.storage_buffers = 8;
  gpu.lacks.i64 = gpu.lacks.f16 = true;
  return gpu;
}
constexpr PretendedGpu kGpus[] = {
    {"gcn", GpuFamily::kGcn, kAmd, kDiscrete, 64, 2560, 65536, 1024, PretendedGpu::kNone},
    {"rdna2", GpuFamily::kRdna2, kAmd, kDiscrete, 80, 2048, 65536, 1024, PretendedGpu::kNone},
    {"rdna3", GpuFamily::kRdna3, kAmd, kDiscrete, 96, 2048, 65536, 1024, PretendedGpu::kSquare},
    {"nvidia", GpuFamily::kNvidia, kNvidia, kDiscrete, 128, 1536, 49152, 1024, PretendedGpu::kNarrow},
    {"intel", GpuFamily::kIntel, kIntel, kDiscrete, 0, 0, 65536, 1024, PretendedGpu::kNone},
    Integrated("apple", GpuFamily::kApple, kApple, (uint64_t{1} << 31) - 1),
    Integrated("adreno", GpuFamily::kAdreno, kQualcomm, kMostRange),
    Integrated("mali", GpuFamily::kMali, kArm, ~uint64_t{0}),
    LeastOfPhones()};

// Of --emulate, but for families.
struct Pretence {
  const char* name;
  bool Emulation::*wanted;
};
constexpr Pretence kPretences[] = {{"i64", &Emulation::i64},
                                   {"f64", &Emulation::f64},
                                   {"f16", &Emulation::f16},
                                   {"narrow", &Emulation::narrow},
                                   {"subgroups", &Emulation::subgroups},
                                   {"division", &Emulation::division},
                                   {"gpu", &Emulation::gpu},
                                   {"matrices", &Emulation::matrices},
                                   {"queues", &Emulation::queues},
                                   {"grid", &Emulation::grid},
                                   {"vulkan1.1", &Emulation::vulkan11},
                                   {"synchronization2", &Emulation::synchronization2}};

// Null: of no family that is known.
const PretendedGpu* GpuOf(GpuFamily family) {
  const auto* gpu = std::ranges::find(kGpus, family, &PretendedGpu::family);
  return gpu == std::end(kGpus) ? nullptr : gpu;
}

bool IsOne(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

// Units of every type, in plain GLSL, so that whatever may run on them does.
void StandInForMatrices(DeviceFacts& facts) {
  using enum ElementType;
  facts.matrices = {{kF16, kF32}, {kBF16, kF32}, {kF8E4M3FN, kF32}, {kF8E5M2, kF32},
                    {kS8, kS32},  {kU8, kS32},   {kU8, kU32}};
  facts.group_matrices.clear();
  facts.matrix_lanes = 32;
  facts.matrix_rate = 16;
  facts.matrices_stand_in = true;
}

}  // namespace

bool EnvironmentPoisons() { return IsOne("VXLA_POISON"); }
bool EnvironmentForbidsProbes() { return IsOne("VXLA_NO_PROBES"); }

Result<Emulation> ParseEmulation(std::string_view names) {
  Emulation emulation;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto* pretence = std::ranges::find(kPretences, name, &Pretence::name);
    if (pretence != std::end(kPretences)) {
      emulation.*(pretence->wanted) = true;
    } else if (const auto family = GpuFamilyOf(name)) {
      emulation.gpu = true;
      emulation.family = *family;
    } else {
      std::vector<std::string> all;
      for (const Pretence& each : kPretences) all.push_back(each.name);
      for (const PretendedGpu& each : kGpus) all.push_back(each.name);
      return InvalidArgument("--emulate: '{}' is none of {}", name, fmt::join(all, ", "));
    }
  }
  return emulation;
}

void Hide(Emulation emulate, PhysicalSupport& support) {
  if (emulate.gpu && support.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) {
    if (const PretendedGpu* gpu = GpuOf(emulate.family)) {
      emulate.i64 |= gpu->lacks.i64;
      emulate.f64 |= gpu->lacks.f64;
      emulate.f16 |= gpu->lacks.f16;
    }
  }
  FeatureChain& features = support.features;
  VkPhysicalDeviceFeatures& base = features.base.features;
  VkPhysicalDeviceVulkan12Features& vulkan12 = features.vulkan12;
  if (emulate.i64) base.shaderInt64 = vulkan12.shaderBufferInt64Atomics = VK_FALSE;
  if (emulate.f64) base.shaderFloat64 = VK_FALSE;
  if (emulate.synchronization2) features.synchronization2.synchronization2 = VK_FALSE;
  if (emulate.f16) vulkan12.shaderFloat16 = VK_FALSE;
  if (emulate.narrow) base.shaderInt16 = vulkan12.shaderInt8 = vulkan12.storageBuffer8BitAccess = VK_FALSE;
  if (emulate.f16 || emulate.narrow) features.vulkan11.storageBuffer16BitAccess = VK_FALSE;
  if (emulate.subgroups) {
    features.subgroup_size_control.subgroupSizeControl = features.subgroup_size_control.computeFullSubgroups = VK_FALSE;
    support.subgroups.supportedOperations = 0;
  }
  // Their kernels read words of 16-bit floats or bytes, and work in subgroups.
  if (emulate.f16 || emulate.narrow || emulate.subgroups) {
    features.cooperative_matrix.cooperativeMatrix = features.cooperative_matrix2.workgroupScope = VK_FALSE;
    features.bfloat16.shaderBFloat16Type = features.bfloat16.shaderBFloat16CooperativeMatrix = VK_FALSE;
    features.float8.shaderFloat8 = features.float8.shaderFloat8CooperativeMatrix = VK_FALSE;
  }
}

std::vector<QueueFacts> OneQueueForMany(uint32_t family, int most) {
  std::vector<QueueFacts> queues(static_cast<size_t>(std::clamp(most - 1, 1, kMostQueues - 1)), {true, family, 0});
  if (most > 1) queues.push_back({false, family, 0});
  return queues;
}

void Pretend(PretendedMemory memory, MemoryChoice& tensors) {
  if (memory == PretendedMemory::kInvisible) tensors.host_visible = false;
  if (memory != PretendedMemory::kNone) tensors.host_cached = false;
}

void Pretend(const Emulation& emulate, DeviceFacts& facts) {
  if (emulate.queues) facts.queue_switch_seconds = -1;
  if (emulate.division) facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kCorrected;
  if (emulate.matrices) StandInForMatrices(facts);
  if (!emulate.gpu || !facts.is_software()) return;
  PretendGpu(facts);
  PretendFamily(emulate.family, facts);
  facts.costs.free_grid_barriers = emulate.grid;
}

std::optional<GpuFamily> GpuFamilyOf(std::string_view name) {
  for (const PretendedGpu& gpu : kGpus)
    if (name == gpu.name) return gpu.family;
  return std::nullopt;
}

void PretendGpu(DeviceFacts& facts) {
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.costs = {};
}

void PretendFamily(GpuFamily family, DeviceFacts& facts) {
  const PretendedGpu* gpu = GpuOf(family);
  if (gpu == nullptr) return;
  facts.vendor_id = gpu->vendor_id;
  facts.kind = gpu->kind;
  facts.compute_units = gpu->compute_units;
  facts.unit_invocations = gpu->unit_invocations;
  facts.max_shared_bytes = std::min(facts.max_shared_bytes, gpu->shared_bytes);
  facts.max_workgroup_invocations = std::min(facts.max_workgroup_invocations, gpu->workgroup_invocations);
  for (uint32_t& size : facts.max_workgroup_size) size = std::min(size, gpu->workgroup_invocations);
  facts.max_storage_range_bytes = std::min(facts.max_storage_range_bytes, gpu->storage_range_bytes);
  facts.max_storage_buffers = std::min(facts.max_storage_buffers, gpu->storage_buffers);
  if (gpu->lacks.i64) facts.int64 = facts.byte_offsets = facts.wide_atomics = false;
  if (gpu->lacks.f64) facts.float64 = false;
  if (gpu->lacks.f16) facts.float16 = facts.storage16 = facts.native_f16 = false;
  if (!facts.matrices_stand_in) return;
  using enum ElementType;
  facts.matrix_rate = gpu->units == PretendedGpu::kNone ? 0 : 2;
  if (gpu->units == PretendedGpu::kNone) facts.matrices.clear();
  if (gpu->units == PretendedGpu::kNarrow) {
    facts.matrices = {{kF16, kF32, 16, 8, 16},    {kBF16, kF32, 16, 8, 8}, {kF8E4M3FN, kF32, 16, 8, 32},
                      {kF8E5M2, kF32, 16, 8, 32}, {kS8, kS32, 16, 8, 32},  {kU8, kU32, 16, 8, 32}};
    for (MatrixShape form : GroupMatrixForms()) {
      for (const MatrixShape& matrix : facts.matrices) {
        form.term = matrix.term;
        form.sum = matrix.sum;
        facts.group_matrices.push_back(form);
      }
    }
  }
}

void PretendLeastDevice(DeviceFacts& facts) {
  facts.same_bits = true;
  // The required limits of Vulkan's specification, and lavapipe's of loops, which sums are shared out by.
  constexpr uint32_t kSharedBytes = 16384, kInvocations = 128, kLoopIterations = 65535;
  constexpr std::array<uint32_t, 3> kGroup = {128, 128, 64};
  if (facts.is_software()) PretendGpu(facts);
  facts.compute_units = facts.unit_invocations = 0;
  facts.max_shared_bytes = kSharedBytes;
  facts.max_workgroup_invocations = kInvocations;
  facts.max_workgroup_size = kGroup;
  facts.quirks.loop_iteration_limit = kLoopIterations;
  facts.matrices.clear();
  facts.group_matrices.clear();
  facts.matrix_lanes = 0;
  facts.matrix_rate = 0;
  facts.tuned = {};
}

}  // namespace VXLA_NAMESPACE::vulkan
