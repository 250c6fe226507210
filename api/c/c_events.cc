// Events: of runs, transfers and programs that are made.
#include <chrono>

#include "api/c/c_handles.h"

namespace VXLA_NAMESPACE {
namespace {

// Of the event itself: the handle may be destroyed meanwhile.
Result<Event> EventOf(VxlaEvent handle) {
  VXLA_RETURN_IF_ERROR(CheckHandle(handle, "event"));
  return handle->content->event;
}

bool AwaitFor(const Event& event, uint64_t timeout_ns) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const auto most = static_cast<uint64_t>(std::chrono::nanoseconds(Clock::time_point::max() - now).count());
  // No clock counts so far: there is no limit.
  if (timeout_ns >= most) return true;
  return event.AwaitUntil(now + std::chrono::nanoseconds(static_cast<int64_t>(timeout_ns)));
}

}  // namespace
}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

VxlaCode vxlaEventIsReady(VxlaEvent event, int32_t* ready, VxlaMessage* message) {
  return CallFor(ready, "ready", message, [&]() -> Result<int32_t> {
    VXLA_ASSIGN_OR_RETURN(const Event of, EventOf(event));
    return of.IsReady() ? 1 : 0;
  });
}

VxlaCode vxlaAwaitEvent(VxlaEvent event, uint64_t timeout_ns, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const Event of, EventOf(event));
    if (!AwaitFor(of, timeout_ns)) return DeadlineExceeded("event: it has not happened within {} ns", timeout_ns);
    return of.Await();
  });
}

VxlaCode vxlaOnEvent(VxlaEvent event, VxlaEventFunction function, void* user_data, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const Event of, EventOf(event));
    if (function == nullptr) return InvalidArgument("function: NULL");
    of.OnReady([function, user_data](const Status& status) {
      function(user_data, CodeOf(status.code()), status.message().c_str());
    });
    return OkStatus();
  });
}

void vxlaDestroyEvent(VxlaEvent event) { DestroyHandle(event); }
