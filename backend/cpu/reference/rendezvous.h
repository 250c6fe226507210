// Rendezvous: where the devices of one run, each on a thread of its own, meet for collectives and leave data for each
// other. A device whose partner never comes ends the run with a report instead of hanging: at once if no device can go
// on, else after the time limit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/cpu/reference/value.h"
#include "core/replica_groups.h"

namespace VXLA_NAMESPACE {

class Rendezvous {
 public:
  using Clock = std::chrono::steady_clock;
  // time_limit: of each wait for other devices; zero: none.
  Rendezvous(const DeviceGrid& grid, std::chrono::milliseconds time_limit);

  const DeviceGrid& grid() const { return grid_; }

  // The operands of every member, in the order of members -> one result for each.
  using Given = std::vector<std::vector<Value>>;
  using Combine = std::function<Result<std::vector<Value>>(Given& given)>;
  // Waits until each of `members` (devices; this one among them) has come to the same meeting: the n-th one, counted by
  // device, of these members for an op of this kind on this channel. The instructions may differ, as those in two
  // branches of a conditional do, if they do the same. The last device to come runs `combine` for all. Results must not
  // share arrays.
  Result<Value> Meet(const Instruction& at, int64_t device, std::span<const int64_t> members,
                     std::vector<Value> operands, const Combine& combine);

  // A way from one device to another, of collective-permutes or of sends, on a channel. Data on it keeps its order.
  // Sends on a channel without stated pairs have target kAnyTarget.
  static constexpr int64_t kAnyTarget = -1, kNoChannel = -1;
  struct Path {
    Opcode kind = Opcode::kSend;
    int64_t channel = kNoChannel, source = 0, target = kAnyTarget;
    friend auto operator<=>(const Path&, const Path&) = default;
  };
  // Leaves data; never waits.
  void Put(const Instruction& at, const Path& path, Literal data);
  // Waits for the next data on the path.
  Result<Literal> Take(const Instruction& at, int64_t device, const Path& path);
  // The same from a channel without stated pairs: this device's own data if there is some, else the one device's that
  // sends on it; an error if several do, for then the order would be chance.
  Result<Literal> TakeFromChannel(const Instruction& at, int64_t device, int64_t channel);

  // A device has ended. Fail makes the others stop.
  void Finish(int64_t device);
  void Fail(int64_t device, Status status);
  // What a device is computing, for the report.
  void SetCurrent(int64_t device, const Instruction* instruction) {
    devices_[static_cast<size_t>(device)].current.store(instruction, std::memory_order_relaxed);
  }
  // Devices look at this between instructions, so that an endless loop ends when the run has failed.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  static Status StoppedStatus();
  // Why the run has been stopped; OK if it has not.
  Status failure() const;

  // After all devices have ended: the first failure, or data that nobody took.
  Status Outcome() const;

 private:
  struct Meeting {
    const Instruction* first = nullptr;  // of the first device to come
    std::vector<int64_t> members;
    std::vector<std::vector<Value>> given;
    std::vector<bool> arrived;
    std::vector<Value> results;
    size_t arrivals = 0, left = 0;
    bool complete = false;
  };
  enum class State : uint8_t { kRunning, kWaiting, kEnded };
  struct Device {
    State state = State::kRunning;
    const Instruction* waits_at = nullptr;
    std::function<std::vector<int64_t>()> waits_for;
    std::atomic<const Instruction*> current{nullptr};
  };
  struct Parcel {
    Literal data;
    const Instruction* from = nullptr;
  };
  using Site = std::tuple<Opcode, int64_t, std::vector<int64_t>>;  // kind, channel, members
  using MeetingKey = std::pair<Site, int64_t>;                     // site, n

  Device& DeviceOf(int64_t device) { return devices_[static_cast<size_t>(device)]; }
  Status Wait(std::unique_lock<std::mutex>& lock, int64_t device, const Instruction& at,
              std::function<std::vector<int64_t>()> missing, const std::function<bool()>& ready);
  // A device that waits for what has just come runs again, whether or not its thread has noticed.
  void WakeAll();
  void CheckDeadlock();
  Status DeadlockReport(int64_t device, bool timed_out) const;
  std::string Situation(int64_t device) const;
  void SetFailure(Status status);

  const DeviceGrid grid_;
  const std::chrono::milliseconds time_limit_;
  std::vector<Device> devices_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<MeetingKey, Meeting> meetings_;
  std::map<std::pair<Site, int64_t>, int64_t> visits_;  // by site and device
  std::map<Path, std::deque<Parcel>> parcels_;
  std::map<int64_t, std::pair<int64_t, int64_t>> connections_;  // channel without pairs -> source, target
  Status failure_;
  std::atomic<bool> stopped_{false};
};

}  // namespace VXLA_NAMESPACE
