// Worker: a thread that does what it is given, one after the other. It starts with the first thing to do.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace VXLA_NAMESPACE {

// Thread-safe. When it goes it does what is left first, unless that lets go of it itself: then its thread goes on
// alone.
class Worker {
 public:
  // Must not throw.
  using Task = std::function<void()>;

  Worker() : shared_(std::make_shared<Shared>()) {}
  ~Worker();
  Worker(const Worker&) = delete;

  void Add(Task task);
  // Waits until what has been added is done; not from a task of its own, which would wait for itself.
  void Drain();
  bool IsIdle() const;
  // Whether this is its thread.
  bool IsCurrent() const;

 private:
  // Outlives the worker where the thread does.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Task> tasks;
    bool busy = false, stop = false;
    bool IsIdle() const { return tasks.empty() && !busy; }
  };
  static void Work(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;  // guarded by shared_->mutex
};

}  // namespace VXLA_NAMESPACE
