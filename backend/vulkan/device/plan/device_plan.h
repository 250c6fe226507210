// Device plan: from what a physical device supports to what vxla enables on it. Pure: tested with made-up support, no
// GPU.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/device_facts.h"
#include "backend/vulkan/device/api/functions.h"
#include "backend/vulkan/device/api/matrix_extension.h"
#include "backend/vulkan/device/api/older_features.h"
#include "backend/vulkan/device/plan/heap_ledger.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/device/plan/queue_plan.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// The feature structs that vxla looks at, in one chain. Copies must be linked again before Vulkan sees them.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 base = {};
  VkPhysicalDeviceVulkan11Features vulkan11 = {};
  VkPhysicalDeviceVulkan12Features vulkan12 = {};
  OlderFeatures older = {};  // what Link chains instead of these two on a device of Vulkan 1.1
  // Singly and not as Vulkan13Features, so that the same code serves 1.2 devices with the extensions.
  VkPhysicalDeviceSynchronization2Features synchronization2 = {};
  VkPhysicalDeviceMaintenance4Features maintenance4 = {};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size_control = {};
  VkPhysicalDeviceShaderIntegerDotProductFeatures integer_dot_product = {};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {};
  CooperativeMatrixFeatures cooperative_matrix = {};
  CooperativeMatrix2Features cooperative_matrix2 = {};
  Bfloat16Features bfloat16 = {};
  VkPhysicalDeviceMemoryPriorityFeaturesEXT memory_priority = {};
  VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT pageable_memory = {};
  // Types and chains the structs whose extension is present; returns the head. `older` has then what vulkan11 and
  // vulkan12 say.
  VkPhysicalDeviceFeatures2* Link(uint32_t api_version, const std::set<std::string>& extensions);
  // The other way, once the device has filled the chain in.
  void TakeOlder();
  // What a host enabled: the chain that it gave vkCreateDevice, in whichever of Vulkan's structs.
  static FeatureChain Of(const VkPhysicalDeviceFeatures2& enabled);
};

// Calls visit(struct, its type, its extension, whether it is part of Vulkan 1.3) for those that are chained singly.
// `chain` is a FeatureChain or what has its members; `executables` and `cooperative_matrix2` may be missing.
template <typename Chain, typename Visit>
void VisitSingle(Chain& chain, Visit visit) {
  visit(chain.synchronization2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME, true);
  visit(chain.maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES,
        VK_KHR_MAINTENANCE_4_EXTENSION_NAME, true);
  visit(chain.subgroup_size_control, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, true);
  visit(chain.integer_dot_product, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, true);
  visit(chain.cooperative_matrix, kCooperativeMatrixFeaturesType, kCooperativeMatrixExtension, false);
  if constexpr (requires { chain.cooperative_matrix2; })
    visit(chain.cooperative_matrix2, kCooperativeMatrix2FeaturesType, kCooperativeMatrix2Extension, false);
  visit(chain.bfloat16, kBfloat16FeaturesType, kBfloat16Extension, false);
  if constexpr (requires { chain.executables; })
    visit(chain.executables, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
          VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME, false);
  visit(chain.memory_priority, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PRIORITY_FEATURES_EXT,
        VK_EXT_MEMORY_PRIORITY_EXTENSION_NAME, false);
  visit(chain.pageable_memory, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PAGEABLE_DEVICE_LOCAL_MEMORY_FEATURES_EXT,
        VK_EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME, false);
}

// Everything that is read from a physical device.
struct PhysicalSupport {
  VkPhysicalDeviceProperties properties = {};
  // Singly and not as Vulkan11Properties and Vulkan12Properties, so that the same code serves devices of Vulkan 1.1.
  VkPhysicalDeviceIDProperties ids = {};
  VkPhysicalDeviceSubgroupProperties subgroups = {};
  VkPhysicalDeviceMaintenance3Properties sizes = {};
  VkPhysicalDeviceDriverProperties driver = {};
  VkPhysicalDeviceFloatControlsProperties floats = {};
  uint64_t max_buffer_bytes = ~uint64_t{0};
  uint32_t max_push_descriptors = 0;  // where VK_KHR_push_descriptor is listed
  uint32_t min_subgroup_size = 0, max_subgroup_size = 0;
  uint32_t max_workgroup_subgroups = 0;   // of pipelines that require a subgroup size
  bool subgroup_size_requirable = false;  // by compute pipelines
  bool dot_product_accelerated = false;   // of words of four signed bytes
  std::vector<CooperativeMatrixProperties> matrices;
  std::vector<FlexibleDimensions> flexible_matrices;
  CooperativeMatrix2Properties matrices2 = {};
  VkPhysicalDeviceShaderCorePropertiesAMD amd_cores = {};  // zeros: not said
  VkPhysicalDeviceShaderCoreProperties2AMD amd_active_cores = {};
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm_cores = {};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia_cores = {};
  FeatureChain features;
  VkPhysicalDeviceMemoryProperties memory = {};
  std::vector<VkQueueFamilyProperties> queue_families;
  std::set<std::string> extensions;
  VkExternalMemoryFeatureFlags opaque_memory = 0;  // of buffers, by opaque handles
  // Of semaphores, by opaque handles.
  VkExternalSemaphoreFeatureFlags opaque_binary = 0, opaque_timeline = 0;
  uint64_t host_pointer_alignment = 0;  // 0: it imports no memory of the host's
  uint64_t host_memory_bytes = 0;       // what software drivers really draw on; 0: unknown
};

