// Choosing a device and planning what to enable on it, with made-up facts.
#include "backend/vulkan/device/device_plan.h"

#include <gmock/gmock.h>

#include <cstring>

#include "backend/vulkan/device/free_list.h"
#include "backend/vulkan/device/open.h"
#include "backend/vulkan/device/validation.h"
#include "backend/vulkan/device/vk_status.h"

namespace vxla::vulkan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StrEq;

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint64_t kGiB = uint64_t{1} << 30;

struct Heap {
  uint64_t bytes;
  VkMemoryHeapFlags flags;
};
struct Type {
  VkMemoryPropertyFlags flags;
  uint32_t heap;
};

void SetMemory(PhysicalSupport& support, const std::vector<Heap>& heaps, const std::vector<Type>& types) {
  support.memory = {};
  support.memory.memoryHeapCount = static_cast<uint32_t>(heaps.size());
  support.memory.memoryTypeCount = static_cast<uint32_t>(types.size());
  for (size_t i = 0; i < heaps.size(); ++i) support.memory.memoryHeaps[i] = {heaps[i].bytes, heaps[i].flags};
  for (size_t i = 0; i < types.size(); ++i) support.memory.memoryTypes[i] = {types[i].flags, types[i].heap};
}

// A discrete GPU with a small window of host-visible device memory.
PhysicalSupport FakeGpu() {
  PhysicalSupport support;
  std::strcpy(support.properties.deviceName, "Fake GPU 9000");
  support.properties.apiVersion = VK_API_VERSION_1_3;
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  VkPhysicalDeviceLimits& limits = support.properties.limits;
  limits.maxComputeWorkGroupInvocations = 1024;
  limits.maxPerStageDescriptorStorageBuffers = 32;
  limits.maxDescriptorSetStorageBuffers = 24;
  limits.maxPerStageResources = 100;
  limits.maxStorageBufferRange = 1u << 27;
  limits.minStorageBufferOffsetAlignment = 64;
  limits.timestampPeriod = 2.0f;
  support.vulkan11.maxMemoryAllocationSize = 4 * kGiB;
  support.vulkan11.subgroupSize = 32;
  support.vulkan11.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  support.vulkan11.subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  support.features.base.features.shaderInt64 = VK_TRUE;
  support.features.base.features.robustBufferAccess = VK_TRUE;
  support.features.vulkan12.timelineSemaphore = VK_TRUE;
  support.features.vulkan12.bufferDeviceAddress = VK_TRUE;
  support.features.synchronization2.synchronization2 = VK_TRUE;
  support.features.maintenance4.maintenance4 = VK_TRUE;
  support.queue_families.resize(1);
  support.queue_families[0].queueFlags = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  support.queue_families[0].queueCount = 1;
  support.queue_families[0].timestampValidBits = 48;
  SetMemory(support,
            {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}, {kGiB / 4, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
            {{kLocal, 0}, {kHost, 1}, {kHost | kCached, 1}, {kLocal | kHost, 2}});
  return support;
}

const MemoryChoice& Memory(const DevicePlan& plan, MemoryKind kind) { return plan.memory[static_cast<int>(kind)]; }

TEST(DevicePlanTest, EnablesWhatIsThereAndNothingElse) {
  const auto plan = PlanDevice(FakeGpu(), {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->facts.int64);
  EXPECT_FALSE(plan->facts.float64);
  EXPECT_FALSE(plan->features.base.features.shaderFloat64);
  EXPECT_TRUE(plan->facts.buffer_addresses);
  EXPECT_TRUE(plan->facts.spirv_1_6);
  EXPECT_TRUE(plan->facts.subgroup_shuffle);
  EXPECT_EQ(plan->facts.max_storage_buffers, 24u);
  EXPECT_EQ(plan->facts.storage_offset_alignment, 64u);
  EXPECT_EQ(plan->facts.timestamp_period_ns, 2.0f);
  EXPECT_EQ(plan->facts.max_allocation_bytes, 4 * kGiB);
  EXPECT_THAT(plan->extensions, IsEmpty());
}

TEST(DevicePlanTest, RobustAccessBelongsToDescriptors) {
  EXPECT_FALSE(PlanDevice(FakeGpu(), {BindingMode::kAddresses, false})->facts.robust_buffer_access);
  EXPECT_TRUE(PlanDevice(FakeGpu(), {BindingMode::kDescriptors, false})->facts.robust_buffer_access);
}

TEST(DevicePlanTest, NamesWhatIsMissing) {
  PhysicalSupport support = FakeGpu();
  support.features.vulkan12.timelineSemaphore = VK_FALSE;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), StrEq("device Fake GPU 9000: no timelineSemaphore"));
  support = FakeGpu();
  support.features.vulkan12.bufferDeviceAddress = VK_FALSE;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("no bufferDeviceAddress"));
  EXPECT_TRUE(PlanDevice(support, {BindingMode::kDescriptors, false}).ok());
  support.properties.apiVersion = VK_API_VERSION_1_1;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("Vulkan 1.1.0 is older than 1.2"));
  support = FakeGpu();
  support.queue_families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("no queue family runs compute"));
}

