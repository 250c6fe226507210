#include "backend/cpu/reference/library/lapack_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

// Stays open as long as the process: routines of it may run when the process ends.
struct Library {
  Library() {
    const char* const named = std::getenv("VXLA_LAPACK");
    std::vector<std::string> files = {"liblapack.so.3", "libopenblas.so.0"};
    if (named != nullptr && *named != '\0') files = {named};
    for (const std::string& file : files) {
      handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr && Find("dgeev_") != nullptr) return;
      const char* const why = handle == nullptr ? dlerror() : "has neither dgeev_ nor scipy_dgeev_";
      const std::string words = why == nullptr ? "cannot be opened" : why;
      why_not += (why_not.empty() ? "" : "; ") + (words.starts_with(file) ? words : file + ": " + words);
      handle = nullptr;
    }
  }

  void* Find(const std::string& name) const {
    if (handle == nullptr) return nullptr;
    void* const routine = dlsym(handle, name.c_str());
    return routine != nullptr ? routine : dlsym(handle, ("scipy_" + name).c_str());
  }

  void* handle = nullptr;
  std::string why_not;
};

const Library& Opened() {
  static const Library library;
  return library;
}

}  // namespace

void* LapackRoutine(const std::string& name) { return Opened().Find(name); }
std::string WhyNoLapack() { return Opened().why_not; }

}  // namespace VXLA_NAMESPACE
