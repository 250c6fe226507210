#include "scheduler/runtime/memory/event_waiter.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace VXLA_NAMESPACE {
namespace {

// The wait for the earliest moment cannot be interrupted, and moments of several queues, or one of the past that is
// asked for late, may pass before it: after so long the others are looked at too.
constexpr std::chrono::microseconds kFirstSlice{200}, kLongestSlice{2000};

}  // namespace

void EventWaiter::OnPassed(const Moment& moment, Event::Callback callback) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->pending.push_back({moment, std::move(callback)});
    if (std::exchange(shared_->waits, true)) return;
  }
  worker_.Add([shared = shared_] { Wait(*shared); });
}

void EventWaiter::Wait(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (auto slice = kFirstSlice; !shared.pending.empty();) {
    const Moment earliest = std::ranges::min_element(shared.pending, {}, SumOf)->moment;
    lock.unlock();
    const Result<bool> passed = shared.device->WaitUntil(earliest, std::chrono::steady_clock::now() + slice);
    lock.lock();
    const auto waits = [&](const Pending& each) { return passed.ok() && !shared.device->IsDone(each.moment); };
    const auto due = std::stable_partition(shared.pending.begin(), shared.pending.end(), waits);
    std::vector<Pending> called(std::make_move_iterator(due), std::make_move_iterator(shared.pending.end()));
    shared.pending.erase(due, shared.pending.end());
    std::ranges::stable_sort(called, {}, SumOf);
    slice = called.empty() ? std::min(2 * slice, kLongestSlice) : kFirstSlice;
    lock.unlock();
    for (Pending& each : called) {
      each.callback(passed.status());
      each.callback = nullptr;  // what it held goes before the next one is told
    }
    called.clear();
    lock.lock();
  }
  shared.waits = false;
}

}  // namespace VXLA_NAMESPACE