TEST(DevicePlanTest, OlderDevicesUseExtensionsAndOlderModules) {
  PhysicalSupport support = FakeGpu();
  support.properties.apiVersion = VK_API_VERSION_1_2;
  support.extensions = {VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME, VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME};
  const auto plan = PlanDevice(support, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->facts.spirv_1_6);
  EXPECT_THAT(plan->extensions, Contains(StrEq(VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME)));
  EXPECT_THAT(plan->extensions, Contains(StrEq(VK_KHR_PORTABILITY_SUBSET_EXTENSION_NAME)));
  EXPECT_THAT(plan->extensions, Not(Contains(StrEq(VK_KHR_MAINTENANCE_4_EXTENSION_NAME))));
}

TEST(DevicePlanTest, ChainsOnlyStructsThatTheDeviceKnows) {
  FeatureChain chain;
  int count = 0;
  for (auto* at = reinterpret_cast<VkBaseOutStructure*>(chain.Link(VK_API_VERSION_1_2, {})); at != nullptr;
       at = at->pNext) {
    ++count;
  }
  EXPECT_EQ(count, 3);
  count = 0;
  for (auto* at = reinterpret_cast<VkBaseOutStructure*>(chain.Link(VK_API_VERSION_1_3, {})); at != nullptr;
       at = at->pNext) {
    ++count;
  }
  EXPECT_EQ(count, 6);
}

TEST(DevicePlanTest, ASmallWindowOfDeviceMemoryIsNotForTensors) {
  const auto plan = PlanDevice(FakeGpu(), {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Memory(*plan, MemoryKind::kDevice).type, 0u);
  EXPECT_FALSE(plan->facts.host_visible_device_memory);
  EXPECT_EQ(plan->facts.memory_bytes, 8 * kGiB);
  EXPECT_EQ(Memory(*plan, MemoryKind::kReadback).type, 2u);
  EXPECT_TRUE(Memory(*plan, MemoryKind::kReadback).host_cached);
  EXPECT_TRUE(Memory(*plan, MemoryKind::kUpload).host_visible);
}

TEST(DevicePlanTest, UnifiedMemoryIsHostVisible) {
  PhysicalSupport support = FakeGpu();
  SetMemory(support, {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}}, {{kLocal, 0}, {kLocal | kHost | kCached, 0}});
  const auto plan = PlanDevice(support, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->facts.host_visible_device_memory);
  EXPECT_TRUE(Memory(*plan, MemoryKind::kDevice).host_cached);
  const auto pretended = PlanDevice(support, {BindingMode::kAddresses, true});
  ASSERT_TRUE(pretended.ok());
  EXPECT_FALSE(pretended->facts.host_visible_device_memory);
  EXPECT_TRUE(Memory(*pretended, MemoryKind::kUpload).host_visible);
}

TEST(DevicePlanTest, SoftwareDevicesHaveTheMachinesMemory) {
  PhysicalSupport support = FakeGpu();
  support.host_memory_bytes = 48 * kGiB;
  EXPECT_EQ(PlanDevice(support, {})->facts.memory_bytes, 8 * kGiB);
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(PlanDevice(support, {})->facts.memory_bytes, 48 * kGiB);
  EXPECT_EQ(PlanDevice(support, {})->facts.max_allocation_bytes, 4 * kGiB);
  support.host_memory_bytes = kGiB;
  EXPECT_EQ(PlanDevice(support, {})->facts.memory_bytes, 8 * kGiB);
}

