// vxla through Vulkan functions that the host puts between: what it names and labels, a device that is lost, and what a
// frame costs beside the driver.
#include <threads.h>

#include "tests/c_api/counts.h"
#include "tests/c_api/vulkan_host.h"

// ---- functions of the host's ----

enum { kMostNames = 256 };
static PFN_vkGetInstanceProcAddr real_instance;
static PFN_vkGetDeviceProcAddr real_device;
static char names[kMostNames][64], labels[kMostNames][64];
static int name_count, label_count, depth, deepest;
static int lost, waits;
static PFN_vkQueueSubmit2 real_submit;
static PFN_vkWaitSemaphores real_wait;
static PFN_vkGetSemaphoreCounterValue real_value;

static void Note(char list[kMostNames][64], int* count, const char* name) {
  EXPECT(*count < kMostNames);
  if (*count < kMostNames) snprintf(list[(*count)++], 64, "%s", name);
}

static int Noted(char list[kMostNames][64], int count, const char* part) {
  for (int i = 0; i < count; ++i) {
    if (strstr(list[i], part) != NULL) return 1;
  }
  fprintf(stderr, "nothing is named '%s'\n", part);
  return 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL SetName(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
  (void)device;
  EXPECT(info->objectHandle != 0);
  Note(names, &name_count, info->pObjectName);
  return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL BeginLabel(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
  (void)commands;
  Note(labels, &label_count, label->pLabelName);
  if (++depth > deepest) deepest = depth;
}
static VKAPI_ATTR void VKAPI_CALL EndLabel(VkCommandBuffer commands) {
  (void)commands;
  EXPECT(--depth >= 0);
}
static VKAPI_ATTR VkResult VKAPI_CALL Submit(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  return lost ? VK_ERROR_DEVICE_LOST : real_submit(queue, count, infos, fence);
}
static VKAPI_ATTR VkResult VKAPI_CALL Wait(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  ++waits;
  return lost ? VK_ERROR_DEVICE_LOST : real_wait(device, info, timeout);
}
static VKAPI_ATTR VkResult VKAPI_CALL ValueOf(VkDevice device, VkSemaphore semaphore, uint64_t* value) {
  return lost ? VK_ERROR_DEVICE_LOST : real_value(device, semaphore, value);
}
static VKAPI_ATTR void VKAPI_CALL NoWaiting(void) { EXPECT(0 && "nothing waits for a host's device or its queue"); }

// Pipelines that cannot be made, or not before the test says so.
static atomic_int pipelines_fail, pipelines_wait;
static PFN_vkCreateComputePipelines real_pipelines;
static VKAPI_ATTR VkResult VKAPI_CALL Pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* allocation, VkPipeline* pipelines) {
  while (pipelines_wait) thrd_yield();
  return pipelines_fail ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                        : real_pipelines(device, cache, count, infos, allocation, pipelines);
}

static int pools;
static PFN_vkCreateDescriptorPool real_pool;
static VKAPI_ATTR VkResult VKAPI_CALL Pool(VkDevice device, const VkDescriptorPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocation, VkDescriptorPool* pool) {
  ++pools;
  return real_pool(device, info, allocation, pool);
}

// Commands that go nowhere, so that what a driver does with them is not counted.
#pragma GCC diagnostic ignored "-Wunused-parameter"
static int skips_commands, commands_skipped;
#define SKIPPED(NAME, ...) \
  static VKAPI_ATTR void VKAPI_CALL Skip##NAME(VkCommandBuffer commands, __VA_ARGS__) { ++commands_skipped; }
SKIPPED(BindPipeline, VkPipelineBindPoint point, VkPipeline pipeline)
SKIPPED(PushConstants, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset, uint32_t size,
        const void* bytes)
SKIPPED(BindDescriptorSets, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t count,
        const VkDescriptorSet* sets, uint32_t offset_count, const uint32_t* offsets)
SKIPPED(PushDescriptorSetKHR, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t set, uint32_t count,
        const VkWriteDescriptorSet* writes)
SKIPPED(SetEvent, VkEvent event, VkPipelineStageFlags stages)
SKIPPED(Dispatch, uint32_t x, uint32_t y, uint32_t z)
SKIPPED(CopyBuffer, VkBuffer from, VkBuffer to, uint32_t count, const VkBufferCopy* regions)
SKIPPED(CopyImageToBuffer, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
        const VkBufferImageCopy* regions)
SKIPPED(CopyBufferToImage, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
        const VkBufferImageCopy* regions)
#undef SKIPPED

// What each barrier waits for.
enum { kMostBarriers = 16 };
static VkPipelineStageFlags2 barriers_wait_for[kMostBarriers];
static int barrier_count;
static VKAPI_ATTR void VKAPI_CALL SkipPipelineBarrier2(VkCommandBuffer commands, const VkDependencyInfo* info) {
  ++commands_skipped;
  if (info->memoryBarrierCount == 1 && barrier_count < kMostBarriers)
    barriers_wait_for[barrier_count++] = info->pMemoryBarriers[0].srcStageMask;
}

static PFN_vkVoidFunction Skipping(const char* name) {
  const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } commands[] = {{"vkCmdBindPipeline", (PFN_vkVoidFunction)SkipBindPipeline},
                  {"vkCmdPushConstants", (PFN_vkVoidFunction)SkipPushConstants},
                  {"vkCmdBindDescriptorSets", (PFN_vkVoidFunction)SkipBindDescriptorSets},
                  {"vkCmdPushDescriptorSetKHR", (PFN_vkVoidFunction)SkipPushDescriptorSetKHR},
                  {"vkCmdSetEvent", (PFN_vkVoidFunction)SkipSetEvent},
                  {"vkCmdDispatch", (PFN_vkVoidFunction)SkipDispatch},
                  {"vkCmdPipelineBarrier2", (PFN_vkVoidFunction)SkipPipelineBarrier2},
                  {"vkCmdCopyBuffer", (PFN_vkVoidFunction)SkipCopyBuffer},
                  {"vkCmdCopyImageToBuffer", (PFN_vkVoidFunction)SkipCopyImageToBuffer},
                  {"vkCmdCopyBufferToImage", (PFN_vkVoidFunction)SkipCopyBufferToImage}};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    if (strcmp(commands[i].name, name) == 0) return commands[i].function;
  }
  return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL OfDevice(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device(device, name);
  if (skips_commands && Skipping(name) != NULL) return Skipping(name);
  if (strcmp(name, "vkSetDebugUtilsObjectNameEXT") == 0) return (PFN_vkVoidFunction)SetName;
  if (strcmp(name, "vkCmdBeginDebugUtilsLabelEXT") == 0) return (PFN_vkVoidFunction)BeginLabel;
  if (strcmp(name, "vkCmdEndDebugUtilsLabelEXT") == 0) return (PFN_vkVoidFunction)EndLabel;
  const char* idle[] = {"vkDeviceWaitIdle", "vkQueueWaitIdle", "vkWaitForFences"};
  for (int i = 0; i < 3; ++i) {
    if (strcmp(name, idle[i]) == 0) return (PFN_vkVoidFunction)NoWaiting;
  }
  if (strcmp(name, "vkCreateComputePipelines") == 0) {
    real_pipelines = (PFN_vkCreateComputePipelines)real;
    return (PFN_vkVoidFunction)Pipelines;
  }
  if (strcmp(name, "vkCreateDescriptorPool") == 0) {
    real_pool = (PFN_vkCreateDescriptorPool)real;
    return (PFN_vkVoidFunction)Pool;
  }
  if (strcmp(name, "vkQueueSubmit2") == 0) {
    real_submit = (PFN_vkQueueSubmit2)real;
    return (PFN_vkVoidFunction)Submit;
  }
  if (strcmp(name, "vkWaitSemaphores") == 0) {
    real_wait = (PFN_vkWaitSemaphores)real;
    return (PFN_vkVoidFunction)Wait;
  }
  if (strcmp(name, "vkGetSemaphoreCounterValue") == 0) {
    real_value = (PFN_vkGetSemaphoreCounterValue)real;
    return (PFN_vkVoidFunction)ValueOf;
  }
  return real;
}
static int without_compute;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties real_families;
static VKAPI_ATTR void VKAPI_CALL Families(VkPhysicalDevice device, uint32_t* count,
                                           VkQueueFamilyProperties* families) {
  real_families(device, count, families);
  for (uint32_t i = 0; families != NULL && without_compute && i < *count; ++i)
    families[i].queueFlags &= ~(VkQueueFlags)VK_QUEUE_COMPUTE_BIT;
}
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL OfInstance(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = real_instance(instance, name);
  if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0) {
    real_families = (PFN_vkGetPhysicalDeviceQueueFamilyProperties)real;
    return (PFN_vkVoidFunction)Families;
  }
  if (strcmp(name, "vkGetDeviceProcAddr") != 0) return real;
  real_device = (PFN_vkGetDeviceProcAddr)real;
  return (PFN_vkVoidFunction)OfDevice;
}

