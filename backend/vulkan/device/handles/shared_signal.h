// Semaphores by which logical devices of one physical device wait for one another.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

// A timeline where facts().shares_signals says that signals count, else a binary semaphore.
class SharedSignal final : public Signal {
 public:
  static Result<std::shared_ptr<Signal>> Make(std::shared_ptr<DeviceContext> context);
  // `signal` is one of another device of the same physical device.
  static Result<std::shared_ptr<Signal>> Open(std::shared_ptr<DeviceContext> context, const Signal& signal);
  ~SharedSignal() override;
  SharedSignal(const SharedSignal&) = delete;
  VkSemaphore semaphore() const { return semaphore_; }

 private:
  explicit SharedSignal(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  Status MakeSemaphore(bool exported);

  const std::shared_ptr<DeviceContext> context_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
};

}  // namespace VXLA_NAMESPACE::vulkan
