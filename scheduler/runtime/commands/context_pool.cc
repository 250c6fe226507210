#include "scheduler/runtime/commands/context_pool.h"

#include <algorithm>

#include "core/host/guarded.h"

namespace VXLA_NAMESPACE {

ContextPool::~ContextPool() {
  for (auto& context : idle_) (void)memory_.device().Wait(context->finished());
}

std::unique_ptr<ExecutionContext> ContextPool::TakeIdle(bool finished_only) {
  if (idle_.empty()) return nullptr;
  const auto oldest = std::min_element(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) {
    return a->finished().sum() < b->finished().sum();
  });
  if (finished_only && !memory_.device().IsDone((*oldest)->finished())) return nullptr;
  std::unique_ptr<ExecutionContext> context = std::move(*oldest);
  idle_.erase(oldest);
  return context;
}

// No memory on the host is a status here too: the caller counts out what was not made.
Result<std::unique_ptr<ExecutionContext>> ContextPool::Create(int64_t& allocated_bytes) {
  return Guarded([&] { return ExecutionContext::Create(program_, memory_, allocated_bytes); });
}

Result<std::unique_ptr<ExecutionContext>> ContextPool::Acquire(int64_t& allocated_bytes) {
  std::unique_ptr<ExecutionContext> context;
  {
    std::unique_lock lock(mutex_);
    context = TakeIdle(/*finished_only=*/true);
    if (context == nullptr && count_ < limit_) {
      idle_.reserve(count_ + 1);
      ++count_;
      lock.unlock();
      auto created = Create(allocated_bytes);
      if (created.ok()) return created;
      lock.lock();
      --count_;
      // Too little memory for another run beside those in flight: wait for one of them instead.
      if (created.status().code() != StatusCode::kResourceExhausted || count_ == 0) return created.status();
    }
    while (context == nullptr) {
      context = TakeIdle(/*finished_only=*/false);
      if (context == nullptr && count_ == 0) {
        idle_.reserve(count_ + 1);
        ++count_;
        lock.unlock();
        auto created = Create(allocated_bytes);
        if (!created.ok()) Forget();
        return created;
      }
      if (context == nullptr) released_.wait(lock);
    }
  }
  if (!context->finished().is_beginning()) {
    if (Status status = memory_.device().Wait(context->finished()); !status.ok()) {
      Forget();
      return status;
    }
  }
  context->extra_commands().clear();
  return context;
}

void ContextPool::Release(std::unique_ptr<ExecutionContext> context) noexcept {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
  released_.notify_one();
}

bool ContextPool::IsIdle() {
  std::lock_guard lock(mutex_);
  return static_cast<int>(idle_.size()) == count_ &&
         std::ranges::all_of(idle_, [&](const auto& context) { return memory_.device().IsDone(context->finished()); });
}

void ContextPool::Forget() {
  std::lock_guard lock(mutex_);
  --count_;
  released_.notify_one();
}

}  // namespace VXLA_NAMESPACE
