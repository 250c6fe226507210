// Choosing a device and planning what to enable on it, with made-up facts.
#include "backend/vulkan/device/plan/device_plan.h"

#include <gmock/gmock.h>

#include <cstring>

#include "backend/vulkan/device/api/validation.h"
#include "backend/vulkan/device/api/vk_status.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/device/memory/free_list.h"
#include "backend/vulkan/device/open.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/drivers/known_faults.h"
#include "tests/vulkan/fake_gpu.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StrEq;

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

TEST(DevicePlanTest, UnitsAreWhatTheDriverSays) {
  PhysicalSupport support = FakeGpu();
  EXPECT_EQ(PlanDevice(support, {})->facts.compute_units, 0u);
  // A Radeon RX 7900 XTX, an RX Vega 64.
  support.amd_cores.shaderEngineCount = 6;
  support.amd_cores.shaderArraysPerEngineCount = 2;
  support.amd_cores.computeUnitsPerShaderArray = 8;
  support.amd_cores.simdPerComputeUnit = 2;
  support.amd_cores.wavefrontsPerSimd = 16;
  support.amd_cores.wavefrontSize = 64;
  EXPECT_EQ(PlanDevice(support, {})->facts.compute_units, 96u);
  EXPECT_EQ(PlanDevice(support, {})->facts.unit_invocations, 2048u);
  support.amd_cores.wavefrontSize = 0;
  EXPECT_EQ(PlanDevice(support, {})->facts.compute_units, 0u) << "half of it is nothing";
  // A Radeon RX 7900 XT: 84 of those 96 units work.
  support.amd_cores.wavefrontSize = 64;
  support.amd_active_cores.activeComputeUnitCount = 84;
  EXPECT_EQ(PlanDevice(support, {})->facts.compute_units, 84u);
  EXPECT_EQ(PlanDevice(support, {})->facts.unit_invocations, 2048u);
  // A Mali of 10 cores, which hold 64 subgroups.
  PhysicalSupport mali = FakeGpu();
  mali.subgroups.subgroupSize = 16;
  mali.arm_cores.shaderCoreCount = 10;
  mali.arm_cores.shaderWarpsPerCore = 64;
  EXPECT_EQ(PlanDevice(mali, {})->facts.compute_units, 10u);
  EXPECT_EQ(PlanDevice(mali, {})->facts.unit_invocations, 1024u);
  // A GeForce RTX 4090.
  support.nvidia_cores.shaderSMCount = 128;
  support.nvidia_cores.shaderWarpsPerSM = 48;
  EXPECT_EQ(PlanDevice(support, {})->facts.compute_units, 128u);
  EXPECT_EQ(PlanDevice(support, {})->facts.unit_invocations, 1536u);
}

TEST(DevicePlanTest, UnitsThatAreListedRaiseTheEstimateOfWhatADeviceDoes) {
  PhysicalSupport support = FakeGpu();
  const DeviceFacts unknown = PlanDevice(support, {})->facts;
  EXPECT_EQ(unknown.flop_per_second, 4e11);
  // An H100: a product of 4096 x 4096 x 4096 is not cut.
  support.nvidia_cores.shaderSMCount = 132;
  support.nvidia_cores.shaderWarpsPerSM = 64;
  const DeviceFacts known = PlanDevice(support, {})->facts;
  EXPECT_GT(known.flop_per_second * known.work_budget_seconds, 4 * 2 * 68.72e9);
  EXPECT_GT(known.bytes_per_second, unknown.bytes_per_second);
}

// The types of an H100, whose exported buffers take the second alone.
TEST(DevicePlanTest, WhatIsExportedLiesWhereItMay) {
  VkPhysicalDeviceMemoryProperties memory = {};
  memory.memoryTypeCount = 5;
  memory.memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  memory.memoryTypes[2].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  memory.memoryTypes[4].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | memory.memoryTypes[2].propertyFlags;
  EXPECT_EQ(TypeToExport(memory, 0b10010, 4), 4u);
  EXPECT_EQ(TypeToExport(memory, 0b00110, 4), 1u);
  EXPECT_EQ(TypeToExport(memory, 0b00101, 4), std::nullopt) << "none of them is the device's";
}

