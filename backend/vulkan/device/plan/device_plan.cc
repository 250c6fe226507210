#include "backend/vulkan/device/plan/device_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "backend/vulkan/device/api/external_types.h"
#include "backend/vulkan/device/api/vk_status.h"
#include "backend/vulkan/drivers/kernel_operations.h"
#include "backend/vulkan/drivers/known_faults.h"
#include "backend/vulkan/drivers/software/software_driver.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool Has(const std::set<std::string>& extensions, const char* name) { return extensions.count(name) != 0; }

// Of extensions that are part of Vulkan 1.3.
bool HasSince13(uint32_t api, const std::set<std::string>& extensions, const char* name) {
  return api >= VK_API_VERSION_1_3 || Has(extensions, name);
}
// Its features are said by OlderFeatures.
bool IsOlder(uint32_t api) { return api < VK_API_VERSION_1_2; }
bool HasFloatControls(uint32_t api, const std::set<std::string>& extensions) {
  return !IsOlder(api) || Has(extensions, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
}

// Of VisitSingle: pageable memory needs priorities.
bool HasSingle(const std::set<std::string>& extensions, std::string_view name) {
  return extensions.contains(std::string(name)) && (name != VK_EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME ||
                                                    Has(extensions, VK_EXT_MEMORY_PRIORITY_EXTENSION_NAME));
}

// Three quarters of the machine's memory: the rest of the system lives there too.
uint64_t HostMemoryBytes() {
#ifdef __linux__
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) return static_cast<uint64_t>(pages) / 4 * 3 * static_cast<uint64_t>(page_bytes);
#endif
  return 0;
}

DeviceFacts::Kind KindOf(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceFacts::Kind::kIntegrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceFacts::Kind::kDiscrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceFacts::Kind::kVirtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceFacts::Kind::kSoftware;
    default:
      return DeviceFacts::Kind::kOther;
  }
}

std::string VersionText(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

Status CheckRequired(const PhysicalSupport& support, const PlanWants& wants) {
  const VkPhysicalDeviceProperties& properties = support.properties;
  const char* name = properties.deviceName;
  if (properties.apiVersion < VK_API_VERSION_1_1) {
    return Unsupported("device {}: Vulkan {} is older than 1.1", name, VersionText(properties.apiVersion));
  }
  if (!support.features.vulkan12.timelineSemaphore) {
    return Unsupported("device {}: no timelineSemaphore{}", name,
                       IsOlder(properties.apiVersion) ? " (VK_KHR_timeline_semaphore)" : "");
  }
  if (wants.bindings == BindingMode::kAddresses && !support.features.vulkan12.bufferDeviceAddress) {
    return Unsupported("device {}: no bufferDeviceAddress; descriptors need none (--bindings=descriptors)", name);
  }
  return OkStatus();
}

Result<std::vector<QueueFacts>> QueuesFor(const PhysicalSupport& support, const PlanWants& wants) {
  const bool one_for_many = wants.emulate.queues;
  if (!wants.lent_queues.empty()) {
    auto lent = PlanLentQueues(support.queue_families, wants.lent_queues);
    if (!lent.ok()) return InvalidArgument("device {}: {}", support.properties.deviceName, lent.status().message());
    return one_for_many && lent->size() == 1 ? OneQueueForMany(lent->front().family, kMostQueues) : *std::move(lent);
  }
  const std::optional<uint32_t> main = ChooseQueueFamily(support.queue_families);
  if (!main) return Unsupported("device {}: no queue family runs compute", support.properties.deviceName);
  if (one_for_many) return OneQueueForMany(*main, wants.most_queues);
  return PlanQueues(support.queue_families, *main, wants.most_queues);
}

Status ChooseQueues(const PhysicalSupport& support, const PlanWants& wants, DevicePlan& plan) {
  VXLA_ASSIGN_OR_RETURN(plan.facts.queues, QueuesFor(support, wants));
  plan.timestamp_bits = ~uint32_t{0};
  for (const QueueFacts& queue : plan.facts.queues) {
    if (queue.computes)
      plan.timestamp_bits = std::min(plan.timestamp_bits, support.queue_families[queue.family].timestampValidBits);
  }
  plan.queue_families = FamiliesOf(plan.facts.queues);
  return OkStatus();
}

// Of a struct of features those that are supported.
template <typename Features>
void Enable(const Features& supported, std::initializer_list<VkBool32 Features::*> wanted, Features& enabled) {
  for (VkBool32 Features::*feature : wanted) enabled.*feature = supported.*feature;
}

// What dot/matmul_tensors.comp takes, all of it.
constexpr VkBool32 CooperativeMatrix2Features::*kGroupMatrixFeatures[] = {
    &CooperativeMatrix2Features::workgroupScope, &CooperativeMatrix2Features::flexibleDimensions,
    &CooperativeMatrix2Features::conversions, &CooperativeMatrix2Features::perElementOperations,
    &CooperativeMatrix2Features::tensorAddressing};

FeatureChain ChooseFeatures(const FeatureChain& supported, const PlanWants& wants) {
  using Base = VkPhysicalDeviceFeatures;
  using Vulkan12 = VkPhysicalDeviceVulkan12Features;
  FeatureChain chosen;
  Base& base = chosen.base.features;
  Enable(supported.base.features,
         {&Base::shaderInt64, &Base::shaderInt16, &Base::shaderFloat64, &Base::shaderStorageBufferArrayDynamicIndexing},
         base);
  if (wants.bindings == BindingMode::kDescriptors) Enable(supported.base.features, {&Base::robustBufferAccess}, base);
  const auto enable = [&](auto chain, auto... features) { Enable(supported.*chain, {features...}, chosen.*chain); };
  enable(&FeatureChain::vulkan11, &VkPhysicalDeviceVulkan11Features::storageBuffer16BitAccess);
  enable(&FeatureChain::vulkan12, &Vulkan12::storageBuffer8BitAccess, &Vulkan12::shaderFloat16, &Vulkan12::shaderInt8,
         &Vulkan12::timelineSemaphore, &Vulkan12::scalarBlockLayout, &Vulkan12::shaderSubgroupExtendedTypes,
         &Vulkan12::shaderBufferInt64Atomics, &Vulkan12::vulkanMemoryModel, &Vulkan12::vulkanMemoryModelDeviceScope,
         &Vulkan12::bufferDeviceAddress);
  if (wants.capture_executables)
    enable(&FeatureChain::executables,
           &VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR::pipelineExecutableInfo);
  enable(&FeatureChain::integer_dot_product, &VkPhysicalDeviceShaderIntegerDotProductFeatures::shaderIntegerDotProduct);
  // Their kernels are of the Vulkan memory model.
  if (supported.vulkan12.vulkanMemoryModel) {
    enable(&FeatureChain::cooperative_matrix, &CooperativeMatrixFeatures::cooperativeMatrix);
    for (VkBool32 CooperativeMatrix2Features::*feature : kGroupMatrixFeatures)
      enable(&FeatureChain::cooperative_matrix2, feature);
    enable(&FeatureChain::bfloat16, &Bfloat16Features::shaderBFloat16Type,
           &Bfloat16Features::shaderBFloat16CooperativeMatrix);
    enable(&FeatureChain::float8, &Float8Features::shaderFloat8, &Float8Features::shaderFloat8CooperativeMatrix);
  }
  enable(&FeatureChain::memory_priority, &VkPhysicalDeviceMemoryPriorityFeaturesEXT::memoryPriority);
  if (chosen.memory_priority.memoryPriority)
    enable(&FeatureChain::pageable_memory,
           &VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT::pageableDeviceLocalMemory);
  enable(&FeatureChain::synchronization2, &VkPhysicalDeviceSynchronization2Features::synchronization2);
  enable(&FeatureChain::maintenance4, &VkPhysicalDeviceMaintenance4Features::maintenance4);
  enable(&FeatureChain::subgroup_size_control, &VkPhysicalDeviceSubgroupSizeControlFeatures::subgroupSizeControl,
         &VkPhysicalDeviceSubgroupSizeControlFeatures::computeFullSubgroups);
  return chosen;
}

uint64_t LargestLocalHeap(const VkPhysicalDeviceMemoryProperties& memory) {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) {
      largest = std::max<uint64_t>(largest, memory.memoryHeaps[i].size);
    }
  }
  return largest;
}

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

