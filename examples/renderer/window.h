// The window, where GLFW and a display are there, and its swapchain.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu.h"

class Window {
 public:
  virtual ~Window() = default;
  // Null without a display, and in a build without GLFW.
  static std::unique_ptr<Window> Open(int size);

  virtual std::vector<const char*> instance_extensions() const = 0;
  virtual void MakeSwapchain(const Gpu& gpu) = 0;
  virtual void DestroySwapchain() = 0;
  // False once the user has closed it.
  virtual bool IsOpen() = 0;
  // The image that is presented next. False when the window has changed and its swapchain was made again: try again.
  virtual bool Acquire(int slot) = 0;
  // Records `shown` (in kCopied), enlarged, into it, ends and submits the commands with `fence`, and presents.
  virtual void SubmitAndPresent(VkCommandBuffer commands, int slot, const Image& shown, VkFence fence) = 0;
};
