#include "backend/vulkan/device/api/loader.h"

#include <vector>

#ifdef _WIN32
#include "core/host/windows_api.h"
#else
#include <dlfcn.h>
#endif

namespace VXLA_NAMESPACE::vulkan {
namespace {

#ifdef _WIN32
using Library = HMODULE;
Library Open(const std::string& name) { return LoadLibraryA(name.c_str()); }
void* Symbol(Library library, const char* name) { return reinterpret_cast<void*>(GetProcAddress(library, name)); }
const std::vector<std::string> kNames = {"vulkan-1.dll"};
constexpr const char* kAdvice = "install the GPU's driver";
#elif defined(__APPLE__)
using Library = void*;
Library Open(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }
void* Symbol(Library library, const char* name) { return dlsym(library, name); }
const std::vector<std::string> kNames = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"};
constexpr const char* kAdvice = "install the Vulkan loader and MoltenVK";
#else
using Library = void*;
Library Open(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }
void* Symbol(Library library, const char* name) { return dlsym(library, name); }
const std::vector<std::string> kNames = {"libvulkan.so.1", "libvulkan.so"};
constexpr const char* kAdvice = "Debian: apt install libvulkan1 mesa-vulkan-drivers";
#endif

}  // namespace

Result<GlobalTable> OpenLoader(const std::string& path) {
  const std::vector<std::string> names = path.empty() ? kNames : std::vector<std::string>{path};
  Library library = nullptr;
  for (const std::string& name : names) {
    library = Open(name);
    if (library != nullptr) break;
  }
  if (library == nullptr) return DeviceFailure("no Vulkan loader ({}); {}", names.front(), kAdvice);
  auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(Symbol(library, "vkGetInstanceProcAddr"));
  if (get == nullptr) return DeviceFailure("{} is no Vulkan loader: it lacks vkGetInstanceProcAddr", names.front());
  return LoadGlobalTable(get);
}

}  // namespace VXLA_NAMESPACE::vulkan