struct TypeWishes {
  VkMemoryPropertyFlags required = 0, preferred = 0, avoided = 0;
  uint64_t least_heap_bytes = 0;
};

// The first type of those that have all that is required, most of what is preferred, then least of what is avoided.
int FindMemoryType(const VkPhysicalDeviceMemoryProperties& memory, const TypeWishes& wishes) {
  int best = -1, best_score = 0;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    // Protected, lazily allocated and vendor kinds (AMD's uncached device memory) are not for us.
    const bool plain = (flags & ~(kLocal | kHost | kCached)) == 0;
    const bool large = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size >= wishes.least_heap_bytes;
    if (!plain || !large || (flags & wishes.required) != wishes.required) continue;
    const int score = 4 * std::popcount(flags & wishes.preferred) - std::popcount(flags & wishes.avoided);
    if (best < 0 || score > best_score) best = static_cast<int>(i), best_score = score;
  }
  return best;
}

MemoryChoice Choice(const VkPhysicalDeviceMemoryProperties& memory, int type) {
  const VkMemoryType& chosen = memory.memoryTypes[type];
  MemoryChoice choice;
  choice.type = static_cast<uint32_t>(type);
  choice.heap = chosen.heapIndex;
  choice.host_visible = (chosen.propertyFlags & kHost) == kHost;
  choice.host_cached = choice.host_visible && (chosen.propertyFlags & kCached) != 0;
  return choice;
}

std::vector<MemoryHeap> HeapsOf(const PhysicalSupport& support) {
  const bool software = support.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  std::vector<MemoryHeap> heaps;
  for (uint32_t i = 0; i < support.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = support.memory.memoryHeaps[i];
    heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
    // Older software drivers state a small heap whatever the machine has, and do not mean it.
    if (software) heaps.back().bytes = std::max(heaps.back().bytes, support.host_memory_bytes);
  }
  return heaps;
}

