#include "scheduler/runtime/event.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "scheduler/runtime/memory/event_waiter.h"

namespace VXLA_NAMESPACE {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  // What follows is guarded until `kept`, and does not change afterwards.
  std::atomic<bool> kept = false;
  Status status;
  std::shared_ptr<EventWaiter> waiter;  // not null: the moment decides
  Moment moment;
  std::vector<Callback> callbacks;  // of a promise that is not kept

  void AwaitKept() {
    if (kept) return;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return kept.load(); });
  }
};

Event::Event(Status status) {
  if (status.ok()) return;
  state_ = std::make_shared<State>();
  state_->status = std::move(status);
  state_->kept = true;
}

Event::Event(std::shared_ptr<EventWaiter> waiter, const Moment& moment) {
  if (moment.is_beginning()) return;
  state_ = std::make_shared<State>();
  state_->waiter = std::move(waiter);
  state_->moment = moment;
  state_->kept = true;
}

Event Event::AllOf(std::span<const Event> events) {
  struct Count {
    Promise promise;
    std::mutex mutex;
    size_t left = 0;
    Status failed;
  };
  std::vector<Event> open;
  for (const Event& event : events) {
    if (event.state_ != nullptr) open.push_back(event);
  }
  if (open.size() < 2) return open.empty() ? Event() : open[0];
  const auto count = std::make_shared<Count>();
  count->left = open.size();
  Event all = count->promise.event();
  for (const Event& event : open) {
    event.OnReady([count](const Status& status) {
      Status failed;
      {
        const std::lock_guard lock(count->mutex);
        if (count->failed.ok()) count->failed = status;
        if (--count->left != 0) return;
        failed = count->failed;
      }
      count->promise.Keep(std::move(failed));
    });
  }
  return all;
}

bool Event::IsReady() const { return IsSubmitted() && AwaitUntil({}); }

Status Event::Await() const {
  if (state_ == nullptr) return OkStatus();
  state_->AwaitKept();
  return state_->waiter == nullptr ? state_->status : state_->waiter->device().Wait(state_->moment);
}

bool Event::AwaitUntil(std::chrono::steady_clock::time_point deadline) const {
  if (state_ == nullptr) return true;
  if (!state_->kept) {
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_until(lock, deadline, [&] { return state_->kept.load(); })) return false;
  }
  if (state_->waiter == nullptr) return true;
  const Result<bool> passed = state_->waiter->device().WaitUntil(state_->moment, deadline);
  return !passed.ok() || *passed;
}

void Event::OnReady(Callback callback) const {
  if (state_ == nullptr) return callback(OkStatus());
  const std::shared_ptr<State> state = state_;  // the callback may drop the event
  if (!state->kept) {
    const std::lock_guard lock(state->mutex);
    if (!state->kept) {
      state->callbacks.push_back(std::move(callback));
      return;
    }
  }
  if (state->waiter == nullptr) return callback(state->status);
  const Result<bool> passed = state->waiter->device().WaitUntil(state->moment, {});
  if (!passed.ok() || *passed) return callback(passed.status());
  state->waiter->OnPassed(state->moment, std::move(callback));
}

bool Event::IsSubmitted() const { return state_ == nullptr || state_->kept; }

Result<Moment> Event::AwaitSubmission() const {
  if (state_ == nullptr) return Moment();
  state_->AwaitKept();
  VXLA_RETURN_IF_ERROR(state_->status);
  return state_->moment;
}

void Event::Keep(const std::shared_ptr<State>& state, Status status, std::shared_ptr<EventWaiter> waiter,
                 const Moment& moment) {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(state->mutex);
    VXLA_CHECK(!state->kept, "a promise is kept twice");
    state->status = std::move(status);
    state->waiter = std::move(waiter);
    state->moment = moment;
    callbacks.swap(state->callbacks);
    state->kept = true;
  }
  state->changed.notify_all();
  const Event event(state);
  for (Callback& callback : callbacks) event.OnReady(std::exchange(callback, nullptr));
}

Promise::Promise() : event_(std::make_shared<Event::State>()) {}

Promise::~Promise() {
  if (event_.state_ != nullptr && !event_.IsSubmitted()) Keep(Aborted("a promise was dropped, and nobody kept it"));
}

void Promise::Keep(Status status) { Event::Keep(event_.state_, std::move(status), nullptr, Moment()); }

void Promise::Keep(std::shared_ptr<EventWaiter> waiter, const Moment& moment) {
  if (moment.is_beginning()) return Keep(OkStatus());
  Event::Keep(event_.state_, OkStatus(), std::move(waiter), moment);
}

}  // namespace VXLA_NAMESPACE
