#include "backend/vulkan/device/api/external_types.h"

#include <array>

#ifdef _WIN32
#include "core/host/windows_api.h"
// After it.
#include <vulkan/vulkan_win32.h>
#endif

namespace VXLA_NAMESPACE::vulkan {
namespace {

#ifdef _WIN32
constexpr std::array kExtensions = {VK_KHR_EXTERNAL_MEMORY_WIN32_EXTENSION_NAME};
constexpr auto kOpaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
constexpr const char* kSemaphoreExtension = VK_KHR_EXTERNAL_SEMAPHORE_WIN32_EXTENSION_NAME;
constexpr auto kSemaphoreType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT;
#else
constexpr std::array kExtensions = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                    VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME};
constexpr auto kOpaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr const char* kSemaphoreExtension = VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME;
constexpr auto kSemaphoreType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
#endif

}  // namespace

std::span<const char* const> ExternalExtensions() { return kExtensions; }
VkExternalMemoryHandleTypeFlagBits OpaqueHandleType() { return kOpaque; }
const char* SemaphoreExtension() { return kSemaphoreExtension; }
VkExternalSemaphoreHandleTypeFlagBits SemaphoreHandleType() { return kSemaphoreType; }

}  // namespace VXLA_NAMESPACE::vulkan
