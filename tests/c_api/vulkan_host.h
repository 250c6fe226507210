// A small Vulkan host in C: instance, device with what vxla asks for, one queue, buffers that the host can read.
#pragma once

#include <ctype.h>
#ifdef _WIN32
#include <malloc.h>
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>
#include <vxla/vxla_vulkan.h>

#include "tests/c_api/c_test.h"

// What the test calls itself.
#define HOST_INSTANCE_FUNCTIONS(F)     \
  F(EnumeratePhysicalDevices)          \
  F(GetPhysicalDeviceProperties)       \
  F(GetPhysicalDeviceMemoryProperties) \
  F(GetPhysicalDeviceFormatProperties) \
  F(CreateDevice)                      \
  F(DestroyInstance)                   \
  F(GetDeviceProcAddr)                 \
  F(GetPhysicalDeviceQueueFamilyProperties) F(CreateDebugUtilsMessengerEXT) F(DestroyDebugUtilsMessengerEXT)
#define HOST_DEVICE_FUNCTIONS(F)                                                                                \
  F(DestroyDevice)                                                                                              \
  F(GetDeviceQueue)                                                                                             \
  F(QueueSubmit)                                                                                                \
  F(QueueWaitIdle)                                                                                              \
  F(CreateBuffer)                                                                                               \
  F(DestroyBuffer)                                                                                              \
  F(GetBufferMemoryRequirements)                                                                                \
  F(AllocateMemory)                                                                                             \
  F(FreeMemory)                                                                                                 \
  F(BindBufferMemory)                                                                                           \
  F(MapMemory)                                                                                                  \
  F(CreateCommandPool)                                                                                          \
  F(DestroyCommandPool)                                                                                         \
  F(AllocateCommandBuffers)                                                                                     \
  F(BeginCommandBuffer)                                                                                         \
  F(EndCommandBuffer)                                                                                           \
  F(CmdPipelineBarrier) F(CmdFillBuffer) F(CmdExecuteCommands) F(GetBufferDeviceAddress) F(CreatePipelineCache) \
      F(DestroyPipelineCache) F(CreateSemaphore) F(DestroySemaphore) F(SignalSemaphore) F(WaitSemaphores)       \
          F(CreateImage) F(DestroyImage) F(GetImageMemoryRequirements) F(BindImageMemory) F(CmdCopyBuffer)      \
              F(CmdCopyBufferToImage) F(CmdCopyImageToBuffer) F(CreateQueryPool) F(DestroyQueryPool)            \
                  F(CmdResetQueryPool) F(GetQueryPoolResults)
#define HOST_MEMBER(NAME) PFN_vk##NAME NAME;

typedef struct Host {
  PFN_vkGetInstanceProcAddr get;
  HOST_INSTANCE_FUNCTIONS(HOST_MEMBER)
  HOST_DEVICE_FUNCTIONS(HOST_MEMBER)
  VkInstance instance;
  VkDebugUtilsMessengerEXT messenger;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  uint32_t family;
  VkCommandPool pool;
  VkPhysicalDeviceMemoryProperties memory;
  VxlaRequirements asked;
  int locks, locked;
  atomic_int allocations, live;  // of `allocation`, which several threads may call
  VkAllocationCallbacks allocation;
} Host;

// What the layer is meant to say, and how often it has.
static const char* host_expects;
static int host_heard;

static VKAPI_ATTR VkBool32 VKAPI_CALL HostHears(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                VkDebugUtilsMessageTypeFlagsEXT types,
                                                const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  (void)severity, (void)types, (void)user;
  if (host_expects != NULL && strstr(data->pMessage, host_expects) != NULL) return ++host_heard, VK_FALSE;
  ++failures;
  fprintf(stderr, "validation: %s\n", data->pMessage);
  return VK_FALSE;
}

#ifdef _WIN32
#define HOST_ALIGNED(alignment, size) _aligned_malloc(size, alignment)
#define HOST_RESIZED(memory, size, alignment) _aligned_realloc(memory, size, alignment)
#define HOST_RELEASE(memory) _aligned_free(memory)
#else
#define HOST_ALIGNED(alignment, size) aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
#define HOST_RESIZED(memory, size, alignment) realloc(memory, size)
#define HOST_RELEASE(memory) free(memory)
#endif

