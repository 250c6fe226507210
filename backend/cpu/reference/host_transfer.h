// What a program exchanges with its host: infeed and outfeed, and the sends and recvs that are host transfers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "core/literal.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// Functions of the caller. `device` is replica * partitions + partition. Each device calls from a thread of its own, in
// the order in which its program executes; a missing function makes the instruction an error. They may block.
struct HostTransfers {
  // The next item of the device's infeed, which must have this shape (an array or a tuple of arrays).
  std::function<Result<Literal>(int64_t device, const Shape& shape)> infeed;
  std::function<Status(int64_t device, Literal value)> outfeed;
  // send and recv with is_host_transfer=true.
  std::function<Status(int64_t device, int64_t channel_id, Literal value)> send_to_host;
  std::function<Result<Literal>(int64_t device, int64_t channel_id, const Shape& shape)> recv_from_host;
};

// An infeed and an outfeed queue for each device; any thread may push and pop, also while a program runs.
class FeedQueues {
 public:
  // wait_limit: how long an infeed waits for an item to be pushed; zero: an empty queue is an error at once.
  explicit FeedQueues(int64_t devices = 1, std::chrono::milliseconds wait_limit = std::chrono::milliseconds(0));

  // One item is what one infeed instruction takes.
  void PushInfeed(int64_t device, Literal item);
  int64_t InfeedLeft(int64_t device) const;
  // The oldest item of the outfeed; kInvalidArgument if it is empty.
  Result<Literal> PopOutfeed(int64_t device);
  int64_t OutfeedSize(int64_t device) const;

  // What to run with; this object must outlive the run.
  HostTransfers transfers();

 private:
  Result<Literal> TakeInfeed(int64_t device, const Shape& shape);

  mutable std::mutex mutex_;
  std::condition_variable pushed_;
  std::chrono::milliseconds wait_limit_;
  std::vector<std::deque<Literal>> infeed_, outfeed_;
  std::vector<int64_t> taken_;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
