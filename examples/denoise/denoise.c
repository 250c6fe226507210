// vxla in a Vulkan program of 200 lines: it makes a device of its own, lends it to vxla, and records a denoiser into its
// command buffer, between its own commands. `denoise denoise.hlo [PART OF A DEVICE'S NAME]` draws a picture, spoils it
// with noise, and writes noisy.ppm and smooth.ppm.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include <vxla/vxla_vulkan.h>

enum { kSize = 256, kValues = kSize * kSize * 3 };
static const VkDeviceSize kBytes = kValues * sizeof(float);

static void Check(int succeeded, const char* what, VxlaMessage message) {
  if (succeeded) return;
  fprintf(stderr, "denoise: %s: %s\n", what, message != NULL ? vxlaMessageText(message) : "Vulkan fails");
  exit(1);
}
#define VULKAN(call) Check((call) == VK_SUCCESS, #call, NULL)
#define VXLA(call) Check((call) == VXLA_OK, #call, message)
static VxlaMessage message;

// ---- Vulkan, as any program has it

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;
static VxlaRequirements asked = {.struct_size = sizeof(asked)};

static void OpenDevice(const char* part) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                              .pApplicationInfo = &application};
  VULKAN(vkCreateInstance(&instance_info, NULL, &instance));
  VkPhysicalDevice devices[16];
  uint32_t count = 16, families = 16;
  VULKAN(vkEnumeratePhysicalDevices(instance, &count, devices));
  for (uint32_t i = 0; i < count; ++i) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    if (physical != NULL || strstr(properties.deviceName, part) == NULL) continue;
    physical = devices[i];
    printf("device: %s\n", properties.deviceName);
  }
  Check(physical != NULL, "no device is called so", NULL);
  VkQueueFamilyProperties kinds[16];
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, kinds);
  while (family + 1 < families && (kinds[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
  // What vxla would use and the device has. A program with features of its own joins both.
  VXLA(vxlaQueryRequirements(vkGetInstanceProcAddr, instance, physical, VK_API_VERSION_1_3, &asked, &message));
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = family,
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          .pNext = &asked.features,
                                          .queueCreateInfoCount = 1,
                                          .pQueueCreateInfos = &queue_info,
                                          .enabledExtensionCount = asked.extension_count,
                                          .ppEnabledExtensionNames = asked.extensions};
  VULKAN(vkCreateDevice(physical, &device_info, NULL, &device));
  vkGetDeviceQueue(device, family, 0, &queue);
}

typedef struct Buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkBufferUsageFlags usage;
  float* mapped;
} Buffer;

static Buffer MakeBuffer(VkBufferUsageFlags usage) {
  Buffer made = {.usage = usage};
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = kBytes, .usage = usage};
  VULKAN(vkCreateBuffer(device, &info, NULL, &made.buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t type = 0;  // Vulkan promises one that the host sees
  while ((needs.memoryTypeBits >> type & 1) == 0 || (memory.memoryTypes[type].propertyFlags & wanted) != wanted) ++type;
  const VkMemoryAllocateFlagsInfo addresses = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                               .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0 ? &addresses : NULL,
      .allocationSize = needs.size,
      .memoryTypeIndex = type};
  VULKAN(vkAllocateMemory(device, &allocation, NULL, &made.memory));
  VULKAN(vkBindBufferMemory(device, made.buffer, made.memory, 0));
  VULKAN(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, (void**)&made.mapped));
  return made;
}

static void FreeBuffer(Buffer* made) {
  vkDestroyBuffer(device, made->buffer, NULL);
  vkFreeMemory(device, made->memory, NULL);
}

// ---- the picture

static float Clean(int y, int x, int channel) {
  const float dy = (float)(y - 110), dx = (float)(x - 140);
  const int in_circle = dy * dy + dx * dx < 70 * 70, in_square = y > 150 && x < 120;
  const float colours[3][3] = {{0.15f, 0.25f, 0.45f}, {0.95f, 0.75f, 0.30f}, {0.70f, 0.20f, 0.25f}};
  return colours[in_circle ? 1 : in_square ? 2 : 0][channel] * (0.7f + 0.3f * (float)x / kSize);
}

static double RootMeanSquare(const float* image) {
  double sum = 0;
  for (int i = 0; i < kValues; ++i) {
    const double d = image[i] - Clean(i / 3 / kSize, i / 3 % kSize, i % 3);
    sum += d * d;
  }
  return sqrt(sum / kValues);
}

