#include "scheduler/runtime/memory/worker.h"

#include <system_error>
#include <utility>

namespace VXLA_NAMESPACE {

Worker::~Worker() {
  std::thread thread;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    thread = std::move(thread_);
  }
  shared_->changed.notify_all();
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

void Worker::Add(Task task) {
  std::unique_lock lock(shared_->mutex);
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([shared = shared_] { Work(shared); });
    } catch (const std::system_error&) {
      lock.unlock();  // no thread to be had: the caller does it
      task();
      return;
    }
  }
  shared_->tasks.push_back(std::move(task));
  lock.unlock();
  shared_->changed.notify_all();
}

void Worker::Drain() {
  std::unique_lock lock(shared_->mutex);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  shared_->changed.wait(lock, [&] { return shared_->IsIdle(); });
}

bool Worker::IsCurrent() const {
  const std::lock_guard lock(shared_->mutex);
  return thread_.get_id() == std::this_thread::get_id();
}

bool Worker::IsIdle() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->IsIdle();
}

void Worker::Work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->stop || !shared->tasks.empty(); });
    if (shared->tasks.empty()) return;
    Task task = std::move(shared->tasks.front());
    shared->tasks.pop_front();
    shared->busy = true;
    lock.unlock();
    task();
    task = nullptr;  // with what it holds, which may be the worker
    lock.lock();
    shared->busy = false;
    shared->changed.notify_all();
  }
}

}  // namespace VXLA_NAMESPACE