// ---- what vxla does with them ----

static const char kProgram[] =
    "HloModule frost\n"
    "ENTRY e { x = f32[64,64] parameter(0)\n d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "  ROOT r = f32[64,64] tanh(d) }\n";

static VxlaExecutable Compile(VxlaDevice device) {
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE, .text = kProgram};
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  return executable;
}

static VxlaDevice Adopt(Host* host) {
  VxlaAdoptInfo info = HostAdoptInfo(host, VK_API_VERSION_1_3, NULL);
  info.get_instance_proc_addr = OfInstance;
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  return device;
}

static void TestQueueWithoutCompute(Host* host) {
  VxlaAdoptInfo info = HostAdoptInfo(host, VK_API_VERSION_1_3, NULL);
  info.get_instance_proc_addr = OfInstance;
  VxlaDevice device = NULL;
  without_compute = 1;
  EXPECT_CODE(vxlaAdoptDevice(&info, &device, &message), VXLA_INVALID_ARGUMENT, "queue family 0 runs no compute");
  EXPECT(device == NULL);
  without_compute = 0;
}

// A capture of a frame shows the program, its kernels and the copies by name.
static void TestNames(Host* host) {
  VxlaDevice device = Adopt(host);
  VxlaExecutable executable = Compile(device);
  const VkFormat format = VK_FORMAT_R8_UNORM;
  const VxlaRecordingInfo info = {.struct_size = sizeof(info),
                                  .argument_count = 1,
                                  .result_count = 1,
                                  .argument_formats = &format,
                                  .result_formats = &format};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &info, &recording, &message));
  EXPECT(Noted(names, name_count, "vxla memory"));
  EXPECT(Noted(names, name_count, "vxla timeline"));
  EXPECT(Noted(names, name_count, "matmul"));
  // The kernels are named, and every name says whose it is.
  for (int i = 0; i < name_count; ++i) EXPECT(strncmp(names[i], "vxla ", 5) == 0);
  const HostImage from = HostMakeImage(host, format, 64, 64, 1, VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
  const HostImage to = HostMakeImage(host, format, 64, 64, 1, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
  VxlaImage in = from.image, out = to.image;
  in.before.layout = VK_IMAGE_LAYOUT_GENERAL;
  in.after.layout = out.after.layout = VK_IMAGE_LAYOUT_GENERAL;
  const VxlaImage *argument = &in, *result = &out;
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 1,
                                 .result_count = 1,
                                 .argument_images = &argument,
                                 .result_images = &result};
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  label_count = deepest = 0;
  HostBegin(host, commands);
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bindings, &message));
  host->EndCommandBuffer(commands);  // for looking at: never submitted
  EXPECT(depth == 0 && deepest >= 2);
  EXPECT(label_count > 3 && strcmp(labels[0], "images to arrays") == 0);
  EXPECT(Noted(labels, label_count, "frost"));
  EXPECT(Noted(labels, label_count, "dot"));
  EXPECT(Noted(labels, label_count, "arrays to images"));
  HostFreeImage(host, &from);
  HostFreeImage(host, &to);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

