#include "backend/cpu/reference/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/passes/cse.h"

namespace VXLA_NAMESPACE {
namespace {

// A -start form does what the plain one does.
Opcode KindOfCollective(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAllReduceStart:
      return Opcode::kAllReduce;
    case Opcode::kAllGatherStart:
      return Opcode::kAllGather;
    default:
      return instruction.opcode();
  }
}

// Two instructions of one kind at one meeting must do the same, or what one device gets would depend on who comes last.
Status CheckSame(const Instruction& first, const Instruction& second) {
  if (&first == &second) return OkStatus();
  auto same_shape = [](const Instruction* a, const Instruction* b) { return a->shape() == b->shape(); };
  const char* difference = nullptr;
  if (!std::ranges::equal(first.operands(), second.operands(), same_shape)) {
    difference = "operands";
  } else if (first.attributes<CollectiveAttributes>().dimensions !=
             second.attributes<CollectiveAttributes>().dimensions) {
    difference = "dimensions";
  } else if (!std::ranges::equal(first.called(), second.called(), [](const Computation* a, const Computation* b) {
               return a == b || SameStructure(*a, *b);
             })) {
    difference = "to_apply";
  }
  if (difference == nullptr) return OkStatus();
  return InvalidArgument("{} meets {} on another device, whose {} differ", TextWithChannel(second),
                         TextWithChannel(first), difference)
      .At(second.location());
}

}  // namespace

Rendezvous::Rendezvous(const DeviceGrid& grid, std::chrono::milliseconds time_limit)
    : grid_(grid), time_limit_(time_limit), devices_(static_cast<size_t>(grid.count())) {}

Status Rendezvous::StoppedStatus() { return DeviceFailure("stopped, because another device of the run failed"); }

Result<Value> Rendezvous::Meet(const Instruction& at, int64_t device, std::span<const int64_t> members,
                               std::vector<Value> operands, const Combine& combine) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return StoppedStatus();
  const Site site{KindOfCollective(at), ChannelOf(at).value_or(kNoChannel), {members.begin(), members.end()}};
  const MeetingKey key{site, visits_[{site, device}]++};
  Meeting& meeting = meetings_[key];
  if (meeting.first != nullptr) {
    VXLA_RETURN_IF_ERROR(CheckSame(*meeting.first, at));
  } else {
    meeting.first = &at;
    meeting.members.assign(members.begin(), members.end());
    meeting.given.resize(members.size());
    meeting.arrived.resize(members.size());
  }
  const auto me = static_cast<size_t>(std::ranges::find(members, device) - members.begin());
  meeting.given[me] = std::move(operands);
  meeting.arrived[me] = true;
  if (++meeting.arrivals == members.size()) {
    lock.unlock();
    // Alone with the meeting: every other member waits. A failure ends the run, and with it their waits.
    Result<std::vector<Value>> results = combine(meeting.given);
    if (!results.ok()) return results.status();
    meeting.given.clear();
    lock.lock();
    meeting.results = *std::move(results);
    meeting.complete = true;
    WakeAll();
  } else {
    auto missing = [&meeting] {
      std::vector<int64_t> devices;
      for (size_t m = 0; m < meeting.members.size(); ++m) {
        if (!meeting.arrived[m]) devices.push_back(meeting.members[m]);
      }
      return devices;
    };
    VXLA_RETURN_IF_ERROR(Wait(lock, device, at, missing, [&meeting] { return meeting.complete; }));
  }
  Value mine = std::move(meeting.results[me]);
  if (++meeting.left == members.size()) meetings_.erase(key);
  return mine;
}

void Rendezvous::Put(const Instruction& at, const Path& path, Literal data) {
  std::lock_guard lock(mutex_);
  parcels_[path].push_back({std::move(data), &at});
  WakeAll();
}

Result<Literal> Rendezvous::Take(const Instruction& at, int64_t device, const Path& path) {
  std::unique_lock lock(mutex_);
  std::deque<Parcel>& parcels = parcels_[path];
  auto source = [&path] { return std::vector<int64_t>{path.source}; };
  VXLA_RETURN_IF_ERROR(Wait(lock, device, at, source, [&parcels] { return !parcels.empty(); }));
  Literal data = std::move(parcels.front().data);
  parcels.pop_front();
  return data;
}

