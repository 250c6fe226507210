#include "api/custom_call_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/host/guarded.h"

#ifdef _WIN32
#include "core/host/windows_api.h"
#else
#include <dlfcn.h>
#ifdef __GLIBC__
#include <elf.h>
#include <link.h>
#endif
#endif

namespace VXLA_NAMESPACE {
namespace {

// A file by its name alone is one of this folder, not of the system's.
std::string AsPath(const std::string& library) {
  return library.find('/') == std::string::npos ? "./" + library : library;
}

#ifdef _WIN32
Result<void*> OpenLibraryFunction(const std::string& library, const std::string& symbol) {
  const HMODULE module = LoadLibraryA(AsPath(library).c_str());
  if (module == nullptr) return InvalidArgument("{}: no library that opens: error {}", library, GetLastError());
  void* const address = reinterpret_cast<void*>(GetProcAddress(module, symbol.c_str()));
  if (address == nullptr) return InvalidArgument("{}: the library has no symbol {}", library, symbol);
  return address;
}
#else
Result<void*> OpenLibraryFunction(const std::string& library, const std::string& symbol) {
  void* const handle = dlopen(AsPath(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return InvalidArgument("{}: no library that opens: {}", library, why == nullptr ? "unknown" : why);
  }
  void* const address = dlsym(handle, symbol.c_str());
  if (address == nullptr) {
    return InvalidArgument("{}: the library has no symbol {} (functions of C++ need extern \"C\")", library, symbol);
  }
#ifdef __GLIBC__
  Dl_info place;
  ElfW(Sym)* entry = nullptr;
  const bool known =
      dladdr1(address, &place, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) != 0 && entry != nullptr;
  // The type's place is the same in symbols of 32 and 64 bits.
  if (known && ELF64_ST_TYPE(entry->st_info) == STT_OBJECT)
    return InvalidArgument("{}: {} is data, and a function is needed", library, symbol);
#endif
  return address;
}
#endif

}  // namespace

Status RegisterLibraryFunction(CustomCallRegistry& registry, const std::string& target, const std::string& library,
                               const std::string& symbol) {
  return Guarded([&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(void* const address, OpenLibraryFunction(library, symbol));
    registry.RegisterSymbol(target, address);
    return OkStatus();
  });
}

Status RegisterKernelFile(CustomCallRegistry& registry, const std::string& target, const std::string& file) {
  return Guarded([&]() -> Status {
    CustomKernel kernel;
    kernel.file = file;
    kernel.language = file.ends_with(".spv") ? CustomKernel::Language::kSpirv : CustomKernel::Language::kGlsl;
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) return InvalidArgument("{}: cannot be read: a folder", file);
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    kernel.text.assign(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open() || stream.bad())
      return InvalidArgument("{}: cannot be read: {}", file, std::strerror(errno == 0 ? EIO : errno));
    registry.RegisterKernel(target, std::move(kernel));
    return OkStatus();
  });
}

}  // namespace VXLA_NAMESPACE
