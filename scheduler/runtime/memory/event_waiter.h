// EventWaiter: the thread that waits for a device and calls back.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "scheduler/runtime/event.h"
#include "scheduler/runtime/memory/worker.h"

namespace VXLA_NAMESPACE {

// Thread-safe. When it goes it waits for the callbacks that are due, unless one of them lets go of it.
class EventWaiter {
 public:
  explicit EventWaiter(std::shared_ptr<Device> device) : shared_(std::make_shared<Shared>(std::move(device))) {}
  EventWaiter(const EventWaiter&) = delete;

  Device& device() const { return *shared_->device; }
  // Once the moment has passed, or the device is lost; those of one moment in the order in which they came.
  void OnPassed(const Moment& moment, Event::Callback callback);
  // Its thread: idle once every callback has returned.
  Worker& worker() { return worker_; }

 private:
  struct Pending {
    Moment moment;
    Event::Callback callback;
  };
  static uint64_t SumOf(const Pending& pending) { return pending.moment.sum(); }
  // Outlives the waiter where the thread does.
  struct Shared {
    explicit Shared(std::shared_ptr<Device> of) : device(std::move(of)) {}
    const std::shared_ptr<Device> device;
    std::mutex mutex;
    std::vector<Pending> pending;
    bool waits = false;  // the worker's task goes on until there is nothing pending
  };
  static void Wait(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  Worker worker_;
};

}  // namespace VXLA_NAMESPACE
