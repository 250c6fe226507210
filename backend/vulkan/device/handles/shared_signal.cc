#include "backend/vulkan/device/handles/shared_signal.h"

#include "backend/vulkan/device/handles/external_handle.h"

namespace VXLA_NAMESPACE::vulkan {

Status SharedSignal::MakeSemaphore(bool exported) {
  DeviceContext& context = *context_;
  VXLA_RETURN_IF_ERROR(context.Alive());
  using Signals = DeviceFacts::SharedSignals;
  if (context.facts().shares_signals == Signals::kNone)
    return Unsupported("device {}: it shares no signals", context.facts().name);
  auto type = MakeVk<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType =
      context.facts().shares_signals == Signals::kCounting ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
  auto external = MakeVk<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
  external.handleTypes = SemaphoreHandleType();
  if (exported) type.pNext = &external;
  auto info = MakeVk<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  VXLA_RETURN_IF_ERROR(context.Make(context.vk().CreateSemaphore, info, &semaphore_, "vkCreateSemaphore"));
  context.Name(VK_OBJECT_TYPE_SEMAPHORE, semaphore_, exported ? "vxla signal" : "vxla signal of another device");
  return OkStatus();
}

Result<std::shared_ptr<Signal>> SharedSignal::Make(std::shared_ptr<DeviceContext> context) {
  std::shared_ptr<SharedSignal> signal(new SharedSignal(std::move(context)));
  VXLA_RETURN_IF_ERROR(signal->MakeSemaphore(/*exported=*/true));
  return std::shared_ptr<Signal>(std::move(signal));
}

Result<std::shared_ptr<Signal>> SharedSignal::Open(std::shared_ptr<DeviceContext> context, const Signal& signal) {
  const auto& known = static_cast<const SharedSignal&>(signal);
  std::shared_ptr<SharedSignal> opened(new SharedSignal(std::move(context)));
  VXLA_RETURN_IF_ERROR(opened->MakeSemaphore(/*exported=*/false));
  VXLA_RETURN_IF_ERROR(ShareSemaphore(*known.context_, known.semaphore_, *opened->context_, opened->semaphore_));
  return std::shared_ptr<Signal>(std::move(opened));
}

SharedSignal::~SharedSignal() {
  // Nobody has waited for what a lost device still had to do.
  if (!context_->Alive().ok()) context_->WaitIdle();
  context_->Destroy(context_->vk().DestroySemaphore, semaphore_);
}

}  // namespace VXLA_NAMESPACE::vulkan
