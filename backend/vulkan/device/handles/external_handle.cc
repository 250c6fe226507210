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

// Structs and functions of the system's kind of handle, which has its name in all of theirs.
#define VXLA_DECLARE(Kind, KIND)                                                              \
  using ImportInfo = VkImportMemory##Kind##InfoKHR;                                           \
  constexpr auto kImportInfo = VK_STRUCTURE_TYPE_IMPORT_MEMORY_##KIND##_INFO_KHR;             \
  using HandleProperties = VkMemory##Kind##PropertiesKHR;                                     \
  constexpr auto kHandleProperties = VK_STRUCTURE_TYPE_MEMORY_##KIND##_PROPERTIES_KHR;        \
  using GetHandleProperties = PFN_vkGetMemory##Kind##PropertiesKHR;                           \
  constexpr const char* kGetHandleProperties = "vkGetMemory" #Kind "PropertiesKHR";           \
  using GetHandleInfo = VkMemoryGet##Kind##InfoKHR;                                           \
  constexpr auto kGetHandleInfo = VK_STRUCTURE_TYPE_MEMORY_GET_##KIND##_INFO_KHR;             \
  using GetHandle = PFN_vkGetMemory##Kind##KHR;                                               \
  constexpr const char* kGetHandle = "vkGetMemory" #Kind "KHR";                               \
  using GetSemaphoreInfo = VkSemaphoreGet##Kind##InfoKHR;                                     \
  constexpr auto kGetSemaphoreInfo = VK_STRUCTURE_TYPE_SEMAPHORE_GET_##KIND##_INFO_KHR;       \
  using GetSemaphore = PFN_vkGetSemaphore##Kind##KHR;                                         \
  constexpr const char* kGetSemaphore = "vkGetSemaphore" #Kind "KHR";                         \
  using ImportSemaphoreInfo = VkImportSemaphore##Kind##InfoKHR;                               \
  constexpr auto kImportSemaphoreInfo = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_##KIND##_INFO_KHR; \
  using ImportSemaphore = PFN_vkImportSemaphore##Kind##KHR;                                   \
  constexpr const char* kImportSemaphore = "vkImportSemaphore" #Kind "KHR";

#ifdef _WIN32
constexpr HandleType kTypes[] = {{VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT, 1},
                                 {VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP_BIT, 1},
                                 {VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE_BIT, 1}};
constexpr const char* kTypeNames = "OPAQUE_WIN32, D3D12_HEAP, D3D12_RESOURCE";

VXLA_DECLARE(Win32Handle, WIN32_HANDLE)
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

VXLA_DECLARE(Fd, FD)
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
#undef VXLA_DECLARE

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
