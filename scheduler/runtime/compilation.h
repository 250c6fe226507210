// Compilation: a program that another thread compiles, and how far it is.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "scheduler/runtime/client.h"
#include "scheduler/runtime/event.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// Thread-safe. Whoever lets go of it does not end it.
class Compilation {
 public:
  Compilation() : done_(promise_.event()) {}

  // When there is an executable, or why there is none; by then the thread holds nothing of the program.
  Event done() const { return done_; }
  // The latest step; none: it has not begun.
  std::optional<CallProgress> progress() const;
  // It ends with its next step, and is kCancelled; what has ended stays as it is. Nothing waits.
  void Cancel() { cancelled_ = true; }
  // Waits.
  Result<std::shared_ptr<Executable>> Await() const;

  static void Run(std::shared_ptr<Compilation> self, Client::CompileTask compile);

 private:
  Status Step(const CallProgress& call);

  Promise promise_;
  const Event done_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::optional<CallProgress> progress_;
  std::shared_ptr<Executable> executable_;  // when it is done
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