Status ChooseMemory(const PhysicalSupport& support, const PlanWants& wants, DevicePlan& plan) {
  const VkPhysicalDeviceMemoryProperties& memory = support.memory;
  const uint64_t largest = LargestLocalHeap(memory);
  const bool invisible = wants.pretend == PretendedMemory::kInvisible;
  // Host-visible device memory holds tensors only if all of it is visible (unified memory, software, a full-size BAR):
  // a small window is precious. Argument blocks are small.
  int device = -1, arguments = -1;
  if (!invisible) {
    device = FindMemoryType(memory, {.required = kLocal | kHost, .preferred = kCached, .least_heap_bytes = largest});
    arguments = device >= 0 ? device : FindMemoryType(memory, {.required = kLocal | kHost});
  }
  if (device < 0) device = FindMemoryType(memory, {.required = kLocal, .least_heap_bytes = largest});
  const int upload = FindMemoryType(memory, {.required = kHost, .avoided = kLocal | kCached});
  const int readback = FindMemoryType(memory, {.required = kHost, .preferred = kCached, .avoided = kLocal});
  if (device < 0 || upload < 0) {
    return Unsupported("device {}: no {} memory", support.properties.deviceName,
                       device < 0 ? "device-local" : "host-visible coherent");
  }
  const auto set = [&](MemoryKind kind, int type) { plan.memory[static_cast<int>(kind)] = Choice(memory, type); };
  set(MemoryKind::kDevice, device);
  set(MemoryKind::kUpload, upload);
  set(MemoryKind::kReadback, readback);
  set(MemoryKind::kArguments, arguments < 0 ? upload : arguments);
  plan.facts.arguments_over_bus = arguments < 0;
  MemoryChoice& chosen = plan.memory[static_cast<int>(MemoryKind::kDevice)];
  Pretend(wants.pretend, chosen);
  plan.heaps = HeapsOf(support);
  for (MemoryHeap& heap : plan.heaps) heap.bytes = std::min(heap.bytes, wants.memory_limit_bytes);
  plan.facts.memory_bytes = plan.heaps[chosen.heap].bytes;
  return OkStatus();
}

// Mesa's drivers open without a GPU, to compile for it: they state no memory at all.
bool IsNullHardware(const VkPhysicalDeviceMemoryProperties& memory) {
  const auto empty = [](const VkMemoryHeap& heap) { return heap.size == 0; };
  return std::all_of(memory.memoryHeaps, memory.memoryHeaps + memory.memoryHeapCount, empty);
}

// Plans are made as if it had the memory of a common card.
void PlanNullHardware(DevicePlan& plan) {
  constexpr uint64_t kBytes = uint64_t{16} << 30;
  plan.heaps = {{kBytes, true}};
  plan.facts.memory_bytes = kBytes;
}

// How many units run workgroups, and the invocations that each holds where registers allow.
void FillUnits(const PhysicalSupport& support, DeviceFacts& facts) {
  const VkPhysicalDeviceShaderCorePropertiesAMD& amd = support.amd_cores;
  const VkPhysicalDeviceShaderSMBuiltinsPropertiesNV& nvidia = support.nvidia_cores;
  constexpr uint32_t kWarp = 32;
  if (nvidia.shaderSMCount != 0) {
    facts.compute_units = nvidia.shaderSMCount;
    facts.unit_invocations = nvidia.shaderWarpsPerSM * kWarp;
  } else if (support.arm_cores.shaderCoreCount != 0) {
    facts.compute_units = support.arm_cores.shaderCoreCount;
    facts.unit_invocations = support.arm_cores.shaderWarpsPerCore * support.subgroups.subgroupSize;
  } else {
    // Arrays of a cut-down chip have different numbers of units, of which the former extension gives one.
    facts.compute_units = support.amd_active_cores.activeComputeUnitCount;
    if (facts.compute_units == 0)
      facts.compute_units = amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
    facts.unit_invocations = amd.simdPerComputeUnit * amd.wavefrontsPerSimd * amd.wavefrontSize;
  }
  if (facts.unit_invocations == 0) facts.compute_units = 0;  // null hardware has units of none
}

void FillLimits(const PhysicalSupport& support, const DevicePlan& plan, DeviceFacts& facts) {
  const VkPhysicalDeviceLimits& limits = support.properties.limits;
  facts.subgroup_size = std::max(1u, support.subgroups.subgroupSize);
  facts.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; ++i) {
    facts.max_workgroup_size[i] = limits.maxComputeWorkGroupSize[i];
    facts.max_group_count[i] = limits.maxComputeWorkGroupCount[i];
  }
  facts.max_shared_bytes = limits.maxComputeSharedMemorySize;
  facts.max_storage_range_bytes = limits.maxStorageBufferRange;
  facts.max_allocation_bytes =
      std::min<uint64_t>({support.sizes.maxMemoryAllocationSize, support.max_buffer_bytes, facts.memory_bytes});
  facts.storage_offset_alignment = std::max<uint32_t>(4, limits.minStorageBufferOffsetAlignment);
  facts.max_storage_buffers = std::min(
      {limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers, limits.maxPerStageResources});
  facts.timestamp_period_ns = plan.timestamp_bits == 0 ? 0.0f : limits.timestampPeriod;
}

