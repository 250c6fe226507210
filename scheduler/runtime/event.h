// Event: what will have happened: work of a device's that is submitted, or a promise that a host step, a callback or
// another thread keeps. The error of what failed travels in it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>

#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class EventWaiter;  // scheduler/runtime/memory/event_waiter.h
class Moment;       // backend/timeline.h

// Cheap to copy: copies are the same event. Thread-safe. The default has happened, and all is well.
class Event {
 public:
  // Told once, on any thread, with no lock held; must not throw. It may drop whatever it likes, the event too.
  using Callback = std::function<void(const Status&)>;

  Event() = default;
  // Has happened, or failed.
  explicit Event(Status status);
  // Happens when the waiter's device has passed the moment.
  Event(std::shared_ptr<EventWaiter> waiter, const Moment& moment);
  // Happens when all have; fails with the error of the first of them that has one.
  static Event AllOf(std::span<const Event> events);

  // Whether Await would not wait. A failed event is ready.
  bool IsReady() const;
  // Waits; what came of it.
  Status Await() const;
  // Waits no longer than that; whether it is ready, so that Await tells at once.
  bool AwaitUntil(std::chrono::steady_clock::time_point deadline) const;
  // At once, on this thread, if it is ready; else on the thread that waits for the device or on the one that keeps the
  // promise.
  void OnReady(Callback callback) const;

  // Whether it only waits for a device: false while a promise is not kept.
  bool IsSubmitted() const;
  // From when on the device's further work may use what the event is of; waits for a promise, never for the device. The
  // beginning of time, if no device has to do with it.
  Result<Moment> AwaitSubmission() const;

 private:
  friend class Promise;
  struct State;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void Keep(const std::shared_ptr<State>& state, Status status, std::shared_ptr<EventWaiter> waiter,
                   const Moment& moment);
  std::shared_ptr<State> state_;  // null: the default
};

// The other end of an event. Kept once; a promise that is dropped unkept fails its event (kAborted).
class Promise {
 public:
  Promise();
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&&) = delete;
  ~Promise();

  const Event& event() const { return event_; }
  void Keep(Status status);
  // What was promised has been submitted: the event happens when the device has passed the moment.
  void Keep(std::shared_ptr<EventWaiter> waiter, const Moment& moment);

 private:
  Event event_;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