TEST(DevicePlanTest, BudgetsAndPrioritiesAreUsedWhereTheyAreEnabled) {
  PhysicalSupport support = FakeGpu();
  support.features.memory_priority.memoryPriority = support.features.pageable_memory.pageableDeviceLocalMemory =
      VK_TRUE;
  support.extensions = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_MEMORY_PRIORITY_EXTENSION_NAME,
                        VK_EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME};
  const auto plan = PlanDevice(support, {});
  EXPECT_TRUE(plan->memory_budget && plan->memory_priority);
  EXPECT_TRUE(plan->features.pageable_memory.pageableDeviceLocalMemory);
  EXPECT_THAT(plan->extensions, Contains(StrEq(VK_EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME)));
  // Tensors before what only passes through; arguments, in the small window, before both.
  const auto priority = [&](MemoryKind kind) { return PriorityOf(plan->memory, plan->memory[static_cast<int>(kind)]); };
  EXPECT_GT(priority(MemoryKind::kArguments), priority(MemoryKind::kDevice));
  EXPECT_GT(priority(MemoryKind::kDevice), 0.5f);
  EXPECT_LT(priority(MemoryKind::kReadback), 0.5f);
  support.features.memory_priority.memoryPriority = VK_FALSE;
  support.extensions = {VK_EXT_PAGEABLE_DEVICE_LOCAL_MEMORY_EXTENSION_NAME};
  const auto without = PlanDevice(support, {});
  EXPECT_FALSE(without->memory_budget || without->memory_priority);
  EXPECT_FALSE(without->features.pageable_memory.pageableDeviceLocalMemory) << "it needs priorities";
  EXPECT_THAT(without->extensions, IsEmpty());
}

TEST(DevicePlanTest, SignalsAreSharedAsTheDriverSharesSemaphores) {
  using Signals = DeviceFacts::SharedSignals;
  constexpr VkExternalSemaphoreFeatureFlags kOut = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT,
                                            kBoth = kOut | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
  const auto of = [](VkExternalSemaphoreFeatureFlags binary, VkExternalSemaphoreFeatureFlags timeline) {
    PhysicalSupport support = FakeGpu();
    support.opaque_binary = binary;
    support.opaque_timeline = timeline;
    const auto plan = PlanDevice(support, {});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan->facts.shares_signals;
  };
  EXPECT_EQ(of(0, 0), Signals::kNone);
  EXPECT_EQ(of(kBoth, 0), Signals::kInTurn);
  EXPECT_EQ(of(kBoth, kOut), Signals::kInTurn);  // nobody could open them
  EXPECT_EQ(of(kBoth, kBoth), Signals::kCounting);
  EXPECT_EQ(of(kOut, 0), Signals::kNone);
}

TEST(DevicePlanTest, RobustAccessBelongsToDescriptors) {
  const auto robust = [](BindingMode mode) {
    return PlanDevice(FakeGpu(), {mode})->features.base.features.robustBufferAccess;
  };
  EXPECT_FALSE(robust(BindingMode::kAddresses));
  EXPECT_TRUE(robust(BindingMode::kDescriptors));
}

TEST(DevicePlanTest, NamesWhatIsMissing) {
  PhysicalSupport support = FakeGpu();
  support.features.vulkan12.timelineSemaphore = VK_FALSE;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), StrEq("device Fake GPU 9000: no timelineSemaphore"));
  support = FakeGpu();
  support.features.vulkan12.bufferDeviceAddress = VK_FALSE;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("no bufferDeviceAddress"));
  EXPECT_TRUE(PlanDevice(support, {BindingMode::kDescriptors}).ok());
  support.properties.apiVersion = VK_API_VERSION_1_0;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("Vulkan 1.0.0 is older than 1.1"));
  support = FakeGpu();
  support.queue_families[0].queueFlags = VK_QUEUE_TRANSFER_BIT;
  EXPECT_THAT(PlanDevice(support, {}).status().message(), HasSubstr("no queue family runs compute"));
}

TEST(DevicePlanTest, AHostsDeviceHasTheQueueThatItLends) {
  PhysicalSupport support = FakeGpu();
  support.queue_families.resize(2, support.queue_families[0]);
  support.queue_families[1].queueCount = 4;
  const auto own = PlanDevice(support, {});
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->facts.compute_queues(), 4);
  EXPECT_THAT(own->queue_families, ::testing::ElementsAre(0, 1));
  PlanWants wants;
  wants.lent_queues = {{1}};
  const auto lent = PlanDevice(support, wants);
  ASSERT_TRUE(lent.ok());
  EXPECT_EQ(lent->facts.queues.size(), 1u);
  EXPECT_THAT(lent->queue_families, ::testing::ElementsAre(1));
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
  EXPECT_TRUE(plan->synchronization2);
  support.features.synchronization2.synchronization2 = VK_FALSE;
  EXPECT_FALSE(PlanDevice(support, {})->synchronization2) << "barriers and submissions are those of Vulkan 1.0";
}

