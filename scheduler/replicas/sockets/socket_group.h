// Connections: the processes of a job that nobody launched, each connected to each over TCP.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/host/hash.h"
#include "core/status.h"
#include "scheduler/replicas/process_group.h"

namespace VXLA_NAMESPACE {

// Gives every process's text to all, by rank. All processes call it, once.
using TellAll = std::function<Result<std::vector<std::string>>(const std::string& own)>;

// Which process of how many this is.
struct JobRank {
  int64_t rank = 0, ranks = 1;
};

// By the first process, which listens at "HOST:PORT" until all have come. kInvalidArgument: no such address, or ranks
// that contradict each other; kDeviceFailure: who has not come in `timeout` (zero: forever).
TellAll TellThrough(const std::string& coordinator, JobRank self, std::chrono::milliseconds timeout);

// Whoever knows a process's text can connect to it and is believed; what is sent can be read on its way.
class Connections : public std::enable_shared_from_this<Connections> {
 public:
  // kUnsupported: not on this system. kDeviceFailure: which process is not reached. most_waiting: bytes of a process
  // that wait to be asked for; more stays with the sender, or is an error where something else of it is waited for.
  static Result<std::shared_ptr<Connections>> Open(JobRank self, const TellAll& tell, std::chrono::milliseconds timeout,
                                                   uint64_t most_waiting = kMostWaiting);
  ~Connections();
  Connections(const Connections&) = delete;

  JobRank self() const { return self_; }
  // Some of the processes, this one among them, as ranks in their order. Groups that begin to move messages under one
  // name are told apart by their order: the n-th here is the n-th there.
  std::unique_ptr<ProcessGroup> Group(std::vector<int64_t> members, const Hash128& name);
  std::unique_ptr<ProcessGroup> All();

 private:
  static constexpr uint64_t kMostWaiting = uint64_t{1} << 30;
  class Members;
  struct Header;
  struct Peer;
  using Box = std::tuple<Hash128, int64_t, int>;  // group, process, tag

  Connections(JobRank self, uint64_t most_waiting);
  Status Connect(const std::vector<std::string>& texts, int listener, uint64_t token,
                 std::chrono::milliseconds timeout);
  void Receive();  // the thread, until all others have ended
  bool MayReceive(const Peer& peer) const;
  bool Keep(Peer& peer);         // what has come in whole; false: it is too much
  bool ReceiveSome(Peer& peer);  // false: it has ended
  // Until it is on its way, the other one has ended, or nobody wants to wait.
  bool Send(int64_t rank, const Hash128& group, const ProcessGroup::Message& message,
            const std::function<bool()>& goes_on);
  bool HasEnded(int64_t rank) const;
  Hash128 NextOf(const Hash128& name, const std::vector<int64_t>& members);
  void Finish();

  const JobRank self_;
  const uint64_t most_waiting_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: this one
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Box, std::deque<std::vector<std::byte>>> arrived_;  // what comes before it is asked for waits here
  std::map<Box, int64_t> asked_;                               // for how many messages of it
  bool finishes_ = false;                                      // nothing is asked for any more
  std::string error_;                                          // who has sent too much
  std::map<Hash128, int64_t> names_;                           // how many groups of a name there have been
};

}  // namespace VXLA_NAMESPACE