// The device is lost under a run: every call says so, destroying works and waits for nothing, and the next device runs.
static void TestLostDevice(Host* host) {
  VxlaDevice device = Adopt(host);
  VxlaExecutable executable = Compile(device);
  static float x[64 * 64], y[64 * 64];
  for (int i = 0; i < 64; ++i) x[i * 65] = 0.5f;
  const VxlaConstBytes argument = {x, sizeof(x)};
  const VxlaBytes result = {y, sizeof(y)};
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  const int64_t dimensions[2] = {64, 64};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 2, .dimensions = dimensions};
  VxlaValue value = NULL, later = NULL;
  EXPECT_OK(vxlaCreateValue(device, &array, x, &value, &message));
  VxlaExecuteInfo execute = {
      .struct_size = sizeof(execute), .argument_count = 1, .arguments = &value, .result_count = 1, .results = &later};
  EXPECT_OK(vxlaExecute(executable, &execute, &message));  // in flight
  lost = 1;
  VxlaValue none = NULL;
  execute.results = &none;
  EXPECT_CODE(vxlaExecute(executable, &execute, &message), VXLA_DEVICE_FAILURE, "was lost");
  EXPECT(none == NULL);
  EXPECT_CODE(vxlaRun(executable, 1, &argument, 1, &result, &message), VXLA_DEVICE_FAILURE, "was lost");
  EXPECT_CODE(vxlaReadValue(later, y, sizeof(y), &message), VXLA_DEVICE_FAILURE, "was lost");
  VxlaRecordingInfo info = {.struct_size = sizeof(info)};
  VxlaRecording recording = NULL;
  EXPECT_CODE(vxlaCreateRecording(executable, &info, &recording, &message), VXLA_DEVICE_FAILURE, "was lost");
  EXPECT_CODE(vxlaCreateValue(device, &array, x, &none, &message), VXLA_DEVICE_FAILURE, "was lost");
  EXPECT(recording == NULL && none == NULL);
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "3 of its handles");
  waits = 0;
  vxlaDestroyValue(value);
  vxlaDestroyValue(later);
  vxlaDestroyExecutable(executable);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);  // the real device goes on
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  EXPECT(waits == 0);
  lost = 0;
  // The host sees it first: vxla learns of it while it is destroyed.
  device = Adopt(host);
  executable = Compile(device);
  EXPECT_OK(vxlaCreateValue(device, &array, x, &value, &message));
  execute.results = &later;
  EXPECT_OK(vxlaExecute(executable, &execute, &message));
  lost = 1;
  waits = 0;
  vxlaDestroyValue(value);
  vxlaDestroyValue(later);
  vxlaDestroyExecutable(executable);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  EXPECT(waits == 0);
  lost = 0;
  HostCloseDevice(host);
  HostMakeDevice(host, NULL);
  device = Adopt(host);
  executable = Compile(device);
  EXPECT_OK(vxlaRun(executable, 1, &argument, 1, &result, &message));
  EXPECT(y[0] > 0.2449f && y[0] < 0.245f && y[1] == 0);  // tanh(1/4)
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
}

