// Replica link: what the devices of one run are to each other and to their host, as a backend sees it that runs each of
// them on a thread. The scheduler has the queues, the waits and the reports (scheduler/replicas); a backend computes
// what is exchanged.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/host_transfer.h"
#include "core/devices/replica_groups.h"

namespace VXLA_NAMESPACE {

class ReplicaLink {
 public:
  virtual ~ReplicaLink() = default;
  virtual const DeviceGrid& grid() const = 0;

  // Runs the device's part for each device, on a thread of its own. What ended the run: the first failure, a deadlock
  // (kDeviceFailure), or data that nobody took.
  virtual Status Run(const std::function<Status(int64_t device)>& part) = 0;
  // A device comes to its next instruction. An error, so that an endless loop ends, when the run has failed.
  virtual Status Begin(const Instruction& at, int64_t device) = 0;
  // Why the run has failed; OK if it has not.
  virtual Status failure() const = 0;

  // What a device gives to a meeting, or gets from it: nobody but the backend looks inside.
  using Payload = std::shared_ptr<void>;
  // What each member has given, in the order of the members -> one result for each.
  using Combine = std::function<Result<std::vector<Payload>>(std::span<const Payload> given)>;
  // Waits until each of `members` (devices; this one among them) has come to the same meeting: the n-th one, counted by
  // device, of these members for an op of this kind on this channel. The instructions may differ, as those in two
  // branches of a conditional do, if they do the same. The last device to come runs `combine` for all. Results must not
  // share what a device may write into.
  virtual Result<Payload> Meet(const Instruction& at, int64_t device, std::span<const int64_t> members, Payload given,
                               const Combine& combine) = 0;
  // A collective-permute: `data` goes to the device's target; gives what its source sends, which has the same shape, or
  // nothing where no pair has the device as its target.
  virtual Result<std::optional<Literal>> Permute(const Instruction& at, int64_t device, Literal data) = 0;
  // The data are on their way: a send never waits for its recv. What nobody takes ends the run with a report.
  virtual Status Send(const Instruction& send, int64_t device, Literal data) = 0;
  // What a recv-done hands out: zeros where no pair has the device as its target. Without stated pairs, the device's
  // own data if there is some, else that of the one device that sends on the channel.
  virtual Result<Literal> Receive(const Instruction& recv_done, int64_t device) = 0;
  // Items as the instruction states them. The empty tuple moves nothing.
  virtual Result<Literal> Infeed(const Instruction& infeed, int64_t device) = 0;
  virtual Status Outfeed(const Instruction& outfeed, int64_t device, Literal data) = 0;
};

// For one run. time_limit: of each wait for other devices; zero: none. A deadlock in which no device can go on is
// reported at once. `host` outlives the link. Defined by the scheduler, which stands above (scheduler/replicas).
std::unique_ptr<ReplicaLink> MakeReplicaLink(const DeviceGrid& grid, std::chrono::milliseconds time_limit,
                                             const HostTransfers& host);

}  // namespace VXLA_NAMESPACE
