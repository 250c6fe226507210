#include "window.h"

#ifndef RENDERER_HAVE_GLFW

std::unique_ptr<Window> Window::Open(int) { return nullptr; }

#else

#define GLFW_INCLUDE_VULKAN
#include <GLFW/glfw3.h>

#include <algorithm>
#include <stdexcept>

#include "programs.h"

namespace {

constexpr VxlaImageState kPresented = {VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT, 0};
// The semaphore's wait is at the transfers' stage.
constexpr VxlaImageState kAcquired = {VK_IMAGE_LAYOUT_UNDEFINED, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, 0};

class GlfwWindow final : public Window {
 public:
  explicit GlfwWindow(GLFWwindow* window) : window_(window) {}
  ~GlfwWindow() override {
    glfwDestroyWindow(window_);
    glfwTerminate();
  }
  std::vector<const char*> instance_extensions() const override {
    uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    return {names, names + count};
  }
  void MakeSwapchain(const Gpu& gpu) override;
  void DestroySwapchain() override;
  bool IsOpen() override {
    glfwPollEvents();
    return !glfwWindowShouldClose(window_);
  }
  bool Acquire(int slot) override;
  void SubmitAndPresent(VkCommandBuffer commands, int slot, const Image& shown, VkFence fence) override;

 private:
  void MakeImages();
  void DestroyImages();
  VkSemaphore MakeSemaphore();

  GLFWwindow* window_;
  const Gpu* gpu_ = nullptr;
  VkSurfaceKHR surface_ = VK_NULL_HANDLE;
  VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
  VkExtent2D extent_ = {};
  std::vector<VkImage> images_;
  std::vector<VkSemaphore> rendered_;  // by image
  VkSemaphore acquired_[kFramesInFlight] = {};
  uint32_t image_ = 0;
};

VkSemaphore GlfwWindow::MakeSemaphore() {
  const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, nullptr, 0};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  Check(vkCreateSemaphore(gpu_->device, &info, nullptr, &semaphore), "vkCreateSemaphore");
  return semaphore;
}

void GlfwWindow::MakeSwapchain(const Gpu& gpu) {
  gpu_ = &gpu;
  Check(glfwCreateWindowSurface(gpu.instance, window_, nullptr, &surface_), "glfwCreateWindowSurface");
  VkBool32 presents = VK_FALSE;
  Check(vkGetPhysicalDeviceSurfaceSupportKHR(gpu.physical, gpu.family, surface_, &presents),
        "vkGetPhysicalDeviceSurfaceSupportKHR");
  if (presents == VK_FALSE) throw std::runtime_error("the queue does not present to this window");
  for (VkSemaphore& semaphore : acquired_) semaphore = MakeSemaphore();
  MakeImages();
}

void GlfwWindow::MakeImages() {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  while ((width == 0 || height == 0) && !glfwWindowShouldClose(window_)) {  // minimized
    glfwWaitEvents();
    glfwGetFramebufferSize(window_, &width, &height);
  }
  VkSurfaceCapabilitiesKHR can;
  Check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu_->physical, surface_, &can),
        "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
  uint32_t count = 0;
  Check(vkGetPhysicalDeviceSurfaceFormatsKHR(gpu_->physical, surface_, &count, nullptr), "surface formats");
  std::vector<VkSurfaceFormatKHR> formats(count);
  Check(vkGetPhysicalDeviceSurfaceFormatsKHR(gpu_->physical, surface_, &count, formats.data()), "surface formats");
  // Blits convert: `shown` is sRGB, and where the window's images are not, its bytes would be decoded.
  const auto srgb = std::find_if(formats.begin(), formats.end(), [](const VkSurfaceFormatKHR& format) {
    return format.format == VK_FORMAT_B8G8R8A8_SRGB || format.format == VK_FORMAT_R8G8B8A8_SRGB;
  });
  if (srgb == formats.end()) throw std::runtime_error("the window has no sRGB format");
  extent_ = can.currentExtent;
  if (extent_.width == UINT32_MAX) {
    extent_.width = std::clamp(static_cast<uint32_t>(width), can.minImageExtent.width, can.maxImageExtent.width);
    extent_.height = std::clamp(static_cast<uint32_t>(height), can.minImageExtent.height, can.maxImageExtent.height);
  }
  VkSwapchainCreateInfoKHR info = {VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
  info.surface = surface_;
  info.minImageCount = can.minImageCount + 1;
  if (can.maxImageCount != 0) info.minImageCount = std::min(info.minImageCount, can.maxImageCount);
  info.imageFormat = srgb->format;
  info.imageColorSpace = srgb->colorSpace;
  info.imageExtent = extent_;
  info.imageArrayLayers = 1;
  info.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  info.preTransform = can.currentTransform;
  info.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
  info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
  info.clipped = VK_TRUE;
  Check(vkCreateSwapchainKHR(gpu_->device, &info, nullptr, &swapchain_), "vkCreateSwapchainKHR");
  Check(vkGetSwapchainImagesKHR(gpu_->device, swapchain_, &count, nullptr), "vkGetSwapchainImagesKHR");
  images_.resize(count);
  Check(vkGetSwapchainImagesKHR(gpu_->device, swapchain_, &count, images_.data()), "vkGetSwapchainImagesKHR");
  while (rendered_.size() < images_.size()) rendered_.push_back(MakeSemaphore());
}

