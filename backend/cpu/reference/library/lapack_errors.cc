#include "backend/cpu/reference/library/lapack_errors.h"

#include <cstddef>
#include <cstdio>

namespace VXLA_NAMESPACE {
namespace {

thread_local LapackErrors* innermost = nullptr;

}  // namespace

LapackErrors::LapackErrors() : outer_(innermost) { innermost = this; }
LapackErrors::~LapackErrors() { innermost = outer_; }

}  // namespace VXLA_NAMESPACE

#ifdef __ELF__

#include <dlfcn.h>

// LAPACK calls XERBLA by its name, so the first one in the order of loading is called: this one where the program
// exports it or links libvxla.so, for LAPACK is opened later. It is weak: a program that has one of its own keeps it.
extern "C" __attribute__((weak, visibility("default"))) void xerbla_(const char* routine, const int* argument,
                                                                     size_t routine_length) {
  if (vxla::innermost != nullptr) return vxla::innermost->Note(*argument);
  using Xerbla = void (*)(const char*, const int*, size_t);
  if (const auto next = reinterpret_cast<Xerbla>(dlsym(RTLD_NEXT, "xerbla_")))
    return next(routine, argument, routine_length);
  // Someone else's call in a program into which LAPACK itself is linked: the routine says so in its INFO, too.
  std::fprintf(stderr, " ** On entry to %.*s parameter number %2d had an illegal value\n",
               static_cast<int>(routine_length), routine, *argument);
}

#endif
