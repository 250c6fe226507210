#include "backend/vulkan/device/handles/external_handle.h"

#include <algorithm>
#include <cstring>

#ifdef _WIN32
#include "core/host/windows_api.h"
// After it.
#include <vulkan/vulkan_win32.h>
#else
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct HandleType {
  VkExternalMemoryHandleTypeFlagBits type;
  size_t extensions;  // so many of ExternalExtensions()
};

#ifdef _WIN32
constexpr HandleType kTypes[] = {{VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT, 1},
                                 {VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP_BIT, 1},
                                 {VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE_BIT, 1}};
constexpr const char* kTypeNames = "OPAQUE_WIN32, D3D12_HEAP, D3D12_RESOURCE";

using ImportInfo = VkImportMemoryWin32HandleInfoKHR;
constexpr auto kImportInfo = VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR;
using HandleProperties = VkMemoryWin32HandlePropertiesKHR;
constexpr auto kHandleProperties = VK_STRUCTURE_TYPE_MEMORY_WIN32_HANDLE_PROPERTIES_KHR;
using GetHandleProperties = PFN_vkGetMemoryWin32HandlePropertiesKHR;
constexpr const char* kGetHandleProperties = "vkGetMemoryWin32HandlePropertiesKHR";
using GetHandleInfo = VkMemoryGetWin32HandleInfoKHR;
constexpr auto kGetHandleInfo = VK_STRUCTURE_TYPE_MEMORY_GET_WIN32_HANDLE_INFO_KHR;
using GetHandle = PFN_vkGetMemoryWin32HandleKHR;
constexpr const char* kGetHandle = "vkGetMemoryWin32HandleKHR";

using GetSemaphoreInfo = VkSemaphoreGetWin32HandleInfoKHR;
constexpr auto kGetSemaphoreInfo = VK_STRUCTURE_TYPE_SEMAPHORE_GET_WIN32_HANDLE_INFO_KHR;
using GetSemaphore = PFN_vkGetSemaphoreWin32HandleKHR;
constexpr const char* kGetSemaphore = "vkGetSemaphoreWin32HandleKHR";
using ImportSemaphoreInfo = VkImportSemaphoreWin32HandleInfoKHR;
constexpr auto kImportSemaphoreInfo = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_WIN32_HANDLE_INFO_KHR;
using ImportSemaphore = PFN_vkImportSemaphoreWin32HandleKHR;
constexpr const char* kImportSemaphore = "vkImportSemaphoreWin32HandleKHR";
using SystemHandle = HANDLE;
SystemHandle& HandleIn(ImportSemaphoreInfo& info) { return info.handle; }
// A HANDLE stays the caller's, whether it was imported or not.
void CloseAfter(VkResult, SystemHandle handle) { CloseHandle(handle); }

bool IsThere(const ExternalHandle& handle) { return handle.handle != nullptr; }
void* HandleValue(const ExternalHandle& handle) { return handle.handle; }
void*& HandleTarget(ExternalHandle& handle) { return handle.handle; }
void SetHandle(const ExternalHandle& handle, ImportInfo& import) { import.handle = handle.handle; }
#else
constexpr HandleType kTypes[] = {{VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, 1},
                                 {VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, 2}};
constexpr const char* kTypeNames = "OPAQUE_FD, DMA_BUF";

using ImportInfo = VkImportMemoryFdInfoKHR;
constexpr auto kImportInfo = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
using HandleProperties = VkMemoryFdPropertiesKHR;
constexpr auto kHandleProperties = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR;
using GetHandleProperties = PFN_vkGetMemoryFdPropertiesKHR;
constexpr const char* kGetHandleProperties = "vkGetMemoryFdPropertiesKHR";
using GetHandleInfo = VkMemoryGetFdInfoKHR;
constexpr auto kGetHandleInfo = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
using GetHandle = PFN_vkGetMemoryFdKHR;
constexpr const char* kGetHandle = "vkGetMemoryFdKHR";

using GetSemaphoreInfo = VkSemaphoreGetFdInfoKHR;
constexpr auto kGetSemaphoreInfo = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR;
using GetSemaphore = PFN_vkGetSemaphoreFdKHR;
constexpr const char* kGetSemaphore = "vkGetSemaphoreFdKHR";
using ImportSemaphoreInfo = VkImportSemaphoreFdInfoKHR;
constexpr auto kImportSemaphoreInfo = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR;
using ImportSemaphore = PFN_vkImportSemaphoreFdKHR;
constexpr const char* kImportSemaphore = "vkImportSemaphoreFdKHR";
using SystemHandle = int;
SystemHandle& HandleIn(ImportSemaphoreInfo& info) { return info.fd; }
// A descriptor that was imported is the driver's.
void CloseAfter(VkResult result, SystemHandle handle) {
  if (result != VK_SUCCESS) close(handle);
}

