// Rendezvous: where the devices of one run, each on a thread of its own, meet for collectives and leave data for each
// other. A device whose partner never comes ends the run with a report instead of hanging: at once if no device can go
// on, else after the time limit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/replica_link.h"
#include "core/devices/deadlock_report.h"
#include "core/devices/replica_groups.h"
#include "scheduler/replicas/channels.h"

namespace VXLA_NAMESPACE {

class Rendezvous {
 public:
  using Payload = ReplicaLink::Payload;
  // time_limit: of each wait for other devices; zero: none.
  Rendezvous(const DeviceGrid& grid, std::chrono::milliseconds time_limit);

  const DeviceGrid& grid() const { return grid_; }

  // As ReplicaLink::Meet.
  Result<Payload> Meet(const Instruction& at, int64_t device, std::span<const int64_t> members, Payload given,
                       const ReplicaLink::Combine& combine);
  // Leaves data; never waits.
  void Put(const Instruction& at, const ChannelPath& path, Literal data);
  // Waits for the next data on the path.
  Result<Literal> Take(const Instruction& at, int64_t device, const ChannelPath& path);
  // The same from a channel without stated pairs: this device's own data if there is some, else the one device's that
  // sends on it; an error if several do.
  Result<Literal> TakeFromChannel(const Instruction& at, int64_t device, int64_t channel);

  // A device has ended. Fail makes the others stop.
  void Finish(int64_t device);
  void Fail(int64_t device, Status status);
  // A device comes to an instruction, for the report. An error when the run has failed.
  Status Begin(const Instruction& at, int64_t device);
  // Why the run has been stopped; OK if it has not.
  Status failure() const;
  // After all devices have ended: the first failure, or data that nobody took.
  Status Outcome() const;

 private:
  using State = DeviceSituation::State;
  struct Meeting {
    const Instruction* first = nullptr;  // of the first device to come
    int64_t first_device = 0;
    std::vector<int64_t> members;
    std::vector<Payload> given, results;
    size_t arrivals = 0, left = 0;
    std::vector<bool> arrived;
    bool complete = false;
    IntList Missing() const;
  };
  struct Device {
    State state = State::kRunning;
    const Instruction* waits_at = nullptr;
    std::function<IntList()> waits_for;
    std::atomic<const Instruction*> current{nullptr};
  };
  using Site = std::tuple<Opcode, int64_t, std::vector<int64_t>>;  // kind, channel, members
  using MeetingKey = std::pair<Site, int64_t>;                     // site, n

  Device& DeviceOf(int64_t device) { return devices_[device]; }
  Status Wait(std::unique_lock<std::mutex>& lock, int64_t device, const Instruction& at,
              std::function<IntList()> missing, const std::function<bool()>& ready);
  // A device that waits for what has just come runs again, whether or not its thread has noticed.
  void WakeAll();
  void CheckDeadlock();
  IntList AllDevices() const;
  DeviceSituation SituationOf(int64_t device) const;
  Status WithSituation(int64_t device, const Status& status) const;
  void SetFailure(Status status);

  const DeviceGrid grid_;
  const std::chrono::milliseconds time_limit_;
  std::vector<Device> devices_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<MeetingKey, Meeting> meetings_;
  std::map<std::pair<Site, int64_t>, int64_t> visits_;  // by site and device
  Channels channels_;
  Status failure_;
  std::atomic<bool> stopped_{false};
};

}  // namespace VXLA_NAMESPACE
