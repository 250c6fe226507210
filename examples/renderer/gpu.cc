#include "gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL Hear(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                    const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  // What the layer says of itself, and not of this program: on devices without 64-bit integers it looks no address up.
  const bool of_itself = std::strstr(data->pMessage, "No buffer device address checking will be attempted") != nullptr;
  if (!of_itself) ++static_cast<Gpu*>(user)->complaints;
  std::fprintf(stderr, "validation: %s\n", data->pMessage);
  return VK_FALSE;
}

bool Lists(const std::vector<VkExtensionProperties>& all, const char* name) {
  return std::any_of(all.begin(), all.end(), [&](const auto& each) { return !std::strcmp(each.extensionName, name); });
}

std::vector<VkExtensionProperties> InstanceExtensions() {
  uint32_t count = 0;
  Check(vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr), "vkEnumerateInstanceExtensionProperties");
  std::vector<VkExtensionProperties> all(count);
  Check(vkEnumerateInstanceExtensionProperties(nullptr, &count, all.data()), "vkEnumerateInstanceExtensionProperties");
  return all;
}

void MakeInstance(const GpuOptions& options, Gpu& gpu) {
  std::vector<const char*> extensions = options.instance_extensions;
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = options.api_version;
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const VkValidationFeatureEnableEXT enable = options.gpu_assisted
                                                  ? VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT
                                                  : VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &enable;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (options.validates) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  }
  // Without it the loader hides drivers such as MoltenVK.
  if (Lists(InstanceExtensions(), VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  Check(vkCreateInstance(&info, nullptr, &gpu.instance), "vkCreateInstance");
  if (!options.validates) return;
  VkDebugUtilsMessengerCreateInfoEXT hears = {VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  hears.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  hears.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  hears.pfnUserCallback = Hear;
  hears.pUserData = &gpu;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(gpu.instance, "vkCreateDebugUtilsMessengerEXT"));
  Check(create(gpu.instance, &hears, nullptr, &gpu.messenger), "vkCreateDebugUtilsMessengerEXT");
}

void ChooseDevice(const GpuOptions& options, Gpu& gpu) {
  uint32_t count = 0;
  Check(vkEnumeratePhysicalDevices(gpu.instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  Check(vkEnumeratePhysicalDevices(gpu.instance, &count, devices.data()), "vkEnumeratePhysicalDevices");
  for (VkPhysicalDevice device : devices) {
    vkGetPhysicalDeviceProperties(device, &gpu.properties);
    if (!std::strstr(gpu.properties.deviceName, options.device.c_str())) continue;
    uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &families, nullptr);
    std::vector<VkQueueFamilyProperties> all(families);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &families, all.data());
    constexpr VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    for (gpu.family = 0; gpu.family < families; ++gpu.family) {
      if ((all[gpu.family].queueFlags & wanted) != wanted) continue;
      gpu.physical = device;
      return;
    }
  }
  throw std::runtime_error("no device '" + options.device + "' with a queue that draws and computes");
}

uint32_t MemoryType(const Gpu& gpu, uint32_t types, VkMemoryPropertyFlags wanted) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(gpu.physical, &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((types >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  }
  throw std::runtime_error("no memory for it");
}

VkDeviceMemory Allocate(const Gpu& gpu, const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted) {
  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = needs.size;
  info.memoryTypeIndex = MemoryType(gpu, needs.memoryTypeBits, wanted);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  Check(vkAllocateMemory(gpu.device, &info, nullptr, &memory), "vkAllocateMemory");
  return memory;
}

VkBufferImageCopy Whole(const Image& image) {
  VkBufferImageCopy region = {};
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageExtent = {image.size, image.size, 1};
  return region;
}

}  // namespace

void Check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) throw std::runtime_error(std::string(what) + ": VkResult " + std::to_string(result));
}

void Check(VxlaCode code, VxlaMessage message, const char* what) {
  if (code == VXLA_OK) return;
  const std::string text = vxlaMessageText(message);
  vxlaFreeMessage(message);
  throw std::runtime_error(std::string(what) + ": " + text);
}