TEST(DevicePlanTest, RequiresASubgroupSizeOnlyWhereItVaries) {
  PhysicalSupport support = FakeGpu();
  support.features.subgroup_size_control.subgroupSizeControl = VK_TRUE;
  support.min_subgroup_size = support.max_subgroup_size = 32;
  EXPECT_EQ(PlanDevice(support, {})->required_subgroup_size, 0u);
  support.min_subgroup_size = 8;
  EXPECT_EQ(PlanDevice(support, {})->required_subgroup_size, 32u);
}

DeviceFacts Facts(const char* name, DeviceFacts::Kind kind, uint64_t memory) {
  DeviceFacts facts;
  facts.name = name;
  facts.kind = kind;
  facts.memory_bytes = memory;
  return facts;
}

const std::vector<DeviceFacts> kDevices = {Facts("llvmpipe (LLVM 15)", DeviceFacts::Kind::kSoftware, 64 * kGiB),
                                           Facts("Tiny Arc", DeviceFacts::Kind::kDiscrete, 4 * kGiB),
                                           Facts("Big Radeon", DeviceFacts::Kind::kDiscrete, 24 * kGiB),
                                           Facts("Iris", DeviceFacts::Kind::kIntegrated, 32 * kGiB)};

TEST(ChooseDeviceTest, TakesTheBestKindThenTheLargerMemory) {
  EXPECT_EQ(*ChooseDevice(kDevices, "vulkan"), 2);
  EXPECT_EQ(*ChooseDevice(std::span(kDevices).subspan(3), "vulkan"), 0);
  EXPECT_EQ(*ChooseDevice(std::span(kDevices).first(1), "vulkan"), 0);
}

TEST(ChooseDeviceTest, PrefersNativeTypesAmongEquals) {
  std::vector<DeviceFacts> devices(2, Facts("software", DeviceFacts::Kind::kSoftware, kGiB));
  devices[1].int64 = devices[1].storage8 = true;
  EXPECT_EQ(*ChooseDevice(devices, "vulkan"), 1);
}

TEST(EmulationTest, FeaturesThatAreEmulatedAreNotEnabled) {
  PhysicalSupport support = FakeGpu();
  support.features.base.features.shaderInt64 = support.features.base.features.shaderFloat64 = VK_TRUE;
  support.features.vulkan11.storageBuffer16BitAccess = support.features.vulkan12.storageBuffer8BitAccess = VK_TRUE;
  support.features.vulkan12.shaderFloat16 = VK_TRUE;
  const auto facts_with = [&](const char* names) {
    PlanWants wants;
    wants.emulate = *ParseEmulation(names);
    return PlanDevice(support, wants)->facts;
  };
  const DeviceFacts all = facts_with("");
  EXPECT_TRUE(all.int64 && all.float64 && all.float16 && all.storage16 && all.storage8 && all.subgroup_shuffle);
  EXPECT_FALSE(facts_with("i64").int64);
  EXPECT_TRUE(facts_with("i64").float64);
  EXPECT_FALSE(facts_with("f64").float64);
  EXPECT_FALSE(facts_with("f16").float16);
  EXPECT_FALSE(facts_with("f16").storage16);
  EXPECT_TRUE(facts_with("f16").storage8);
  EXPECT_FALSE(facts_with("narrow").storage16 || facts_with("narrow").storage8);
  EXPECT_FALSE(facts_with("i64,subgroups").subgroup_shuffle || facts_with("i64,subgroups").int64);
  EXPECT_EQ(all.division_f32, DeviceFacts::Division::kUnmeasured);
  EXPECT_EQ(facts_with("division").division_f32, DeviceFacts::Division::kCorrected);
  EXPECT_EQ(facts_with("division").division_f64, DeviceFacts::Division::kCorrected);
  EXPECT_TRUE(facts_with("division").float64);
}