TEST(DevicePlanTest, ADeviceOfVulkan11NeedsTimelinesAndHasWhatItsExtensionsSay) {
  PhysicalSupport support = FakeGpu();
  support.properties.apiVersion = VK_API_VERSION_1_1;
  support.floats.shaderDenormPreserveFloat32 = VK_TRUE;
  support.extensions = {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_KHR_8BIT_STORAGE_EXTENSION_NAME};
  const auto plan = PlanDevice(support, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->facts.denorm_preserve_32) << "VK_KHR_shader_float_controls is not there";
  EXPECT_FALSE(plan->facts.spirv_1_6);
  EXPECT_THAT(plan->extensions, Contains(StrEq(VK_KHR_8BIT_STORAGE_EXTENSION_NAME)));
  support.extensions.insert(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  EXPECT_TRUE(PlanDevice(support, {})->facts.denorm_preserve_32);
  const auto asked = RequirementsOf(support);
  ASSERT_TRUE(asked.ok());
  ASSERT_EQ(asked->needed_extensions, 1u);
  EXPECT_STREQ(asked->extensions[0], VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  support.features.vulkan12.timelineSemaphore = VK_FALSE;
  EXPECT_EQ(PlanDevice(support, {}).status().message(),
            "device Fake GPU 9000: no timelineSemaphore (VK_KHR_timeline_semaphore)");
}

// What is enabled goes to the device in the older structs, and what it supports comes back in them.
TEST(DevicePlanTest, OlderStructsSayWhatTheNewerOnesDo) {
  FeatureChain chain;
  chain.vulkan11.storageBuffer16BitAccess = chain.vulkan12.shaderInt8 = chain.vulkan12.bufferDeviceAddress = VK_TRUE;
  const std::set<std::string> extensions = {VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME};
  const FeatureChain told = FeatureChain::Of(*chain.Link(VK_API_VERSION_1_1, extensions));
  EXPECT_TRUE(told.vulkan11.storageBuffer16BitAccess && told.vulkan12.shaderInt8);
  EXPECT_FALSE(told.vulkan12.bufferDeviceAddress) << "no extension, no struct";
  chain.older.float16_int8.shaderFloat16 = VK_TRUE;
  chain.older.storage16.storageBuffer16BitAccess = VK_FALSE;
  chain.TakeOlder();
  EXPECT_TRUE(chain.vulkan12.shaderFloat16 && chain.vulkan12.shaderInt8);
  EXPECT_FALSE(chain.vulkan11.storageBuffer16BitAccess);
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
  EXPECT_EQ(count, 7);
  count = 0;
  for (auto* at = reinterpret_cast<VkBaseOutStructure*>(chain.Link(VK_API_VERSION_1_1, {})); at != nullptr;
       at = at->pNext) {
    ++count;
  }
  EXPECT_EQ(count, 2) << "16-bit storage is Vulkan 1.1's";
}

// The memory types of a kind of machine, and which of them each kind of memory lies in.
struct MemoryCase {
  const char* machine;
  std::vector<FakeHeap> heaps;
  std::vector<FakeMemoryType> types;
  uint32_t device, upload, readback, arguments;  // types
  bool device_visible, large_reads_directly;
};

const MemoryCase kMemoryCases[] = {
    {"DiscreteWithASmallWindow",
     {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}, {kGiB / 4, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
     {{kLocal, 0}, {kLocal | kHost, 2}, {kHost, 1}, {kHost | kCached, 1}},
     0,
     2,
     3,
     1,
     false,
     false},
    {"DiscreteWithoutAWindow",
     {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {16 * kGiB, 0}},
     {{kLocal, 0}, {kHost, 1}, {kHost | kCached, 1}},
     0,
     1,
     2,
     1,
     false,
     false},
    {"DiscreteWithAResizableBar",
     {{16 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {32 * kGiB, 0}},
     {{kLocal, 0}, {kLocal | kHost, 0}, {kHost, 1}, {kHost | kCached, 1}},
     1,
     2,
     3,
     1,
     true,
     false},
    {"Integrated",
     {{24 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
     {{kLocal, 0}, {kLocal | kHost, 0}, {kLocal | kHost | kCached, 0}},
     2,
     1,
     2,
     2,
     true,
     true},
    {"IntegratedWithoutCoherentCaches",
     {{24 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
     {{kLocal | kHost, 0}, {kLocal | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | kCached, 0}},
     0,
     0,
     0,
     0,
     true,
     true},  // nothing is read any faster
    {"Software",
     {{2 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
     {{kLocal | kHost | kCached, 0}},
     0,
     0,
     0,
     0,
     true,
     true},
};

class MemoryPlanTest : public ::testing::TestWithParam<MemoryCase> {};
INSTANTIATE_TEST_SUITE_P(Machines, MemoryPlanTest, ::testing::ValuesIn(kMemoryCases),
                         [](const auto& info) { return std::string(info.param.machine); });

TEST_P(MemoryPlanTest, EachKindLiesWhereItIsFastest) {
  const MemoryCase& machine = GetParam();
  PhysicalSupport support = FakeGpu();
  SetMemory(support, machine.heaps, machine.types);
  const auto plan = PlanDevice(support, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const MemoryChoice &device = Memory(*plan, MemoryKind::kDevice), &readback = Memory(*plan, MemoryKind::kReadback);
  EXPECT_EQ(device.type, machine.device);
  EXPECT_EQ(device.host_visible, machine.device_visible);
  EXPECT_EQ(Memory(*plan, MemoryKind::kUpload).type, machine.upload);
  EXPECT_EQ(readback.type, machine.readback);
  EXPECT_EQ(Memory(*plan, MemoryKind::kArguments).type, machine.arguments);
  for (const MemoryKind kind : {MemoryKind::kUpload, MemoryKind::kReadback, MemoryKind::kArguments}) {
    EXPECT_TRUE(Memory(*plan, kind).host_visible) << static_cast<int>(kind);
  }
  EXPECT_EQ(HostReadsDirectly(device, readback, kGiB), machine.large_reads_directly);
  EXPECT_EQ(HostReadsDirectly(device, readback, 64), machine.device_visible);
  EXPECT_TRUE(HostReadsDirectly(readback, readback, kGiB));
  EXPECT_EQ(plan->facts.memory_bytes, machine.heaps[0].bytes);
}

TEST_P(MemoryPlanTest, PretendedMemoryIsInvisibleOrSlow) {
  PhysicalSupport support = FakeGpu();
  SetMemory(support, GetParam().heaps, GetParam().types);
  const auto pretended = [&](PretendedMemory pretend) {
    PlanWants wants;
    wants.pretend = pretend;
    return PlanDevice(support, wants);
  };
  const auto invisible = pretended(PretendedMemory::kInvisible);
  EXPECT_FALSE(Memory(*invisible, MemoryKind::kDevice).host_visible);
  EXPECT_TRUE(Memory(*invisible, MemoryKind::kArguments).host_visible);
  const auto uncached = pretended(PretendedMemory::kUncached);
  EXPECT_EQ(Memory(*uncached, MemoryKind::kDevice).host_visible, GetParam().device_visible);
  EXPECT_FALSE(Memory(*uncached, MemoryKind::kDevice).host_cached);
}

TEST(DevicePlanTest, NamesTheMemoryThatIsMissing) {
  PhysicalSupport support = FakeGpu();
  SetMemory(support, {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}}, {{kLocal, 0}});
  EXPECT_EQ(PlanDevice(support, {}).status().message(), "device Fake GPU 9000: no host-visible coherent memory");
  SetMemory(support, {{8 * kGiB, 0}}, {{kHost, 0}});
  EXPECT_EQ(PlanDevice(support, {}).status().message(), "device Fake GPU 9000: no device-local memory");
}

// Mesa's RADV_FORCE_FAMILY: heaps of nothing.
TEST(DevicePlanTest, NullHardwareIsToCompileForOnly) {
  PhysicalSupport support = FakeGpu();
  EXPECT_FALSE(PlanDevice(support, {})->facts.compile_only);
  SetMemory(support, {{0, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}}, {{kLocal | kHost, 0}});
  const auto plan = PlanDevice(support, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->facts.compile_only);
  EXPECT_EQ(plan->facts.division_f32, DeviceFacts::Division::kCorrected);
  EXPECT_GT(plan->facts.max_allocation_bytes, 0u);
  // Never chosen before a device that runs, whatever that is.
  DeviceFacts software;
  software.kind = DeviceFacts::Kind::kSoftware;
  EXPECT_EQ(*ChooseDevice(std::vector{plan->facts, software}, "vulkan"), 1);
}

TEST(HeapLedgerTest, HeapsAreCountedEachForItself) {
  HeapLedger ledger({{8 * kGiB, true}, {16 * kGiB, false}, {kGiB / 4, true}});
  ledger.Add(0, 8 * kGiB);
  EXPECT_FALSE(ledger.Fits(0, 1));
  EXPECT_TRUE(ledger.Fits(1, 16 * kGiB));
  EXPECT_TRUE(ledger.Fits(2, kGiB / 4));
  ledger.Add(2, 100);
  EXPECT_FALSE(ledger.Fits(2, kGiB / 4));
  EXPECT_EQ(ledger.total_bytes(), static_cast<int64_t>(8 * kGiB + 100));
  ledger.Remove(0, 5);
  EXPECT_TRUE(ledger.Fits(0, 5));
  EXPECT_FALSE(ledger.Fits(0, 6));
}

TEST(HeapLedgerTest, RefusalsNameTheHeapWhatWasAskedAndWhatIsLeft) {
  HeapLedger ledger({{1000, true}, {2000, false}});
  ledger.Add(0, 700);
  ledger.Add(1, 1999);
  EXPECT_EQ(ledger.NoRoom("Fake GPU", 0, 301).message(),
            "301 bytes do not fit into memory heap 0 (device-local) of Fake GPU: 300 of its 1000 bytes are left");
  EXPECT_EQ(ledger.NoRoom("Fake GPU", 1, 2).message(),
            "2 bytes do not fit into memory heap 1 (host) of Fake GPU: 1 of its 2000 bytes are left");
  EXPECT_EQ(ledger.Refused("Fake GPU", 0, 200, "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY").message(),
            "the driver of Fake GPU refuses 200 bytes of memory heap 0 (device-local): this program holds 700 of its "
            "1000 bytes (vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY)");
  EXPECT_EQ(ledger.NoRoom("Fake GPU", 0, 301).code(), StatusCode::kResourceExhausted);
  ledger.NoteBudget(0, {900, 850});
  EXPECT_EQ(ledger.Refused("Fake GPU", 0, 200, "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY").message(),
            "the driver of Fake GPU refuses 200 bytes of memory heap 0 (device-local): this program holds 700 of its "
            "1000 bytes; its budget is 900 bytes now, 850 of them in use (vkAllocateMemory: "
            "VK_ERROR_OUT_OF_DEVICE_MEMORY)");
}

TEST(HeapLedgerTest, ABudgetIsKeptToWhereTheDriverSaysOne) {
  HeapLedger ledger({{1000, true}, {2000, false}});
  EXPECT_TRUE(ledger.FitsBudget(0, 1000));
  ledger.NoteBudget(0, {600, 500});
  EXPECT_TRUE(ledger.FitsBudget(0, 100));
  EXPECT_FALSE(ledger.FitsBudget(0, 101));
  EXPECT_TRUE(ledger.Fits(0, 101)) << "other programs' use is no refusal";
  EXPECT_TRUE(ledger.FitsBudget(1, 2000));
}

TEST(HeapLedgerTest, ASmallWindowIsNotTakenAtOnce) {
  const HeapLedger ledger({{64 * kGiB, true}, {kGiB / 4, true}});
  EXPECT_EQ(ledger.FirstBlockBytes(0), int64_t{64} << 20);
  EXPECT_EQ(ledger.LargestBlockBytes(0), int64_t{512} << 20);
  EXPECT_EQ(ledger.FirstBlockBytes(1), int64_t{16} << 20);
  EXPECT_EQ(ledger.LargestBlockBytes(1), int64_t{16} << 20);
  EXPECT_EQ(ledger.SpareBytes(0), int64_t{4} << 30);
  EXPECT_EQ(ledger.SpareBytes(1), int64_t{32} << 20);
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

// The size that subgroups have varies from 8 to 32 on this one, and pipelines may require one of them.
PhysicalSupport FakeGpuOfManySizes() {
  PhysicalSupport support = FakeGpu();
  support.min_subgroup_size = 8;
  support.subgroup_size_requirable = true;
  support.max_workgroup_subgroups = 16;
  return support;
}

// A module's header and its first instructions: OpCapability Shader, and GroupNonUniform where subgroups are used.
std::vector<uint32_t> ModuleWith(bool subgroups) {
  std::vector<uint32_t> words = {0x07230203, 0x00010600, 0, 1, 0, 2u << 16 | 17, 1};
  if (subgroups) words.insert(words.end(), {2u << 16 | 17, 61});
  words.insert(words.end(), {3u << 16 | 14, 0, 1});
  return words;
}

KernelKey Workgroup(uint32_t x, uint32_t y = 1) {
  KernelKey key;
  key.algorithm = "test/lanes.comp";
  key.constants = {x, y, 1};
  return key;
}

TEST(SubgroupTest, ASizeIsRequiredOnlyWhereItVaries) {
  EXPECT_EQ(PlanDevice(FakeGpu(), {})->required_subgroup_size, 0u);
  const auto plan = PlanDevice(FakeGpuOfManySizes(), {});
  EXPECT_TRUE(plan->facts.subgroup_shuffle);
  EXPECT_EQ(plan->required_subgroup_size, 32u);
}

TEST(SubgroupTest, AreUsedOnlyWhereTheyAreFullAndOfOneSize) {
  const auto shuffles = [](const PhysicalSupport& support) { return PlanDevice(support, {})->facts.subgroup_shuffle; };
  PhysicalSupport support = FakeGpu();
  EXPECT_TRUE(shuffles(support));
  support.features.subgroup_size_control.computeFullSubgroups = VK_FALSE;
  EXPECT_FALSE(shuffles(support));
  support = FakeGpu();
  support.subgroups.supportedOperations &= ~VkSubgroupFeatureFlags{VK_SUBGROUP_FEATURE_BALLOT_BIT};
  EXPECT_FALSE(shuffles(support));
  support = FakeGpu();
  support.subgroups.supportedStages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_FALSE(shuffles(support));
  // Modules of SPIR-V 1.6 let the driver pick any of its sizes; older ones have the stated size.
  support = FakeGpuOfManySizes();
  support.subgroup_size_requirable = false;
  EXPECT_FALSE(shuffles(support));
  support.features.maintenance4.maintenance4 = VK_FALSE;
  EXPECT_TRUE(shuffles(support));
}

TEST(SubgroupTest, PipelinesThatUseThemRequireFullOnes) {
  const auto one_size = PlanDevice(FakeGpu(), {}), many_sizes = PlanDevice(FakeGpuOfManySizes(), {});
  const auto plain = RequestSubgroups(ModuleWith(false), Workgroup(5), *many_sizes);
  EXPECT_FALSE(plain->full);
  EXPECT_EQ(plain->size, 0u);
  const auto full = RequestSubgroups(ModuleWith(true), Workgroup(64, 2), *one_size);
  EXPECT_TRUE(full->full);
  EXPECT_EQ(full->size, 0u);
  const auto sized = RequestSubgroups(ModuleWith(true), Workgroup(64, 2), *many_sizes);
  EXPECT_TRUE(sized->full);
  EXPECT_EQ(sized->size, 32u);
}

TEST(SubgroupTest, WorkgroupsThatFullOnesCannotMakeUpAreRejected) {
  const auto plan = PlanDevice(FakeGpuOfManySizes(), {});
  EXPECT_EQ(
      RequestSubgroups(ModuleWith(true), Workgroup(48), *plan).status().message(),
      "kernel test/lanes.comp: it uses subgroups in workgroups of 48 invocations along x, no multiple of Fake GPU "
      "9000's 32");
  EXPECT_TRUE(RequestSubgroups(ModuleWith(true), Workgroup(64, 8), *plan).ok());
  EXPECT_EQ(RequestSubgroups(ModuleWith(true), Workgroup(64, 9), *plan).status().message(),
            "kernel test/lanes.comp: a workgroup of 18 subgroups, Fake GPU 9000 allows 16");
  PlanWants wants;
  wants.emulate.subgroups = true;
  EXPECT_EQ(RequestSubgroups(ModuleWith(true), Workgroup(64), *PlanDevice(FakeGpu(), wants)).status().message(),
            "kernel test/lanes.comp: it uses subgroups, Fake GPU 9000 has none that are full and of one size");
}

PhysicalSupport Driver(const char* name, const char* version) {
  PhysicalSupport support = FakeGpu();
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  std::strcpy(support.driver.driverName, name);
  std::strcpy(support.driver.driverInfo, version);
  return support;
}

TEST(KnownFaultsTest, BelongToTheDriversThatHaveThem) {
  const DeviceFacts old = PlanDevice(Driver("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)"), {})->facts;
  EXPECT_TRUE(old.quirks.vectors_of_addresses);
  EXPECT_FALSE(old.quirks.walks_every_path || old.quirks.slow_long_blocks);
  EXPECT_TRUE(SplitsAddresses(old, BindingMode::kAddresses));
  EXPECT_FALSE(SplitsAddresses(old, BindingMode::kDescriptors));
  const DeviceFacts later = PlanDevice(Driver("llvmpipe", "Mesa 24.0.1 (LLVM 17.0.6)"), {})->facts;
  EXPECT_FALSE(later.quirks.vectors_of_addresses);
  EXPECT_FALSE(SplitsAddresses(later, BindingMode::kAddresses));
  const DeviceFacts swiftshader = PlanDevice(Driver("SwiftShader driver", "5.0.0"), {})->facts;
  EXPECT_TRUE(swiftshader.quirks.walks_every_path && swiftshader.quirks.slow_long_blocks);
  EXPECT_EQ(swiftshader.max_allocation_bytes, later.max_allocation_bytes - (1 << 20));
  EXPECT_TRUE(PlanDevice(Driver("NVK", "Mesa 26.2.6"), {})->facts.quirks.loses_nan);
  EXPECT_FALSE(later.quirks.loses_nan || swiftshader.quirks.loses_nan);
  // A GPU of the same version of Mesa has none of them.
  PhysicalSupport radeon = Driver("radv", "Mesa 22.3.6");
  radeon.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  EXPECT_EQ(PlanDevice(radeon, {})->facts.quirks.vectors_of_addresses, false);
}

// The driver that compiles folds them, whatever device it is taken for; others may that promise nothing.
TEST(KnownFaultsTest, ZerosAreFoldedByLavapipeAndByWhomKeepsNoInfinities) {
  const auto folds = [](const char* name, bool keeps, PlanWants wants = {}) {
    PhysicalSupport support = Driver(name, "of any version");
    support.floats.shaderSignedZeroInfNanPreserveFloat32 = keeps;
    return PlanDevice(support, wants)->facts.quirks.folds_zeros;
  };
  EXPECT_TRUE(folds("llvmpipe", true));
  PlanWants as_gpu;
  as_gpu.emulate.gpu = true;
  EXPECT_TRUE(folds("llvmpipe", true, as_gpu));
  EXPECT_FALSE(folds("SwiftShader driver", true));
  EXPECT_FALSE(folds("radv", true));
  EXPECT_TRUE(folds("MoltenVK", false));
}

// A GPU's kernels do not depend on the processor that the host has.
TEST(KnownFaultsTest, WordsAreStoredInPairsButWhereTheHostThatRunsKernelsHasAvx512) {
  DeviceFacts facts = PlanDevice(Driver("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)"), {})->facts;
  facts.host_avx512 = false;
  EXPECT_TRUE(StoresPairs(facts));
  facts.host_avx512 = true;
  EXPECT_FALSE(StoresPairs(facts));
  PretendGpu(facts);
  EXPECT_TRUE(StoresPairs(facts));
  EXPECT_FALSE(PlanDevice(FakeGpu(), {})->facts.host_avx512);
}

TEST(SoftwareDriverTest, ItsCostsAreItsOwnUnlessItIsTakenForAGpu) {
  PhysicalSupport support = Driver("llvmpipe", "Mesa 24.0.1 (LLVM 17.0.6)");
  support.features.base.features.shaderInt64 = VK_TRUE;
  DeviceFacts software = PlanDevice(support, {})->facts;
  const DeviceFacts::Costs& costs = software.costs;
  EXPECT_TRUE(costs.accesses_by_lane && costs.subgroups_in_turn && costs.plain_arithmetic && costs.dear_text);
  EXPECT_FALSE(software.byte_offsets);
  EXPECT_EQ(software.work_budget_seconds, 0);
  PlanWants wants;
  for (const char* name : {"gpu", "rdna2", "mali"}) {
    wants.emulate = *ParseEmulation(name);
    const DeviceFacts gpu = PlanDevice(support, wants)->facts;
    EXPECT_EQ(gpu.costs, DeviceFacts::Costs()) << name;
    EXPECT_TRUE(gpu.byte_offsets) << name;
    EXPECT_EQ(gpu.hardware_threads, software.hardware_threads) << name << ": it stays the host's processor";
  }
  PretendLeastDevice(software);
  EXPECT_EQ(software.costs, DeviceFacts::Costs());
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_EQ(PlanDevice(support, {})->facts.costs, DeviceFacts::Costs());
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

TEST(EmulationTest, OneQueueThatAHostLendsStandsForAll) {
  PhysicalSupport support = FakeGpu();
  support.queue_families.at(0).queueCount = 2;
  PlanWants wants;
  wants.emulate.queues = true;
  wants.lent_queues = {{0}};
  EXPECT_EQ(PlanDevice(support, wants)->facts.queues.size(), size_t{kMostQueues});
  wants.lent_queues = {{0}, {0}};
  EXPECT_EQ(PlanDevice(support, wants)->facts.queues.size(), 2u);
}

// A software driver's own limits stay where they are lower; a GPU stays what it is.
TEST(EmulationTest, ASoftwareDriverHasTheFactsOfAFamilyOfGpus) {
  PhysicalSupport support = FakeGpu();
  support.properties.limits.maxComputeSharedMemorySize = 32768;
  PlanWants wants;
  wants.emulate = *ParseEmulation("rdna3,matrices");
  EXPECT_EQ(PlanDevice(support, wants)->facts.vendor_id, support.properties.vendorID);
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  const DeviceFacts rdna = PlanDevice(support, wants)->facts;
  EXPECT_EQ(rdna.vendor_id, 0x1002u);
  EXPECT_EQ(rdna.kind, DeviceFacts::Kind::kDiscrete);
  EXPECT_EQ(rdna.compute_units, 96u);
  EXPECT_EQ(rdna.max_shared_bytes, 32768u);
  EXPECT_EQ(rdna.max_workgroup_invocations, 1024u);
  ASSERT_FALSE(rdna.matrices.empty());
  EXPECT_EQ(rdna.matrices[0].columns, 16u);
  wants.emulate = *ParseEmulation("matrices,mobile");
  const DeviceFacts mobile = PlanDevice(support, wants)->facts;
  EXPECT_EQ(mobile.kind, DeviceFacts::Kind::kIntegrated);
  EXPECT_EQ(mobile.max_shared_bytes, 16384u);
  EXPECT_EQ(mobile.max_workgroup_invocations, 256u);
  EXPECT_EQ(mobile.max_storage_buffers, 8u);
  EXPECT_FALSE(mobile.int64 || mobile.float64 || mobile.float16);
  EXPECT_TRUE(mobile.matrices.empty());
  wants.emulate = *ParseEmulation("nvidia,matrices");
  EXPECT_EQ(PlanDevice(support, wants)->facts.matrices[0].columns, 8u);
}

TEST(VendorCostsTest, CopiesAreSlowUnderNvidiasDriverAlone) {
  PhysicalSupport support = FakeGpu();
  support.properties.vendorID = 0x10DE;
  EXPECT_TRUE(PlanDevice(support, {})->facts.costs.slow_copies);
  support.properties.vendorID = 0x1002;
  EXPECT_FALSE(PlanDevice(support, {})->facts.costs.slow_copies);
  support.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_FALSE(PlanDevice(support, {})->facts.costs.slow_copies);
  PlanWants wants;
  wants.emulate = *ParseEmulation("nvidia");
  EXPECT_TRUE(PlanDevice(support, wants)->facts.costs.slow_copies);
}

TEST(EmulationTest, UnknownNamesAreRejected) {
  const auto emulation = ParseEmulation("f64,f32");
  EXPECT_EQ(emulation.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(emulation.status().message(),
            "--emulate: 'f32' is none of i64, f64, f16, narrow, subgroups, division, gpu, matrices, queues, grid, "
            "vulkan1.1, synchronization2, gcn, rdna2, rdna3, nvidia, intel, apple, adreno, mali, mobile");
}

TEST(ChooseDeviceTest, TakesANumberOrAPartOfAName) {
  EXPECT_EQ(*ChooseDevice(kDevices, "vulkan:3"), 3);
  EXPECT_EQ(*ChooseDevice(kDevices, "LLVMPIPE"), 0);
  EXPECT_EQ(*ChooseDevice(kDevices, "arc"), 1);
}

TEST(ChooseDeviceTest, WordsHaveAnyCaseAndTheirOtherNames) {
  const int best = *ChooseDevice(kDevices, "vulkan");
  for (const char* word : {"Vulkan", "VULKAN", "gpu", "GPU"}) EXPECT_EQ(*ChooseDevice(kDevices, word), best) << word;
  EXPECT_EQ(*ChooseDevice(kDevices, "Vulkan:2"), 2);
  for (const char* word : {"lavapipe", "Lavapipe", "LLVMpipe"}) EXPECT_EQ(*ChooseDevice(kDevices, word), 0) << word;
}

// A number of no device may stand in a name, as of a "Radeon RX 7600".
TEST(ChooseDeviceTest, ANumberAloneIsADevicesNumberOrElseAPartOfAName) {
  std::vector<DeviceFacts> devices = kDevices;
  devices[1].name = "Radeon RX 7600";
  EXPECT_EQ(*ChooseDevice(devices, "3"), 3);
  EXPECT_EQ(*ChooseDevice(devices, "7600"), 1);
  EXPECT_THAT(ChooseDevice(devices, "7700").status().message(), HasSubstr("no device is named like '7700'"));
}

TEST(ChooseDeviceTest, TakesAUuidInAnyWriting) {
  std::vector<DeviceFacts> devices = kDevices;
  for (size_t i = 0; i < devices.size(); ++i) devices[i].device_uuid.fill(static_cast<uint8_t>(0xA0 + i));
  EXPECT_EQ(UuidText(devices[1].device_uuid), "a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1");
  EXPECT_EQ(*ChooseDevice(devices, "a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"), 1);
  EXPECT_EQ(*ChooseDevice(devices, "A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3A3"), 3);
  EXPECT_THAT(ChooseDevice(devices, "00000000-0000-0000-0000-000000000000").status().message(),
              HasSubstr("no device has the UUID 00000000-0000-0000-0000-000000000000; there are 4 devices: vulkan:0 "
                        "llvmpipe"));
}

TEST(ChooseDeviceTest, RejectionsListTheDevices) {
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:4").status().message(),
              HasSubstr("device 'vulkan:4': there are 4 devices: vulkan:0 llvmpipe (LLVM 15), vulkan:1 Tiny Arc"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:x").status().message(), HasSubstr("'x' is no number"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:-1").status().message(), HasSubstr("there are 4 devices"));
  EXPECT_THAT(ChooseDevice(kDevices, "vulkan:").status().message(), HasSubstr("is no number"));
  EXPECT_THAT(ChooseDevice(kDevices, "geforce").status().message(), HasSubstr("no device is named like 'geforce'"));
  EXPECT_THAT(ChooseDevice(std::span(kDevices).first(1), "vulkan:1").status().message(),
              HasSubstr("there is 1 device: vulkan:0 llvmpipe (LLVM 15)"));
  // What the user can mend is the user's; a machine without a device is not.
  for (const char* word : {"", "geforce", "vulkan:4", "10000000-0000-0000-0000-000000000000"})
    EXPECT_EQ(ChooseDevice(kDevices, word).status().code(), StatusCode::kNotFound) << word;
  EXPECT_EQ(ChooseDevice(kDevices, "vulkan:x").status().code(), StatusCode::kInvalidArgument);
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
}  // namespace VXLA_NAMESPACE::vulkan
