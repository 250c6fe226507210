// Devices of a job that meet at its first process: what one elsewhere comes to is done there, on a thread of its own
// beside those of the first process's devices, so that all of them meet, wait and are reported as in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/data/literal.h"
#include "core/status.h"
#include "scheduler/replicas/group_transport.h"

namespace VXLA_NAMESPACE {

// A literal's arrays, depth first: each with its type, sizes and live sizes.
void PackLiteral(const Literal& literal, std::vector<std::byte>& bytes);
// The next literal of that shape, up to its live sizes; kInternal: something else comes.
Result<Literal> UnpackLiteral(const Shape& shape, std::span<const std::byte>& bytes);

// A device at another process than the first one.
class RemoteDevice {
 public:
  RemoteDevice(ProcessGroup& group, int64_t device, const JobWaits& waits)
      : group_(group), device_(device), waits_(waits) {}
  // Has the first process do call `number`, and waits for what it gives. who: "all-reduce a: replica 1", for messages.
  Result<Literal> Call(int64_t number, std::span<const Literal* const> operands, const Shape& result,
                       const std::string& who);
  // The device has come to its end.
  Status End(const Status& how);

 private:
  ProcessGroup& group_;
  const int64_t device_;
  const JobWaits waits_;
};

// What the first process knows of a run.
struct JobRun {
  std::function<Status()> failure;    // why it has failed, OK if it has not
  std::function<bool()> is_finished;  // by the first process's own devices
  std::function<Result<Literal>(int64_t number, std::span<const std::byte> operands)> call;
};
// At the first process: does what the device asks for until it has ended, and gives how it ended. It may compute for
// long between two calls: others that wait for it are reported at their meetings, and once the first process has
// finished, it waits for the device as for one of them.
Status ServeDevice(ProcessGroup& group, int64_t rank, int64_t device, const JobWaits& waits, const JobRun& run);

// How the run of all devices ended, as the first process (own) says it to the next ones, `ranks` with it.
Status TellOutcome(ProcessGroup& group, int64_t ranks, const Status& own, const JobWaits& waits);
// own: how it ended for this process's devices, for one that hears nothing.
Status HearOutcome(ProcessGroup& group, const Status& own, const JobWaits& waits);

}  // namespace VXLA_NAMESPACE