// What the slowest devices of a kind do with our kernels, or a tenth of what so many units can where the driver lists
// them, and a tenth of what systems allow a submission. Too low a rate costs: an H100's product of 4096 x 4096, cut
// into seven parts, ran at 40 % of its speed.
void FillRates(DeviceFacts& facts) {
  const bool discrete = facts.kind == DeviceFacts::Kind::kDiscrete;
  facts.flop_per_second = std::max(discrete ? 4e11 : 4e10, facts.compute_units * (discrete ? 3e10 : 1e10));
  facts.bytes_per_second = std::max(discrete ? 5e10 : 5e9, facts.compute_units * (discrete ? 2e9 : 5e8));
  facts.work_budget_seconds = 0.2;
  facts.busy_workgroups = discrete ? 512 : 64;
}

void FillIdentity(const PhysicalSupport& support, DeviceFacts& facts) {
  const VkPhysicalDeviceProperties& properties = support.properties;
  facts.name = properties.deviceName;
  facts.driver = support.driver.driverName;
  facts.driver_version = support.driver.driverInfo;
  if (facts.driver_version.empty()) facts.driver_version = VersionText(properties.driverVersion);
  facts.api_version = properties.apiVersion;
  facts.vendor_id = properties.vendorID;
  facts.device_id = properties.deviceID;
  std::memcpy(facts.device_uuid.data(), support.ids.deviceUUID, VK_UUID_SIZE);
  std::memcpy(facts.driver_uuid.data(), support.ids.driverUUID, VK_UUID_SIZE);
  facts.kind = KindOf(properties.deviceType);
  facts.kernel_operations = KernelOperations(facts.driver);
  FillRates(facts);
  if (facts.is_software()) NoteHostProcessor(facts);
}

