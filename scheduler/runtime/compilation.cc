#include "scheduler/runtime/compilation.h"

#include <utility>

#include "core/host/guarded.h"

namespace VXLA_NAMESPACE {

std::optional<CallProgress> Compilation::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

Status Compilation::Step(const CallProgress& call) {
  if (cancelled_) return Cancelled("the compilation was cancelled");
  const std::lock_guard lock(mutex_);
  // Threads tell of kernels that they have made, and may come in another order.
  if (!progress_ || call.stage != progress_->stage || call.done >= progress_->done) progress_ = call;
  return OkStatus();
}

Result<std::shared_ptr<Executable>> Compilation::Await() const {
  VXLA_RETURN_IF_ERROR(done_.Await());
  const std::lock_guard lock(mutex_);
  return executable_;
}

void Compilation::Run(std::shared_ptr<Compilation> self, Client::CompileTask compile) {
  Result<std::shared_ptr<Executable>> made = Guarded([&]() -> Result<std::shared_ptr<Executable>> {
    VXLA_RETURN_IF_ERROR(self->Step({CallProgress::Stage::kPasses}));  // it may have been cancelled before it began
    return compile([&](const CallProgress& call) { return self->Step(call); });
  });
  compile = nullptr;
  Promise promise = std::move(self->promise_);
  Status status = made.status();
  if (made.ok()) {
    const std::lock_guard lock(self->mutex_);
    self->executable_ = *std::move(made);
  }
  made = Internal("handed on");
  self.reset();
  promise.Keep(std::move(status));
}

}  // namespace VXLA_NAMESPACE