// As a device of Vulkan `most_api` where it is a newer one.
Result<PhysicalSupport> QuerySupport(const InstanceTable& vk, VkPhysicalDevice device, uint32_t most_api);

struct PlanWants {
  BindingMode bindings = BindingMode::kAddresses;
  PretendedMemory pretend = PretendedMemory::kNone;
  uint64_t memory_limit_bytes = ~uint64_t{0};
  std::optional<double> work_budget_seconds = {};  // not given: as the kind of device needs it
  bool capture_executables = false;                // pipelines keep what the driver made of them
  Emulation emulate = {};                   // these features are not enabled, so facts and kernels know nothing of them
  std::vector<LentQueue> lent_queues = {};  // of a host's device; none: all that are of use
  int most_queues = kMostQueues;
  bool push_descriptors = false;  // where they are enabled
};

struct MemoryChoice {
  uint32_t type = 0, heap = 0;
  bool host_visible = false;
  bool host_cached = false;  // the host reads it at full speed
  friend bool operator==(const MemoryChoice&, const MemoryChoice&) = default;
};

struct DevicePlan {
  DeviceFacts facts;
  FeatureChain features;
  std::vector<const char*> extensions;
  std::vector<uint32_t> queue_families;  // of all queues, each once, in ascending order
  uint32_t timestamp_bits = 0;
  // Of pipelines that use subgroups; 0: the device has only one.
  uint32_t required_subgroup_size = 0, max_workgroup_subgroups = 0;
  // The smallest subgroups that pipelines may require; 0: they take the device's.
  uint32_t smallest_subgroup_size = 0;
  bool synchronization2 = false;  // else barriers and submissions are those of Vulkan 1.0 (synchronization.h)
  bool capture_executables = false;
  bool memory_budget = false;    // the driver says how much of each heap this program may use now
  bool memory_priority = false;  // and takes a priority of each allocation (PriorityOf)
  // Descriptors of a kernel that are pushed (VK_KHR_push_descriptor) and not put into sets; 0: none are.
  uint32_t most_pushed_descriptors = 0;
  std::vector<MemoryHeap> heaps;
  std::array<MemoryChoice, kMemoryKinds> memory;  // by MemoryKind
};

// The products of a whole workgroup that kernels are made for, the largest first; their terms and sums are the
// device's.
std::span<const MatrixShape> GroupMatrixForms();

// What the driver should keep on the device rather than something else, 0 to 1 (VK_EXT_memory_priority; 0.5 is what
// allocations have that say nothing). Kinds that share memory have the highest of theirs.
float PriorityOf(const std::array<MemoryChoice, kMemoryKinds>& memory, const MemoryChoice& choice);

// Whether the host reads so many bytes of `source` itself, or the device copies them to `readback` first: what is not
// cached comes a word at a time, over the bus of a discrete device.
bool HostReadsDirectly(const MemoryChoice& source, const MemoryChoice& readback, uint64_t size_bytes);

// kUnsupported with what is missing.
Result<DevicePlan> PlanDevice(PhysicalSupport support, const PlanWants& wants);

// What vxla asks a host to enable, as PlanDevice would on a device of its own.
struct DeviceRequirements {
  FeatureChain features;
  std::vector<const char*> extensions;
  size_t needed_extensions = 0;  // the first of them; the others are liked
  uint32_t api_version = 0;      // which features need no extensions of their own
};
// kUnsupported with what the device lacks.
Result<DeviceRequirements> RequirementsOf(const PhysicalSupport& support);

// What is taken for granted of null hardware, as no probe runs on it: what GPUs are found to do, f64 right.
void NoteNullHardware(DeviceFacts& facts);
// kDeviceFailure for null hardware.
Status CheckRuns(const DeviceFacts& facts);

// Whether float16 is there with the modes that make conversions to it round to nearest even and keep denormals.
bool ConvertsF16(const DeviceFacts& facts);

// The memory type of tensors that others may open, of those whose bit is set: `tensors`, which others lie in, or
// another one on the device, as NVIDIA exports none that the host sees too. None: there is none.
std::optional<uint32_t> TypeToExport(const VkPhysicalDeviceMemoryProperties& memory, uint32_t type_bits,
                                     uint32_t tensors);

// Names a device and its driver for cache keys: what else is equal may share compiled things.
std::string DeviceIdentity(const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