// tests/c_api/bundle.hlo, compiled: its pipelines fail, then take longer than its handle lives.
static void TestBackground(Host* host, const char* path) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  EXPECT(file != NULL);
  if (file == NULL) return;
  VxlaBundleInfo info = {.struct_size = sizeof(info),
                         .flags = VXLA_COMPILE_RECORDABLE | VXLA_LOAD_IN_BACKGROUND,
                         .data = bytes,
                         .size_bytes = fread(bytes, 1, sizeof(bytes), file)};
  fclose(file);
  VxlaDevice device = Adopt(host);
  VxlaExecutable executable = NULL;
  const VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  int32_t ready = 0;
  pipelines_fail = pipelines_wait = 1;
  EXPECT_OK(vxlaLoadBundle(device, &info, &executable, &message));
  EXPECT_OK(vxlaExecutableIsReady(executable, &ready, &message));
  EXPECT(ready == 0);
  pipelines_wait = 0;
  EXPECT_CODE(vxlaCreateRecording(executable, &recording_info, &recording, &message), VXLA_RESOURCE_EXHAUSTED,
              "vkCreateComputePipelines of ");
  EXPECT_CODE(vxlaExecutableIsReady(executable, &ready, &message), VXLA_RESOURCE_EXHAUSTED, "vkCreateComputePipelines");
  vxlaDestroyExecutable(executable);
  info.flags = VXLA_COMPILE_RECORDABLE;
  EXPECT_CODE(vxlaLoadBundle(device, &info, &executable, &message), VXLA_RESOURCE_EXHAUSTED,
              "vkCreateComputePipelines");
  info.flags |= VXLA_LOAD_IN_BACKGROUND;
  pipelines_fail = 0;
  pipelines_wait = 1;
  EXPECT_OK(vxlaLoadBundle(device, &info, &executable, &message));
  vxlaDestroyExecutable(executable);  // waits for nothing
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "pipelines are being made in the background");
  pipelines_wait = 0;
  while (vxlaDestroyDevice(device, NULL) == VXLA_BUSY) thrd_yield();
}

