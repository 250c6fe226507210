// Memory that a device of vxla's own, a host's device and the host itself share by file descriptors.
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <unistd.h>

#include "tests/c_api/vulkan_host.h"

enum { kCount = 5 };

static const char kDoubles[] =
    "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }\n"
    "ENTRY e { x = f32[5] parameter(0)\n ROOT r = f32[5] add(x, x) }\n";
static const int64_t kDimensions[1] = {kCount};
static const VxlaArray kArray = {
    .struct_size = sizeof(VxlaArray), .element_type = VXLA_F32, .rank = 1, .dimensions = kDimensions};
static const float kFirst[kCount] = {1, 2, 3, 4, 5};

// The value is donated, and a new one lies in its memory.
static VxlaValue Double(VxlaDevice device, VxlaValue value) {
  VxlaCompileInfo program = {.struct_size = sizeof(program), .text = kDoubles};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &program, &executable, &message));
  VxlaValue result = NULL;
  VxlaExecuteInfo info = {
      .struct_size = sizeof(info), .argument_count = 1, .arguments = &value, .result_count = 1, .results = &result};
  EXPECT_OK(vxlaExecute(executable, &info, &message));
  vxlaDestroyExecutable(executable);
  vxlaDestroyValue(value);
  return result;
}

static void ExpectFloats(const float* got, float times) {
  for (int i = 0; i < kCount; ++i) EXPECT(got[i] == times * kFirst[i]);
}

static void ExpectValue(VxlaValue value, float times) {
  float got[kCount] = {0};
  EXPECT_OK(vxlaReadValue(value, got, sizeof(got), &message));
  ExpectFloats(got, times);
}

static VxlaMemory Exported(VxlaValue value) {
  VxlaMemory memory = {.struct_size = sizeof(memory)};
  EXPECT_OK(vxlaExportMemory(value, &memory, &message));
  EXPECT(memory.descriptor >= 0 && memory.size >= 32 && memory.offset == 0);
  return memory;
}

