// Guarded: the entries of the library, behind which exceptions of the standard library (no memory, no thread) and
// failed checks become a Status.
#pragma once

#include <cstddef>
#include <new>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// What HostBytes throws: an allocation so large that its size is worth telling.
class HostMemoryExhausted : public std::bad_alloc {
 public:
  explicit HostMemoryExhausted(size_t bytes);
  const char* what() const noexcept override { return text_; }

 private:
  char text_[64];  // an exception for want of memory allocates none
};

// In a catch block only. Memory, threads and sizes that no container holds: kResourceExhausted; the rest: kInternal.
// Where there is no memory for a message either, it is empty.
Status StatusOfException() noexcept;

template <typename Function>
auto Guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace VXLA_NAMESPACE