bool IsThere(const ExternalHandle& handle) { return handle.descriptor >= 0; }
int HandleValue(const ExternalHandle& handle) { return handle.descriptor; }
int& HandleTarget(ExternalHandle& handle) { return handle.descriptor; }
void SetHandle(const ExternalHandle& handle, ImportInfo& import) { import.fd = handle.descriptor; }
#endif

Status CheckThere(const ExternalHandle& handle) {
  return IsThere(handle) ? OkStatus() : InvalidArgument("{}: it stands for nothing", handle.ToString());
}

Status NotOfType(const ExternalHandle& handle) {
  return InvalidArgument("{}: the driver takes it for no memory of handle type {:#x}", handle.ToString(),
                         static_cast<uint32_t>(handle.type));
}

// Functions of an extension that CheckHandleType found enabled.
template <typename Function>
Function Load(const DeviceContext& context, const char* name) {
  return reinterpret_cast<Function>(context.instance().vk().GetDeviceProcAddr(context.handle(), name));
}

}  // namespace

std::string ExternalHandle::ToString() const {
#ifdef _WIN32
  return fmt::format("handle {}", handle);
#else
  return fmt::format("descriptor {}", descriptor);
#endif
}

Status CheckHandleType(const DeviceContext& context, VkExternalMemoryHandleTypeFlagBits type) {
  const auto* const known = std::ranges::find(kTypes, type, &HandleType::type);
  if (known == std::end(kTypes))
    return InvalidArgument("handle type {:#x}: none of {}", static_cast<uint32_t>(type), kTypeNames);
  for (const char* extension : ExternalExtensions().first(known->extensions)) {
    const auto& enabled = context.plan().extensions;
    if (std::ranges::none_of(enabled, [&](const char* each) { return std::strcmp(each, extension) == 0; }))
      return Unsupported("device {}: {} is not enabled", context.facts().name, extension);
  }
  return OkStatus();
}

bool IsOpaque(VkExternalMemoryHandleTypeFlagBits type) { return type == OpaqueHandleType(); }

Status AllocateImported(DeviceContext& context, const ExternalHandle& handle, VkMemoryAllocateInfo info,
                        VkDeviceMemory* memory) {
  VXLA_RETURN_IF_ERROR(CheckThere(handle));
  auto import = MakeVk<ImportInfo>(kImportInfo);
  import.handleType = handle.type;
  SetHandle(handle, import);
  import.pNext = info.pNext;
  info.pNext = &import;
  const VkResult result = context.vk().AllocateMemory(context.handle(), &info, context.allocation(), memory);
  return result == VK_ERROR_INVALID_EXTERNAL_HANDLE ? NotOfType(handle) : context.Check(result, "vkAllocateMemory");
}

Result<uint32_t> MemoryTypesOf(DeviceContext& context, const ExternalHandle& handle) {
  VXLA_RETURN_IF_ERROR(CheckThere(handle));
  auto properties = MakeVk<HandleProperties>(kHandleProperties);
  const auto get = Load<GetHandleProperties>(context, kGetHandleProperties);
  if (get(context.handle(), handle.type, HandleValue(handle), &properties) != VK_SUCCESS) return NotOfType(handle);
  return properties.memoryTypeBits;
}

Result<ExternalHandle> HandleOf(DeviceContext& context, VkDeviceMemory memory,
                                VkExternalMemoryHandleTypeFlagBits type) {
  auto info = MakeVk<GetHandleInfo>(kGetHandleInfo);
  info.memory = memory;
  info.handleType = type;
  ExternalHandle handle{type};
  const auto get = Load<GetHandle>(context, kGetHandle);
  VXLA_RETURN_IF_ERROR(context.Check(get(context.handle(), &info, &HandleTarget(handle)), kGetHandle));
  return handle;
}

Status ShareSemaphore(DeviceContext& from, VkSemaphore semaphore, DeviceContext& to, VkSemaphore target) {
  auto get = MakeVk<GetSemaphoreInfo>(kGetSemaphoreInfo);
  get.semaphore = semaphore;
  get.handleType = SemaphoreHandleType();
  auto import = MakeVk<ImportSemaphoreInfo>(kImportSemaphoreInfo);
  import.semaphore = target;
  import.handleType = SemaphoreHandleType();
  SystemHandle& handle = HandleIn(import);
  const auto get_handle = Load<GetSemaphore>(from, kGetSemaphore);
  const auto import_handle = Load<ImportSemaphore>(to, kImportSemaphore);
  if (get_handle == nullptr || import_handle == nullptr)
    return Unsupported("device {}: {} is not enabled", from.facts().name, SemaphoreExtension());
  VXLA_RETURN_IF_ERROR(from.Check(get_handle(from.handle(), &get, &handle), kGetSemaphore));
  const VkResult result = import_handle(to.handle(), &import);
  CloseAfter(result, handle);
  return to.Check(result, kImportSemaphore);
}

}  // namespace VXLA_NAMESPACE::vulkan