// On the device: of the memory that is shared here the host need not see any.
static void HostCopy(Host* host, const HostBuffer* from, const HostBuffer* to, VkBufferCopy region) {
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  HostBegin(host, commands);
  host->CmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
  HostBarrier(host, commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  host->EndCommandBuffer(commands);
  HostSubmit(host, commands);
}

static void HostWrite(Host* host, const HostBuffer* buffer, VkDeviceSize offset, const void* data, size_t size) {
  HostBuffer staging = HostMakeBuffer(host, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  memcpy(staging.mapped, data, size);
  HostCopy(host, &staging, buffer, (VkBufferCopy){0, offset, size});
  HostFreeBuffer(host, &staging);
}

static void HostRead(Host* host, const HostBuffer* buffer, VkDeviceSize offset, void* data, size_t size) {
  HostBuffer staging = HostMakeBuffer(host, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  HostCopy(host, buffer, &staging, (VkBufferCopy){offset, 0, size});
  memcpy(data, staging.mapped, size);
  HostFreeBuffer(host, &staging);
}

// A buffer over memory that the host imports, or that it may export; not mapped.
static HostBuffer HostShare(Host* host, const VxlaMemory* import, VxlaMemory* described) {
  HostBuffer made = {.size = 1024, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                               .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .pNext = &external,
                             .size = import != NULL ? import->size : made.size,
                             .usage = made.usage};
  EXPECT(host->CreateBuffer(host->device, &info, NULL, &made.buffer) == VK_SUCCESS);
  VkMemoryRequirements needs;
  host->GetBufferMemoryRequirements(host->device, made.buffer, &needs);
  VkExportMemoryAllocateInfo exports = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
  VkImportMemoryFdInfoKHR imports = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                     .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                     .fd = import != NULL ? import->descriptor : -1};
  // Devices of vxla's have addresses.
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .pNext = import != NULL ? (void*)&imports : (void*)&exports,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = &flags,
                                   .allocationSize = import != NULL ? import->size : needs.size,
                                   .memoryTypeIndex = import != NULL ? import->memory_type : 0};
  while (import == NULL && (needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) == 0) ++allocate.memoryTypeIndex;
  EXPECT(host->AllocateMemory(host->device, &allocate, NULL, &made.memory) == VK_SUCCESS);
  EXPECT(host->BindBufferMemory(host->device, made.buffer, made.memory, 0) == VK_SUCCESS);
  if (described == NULL) return made;
  const PFN_vkGetMemoryFdKHR get = (PFN_vkGetMemoryFdKHR)host->GetDeviceProcAddr(host->device, "vkGetMemoryFdKHR");
  VkMemoryGetFdInfoKHR getting = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                  .memory = made.memory,
                                  .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
  *described = (VxlaMemory){.struct_size = sizeof(*described),
                            .handle_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                            .memory_type = allocate.memoryTypeIndex,
                            .size = allocate.allocationSize};
  EXPECT(get(host->device, &getting, &described->descriptor) == VK_SUCCESS);
  return made;
}

// From a device of vxla's own to the adopted one, which waits for the host, and back by the memory alone.
static void TestBothWays(Host* host, VxlaDevice own, VxlaDevice adopted) {
  VxlaValue there = NULL, here = NULL;
  EXPECT_OK(
      vxlaCreateSharedValue(own, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, &kArray, kFirst, &there, &message));
  ExpectValue(there, 1);
  VxlaMemory memory = Exported(there);
  VkSemaphore ready = HostMakeTimeline(host);
  const VxlaSemaphore wait = {.semaphore = ready, .value = 3};
  EXPECT_OK(vxlaImportMemory(adopted, &memory, &kArray, &wait, &here, &message));
  here = Double(adopted, here);
  int32_t is_ready = 1;
  EXPECT_OK(vxlaValueIsReady(here, &is_ready, &message));
  EXPECT(is_ready == 0);
  VkSemaphoreSignalInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = ready, .value = 3};
  EXPECT(host->SignalSemaphore(host->device, &signal) == VK_SUCCESS);
  ExpectValue(here, 2);
  ExpectValue(there, 2);
  // The memory stays the same through a donation.
  there = Double(own, there);
  ExpectValue(there, 4);
  ExpectValue(here, 4);
  memory = Exported(there);
  vxlaDestroyValue(there);
  HostBuffer seen = HostShare(host, &memory, NULL);
  float got[kCount] = {0};
  HostRead(host, &seen, 0, got, sizeof(got));
  ExpectFloats(got, 4);
  HostFreeBuffer(host, &seen);
  // Destroyed while its run has not begun: the memory goes when the device has finished.
  const VxlaSemaphore later = {.semaphore = ready, .value = 4};
  EXPECT_OK(vxlaCreateSharedValue(own, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, &kArray, NULL, &there, &message));
  memory = Exported(there);
  vxlaDestroyValue(here);
  EXPECT_OK(vxlaImportMemory(adopted, &memory, &kArray, &later, &here, &message));
  vxlaDestroyValue(Double(adopted, here));
  EXPECT_CODE(vxlaDestroyDevice(adopted, &message), VXLA_BUSY, "");
  signal.value = 4;
  EXPECT(host->SignalSemaphore(host->device, &signal) == VK_SUCCESS);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
  vxlaDestroyValue(there);
  host->DestroySemaphore(host->device, ready, NULL);
}

