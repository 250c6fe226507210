// Feed queues: the infeed and the outfeed of each device, filled and emptied by the caller.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "backend/host_transfer.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// Any thread may push and pop, also while a program runs.
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