static void WritePpm(const char* path, const float* image) {
  FILE* file = fopen(path, "wb");
  Check(file != NULL, path, NULL);
  fprintf(file, "P6\n%d %d\n255\n", kSize, kSize);
  for (int i = 0; i < kValues; ++i) fputc((int)(255 * fminf(fmaxf(image[i], 0), 1) + 0.5f), file);
  fclose(file);
}

// ---- the denoiser

static char* ReadText(const char* path) {
  static char text[1 << 16];
  FILE* file = fopen(path, "rb");
  Check(file != NULL, path, NULL);
  text[fread(text, 1, sizeof(text) - 1, file)] = 0;
  fclose(file);
  return text;
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: denoise denoise.hlo [PART OF A DEVICE'S NAME]\n"), 2;
  OpenDevice(argc > 2 ? argv[2] : "");
  // The device is lent: vxla submits to the queue when it compiles, and never while it records.
  const VxlaAdoptInfo adopt = {.struct_size = sizeof(adopt),
                               .api_version = VK_API_VERSION_1_3,
                               .queue_family = family,
                               .get_instance_proc_addr = vkGetInstanceProcAddr,
                               .instance = instance,
                               .physical_device = physical,
                               .device = device,
                               .queue = queue,
                               .features = &asked.features,
                               .extensions = asked.extensions,
                               .extension_count = asked.extension_count};
  VxlaDevice vxla = NULL;
  VXLA(vxlaAdoptDevice(&adopt, &vxla, &message));
  const VxlaCompileInfo program = {
      .struct_size = sizeof(program), .flags = VXLA_COMPILE_RECORDABLE, .text = ReadText(argv[1])};
  VxlaExecutable executable = NULL;
  VXLA(vxlaCompile(vxla, &program, &executable, &message));
  VxlaRecordingNeeds needs = {.struct_size = sizeof(needs)};
  VXLA(vxlaDescribeRecording(executable, &needs, &message));
  Buffer noisy = MakeBuffer(needs.argument_usage), smooth = MakeBuffer(needs.result_usage);
  uint32_t state = 1;
  for (int i = 0; i < kValues; ++i) {
    state = state * 1664525u + 1013904223u;
    const float noise = ((float)(state >> 8) / 16777216.0f - 0.5f) * 0.35f;
    noisy.mapped[i] = Clean(i / 3 / kSize, i / 3 % kSize, i % 3) + noise;
  }
  const VxlaRecordingInfo recording_info = {.struct_size = sizeof(recording_info)};
  VxlaRecording recording = NULL;
  VXLA(vxlaCreateRecording(executable, &recording_info, &recording, &message));

  const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                             .queueFamilyIndex = family};
  VkCommandPool pool = VK_NULL_HANDLE;
  VULKAN(vkCreateCommandPool(device, &pool_info, NULL, &pool));
  const VkCommandBufferAllocateInfo buffer_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  VkCommandBuffer commands = NULL;
  VULKAN(vkAllocateCommandBuffers(device, &buffer_info, &commands));
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VULKAN(vkBeginCommandBuffer(commands, &begin));
  // An engine's own passes come here; a barrier makes what they wrote visible to needs.stages and needs.reads.
  const VxlaBinding argument = {.buffer = noisy.buffer, .size = kBytes, .usage = noisy.usage};
  const VxlaBinding result = {.buffer = smooth.buffer, .size = kBytes, .usage = smooth.usage};
  const VxlaBindings bindings = {.struct_size = sizeof(bindings),
                                 .argument_count = 1,
                                 .arguments = &argument,
                                 .result_count = 1,
                                 .results = &result};
  VXLA(vxlaCmdExecute(commands, recording, &bindings, &message));
  const VkMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                    .srcStageMask = needs.stages,
                                    .srcAccessMask = needs.writes,
                                    .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                    .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
  const VkDependencyInfo after = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &to_host};
  vkCmdPipelineBarrier2(commands, &after);
  VULKAN(vkEndCommandBuffer(commands));
  const VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  VULKAN(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
  VULKAN(vkQueueWaitIdle(queue));

  WritePpm("noisy.ppm", noisy.mapped);
  WritePpm("smooth.ppm", smooth.mapped);
  const double before = RootMeanSquare(noisy.mapped), now = RootMeanSquare(smooth.mapped);
  printf("root mean square of the error: %.4f, and after the filter %.4f\n", before, now);
  vxlaDestroyRecording(recording);
  vxlaDestroyExecutable(executable);
  VXLA(vxlaDestroyDevice(vxla, &message));
  vkDestroyCommandPool(device, pool, NULL);
  FreeBuffer(&noisy);
  FreeBuffer(&smooth);
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return now < before / 2 ? 0 : 1;
}