// As the specification wants it of memory that devices share: each hands it to the outside before the other takes it.
static void TestOwnership(Host* host, VxlaDevice own, VxlaDevice adopted) {
  const uint32_t outside = VK_QUEUE_FAMILY_EXTERNAL;
  VxlaValue there = NULL, here = NULL, refused = NULL;
  EXPECT_OK(
      vxlaCreateSharedValue(own, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, &kArray, kFirst, &there, &message));
  EXPECT_OK(vxlaReleaseValue(there, outside, NULL, &message));
  float read[8] = {0};
  EXPECT_CODE(vxlaReadValue(there, read, sizeof(kFirst), &message), VXLA_INVALID_ARGUMENT,
              "value: it was released to another queue family");
  EXPECT_CODE(vxlaReleaseValue(there, outside, NULL, &message), VXLA_INVALID_ARGUMENT, "not acquired since");
  VxlaMemory memory = Exported(there);
  VkSemaphore ready = HostMakeTimeline(host), done = HostMakeTimeline(host);
  VxlaSemaphore wait = {.semaphore = ready, .value = 1}, signal = {.semaphore = done, .value = 1};
  wait.stages = signal.stages = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
  EXPECT_OK(vxlaImportMemory(adopted, &memory, &kArray, NULL, &here, &message));
  EXPECT_OK(vxlaAcquireValue(here, outside, &wait, &message));
  here = Double(adopted, here);
  EXPECT_OK(vxlaReleaseValue(here, outside, &signal, &message));
  VxlaExecutable executable = NULL;
  VxlaCompileInfo compile = {.struct_size = sizeof(compile), .text = kDoubles};
  EXPECT_OK(vxlaCompile(adopted, &compile, &executable, &message));
  const VxlaExecuteInfo execute = {
      .struct_size = sizeof(execute), .argument_count = 1, .arguments = &here, .result_count = 1, .results = &refused};
  EXPECT_CODE(vxlaExecute(executable, &execute, &message), VXLA_INVALID_ARGUMENT, "argument 0: it was released");
  vxlaDestroyExecutable(executable);
  VkSemaphoreSignalInfo write = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = ready, .value = 1};
  EXPECT(host->SignalSemaphore(host->device, &write) == VK_SUCCESS);
  const VkSemaphoreWaitInfo finished = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                        .semaphoreCount = 1,
                                        .pSemaphores = &done,
                                        .pValues = &signal.value};
  EXPECT(host->WaitSemaphores(host->device, &finished, 10000000000u) == VK_SUCCESS);
  EXPECT_CODE(vxlaAcquireValue(there, outside, &wait, &message), VXLA_INVALID_ARGUMENT, "its device is vxla's own");
  EXPECT_OK(vxlaAcquireValue(there, outside, NULL, &message));
  ExpectValue(there, 2);
  wait.semaphore = VK_NULL_HANDLE;
  EXPECT_CODE(vxlaAcquireValue(here, outside, &wait, &message), VXLA_INVALID_ARGUMENT, "wait: its VkSemaphore is NULL");
  EXPECT_CODE(vxlaAcquireValue(here, 77, NULL, &message), VXLA_INVALID_ARGUMENT, "queue family 77: ");
  EXPECT_CODE(vxlaReleaseValue(there, 0, NULL, &message), VXLA_INVALID_ARGUMENT, "one that vxla's queues have");
  vxlaDestroyValue(there);
  vxlaDestroyValue(here);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
  host->DestroySemaphore(host->device, ready, NULL);
  host->DestroySemaphore(host->device, done, NULL);
}

// What the host allocated, on both devices.
static void TestOfTheHost(Host* host, VxlaDevice own, VxlaDevice adopted) {
  for (int i = 0; i < 2; ++i) {
    VxlaDevice device = i == 0 ? own : adopted;
    VxlaMemory memory;
    HostBuffer buffer = HostShare(host, NULL, &memory);
    memory.offset = 512;
    float words[16];  // the array, and what lies behind it
    memset(words, 0xfb, sizeof(words));
    memcpy(words, kFirst, sizeof(kFirst));
    HostWrite(host, &buffer, 512, words, sizeof(words));
    VxlaValue value = NULL;
    EXPECT_OK(vxlaImportMemory(device, &memory, &kArray, NULL, &value, &message));
    value = Double(device, value);
    ExpectValue(value, 2);
    HostRead(host, &buffer, 512, words, sizeof(words));
    ExpectFloats(words, 2);
    EXPECT(*(unsigned char*)(words + 8) == 0xfb);
    VxlaMemory exported = {.struct_size = sizeof(exported)};
    EXPECT_CODE(vxlaExportMemory(value, &exported, &message), VXLA_INVALID_ARGUMENT, "not made to be exported");
    vxlaDestroyValue(value);
    HostFreeBuffer(host, &buffer);
  }
}

// Whether the device has an extension that vxla would use.
static int HostAsks(const Host* host, const char* extension) {
  for (uint32_t i = 0; i < host->asked.extension_count; ++i)
    if (strcmp(host->asked.extensions[i], extension) == 0) return 1;
  return 0;
}

