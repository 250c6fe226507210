#include "scheduler/replicas/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ranges.h"
#include "core/passes/devices/exchanges.h"

namespace VXLA_NAMESPACE {
namespace {

Status StoppedStatus() { return Aborted("stopped, because another device of the run failed"); }

}  // namespace

Rendezvous::Rendezvous(const DeviceGrid& grid, std::chrono::milliseconds time_limit)
    : grid_(grid), time_limit_(time_limit), devices_(static_cast<size_t>(grid.count())), channels_(grid) {}

IntList Rendezvous::Meeting::Missing() const {
  IntList devices;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!arrived[m]) devices.push_back(members[m]);
  }
  return devices;
}

Result<Rendezvous::Payload> Rendezvous::Meet(const Instruction& at, int64_t device, std::span<const int64_t> members,
                                             Payload given, const ReplicaLink::Combine& combine) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return StoppedStatus();
  const Site site{
      KindOfCollective(at), ChannelOf(at).value_or(ChannelPath::kNoChannel), {members.begin(), members.end()}};
  const MeetingKey key{site, visits_[{site, device}]++};
  Meeting& meeting = meetings_[key];
  if (meeting.first != nullptr) {
    VXLA_RETURN_IF_ERROR(CheckSameMeeting(grid_, {meeting.first_device, *meeting.first}, {device, at}));
  } else {
    meeting.first = &at;
    meeting.first_device = device;
    meeting.members.assign(members.begin(), members.end());
    meeting.given.resize(members.size());
    meeting.arrived.resize(members.size());
  }
  const auto me = static_cast<size_t>(std::ranges::find(members, device) - members.begin());
  meeting.given[me] = std::move(given);
  meeting.arrived[me] = true;
  if (++meeting.arrivals == members.size()) {
    lock.unlock();
    // Alone with the meeting: every other member waits. A failure ends the run, and with it their waits.
    Result<std::vector<Payload>> results = combine(meeting.given);
    if (!results.ok()) return results.status();
    meeting.given.clear();
    lock.lock();
    meeting.results = *std::move(results);
    meeting.complete = true;
    WakeAll();
  } else {
    VXLA_RETURN_IF_ERROR(Wait(
        lock, device, at, [&meeting] { return meeting.Missing(); }, [&meeting] { return meeting.complete; }));
  }
  Payload mine = std::move(meeting.results[me]);
  if (++meeting.left == members.size()) meetings_.erase(key);
  return mine;
}

void Rendezvous::Put(const Instruction& at, const ChannelPath& path, Literal data) {
  std::lock_guard lock(mutex_);
  channels_.Put(at, path, std::move(data));
  WakeAll();
}

Result<Literal> Rendezvous::Take(const Instruction& at, int64_t device, const ChannelPath& path) {
  std::unique_lock lock(mutex_);
  VXLA_RETURN_IF_ERROR(Wait(
      lock, device, at, [&path] { return IntList{path.source}; }, [&] { return channels_.HasData(path); }));
  return channels_.Take(path);
}

Result<Literal> Rendezvous::TakeFromChannel(const Instruction& at, int64_t device, int64_t channel) {
  std::unique_lock lock(mutex_);
  const auto others = [this, device] {
    IntList devices;
    for (int64_t d = 0; d < grid_.count(); ++d) {
      if (d != device && DeviceOf(d).state != State::kEnded) devices.push_back(d);
    }
    return devices;
  };
  std::optional<ChannelPath> path;
  const auto ready = [&] {
    path = channels_.PathTo(device, channel);
    return path.has_value();
  };
  VXLA_RETURN_IF_ERROR(Wait(lock, device, at, others, ready));
  VXLA_RETURN_IF_ERROR(channels_.Connect(at, device, *path));
  return channels_.Take(*path);
}

Status Rendezvous::Wait(std::unique_lock<std::mutex>& lock, int64_t device, const Instruction& at,
                        std::function<IntList()> missing, const std::function<bool()>& ready) {
  Device& self = DeviceOf(device);
  self.waits_at = &at;
  self.waits_for = std::move(missing);
  const auto deadline = std::chrono::steady_clock::now() + time_limit_;
  Status status;
  while (true) {
    if (!failure_.ok()) {
      status = StoppedStatus();
      break;
    }
    if (ready()) break;
    self.state = State::kWaiting;
    CheckDeadlock();
    if (!failure_.ok()) continue;
    if (time_limit_.count() == 0) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && failure_.ok() && !ready()) {
      self.state = State::kWaiting;
      SetFailure(
          DeadlockReport(grid_, AllDevices(), device, time_limit_, [this](int64_t d) { return SituationOf(d); }));
    }
  }
  self.state = State::kRunning;
  self.waits_for = nullptr;
  return status;
}

void Rendezvous::WakeAll() {
  for (Device& device : devices_) {
    if (device.state == State::kWaiting) device.state = State::kRunning;
  }
  changed_.notify_all();
}

// Nobody can help a device that waits if all others wait as well or have ended.
void Rendezvous::CheckDeadlock() {
  int64_t first = -1;
  for (int64_t d = grid_.count(); d-- > 0;) {
    if (DeviceOf(d).state == State::kRunning) return;
    if (DeviceOf(d).state == State::kWaiting) first = d;
  }
  if (first < 0 || !failure_.ok()) return;
  SetFailure(DeadlockReport(grid_, AllDevices(), first, std::nullopt, [this](int64_t d) { return SituationOf(d); }));
}

IntList Rendezvous::AllDevices() const { return Counted<int64_t>(devices_.size()); }

DeviceSituation Rendezvous::SituationOf(int64_t device) const {
  const Device& it = devices_[device];
  if (it.state == State::kWaiting) return {it.state, it.waits_at, it.waits_for()};
  return {it.state, it.current.load(std::memory_order_relaxed), {}};
}

void Rendezvous::SetFailure(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  stopped_ = true;
  changed_.notify_all();
}

void Rendezvous::Finish(int64_t device) {
  std::lock_guard lock(mutex_);
  DeviceOf(device).state = State::kEnded;
  CheckDeadlock();
}

void Rendezvous::Fail(int64_t device, Status status) {
  std::lock_guard lock(mutex_);
  DeviceOf(device).state = State::kEnded;
  SetFailure(status.code() == StatusCode::kDeviceFailure ? WithSituation(device, status) : std::move(status));
}

// A device that is gone was somewhere, and others may wait for it.
Status Rendezvous::WithSituation(int64_t device, const Status& status) const {
  std::string text = fmt::format("{}; that was {}", status.message(), grid_.Name(device));
  if (const Instruction* const at = SituationOf(device).at)
    text += fmt::format(", whose last meeting was {}", TextWithChannel(*at));
  for (const int64_t other : AllDevices()) {
    const DeviceSituation situation = SituationOf(other);
    if (situation.state != State::kWaiting || !Contains(situation.waits_for, device)) continue;
    text += fmt::format("; {}: {} waits for {}", TextWithChannel(*situation.at), grid_.Name(other),
                        grid_.Names(situation.waits_for));
    break;
  }
  return Status(status.code(), std::move(text), status.location());
}

Status Rendezvous::Begin(const Instruction& at, int64_t device) {
  if (stopped_.load(std::memory_order_relaxed)) return StoppedStatus();
  DeviceOf(device).current.store(&at, std::memory_order_relaxed);
  return OkStatus();
}

Status Rendezvous::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status Rendezvous::Outcome() const {
  std::lock_guard lock(mutex_);
  return failure_.ok() ? channels_.Untaken() : failure_;
}

}  // namespace VXLA_NAMESPACE