TEST(EmulationTest, UnknownNamesAreRejected) {
  const auto emulation = ParseEmulation("f64,f32");
  EXPECT_EQ(emulation.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(emulation.status().message(), "--emulate: 'f32' is none of i64, f64, f16, narrow, subgroups, division");
}

TEST(ChooseDeviceTest, TakesANumberOrAPartOfAName) {
  EXPECT_EQ(*ChooseDevice(kDevices, "vulkan:3"), 3);
  EXPECT_EQ(*ChooseDevice(kDevices, "LLVMPIPE"), 0);
  EXPECT_EQ(*ChooseDevice(kDevices, "arc"), 1);
}

TEST(ChooseDeviceTest, TakesAUuidInAnyWriting) {
  std::vector<DeviceFacts> devices = kDevices;
  for (size_t i = 0; i < devices.size(); ++i) devices[i].device_uuid.fill(static_cast<uint8_t>(0xA0 + i));
  EXPECT_EQ(UuidText(devices[1].device_uuid), "a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1");
  EXPECT_EQ(*ChooseDevice(devices, "a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"), 1);
  EXPECT_EQ(*ChooseDevice(devices, "A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3"), 3);
  EXPECT_THAT(ChooseDevice(devices, "00000000-0000-0000-0000-000000000000").status().message(),
              HasSubstr("no device has the UUID 00000000-0000-0000-0000-000000000000; there are: vulkan:0 llvmpipe"));
}

TEST(ChooseDeviceTest, RejectionsListTheDevices) {
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:4").status().message(),
              HasSubstr("device 'vulkan:4': there are 4 devices: vulkan:0 llvmpipe (LLVM 15), vulkan:1 Tiny Arc"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:x").status().message(), HasSubstr("'x' is no number"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:-1").status().message(), HasSubstr("there are 4 devices"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:").status().message(), HasSubstr("is no number"));
  EXPECT_THAT(ChooseDevice(kDevices, "geforce").status().message(), HasSubstr("no device is named like 'geforce'"));
  EXPECT_EQ(ChooseDevice(kDevices, "").status().code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(ChooseDevice({}, "vulkan").status().code(), StatusCode::kDeviceFailure);
}

TEST(FreeListTest, MergesNeighboursInAnyOrder) {
  FreeList list(1000);
  const int64_t a = list.Take(100), b = list.Take(200), c = list.Take(300);
  EXPECT_EQ(list.BestFit(400), 400);
  EXPECT_EQ(list.BestFit(401), std::nullopt);
  list.Give(a, 100);
  list.Give(c, 300);
  EXPECT_EQ(list.range_count(), 2u);
  EXPECT_FALSE(list.AllFree());
  list.Give(b, 200);
  EXPECT_TRUE(list.AllFree());
  EXPECT_EQ(list.BestFit(1000), 1000);
}

TEST(FreeListTest, TakesTheSmallestRangeThatFits) {
  FreeList list(1000);
  const int64_t a = list.Take(300);
  list.Take(100);
  const int64_t c = list.Take(200);
  list.Take(100);
  list.Give(a, 300);
  list.Give(c, 200);
  EXPECT_EQ(list.Take(150), c);
  EXPECT_EQ(list.Take(250), a);
}

TEST(FreeListTest, ChecksDoubleFrees) {
  FreeList list(1000);
  const int64_t a = list.Take(100);
  list.Give(a, 100);
  EXPECT_THROW(list.Give(a, 100), InternalError);
  EXPECT_THROW(list.Give(990, 100), InternalError);
}

TEST(VkStatusTest, MapsMemoryAndDeviceErrors) {
  EXPECT_TRUE(VkStatus(VK_SUCCESS, "x").ok());
  const Status memory = VkStatus(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkAllocateMemory");
  EXPECT_EQ(memory.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(memory.message(), "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY");
  EXPECT_EQ(VkStatus(VK_ERROR_DEVICE_LOST, "x").code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(VkStatus(VK_TIMEOUT, "x").code(), StatusCode::kDeviceFailure);
}

TEST(ValidationTest, ErrorsAndNamedWarningsAreFindings) {
  const auto error = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
             warning = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  EXPECT_TRUE(IsValidationFinding(error, "", ""));
  EXPECT_FALSE(IsValidationFinding(warning, "UNASSIGNED-BestPractices", "slow"));
  EXPECT_TRUE(IsValidationFinding(warning, "UNASSIGNED-Device address out of bounds", "x"));
  EXPECT_FALSE(IsValidationFinding(VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, "", "Out of bounds access"));
}

}  // namespace
}  // namespace vxla::vulkan