void FillFeatures(const PhysicalSupport& support, const FeatureChain& enabled, DeviceFacts& facts) {
  facts.int64 = enabled.base.features.shaderInt64;
  facts.float64 = enabled.base.features.shaderFloat64;
  facts.float16 = enabled.vulkan12.shaderFloat16;
  facts.storage16 = enabled.vulkan11.storageBuffer16BitAccess;
  facts.storage8 = enabled.vulkan12.storageBuffer8BitAccess;
  // Where the driver makes single products of it (RADV on Vega) it saves nothing and takes registers.
  facts.integer_dot_product =
      enabled.integer_dot_product.shaderIntegerDotProduct &&
      (support.dot_product_accelerated || support.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
  facts.byte_offsets = facts.int64;
  facts.wide_atomics = facts.int64 && enabled.vulkan12.shaderBufferInt64Atomics;
  facts.buffer_arrays = enabled.base.features.shaderStorageBufferArrayDynamicIndexing;
  facts.buffer_addresses = enabled.vulkan12.bufferDeviceAddress;
  constexpr VkExternalMemoryFeatureFlags kBoth =
      VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  facts.shares_memory = (support.opaque_memory & kBoth) == kBoth;
  constexpr VkExternalSemaphoreFeatureFlags kGoes =
      VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
  facts.shares_signals = (support.opaque_timeline & kGoes) == kGoes ? DeviceFacts::SharedSignals::kCounting
                         : (support.opaque_binary & kGoes) == kGoes ? DeviceFacts::SharedSignals::kInTurn
                                                                    : DeviceFacts::SharedSignals::kNone;
  facts.host_pointer_alignment = support.host_pointer_alignment;
  // SPIR-V 1.6 modules carry LocalSizeId, which is maintenance4's.
  facts.spirv_1_6 = support.properties.apiVersion >= VK_API_VERSION_1_3 && enabled.maintenance4.maintenance4;
  // A host may have left them off.
  if (!HasFloatControls(support.properties.apiVersion, support.extensions)) return;
  const VkPhysicalDeviceFloatControlsProperties& floats = support.floats;
  facts.signed_zero_inf_nan_preserve_16 = floats.shaderSignedZeroInfNanPreserveFloat16;
  facts.signed_zero_inf_nan_preserve_32 = floats.shaderSignedZeroInfNanPreserveFloat32;
  facts.signed_zero_inf_nan_preserve_64 = floats.shaderSignedZeroInfNanPreserveFloat64;
  facts.rounding_rte_16 = floats.shaderRoundingModeRTEFloat16;
  facts.rounding_rte_32 = floats.shaderRoundingModeRTEFloat32;
  facts.rounding_rte_64 = floats.shaderRoundingModeRTEFloat64;
  facts.denorm_preserve_16 = floats.shaderDenormPreserveFloat16;
  facts.denorm_preserve_32 = floats.shaderDenormPreserveFloat32;
  facts.denorm_preserve_64 = floats.shaderDenormPreserveFloat64;
}

// Subgroups are of use only where they are full and of one size: a lane that is missing would give its neighbours
// anything.
void PlanSubgroups(const PhysicalSupport& support, DevicePlan& plan) {
  constexpr VkSubgroupFeatureFlags kOperations =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  const VkPhysicalDeviceSubgroupSizeControlFeatures& enabled = plan.features.subgroup_size_control;
  const bool varies = support.min_subgroup_size < support.max_subgroup_size;
  const bool requirable = enabled.subgroupSizeControl && support.subgroup_size_requirable;
  // Modules of SPIR-V 1.6 leave the size to the driver unless the pipeline requires one.
  const bool one_size = !varies || requirable || !plan.facts.spirv_1_6;
  plan.facts.subgroup_shuffle = one_size && enabled.computeFullSubgroups &&
                                (support.subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                (support.subgroups.supportedOperations & kOperations) == kOperations;
  if (varies && requirable) plan.smallest_subgroup_size = support.min_subgroup_size;
  if (!plan.facts.subgroup_shuffle || !varies || !requirable) return;
  plan.required_subgroup_size = plan.facts.subgroup_size;
}

std::optional<ElementType> TypeOf(uint32_t component) {
  constexpr std::pair<uint32_t, ElementType> kTypes[] = {{kComponentFloat16, ElementType::kF16},
                                                         {kComponentBfloat16, ElementType::kBF16},
                                                         {kComponentFloat8E4M3, ElementType::kF8E4M3FN},
                                                         {kComponentFloat8E5M2, ElementType::kF8E5M2},
                                                         {kComponentFloat32, ElementType::kF32},
                                                         {kComponentSint8, ElementType::kS8},
                                                         {kComponentUint8, ElementType::kU8},
                                                         {kComponentSint32, ElementType::kS32},
                                                         {kComponentUint32, ElementType::kU32}};
  const auto* const known = std::ranges::find(kTypes, component, &std::pair<uint32_t, ElementType>::first);
  return known == std::end(kTypes) ? std::nullopt : std::optional(known->second);
}

// The terms and sums of a product of one type of 16 or 8 bits in sums of 32 that kernels may use.
template <typename Properties>
std::optional<std::pair<ElementType, ElementType>> TypesOf(const Properties& p, const DevicePlan& plan) {
  const auto term = TypeOf(p.a), sum = TypeOf(p.c);
  if (!term || !sum || p.a != p.b || p.c != p.result || p.saturating) return std::nullopt;
  const bool bytes = StorageBytes(*term) == 1 && !IsFloating(*term) && plan.features.vulkan12.shaderInt8;
  const bool floats = *term == ElementType::kF16    ? plan.facts.float16
                      : *term == ElementType::kBF16 ? plan.features.bfloat16.shaderBFloat16CooperativeMatrix
                      : StorageBytes(*term) == 1 && IsFloating(*term)
                          ? plan.features.float8.shaderFloat8CooperativeMatrix
                          : false;
  if (StorageBytes(*sum) != 4 || !(IsFloating(*sum) ? floats : bytes)) return std::nullopt;
  return std::pair(*term, *sum);
}

// Of the products of whole workgroups that kernels are made for those that the device takes.
void PlanGroupMatrices(const PhysicalSupport& support, DevicePlan& plan) {
  DeviceFacts& facts = plan.facts;
  const CooperativeMatrix2Properties& limits = support.matrices2;
  for (VkBool32 CooperativeMatrix2Features::*feature : kGroupMatrixFeatures) {
    if (!(plan.features.cooperative_matrix2.*feature)) return;
  }
  // Layouts begin at elements, which text can only name where it may calculate with them.
  if (!facts.storage16 || !facts.storage8 || !plan.features.base.features.shaderInt16) return;
  if (facts.matrices.empty() || !plan.features.vulkan12.shaderInt8) return;
  if (limits.reserved_shared_bytes > facts.max_shared_bytes) return;
  for (const MatrixShape& form : GroupMatrixForms()) {
    if (form.invocations > std::min(limits.most_invocations, facts.max_workgroup_size[0]) ||
        std::max(form.rows, form.columns) > limits.most_extent)
      continue;
    for (const FlexibleDimensions& p : support.flexible_matrices) {
      const auto types = TypesOf(p, plan);
      const bool whole = p.m != 0 && p.n != 0 && p.k != 0 && form.rows % p.m == 0 && form.columns % p.n == 0 &&
                         form.k % p.k == 0 && form.columns % p.k == 0;
      if (!types || !whole || p.scope != kWorkgroupScope || p.invocations != form.invocations) continue;
      MatrixShape matrix = form;
      std::tie(matrix.term, matrix.sum) = *types;
      facts.group_matrices.push_back(matrix);
    }
  }
}

// Products by whole subgroups of a size that pipelines can be sure of.
void PlanMatrices(const PhysicalSupport& support, DevicePlan& plan) {
  DeviceFacts& facts = plan.facts;
  if (!plan.features.cooperative_matrix.cooperativeMatrix || !facts.subgroup_shuffle || !facts.spirv_1_6) return;
  facts.matrix_lanes = plan.smallest_subgroup_size != 0 ? plan.smallest_subgroup_size : facts.subgroup_size;
  for (const CooperativeMatrixProperties& p : support.matrices) {
    const auto types = TypesOf(p, plan);
    if (!types || p.scope != kSubgroupScope) continue;
    const auto [term, sum] = *types;
    // The units read strips of terms along k by 16 bytes (dot/matmul_matrices.comp): not lavapipe's bytes in 8 x 8 x 8.
    const bool whole = p.m * p.n % facts.matrix_lanes == 0 && p.n % 4 == 0 && p.k * StorageBytes(term) % 16 == 0;
    if (whole) facts.matrices.push_back({term, sum, p.m, p.n, p.k});
  }
  if (!facts.matrices.empty()) facts.matrix_rate = MatrixRateOf(facts);
  PlanGroupMatrices(support, plan);
  // Large ones read each term least often; square ones before others.
  std::ranges::stable_sort(facts.matrices, std::greater(), [](const MatrixShape& m) {
    return std::pair(m.rows * m.columns, std::min(m.rows, m.columns) * 1024 + m.k);
  });
}

std::vector<const char*> ChooseExtensions(const PhysicalSupport& support) {
  std::vector<const char*> names;
  auto want = [&](const char* name) {
    if (Has(support.extensions, name)) names.push_back(name);
  };
  const uint32_t api = support.properties.apiVersion;
  FeatureChain chain;
  // Linked whenever they are listed, so they are enabled with their structs.
  VisitSingle(chain, [&](auto&, VkStructureType, const char* extension, bool since_13) {
    const bool wanted = !since_13 || api < VK_API_VERSION_1_3;
    if (wanted && HasSingle(support.extensions, extension)) names.push_back(extension);
  });
  if (IsOlder(api)) {
    VisitOlder(chain.older, chain.vulkan11, chain.vulkan12,
               [&](auto&, VkStructureType, const char* extension, auto...) {
                 if (extension != nullptr) want(extension);
               });
    want(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  }
  want(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  for (const char* name : ExternalExtensions()) want(name);
  want(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  want(SemaphoreExtension());
  want(VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME);  // where it is listed it must be enabled
  return names;
}

}  // namespace

std::span<const MatrixShape> GroupMatrixForms() {
  static constexpr MatrixShape kForms[] = {{.rows = 128, .columns = 256, .k = 64, .invocations = 256},
                                           {.rows = 128, .columns = 128, .k = 64, .invocations = 256},
                                           {.rows = 64, .columns = 64, .k = 64, .invocations = 128}};
  return kForms;
}

VkPhysicalDeviceFeatures2* FeatureChain::Link(uint32_t api_version, const std::set<std::string>& extensions) {
  void** tail = nullptr;
  auto add = [&](auto& feature, VkStructureType type) {
    feature.sType = type;
    feature.pNext = nullptr;
    if (tail != nullptr) *tail = &feature;
    tail = &feature.pNext;
  };
  add(base, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  if (IsOlder(api_version)) {
    VisitOlder(older, vulkan11, vulkan12,
               [&](auto& feature, VkStructureType type, const char* extension, auto... said) {
                 feature = {};
                 ((said.first = said.second), ...);
                 if (extension == nullptr || Has(extensions, extension)) add(feature, type);
               });
  } else {
    add(vulkan11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    add(vulkan12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  }
  VisitSingle(*this, [&](auto& feature, VkStructureType type, const char* extension, bool since_13) {
    if (HasSingle(extensions, extension) || (since_13 && api_version >= VK_API_VERSION_1_3)) add(feature, type);
  });
  return &base;
}

void FeatureChain::TakeOlder() {
  VisitOlder(older, vulkan11, vulkan12,
             [](auto&, VkStructureType, const char*, auto... said) { ((said.second = said.first), ...); });
}

namespace {

// What buffers can do with memory that goes by opaque handles.
VkExternalMemoryFeatureFlags OpaqueMemoryOf(const InstanceTable& vk, VkPhysicalDevice device) {
  auto info = MakeVk<VkPhysicalDeviceExternalBufferInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.handleType = OpaqueHandleType();
  auto can = MakeVk<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
  vk.GetPhysicalDeviceExternalBufferProperties(device, &info, &can);
  return can.externalMemoryProperties.externalMemoryFeatures;
}

VkExternalSemaphoreFeatureFlags OpaqueSemaphoreOf(const InstanceTable& vk, VkPhysicalDevice device,
                                                  VkSemaphoreType type) {
  auto of_type = MakeVk<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  of_type.semaphoreType = type;
  auto info = MakeVk<VkPhysicalDeviceExternalSemaphoreInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO);
  info.pNext = &of_type;
  info.handleType = SemaphoreHandleType();
  auto can = MakeVk<VkExternalSemaphoreProperties>(VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES);
  vk.GetPhysicalDeviceExternalSemaphoreProperties(device, &info, &can);
  return can.externalSemaphoreFeatures;
}

// What the instance's function of that name lists of a device; nothing where there is none.
template <typename Get, typename Item>
Status QueryList(const InstanceTable& vk, VkPhysicalDevice device, const char* name, const PhysicalSupport& support,
                 std::vector<Item>& list) {
  const auto get = reinterpret_cast<Get>(vk.GetInstanceProcAddr(vk.instance, name));
  if (get == nullptr) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(list, ListOf<Item>(fmt::format("{} of {}", name, support.properties.deviceName),
                                           [&](uint32_t* count, Item* found) { return get(device, count, found); }));
  return OkStatus();
}

// The products that a device of these extensions offers.
Status QueryMatrices(const InstanceTable& vk, VkPhysicalDevice device, PhysicalSupport& support) {
  if (Has(support.extensions, kCooperativeMatrixExtension)) {
    VXLA_RETURN_IF_ERROR(QueryList<GetCooperativeMatrixProperties>(
        vk, device, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", support, support.matrices));
  }
  if (!Has(support.extensions, kCooperativeMatrix2Extension)) return OkStatus();
  return QueryList<GetFlexibleDimensions>(vk, device,
                                          "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", support,
                                          support.flexible_matrices);
}

// What its structs of properties say, of its version and extensions.
void QueryProperties(const InstanceTable& vk, VkPhysicalDevice device, uint32_t api, PhysicalSupport& support) {
  auto properties = MakeVk<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  void** tail = &properties.pNext;
  const auto ask = [&](auto& found, VkStructureType type, bool there = true) {
    if (!there) return;
    found.sType = type;
    *tail = &found;
    tail = &found.pNext;
  };
  const auto has = [&](const char* extension) { return Has(support.extensions, extension); };
  const auto since_13 = [&](const char* extension) { return HasSince13(api, support.extensions, extension); };
  ask(support.ids, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  ask(support.subgroups, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  ask(support.sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  ask(support.driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
      !IsOlder(api) || has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME));
  ask(support.floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
      HasFloatControls(api, support.extensions));
  VkPhysicalDeviceMaintenance4Properties maintenance4{};
  ask(maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
      since_13(VK_KHR_MAINTENANCE_4_EXTENSION_NAME));
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup{};
  ask(subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
      since_13(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME));
  VkPhysicalDeviceShaderIntegerDotProductProperties dot_product{};
  ask(dot_product, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
      since_13(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME));
  ask(support.amd_cores, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD,
      has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME));
  ask(support.amd_active_cores, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD,
      has(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME));
  ask(support.arm_cores, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM,
      has(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME));
  ask(support.nvidia_cores, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV,
      has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  ask(support.matrices2, kCooperativeMatrix2PropertiesType, has(kCooperativeMatrix2Extension));
  VkPhysicalDevicePushDescriptorPropertiesKHR push{};
  ask(push, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR,
      has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME));
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host_pointers{};
  ask(host_pointers, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
      has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME));
  vk.GetPhysicalDeviceProperties2(device, &properties);
  // Copies of what is kept have no chain.
  for (auto* at = reinterpret_cast<VkBaseOutStructure*>(&properties); at != nullptr;)
    at = std::exchange(at->pNext, nullptr);
  support.host_pointer_alignment = host_pointers.minImportedHostPointerAlignment;
  if (maintenance4.maxBufferSize != 0) support.max_buffer_bytes = maintenance4.maxBufferSize;
  support.dot_product_accelerated = dot_product.integerDotProduct4x8BitPackedSignedAccelerated;
  support.max_push_descriptors = push.maxPushDescriptors;
  support.min_subgroup_size = subgroup.minSubgroupSize;
  support.max_subgroup_size = subgroup.maxSubgroupSize;
  support.max_workgroup_subgroups = subgroup.maxComputeWorkgroupSubgroups;
  support.subgroup_size_requirable = (subgroup.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

}  // namespace

Result<PhysicalSupport> QuerySupport(const InstanceTable& vk, VkPhysicalDevice device, uint32_t most_api) {
  PhysicalSupport support;
  vk.GetPhysicalDeviceProperties(device, &support.properties);
  support.properties.apiVersion = std::min(support.properties.apiVersion, most_api);
  vk.GetPhysicalDeviceMemoryProperties(device, &support.memory);
  support.host_memory_bytes = HostMemoryBytes();
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  support.queue_families.resize(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(device, &count, support.queue_families.data());
  const uint32_t api = support.properties.apiVersion;
  if (api < VK_API_VERSION_1_1) return support;  // PlanDevice refuses it; the structs below are unknown to it

  VXLA_ASSIGN_OR_RETURN(const std::vector<VkExtensionProperties> extensions,
                        ListOf<VkExtensionProperties>(
                            fmt::format("vkEnumerateDeviceExtensionProperties of {}", support.properties.deviceName),
                            [&](uint32_t* count, VkExtensionProperties* found) {
                              return vk.EnumerateDeviceExtensionProperties(device, nullptr, count, found);
                            }));
  for (const VkExtensionProperties& extension : extensions) support.extensions.insert(extension.extensionName);

  vk.GetPhysicalDeviceFeatures2(device, support.features.Link(api, support.extensions));
  if (IsOlder(api)) support.features.TakeOlder();
  QueryProperties(vk, device, api, support);
  if (Has(support.extensions, ExternalExtensions()[0])) support.opaque_memory = OpaqueMemoryOf(vk, device);
  if (Has(support.extensions, SemaphoreExtension()) && support.features.vulkan12.timelineSemaphore) {
    support.opaque_binary = OpaqueSemaphoreOf(vk, device, VK_SEMAPHORE_TYPE_BINARY);
    support.opaque_timeline = OpaqueSemaphoreOf(vk, device, VK_SEMAPHORE_TYPE_TIMELINE);
  }
  VXLA_RETURN_IF_ERROR(QueryMatrices(vk, device, support));
  return support;
}

Result<DevicePlan> PlanDevice(PhysicalSupport support, const PlanWants& wants) {
  Hide(wants.emulate, support);
  VXLA_RETURN_IF_ERROR(CheckRequired(support, wants));
  DevicePlan plan;
  VXLA_RETURN_IF_ERROR(ChooseQueues(support, wants, plan));
  plan.features = ChooseFeatures(support.features, wants);
  plan.extensions = ChooseExtensions(support);
  if (IsNullHardware(support.memory)) {
    PlanNullHardware(plan);
  } else {
    VXLA_RETURN_IF_ERROR(ChooseMemory(support, wants, plan));
  }
  FillUnits(support, plan.facts);
  FillIdentity(support, plan.facts);
  FillFeatures(support, plan.features, plan.facts);
  if (plan.facts.is_software() && !wants.emulate.gpu) NoteSoftwareCosts(plan.facts);
  if (IsNullHardware(support.memory)) NoteNullHardware(plan.facts);
  plan.capture_executables = plan.features.executables.pipelineExecutableInfo;
  plan.synchronization2 = plan.features.synchronization2.synchronization2;
  plan.memory_budget = Has(support.extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  plan.memory_priority = plan.features.memory_priority.memoryPriority;
  FillLimits(support, plan, plan.facts);
  PlanSubgroups(support, plan);
  PlanMatrices(support, plan);
  Pretend(wants.emulate, plan.facts);
  // A host's pools and ours are out of the way then; what is recorded once and replayed needs no writes with sets.
  if (wants.push_descriptors && Has(support.extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME))
    plan.most_pushed_descriptors = support.max_push_descriptors;
  plan.max_workgroup_subgroups = support.max_workgroup_subgroups;
  NoteKnownFaults(plan.facts);
  NoteVendorCosts(plan.facts);
  plan.facts.work_budget_seconds = wants.work_budget_seconds.value_or(plan.facts.work_budget_seconds);
  return plan;
}

Result<DeviceRequirements> RequirementsOf(const PhysicalSupport& support) {
  PlanWants wants;
  if (!support.features.vulkan12.bufferDeviceAddress) wants.bindings = BindingMode::kDescriptors;
  VXLA_RETURN_IF_ERROR(CheckRequired(support, wants));
  DeviceRequirements asked;
  asked.features = ChooseFeatures(support.features, wants);
  // Not what only looks at what drivers compiled, nor what only places of a run share, nor matrices of workgroups: a
  // host that wants them enables all of kGroupMatrixFeatures.
  asked.features.cooperative_matrix2 = {};
  for (const char* name : ChooseExtensions(support)) {
    const std::string_view extension = name;
    if (extension != VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME &&
        extension != VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME && extension != kCooperativeMatrix2Extension)
      asked.extensions.push_back(name);
  }
  if (Has(support.extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME))
    asked.extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  const auto liked = std::stable_partition(asked.extensions.begin(), asked.extensions.end(), [](const char* name) {
    return std::strcmp(name, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME) == 0 ||
           std::strcmp(name, VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME) == 0;
  });
  asked.api_version = support.properties.apiVersion;
  asked.needed_extensions = static_cast<size_t>(liked - asked.extensions.begin());
  return asked;
}

float PriorityOf(const std::array<MemoryChoice, kMemoryKinds>& memory, const MemoryChoice& choice) {
  float highest = 0;
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    if (memory[static_cast<size_t>(kind)].type != choice.type) continue;
    // Every kernel reads its arguments; uploads and readback are passed through once.
    const auto which = static_cast<MemoryKind>(kind);
    const float priority = which == MemoryKind::kArguments ? 1.0f : which == MemoryKind::kDevice ? 0.75f : 0.25f;
    highest = std::max(highest, priority);
  }
  return highest;
}

bool HostReadsDirectly(const MemoryChoice& source, const MemoryChoice& readback, uint64_t size_bytes) {
  constexpr uint64_t kFewBytes = 4096;  // cheaper than a submission
  return source.host_visible && (source.host_cached || !readback.host_cached || size_bytes <= kFewBytes);
}

std::optional<uint32_t> TypeToExport(const VkPhysicalDeviceMemoryProperties& memory, uint32_t type_bits,
                                     uint32_t tensors) {
  const auto allowed = [type_bits](uint32_t type) { return (type_bits >> type & 1) != 0; };
  if (allowed(tensors)) return tensors;
  for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
    // No vendor's own kinds.
    if (allowed(type) && memory.memoryTypes[type].propertyFlags == kLocal) return type;
  }
  return std::nullopt;
}

bool ConvertsF16(const DeviceFacts& facts) {
  return facts.float16 && facts.rounding_rte_16 && facts.denorm_preserve_16 && facts.signed_zero_inf_nan_preserve_16;
}

void NoteNullHardware(DeviceFacts& facts) {
  facts.compile_only = facts.fused_multiply_add = true;
  facts.native_f16 = ConvertsF16(facts);
  facts.division_f32 = DeviceFacts::Division::kCorrected;
  if (facts.division_f64 == DeviceFacts::Division::kUnmeasured) facts.division_f64 = DeviceFacts::Division::kNative;
}

Status CheckRuns(const DeviceFacts& facts) {
  if (!facts.compile_only) return OkStatus();
  return DeviceFailure("device {}: null hardware, for which kernels compile (vxla explain) and on which nothing runs",
                       facts.name);
}

std::string DeviceIdentity(const DeviceFacts& facts) {
  std::string text = fmt::format("{}|{}|{}|{:x}|{:x}|{:x}|", facts.name, facts.driver, facts.driver_version,
                                 facts.api_version, facts.vendor_id, facts.device_id);
  for (uint8_t byte : facts.device_uuid) text += fmt::format("{:02x}", byte);
  text += '|';
  for (uint8_t byte : facts.driver_uuid) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