static void* HostAllocate(void* user, size_t size, size_t alignment, VkSystemAllocationScope scope) {
  (void)scope;
  ++((Host*)user)->allocations;
  ++((Host*)user)->live;
  return HOST_ALIGNED(alignment, size);
}
static void* HostReallocate(void* user, void* old, size_t size, size_t alignment, VkSystemAllocationScope scope) {
  (void)alignment, (void)scope;
  if (old == NULL) ++((Host*)user)->live;
  if (old != NULL && size == 0) --((Host*)user)->live;
  return HOST_RESIZED(old, size, alignment);
}
static void HostFree(void* user, void* memory) {
  if (memory != NULL) --((Host*)user)->live;
  HOST_RELEASE(memory);
}

static void HostLock(void* user) {
  Host* host = user;
  EXPECT(!host->locked);
  host->locked = 1;
  ++host->locks;
}
static void HostUnlock(void* user) { ((Host*)user)->locked = 0; }

// `part` in any case; NULL is a part of everything.
static int HostNames(const char* name, const char* part) {
  if (part == NULL) return 1;
  for (; *name != 0; ++name) {
    size_t i = 0;
    while (part[i] != 0 && tolower((unsigned char)name[i]) == tolower((unsigned char)part[i])) ++i;
    if (part[i] == 0) return 1;
  }
  return 0;
}

// VXLA_TEST_DEVICE is a part of the name of the device; VXLA_TEST_VALIDATE turns the host's own layer on.
static int HostOpenInstance(Host* host, uint32_t api_version) {
  memset(host, 0, sizeof(*host));
  host->allocation = (VkAllocationCallbacks){
      .pUserData = host, .pfnAllocation = HostAllocate, .pfnReallocation = HostReallocate, .pfnFree = HostFree};
#ifdef _WIN32
  HMODULE library = LoadLibraryA("vulkan-1.dll");
  EXPECT(library != NULL);
  if (library == NULL) return 0;
  FARPROC symbol = GetProcAddress(library, "vkGetInstanceProcAddr");
#else
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != NULL);
  if (library == NULL) return 0;
  void* symbol = dlsym(library, "vkGetInstanceProcAddr");
#endif
  memcpy(&host->get, &symbol, sizeof(symbol));
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const VkValidationFeatureEnableEXT enable = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT checks = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                    .enabledValidationFeatureCount = 1,
                                    .pEnabledValidationFeatures = &enable};
  const uint32_t validates = getenv("VXLA_TEST_VALIDATE") != NULL;
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = api_version};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = validates ? &checks : NULL,
                               .pApplicationInfo = &application,
                               .enabledLayerCount = validates,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = validates,
                               .ppEnabledExtensionNames = &extension};
  const PFN_vkCreateInstance create = (PFN_vkCreateInstance)host->get(NULL, "vkCreateInstance");
  EXPECT(create(&info, NULL, &host->instance) == VK_SUCCESS);
#define HOST_LOAD(NAME) host->NAME = (PFN_vk##NAME)host->get(host->instance, "vk" #NAME);
  HOST_INSTANCE_FUNCTIONS(HOST_LOAD)
#undef HOST_LOAD
  if (validates) {
    VkDebugUtilsMessengerCreateInfoEXT hears = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                                                                   VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
                                                .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                                .pfnUserCallback = HostHears};
    EXPECT(host->CreateDebugUtilsMessengerEXT(host->instance, &hears, NULL, &host->messenger) == VK_SUCCESS);
  }
  VkPhysicalDevice devices[16];
  uint32_t count = 16;
  EXPECT(host->EnumeratePhysicalDevices(host->instance, &count, devices) == VK_SUCCESS);
  const char* wanted = getenv("VXLA_TEST_DEVICE");
  for (uint32_t i = 0; i < count && host->physical == NULL; ++i) {
    VkPhysicalDeviceProperties properties;
    host->GetPhysicalDeviceProperties(devices[i], &properties);
    if (HostNames(properties.deviceName, wanted)) host->physical = devices[i];
  }
  EXPECT(host->physical != NULL);
  if (host->physical == NULL) return 0;
  host->GetPhysicalDeviceMemoryProperties(host->physical, &host->memory);
  return 1;
}

