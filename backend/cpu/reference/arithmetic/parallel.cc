#include "backend/cpu/reference/arithmetic/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {
namespace {

// One ParallelFor. Helpers that come late find no piece left and leave at once.
struct Job {
  int64_t count = 0, grain = 1, pieces = 0;
  const std::function<void(int64_t, int64_t)>* fn = nullptr;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::atomic<int> helpers_wanted{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;
};

thread_local bool inside_parallel_for = false;

void Work(Job& job) {
  inside_parallel_for = true;
  while (true) {
    const int64_t piece = job.next.fetch_add(1);
    if (piece >= job.pieces) break;
    try {
      (*job.fn)(piece * job.grain, std::min(job.count, (piece + 1) * job.grain));
    } catch (...) {
      std::lock_guard lock(job.mutex);
      if (!job.error) job.error = std::current_exception();
    }
    if (job.done.fetch_add(1) + 1 == job.pieces) {
      std::lock_guard lock(job.mutex);
      job.finished.notify_all();
    }
  }
  inside_parallel_for = false;
}

class Pool {
 public:
  explicit Pool(int helpers) {
    for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { Serve(); });
  }
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Offer(const std::shared_ptr<Job>& job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back(job);
    }
    wake_.notify_all();
  }
  void Withdraw(const std::shared_ptr<Job>& job) {
    std::lock_guard lock(mutex_);
    std::erase(jobs_, job);
  }

 private:
  void Serve() {
    while (true) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
        if (stop_) return;
        job = jobs_.back();
        // A job that has its helpers leaves the list.
        if (job->helpers_wanted.fetch_sub(1) <= 1) jobs_.pop_back();
      }
      Work(*job);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::vector<std::thread> threads_;
  bool stop_ = false;
};

// Asked once: glibc opens and reads a file of the kernel's each time.
int ProcessorCount() {
  static const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

Pool& SharedPool() {
  static Pool pool(ProcessorCount() - 1);
  return pool;
}

}  // namespace

void ParallelFor(int64_t count, int64_t grain, int threads, const std::function<void(int64_t, int64_t)>& fn) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = CeilDivide(count, grain);
  const int limit = threads > 0 ? std::min(threads, ProcessorCount()) : ProcessorCount();
  const int helpers = static_cast<int>(std::min<int64_t>(limit, pieces)) - 1;
  if (helpers <= 0 || inside_parallel_for) {
    for (int64_t piece = 0; piece < pieces; ++piece) fn(piece * grain, std::min(count, (piece + 1) * grain));
    return;
  }
  auto job = std::make_shared<Job>();
  job->count = count;
  job->grain = grain;
  job->pieces = pieces;
  job->fn = &fn;
  job->helpers_wanted = helpers;
  Pool& pool = SharedPool();
  pool.Offer(job);
  Work(*job);
  pool.Withdraw(job);
  std::unique_lock lock(job->mutex);
  job->finished.wait(lock, [&] { return job->done.load() == job->pieces; });
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace VXLA_NAMESPACE