void OpenGpu(const GpuOptions& options, Gpu& gpu) {
  gpu.api_version = options.api_version;
  MakeInstance(options, gpu);
  ChooseDevice(options, gpu);
  // What vxla would use is asked before the device is made, and handed to vkCreateDevice as it is. The renderer itself
  // needs no feature.
  gpu.asked.struct_size = sizeof(gpu.asked);
  VxlaMessage message = nullptr;
  Check(vxlaQueryRequirements(vkGetInstanceProcAddr, gpu.instance, gpu.physical, options.api_version, &gpu.asked,
                              &message),
        message, "vxlaQueryRequirements");
  gpu.extensions.assign(gpu.asked.extensions, gpu.asked.extensions + gpu.asked.extension_count);
  // Those checks take pushed descriptors for uninitialised ones (layer 1.3.239) and skip their dispatches.
  if (options.gpu_assisted) {
    std::erase_if(gpu.extensions,
                  [](const char* name) { return std::strcmp(name, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) == 0; });
  }
  if (options.presents) gpu.extensions.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = gpu.family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &gpu.asked.features};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(gpu.extensions.size());
  info.ppEnabledExtensionNames = gpu.extensions.data();
  Check(vkCreateDevice(gpu.physical, &info, nullptr, &gpu.device), "vkCreateDevice");
  vkGetDeviceQueue(gpu.device, gpu.family, 0, &gpu.queue);
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = gpu.family;
  Check(vkCreateCommandPool(gpu.device, &pool, nullptr, &gpu.pool), "vkCreateCommandPool");
}

void CloseGpu(Gpu& gpu) {
  if (gpu.device != VK_NULL_HANDLE) {
    vkDestroyCommandPool(gpu.device, gpu.pool, nullptr);
    vkDestroyDevice(gpu.device, nullptr);
  }
  if (gpu.messenger != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(gpu.instance, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(gpu.instance, gpu.messenger, nullptr);
  }
  vkDestroyInstance(gpu.instance, nullptr);
}

Buffer MakeBuffer(const Gpu& gpu, VkDeviceSize size, VkBufferUsageFlags usage) {
  Buffer made;
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size;
  info.usage = usage;
  Check(vkCreateBuffer(gpu.device, &info, nullptr, &made.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(gpu.device, made.buffer, &needs);
  made.memory = Allocate(gpu, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  Check(vkBindBufferMemory(gpu.device, made.buffer, made.memory, 0), "vkBindBufferMemory");
  Check(vkMapMemory(gpu.device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.mapped), "vkMapMemory");
  return made;
}

void Free(const Gpu& gpu, Buffer& buffer) {
  vkDestroyBuffer(gpu.device, buffer.buffer, nullptr);
  vkFreeMemory(gpu.device, buffer.memory, nullptr);
}

Image MakeImage(const Gpu& gpu, VkFormat format, uint32_t size, VkImageUsageFlags usage) {
  Image made;
  made.format = format;
  made.usage = usage;
  made.size = size;
  VkImageCreateInfo info = {VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format;
  info.extent = {size, size, 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = usage;
  Check(vkCreateImage(gpu.device, &info, nullptr, &made.image), "vkCreateImage");
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(gpu.device, made.image, &needs);
  made.memory = Allocate(gpu, needs, 0);
  Check(vkBindImageMemory(gpu.device, made.image, made.memory, 0), "vkBindImageMemory");
  if ((usage & (VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT)) == 0) return made;
  VkImageViewCreateInfo view = {VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = made.image;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = format;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  Check(vkCreateImageView(gpu.device, &view, nullptr, &made.view), "vkCreateImageView");
  return made;
}

void Free(const Gpu& gpu, Image& image) {
  vkDestroyImageView(gpu.device, image.view, nullptr);
  vkDestroyImage(gpu.device, image.image, nullptr);
  vkFreeMemory(gpu.device, image.memory, nullptr);
}

void CopyToImage(VkCommandBuffer commands, const Buffer& from, const Image& to) {
  const VkBufferImageCopy region = Whole(to);
  vkCmdCopyBufferToImage(commands, from.buffer, to.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

void CopyFromImage(VkCommandBuffer commands, const Image& from, const Buffer& to) {
  const VkBufferImageCopy region = Whole(from);
  vkCmdCopyImageToBuffer(commands, from.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to.buffer, 1, &region);
}

// All stages and accesses of this renderer have the same bits in Vulkan 1.0, but those of copies alone.
void Transition(VkCommandBuffer commands, VkImage image, const VxlaImageState& from, const VxlaImageState& to) {
  VkImageMemoryBarrier barrier = {VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  barrier.srcAccessMask = static_cast<VkAccessFlags>(from.accesses);
  barrier.dstAccessMask = static_cast<VkAccessFlags>(to.accesses);
  barrier.oldLayout = from.layout;
  barrier.newLayout = to.layout;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vkCmdPipelineBarrier(commands, static_cast<VkPipelineStageFlags>(from.stages),
                       static_cast<VkPipelineStageFlags>(to.stages), 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

void ForTheHost(VkCommandBuffer commands) {
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr,
                       0, nullptr);
}

VkCommandBuffer MakeCommands(const Gpu& gpu) {
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = gpu.pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Check(vkAllocateCommandBuffers(gpu.device, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

void Begin(VkCommandBuffer commands) {
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  Check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void SubmitAndWait(const Gpu& gpu, VkCommandBuffer commands) {
  Check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  Check(vkQueueSubmit(gpu.queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  Check(vkQueueWaitIdle(gpu.queue), "vkQueueWaitIdle");
}