static int HostOpen(Host* host, uint32_t api_version) {
  if (!HostOpenInstance(host, api_version)) return 0;
  host->asked.struct_size = sizeof(host->asked);
  EXPECT_OK(vxlaQueryRequirements(host->get, host->instance, host->physical, api_version, &host->asked, &message));
  return 1;
}

// With the chain that is given; NULL: what vxla asked for.
static void HostMakeDevice(Host* host, const VkPhysicalDeviceFeatures2* features) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = host->family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = features != NULL ? features : &host->asked.features,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue,
                             .enabledExtensionCount = host->asked.extension_count,
                             .ppEnabledExtensionNames = host->asked.extensions};
  EXPECT(host->CreateDevice(host->physical, &info, NULL, &host->device) == VK_SUCCESS);
// An extension's, where the host asked for an older Vulkan.
#define HOST_LOAD(NAME)                                                         \
  host->NAME = (PFN_vk##NAME)host->GetDeviceProcAddr(host->device, "vk" #NAME); \
  if (host->NAME == NULL) host->NAME = (PFN_vk##NAME)host->GetDeviceProcAddr(host->device, "vk" #NAME "KHR");
  HOST_DEVICE_FUNCTIONS(HOST_LOAD)
#undef HOST_LOAD
  host->GetDeviceQueue(host->device, host->family, 0, &host->queue);
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = host->family};
  EXPECT(host->CreateCommandPool(host->device, &pool, NULL, &host->pool) == VK_SUCCESS);
}

static VxlaAdoptInfo HostAdoptInfo(Host* host, uint32_t api_version, const char* bindings) {
  return (VxlaAdoptInfo){.struct_size = sizeof(VxlaAdoptInfo),
                         .flags = VXLA_DEVICE_CHECK_HANDLES,
                         .api_version = api_version,
                         .queue_family = host->family,
                         .get_instance_proc_addr = host->get,
                         .instance = host->instance,
                         .physical_device = host->physical,
                         .device = host->device,
                         .queue = host->queue,
                         .lock_queue = HostLock,
                         .unlock_queue = HostUnlock,
                         .user = host,
                         .features = &host->asked.features,
                         .extensions = host->asked.extensions,
                         .extension_count = host->asked.extension_count,
                         .allocation = &host->allocation,
                         .bindings = bindings};
}

static void HostCloseDevice(Host* host) {
  host->DestroyCommandPool(host->device, host->pool, NULL);
  host->DestroyDevice(host->device, NULL);
  host->device = NULL;
}

static void HostClose(Host* host) {
  if (host->messenger != VK_NULL_HANDLE) host->DestroyDebugUtilsMessengerEXT(host->instance, host->messenger, NULL);
  host->DestroyInstance(host->instance, NULL);
}

typedef struct HostBuffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  void* mapped;
  VkDeviceSize size;
  VkBufferUsageFlags usage;
} HostBuffer;

static inline HostBuffer HostMakeBuffer(Host* host, VkDeviceSize size, VkBufferUsageFlags usage) {
  HostBuffer made = {.size = size, .usage = usage};
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
  EXPECT(host->CreateBuffer(host->device, &info, NULL, &made.buffer) == VK_SUCCESS);
  VkMemoryRequirements needs;
  host->GetBufferMemoryRequirements(host->device, made.buffer, &needs);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;
  while ((needs.memoryTypeBits >> type & 1) == 0 || (host->memory.memoryTypes[type].propertyFlags & wanted) != wanted)
    ++type;
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0 ? &flags : NULL,
                                   .allocationSize = needs.size,
                                   .memoryTypeIndex = type};
  EXPECT(host->AllocateMemory(host->device, &allocate, NULL, &made.memory) == VK_SUCCESS);
  EXPECT(host->BindBufferMemory(host->device, made.buffer, made.memory, 0) == VK_SUCCESS);
  EXPECT(host->MapMemory(host->device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped) == VK_SUCCESS);
  memset(made.mapped, 0xfb, (size_t)size);
  return made;
}

