// EventWaiter: the thread that waits for a device and calls back. It starts when something asks to be called.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/device.h"
#include "scheduler/runtime/event.h"

namespace VXLA_NAMESPACE {

// Thread-safe. When it goes it waits for the callbacks that are due, unless one of them lets go of it.
class EventWaiter {
 public:
  explicit EventWaiter(std::shared_ptr<Device> device);
  ~EventWaiter();
  EventWaiter(const EventWaiter&) = delete;

  Device& device() const { return *shared_->device; }
  // Once the moment has passed, or the device is lost; those of one moment in the order in which they came.
  void OnPassed(const Moment& moment, Event::Callback callback);

 private:
  struct Pending {
    Moment moment;
    Event::Callback callback;
  };
  static uint64_t SumOf(const Pending& pending) { return pending.moment.sum(); }
  // Outlives the waiter where the thread does.
  struct Shared {
    std::shared_ptr<Device> device;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Pending> pending;
    bool stop = false;
  };
  static void Work(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;  // guarded by shared_->mutex
};

}  // namespace VXLA_NAMESPACE
