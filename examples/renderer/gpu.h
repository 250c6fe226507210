// A renderer's own Vulkan: instance, device, queue, images and buffers. Failures are exceptions of std::runtime_error.
#pragma once

#include <vulkan/vulkan.h>
#include <vxla/vxla_vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

void Check(VkResult result, const char* what);
void Check(VxlaCode code, VxlaMessage message, const char* what);

struct GpuOptions {
  std::string device;  // a part of its name
  uint32_t api_version = VK_API_VERSION_1_3;
  bool gpu_assisted = false;                     // with `validates`
  bool validates = false;                        // the validation layer, with the checks of synchronization
  std::vector<const char*> instance_extensions;  // of the window
  bool presents = false;
};

struct Gpu {
  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties = {};
  VkDevice device = VK_NULL_HANDLE;
  uint32_t api_version = 0, family = 0;  // of the one queue, which draws and computes
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  VxlaRequirements asked = {};          // by vxla, and enabled
  std::vector<const char*> extensions;  // that are enabled
  int complaints = 0;                   // of the validation layer
};

void OpenGpu(const GpuOptions& options, Gpu& gpu);
void CloseGpu(Gpu& gpu);

struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  void* mapped = nullptr;
};
Buffer MakeBuffer(const Gpu& gpu, VkDeviceSize size, VkBufferUsageFlags usage);  // the host sees it
void Free(const Gpu& gpu, Buffer& buffer);

struct Image {
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
  VkFormat format = VK_FORMAT_UNDEFINED;
  VkImageUsageFlags usage = 0;
  uint32_t size = 0;  // width and height
};
Image MakeImage(const Gpu& gpu, VkFormat format, uint32_t size, VkImageUsageFlags usage);
void Free(const Gpu& gpu, Image& image);

// Whole images, in the transfer layouts.
void CopyToImage(VkCommandBuffer commands, const Buffer& from, const Image& to);
void CopyFromImage(VkCommandBuffer commands, const Image& from, const Buffer& to);
void Transition(VkCommandBuffer commands, VkImage image, const VxlaImageState& from, const VxlaImageState& to);
// What transfers wrote, for the host to read.
void ForTheHost(VkCommandBuffer commands);

VkCommandBuffer MakeCommands(const Gpu& gpu);
void Begin(VkCommandBuffer commands);
void SubmitAndWait(const Gpu& gpu, VkCommandBuffer commands);

// Where images stand between the parts of a frame.
inline constexpr VxlaImageState kUnused = {VK_IMAGE_LAYOUT_UNDEFINED, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, 0};
inline constexpr VxlaImageState kDrawn = {
    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
    VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT};
inline constexpr VxlaImageState kSampled = {VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                            VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, VK_ACCESS_2_SHADER_READ_BIT};
inline constexpr VxlaImageState kCopied = {VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                           VK_ACCESS_2_TRANSFER_READ_BIT};
inline constexpr VxlaImageState kWritten = {VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                            VK_ACCESS_2_TRANSFER_WRITE_BIT};
