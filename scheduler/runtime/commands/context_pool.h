// ContextPool: the execution contexts of one executable, as many as runs may be in flight.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "scheduler/runtime/commands/recorder.h"

namespace VXLA_NAMESPACE {

// The contexts of one executable: created up to a limit, then waited for.
class ContextPool {
 public:
  ContextPool(const CompiledPlan& program, BufferPool& memory, int limit)
      : program_(program), memory_(memory), limit_(limit) {}
  ~ContextPool();

  // A context whose last run has finished.
  Result<std::unique_ptr<ExecutionContext>> Acquire(int64_t& allocated_bytes);
  void Release(std::unique_ptr<ExecutionContext> context) noexcept;
  bool IsIdle();
  // The context is gone (its run failed).
  void Forget();

 private:
  Result<std::unique_ptr<ExecutionContext>> Create(int64_t& allocated_bytes);
  std::unique_ptr<ExecutionContext> TakeIdle(bool finished_only);

  const CompiledPlan& program_;
  BufferPool& memory_;
  const int limit_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::vector<std::unique_ptr<ExecutionContext>> idle_;  // with room for all: giving one back never fails
  int count_ = 0;
};

}  // namespace VXLA_NAMESPACE