void GlfwWindow::DestroyImages() {
  Check(vkQueueWaitIdle(gpu_->queue), "vkQueueWaitIdle");
  for (VkSemaphore semaphore : rendered_) vkDestroySemaphore(gpu_->device, semaphore, nullptr);
  rendered_.clear();
  vkDestroySwapchainKHR(gpu_->device, swapchain_, nullptr);
  swapchain_ = VK_NULL_HANDLE;
}

void GlfwWindow::DestroySwapchain() {
  DestroyImages();
  for (VkSemaphore semaphore : acquired_) vkDestroySemaphore(gpu_->device, semaphore, nullptr);
  vkDestroySurfaceKHR(gpu_->instance, surface_, nullptr);
}

bool GlfwWindow::Acquire(int slot) {
  const VkResult result =
      vkAcquireNextImageKHR(gpu_->device, swapchain_, UINT64_MAX, acquired_[slot], VK_NULL_HANDLE, &image_);
  if (result == VK_ERROR_OUT_OF_DATE_KHR) {
    DestroyImages();
    MakeImages();
    return false;
  }
  if (result != VK_SUBOPTIMAL_KHR) Check(result, "vkAcquireNextImageKHR");
  return true;
}

void GlfwWindow::SubmitAndPresent(VkCommandBuffer commands, int slot, const Image& shown, VkFence fence) {
  const VkImage target = images_[image_];
  Transition(commands, target, kAcquired, kWritten);
  VkImageBlit blit = {};
  blit.srcSubresource = blit.dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  blit.srcOffsets[1] = {static_cast<int32_t>(shown.size), static_cast<int32_t>(shown.size), 1};
  blit.dstOffsets[1] = {static_cast<int32_t>(extent_.width), static_cast<int32_t>(extent_.height), 1};
  vkCmdBlitImage(commands, shown.image, kCopied.layout, target, kWritten.layout, 1, &blit, VK_FILTER_NEAREST);
  Transition(commands, target, kWritten, kPresented);
  Check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.waitSemaphoreCount = info.commandBufferCount = info.signalSemaphoreCount = 1;
  info.pWaitSemaphores = &acquired_[slot];
  info.pWaitDstStageMask = &stage;
  info.pCommandBuffers = &commands;
  info.pSignalSemaphores = &rendered_[image_];
  Check(vkQueueSubmit(gpu_->queue, 1, &info, fence), "vkQueueSubmit");
  VkPresentInfoKHR present = {VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
  present.waitSemaphoreCount = present.swapchainCount = 1;
  present.pWaitSemaphores = &rendered_[image_];
  present.pSwapchains = &swapchain_;
  present.pImageIndices = &image_;
  const VkResult result = vkQueuePresentKHR(gpu_->queue, &present);
  if (result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR) {
    DestroyImages();
    MakeImages();
  } else {
    Check(result, "vkQueuePresentKHR");
  }
}

}  // namespace

std::unique_ptr<Window> Window::Open(int size) {
  if (glfwInit() == GLFW_FALSE) return nullptr;  // no display
  GLFWwindow* window = nullptr;
  if (glfwVulkanSupported() == GLFW_TRUE) {
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    window = glfwCreateWindow(size, size, "vxla in a renderer", nullptr, nullptr);
  }
  if (window == nullptr) {
    glfwTerminate();
    return nullptr;
  }
  return std::make_unique<GlfwWindow>(window);
}

#endif
