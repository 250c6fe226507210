#include "scheduler/replicas/mpi_module.h"

#include <array>

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace VXLA_NAMESPACE {

#ifdef _WIN32
Result<ProcessGroup*> JoinProcessGroup() { return Unsupported("processes of a job: not on this system"); }
#else
Result<ProcessGroup*> JoinProcessGroup() {
  static constexpr char kModule[] = "libvxla_mpi.so";
  // What MPI loads itself looks for its names among all.
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    const char* const why = dlerror();
    return Unsupported("no module for MPI, which a build has where it finds MPI (Debian: libopenmpi-dev): {}",
                       why == nullptr ? kModule : why);
  }
  auto* const open = reinterpret_cast<OpenProcessGroup*>(dlsym(module, kOpenProcessGroup));
  if (open == nullptr) return Unsupported("{}: of another version of vxla: it has no {}", kModule, kOpenProcessGroup);
  std::array<char, 256> error{};
  ProcessGroup* const group = open(error.data(), error.size());
  if (group == nullptr) return Unsupported("{}", error.data());
  return group;
}
#endif

}  // namespace VXLA_NAMESPACE