// Handles go while the device still works with them, in an order that is as good as any: nothing waits, and the device
// goes when the work is done.
static void TestDestroyInFlight(Host* host) {
  VxlaDevice device = Adopt(host);
  VxlaExecutable executable = Compile(device);
  VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  const VkDeviceSize size = 64 * 64 * sizeof(float);
  HostBuffer buffer = HostMakeBuffer(host, size, usage);
  VkSemaphore written = HostMakeTimeline(host);
  const VxlaSemaphore wait = {.semaphore = written, .value = 1};
  const int64_t dimensions[2] = {64, 64};
  const VxlaArray array = {.struct_size = sizeof(array), .element_type = VXLA_F32, .rank = 2, .dimensions = dimensions};
  const VxlaImportInfo import = {
      .struct_size = sizeof(import), .array = &array, .binding = HostBind(&buffer, 0, size), .wait = &wait};
  VxlaValue x = NULL, y = NULL, z = NULL;
  EXPECT_OK(vxlaImportValue(device, &import, &x, &message));
  VxlaExecuteInfo execute = {
      .struct_size = sizeof(execute), .argument_count = 1, .arguments = &x, .result_count = 1, .results = &y};
  EXPECT_OK(vxlaExecute(executable, &execute, &message));
  execute.results = &z;
  EXPECT_OK(vxlaExecute(executable, &execute, &message));
  waits = 0;
  vxlaDestroyValue(x);
  vxlaDestroyValue(y);
  vxlaDestroyExecutable(executable);
  vxlaDestroyRecording(recording);
  vxlaDestroyValue(z);
  EXPECT_CODE(vxlaDestroyDevice(device, &message), VXLA_BUSY, "in flight");
  VkSemaphoreSignalInfo write = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = written, .value = 1};
  EXPECT(host->SignalSemaphore(host->device, &write) == VK_SUCCESS);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);  // the host's own function, and the host's business
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  EXPECT(waits == 0 && host->live == 0);
  host->DestroySemaphore(host->device, written, NULL);
  HostFreeBuffer(host, &buffer);
}

// Where VK_KHR_push_descriptor stands among what is enabled; else -1.
static int PlaceOfPushing(const Host* host) {
  for (uint32_t i = 0; i < host->asked.extension_count; ++i) {
    if (strcmp(host->asked.extensions[i], VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) == 0) return (int)i;
  }
  return -1;
}

// A frame that only binds and records, from the second one on, with buffers that change their places as frames' do.
static void TestSteadyFrame(Host* host, const char* bindings, VkFormat format) {
  skips_commands = 1;
  VxlaAdoptInfo info = HostAdoptInfo(host, VK_API_VERSION_1_3, bindings);
  info.get_instance_proc_addr = OfInstance;
  info.flags = 0;  // its frames are recorded alone: with checks they would be uses that never end
  VxlaDevice device = NULL;
  EXPECT_OK(vxlaAdoptDevice(&info, &device, &message));
  VxlaExecutable executable = Compile(device);
  pools = 0;  // probes have theirs
  VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  if (format != VK_FORMAT_UNDEFINED) {
    recording_info.argument_count = recording_info.result_count = 1;
    recording_info.argument_formats = recording_info.result_formats = &format;
  }
  VxlaRecording recording = NULL;
  int allocations = 0, locks = 0;
  name_count = label_count = 0;
  CountFromHere();
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  Counted(&allocations, &locks);
  EXPECT(allocations > 0 && locks > 0);  // else the counters count nothing
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  const VkDeviceSize size = 64 * 64 * sizeof(float);
  HostBuffer buffer = HostMakeBuffer(host, 4 * size, needs.argument_usage | needs.result_usage);
  const HostImage image = HostMakeImage(host, VK_FORMAT_R8_UNORM, 64, 64, 1,
                                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
  VxlaImage state = image.image;
  state.before.layout = state.after.layout = VK_IMAGE_LAYOUT_GENERAL;
  const VxlaImage* images = &state;
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int frame = 0; frame < 4; ++frame) {
    const VxlaBinding argument = HostBind(&buffer, (frame % 2) * size, size);
    const VxlaBinding result = HostBind(&buffer, (2 + frame % 2) * size, size);
    VxlaBindings bound = {.struct_size = sizeof(bound), .argument_count = 1, .result_count = 1};
    if (format == VK_FORMAT_UNDEFINED) {
      bound.arguments = &argument;
      bound.results = &result;
    } else {
      bound.argument_images = bound.result_images = &images;
    }
    const int host_allocations = host->allocations, host_locks = host->locks;
    commands_skipped = 0;
    CountFromHere();
    const VxlaCode code = vxlaCmdExecute(commands, recording, &bound, NULL);
    Counted(&allocations, &locks);
    EXPECT(code == VXLA_OK && commands_skipped >= 3);
    if (frame == 0 || getenv("VXLA_TEST_VALIDATE") != NULL) continue;  // the layer locks and allocates, too
    EXPECT(allocations == 0 && locks == 0);
    EXPECT(host->allocations == host_allocations && host->locks == host_locks);
  }
  EXPECT((pools != 0) == (strcmp(bindings, "descriptors") == 0 && PlaceOfPushing(host) < 0));
  HostFreeImage(host, &image);
  HostFreeBuffer(host, &buffer);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  skips_commands = 0;
}