static inline void HostFreeBuffer(Host* host, HostBuffer* made) {
  host->DestroyBuffer(host->device, made->buffer, NULL);
  host->FreeMemory(host->device, made->memory, NULL);
}

static inline VxlaBinding HostBind(const HostBuffer* made, VkDeviceSize offset, VkDeviceSize size) {
  return (VxlaBinding){.buffer = made->buffer, .offset = offset, .size = size, .usage = made->usage};
}

static inline VkCommandBuffer HostCommands(Host* host, VkCommandBufferLevel level) {
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = host->pool,
                                      .level = level,
                                      .commandBufferCount = 1};
  VkCommandBuffer commands = NULL;
  EXPECT(host->AllocateCommandBuffers(host->device, &info, &commands) == VK_SUCCESS);
  return commands;
}

static inline void HostBegin(Host* host, VkCommandBuffer commands) {
  VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .pInheritanceInfo = &inheritance};
  EXPECT(host->BeginCommandBuffer(commands, &info) == VK_SUCCESS);
}

// The barrier of docs/guides/embedding.md between two programs, and between a program and the host.
static inline void HostBarrier(Host* host, VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags reads) {
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask = reads};
  host->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, to, 0, 1,
                           &barrier, 0, NULL, 0, NULL);
}

static inline void HostSubmit(Host* host, VkCommandBuffer commands) {
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  EXPECT(host->QueueSubmit(host->queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
  EXPECT(host->QueueWaitIdle(host->queue) == VK_SUCCESS);
}

static inline VkSemaphore HostMakeTimeline(Host* host) {
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  EXPECT(host->CreateSemaphore(host->device, &info, NULL, &semaphore) == VK_SUCCESS);
  return semaphore;
}

typedef struct HostImage {
  VkDeviceMemory memory;
  VxlaImage image;
  uint32_t layers;
  VkImageType type;
} HostImage;

// The second mip level, from the second layer or slice on, of an image that has more.
static inline HostImage HostMakeImageOf(Host* host, VkImageType type, VkFormat format, uint32_t width, uint32_t height,
                                        uint32_t layers, VkImageUsageFlags usage) {
  HostImage made = {.layers = layers, .type = type};
  const uint32_t slices = type == VK_IMAGE_TYPE_3D ? layers + 1 : 0;
  made.image = (VxlaImage){.usage = usage, .width = width, .height = height, .mip_level = 1, .first_layer = 1};
  VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                            .imageType = type,
                            .format = format,
                            .extent = {2 * width, 2 * height, slices == 0 ? 1 : 2 * slices},
                            .mipLevels = 2,
                            .arrayLayers = slices == 0 ? layers + 1 : 1,
                            .samples = VK_SAMPLE_COUNT_1_BIT,
                            .usage = usage};
  EXPECT(host->CreateImage(host->device, &info, NULL, &made.image.image) == VK_SUCCESS);
  VkMemoryRequirements needs;
  host->GetImageMemoryRequirements(host->device, made.image.image, &needs);
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  while ((needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) == 0) ++allocate.memoryTypeIndex;
  EXPECT(host->AllocateMemory(host->device, &allocate, NULL, &made.memory) == VK_SUCCESS);
  EXPECT(host->BindImageMemory(host->device, made.image.image, made.memory, 0) == VK_SUCCESS);
  return made;
}

static inline HostImage HostMakeImage(Host* host, VkFormat format, uint32_t width, uint32_t height, uint32_t layers,
                                      VkImageUsageFlags usage) {
  return HostMakeImageOf(host, VK_IMAGE_TYPE_2D, format, width, height, layers, usage);
}

static inline void HostFreeImage(Host* host, const HostImage* made) {
  host->DestroyImage(host->device, made->image.image, NULL);
  host->FreeMemory(host->device, made->memory, NULL);
}

static inline VxlaRecordingNeeds Needs(VxlaExecutable executable) {
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  EXPECT_OK(vxlaDescribeRecording(executable, &needs, &message));
  return needs;
}
