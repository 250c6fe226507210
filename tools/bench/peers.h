// What `vxla bench` measures its cases against, in the same process and run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

using Clock = std::chrono::steady_clock;
inline double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The processor's time that this thread has taken, in ms; 0 where the system does not say.
double ThreadMs();

struct PeerTime {
  std::string name;
  double ms = 0;
};

// The hand-written kernels of a sweep for this case, each measured: the whole list, fastest first. Empty if there are
// none.
Result<std::vector<PeerTime>> MeasureHandWritten(Device& device, const std::string& case_name);
// The plan's dispatches in one command buffer, recorded by hand with a barrier after each, and replayed.
Result<PeerTime> MeasureHandRecorded(Device& device, const Executable& executable);
// The better of a device-to-device copy of this many bytes, by the driver or by a kernel: the name says which. With
// `repeats`, one of so many that are submitted at once; on average.
Result<PeerTime> MeasureCopy(Device& device, int64_t bytes, int repeats = 1);
// Copies of this many bytes by hand-written kernels, fastest first, then the driver's.
Result<std::vector<PeerTime>> MeasureCopies(Device& device, int64_t bytes);
// f32 multiplications and additions by the millisecond, of a kernel that does nothing else.
Result<double> MeasureFlopPerMs(Device& device);
// Host peers: Eigen on one thread (if it was there at build time), a plain loop, std::sort.
std::optional<PeerTime> MeasureHost(const std::string& case_name);

// The best of several runs in ms: `run` measures one itself or returns the failure.
template <typename Run>
Result<double> BestOf(int runs, const Run& run) {
  double best = -1;
  for (int k = 0; k < runs; ++k) {
    VXLA_ASSIGN_OR_RETURN(double ms, run());
    if (best < 0 || ms < best) best = ms;
  }
  return best;
}

}  // namespace VXLA_NAMESPACE