static void TestRefusals(Host* host, VxlaDevice own) {
  VxlaValue value = NULL, plain = NULL;
  const VkExternalMemoryHandleTypeFlagBits opaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  EXPECT_CODE(
      vxlaCreateSharedValue(own, VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP_BIT, &kArray, NULL, &value, &message),
      VXLA_INVALID_ARGUMENT, "handle type 0x20: none of OPAQUE_FD, DMA_BUF");
  if (!HostAsks(host, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)) {
    EXPECT_CODE(
        vxlaCreateSharedValue(own, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, &kArray, NULL, &value, &message),
        VXLA_UNSUPPORTED, "VK_EXT_external_memory_dma_buf is not enabled");
  }
  EXPECT_OK(vxlaCreateValue(own, &kArray, kFirst, &plain, &message));
  VxlaMemory memory = {.struct_size = sizeof(memory)};
  EXPECT_CODE(vxlaExportMemory(plain, &memory, &message), VXLA_INVALID_ARGUMENT, "not made to be exported");
  vxlaDestroyValue(plain);
  EXPECT_OK(vxlaCreateSharedValue(own, opaque, &kArray, NULL, &value, &message));
  const VxlaMemory good = Exported(value);
  VxlaValue imported = NULL;
#define REFUSED(TEXT) \
  EXPECT_CODE(vxlaImportMemory(own, &memory, &kArray, NULL, &imported, &message), VXLA_INVALID_ARGUMENT, TEXT)
  memory = good, memory.descriptor = -1;
  REFUSED("descriptor -1: it stands for nothing");
  memory = good, memory.offset = 8;
  REFUSED("memory: its offset 8 is no multiple of");
  memory = good, memory.offset = 1 << 20;
  REFUSED("memory: 32 bytes from 1048576 on lie outside its");
  memory = good, memory.size = 16;
  REFUSED("memory: 32 bytes from 0 on lie outside its 16");
  memory = good, memory.size = UINT64_MAX;
  REFUSED("memory: 18446744073709551615 bytes are more than its heap has");
  memory = good, memory.memory_type = 77;
  REFUSED("memory: no buffer can live in its memory type 77");
  memory = good, memory.struct_size = 8;
  REFUSED("memory: struct_size is 8");
#undef REFUSED
  const VxlaSemaphore wait = {0};
  EXPECT_CODE(vxlaImportMemory(own, &good, &kArray, &wait, &imported, &message), VXLA_INVALID_ARGUMENT,
              "the device is vxla's own");
  EXPECT_CODE(vxlaImportMemory(own, NULL, &kArray, NULL, &imported, &message), VXLA_INVALID_ARGUMENT, "memory");
  EXPECT(imported == NULL);
  close(good.descriptor);  // nothing took it
  vxlaDestroyValue(value);
}

// A host that did not enable the extension.
static void TestNotEnabled(Host* host) {
  const uint32_t extensions = host->asked.extension_count;
  host->asked.extension_count = host->asked.needed_extension_count;
  HostMakeDevice(host, NULL);
  VxlaAdoptInfo info = HostAdoptInfo(host, VK_API_VERSION_1_3, NULL);
  VxlaDevice device = NULL;
  VxlaValue value = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  EXPECT_CODE(
      vxlaCreateSharedValue(device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, &kArray, NULL, &value, &message),
      VXLA_UNSUPPORTED, "VK_KHR_external_memory_fd is not enabled");
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  host->asked.extension_count = extensions;
  HostCloseDevice(host);
}

int main(void) {
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) return 1;
  TestNotEnabled(&host);
  const char* bindings[2] = {"addresses", "descriptors"};
  for (int i = 0; i < 2; ++i) {
    HostMakeDevice(&host, NULL);
    VkPhysicalDeviceProperties properties;
    host.GetPhysicalDeviceProperties(host.physical, &properties);
    VxlaDeviceInfo own_info = {
        .struct_size = sizeof(own_info), .device = properties.deviceName, .bindings = bindings[i]};
    VxlaAdoptInfo info = HostAdoptInfo(&host, VK_API_VERSION_1_3, bindings[i]);
    VxlaDevice own = NULL, adopted = NULL;
    EXPECT_OK(vxlaCreateDevice(&own_info, &own, &message));
    EXPECT_OK(vxlaAdoptDevice(&info, &adopted, &message));
    TestBothWays(&host, own, adopted);
    TestOwnership(&host, own, adopted);
    TestOfTheHost(&host, own, adopted);
    TestRefusals(&host, own);
    EXPECT_OK(vxlaDestroyDevice(own, &message));
    EXPECT_OK(vxlaDestroyDevice(adopted, &message));
    HostCloseDevice(&host);
  }
  HostClose(&host);
  return failures != 0;
}