// Between dispatches nothing waits for copies, but for those that the host may have recorded before.
static void TestBarriers(Host* host) {
  skips_commands = 1;
  VxlaDevice device = Adopt(host);
  VxlaCompileInfo info = {.struct_size = sizeof(info), .flags = VXLA_COMPILE_RECORDABLE};
  info.text =
      "HloModule chain\n"
      "ENTRY e { x = f32[64,64] parameter(0)\n"
      "  a = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  b = f32[64,64] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT c = f32[64,64] dot(b, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n";
  VxlaExecutable executable = NULL;
  EXPECT_OK(vxlaCompile(device, &info, &executable, &message));
  VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  EXPECT_OK(vxlaCreateRecording(executable, &recording_info, &recording, &message));
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  const VkDeviceSize size = 64 * 64 * sizeof(float);
  HostBuffer buffer = HostMakeBuffer(host, 2 * size, needs.argument_usage | needs.result_usage);
  const VxlaBinding argument = HostBind(&buffer, 0, size), result = HostBind(&buffer, size, size);
  VxlaBindings bound = {.struct_size = sizeof(bound), .argument_count = 1, .result_count = 1};
  bound.arguments = &argument;
  bound.results = &result;
  VkCommandBuffer commands = HostCommands(host, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  barrier_count = 0;
  EXPECT_OK(vxlaCmdExecute(commands, recording, &bound, &message));
  EXPECT(barrier_count == 2);
  EXPECT((barriers_wait_for[0] & VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT) != 0);
  EXPECT(barriers_wait_for[1] == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
  HostFreeBuffer(host, &buffer);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  EXPECT_OK(vxlaDestroyDevice(device, &message));
  skips_commands = 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "a bundle is wanted\n"), 1;
  static Host host;
  if (!HostOpen(&host, VK_API_VERSION_1_3)) return 1;
  real_instance = host.get;
  HostMakeDevice(&host, NULL);
  TestQueueWithoutCompute(&host);
  TestNames(&host);
  TestLostDevice(&host);
  TestBackground(&host, argv[1]);
  TestDestroyInFlight(&host);
  TestSteadyFrame(&host, "addresses", VK_FORMAT_UNDEFINED);
  TestSteadyFrame(&host, "descriptors", VK_FORMAT_UNDEFINED);
  TestSteadyFrame(&host, "addresses", VK_FORMAT_R8_UNORM);
  TestSteadyFrame(&host, "descriptors", VK_FORMAT_R8_UNORM);
  TestBarriers(&host);
  const int pushing = PlaceOfPushing(&host);
  if (pushing >= 0) {
    host.asked.extensions[pushing] = host.asked.extensions[--host.asked.extension_count];
    TestSteadyFrame(&host, "descriptors", VK_FORMAT_UNDEFINED);
  }
  HostCloseDevice(&host);
  HostClose(&host);
  return failures != 0;
}
