// What compiling and running a program took, and what of it stays on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// An instruction that the device does not run, and why.
struct Fallback {
  std::string instruction, opcode, reason;
  friend bool operator==(const Fallback&, const Fallback&) = default;
};

// What a step of a run took, from the device's timestamps.
struct StepTime {
  std::string name, kernel;  // the kernel's algorithm file
  int64_t runs = 0;  // more than one in a loop, none in a branch that was not taken; what follows is of all of them
  double ms = 0;
  // Read and written, at most, and computed: of an array whose live size data decide, up to the last workgroup that the
  // device counted, and else up to its bound.
  int64_t bytes = 0, flop = 0;
};

// When a run was at something, in milliseconds of the host's clock from its call on.
struct RunSpan {
  int64_t step = -1;    // a dispatch of RunStatistics::steps, else
  std::string on_host;  // what the host computed
  double begin_ms = 0, end_ms = 0;
};

struct CompileStatistics {
  double ms = 0;          // all of Compile
  double plan_ms = 0;     // passes and planning
  double kernels_ms = 0;  // making the kernels
  double driver_ms = 0;   // what the driver took for those, on all threads together, in this call or an earlier one
  int kernels = 0;        // different ones
  int compiled = 0;       // of these, neither in memory nor on disk
};

// What one run did beyond submitting.
struct RunStatistics {
  int recorded = 0;             // dispatches recorded; 0: everything was replayed
  int recorded_copies = 0;      // copies between buffers recorded
  int compiled = 0;             // kernels compiled; Compile has made them all, so 0
  int64_t allocated_bytes = 0;  // device memory allocated; 0: all came from the context and from buffers given back
  int64_t read_backs = 0;       // values that the host waited for to decide about loops and branches
  // Arguments, results that Run returns, and what the host computes with or decides by.
  int64_t uploaded_bytes = 0, downloaded_bytes = 0;
  double ms = 0;                // from the call to the result
  std::vector<StepTime> steps;  // with CompileOptions::profile; one per dispatch, in order
  std::vector<RunSpan> spans;   // with CompileOptions::profile; in the order in which they began, a loop's each time
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
