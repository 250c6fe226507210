#include "scheduler/replicas/feed_queues.h"

namespace VXLA_NAMESPACE {

FeedQueues::FeedQueues(int64_t devices, std::chrono::milliseconds wait_limit)
    : wait_limit_(wait_limit),
      infeed_(static_cast<size_t>(devices)),
      outfeed_(static_cast<size_t>(devices)),
      taken_(static_cast<size_t>(devices)) {}

void FeedQueues::PushInfeed(int64_t device, Literal item) {
  std::lock_guard lock(mutex_);
  infeed_.at(device).push_back(std::move(item));
  pushed_.notify_all();
}

int64_t FeedQueues::InfeedLeft(int64_t device) const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(infeed_.at(device).size());
}

int64_t FeedQueues::OutfeedSize(int64_t device) const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(outfeed_.at(device).size());
}

Result<Literal> FeedQueues::PopOutfeed(int64_t device) {
  std::lock_guard lock(mutex_);
  std::deque<Literal>& queue = outfeed_.at(device);
  if (queue.empty()) return InvalidArgument("the outfeed of device {} is empty", device);
  Literal item = std::move(queue.front());
  queue.pop_front();
  return item;
}

Result<Literal> FeedQueues::TakeInfeed(int64_t device, const Shape& shape) {
  std::unique_lock lock(mutex_);
  if (device < 0 || device >= static_cast<int64_t>(infeed_.size())) {
    return InvalidArgument("device {} has no infeed queue; there are {}", device, infeed_.size());
  }
  std::deque<Literal>& queue = infeed_[device];
  pushed_.wait_for(lock, wait_limit_, [&queue] { return !queue.empty(); });
  int64_t& taken = taken_[device];
  if (queue.empty()) {
    return InvalidArgument("the infeed queue of device {} is empty after {} items; {} wanted", device, taken,
                           shape.ToString());
  }
  Literal item = std::move(queue.front());
  queue.pop_front();
  ++taken;
  return item;
}

HostTransfers FeedQueues::transfers() {
  HostTransfers host;
  host.infeed = [this](int64_t device, const Shape& shape) { return TakeInfeed(device, shape); };
  host.outfeed = [this](int64_t device, Literal value) -> Status {
    std::lock_guard lock(mutex_);
    if (device < 0 || device >= static_cast<int64_t>(outfeed_.size())) {
      return InvalidArgument("device {} has no outfeed queue; there are {}", device, outfeed_.size());
    }
    outfeed_[device].push_back(std::move(value));
    return OkStatus();
  };
  return host;
}

}  // namespace VXLA_NAMESPACE
