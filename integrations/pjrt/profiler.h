// Profiler: which programs, kernels and host steps ran when, for jax.profiler (PJRT's profiler extension, XSpace).
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/plan/statistics.h"

namespace VXLA_NAMESPACE::pjrt {

// One run of a program, of all its devices together.
struct ProfiledRun {
  int device = 0;           // the first one's id
  std::string device_kind;  // what JAX calls it
  std::string program;
  int64_t begin_ns = 0, end_ns = 0;  // since 1970
  RunStatistics statistics;
};

// Nanoseconds since 1970, by the clock that profilers go by.
int64_t NowNs();
// Whether a profiler takes runs.
bool IsProfiling();
void AddProfiledRun(const ProfiledRun& run);

}  // namespace VXLA_NAMESPACE::pjrt
