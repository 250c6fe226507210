// Places that are processes of a job: place N is at rank N.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/host/hash.h"
#include "scheduler/replicas/process_group.h"
#include "scheduler/replicas/transport.h"

namespace VXLA_NAMESPACE {

// What a process of a job knows of the others, and how long it waits for them.
struct JobWaits {
  std::chrono::milliseconds timeout{};          // zero: forever
  const std::atomic<bool>* is_ended = nullptr;  // the launcher has asked this process to end
};

// Messages of a job under a device's number (remote_devices.h) are above those of exchanges.
inline constexpr int kFirstExchangeTag = 16, kExchangeTags = 28000, kFirstDeviceTag = kFirstExchangeTag + kExchangeTags;
// What a process sent before it left takes so long to arrive.
inline constexpr std::chrono::milliseconds kGrace{1000};

// Why messages have not come: from whom, and "has ended".
struct Waited {
  int64_t peer = 0;
  std::string why;
};
// Moves messages as long as it makes sense to wait. stops: another reason not to, as text.
Result<std::optional<Waited>> Await(ProcessGroup& group, std::span<ProcessGroup::Message> messages,
                                    const JobWaits& waits, const std::function<std::string()>& stops = {});
// What MPI may still read or write after a wait that was given up: the process ends soon.
void Abandon(std::vector<std::byte> buffer);

// What every process gives, by rank: to all of them, or to the first one alone (the others get nothing). All processes
// call it. kDeviceFailure: who waits in vain for whom; `what` says at what.
enum class GatherAt : uint8_t { kAll, kFirst };
Result<std::vector<std::vector<std::byte>>> Gather(ProcessGroup& group, const std::string& what,
                                                   std::vector<std::byte> own, GatherAt at, const JobWaits& waits);

// What a process is about to do: processes of a job do the same.
struct JobPart {
  std::string name;  // "program"
  Hash128 hash;
};
// All processes call it before the first exchange, with how they got there. OK if all are and do the same; else every
// process has an error: its own, or one that names the ranks that failed or differ.
Status MeetOthers(ProcessGroup& group, const Status& own, const std::vector<JobPart>& parts, const JobWaits& waits);

// For one run. The group outlives it, and its places are the group's first ranks. names: of the places, for messages
// (PlaceTitles).
class GroupTransport : public Transport {
 public:
  GroupTransport(ProcessGroup& group, std::vector<std::string> names, JobWaits waits)
      : group_(group), names_(std::move(names)), waits_(waits) {}
  Status ExchangeArrays(const PlaceExchange& exchange, int64_t place, const void* const* own,
                        void* const* received) override;
  // Tells the others, of this run and of all later ones: the place has failed.
  void Leave(int64_t place) override;

 private:
  ProcessGroup& group_;
  const std::vector<std::string> names_;
  const JobWaits waits_;
  std::mutex mutex_;
};

}  // namespace VXLA_NAMESPACE
