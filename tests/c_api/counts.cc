#include "tests/c_api/counts.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <new>

namespace {

thread_local bool counts = false;
thread_local int allocations = 0, locks = 0;

void* TryToAllocate(std::size_t size) noexcept {
  if (counts) ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

void* Allocate(std::size_t size) {
  void* memory = TryToAllocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return TryToAllocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return TryToAllocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (counts) ++locks;
  return real(mutex);
}

void CountFromHere(void) {
  allocations = locks = 0;
  counts = true;
}

void Counted(int* made, int* locked) {
  counts = false;
  *made = allocations;
  *locked = locks;
}
}