Result<Literal> Rendezvous::TakeFromChannel(const Instruction& at, int64_t device, int64_t channel) {
  std::unique_lock lock(mutex_);
  int64_t source = device;
  auto has_data = [&](int64_t from) {
    const auto it = parcels_.find({Opcode::kSend, channel, from, kAnyTarget});
    return it != parcels_.end() && !it->second.empty();
  };
  auto ready = [&] {
    source = device;
    if (has_data(source)) return true;
    for (source = 0; source < grid_.count(); ++source) {
      if (has_data(source)) return true;
    }
    return false;
  };
  auto others = [this, device] {
    std::vector<int64_t> devices;
    for (int64_t d = 0; d < grid_.count(); ++d) {
      if (d != device && DeviceOf(d).state != State::kEnded) devices.push_back(d);
    }
    return devices;
  };
  VXLA_RETURN_IF_ERROR(Wait(lock, device, at, others, ready));
  if (source != device) {
    const auto [connection, fresh] = connections_.try_emplace(channel, source, device);
    if (!fresh && connection->second != std::pair(source, device)) {
      return InvalidArgument(
          "{}: the channel connects {} with {} and {} with {}; the frontend attribute "
          "_xla_send_recv_source_target_pairs "
          "must tell which device sends to which",
          TextWithChannel(at), grid_.Name(connection->second.first), grid_.Name(connection->second.second),
          grid_.Name(source), grid_.Name(device));
    }
  }
  std::deque<Parcel>& parcels = parcels_[{Opcode::kSend, channel, source, kAnyTarget}];
  Literal data = std::move(parcels.front().data);
  parcels.pop_front();
  return data;
}

Status Rendezvous::Wait(std::unique_lock<std::mutex>& lock, int64_t device, const Instruction& at,
                        std::function<std::vector<int64_t>()> missing, const std::function<bool()>& ready) {
  Device& self = DeviceOf(device);
  self.waits_at = &at;
  self.waits_for = std::move(missing);
  const Clock::time_point deadline = Clock::now() + time_limit_;
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
      SetFailure(DeadlockReport(device, /*timed_out=*/true));
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
  if (first >= 0 && failure_.ok()) SetFailure(DeadlockReport(first, /*timed_out=*/false));
}

std::string Rendezvous::Situation(int64_t device) const {
  const Device& it = devices_[static_cast<size_t>(device)];
  switch (it.state) {
    case State::kWaiting:
      return fmt::format("{} waits at {} for {}", grid_.Name(device), TextWithChannel(*it.waits_at),
                         grid_.Names(it.waits_for()));
    case State::kEnded:
      return fmt::format("{} has ended", grid_.Name(device));
    case State::kRunning:
      break;
  }
  const Instruction* current = it.current.load(std::memory_order_relaxed);
  if (current == nullptr) return fmt::format("{} has not started", grid_.Name(device));
  return fmt::format("{} computes {}", grid_.Name(device), TextWithChannel(*current));
}

Status Rendezvous::DeadlockReport(int64_t device, bool timed_out) const {
  const Device& first = devices_[static_cast<size_t>(device)];
  const std::vector<int64_t> missing = first.waits_for();
  std::string text = fmt::format("deadlock: {}: {} {} for {}", TextWithChannel(*first.waits_at), grid_.Name(device),
                                 timed_out ? fmt::format("has waited {} s", time_limit_.count() / 1000.0) : "waits",
                                 grid_.Names(missing));
  int64_t listed = 0;
  for (int64_t d = 0; d < grid_.count(); ++d) {
    if (d == device) continue;
    if (listed++ == DeviceGrid::kMostListed) {
      text += fmt::format("; and {} more devices", grid_.count() - 1 - DeviceGrid::kMostListed);
      break;
    }
    text += "; " + Situation(d);
  }
  return DeviceFailure("{}", text).At(first.waits_at->location());
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
  SetFailure(std::move(status));
}

Status Rendezvous::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status Rendezvous::Outcome() const {
  std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  for (const auto& [path, parcels] : parcels_) {
    if (parcels.empty()) continue;
    const std::string target = path.target == kAnyTarget ? "any device" : grid_.Name(path.target);
    return DeviceFailure("deadlock: {}: {} has sent data that {} never took", TextWithChannel(*parcels.front().from),
                         grid_.Name(path.source), target)
        .At(parcels.front().from->location());
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
